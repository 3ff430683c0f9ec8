"""One simulation: calls of the native loop, and what its outcomes ask for."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert import charts
from dalembert.analysis.closing import refuse_mirrored
from dalembert.analysis.mobility import independent_rows
from dalembert.charts import LocalChart
from dalembert.errors import CompileError
from dalembert.integrators.run_record import FRESH, PASSAGE
from dalembert.native import library
from dalembert.outcome import Outcome
from dalembert.simulation.dense import Continuation, Dense
from dalembert.simulation.detours import Detours
from dalembert.simulation.events import ending, locate, up_to
from dalembert.simulation.history import History
from dalembert.simulation.interrupt import Interrupt
from dalembert.simulation.layout import CHART, Layout
from dalembert.simulation.passages import Met
from dalembert.simulation.patience import Patience
from dalembert.simulation.pool import Spare, lease
from dalembert.simulation.record import CHUNK, begin_record, make_record
from dalembert.simulation.setup import Span, on_manifold
from dalembert.simulation.status import FAILURES, Status
from dalembert.simulation.stepper import Stepper
from dalembert.simulation.total_rates import integrated, velocities
from dalembert.system.state import State

RECORDED = 500  # records in a batch of a run that is recorded: what a crash can cost
LOOK = 0.1  # s between looks at the keyboard and the clock


class Driver(Detours):
    """A simulation under way: the record of the native loop, its history, and where it stands."""

    def __init__(self, layout: Layout, span: Span, recorder: Any = None) -> None:
        self.layout, self.setup, self.system, self.span = layout, layout.setup, layout.system, span
        self.controller, self.watcher = layout.controller, layout.watcher
        self.history = History(layout, span.samples, recorder)
        self.interrupt = Interrupt(layout.callbacks)
        self.met: list[Met] = []
        self.charts: list[tuple[float, LocalChart | None]] = []  # None: all coordinates again
        self.found: dict[str, list[tuple[float, np.ndarray]]] = {name: [] for name in self.setup.events}
        self.names = list(self.setup.events)
        self.ended_by = -1  # the number of the event that ended the run
        self.trouble: Exception | None = None  # that ended the run, besides those of callbacks
        self.returning = False  # whether a chart is taken again once the constraints are far enough from dependent
        self.chart: LocalChart | None = None
        self.usual: Stepper | None = None  # to be taken again after careful steps
        self.why = ""  # no motion leads on
        self.patience = Patience()
        self.halvings = 0
        self.goal: float | None = None  # s: the end, where the run goes on beyond it
        self.started, self.shown = time.perf_counter(), False
        self._dense: Dense | None = None
        self.rows: tuple[int, ...] | None = None
        self._lay_out(span.start)

    def _lay_out(self, start: State) -> None:
        """The record of the run at its start: one of an earlier run like it, or a new one."""
        spare = lease(self.layout) if self.history.recorder is None else None
        if spare is None:
            run = self.record = make_record(self.layout)
            self.place(start, None, None, np.zeros(self.layout.works))
            spare = Spare(run, bytes(run), run.x, run.ode)
        else:
            self.record = spare.record
            self._put(start)
        self.spare, run = spare, self.record
        begin_record(self.layout, run, start, self.span.end, self.span.u)
        library.call("begin", run)
        on = start
        if self.system.rows.of:
            if run.closed:
                refuse_mirrored(self.system, start, self.setup.p)
            else:
                on = on_manifold(self.system, start, self.setup.p)
            if not (run.independent and self.setup.formulation == "auto"):
                self.rows = independent_rows(self.system, on, self.setup.p)
        if self.setup.coordinates is not None:
            self._put(on)
            charts.check(self.system, self.setup.coordinates)
            if self.margin() < FRESH**2:
                self.place(on, self.rows, None, self.work.copy())
                self.without_chart()
            else:
                chart = charts.choose(self.system, on, self.setup.p, self.setup.coordinates)
                self.place(on, self.rows, chart, self.work.copy())
        elif self.rows is not None:
            self.place(on, self.rows, None, self.work.copy())
        elif on is not start:
            self._put(on)

    def _put(self, state: State) -> None:
        """Put a state into the record, no work done yet."""
        run, nq, n = self.record, self.system.nq, self.system.nq + self.system.nv
        x = run.x
        x[:nq], x[nq:n], x[n:] = state.q, integrated(self.setup, state), 0.0
        run.records = 0

    # --- the whole ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the start, with the inputs that act there."""
        run, n = self.record, self.system.nq + self.system.nv
        if self.controller is not None and run.hold == 0.0:
            u = run.control.at(run.t, run.x[:n])[: run.nu]
            if np.isfinite(u).all():
                self.inputs[:], run.records = u, 0
        if self.watcher is not None:
            run.event_values[:] = run.watch.at(run.t, run.x[:n])[: run.events]
        if not run.records:
            library.call("begin", run)

    def go(self) -> Status:
        """To the end, or as far as it goes."""
        status, run, setup = Status.DONE, self.record, self.setup
        if self.found and any(setup.events[name].terminal and hits for name, hits in self.found.items()):
            status = Status.EVENT
        with self.interrupt:
            while run.t < run.end and status == Status.DONE:
                status = self._advance()
        self.take_records()
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        return status

    def detour(self) -> Status:
        """From next to a singular position to where usual steps lead on, or to the end."""
        run = self.record
        with self.interrupt:
            status = self._answer(Outcome.SINGULAR)
            while run.t < run.end and status == Status.DONE and (run.singular or run.until or self.goal is not None):
                status = self._advance()
        self.take_records()
        return status

    def _advance(self) -> Status:
        """Call the native loop once, and respond to its outcome."""
        run, setup, interrupt = self.record, self.setup, self.interrupt
        run.room = min(len(run.times), setup.max_steps - run.steps + run.records)
        run.budget = run.budget if self.goal is None else 1  # beyond the end, to the first record
        clock = time.perf_counter()
        library.call("advance", run)
        self._look(clock)
        if run.t < run.end:
            interrupt.watch()
        if run.outcome == Outcome.PAUSED and run.records < run.room and not interrupt.asked and self.goal is None:
            return Status.DONE
        full = run.outcome == Outcome.SINGULAR and run.steps >= setup.max_steps  # no step is left to cross it
        status = self._answer(Outcome.PAUSED if full else run.outcome)
        if self._is_beyond and status == Status.DONE:
            self._end_inside()
        self.history.flush(self)
        if run.t < run.end:
            if interrupt.asked:
                return Status.INTERRUPTED
            if status == Status.DONE and run.steps >= setup.max_steps:
                return Status.STEPS
            if status == Status.DONE and self.patience.ends(run, setup.max_steps):
                self.why = self.patience.why
                return Status.TOO_MANY_STEPS
        return status

    def _answer(self, outcome: int) -> Status:
        """Respond to an outcome, where code that is needed on the way, as at a singular position, may not compile."""
        try:
            return self._respond(outcome)
        except CompileError as error:
            self.trouble = error
            return Status.NOT_COMPILED

    def take_records(self) -> None:
        """Move the records of the native loop to the history."""
        run = self.record
        count = run.records
        if count:
            run.records = self.halvings = 0
            self.history.add(run.times[:count], run.states[:count], self.between)

    def _respond(self, outcome: int) -> Status:
        """Respond to an outcome of the native loop."""
        run = self.record
        self.take_records()
        for k in range(run.passed):
            t, sigma, margin, resolved, steps, *span = run.passages[k, :PASSAGE].tolist()
            self.note(t, sigma, run.passages[k, PASSAGE:], (*span,), margin, bool(resolved), int(steps))
        run.passed = 0
        if outcome == Outcome.EVENT:
            return self.event()
        if self._is_beyond:
            return Status.DONE
        if outcome in FAILURES and self.goal is not None:  # as where a controller ends with the run
            run.end, run.beyond, self.goal = self.goal, 0, None
            for callback in self.layout.callbacks:
                callback.error = None
            return Status.DONE
        if outcome == Outcome.SINGULAR:
            return self.singular()
        if outcome == Outcome.ENDS_BESIDE:
            return self.go_beyond()
        if outcome == Outcome.CHART_ENDS:
            return self.next_chart()
        if outcome == Outcome.STEP_UNSOLVED and not run.singular and self.margin() < FRESH**2:
            status = self.singular()
            run.until = max(run.until, (2.0 * FRESH) ** 2)
            return status
        if outcome == Outcome.OK and run.until:
            self.leave()
        return FAILURES.get(outcome, Status.DONE) if outcome else Status.DONE

    def _look(self, clock: float) -> None:
        """Adapt the number of attempts between looks; a line on a terminal for runs of more than two seconds."""
        run, now = self.record, time.perf_counter()
        seconds = now - clock
        if seconds > 2 * LOOK:
            run.budget = max(1, int(run.budget * LOOK / seconds))
        elif seconds < 0.2 * LOOK and run.outcome == Outcome.PAUSED and run.records < run.room:
            run.budget *= 2
        if now - self.started > 2.0 and sys.stderr.isatty():
            start = self.span.start.t
            done = (run.t - start) / max(run.end - start, 1e-300)
            sys.stderr.write(f"\rsimulating '{self.system.name}': t = {run.t:.4g} s, {100 * done:.0f} %")
            self.shown = True

    # --- where it stands ----------------------------------------------------------------------------------------

    @property
    def inputs(self) -> np.ndarray:
        """(nu,) inputs that act now, a view."""
        run = self.record
        return run.ode.x[run.u_index : run.u_index + run.nu]

    @property
    def work(self) -> np.ndarray:
        """Works at the end of x."""
        run = self.record
        return run.x[run.n - run.works :]

    def state(self) -> State:
        """The state now."""
        run, nq = self.record, self.system.nq
        return self.system.state(run.x[:nq], run.x[nq : nq + self.system.nv], run.t)

    def place(self, state: State, rows: tuple[int, ...] | None, chart: LocalChart | None, work: np.ndarray) -> None:
        """Lay everything out for these rows and this chart, from a state."""
        run, self.rows, self.chart, self._dense = self.record, rows, chart, None
        local: list[np.ndarray] = []
        if chart is not None:
            local = [chart.carried(state)]
            self.charts.append((float(state.t), chart))
            self.returning, run.until = False, 0.0
        elif self.charts:
            self.charts.append((float(state.t), None))
        x = np.concatenate([state.q, integrated(self.setup, state), *local, work])
        room = CHUNK if self.history.recorder is None else RECORDED
        self.layout.place(run, rows, chart, x, min(room, self.setup.max_steps))
        if self.history.taken == run.t:
            self.history.last = run.t, np.concatenate([x, self.inputs, [1.0]])  # as the new layout has it
        if chart is not None:
            n = self.system.nq + self.system.nv
            out = run.recover.at(state.t, x[: n + 2 * chart.dof])
            run.chart_margin = min(CHART, 0.1 * out[n + run.recover.rows])

    def between(self, times: np.ndarray, records: np.ndarray) -> Dense:
        """States between records of the present layout."""
        if self._dense is None:
            spare, known = self.spare, self.spare.dense if self.spare.is_as_laid_out else None
            if known is None:
                copy = self.record.copy()
                known = Dense(self.layout, self.rows, lambda: copy, times, records)
                if spare.is_as_laid_out:
                    spare.dense = known
            else:
                known.run.renew(self.record)
            self._dense = known
        self._dense.times, self._dense.states = times, np.ascontiguousarray(records)
        return self._dense

    @property
    def continuation(self) -> Continuation:
        """How states between records are found once the run is over."""
        return Continuation(self.layout, self.rows, self.span.start)

    # --- events -------------------------------------------------------------------------------------------------

    def event(self) -> Status:
        """Locate events of the last step; the first terminal one ends the run there."""
        run, n, before = self.record, self.system.nq + self.system.nv, self.history.previous
        dense = self.between(np.array([before[0], run.t]), np.stack([before[1], self.history.last[1]]))
        hits, failed = locate(list(self.setup.events.values()), run.event_values, dense)
        run.event_values[0] = run.event_values[1]
        if self.goal is not None:
            hits = [hit for hit in hits if hit[0] <= self.goal]
        end = ending(hits, list(self.setup.events.values()), run.own_events)
        for when, row, k in hits if end is None else up_to(hits, end, run.own_events):
            q, v = row[: run.nq], velocities(self.setup, row[None, : run.nq], row[None, run.nq : n])[0]
            self.found[self.names[k]].append((when, np.concatenate([q, v])))
        if end is not None:
            when, row, self.ended_by = end
            self.land(when, row)
            self.came(before[1], row)
            self._cut(when, row)
            return Status.EVENT
        return Status.CALLBACK if failed else Status.DONE

    # --- ends beside singular positions -------------------------------------------------------------------------

    def go_beyond(self) -> Status:
        """Go on beyond the end, to the first record behind it."""
        run = self.record
        self.goal = run.end
        run.end += max(10.0 * run.usual_h, run.end - self.span.start.t)
        return Status.DONE

    @property
    def _is_beyond(self) -> bool:
        return self.goal is not None and self.record.t >= self.goal

    def _end_inside(self) -> None:
        """End the run inside its last step: velocities beside a singular position are known by those on both sides."""
        run = self.record
        assert self.goal is not None
        (t, first), last, run.end, self.goal = self.history.previous, self.history.last[1], self.goal, None
        if run.t == run.end:
            return
        (row,) = self.between(np.array([t, run.t]), np.stack([first, last])).rows(np.array([run.end]))
        self._cut(run.end, row)
        met = self.margin() <= run.hit**2
        self.met = [replace(m, t=min(m.t, run.end), end=min(m.end, run.end)) for m in self.met if m.t <= run.end or met]

    def _cut(self, t: float, row: np.ndarray) -> None:
        """Be where the record at t, inside the last step, is."""
        run = self.record
        run.x[:], run.t, run.fresh = row[: run.n], t, 0
        if run.nu:
            self.inputs[:] = row[run.n : run.n + run.nu]
        self.history.cut(t, row)
