"""What happens between two phases: switches, impacts, the end of bounces, and which contacts bear, stick and slide."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dalembert.rank import reach
from dalembert.simulation.callbacks import Callback
from dalembert.simulation.phases.asked import Asked, Cause, Ended, system_in
from dalembert.simulation.phases.bearing import Bearing, bears
from dalembert.simulation.phases.impact import Impact, collide
from dalembert.simulation.phases.mode import Mode
from dalembert.simulation.phases.moment import Held, Moment
from dalembert.simulation.phases.scales import Scales
from dalembert.simulation.phases.switch import Switch
from dalembert.simulation.phases.telling import Story
from dalembert.simulation.status import Status
from dalembert.system.state import State

CLOSED = 1e-8  # of the length of contacts: a gap that is none
SLACK = 1e-9  # of it: by how much a contact that touches without bearing may give way before it is hit
LATCHED = 1e-3  # of the fastest meeting of rows that close with restitution: below it they stay closed
HERE = 1e-5  # rad, or of a length: a position that has not been left
TOGETHER = 30.0  # times the speed at which one contact stops: others that slide as slowly may stop with it
BEGINS = 1e-9  # of the speed of the run: of what begins to slide, a backward speed that is rounding


class Between:
    """The part of a course that leads from one phase to the next."""

    asked: Asked
    state: State
    u: np.ndarray
    mode: Mode
    values: dict[tuple[str, str], Any]  # numbers of the phase that begins
    done: set[str]  # switches that have happened
    step: float  # s, its first one; 0: to be chosen
    last_step: float  # s, the usual one of the phase before
    gained: float  # J, by changes since that phase
    control: Callback | None
    came: tuple[np.ndarray, np.ndarray] | None  # the last singular position, and the velocity with which it was met
    story: Story
    scales: Scales
    remarks: list[str]  # on the phase that begins

    def _change(self, due: list[tuple[str, Switch]], cause: Cause | None, told: bool = True) -> None:
        """Switches, impacts, and the mode that follows."""
        a, before, mode = self.asked, self.state, self.mode
        closing: dict[str, float] = {}  # with their restitution
        held = list(mode.held)
        off = self._bounced(due)
        for name, s in due:
            held = [n for n in held if n not in s.open]
            for constraint in s.close:
                if constraint not in held:
                    closing[constraint] = s.restitution if name in off else 0.0
                    if name not in off:
                        held.append(constraint)
            self.story.tell(self.state, "opened", name, [n for n in s.open if n in mode.held])
        order = list(a.changeable.base.layout.mechanism.constraints)
        held.sort(key=order.index)
        self._tell_law(held)
        shift = self._shut(held, [n for n in closing if n in held], due)
        moment = self._moment()
        energy = moment.energy if self.state is before else Moment(a.changeable, before, self.u, a.p).energy
        touching = self._touching(moment, cause)
        steady = [n for n in held if n not in closing]
        impact = self._impact(moment, steady, closing, touching, begins=not told)
        note = f"moved by {shift:.2g} to close" if shift > 1e-9 * self.scales.length else ""
        for name, s in due:
            kind = "hit" if name in off else "closed"
            self.story.tell(self.state, kind, name, [n for n in s.close if n in closing], impact, note)
        if impact is not None:
            moment = self._moment(impact.v, moment)
        moment, rested, known = self._zeno(moment, held, touching, cause)
        self._settle(moment, held, touching, rested, cause, told, known)
        self.gained += moment.energy - energy

    def _tell_law(self, held: Collection[str]) -> None:
        """Tell the controller which constraints hold from now on, if it wants to know."""
        a = self.asked
        if a.switches and hasattr(a.controller, "changed"):
            known = a.changeable.base.layout.mechanism.constraints
            a.controller.changed(self.state.t, {name: name in held for name in known})

    def _bounced(self, due: list[tuple[str, Switch]]) -> list[str]:
        """Switches whose rows are too fast to stay closed, where these have a restitution: they may happen again."""
        elastic = [(name, s) for name, s in due if s.restitution > 0.0 and s.close]
        moment = self._moment() if elastic else None
        out = []
        for name, s in elastic:
            assert moment is not None
            rows = moment.of(*s.close)
            before = [x.v_before for x in self.story.switches if x.kind == "hit" and x.of == name]
            fastest = max((np.abs(moment.A[rows] @ v + moment.b[rows]).max() for v in before), default=0.0)
            if np.abs(moment.speeds[rows]).max() > max(LATCHED * fastest, 1e-12 * self.scales.length):
                out.append(name)
                self.done.discard(name)
        return out

    def _shut(self, held: list[str], closing: Collection[str], due: list[tuple[str, Switch]]) -> float:
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
            near = float(moment.phi[moment.gap_row(name)]) <= CLOSED * self.scales.unit(name)
            hit = cause is not None and cause.kind == "closes" and cause.of == name
            if hit or (not opened and (near or name in self.mode.touched)):
                out.append(name)
        return out

    def _impact(
        self, moment: Moment, steady: list[str], closing: Mapping[str, float], touching: list[str], begins: bool
    ) -> Impact | None:
        """The impact at this moment, if there is one; begins: at the start, where speeds that are rounding are none."""
        rows = {k: closing[c] for c in closing for k in moment.of(c)}
        hit = [n for n in touching if self.scales.closing(moment, n)]
        if begins and all(self.scales.at_rest(moment, n) for n in hit):
            hit = []
        if not hit and not any(abs(moment.speeds[k]) > self.scales.still(moment, k) for k in rows):
            return None
        contacts = {n: self.asked.changeable.contacts[n].restitution for n in touching}
        impact = collide(moment, moment.of(*steady), rows, contacts)
        if impact is None:
            raise Ended(Status.NO_FORCES, f"no impulses solve the impact of {', '.join([*closing, *hit])}")
        note = ""
        if impact.kept < 1.0:
            note = f"restitution was lowered to {impact.kept:.3g} of its value, as it would have made energy"
        for k, name in enumerate(hit):
            self.story.tell(self.state, "hit", name, [name], impact if k == 0 else None, note if k == 0 else "")
        return impact

    def _zeno(
        self, moment: Moment, held: list[str], touching: list[str], cause: Cause | None
    ) -> tuple[Moment, list[str], Bearing | None]:
        """End bounces that are too low to be told from rest, and rocking: the contacts stay closed.

        Those that go on rise far enough above zero, half their flight in one step, to be seen to close again.

        Returns the moment after it, these contacts, and what bears, where it was found on the way.
        """
        rising = [n for n in touching if self.scales.leaving(moment, n)]
        if not rising:
            return moment, [], None
        here = self._bearing(moment, held, [n for n in touching if n not in rising], {}, cause)
        low = []
        for name in rising:
            k, a = moment.gap_row(name), here.accelerations[name]
            height = self.scales.low(name) - min(float(moment.phi[k]), 0.0)  # above where it is
            if a < 0.0 and moment.speeds[k] ** 2 < 2.0 * -a * height:
                low.append(name)
        if not low:
            return moment, [], here
        return self._moment(self._pressed_on(moment, held, low, touching), moment), low, None

    def _pressed_on(self, moment: Moment, held: list[str], low: list[str], touching: list[str]) -> np.ndarray:
        """Velocities with some contacts that rise slowly held back: the nearest in the mass metric.

        What does not slip does not begin to: a block that rocks from corner to corner comes to stand, not to slide.
        """

        def still(row: int) -> bool:
            return bool(abs(moment.speeds[row]) <= self.scales.still(moment, row))

        resting = [n for n in touching if n in low or still(moment.gap_row(n))]
        rows = [moment.gap_row(n) for n in resting]
        for slips in (moment.slip_rows(n) for n in resting if self.asked.changeable.contacts[n].static > 0.0):
            rows += slips if all(still(k) for k in slips) else []
        impact = collide(moment, moment.of(*held), dict.fromkeys(rows, 0.0), {})
        return moment.state.v if impact is None else impact.v

    def _settle(
        self, moment: Moment, held: list[str], touching: list[str], rested: list[str], cause: Cause | None, told: bool,
        known: Bearing | None,
    ) -> None:  # fmt: skip
        """The mode that follows, and the numbers of its phase. known: what bears, unless something slips."""
        a, here = self.asked, known
        if cause is not None and cause.kind == "slips":
            here = None
        if here is None:
            still = [n for n in touching if not self.scales.leaving(moment, n)]
            forced: dict[str, np.ndarray] = {}
            if cause is not None and cause.kind == "slips":
                forced[cause.of] = self._breakaway(moment, cause.of)
            here = self._bearing(moment, held, still, forced, cause)
        self.mode = here.mode
        for name in here.open:
            self.remarks.append(
                f"at t = {self.state.t:.6g} s contact '{name}', which slides, "
                "could lift off or press: both solve the equations (Painlevé); it lifted off"
            )
        moment = self._stopped(moment)
        self.values = {}
        begins = BEGINS * self.scales.speed(moment)
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
            if name in here.mode.touched or name in here.mode.waiting:
                continue
            k = moment.gap_row(name)
            speed, fall = float(moment.speeds[k]), here.accelerations[name]
            leaves = self.scales.leaving(moment, name)
            self.values["offset", name] = SLACK * self.scales.unit(name) if name in touching and not leaves else 0.0
            if name in touching and leaves and fall < 0.0:
                flights.append(-2.0 * speed / fall)
        self.step = min(0.5 * min(flights), self.last_step or np.inf) if flights else 0.0
        if a.choices.method.fixed:
            self.step = 0.0
        for name in rested:
            if name in here.mode.touched and name not in self.story.mode.touched:
                self.story.tell(self.state, "rests", name, [name], None, "its bounces had become too low to follow")
        self.story.certain = len(self.story.switches)
        if told:
            self.story.compare(self.state, here.mode, self.values, touching, rested)

    def _stopped(self, moment: Moment) -> Moment:
        """The moment with the last of their slips taken from contacts that stick from now on."""
        mode = self.mode
        slips = [k for n, how in mode.touching if how == "sticks" for k in moment.slip_rows(n)]
        if not np.abs(moment.speeds[slips]).max(initial=0.0) > 0.0:
            return moment
        rows = [*moment.of(*mode.held), *(moment.gap_row(n) for n in mode.touched), *slips]
        rows += [moment.friction_row(n) for n in mode.sticking]
        step, _ = Held.of(moment, rows).step(moment.nu, -moment.b[rows])
        return self._moment(moment.velocities(moment.nu + step), moment)

    def _bearing(
        self, moment: Moment, held: list[str], touching: list[str], forced: Mapping[str, np.ndarray],
        cause: Cause | None,
    ) -> Bearing:  # fmt: skip
        slow = 4.0 * BEGINS * self.scales.speed(moment)
        if cause is not None and cause.kind == "stops" and cause.of in touching:
            slip = float(np.linalg.norm(moment.speeds[moment.slip_rows(cause.of)]))
            slow *= TOGETHER if slip <= slow else 1.0
        here = bears(moment, held, touching, 1e-12 * self.scales.length, slow, forced, cause)
        if here is None:
            raise Ended(
                Status.NO_FORCES,
                f"what touches ({', '.join(touching) or 'nothing'}) can neither stick nor slide here (Painlevé's "
                "paradox)",
            )
        return here

    def _breakaway(self, moment: Moment, name: str) -> np.ndarray:
        """The direction in which something that sticks begins to slide: against the force that held it."""
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
        lam = dict(zip(rows, moment.shortest(rows, factor.step(free, -moment.gamma[rows])[1])))
        of = moment.slip_rows(name) if name in a.changeable.contacts else [moment.friction_row(name)]
        force = np.array([lam[k] for k in of])
        size = float(np.linalg.norm(force))
        return -force / size if size > 0.0 else np.eye(len(of))[0]

    @property
    def arrival(self) -> np.ndarray | None:
        """(nv,) a velocity along the branch that the motion came by, where it has come to a singular position."""
        if self.came is None:
            return None
        a, (q, v) = self.asked, self.came
        base = a.changeable.base
        moved = base.minus(self.state, self.state.replace(q=q)) / reach(base, a.p)
        return v if np.abs(moved).max(initial=0.0) <= HERE else None

    def _moment(self, v: np.ndarray | None = None, before: Moment | None = None) -> Moment:
        """The moment now; with other velocities v, those of another moment `before` at the same time."""
        a, s = self.asked, self.state
        if v is not None:
            v.flags.writeable = False
            self.state = State(s.q, v, s.t, s.layout)
        if self.control is not None and a.hold == 0.0:
            u = self.control.bound.at(self.state.t, np.concatenate([self.state.q, self.state.v]))[: len(self.u)]
            if np.isfinite(u).all():
                self.u = u.copy()
        return Moment(a.changeable, self.state, self.u, a.p, before, self.arrival)
