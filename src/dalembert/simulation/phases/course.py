"""The course of a run whose structure changes: phase after phase, and what happens between two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.simulation.callbacks import Callback
from dalembert.simulation.callbacks import controller as bound_controller
from dalembert.simulation.events import Event
from dalembert.simulation.phases.bearing import AT_REST, Bearing, bears
from dalembert.simulation.phases.driver import Cause, PhaseDriver, PhaseLayout, phase_setup
from dalembert.simulation.phases.impact import Impact, collide
from dalembert.simulation.phases.mode import Changeable, Mode, PhaseSystem
from dalembert.simulation.phases.moment import Moment
from dalembert.simulation.phases.switch import Switch, Switched
from dalembert.simulation.pool import give_back
from dalembert.simulation.result import result
from dalembert.simulation.run import Run
from dalembert.simulation.setup import Choices, Span
from dalembert.simulation.status import Status
from dalembert.system.state import State

CLOSED = 1e-8  # of the length of contacts: a gap that is none
SLACK = 1e-9  # of it: by how much a contact that touches without bearing may give way before it is hit
CROWD = 60  # changes at one time: more lead nowhere
LAYOUTS = 64  # kept of a run
BEGINS = 1e-9  # of the speed of the run: of what begins to slide, a backward speed that is rounding


@dataclass(eq=False)
class Asked:
    """The checked request for a run of phases."""

    changeable: Changeable
    choices: Choices
    span: Span
    p: np.ndarray
    controller: Any
    hold: float
    events: Mapping[str, Event]
    switches: Mapping[str, Switch]
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Added:
    """Energy besides a phase's records, J: what the change before it added, and what was done in all of it."""

    gained: float
    works: Mapping[str, float]
    mode: Mode


@dataclass(eq=False)
class Ended(Exception):
    """The run cannot go on."""

    status: Status
    why: str


@dataclass(eq=False)
class Course:
    """A run under way."""

    asked: Asked
    phases: list[Run] = field(default_factory=list)
    switches: list[Switched] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)  # of each phase
    done: set[str] = field(default_factory=set)  # switches that have happened
    steps: int = 0

    def __post_init__(self) -> None:
        a = self.asked
        self.state, self.t0 = a.span.start, a.span.start.t
        self.u = a.span.u.copy()
        self.mode = Mode(tuple(c.name for c in a.changeable.base.description.constraints))
        self.control: Callback | None = None
        if a.controller is not None:
            self.control = bound_controller(a.changeable.base, a.controller, a.p)
        self.told, self.compared = self.mode, 0  # the mode that the story has come to, and its length there
        self.layouts: dict[Any, PhaseLayout] = {}
        self.values: dict[tuple[str, str], Any] = {}
        self.step, self.held_until = 0.0, self.t0
        self.crowd, self.crowded_at, self.last_step = 0, -1e300, 0.0
        self.status = Status.DONE  # of the last phase
        self.cause: Cause | None = None
        self.gained = 0.0
        self.driver: PhaseDriver | None = None  # of the phase under way
        self.stopped = False
        self.length = self._length()

    # --- the whole ----------------------------------------------------------------------------------------------

    def go(self, keep: Callable[[Course], None] | None = None, cause: Cause | None = None) -> tuple[Status, str]:
        """To the end, or as far as it goes; the status and the sentence about it.

        keep: called after every phase. cause: what ended the last phase of a course that is taken up again.
        """
        a = self.asked
        try:
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
        layout = self._layout()
        due = [t for t in self._times() if self.state.t < t <= a.span.end]
        end = min(due, default=a.span.end)
        samples = a.span.samples
        if samples is not None:
            samples = samples[(samples >= self.state.t) & (samples <= end)]
        driver = self.driver = PhaseDriver(layout, Span(self.state, end, samples, self.u))
        if self.stopped:
            driver.interrupt.stop()
        driver.prepare(self.u, self.step, (self.t0, self.held_until) if a.hold > 0.0 else None)
        driver.begin()
        due_at_once = driver.overdue()
        if due_at_once is not None and self.crowd < CROWD - 2:  # not a phase at all
            del self.switches[self.compared :]
            give_back(layout, driver.spare)
            return Status.EVENT, due_at_once
        status, cause = driver.go(), driver.cause
        phase = result(driver, status)
        if samples is not None and driver.record.t < a.span.end:
            phase = _before(phase, driver.record.t)
        self.told = self.mode
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
        key = self.mode, tuple((k, tuple(np.atleast_1d(x).tolist())) for k, x in self.values.items())
        found = self.layouts.get(key)
        if found is None:
            if len(self.layouts) >= LAYOUTS:
                self.layouts.pop(next(iter(self.layouts)))
            system = system_in(a.changeable, self.mode)
            p = np.concatenate([a.p, system.vector(self.values)]) if system.size else a.p
            given = {**self._switch_events(), **a.events}
            setup = phase_setup(a.choices, system, p, a.controller, a.hold, given, a.options)
            found = self.layouts[key] = PhaseLayout(setup, self.state, given, a.p, self.control)
        return found

    # --- switches -----------------------------------------------------------------------------------------------

    def _times(self) -> list[float]:
        return [t for s in self.asked.switches.values() if s.at is not None for t in s.at]

    def _switch_events(self) -> dict[str, Event]:
        """Events of switches: one for each, also of those that are done, so that phases are alike."""
        return {
            f"switch {name}": Event(s.event.g, s.event.direction, True)
            for name, s in self.asked.switches.items()
            if s.event is not None
        }

    def _is_switch(self, name: str) -> bool:
        return name in self._switch_events()

    def _due(self, cause: Cause | None) -> list[tuple[str, Switch]]:
        """Switches that happen now."""
        out = []
        for name, s in self.asked.switches.items():
            if s.at is not None:
                happens = cause is None and self.state.t in s.at
            else:
                happens = cause is not None and cause.of == f"switch {name}" and not (s.once and name in self.done)
            if happens:
                self.done.add(name)
                out.append((name, s))
        return out

    # --- between phases -----------------------------------------------------------------------------------------

    def _first(self) -> None:
        """The mode that the run starts in."""
        moment = self._moment()
        for name in self.asked.changeable.contacts:
            gap = float(moment.phi[moment.gap_row(name)])
            if gap < -1e3 * CLOSED * self._unit(name):
                raise ArgumentError(
                    f"the start is beyond '{name}' by {-gap:.4g} {self._rad(name)}; needed: a start on its other side."
                )
        due = [(n, s) for n, s in self.asked.switches.items() if s.at is not None and self.state.t in s.at]
        self._change(due, None, told=False)
        self.told = self.mode

    def _between(self, cause: Cause | None) -> None:
        """From the end of a phase to the start of the next."""
        t = self.state.t
        self.crowd = self.crowd + 1 if t <= self.crowded_at + 1e-13 * max(1.0, abs(t)) else 0
        self.crowded_at = t
        if self.crowd > CROWD:
            raise Ended(Status.CHATTERING, f"{CROWD} changes at this time, the last of '{cause.of if cause else ''}'")
        self._change(self._due(cause), cause)

    def _change(self, due: list[tuple[str, Switch]], cause: Cause | None, told: bool = True) -> None:
        """Switches, impacts, and the mode that follows."""
        a, before, mode = self.asked, self.state, self.mode
        energy = self._energy(before)
        self.rested: set[str] = set()
        closing: dict[str, float] = {}
        held = list(mode.held)
        for name, s in due:
            held = [n for n in held if n not in s.open]
            for constraint in s.close:
                if constraint not in held:
                    held.append(constraint)
                    closing[constraint] = s.restitution
            self._tell("opened", name, [n for n in s.open if n in mode.held])
        order = list(a.changeable.base.layout.mechanism.constraints)
        held.sort(key=order.index)
        shift = self._shut(held, closing, due)
        moment = self._moment()
        touching = self._touching(moment, cause)
        steady = [n for n in held if n not in closing]
        impact = self._impact(moment, steady, closing, touching)
        note = f"moved by {shift:.2g} to close" if shift > 1e-9 * self.length else ""
        for name, s in due:
            self._tell("closed", name, [n for n in s.close if n in closing], impact, note)
        if impact is not None:
            self.state = self.state.replace(v=impact.v)
            moment = self._moment()
        moment = self._zeno(moment, held, touching)
        self._settle(moment, held, touching, cause, told)
        self.gained += self._energy(self.state) - energy

    def _shut(self, held: list[str], closing: Mapping[str, float], due: list[tuple[str, Switch]]) -> float:
        """Move the state to where the constraints that close hold; how far, m or rad."""
        if not closing:
            return 0.0
        a = self.asked
        system = system_in(a.changeable, Mode(tuple(held)))
        p = np.concatenate([a.p, np.zeros(system.size)]) if system.size else a.p
        phi = system.evaluate("constraints", self.state, p=p)[0]
        miss = np.where([c in closing for c in system.rows.of], np.abs(phi), 0.0)
        worst = int(np.argmax(miss)) if len(miss) else 0
        asked = [s.reach for _, s in due if s.reach is not None]
        unit = 1.0 if system.rows.angular[worst] else system.layout.length
        reach = max(asked) if asked else 1e-6 * unit
        if len(miss) and miss[worst] > reach:
            raise Ended(
                Status.NOT_CLOSED,
                f"row '{system.row_names[worst]}' misses by {miss[worst]:.4g} "
                f"{'rad' if system.rows.angular[worst] else 'm'}, more than its reach of {reach:.2g}. Switch when it "
                "is nearer, or give reach=",
            )
        if len(miss) and miss[worst] > 0.0:
            v, at = self.state.v, system.project(self.state, p=p)
            self.state = at.replace(v=v)
        return float(miss[worst]) if len(miss) else 0.0

    def _touching(self, moment: Moment, cause: Cause | None) -> list[str]:
        """Contacts whose gap is closed, without one that has just been left."""
        out = []
        for name in self.asked.changeable.contacts:
            opened = cause is not None and cause.kind == "opens" and cause.of == name
            near = float(moment.phi[moment.gap_row(name)]) <= CLOSED * self._unit(name)
            hit = cause is not None and cause.kind == "closes" and cause.of == name
            if hit or (not opened and (near or name in self.mode.touched)):
                out.append(name)
        return out

    def _impact(
        self, moment: Moment, steady: list[str], closing: Mapping[str, float], touching: list[str]
    ) -> Impact | None:
        """The impact at this moment, if there is one."""
        rows = {k: closing[c] for c in closing for k in moment.of(c)}
        hit = [n for n in touching if self._approaches(moment, n)]
        if not hit and not any(abs(moment.speeds[k]) > self._still(moment, k) for k in rows):
            return None
        contacts = {n: self.asked.changeable.contacts[n].restitution for n in touching}
        impact = collide(moment, moment.of(*steady), rows, contacts)
        if impact is None:
            raise Ended(Status.NO_FORCES, f"no impulses solve the impact of {', '.join([*closing, *hit])}")
        note = ""
        if impact.kept < 1.0:
            note = f"restitution was lowered to {impact.kept:.3g} of its value, as it would have made energy"
        for k, name in enumerate(hit):
            self._tell("hit", name, [name], impact if k == 0 else None, note if k == 0 else "")
        return impact

    def _zeno(self, moment: Moment, held: list[str], touching: list[str]) -> Moment:
        """End bounces that are too low to be told from rest: the contacts stay closed."""
        rising = [n for n in touching if moment.speeds[moment.gap_row(n)] > self._still(moment, moment.gap_row(n))]
        if not rising:
            return moment
        here = self._bearing(moment, held, [n for n in touching if n not in rising], {})
        low = []
        for name in rising:
            k, a = moment.gap_row(name), here.accelerations[name]
            bounces = self.asked.changeable.contacts[name].restitution > 0.0
            if bounces and a < 0.0 and moment.speeds[k] ** 2 < 2.0 * -a * self._least(name):
                low.append(name)
        if not low:
            return moment
        self.state = self.state.replace(v=self._pressed_on(moment, held, low, touching))
        for name in low:
            self._tell("rests", name, [name], None, "its bounces had become too low to follow")
        self.rested = set(low)
        return self._moment()

    def _pressed_on(self, moment: Moment, held: list[str], low: list[str], touching: list[str]) -> np.ndarray:
        """Velocities with some contacts that rise slowly held back: the nearest in the mass metric."""
        resting = [n for n in touching if n in low or abs(moment.speeds[moment.gap_row(n)]) <= self._still(
            moment, moment.gap_row(n))]  # fmt: skip
        impact = collide(moment, moment.of(*held), {moment.gap_row(n): 0.0 for n in resting}, {})
        return moment.state.v if impact is None else impact.v

    def _settle(self, moment: Moment, held: list[str], touching: list[str], cause: Cause | None, told: bool) -> None:
        """The mode that follows, and the numbers of its phase."""
        a = self.asked
        still = [n for n in touching if moment.speeds[moment.gap_row(n)] <= self._still(moment, moment.gap_row(n))]
        forced: dict[str, np.ndarray] = {}
        if cause is not None and cause.kind == "slips":
            forced[cause.of] = self._breakaway(moment, cause.of)
        here = self._bearing(moment, held, still, forced)
        self.mode = here.mode
        self.values = {}
        begins = BEGINS * self._speed(moment)
        for name, aim in here.aims.items():
            if name in a.changeable.frictions:
                self.values["sign", name] = aim
            else:
                full = np.zeros(len(a.changeable.contacts[name].slip_names))
                places = [moment.names[k].rpartition(".")[2] for k in moment.slip_rows(name)]
                for place, x in zip(places, aim):
                    full[a.changeable.contacts[name].slip_names.index(place)] = x
                self.values["aim", name] = full
                if len(aim) > 1:
                    slow = np.linalg.norm(moment.speeds[moment.slip_rows(name)]) < 10.0 * begins
                    self.values["begins", name] = float(slow)
                    self.values["offset", name] = 100.0 * begins if slow else -begins
                    self.values["start", name] = 1e-5 * begins
                    continue
            self.values["offset", name] = begins if name in here.new else 0.0
        flights = []
        for name in a.changeable.contacts:
            if name in here.mode.touched:
                continue
            k = moment.gap_row(name)
            speed, fall = float(moment.speeds[k]), here.accelerations[name]
            leaves = speed > self._still(moment, k)
            self.values["offset", name] = SLACK * self._unit(name) if name in touching and not leaves else 0.0
            if name in touching and leaves and fall < 0.0:
                flights.append(-2.0 * speed / fall)
        self.step = min(0.5 * min(flights), self.last_step or np.inf) if flights else 0.0
        if a.choices.method.fixed:
            self.step = 0.0
        self.compared = len(self.switches)
        if told:
            self._compare(self.told, here, touching)

    def _bearing(
        self, moment: Moment, held: list[str], touching: list[str], forced: Mapping[str, np.ndarray]
    ) -> Bearing:
        here = bears(moment, held, touching, 1e-12 * self.length, 4.0 * BEGINS * self._speed(moment), forced)
        if here is None:
            raise Ended(
                Status.NO_FORCES,
                f"what touches ({', '.join(touching) or 'nothing'}) can neither stick nor slide here (Painlevé's "
                "paradox)",
            )
        return here

    def _breakaway(self, moment: Moment, name: str) -> np.ndarray:
        """The direction in which something that sticks begins to slide: against the force that held it."""
        from dalembert.simulation.phases.moment import Held

        a, mode = self.asked, self.mode
        rows = [*moment.of(*mode.held), *(moment.gap_row(n) for n in mode.touched)]
        free = moment.free.copy()
        for n, how in mode.touching:
            if how == "sticks":
                rows += moment.slip_rows(n)
        for n, friction in a.changeable.frictions.items():
            k = moment.friction_row(n)
            if n in mode.sticking:
                rows.append(k)
            else:
                free -= moment.rows[k] * (float(self.values["sign", n][0]) * float(friction.force(moment.speeds[k])))
        factor = Held.of(moment, rows)
        lam = dict(zip(rows, factor.step(free, -moment.gamma[rows])[1]))
        of = moment.slip_rows(name) if name in a.changeable.contacts else [moment.friction_row(name)]
        force = np.array([lam[k] for k in of])
        size = float(np.linalg.norm(force))
        return -force / size if size > 0.0 else np.eye(len(of))[0]

    # --- sizes --------------------------------------------------------------------------------------------------

    def _moment(self) -> Moment:
        a = self.asked
        if self.control is not None and a.hold == 0.0:
            u = self.control.bound.at(self.state.t, np.concatenate([self.state.q, self.state.v]))[: len(self.u)]
            if np.isfinite(u).all():
                self.u = u.copy()
        return Moment(a.changeable, self.state, self.u, a.p)

    def _length(self) -> float:
        """A length by which gaps are measured."""
        a = self.asked
        moment = Moment(a.changeable, self.state, self.u, a.p)
        gaps = [abs(float(moment.phi[moment.gap_row(n)])) for n, c in a.changeable.contacts.items() if not c.angular]
        layout = a.changeable.base.layout
        known = [abs(x) for body in layout.bodies.values() for x in body.com if isinstance(x, float)]
        known += [abs(x) for j in layout.joints.values() for x in (*j.parent.T.p, *j.child.T.p) if isinstance(x, float)]
        known += [float(r) for c in a.changeable.contacts.values() if isinstance(r := getattr(c, "radius", 0.0), float)]
        return max([*known, *gaps], default=0.0) or layout.length

    def _unit(self, contact: str) -> float:
        return 1.0 if self.asked.changeable.contacts[contact].angular else self.length

    def _rad(self, contact: str) -> str:
        return "rad" if self.asked.changeable.contacts[contact].angular else "m"

    def _least(self, contact: str) -> float:
        """The height of a bounce that is not told from rest."""
        choices = self.asked.choices
        return max(choices.atol, 0.1 * choices.rtol, 1e-12) * self._unit(contact)

    def _still(self, moment: Moment, row: int) -> float:
        """A speed of a row that is rounding."""
        return AT_REST * float(moment.sizes[row]) + 1e-12 * self.length

    def _speed(self, moment: Moment) -> float:
        """A speed of the motion, for offsets."""
        return max(float(moment.sizes.max(initial=0.0)), 1e-3 * self.length)

    def _approaches(self, moment: Moment, name: str) -> bool:
        k = moment.gap_row(name)
        return bool(moment.speeds[k] < -self._still(moment, k))

    def _energy(self, state: State) -> float:
        a = self.asked
        system = a.changeable.everything
        kinetic = system.evaluate("kinetic_energy", state, p=a.p)
        return float(kinetic) + float(system.evaluate("potential_energy", state, p=a.p))

    # --- the story ----------------------------------------------------------------------------------------------

    def _tell(self, kind: str, of: str, names: list[str], impact: Impact | None = None, note: str = "") -> None:
        if not names:
            return
        contact = self.asked.changeable.contacts.get(names[0])
        roped = contact is not None and contact.kind == "rope"
        word = {"hit": "taut", "rests": "stays taut", "left": "slack"}.get(kind, kind) if roped else kind
        v = self.state.v
        self.switches.append(
            Switched(
                self.state.t, f"{', '.join(names)} {word}", kind, of, v.copy(),
                v.copy() if impact is None else impact.v.copy(), {} if impact is None else impact.impulse,
                0.0 if impact is None else impact.lost, note,
            )
        )  # fmt: skip

    def _compare(self, old: Mode, here: Bearing, touching: list[str]) -> None:
        """Tell what came and went."""
        before, after = old.touched, here.mode.touched
        for name in before:
            if name not in after and name not in touching:
                self._tell("left", name, [name])
        for name, how in after.items():
            if name not in before:
                if name not in self.rested:
                    self._tell("rests" if how != "slides" else "slides", name, [name])
            elif how != before[name]:
                self._tell(how, name, [name])
        for name in self.asked.changeable.frictions:
            if (name in old.sticking) != (name in here.mode.sticking):
                kind = "sticks" if name in here.mode.sticking else "slides"
                self._tell(kind, name, [name])


def _before(phase: Run, t: float) -> Run:
    """A phase without a sample at its end, which is the first of the next one."""
    kept = phase.t < t
    work = {name: w[kept] for name, w in phase.work.items()}
    rows = {name: getattr(phase, name)[kept] for name in ("t", "q", "v", "u", "margin")}
    return replace(phase, work=work, **rows)


def system_in(changeable: Changeable, mode: Mode) -> PhaseSystem:
    """The system in a mode, kept with the system it is of."""
    return changeable.base.keep(("phase", changeable.stops, mode), lambda: PhaseSystem.of(changeable, mode))
