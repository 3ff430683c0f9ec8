"""Derivatives of the runs of an ensemble: `sensitivities` of each run, made alone after it.

Derivatives need every step of a run and its motion between steps, which lanes do not keep. So a run is made once more,
as `simulate` makes it, and differentiated; what the ensemble tells of the run itself does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.ensembles.lanes import Batch
from dalembert.ensembles.plan import EnsemblePlan, run_alone
from dalembert.errors import ArgumentError, DalembertError
from dalembert.sensitivity.following import held_names
from dalembert.sensitivity.guards import GuardOfState
from dalembert.sensitivity.quantities import Quantity, quantities
from dalembert.sensitivity.result import Sensitivities
from dalembert.sensitivity.runs import check_controller, check_held, end_and_path
from dalembert.sensitivity.targets import Targets
from dalembert.simulation.files import arguments
from dalembert.system.state import State
from dalembert.system.system import System

#: one row a run of (value, derivatives), by where they are taken
Slopes = dict[str, np.ndarray]  # end: (N, k, 1 + m); path: (N, T, K, 1 + m); least, greatest: (N, K, 1 + m)


@dataclass(frozen=True, eq=False, repr=False)
class RunSensitivities(Sensitivities):
    """Derivatives of the runs of an ensemble at their ends, by name; the first axis is that of runs.

    `s.d("A", "l1")` is (n,), `s.path.d("A", "l1")` (n, T), `s.greatest.d("A", "l1")` the derivative of each run's
    greatest value. NaN where a run has no derivative; `messages` says why. method: "forward" or "adjoint"; closure is
    that of a single run, and None here.
    """

    path: Sensitivities | None = None  # (n, T, …) at the times of t_eval; None where paths are not kept
    least: Sensitivities | None = None  # (n, …) of the least value over t_eval, of quantities that are no integrals
    greatest: Sensitivities | None = None
    messages: Mapping[int, str] = field(default_factory=dict)  # {run: why it has no derivatives}

    def labelled(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Variables and coordinates for xarray."""
        parts = {"end": self, "path": self.path, "least": self.least, "greatest": self.greatest}
        coords: dict[str, Any] = {"quantity": np.array(self.of, dtype=str), "wrt": np.array(self.wrt, dtype=str)}
        variables: dict[str, Any] = {}
        for where, s in parts.items():
            if s is None:
                continue
            axis = "quantity" if s.of == self.of else "path_quantity"
            coords[axis] = np.array(s.of, dtype=str)
            dims = ("run", *("t",) * (where == "path"), axis)
            variables |= {f"of_{where}": (dims, s.value), f"d_{where}": ((*dims, "wrt"), s.jacobian)}
        return variables, coords


@dataclass(frozen=True)
class Derivatives:
    """Derivatives that are wanted of every run, as `sensitivities` takes them; picklable."""

    of: Any
    wrt: tuple[str, ...]
    held: tuple[str, ...] | None

    def asked(self, system: System) -> list[Quantity]:
        """The quantities."""
        return quantities(system, self.of)

    def names(self, system: System) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Of all quantities, of those that are no integrals, and of what they are differentiated by."""
        asked = self.asked(system)
        ends = tuple(y.name for y in asked if not y.integral)
        return tuple(y.name for y in asked), ends, Targets.of(system, self.wrt).names

    def described(self, system: System) -> list[str]:
        """All of it as text that is equal in every process."""
        of = [arguments.of_output(system, _timed(y.what)) if y.kind == "function" else "" for y in self.asked(system)]
        return [repr(self.names(system)), repr(self.held), *of]


def wanted_derivatives(
    system: System, of: Any, wrt: Any, held: Any, outputs: Mapping[str, Any], assembled: tuple[str, ...] | None
) -> Derivatives:
    """Read the arguments of `ensemble`. assembled: coordinates from which the starts are assembled, with their rates.

    Outputs go by their names. By default `of` is all coordinates, rates and outputs, and `held` what is assembled from.
    """
    targets = Targets.of(system, wrt)
    if of is None:
        of = list(dict.fromkeys([*system.v_names, *(f"rate:{name}" for name in system.v_names), *outputs]))
    if isinstance(of, str):
        of = [of]
    if isinstance(of, (list, tuple)):
        of = [(x, GuardOfState(outputs[x])) if isinstance(x, str) and x in outputs else x for x in of]
    elif isinstance(of, Mapping):
        of = {name: GuardOfState(outputs[x]) if isinstance(x, str) and x in outputs else x for name, x in of.items()}
    if held is None and assembled is not None and system.rows.of:
        held = assembled
    if isinstance(held_names(system, held), str):
        raise ArgumentError(f"held is {checks.shown(held)}; needed: a list of coordinates that a start is given by.")
    asked = Derivatives(of, targets.names, None if held is None else tuple(held))
    asked.described(system)  # traces the functions: what is wrong with them is wrong for all runs
    return asked


def check_derivatives(plan: EnsemblePlan, start: State, u: np.ndarray) -> None:
    """Refuse what no run can be differentiated with."""
    if plan.slopes is None:
        return
    if plan.hybrid:
        raise ArgumentError(
            "wrt is given, and the structure of the mechanism changes in its runs; derivatives through switches, "
            "impacts and friction are not there."
        )
    if plan.controllers is None:
        check_controller(plan.setup)
    check_held(plan.setup.system, start, u, plan.setup.p, plan.slopes.wrt, plan.slopes.held)


def blank_slopes(plan: EnsemblePlan, n: int) -> Slopes:
    """NaN for n runs."""
    if plan.slopes is None:
        return {}
    (of, ends, wrt), times = plan.slopes.names(plan.setup.system), len(plan.wanted)
    width = 1 + len(wrt)
    shapes: dict[str, tuple[int, ...]] = {"end": (n, len(of), width)}
    if times and ends:
        shapes |= {"least": (n, len(ends), width), "greatest": (n, len(ends), width)}
        if plan.keep == "states":
            shapes["path"] = (n, times, len(ends), width)
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()}


def differentiated(
    plan: EnsemblePlan, batch: Batch, done: np.ndarray, go_on: Callable[[], bool]
) -> tuple[Slopes, dict[int, str], np.ndarray]:
    """Derivatives of the runs `done` (rows); why some have none; and rows that an interrupt has left."""
    out, messages = blank_slopes(plan, len(batch)), dict[int, str]()
    if plan.slopes is None:
        return out, messages, done[:0]
    for i, k in enumerate(map(int, done)):
        if not go_on():
            return out, messages, done[i:]
        try:
            _differentiate(plan, batch, k, out)
        except (DalembertError, np.linalg.LinAlgError) as error:
            messages[k] = str(error)
    return out, messages, done[:0]


def _differentiate(plan: EnsemblePlan, batch: Batch, k: int, out: Slopes) -> None:
    """Derivatives of run k."""
    assert plan.slopes is not None
    run = run_alone(plan, batch, k, None)
    inside = (plan.wanted >= run.t[0]) & (plan.wanted <= run.t[-1])
    of, wrt, held = plan.slopes.of, plan.slopes.wrt, plan.slopes.held
    end, path = end_and_path(run, of, wrt, held, plan.wanted[inside])
    out["end"][k] = _joined(end)
    if path is None:
        return
    found = _joined(path)
    if "path" in out:
        out["path"][k, inside] = found
    each = np.arange(found.shape[1])
    for name, pick in (("least", np.argmin), ("greatest", np.argmax)):
        out[name][k] = found[pick(found[:, :, 0], axis=0), each]


def as_result(plan: EnsemblePlan, slopes: Slopes, messages: Mapping[int, str]) -> RunSensitivities | None:
    """The derivatives of all runs, by name."""
    if plan.slopes is None:
        return None
    of, ends, wrt = plan.slopes.names(plan.setup.system)
    method = "forward" if len(plan.wanted) or len(of) >= len(wrt) else "adjoint"
    path, least, greatest = (
        None if (x := slopes.get(name)) is None else Sensitivities(ends, wrt, x[..., 0], x[..., 1:], t, "forward")
        for name, t in (("path", plan.wanted), ("least", None), ("greatest", None))
    )
    end = slopes["end"]
    return RunSensitivities(of, wrt, end[..., 0], end[..., 1:], None, method, None, path, least, greatest, messages)


def slope_columns(plan: EnsemblePlan) -> dict[str, tuple[str, int, int]]:
    """{column of a table: (where, quantity, 0 for its value or 1 + the place in wrt)}."""
    if plan.slopes is None:
        return {}
    of, ends, wrt = plan.slopes.names(plan.setup.system)
    out: dict[str, tuple[str, int, int]] = {}
    for where in blank_slopes(plan, 0):
        for i, name in enumerate(of if where == "end" else ends):
            out[f"{where}.{name}"] = where, i, 0
            out |= {f"d.{where}.{name}.{by}": (where, i, 1 + j) for j, by in enumerate(wrt)}
    return out


def _joined(s: Sensitivities) -> np.ndarray:
    return np.concatenate([s.value[..., None], s.jacobian], axis=-1)


def _timed(f: Any) -> Callable[[Any, Any], Any]:
    """f(state) as a function of time and state."""
    return lambda t, s: f(s)
