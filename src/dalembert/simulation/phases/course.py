"""The course of a run whose structure changes: phase after phase, switches at their times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, CompileError, DalembertError
from dalembert.simulation.callbacks import controller as bound_controller
from dalembert.simulation.events import Event
from dalembert.simulation.phases.asked import Added, Asked, Cause, Ended, system_in
from dalembert.simulation.phases.between import CLOSED, Between
from dalembert.simulation.phases.driver import PhaseDriver, PhaseLayout, phase_setup
from dalembert.simulation.phases.mode import Mode
from dalembert.simulation.phases.moment import Moment
from dalembert.simulation.phases.scales import Scales
from dalembert.simulation.phases.standing import Standing
from dalembert.simulation.phases.switch import Switch
from dalembert.simulation.phases.telling import Story
from dalembert.simulation.pool import give_back
from dalembert.simulation.result import result
from dalembert.simulation.run import Run
from dalembert.simulation.setup import Span
from dalembert.simulation.status import Status

CROWD = 60  # changes at one time, or in one singular position: more lead nowhere
LAYOUTS = 64  # kept of a run


@dataclass(eq=False)
class Course(Between):
    """A run under way."""

    asked: Asked
    phases: list[Run] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)  # of each phase
    done: set[str] = field(default_factory=set)  # switches that have happened
    steps: int = 0

    def __post_init__(self) -> None:
        a = self.asked
        self.state, self.t0 = a.span.start, a.span.start.t
        self.u = a.span.u.copy()
        self.mode = Mode(tuple(c.name for c in a.changeable.base.description.constraints))
        self.control = None
        if a.controller is not None:
            self.control = bound_controller(a.changeable.base, a.controller, a.p)
        self.story = Story(a.changeable, self.mode)
        self.layouts: dict[Any, PhaseLayout] = {}
        self.values, self.remarks = {}, []
        self.step, self.held_until = 0.0, self.t0
        self.left = self.state  # the state at the end of the phase before, which changes lead on from
        self.crowd, self.crowded_at, self.last_step = 0, -1e300, 0.0
        self.status = Status.DONE  # of the last phase
        self.cause: Cause | None = None
        self.gained = 0.0
        self.driver: PhaseDriver | None = None  # of the phase under way
        self.stopped = False
        self.came: tuple[np.ndarray, np.ndarray] | None = None  # position, and velocity on its branch
        self.turned = False  # whether the last phase began in a singular position

    # --- the whole ----------------------------------------------------------------------------------------------

    def go(self, keep: Callable[[Course], None] | None = None, cause: Cause | None = None) -> tuple[Status, str]:
        """To the end, or as far as it goes; the status and the sentence about it.

        keep: called after every phase. cause: what ended the last phase of a course that is taken up again.
        """
        a = self.asked
        try:
            self.scales = Scales.of(Moment(a.changeable, a.span.start, a.span.u, a.p), a.choices)
            if self.phases:
                self._between(cause)
            else:
                self._first()
            while True:
                status, cause = self._phase()
                self.status, self.cause = status, cause
                if keep is not None:
                    keep(self)
                last = self.phases[-1] if self.phases else None
                if status != Status.EVENT and not (status == Status.DONE and self.state.t < a.span.end):
                    return status, last._message if last is not None else ""
                if cause is not None and cause.kind == "event" and not self._is_switch(cause.of):
                    return status, last._message if last is not None else ""
                self._between(cause)
        except Ended as end:
            if not self.phases:
                self._start_only(end.status)
            return end.status, f"at t = {self.state.t:.6g} s {end.status.sentence}: {end.why}"
        except DalembertError as error:  # a later phase that cannot begin: what was computed is kept
            if not self.phases:
                raise
            status = Status.NOT_COMPILED if isinstance(error, CompileError) else Status.DRIFTED
            self.phases[-1] = replace(self.phases[-1], error=error)
            return status, f"at t = {self.state.t:.6g} s {status.sentence}: {error}"

    def stop(self) -> None:
        """Ask the run to end where it is, from another thread."""
        self.stopped = True
        if self.driver is not None:
            self.driver.interrupt.stop()

    @property
    def t(self) -> float:
        """How far it has come, s."""
        return float(self.state.t if self.driver is None else self.driver.record.t)

    def _phase(self) -> tuple[Status, Cause | None]:
        """One phase to its end."""
        a = self.asked
        standing = self._standing()
        layout = self._layout()
        due = [t for t in self._times() if self.state.t < t <= a.span.end]
        end = min(due, default=a.span.end)
        samples = a.span.samples
        if samples is not None:
            samples = samples[(samples >= self.state.t) & (samples <= end)]
        driver = self.driver = PhaseDriver(layout, Span(self.state, end, samples, self.u))
        driver.begins, driver.arrival = not self.phases, self.arrival
        if self.stopped:
            driver.interrupt.stop()
        driver.prepare(self.u, self.step, (self.t0, self.held_until) if a.hold > 0.0 else None)
        driver.standing = standing
        driver.begin()
        for event in self.met if self.cause is not None else ():
            driver.passed(event, self.left)
        due_at_once = driver.overdue(self.cause)
        if due_at_once is not None and self.crowd < CROWD - 2:  # not a phase at all
            self.story.take_back()
            give_back(layout, driver.spare)
            return Status.EVENT, due_at_once
        status, cause = driver.go(), driver.cause
        self.turned = driver.turned
        found = driver.branch(driver.state()) if cause is not None else None
        if found is not None:
            self.came = driver.state().q, found
        phase = result(driver, status)
        phase = replace(phase, remarks=(*self.remarks, *phase.remarks))
        self.remarks = []
        if samples is not None and driver.record.t < a.span.end:
            phase = some_records(phase, phase.t < driver.record.t)  # that at its end is the first of the next one
        self.story.go_on(self.mode, self.values)
        self.phases.append(phase)
        works = dict(zip(layout.system.work_names, driver.work.tolist()))
        self.added.append(Added(self.gained, works, self.mode))
        self.gained = 0.0
        self.state, self.u = driver.state(), driver.inputs.astype(float)
        self.held_until = driver.record.sampled_until
        self.steps += phase.steps
        self.last_step = driver.record.usual_h
        give_back(layout, driver.spare)
        if self.steps >= a.choices.max_steps and status in (Status.EVENT, Status.DONE) and self.state.t < a.span.end:
            status = Status.STEPS
        return status, cause

    def _standing(self) -> Standing | None:
        """What holds a mechanism that stands in or beside a singular position from now on; then velocities are zero."""
        a = self.asked
        if self.arrival is None:
            return None
        rest = self.state.replace(v=np.zeros(len(self.state.v)))
        moment = Moment(a.changeable, rest, self.u, a.p, None, self.arrival)
        found = Standing.of(moment, self.mode, system_in(a.changeable, self.mode).watched, self.values)
        self.state = self.state if found is None else rest
        return found

    def _start_only(self, status: Status) -> None:
        """A phase of one state, the start, of a run that cannot begin."""
        self.values = {}
        layout = self._layout()
        driver = PhaseDriver(layout, Span(self.state, self.asked.span.end, None, self.u))
        driver.prepare(self.u, 0.0, None)
        driver.begin()
        driver.take_records()
        self.phases.append(result(driver, status))
        self.added.append(Added(self.gained, {}, self.mode))

    def _layout(self) -> PhaseLayout:
        """The functions of the phase that begins: those of an earlier one like it, or new ones."""
        a = self.asked
        numbers = tuple((k, tuple(np.atleast_1d(x).tolist())) for k, x in self.values.items())
        key = self.mode, frozenset(self.done), numbers
        found = self.layouts.get(key)
        if found is None:
            if len(self.layouts) >= LAYOUTS:
                self.layouts.pop(next(iter(self.layouts)))
            system = system_in(a.changeable, self.mode)
            p = np.concatenate([a.p, system.vector(self.values)]) if system.size else a.p
            given = self._given
            setup = phase_setup(a.choices, system, p, a.controller, a.hold, given, a.options)
            found = self.layouts[key] = PhaseLayout(setup, self.state, given, a.p, self.control)
        return found

    @property
    def _given(self) -> dict[str, Event]:
        """Events of switches and of the user."""
        return {**self._switch_events(), **self.asked.events}

    # --- switches -----------------------------------------------------------------------------------------------

    def _times(self) -> list[float]:
        return [t for s in self.asked.switches.values() if s.at is not None for t in s.at]

    def _switch_events(self) -> dict[str, Event]:
        """Events of switches: one for each, also of those that change nothing now, so that phases are alike.

        These do not end a phase: a latch that closes where its event is zero stays there but for rounding.
        """
        return {
            f"switch {name}": Event(s.event.g, s.event.direction, not self._idle(name, s))
            for name, s in self.asked.switches.items()
            if s.event is not None
        }

    def _idle(self, name: str, s: Switch) -> bool:
        """Whether a switch has happened for good, or finds everything as it would make it."""
        held = self.mode.held
        as_it_is = all(n in held for n in s.close) and not any(n in held for n in s.open)
        return as_it_is or (s.once and name in self.done)

    @property
    def met(self) -> list[str]:
        """Events of the user and of switches that are zero where the last phase ended."""
        last = self.phases[-1].t_events if self.phases else {}
        return [n for n in self._given if len(last.get(n, ())) and last[n][-1] == self.state.t]

    def _is_switch(self, name: str) -> bool:
        return name in self._switch_events()

    def _due(self, cause: Cause | None) -> list[tuple[str, Switch]]:
        """Switches that happen now."""
        out = []
        for name, s in self.asked.switches.items():
            if s.at is not None:
                happens = cause is None and self.state.t in s.at
            else:
                happens = cause is not None and f"switch {name}" in self.met and not self._idle(name, s)
            if happens:
                self.done.add(name)
                out.append((name, s))
        return out

    # --- the first phase, and the next --------------------------------------------------------------------------

    def _first(self) -> None:
        """The mode that the run starts in."""
        moment = self._moment()
        for name in self.asked.changeable.contacts:
            gap = float(moment.phi[moment.gap_row(name)])
            if gap < -1e3 * CLOSED * self.scales.unit(name):
                away = f"{-gap:.4g} {self.scales.unit_name(name)}"
                raise ArgumentError(f"the start is beyond '{name}' by {away}; needed: a start on its other side.")
        due = [(n, s) for n, s in self.asked.switches.items() if s.at is not None and self.state.t in s.at]
        self._change(due, None, told=False)
        self.story.go_on(self.mode, self.values)

    def _between(self, cause: Cause | None) -> None:
        """From the end of a phase to the start of the next."""
        t, self.left, self.cause = self.state.t, self.state, cause
        still = t <= self.crowded_at + 1e-13 * max(1.0, abs(t)) or self.turned
        self.crowd = self.crowd + 1 if still else 0
        self.crowded_at = t
        if self.crowd > CROWD:
            where = ", in a singular position" if self.turned else ""
            raise Ended(
                Status.CHATTERING, f"{CROWD} changes at this time{where}, the last of '{cause.of if cause else ''}'"
            )
        if cause is not None and cause.kind == "jams":
            sliding = ", ".join(n for n, how in self.mode.touching if how == "slides")
            raise Ended(
                Status.NO_FORCES,
                f"what slides ({sliding}) has come to where its friction leaves open how it presses (Painlevé's "
                "singular point): the motion after it is not determined",
            )
        self._change(self._due(cause), cause)


def some_records(phase: Run, kept: np.ndarray) -> Run:
    """A phase with some of its records; kept: (N,) bool."""
    work = {name: w[kept] for name, w in phase.work.items()}
    rows = {name: getattr(phase, name)[kept] for name in ("t", "q", "v", "u", "margin")}
    return replace(phase, work=work, **rows)
