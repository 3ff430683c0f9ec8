"""Switches that are due: which constraints hold after them, which close, and how far they are moved to close."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.hybrid.phase_system import system_in
from dalembert.simulation.hybrid.problem import HybridProblem
from dalembert.simulation.hybrid.state import HybridState
from dalembert.simulation.hybrid.switch import Switch, Switched
from dalembert.simulation.run.segment import Cause
from dalembert.simulation.status import Ended, Status
from dalembert.system.state import State

LATCHED = 1e-3  # of the fastest meeting of rows that close with restitution: below it they stay closed


@dataclass(frozen=True, eq=False)
class Switching:
    """Switches that happen now, and what they do to constraints."""

    held: tuple[str, ...]  # constraints that hold after it
    due: Mapping[str, Switch] = field(default_factory=dict)
    bounced: Collection[str] = ()  # switches whose rows are too fast to stay closed
    closing: Mapping[str, float] = field(default_factory=dict)  # constraints that close, or bounce: their restitution


def due_now(problem: HybridProblem, s: HybridState, cause: Cause | None, zero: Collection[str]) -> dict[str, Switch]:
    """Switches that happen now; zero: events that are zero here."""

    def happens(name: str, switch: Switch) -> bool:
        if switch.at is not None:
            return cause is None and s.x.t in switch.at
        return cause is not None and f"switch {name}" in zero and not problem.is_idle(name, s)

    return {name: switch for name, switch in problem.switches.items() if happens(name, switch)}


def switching(
    problem: HybridProblem, s: HybridState, due: Mapping[str, Switch], history: Sequence[Switched], length: float
) -> Switching:
    """What switches that are due do to constraints; history: changes so far. length: of the mechanism, m."""
    bounced = _bounced(problem, s, due, history, length)
    held, closing = list(s.mode.held), dict[str, float]()
    for name, switch in due.items():
        held = [n for n in held if n not in switch.open]
        for constraint in switch.close:
            if constraint not in held:
                closing[constraint] = switch.restitution if name in bounced else 0.0
                if name not in bounced:
                    held.append(constraint)
    order = list(problem.changeable.base.layout.mechanism.constraints)
    return Switching(tuple(sorted(held, key=order.index)), due, bounced, closing)


def _bounced(
    problem: HybridProblem, s: HybridState, due: Mapping[str, Switch], history: Sequence[Switched], length: float
) -> list[str]:
    """Switches whose rows are too fast to stay closed, where these have a restitution: they may happen again."""
    elastic = {name: switch for name, switch in due.items() if switch.restitution > 0.0 and switch.close}
    out = []
    instant = problem.instant(s) if elastic else None
    for name, switch in elastic.items():
        assert instant is not None
        rows = instant.of(*switch.close)
        before = [x.v_before for x in history if x.kind == "hit" and x.of == name]
        fastest = max((np.abs(instant.A[rows] @ v + instant.b[rows]).max() for v in before), default=0.0)
        if np.abs(instant.speeds[rows]).max() > max(LATCHED * fastest, 1e-12 * length):
            out.append(name)
    return out


def moved_to_close(problem: HybridProblem, x: State, switched: Switching) -> tuple[State, float]:
    """The nearest position in which the constraints that close hold, and how far it is, m or rad."""
    closing = [n for n in switched.closing if n in switched.held]
    if not closing:
        return x, 0.0
    system = system_in(problem.changeable, HybridMode(switched.held))
    p = np.concatenate([problem.setup.p, np.zeros(system.size)]) if system.size else problem.setup.p
    phi = system.evaluate("constraints", x, p=p)[0]
    miss = np.where([c in closing for c in system.rows.of], np.abs(phi), 0.0)
    if not len(miss):
        return x, 0.0
    worst = int(np.argmax(miss))
    asked, angular = [s.reach for s in switched.due.values() if s.reach is not None], system.rows.angular[worst]
    reach = max(asked) if asked else 1e-6 * (1.0 if angular else system.layout.length)
    if miss[worst] > reach:
        raise Ended(
            Status.NOT_CLOSED,
            f"row '{system.row_names[worst]}' misses by {miss[worst]:.4g} {'rad' if angular else 'm'}, more than its "
            f"reach of {reach:.2g}. Switch when it is nearer, or give reach=",
        )
    return (system.project(x, p=p).replace(v=x.v) if miss[worst] > 0.0 else x), float(miss[worst])
