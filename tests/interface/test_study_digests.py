"""What runs and studies on disk are told apart by: every field of every element, and every argument."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import fields, is_dataclass

import casadi as ca
import numpy as np
import pytest
from scipy.stats import uniform

import dalembert as da
from dalembert.ensembles.ensemble import OPTIONS
from dalembert.facts import digest
from dalembert.mechanism.facts import BESIDE, ELEMENTS, NOT_OF_MOTION, described
from dalembert.simulation.files import check_system, header_of_run
from dalembert.symbols import Scalar


def everything() -> da.Mechanism:
    """A mechanism with elements of all kinds."""
    m = da.Mechanism("all", gravity=(0, 0, -9.0))
    L = m.add_parameter("L", 0.7)
    bodies = [m.add_body(n, mass=1.0 + L, com=(0.1, 0, L), inertia=(2, 2, 2)) for n in ("cart", "arm", "tip", "ball")]
    cart, arm, tip, ball = bodies
    friction = da.Friction(2.0, static=3.0, stribeck=0.1, load=0.2)
    m.add_joint(
        "x", da.Prismatic("x"), m.ground, cart, stiffness=5.0, damping=0.3, rest=0.1, armature=0.2, limits=(-2, 3),
        friction=friction, stops=da.Stops(restitution=0.4),
    )  # fmt: skip
    stops = da.Stops(stiffness=90.0, damping=2.0)
    m.add_joint("A", da.Revolute("y"), cart.at(0, 0, L), arm, limits=(-1, 1), stops=stops)
    m.add_joint("B", da.Screw("y", pitch=0.02), arm.at(0.5, 0, 0), tip)
    m.add_joint("lift", da.Prismatic("z"), m.ground, ball)
    m.add_frame("mark", tip.at(0.1, 0.2, 0.3))
    m.add_motor("motor", "A")
    m.add_servo("servo", "x", stiffness=3.0, damping=1.0, limits=(-4.0, 4.0))
    m.add_spring("spring", m.ground, tip, stiffness=20.0, damping=1.0, rest_length=0.4)
    m.add_actuator("cylinder", m.ground, arm, limits=(-9.0, 9.0))
    m.add_joint_force("law", "lift", lambda s: -3.0 * s["lift"])
    m.add_potential("field", lambda s: 0.5 * s["x"] ** 2)
    m.add_wrench("wind", tip, force=(1.0, 0, 0))
    m.add_rod("rod", cart.at(0, 0, 0), ball.at(0, 0, 1), length=1.5)
    m.add_point_in_plane("plane", tip, m.ground)
    m.add_coupling("gear", {"A": 1.0, "B": -2.0}, 0.1)
    m.add_driver("drive", "lift", lambda t: 0.1 * t)
    m.add_constraint("own", holonomic=lambda s: s["A"] - 0.1)
    m.add_contact("floor", ball, radius=0.1, restitution=0.5, friction=0.3)
    m.add_rope("rope", [m.ground, tip], length=4.0, restitution=0.1)
    return m


def other(x):
    """A value of the kind of x that differs from it; None where x has parts that are changed one by one."""
    if isinstance(x, (bool, np.bool_)):
        return not x
    if isinstance(x, (int, float)):
        return x + 0.5 if np.isfinite(x) else 7.0
    if isinstance(x, str):
        return x + "x"
    if x is None:
        return 1.25
    if isinstance(x, ca.SX):
        return x + 0.5
    if inspect.isfunction(x):
        return lambda *arguments: 0.125
    if isinstance(x, np.ndarray):
        if not x.size:
            return np.zeros((*x.shape[:-1], 1))
        y = x.copy()
        first = y.reshape(-1)[0]
        y.reshape(-1)[0] = Scalar(first.sx + 0.5) if isinstance(first, Scalar) else other(first)
        return y
    return None


def parts(x):
    """(name, value) of the fields of an object."""
    if is_dataclass(x):
        return [(f.name, getattr(x, f.name)) for f in fields(x)]
    slots = [name for kind in type(x).__mro__ for name in getattr(kind, "__slots__", ())]
    return (
        [*((name, getattr(x, name)) for name in slots), *vars(x).items()]
        if hasattr(x, "__dict__")
        else [(name, getattr(x, name)) for name in slots]
    )


def changes(x, where, elements, seen):
    """(where, change it, put it back) for every field of an object and of what it consists of."""
    left_out = {name for kind in type(x).__mro__ for name in NOT_OF_MOTION.get(kind, ())}
    for name, value in parts(x):
        if name in left_out:
            continue
        place = f"{where}.{name}"
        if id(value) in elements:  # a body of a frame, the joint of a spring: another one
            instead = next(e for e in elements.values() if type(e) is type(value) and e is not value)
        elif isinstance(value, (tuple, list)):
            for k, item in enumerate(value):
                if id(item) not in elements and other(item) is None and id(item) not in seen:
                    seen.add(id(item))
                    if isinstance(item, tuple):
                        continue
                    yield from changes(item, f"{place}[{k}]", elements, seen)
            instead = (*value, 1.5)
        else:
            instead = other(value)
            if instead is None:
                yield from changes(value, place, elements, seen)
                continue
        yield place, x, name, value, instead


def test_every_field_of_every_element_tells_descriptions_apart():
    m = everything()
    base = described(m)
    elements = {id(x): x for part in ELEMENTS if part != "frames" for x in getattr(m, part).values()}
    tried = []
    for part in ELEMENTS:
        for name, x in getattr(m, part).items():
            for where, holder, field, value, instead in changes(x, f"{ELEMENTS[part]} {name}", elements, set()):
                object.__setattr__(holder, field, instead)
                assert digest(described(m)) != digest(base), where
                object.__setattr__(holder, field, value)
                tried.append(where)
    assert digest(described(m)) == digest(base)
    assert len(tried) > 200
    for some in (
        "contact floor.restitution",
        "rope.length",
        "x.friction[0].coulomb",
        "x.stops.restitution",
        "rod.length",
    ):
        assert any(where.endswith(some) for where in tried), some


def test_numbers_inside_of_functions_tell_descriptions_apart():
    def geared(ratio, rate):
        m = ball(None)
        m.add_joint("y", da.Prismatic("y"), m.ground, m.add_body("cart", mass=1.0))
        m.add_coupling("gear", {"z": 1.0, "y": ratio})
        m.add_driver("drive", "y", lambda t: rate * t)
        return digest(described(m))

    assert geared(2.0, 3.0) == geared(2.0, 3.0)
    assert len({geared(2.0, 3.0), geared(2.5, 3.0), geared(2.0, 3.5)}) == 3


def test_no_part_of_a_mechanism_is_forgotten():
    """A new table of elements has to be said to count or not."""
    assert set(vars(da.Mechanism())) == {*ELEMENTS, *BESIDE}


def test_a_description_is_the_same_in_every_process():
    text = "from tests.interface.test_study_digests import *; print(digest(described(everything())))"
    found = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout.strip()
    assert found == digest(described(everything()))


def ball(radius=0.1, restitution=0.5, **joint):
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0), limits=(0.05, 7.0), **joint)
    if radius is not None:
        m.add_contact("floor", "ball", radius=radius, restitution=restitution)
    return m


CHANGED = [
    ({}, {"radius": 0.3}),
    ({}, {"restitution": 0.9}),
    ({"friction": da.Friction(2.0)}, {"friction": da.Friction(6.0)}),
    ({"friction": da.Friction(2.0)}, {"friction": da.Friction(2.0, static=9.0)}),
    ({"radius": None, "stops": da.Stops()}, {"radius": None, "stops": da.Stops(restitution=0.9)}),
    ({"stops": da.Stops(stiffness=100.0)}, {"stops": da.Stops(stiffness=900.0)}),
]


@pytest.mark.parametrize(("one", "changed"), CHANGED)
def test_contacts_stops_and_friction_that_differ_are_another_study_and_another_run(one, changed, tmp_path):
    first, second = ball(**one).compile(), ball(**changed).compile()
    da.ensemble(first, {"z": [5.1]}, 0.3, store=tmp_path / "runs")
    with pytest.raises(da.FileError, match="another study"):
        da.ensemble(second, {"z": [5.1]}, 0.3, store=tmp_path / "runs")
    da.simulate(first, {"z": 5.1}, 0.3, record=tmp_path / "a")
    with pytest.raises(da.FileError, match=r"another description: (contact floor|joint z)\.\S+ was .* and is "):
        da.read_run(tmp_path / "a", second)
    with pytest.raises(da.FileError, match="another description"):
        da.simulate(second, {"z": 5.1}, 0.3, record=tmp_path / "a", resume=True)


def test_what_a_body_looks_like_and_new_marks_are_the_same_run(tmp_path):
    da.simulate(ball().compile(), {"z": 5.1}, 0.3, record=tmp_path / "a")
    m = ball()
    m.bodies["ball"].add_shape("sphere", 0.1)
    m.add_frame("mark", m.bodies["ball"].at(0, 0, 0.1))
    m.add_state("high", q={"z": 7.0})
    assert da.read_run(tmp_path / "a", m.compile()).success


def test_lengths_that_differ_by_rounding_are_the_same_system():
    header = header_of_run(ball(0.1).compile())
    check_system(header, ball(0.1 * (1 + 1e-15)).compile(), "a")


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    L = m.add_parameter("L", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)), limits=(-1, 1))
    m.add_motor("motor", "A")
    m.add_driver("hand", "A", lambda t: 0.2)
    return m.compile().without("hand")


#: for every argument of `simulate` that runs depend on: another value, and what else is given both times
ARGUMENTS = {
    "state": ({"A": 0.3}, {}),
    "t": ((0.1, 0.5), {}),
    "u": ({"motor": 0.1}, {}),
    "p": ({"L": 1.1}, {}),
    "period": (0.05, {"u": da.expression(lambda t, s: {"motor": 0.1})}),
    "events": ({"e": da.expression(lambda t, s: s["A"])}, {}),
    "switches": ([da.Switch(close="hand", at=0.45, reach=5.0)], {}),
    "stops": (da.Stops(restitution=0.5), {}),
    "method": ("dopri5", {}),
    "rtol": (1e-8, {}),
    "atol": (1e-9, {}),
    "step": (1e-3, {}),
    "max_step": (0.1, {}),
    "t_eval": ([0.0, 0.1], {}),
    "stabilization": ("none", {}),
    "coordinates": ("tangent", {}),
    "formulation": ("nullspace", {}),
    "options": ({"tolerance": 1e-8}, {}),
    "on_singularity": ("stop", {}),
}
#: where a run is written and how many steps it may take do not change what it is; a later end goes on
FREE = {"system", "record", "resume", "max_steps"}


def test_every_argument_has_its_test():
    assert set(inspect.signature(da.simulate).parameters) == {*ARGUMENTS, *FREE}
    assert set(OPTIONS) <= {*ARGUMENTS, *FREE}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_tells_recordings_apart(name, tmp_path):
    value, both = ARGUMENTS[name]
    given = {"state": {"A": 0.2}, "t": 0.5, **both}
    system = pendulum()
    da.simulate(system, **given, record=tmp_path / "a")
    with pytest.raises((da.ArgumentError, da.FileError), match=r"was recorded with|another|columns|other parameters"):
        da.simulate(system, **{**given, name: value}, record=tmp_path / "a", resume=True)


@pytest.mark.parametrize("name", [*OPTIONS, "t_eval", "keep", "outputs", "p", "u", "seed", "lanes", "wrt", "paths"])
def test_every_argument_tells_studies_apart(name, tmp_path):
    more = {
        "keep": ("outputs", {"t_eval": [0.0, 0.1]}),
        "outputs": ({"y": lambda t, s: s["A"]}, {"t_eval": [0.0, 0.1]}),
        "seed": (7, {"vary": {"k": uniform(0.1, 0.2)}, "states": lambda k, x: {"A": x["k"]}, "n": 2}),
        "lanes": (1, {}),
        "wrt": (["L"], {}),
        "paths": ("zarr", {"t_eval": [0.0, 0.1]}),
        "max_steps": (3, {}),
    }
    value, both = {**ARGUMENTS, **more}[name]
    given = {"states": {"A": [0.1, 0.2]}, "t": 0.2, **both}
    system = pendulum()
    da.ensemble(system, **given, store=tmp_path / "a")
    with pytest.raises(da.FileError, match="another study"):
        da.ensemble(system, **{**given, name: value}, store=tmp_path / "a")


def test_everything_that_a_controller_consists_of_counts():
    class Law:
        def __init__(self, gains):
            self.gains = gains

        def __call__(self, t, s):
            return self.gains["A"] * s["A"]

    same = [digest(Law({"A": [1.0, 2]})) for _ in range(2)]
    assert same[0] == same[1]
    assert digest(Law({"A": [1.0, 3]})) != same[0]
    assert digest(np.random.default_rng(1)) != digest(np.random.default_rng(2))


def test_a_python_function_that_was_changed_since_is_told(tmp_path):
    system = pendulum()
    given = {"state": {"A": 0.2}, "t": 0.5, "record": tmp_path / "a"}
    da.simulate(system, **given, u=lambda t, s: [0.1 * t])
    with pytest.warns(RuntimeWarning, match="another 'u': the code of a function in Python"):
        da.simulate(system, **given, resume=True, u=lambda t, s: [0.2 * t])
