"""Runs side by side in the lanes of the processor's vectors: from a setup to the record of the native loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.integrators.lane_record import CLOCK, LaneRecord
from dalembert.integrators.run_record import PASSAGE
from dalembert.native import library
from dalembert.native.bound import NOTHING, Bound
from dalembert.outcome import Outcome
from dalembert.rank import usual_sizes
from dalembert.simulation.callbacks import control_kernel, expression
from dalembert.simulation.equations import UNEQUAL, measured_rows
from dalembert.simulation.events import watch_kernel
from dalembert.simulation.layout import STAGES
from dalembert.simulation.run.context import Context
from dalembert.simulation.run.singularities import resolved_by_given_steps
from dalembert.simulation.setup import Setup
from dalembert.simulation.singular.passages import Met, describe, known_with_drift
from dalembert.simulation.stabilization import Projection
from dalembert.simulation.state_units import state_units

BUDGET = 4000  # attempts between looks at the keyboard
EVENTS = 60  # functions that lanes watch: bits of a number
ROOM = 256  # events of a run; one that has more is made alone
RATE = CLOCK.index("scales.rate")

#: carries a run of the record past a singular position, notes what it met, tells whether it goes back to a lane
Excursion = Callable[[LaneRecord, int, dict[int, list[Met]]], bool]


@dataclass(frozen=True, eq=False)
class Batch:
    """Runs to be made: one row a run."""

    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    t: np.ndarray  # (N, 2) first and last time, s
    p: np.ndarray  # (N, np)
    u: np.ndarray  # (N, nu)
    k: np.ndarray  # (N,) which run of the ensemble
    values: Mapping[str, np.ndarray]  # (N,) or (N, k) that differ, by name, for the functions that ask for them

    def __len__(self) -> int:
        return len(self.q)

    def part(self, rows: Any) -> Batch:
        """Some of the runs."""
        values = {name: x[rows] for name, x in self.values.items()}
        return Batch(self.q[rows], self.v[rows], self.t[rows], self.p[rows], self.u[rows], self.k[rows], values)


@dataclass(frozen=True, eq=False)
class Made:
    """Outcome of a batch, one row per run."""

    outcomes: np.ndarray  # (N,) of the native loop
    x: np.ndarray  # (N, nq + nv + works) at the end
    t: np.ndarray  # (N,) reached, s
    samples: np.ndarray  # (N, times, nq + nv + works)
    counts: np.ndarray  # (N, 4) steps, rejected, evaluations, corrections
    evidence: np.ndarray  # (N, 4) least margin, largest residuals before correction, largest energy of the motion
    lengths: np.ndarray  # (N,) m: of the mechanism with each run's parameters
    events: Mapping[str, Mapping[int, np.ndarray]]  # {event: {run: times, s}}
    met: Mapping[int, list[Met]]  # {run: singular positions that it met or passed}


def fits(setup: Setup) -> bool:
    """Whether runs like this can go side by side: explicit steps, no function but an expression.

    Adaptive steps end where forces begin and cease to act, which those of lanes do not.
    """
    steered = setup.controller is None or isinstance(setup.controller, expression)
    traced = all(isinstance(event.g, expression) for event in setup.events.values()) and len(setup.events) <= EVENTS
    plain = steered and traced and setup.coordinates is None and setup.formulation == "auto"
    kept = setup.stabilization
    usual = kept is None or (isinstance(kept, Projection) and kept == Projection(corrections=kept.corrections))
    ends = not setup.method.fixed and any(f.bends for f in setup.system.description.forces)
    return plain and usual and not ends and setup.method.explicit and setup.on_singularity != "warn"


class Lanes:
    """The native loop of one thread, for runs like one that was set up."""

    def __init__(self, ctx: Context, lanes: int) -> None:
        """ctx: of a run like the others, with a layout that no other thread has."""
        layout, setup, system = ctx.layout, ctx.setup, ctx.system
        self.ctx, self.setup, self.system, self.lanes = ctx, setup, system, lanes
        one, self.rows, method = ctx.record, ctx.rows, setup.method
        self.works, self.kept = layout.works, list(range(len(system.rows.of))) if self.rows is None else list(self.rows)
        measured = measured_rows(system, self.rows)
        self.measured = list(range(len(system.rows.of))) if measured is None else list(measured)
        ode = self._wide("ode", 0, one.ode)
        correct = filter = NOTHING
        if one.manifold.project_every:
            correct = self._wide("correct", one.correct.rows, one.correct)
            filter = self._wide("filter", one.filter.rows, one.filter)
        control = NOTHING
        if setup.controller is not None and not setup.period:
            control = Bound.of(control_kernel(system, setup.controller, lanes), {})
        watch = NOTHING
        if setup.events:
            watch = Bound.of(watch_kernel(system, setup.events, lanes), {})
        n = system.nq + system.nv + self.works
        self.options: dict[str, Any] = {
            "lanes": lanes, "n": n, "nq": system.nq, "nv": system.nv, "works": self.works, "nu": setup.nu,
            "np": len(setup.p), "m": len(self.kept), "rows": max(method.stages, STAGES),
            "method": method.make(n), "exponent": method.exponent, "rtol": setup.rtol, "atol": setup.atol,
            "max_h": setup.max_step, "max_steps": setup.max_steps, "project": int(one.manifold.project_every > 0),
            "tolerance": one.manifold.tolerance, "max_corrections": one.manifold.max_corrections,
            "widest": one.scales.widest,
            "ode": ode, "correct": correct, "filter": filter, "one": one, "near": layout.ruler.near,
            "unequal": UNEQUAL,
            "u_index": _place(ode, "u"), "ode_p": _place(ode, "p"), "correct_p": _place(correct, "p"),
            "filter_p": _place(filter, "p"), "one_p": _place(one.ode, "p"), "gauge_p": _place(one.gauge, "p"),
            "gauge_sizes": _place(one.gauge, "sizes"), "measured": len(self.measured),
            "control": control, "control_p": _place(control, "p"),
            "one_control_p": _place(one.control, "p"), "hold": setup.period, "watch": watch,
            "events": len(setup.events),
            "watch_p": _place(watch, "p"), "one_watch_p": _place(one.watch, "p"), "room": ROOM if setup.events else 0,
        }  # fmt: skip
        self.slide = (state_units(system, n, 2.0) == 2.0).astype(np.int64)
        self.wanted = np.zeros(0) if ctx.span.samples is None else ctx.span.samples

    def _wide(self, name: str, rows: int, like: Bound) -> Bound:
        """A function of all lanes, trusted as that of one lane is."""
        kernel = self.system.kernel(name, rows=self.rows, lanes=self.lanes)
        return Bound.of(kernel, {}, rows).trust(like.min_angle, like.min_length, like.row_scale)

    def run(self, batch: Batch, go_on: Callable[[], bool], excursion: Excursion) -> Made:
        """Make the runs. go_on() is asked now and then; the excursion carries a run past a singular position."""
        record, met = self._record(batch), dict[int, list[Met]]()
        while True:
            library.call("run_lanes", record)
            self._passed(record, batch, met)
            if not go_on():
                break
            left = np.flatnonzero(record.outcomes == Outcome.SINGULAR).tolist()
            back = [k for k in left if excursion(record, k, met)]
            if record.outcome != Outcome.PAUSED and not back:
                break
            record.resumed[back], record.outcomes[back] = 1, -1
            waiting = np.append(record.todo[record.next : record.queued], back)
            record.todo[: len(waiting)], record.next, record.queued = waiting, 0, len(waiting)
        return Made(
            record.outcomes, record.ends, record.reached, record.samples, record.counts, record.evidence,
            record.lengths, self._events(record), met,
        )  # fmt: skip

    def _record(self, batch: Batch) -> LaneRecord:
        """The record of the native loop, before its first call."""
        system, count = self.system, len(batch)
        record = LaneRecord.sized(**self.options, count=count, asked=len(self.wanted), budget=BUDGET)
        record.starts[:] = np.hstack([batch.q, batch.v])
        record.times[:], record.parameters[:], record.inputs[:] = batch.t, batch.p, batch.u
        record.first_h[:] = self.setup.step
        record.todo[:], record.queued = np.arange(count), count
        record.wanted[:], record.slide[:], record.run[:], record.outcomes[:] = self.wanted, self.slide, -1, -1
        record.samples[:] = np.nan
        record.direction[:] = [event.direction for event in self.setup.events.values()]
        record.terminal[:] = [event.terminal for event in self.setup.events.values()]
        self._scales(record, batch)
        first = record.starts[0]
        wide = (
            (record.ode, len(first)),
            (record.correct, system.nq),
            (record.filter, len(first)),
            (record.control, len(first)),
            (record.watch, len(first)),
        )
        for bound, size in wide:
            if bound.address:  # lanes that are never used compute too
                bound.x[: size * self.lanes] = np.repeat(first[:size], self.lanes)
        return record

    def _passed(self, record: LaneRecord, batch: Batch, met: dict[int, list[Met]]) -> None:
        """Note the passages that the loop has logged."""
        system, ctx, nx = self.system, self.ctx, self.system.nq + self.system.nv
        for k, *numbers in record.log[: record.logged].tolist():
            t, sigma, margin, resolved, _, start, end = numbers[:PASSAGE]
            x, u = numbers[PASSAGE : PASSAGE + nx], numbers[PASSAGE + nx :]
            q, v = tuple(x[: system.nq]), tuple(x[system.nq :])
            ruler, p = ctx.record.ruler, batch.p[int(k)]
            error, hit = ruler.operation / max(margin, ruler.operation), ruler.hit
            usual, rtol = ctx.layout.equations.usual_rank(ctx.rows), self.setup.rtol
            setup = replace(self.setup, p=p)
            if resolved and setup.method.fixed and sigma > hit:
                rate = record.clock[int(k), RATE]
                resolved = resolved_by_given_steps(setup, system.state(q, v, t), sigma, usual, rate, np.array(u))
            found = Met(t, sigma, q, v, start, end, hit, error, rtol, usual, 0, bool(resolved), None)
            found = known_with_drift(setup, found, np.array(u))
            if system.description.prescribed and sigma <= hit:  # now: the inputs are not kept with it
                found = replace(found, determined=describe(system, p, found, np.array(u)).determined)
            met.setdefault(int(k), []).append(found)
        record.logged = 0

    def _events(self, record: LaneRecord) -> dict[str, dict[int, np.ndarray]]:
        """{event: {run: times, s}}, up to the first terminal one of a run."""
        names, found = list(self.setup.events), dict[str, dict[int, np.ndarray]]()
        terminal = np.array([event.terminal for event in self.setup.events.values()], dtype=bool)
        for i in np.flatnonzero(record.hits_of) if names else ():
            t, which = record.hits[i, : record.hits_of[i]].T
            order = np.argsort(t, kind="stable")
            t, which = t[order], which[order].astype(int)
            last = np.flatnonzero(terminal[which])[:1]
            if len(last):
                t, which = t[: last[0] + 1], which[: last[0] + 1]
            for e in np.unique(which):
                found.setdefault(names[e], {})[int(i)] = t[which == e]
        return found

    def _scales(self, record: LaneRecord, batch: Batch) -> None:
        """Lengths, usual lengths of rows and inertias, of each run's parameters."""
        system, nq = self.system, self.system.nq
        sizes, _, record.lengths[:] = usual_sizes(system, batch.p)
        if self.kept:
            record.sizes[:], record.measures[:] = sizes[:, self.kept], sizes[:, self.measured]
        kernel = system.kernel("mass_diagonal")
        known = {"q": batch.q, "p": batch.p}
        diagonals = kernel.batch(*(known[name] for name in kernel.names_in))
        units = np.where(self.slide[nq : nq + system.nv], record.lengths[:, None], 1.0)
        largest = (diagonals * units**2).max(axis=1, initial=0.0)
        record.inertias[:] = np.where(largest > 0.0, largest, 1.0)


def _place(bound: Bound, name: str) -> int:
    """Index of an input, or −1."""
    place = bound.slices.get(name)
    return -1 if place is None else place.start
