"""What is asked of a hybrid run, wherever it starts, and the layouts of its modes."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.lazy import cached_property
from dalembert.rank import reach
from dalembert.simulation.callbacks import Callback
from dalembert.simulation.events import Event
from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.hybrid.mode_layout import ModeLayout
from dalembert.simulation.hybrid.mode_record import ModeRecord, is_for
from dalembert.simulation.hybrid.phase_system import system_in
from dalembert.simulation.hybrid.rest import Rest
from dalembert.simulation.hybrid.state import HybridState
from dalembert.simulation.hybrid.switch import Switch
from dalembert.simulation.setup import Choices, Setup, on_manifold
from dalembert.system.state import State
from dalembert.system.system import System

LAYOUTS = 64  # kept of a problem
RECORDS = 4  # kept of a problem
IMPLICIT = "sdirk4"  # the method of stiff segments
HERE = 1e-5  # rad, or of a length: a position that has not been left


def _nothing(t: float, state: Any) -> float:
    return 0.0


GUARD = Event(_nothing, -1, True)  # stands for one, whose values are those of the mode


@dataclass(frozen=True, eq=False)
class HybridProblem:
    """The request for a hybrid run; runs without functions of their own share one, and its layouts."""

    changeable: Changeable
    choices: Choices
    setup: Setup  # of the whole
    switches: Mapping[str, Switch]
    control: Callback | None  # the controller of all segments
    layouts: dict[Any, ModeLayout] = field(default_factory=dict)
    records: list[ModeRecord] = field(default_factory=list)  # of runs that have ended
    lock: Any = field(default_factory=threading.Lock)

    @cached_property
    def whole(self) -> System:
        """The system that was given, with the constraints that switches close."""
        base = self.changeable.base
        closed = {n for s in self.switches.values() for n in s.close}
        held = {c.name for c in base.description.constraints}
        return base.with_constraints(*closed - held) if closed - held else base

    def is_idle(self, name: str, s: HybridState) -> bool:
        """Whether a switch has happened for good, or finds everything as it would make it."""
        switch, held = self.switches[name], s.mode.held
        as_it_is = all(n in held for n in switch.close) and not any(n in held for n in switch.open)
        return as_it_is or (switch.once and name in s.done)

    def events(self, s: HybridState) -> dict[str, Event]:
        """Events of switches and of the user.

        There is one of each switch, also of those that change nothing now, so that segments are alike. These do not end
        a segment: a latch that closes where its event is zero stays there but for rounding.
        """
        switches = {
            f"switch {name}": Event(switch.event.g, switch.event.direction, not self.is_idle(name, s))
            for name, switch in self.switches.items()
            if switch.event is not None
        }
        return {**switches, **self.setup.events}

    def is_switch(self, event: str) -> bool:
        """Whether an event is that of a switch."""
        return any(event == f"switch {name}" for name, s in self.switches.items() if s.event is not None)

    def arrival(self, s: HybridState, x: State | None = None) -> np.ndarray | None:
        """(nv,) a velocity along the branch that the motion came by, where x, or s, is in a singular position."""
        if s.branch is None:
            return None
        base, (q, v), x = self.changeable.base, s.branch, s.x if x is None else x
        moved = base.minus(x, x.replace(q=q)) / reach(base, self.setup.p)
        return v if np.abs(moved).max(initial=0.0) <= HERE else None

    def instant(self, s: HybridState, x: State | None = None) -> Instant:
        """The equations at a state x, or of s, with the inputs that act there."""
        x = s.x if x is None else x
        u = s.u if self.control is None else self._inputs(x, s.u)
        return Instant(self.changeable, x, u, self.setup.p, None, None if s.branch is None else self.arrival(s, x))

    def moved(self, before: Instant, v: np.ndarray) -> Instant:
        """The equations at the same position and time, with other velocities."""
        old = before.state
        v.flags.writeable = False
        x = State(old.q, v, old.t, old.layout)
        u = before.u if self.control is None else self._inputs(x, before.u)
        return Instant(self.changeable, x, u, self.setup.p, before)

    def _inputs(self, x: State, u: np.ndarray) -> np.ndarray:
        """(nu,) what the controller gives at a state; where it is sampled, or these are no numbers, u."""
        assert self.control is not None
        if self.setup.period > 0.0:
            return u
        found = self.control.bound.at(x.t, np.concatenate([x.q, x.v]))[: len(u)]
        return found.copy() if np.isfinite(found).all() else u

    def rest(self, s: HybridState, arrival: np.ndarray) -> Rest | None:
        """What holds a mechanism that stands in or beside a singular position from now on, at zero velocities."""
        x = s.x.replace(v=np.zeros(len(s.x.v)))
        instant = Instant(self.changeable, x, s.u, self.setup.p, None, arrival)
        return Rest.of(instant, s.mode, system_in(self.changeable, s.mode).watched, s.numbers)

    def locked(self, s: HybridState) -> Rest:
        """A mechanism that stands in a position from which no motion leads away."""
        at = self.instant(s)
        watched = system_in(self.changeable, s.mode).watched
        return Rest(at, [], np.zeros(len(s.x.v)), FactoredRows.of(at, []), watched, True)

    def tell_controller(self, t: float, held: Collection[str]) -> None:
        """Tell the controller which constraints hold from now on, if it wants to know."""
        if hasattr(self.setup.controller, "changed"):
            known = self.changeable.base.layout.mechanism.constraints
            self.setup.controller.changed(t, {name: name in held for name in known})

    def record(self, layout: ModeLayout) -> ModeRecord | None:
        """A record for the segments of a run, this one first; None where each has one of its own."""
        if not is_for(layout):
            return None
        try:
            return self.records.pop()
        except IndexError:
            return ModeRecord(layout)

    def layout(self, s: HybridState, mine: dict[Any, ModeLayout]) -> ModeLayout:
        """The functions of a segment: those of an earlier one of the run like it, `mine`, of another run, or new ones.

        Constraint rows that guards are found by are those that are independent where the run first came to the mode: a
        run does not depend on others.
        """
        numbers = tuple((k, tuple(np.atleast_1d(x).tolist())) for k, x in s.numbers.items())
        key: Any = s.mode, s.done, numbers, s.stiff > 0.0
        found = mine.get(key)
        if found is not None:
            return found
        system = system_in(self.changeable, s.mode)
        p = np.concatenate([self.setup.p, system.vector(s.numbers)]) if system.size else self.setup.p
        rows = independent_rows(system, on_manifold(system, s.x, p), p) if system.rows.of else None
        with self.lock:
            found = self.layouts.get((key, rows))
        if found is None:
            own = dict.fromkeys([f"{kind} {name}" for kind, name in system.watched], GUARD)
            given = self.events(s)
            stabilized = system.rows.of or self.choices.baumgarte is None
            method = IMPLICIT if s.stiff > 0.0 else self.setup.method_name
            setup = replace(
                self.setup, method_name=method, system=system, p=p, events={**own, **given},
                stabilization=self.choices.stabilization if stabilized else None,
            )  # fmt: skip
            found = ModeLayout(setup, given, self.setup.p, self.control, rows, s.numbers)
            with self.lock:
                if len(self.layouts) >= LAYOUTS:
                    self.layouts.pop(next(iter(self.layouts)))
                self.layouts[key, rows] = found
        if len(mine) >= LAYOUTS:
            mine.pop(next(iter(mine)))
        mine[key] = found
        return found
