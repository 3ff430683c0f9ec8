"""The public surface: which names there are, that import stays light, and that every parameter is documented."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path

import pytest

import dalembert as da
from public_surface import names_of, public_callables, public_objects
from result_cases import CASES

SOURCE = Path(da.__file__)
HEAVY = ("numpy", "casadi", "numba", "llvmlite", "scipy", "matplotlib", "pyarrow")


def fresh(code: str) -> str:
    """What a fresh process prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_loads_nothing_heavy():
    code = f"import sys, dalembert as da; da.__version__; dir(da); print([n for n in {HEAVY} if n in sys.modules])"
    assert fresh(code) == "[]"


def test_describing_and_evaluating_loads_neither_numba_nor_matplotlib_nor_scipy():
    code = (
        "import sys, dalembert as da\n"
        "system = da.zoo.four_bar().compile(backend='casadi')\n"
        "system.mass_matrix(system.state(*da.zoo.four_bar_start(0.6)))\n"
        "heavy = ('numba', 'llvmlite', 'matplotlib', 'pyarrow', 'scipy.optimize', 'scipy.linalg', 'scipy.special')\n"
        "print([n for n in heavy if n in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_the_packages_are_attributes_after_import():
    code = "import dalembert as da; print(da.zoo.__name__, da.control.PDControl.__name__, da.view.plot.__name__)"
    assert fresh(code) == "dalembert.zoo PDControl plot"


def test_type_checkers_see_the_names_that_exist():
    """The imports under TYPE_CHECKING, the table and `__all__` hold the same names from the same modules."""
    tree = ast.parse(SOURCE.read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.asname: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    packages = dict.fromkeys(da._PACKAGES, "dalembert")
    assert seen == {**da._HOME, **packages}
    assert set(da.__all__) == {"__version__", *seen}
    assert set(da.__all__) <= set(dir(da))
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = da.simulat


def test_the_version_has_one_source():
    project = tomllib.loads((SOURCE.parents[2] / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dalembert.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", da.__version__)


#: names in annotations that are CasADi's, or what those meet who write joints and tasks
INNER = {"Function", "Transform", "RigidInertia", "Expressions", "Bound", "Sensitivity"}


def _annotations(f) -> str:
    return str(getattr(f, "__annotations__", {}).get("return", ""))


def test_every_class_a_public_function_returns_is_public():
    public = {value.__name__ for value in public_objects().values() if inspect.isclass(value)}
    ours = {
        cls.__name__
        for name, module in list(sys.modules.items())
        if name.startswith("dalembert")
        for cls in vars(module).values()
        if inspect.isclass(cls) and cls.__module__.startswith("dalembert")
    }
    missing = {
        f"{name} → {word}"
        for name, f, _ in public_callables()
        for word in re.findall(r"\w+", _annotations(f))
        if word in ours - public - INNER
    }
    assert not missing


def test_results_are_exported_under_one_name():
    exported = {}
    for name in names_of(da):
        exported.setdefault(id(getattr(da, name)), []).append(name)
    assert not [names for names in exported.values() if len(names) > 1]
    for name in (
        "Run",
        "Status",
        "Passage",
        "MomentumMaps",
        "Acceleration",
        "Reactions",
        "Report",
        "Subspaces",
        "Outcome",
    ):
        assert inspect.isclass(getattr(da, name))


def _texts(f, owner) -> str:
    """The docstrings that may name its parameters: its own, what it overrides, and the class's."""
    if inspect.isclass(f):  # the fields of a dataclass are documented beside them
        return " ".join([inspect.getdoc(f) or "", inspect.getdoc(f.__init__) or "", inspect.getsource(f)])
    bases = owner.__mro__ if owner is not None else ()
    if f.__module__.startswith("dalembert.control"):  # "options: those of `motion_control`"
        named = re.findall(r"`(\w+)`", inspect.getdoc(f) or "")
        bases = (
            *bases,
            *(getattr(da.control, name) for name in named if name.endswith("_control") and name != f.__name__),
        )
    overridden = [vars(base)[f.__name__] for base in bases if inspect.isclass(base) and f.__name__ in vars(base)]
    return " ".join(inspect.getdoc(x) or "" for x in (f, *overridden, *bases) if x is not object)


def _undocumented(f, owner) -> list[str]:
    """Parameters that no docstring names."""
    if inspect.isclass(f) and issubclass(f, (Enum, Exception)):
        return []
    text = _texts(f, owner)
    return [
        name
        for name in inspect.signature(f).parameters
        if name not in ("self", "cls") and not re.search(rf"\b{name}\b", text)
    ]


CALLABLES = {name: (f, owner) for name, f, owner in public_callables()}


@pytest.mark.parametrize("name", CALLABLES)
def test_every_public_callable_and_parameter_is_documented(name):
    f, owner = CALLABLES[name]
    assert inspect.getdoc(f), f"{name} has no docstring"
    missing = _undocumented(f, owner)
    assert not missing, f"{name} does not document {', '.join(missing)}"


WORDS = {  # of which one explains the parameter, beside its name
    "state": r"`State`|\bstate\b[^.]*(:|of the mechanism|is not used)|State, mapping",
    "p": r"[Pp]arameter|as in|those of",
    "u": r"[Ii]nput|as in",
}


@pytest.mark.parametrize("name", CALLABLES)
def test_states_parameters_and_inputs_are_explained(name):
    """A reader of help() learns what may be given for `state`, `p` and `u`, there or in the text of the class."""
    f, owner = CALLABLES[name]
    if inspect.isclass(f) and (issubclass(f, (Enum, Exception)) or is_dataclass(f)):  # fields say their shapes
        return
    text, taken = _texts(f, owner), set(inspect.signature(f).parameters)
    assert not [given for given, words in WORDS.items() if given in taken and not re.search(words, text)]


def _four_bar():
    system = da.zoo.four_bar().compile()
    return system, system.state(*da.zoo.four_bar_start(0.6, speed=2.0))


def _sketch():
    return da.Linkage("sketch", {"A": (0, 0), "B": (1, 0)}, "A", {"bar": "A B"})


def _motion(system, **options):
    return da.control.motion_control(system, da.control.coordinates("A"), da.control.constant({"A": 1.0}), **options)


OPEN = {
    "System.with_parameters": lambda **o: da.zoo.four_bar().compile().with_parameters(**o),
    "control.motion_control": lambda **o: _motion(_four_bar()[0], **o),
    "System.constraint_forces": lambda **o: _four_bar()[0].constraint_forces(_four_bar()[1], **o),
    "control.computed_torque": lambda **o: da.control.computed_torque(_four_bar()[0], {"A": 1.0}, **o),
    "control.force_control": lambda **o: da.control.force_control(_four_bar()[0], {"C.x": 1.0}, **o),
    "System.evaluate": lambda **o: _four_bar()[0].evaluate("mass_matrix", _four_bar()[1], **o),
    "control.hybrid_control": lambda **o: da.control.hybrid_control(
        _four_bar()[0], da.control.coordinates("A"), {"A": 1.0}, {"C.x": 1.0}, **o
    ),
    "control.MotionPlan.simulate": lambda **o: da.control.straight_motion(*_four_bar(), {"A": 0.7}, 0.1, 2).simulate(
        **o
    ),
    "control.OptimalMotion.simulate": lambda **o: da.control.optimal_motion(
        *_four_bar(), 0.1, lambda s, u: u["torque"] ** 2, lambda s: s["A"] ** 2, steps=2, max_iterations=1
    ).simulate(**o),
    "ensemble": lambda **o: da.ensemble(*_four_bar(), 0.01, n=2, **o),
    "environment": lambda **o: da.environment(*_four_bar(), period=0.1, actions={}, reward=max, **o),
    "environments": lambda **o: da.environments(*_four_bar(), 2, period=0.1, actions={}, reward=max, **o),
    "read": lambda **o: da.read("four_bar.yaml", **o),
    "Mechanism.replace": lambda **o: da.zoo.four_bar().replace("crank", **o),
    "Linkage.replace": lambda **o: _sketch().replace("bar", **o),
    "Linkage.add_slider": lambda **o: _sketch().add_slider("block", "B", **o),
    "Linkage.add_cylinder": lambda **o: _sketch().add_cylinder("ram", "A", "B", **o),
    "Sweep.animate": lambda **o: _four_bar()[0].sweep({"A": [0.6, 0.7]}).animate("none.html", **o),
    "Run.animate": lambda **o: da.simulate(*_four_bar(), 0.01).animate("none.html", **o),
    **{
        name: lambda make=make, **o: CASES[make]().animate("none.html", **o)
        for name, make in {
            "Sweeps.animate": "sweeps", "Ensemble.animate": "ensemble", "Workspace.animate": "workspace",
            "LinearModel.animate": "linear_model", "LinearModels.animate": "linear_models",
            "LinearTrajectory.animate": "linear_trajectory", "Equilibrium.animate": "equilibrium",
            "StaticForces.animate": "static_forces", "Fit.animate": "fit", "Design.animate": "design",
            "control.MotionPlan.animate": "plan", "control.OptimalMotion.animate": "optimal",
            "control.ActuatorForcesAlong.animate": "forces", "Study.animate": "study",
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_functions_that_pass_keywords_on_refuse_unknown_ones_by_name(name):
    with pytest.raises((TypeError, da.DalembertError), match="unknown_option"):
        OPEN[name](unknown_option=1.0)


def test_every_function_that_takes_any_keyword_is_among_these():
    any_keyword = {
        name.removeprefix("dalembert.")
        for name, (f, _) in CALLABLES.items()
        if not (inspect.isclass(f) and issubclass(f, (Enum, Exception)))
        and any(p.kind is p.VAR_KEYWORD for p in inspect.signature(f).parameters.values())
    }
    kinds = ("motion_control", "force_control", "hybrid_control", "computed_torque")
    signed = {f"control.{kind}" for kind in kinds}  # pass keywords on, and show which
    assert any_keyword == set(OPEN) - signed


def test_the_options_of_motion_control_are_in_its_signature_with_their_defaults():
    shown, taken = (inspect.signature(f).parameters for f in (da.control.motion_control, da.control.ProjectedControl))
    assert shown["rate"].default == 10.0
    assert shown["limit_rate"].default == 40.0
    assert all(shown[name].default == taken[name].default for name in shown if name not in ("task", "reference"))
    assert "sensor" not in shown
    assert "sensor" in inspect.signature(da.control.force_control).parameters
    both = inspect.signature(da.control.hybrid_control).parameters
    assert {*shown, "sensor", "force_gains"} == {*both} - {"forces"}
    options = [name for name in both if name not in ("task", "reference", "forces")]
    assert all(both[name].default == taken[name].default for name in options)
    driven = inspect.signature(da.control.computed_torque).parameters
    assert {*shown, "coordinates"} - {"task"} == {*driven}


def test_every_public_name_stands_in_the_reference():
    """Those of the zoo and its closed forms aside, which have pages of their own."""
    page = (Path(__file__).parents[2] / "docs/reference.md").read_text(encoding="utf-8")
    listed = {line.split(".")[-1] for line in page.splitlines() if line.startswith(":::")}
    lost = [f"{p.__name__}.{n}" for p in (da, da.analysis, da.control, da.view) for n in names_of(p) if n not in listed]
    assert not lost


def test_every_status_of_a_run_stands_on_the_page_about_simulating():
    page = (Path(__file__).parents[2] / "docs/simulating.md").read_text(encoding="utf-8")
    first = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for cell in first for name in re.findall(r"`([A-Z_]+)`", cell)}
    assert named == {status.name for status in da.Status}
