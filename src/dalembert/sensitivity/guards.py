"""When a run or a phase of one ends by an event: the function whose root it is, and how that time moves.

δτ = −(g_x δx + g_θ) / (g_x ẋ + g_t)                                                                     (1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, DalembertError
from dalembert.sensitivity.equations import SensitivityEquations
from dalembert.sensitivity.quantities import Quantity, check_determinate, values
from dalembert.simulation.callbacks import expression, is_numba
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.results.run import Run, continuation

TOUCHED = 1e-9  # of the terms of ġ: a guard whose rate is no more is touched, not crossed


class GuardOfState:
    """g(t, state) as a function of the state; equal for equal g."""

    def __init__(self, g: Any):
        self.g = g

    def __call__(self, s: Any) -> Any:
        try:
            return self.g(s.t, s)
        except DalembertError:
            raise
        except Exception as error:
            raise ArgumentError(
                f"the event or output cannot be differentiated: {type(error).__name__}: {error}. Write it as a "
                "da.expression, with CasADi's functions."
            ) from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GuardOfState) and other.g is self.g

    def __hash__(self) -> int:
        return hash(self.g)


def moving_end(
    eq: SensitivityEquations, run: Run, known: Mapping[str, Any], rates: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """w (n,) and w_θ (m,) with δτ = −(w δx + w_θ) of the event that ended a run. known, rates: the end, and ẋ there."""
    guard, t = _guard(run), float(run.t[-1])
    check_determinate(run.system, run.state(-1), run.u[-1] if run.u.shape[1] else None, run.p, [guard])
    g = values(eq, [guard], known)
    speed = float(g.x[0, 0] @ rates + g.t[0, 0])
    terms = float(np.abs(g.x[0, 0]) @ np.abs(rates) + abs(g.t[0, 0]))
    if abs(speed) <= TOUCHED * terms:
        raise ArgumentError(
            f"at t = {t:.6g} s {guard.name} is touched, not crossed: that time has no derivative. Ask for derivatives "
            "at times before it, at=."
        )
    return g.x[0, 0] / speed, g.theta[0, 0] / speed


def _guard(run: Run) -> Quantity:
    """The function whose root ended a run, as a quantity."""
    between, end = continuation(run), run.t[-1]
    assert between is not None
    for name, event in between.layout.setup.events.items():
        hits = run.t_events[name]
        if not (event.terminal and len(hits) and hits[-1] == end):
            continue
        kind, _, of = name.partition(" ")
        if isinstance(run.system, PhaseSystem) and (kind, of) in run.system.watched:
            return _of_structure(run.system, kind, of, float(end))
        g = event.g.f if isinstance(event.g, expression) else event.g
        if is_numba(g):
            raise ArgumentError(f"event '{name}' is a Numba function; needed: a da.expression.")
        return Quantity(f"event '{name}'", "function", GuardOfState(g))
    raise ArgumentError("the event that ended the run is not known.")


def _of_structure(system: PhaseSystem, kind: str, of: str, t: float) -> Quantity:
    """The gap, force or speed that vanishes, but for a constant, where the structure changes."""
    contact, friction = system.changeable.contacts.get(of), system.changeable.frictions.get(of)
    if kind == "closes" and contact is not None:
        return Quantity(f"the gap of '{of}'", "function", contact.gap)
    if kind == "opens":
        return Quantity(f"the force of '{of}'", "multiplier", f"{of}.gap")
    if kind == "stops" and friction is not None:
        return Quantity(f"the speed of '{of}'", "function", friction.speed)
    if kind == "slips" and friction is not None and friction.law.load == 0.0:
        return Quantity(f"the friction of '{of}'", "multiplier", f"{friction.name}.stick")
    what = "begins to slide" if kind == "slips" else "stops sliding" if kind == "stops" else "changes"
    raise ArgumentError(
        f"at t = {t:.6g} s '{of}' {what}, and the derivative of that time is not there. Ask for derivatives of the "
        "phases of the run, run.phases[k], at times before their ends, at=."
    )
