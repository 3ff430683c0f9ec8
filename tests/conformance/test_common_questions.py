"""The table of docs/results.md: which result answers which question, as found by asking every one of them."""

import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.tables import Tabular
from result_cases import CASES

matplotlib.use("Agg")
PAGE = Path(__file__).parents[2] / "docs" / "results.md"
QUESTIONS = (
    "position", "reactions", "driving_force", "energy", "power", "[name]", "state", "plot", "animate", "to_pandas",
    "to_xarray", "to_csv", "save", "summary", "print", "notebook",
)  # fmt: skip
#: class: names of its drive and of its input, for the two questions that need one
LED = {
    "Sweep": ("A", "A"), "Sweeps": ("A", "A"), "ActuatorForcesAlong": ("A", "A"), "MotionPlan": (None, "push"),
    "OptimalMotion": (None, "push"), "Run": (None, "A"), "PhasedRun": (None, "z"), "SteppedRun": (None, "z"),
    "Ensemble": (None, "A"),
}  # fmt: skip


#: what results without coordinates are asked
NAMED = {
    "Fit": "mass",
    "Design": "r",
    "Sensitivities": "acceleration:A",
    "RunSensitivities": "x",
    "Study": "mass",
}


def ask(result, question, folder):
    """The answer, or None where there is none."""
    system = getattr(result, "system", None)
    kind = type(result).__name__
    body = None if system is None else list(system.layout.mechanism.bodies)[-1]
    joint = None if system is None else next(iter(system.layout.joints))
    drive, driven = LED.get(kind, (None, None))
    path = folder / question
    ways = {
        "position": lambda: result.position(body),
        "reactions": lambda: result.reactions(joint),
        "driving_force": lambda: result.driving_force if drive is None else result.driving_force(drive),
        "energy": lambda: result.energy,
        "power": lambda: result.power(driven) if callable(result.power) else result.power,
        "[name]": lambda: result[NAMED.get(kind, joint)] if hasattr(result, "__getitem__") else None,
        "state": lambda: result.state if not callable(result.state) else state_of(result),
        "plot": lambda: result.plot(),
        "animate": lambda: result.animate(path.with_suffix(".html")),
        "to_pandas": lambda: result.to_pandas(),
        "to_xarray": lambda: result.to_xarray(),
        "to_csv": lambda: (result.to_csv(path.with_suffix(".csv")), path.with_suffix(".csv").read_text())[1],
        "save": lambda: (result.save(path.with_suffix(".npz")), path.with_suffix(".npz").stat().st_size)[1],
        "summary": lambda: result.summary(),
        "print": lambda: str(result),
        "notebook": lambda: result._repr_html_(),
    }
    try:
        return ways[question]()
    except (AttributeError, DalembertError):
        return None


def state_of(result):
    """The first state, wherever it stands."""
    for index in ((0,), (0, 0)):
        try:
            return result.state(*index)
        except (TypeError, DalembertError):
            continue
    return None


def table() -> dict[str, set[str]]:
    """{class: questions that it answers}, as the page has it."""
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    return {
        name: {q for q, cell in zip(QUESTIONS, cells.split("|"), strict=True) if cell.strip()} for name, cells in rows
    }


def as_line(kind: str, answered: set[str]) -> str:
    return f"| `{kind}` | " + " | ".join("✓" if q in answered else " " for q in QUESTIONS) + " |"


def test_every_kind_of_result_is_asked():
    """Each class of results that is not the base of another one, and none of the page's is missing."""

    def kinds(of):
        return {of} | {kind for below in of.__subclasses__() for kind in kinds(below)}

    ours = [kind for kind in kinds(Tabular) if kind.__module__.startswith("dalembert.")]
    bases = {"AtStates", "ByName", "ContactRun", "Estimated", "Histories", "Powers", "Tabular"}
    assert {kind.__name__ for kind in ours} - bases <= {*table(), "PhasedRun"}
    assert bases.isdisjoint(table())


@pytest.mark.parametrize("name", CASES)
def test_the_page_says_what_a_result_answers(name, tmp_path):
    result = CASES[name]()
    answered = {q for q in QUESTIONS if ask(result, q, tmp_path) is not None}
    matplotlib.pyplot.close("all")
    kind = {"PhasedRun": "Run"}.get(type(result).__name__, type(result).__name__)  # it answers as a run does
    assert answered == table()[kind], as_line(kind, answered)
    assert {"plot", "to_pandas", "to_xarray", "to_csv", "save", "summary", "print", "notebook"} <= answered


@pytest.mark.parametrize(
    "name",
    [n for n in CASES if n not in ("linear_model", "sensitivities", "run_sensitivities", "fit", "design", "study")],
)
def test_answers_have_the_axes_of_the_result(name):
    """Positions, energies and coordinates have one entry for each state, along the same axes."""
    result = CASES[name]()
    axes = (
        np.shape(result.q)[:-1]
        if getattr(result, "q", None) is not None
        else np.shape(result[next(iter(result.system.layout.joints))])
    )
    body, joint = list(result.system.layout.mechanism.bodies)[-1], next(iter(result.system.layout.joints))
    assert result.position(body).shape == (*axes, 3)
    assert result.pose(body).shape == (*axes, 4, 4)
    assert np.shape(result[joint]) == axes or type(result).__name__ == "ActuatorForcesAlong"
    assert np.shape(result.kinetic_energy) == axes
    first = state_of(result) if callable(result.state) else result.state
    at = (0,) * len(axes) if type(result).__name__ != "Ensemble" else (0,) + (-1,) * (len(axes) - 1)
    np.testing.assert_allclose(result.position(body)[at], first.position(body), atol=1e-12)
