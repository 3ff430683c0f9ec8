"""One phase: the layout of its functions and events, and the driver that ends it where the structure has to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dalembert.analysis.mobility import independent_rows
from dalembert.integrators.run_record import TURNS
from dalembert.native.bound import Bound
from dalembert.simulation.callbacks import Callback, expression, scalar_of
from dalembert.simulation.detours import STAY
from dalembert.simulation.driver import Driver
from dalembert.simulation.events import Event, Hit, as_python, ending, up_to
from dalembert.simulation.layout import Layout
from dalembert.simulation.phases.asked import Cause
from dalembert.simulation.phases.mode import PhaseSystem
from dalembert.simulation.phases.standing import Standing
from dalembert.simulation.setup import Choices, Setup, on_manifold
from dalembert.simulation.status import Status
from dalembert.symbols import array
from dalembert.system.state import State

ARGUMENTS = ("q", "v", "u", "p", "t")
PACE = 0.25  # of a phase's age: steps in which a force or a speed could change its sign twice are not longer


class PhaseLayout(Layout):
    """The functions of a phase: its watcher sees what the structure depends on, then the events of the user."""

    def __init__(self, setup: Setup, start: State, given: Mapping[str, Event], base_p: np.ndarray, control: Any):
        """given: events of the user, and of switches, which see the mechanism's own parameters base_p."""
        self.given, self.base_p = dict(given), base_p
        self.kept_rows: tuple[int, ...] | None = None
        system = setup.system
        if system.rows.of:
            self.kept_rows = independent_rows(system, on_manifold(system, start, setup.p), setup.p)
        self.control = control
        super().__init__(setup)

    @property
    def phase(self) -> PhaseSystem:
        """The system of the phase."""
        return self.system  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout(self.setup).__reduce__()

    def steering(self) -> Callback:
        return self.control

    @property
    def directions(self) -> list[int]:
        own = [TURNS if kind == "turns" else -1 for kind, _ in self.phase.watched]
        return own + super().directions[len(own) :]

    def watching(self) -> Callback:
        system, p = self.phase, self.setup.p
        back = Callback(system, p, len(self.setup.events))
        own = len(system.watched)
        base, functions = system.changeable.base, {name: e.g for name, e in self.given.items()}
        if all(isinstance(g, expression) for g in functions.values()):

            def values(s: Any) -> Any:
                users = [scalar_of(s, g.f, f"event '{name}'") for name, g in functions.items()]
                return array([*system.events(s), *users])

            key = ("phase_events", *(g.f for g in functions.values()))
            kernel = system.custom_kernel(key, ARGUMENTS, values, rows=self.kept_rows)
            back.bound = Bound.of(kernel, {"p": p})
            return back
        kernel = system.custom_kernel(("phase_events",), ARGUMENTS, system.events, rows=self.kept_rows)
        inner = Bound.of(kernel, {"p": p})
        users = [as_python(base, name, g, self.base_p) for name, g in functions.items()]

        def both(t: float, state: State, *u: np.ndarray) -> np.ndarray:
            if "u" in inner.slices and u:
                inner["u"][:] = u[0]
            first = inner.at(t, np.concatenate([state.q, state.v]))[:own]
            return np.concatenate([first, [g(t, state) for g in users]])

        back.python(both, self.base_p, self.setup.nu)
        return back


class PhaseDriver(Driver):
    """A phase under way; `cause` is what ended it."""

    layout: PhaseLayout
    standing: Standing | None = None  # a mechanism that does not move in this phase

    def prepare(self, u: np.ndarray, step: float, clock: tuple[float, float] | None) -> None:
        """Before `begin`: the inputs that act, the first step (s; 0: chosen), and since when a controller is sampled.

        clock: (first time, time up to which the last sample is held).
        """
        run = self.record
        if run.nu:
            self.inputs[:] = u
        if step > 0.0:
            run.h = run.usual_h = step
        if clock is not None:
            run.hold_start, run.sampled_until = clock
            run.samples = round((clock[1] - clock[0]) / run.hold)
        if not self.setup.method.fixed and any(k not in ("closes", "turns") for k, _ in self.layout.phase.watched):
            run.pace, run.begun = PACE, run.t
        watch, run.own_events = run.watch, len(self.layout.phase.watched)
        run.watch_u = watch.slices["u"].start if "u" in getattr(watch, "slices", {}) else 0

    def begin(self) -> None:
        run, n = self.record, self.system.nq + self.system.nv
        watcher, self.watcher = self.watcher, None
        super().begin()
        self.watcher = watcher
        if watcher is not None:
            if run.watch_u:
                run.watch.x[run.watch_u : run.watch_u + run.nu] = self.inputs
            run.event_values[:] = run.watch.at(run.t, run.x[:n])[: run.events]
            if self.standing is not None:
                run.event_values[:, : len(self.standing.watched)] = self.standing.values(run.t, self.inputs)

    def go(self) -> Status:
        if self.standing is None:
            return super().go()
        run, t, status = self.record, self.record.t, Status.DONE
        run.x[self.system.nq : self.system.nq + self.system.nv] = 0.0
        self.take_records()
        with self.interrupt:
            while run.t < run.end and status == Status.DONE:
                status = Status.INTERRUPTED if self.interrupt.asked else self._stand(STAY * (run.end - t))
        sigma = self.margin() ** 0.5
        if sigma <= run.hit:
            self.note(t, sigma, run.x, (t, run.t), sigma**2, True, run.singular_steps, True)
        return status

    def _stand(self, step: float) -> Status:
        """A step in which nothing moves, to the first event that ends the phase."""
        run, events = self.record, list(self.setup.events.values())
        if run.hold > 0.0 and run.t >= run.sampled_until:
            jumped = self._sampled()
            if jumped is not None:
                self.ended_by = jumped
                return Status.EVENT
        before, end = run.event_values[0].copy(), min(run.t + step, run.end)
        end = run.end if run.end - end < 0.5 * step else end
        if run.hold > 0.0:
            end = min(end, run.sampled_until)
        now, hits, status = self._values_at(end), list[Hit](), Status.DONE
        for k, event in enumerate(events):
            if event.wants(before[k], now[k]):
                when = end if now[k] == 0.0 else brentq(lambda t, k=k: self._values_at(t)[k], run.t, end, xtol=1e-15)
                hits.append((float(when), run.x[: self.system.nq + self.system.nv].copy(), k))
        hits.sort(key=lambda hit: hit[0])
        last = ending(hits, events, run.own_events)
        for when, row, k in hits if last is None else up_to(hits, last, run.own_events):
            self.found[self.names[k]].append((when, row))
        if last is not None:
            end, self.ended_by, status = last[0], last[2], Status.EVENT
            now = self._values_at(end)
        run.event_values[0], run.t = now, end
        run.steps, run.records = run.steps + 1, 1
        run.times[0], run.states[0] = run.t, np.concatenate([run.x, self.inputs, [0.0]])
        self.take_records()
        return status

    def _sampled(self) -> int | None:
        """Sample the controller; the number of the event that its jump leads to, if that ends the phase."""
        run, before = self.record, self.record.event_values[0].copy()
        self.inputs[:] = run.control.at(run.t, run.x[: self.system.nq + self.system.nv])[: run.nu]
        run.samples += 1
        run.sampled_until = run.hold_start + run.samples * run.hold
        run.event_values[0] = self._values_at(run.t)
        for k, event in enumerate(self.setup.events.values()):
            if event.terminal and event.wants(before[k], run.event_values[0, k]):
                self.found[self.names[k]].append((run.t, run.x[: self.system.nq + self.system.nv].copy()))
                return k
        return None

    def _values_at(self, t: float) -> np.ndarray:
        """Values of all events at a time, while nothing moves."""
        run, n = self.record, self.system.nq + self.system.nv
        assert self.standing is not None
        if run.control.address and run.hold == 0.0:
            self.inputs[:] = run.control.at(t, run.x[:n])[: run.nu]
        if run.watch_u:
            run.watch.x[run.watch_u : run.watch_u + run.nu] = self.inputs
        out = run.watch.at(t, run.x[:n])[: run.events].copy()
        out[: len(self.standing.watched)] = self.standing.values(t, self.inputs)
        return out

    def passed(self, event: str, before: State) -> None:
        """After `begin`: an event that ended the last phase, in the state `before`, is not met again at once.

        Its root is known to rounding, so that it may seem to lie ahead. An event that the change moved counts anew.
        """
        run, k = self.record, self.names.index(event)
        here = run.event_values[0, k]
        there = run.watch.at(run.t, np.concatenate([before.q, before.v]))[k]
        if abs(here - there) <= 1e-6 * abs(there):
            run.event_values[:, k] = 0.0

    def _watched(self, n: int) -> Status:
        """Locate events on the way across a singular position; in it, forces that are 0/0 stay as they are."""
        run, own = self.record, len(self.layout.phase.watched)
        before = run.event_values[0, :own]
        before[~np.isfinite(before)] = 1.0
        if run.watch_u:
            run.watch.x[run.watch_u : run.watch_u + run.nu] = self.inputs
        now = run.watch.at(run.t, run.x[:n])[: run.events].copy()
        now[:own] = np.where(np.isfinite(now[:own]), now[:own], before)
        run.event_values[1] = now
        return self.event()

    def overdue(self, cause: Cause | None) -> Cause | None:
        """A change that is due at the start of the phase: forces beyond their bounds.

        cause: of the change before it. What was loaded or unloaded there has a force of zero, but for what it changes
        by while the time is rounded: of contacts that are about to stop that is more than rounding.
        """
        just = {} if cause is None else {"loads": ("opens", cause.of), "opens": ("loads", cause.of)}
        known = None if cause is None else just.get(cause.kind)
        values, scale = self.record.event_values[0], np.abs(self.record.event_values[0]).max(initial=0.0)
        for k, (kind, name) in enumerate(self.layout.phase.watched):
            if (
                kind in ("opens", "slips", "loads", "jams")
                and values[k] < -(1e-5 if (kind, name) == known else 1e-9) * scale
            ):
                return Cause(kind, name)
        return None

    @property
    def cause(self) -> Cause | None:
        """The reason why the phase ended, where it was an event."""
        k, watched = self.ended_by, self.layout.phase.watched
        return None if k < 0 else Cause(*watched[k]) if k < len(watched) else Cause("event", self.names[k])


def phase_setup(
    choices: Choices, system: PhaseSystem, p: np.ndarray, controller: Any, hold: float, given: Mapping[str, Event],
    options: Mapping[str, Any],
) -> Setup:  # fmt: skip
    """The setup of a phase."""
    own = {f"{kind} {name}": Event(_nothing, -1, True) for kind, name in system.watched}
    values = {f.name: getattr(choices, f.name) for f in fields(Choices)}
    if choices.baumgarte is not None and not system.rows.of:
        values["stabilization"] = None
    return Setup(
        **values, system=system, p=p, controller=controller, hold=hold, events={**own, **given}, coordinates=None,
        options=options,
    )  # fmt: skip


def _nothing(t: float, state: Any) -> float:
    return 0.0
