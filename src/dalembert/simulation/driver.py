"""One simulation: calls of the native loop, and what its outcomes ask for."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from dalembert import charts
from dalembert.analysis.mobility import independent_rows
from dalembert.charts import LocalChart
from dalembert.errors import CompileError
from dalembert.integrators.run_record import FRESH
from dalembert.native import library
from dalembert.native.bound import NOTHING, SIGNATURE
from dalembert.outcome import Outcome
from dalembert.simulation.callbacks import Callback, controller
from dalembert.simulation.dense import Continuation, Dense
from dalembert.simulation.detours import Detours
from dalembert.simulation.events import locate, watcher
from dalembert.simulation.history import History
from dalembert.simulation.interrupt import Interrupt
from dalembert.simulation.layout import CHART, CHUNK, Layout, Stepper, gap_unit
from dalembert.simulation.passages import Met
from dalembert.simulation.pool import lease
from dalembert.simulation.setup import CLOSED, Setup, on_manifold
from dalembert.simulation.status import FAILURES, Status
from dalembert.system.state import State

RECORDED = 500  # records in a batch of a run that is recorded: what a crash can cost
LOOK = 0.1  # s between looks at the keyboard and the clock
CLEARLY = 1e4  # of the margin that is not trusted: rows that are this far from dependent need no closer look


class Driver(Detours):
    """A simulation under way: the record of the native loop, its history, and where it stands."""

    def __init__(self, setup: Setup, recorder: Any = None) -> None:
        self.setup, self.system = setup, setup.system
        self.controller: Callback | None = None
        self.watcher: Callback | None = None
        if setup.controller is not None:
            self.controller = controller(self.system, setup.controller, setup.p)
        if setup.events:
            self.watcher = watcher(self.system, setup.events, setup.p)
        callbacks = [c for c in (self.controller, self.watcher) if c is not None]
        self.layout = Layout(setup, *(NOTHING if c is None else c.bound for c in (self.controller, self.watcher)))
        self.history = History(self.layout, setup.samples, recorder)
        self.interrupt = Interrupt(callbacks)
        self.met: list[Met] = []
        self.charts: list[tuple[float, LocalChart | None]] = []  # None: all coordinates again
        self.found: dict[str, list[tuple[float, np.ndarray]]] = {name: [] for name in setup.events}
        self.trouble: Exception | None = None  # that ended the run, besides those of callbacks
        self.returning: LocalChart | None = None  # whose kind is taken again after singular steps
        self.chart: LocalChart | None = None
        self.usual: Stepper | None = None  # to be taken again after careful steps
        self.why = ""  # no motion leads on
        self.halvings = 0
        self.started, self.shown = time.perf_counter(), False
        self._dense: Dense | None = None
        self.rows: tuple[int, ...] | None = None
        self._lay_out(setup.start)

    def _lay_out(self, start: State) -> None:
        """The record of the run at its start: one of an earlier run like it, or a new one."""
        found = lease(self.layout) if self.history.recorder is None else None
        if found is None:
            self.record = self.layout.record()
            self.place(start, None, None, np.zeros(self.layout.works))
            self.fresh = bytes(self.record._memory)
        else:
            self.record, self.fresh = found
            self._put(start)
        on = start
        if self.system.rows.of:
            on = start if self._closed() else on_manifold(self.system, start, self.setup.p)
            if not (self.setup.formulation == "auto" and self._independent()):
                self.rows = independent_rows(self.system, on, self.setup.p)
        if self.setup.coordinates is not None:
            chart = charts.choose(self.system, on, self.setup.p, self.setup.coordinates)
            self.place(on, self.rows, chart, self.work.copy())
        elif self.rows is not None:
            self.place(on, self.rows, None, self.work.copy())
        elif on is not start:
            self._put(on)

    def _put(self, state: State) -> None:
        """Put a state into the record, no work done yet."""
        x, nq, n = self.record.x, self.system.nq, self.system.nq + self.system.nv
        x[:nq], x[nq:n], x[n:] = state.q, self.layout.integrated(state), 0.0

    def _closed(self) -> bool:
        """Whether the start is on the manifold to rounding."""
        run, nq, nv = self.record, self.system.nq, self.system.nv
        if not run.filter.address:
            return False
        small = CLOSED * gap_unit(self.system)
        gaps = run.correct.at(run.t, run.x[:nq])[nq : nq + run.correct.rows].tolist()
        speeds = run.filter.at(run.t, run.x[: nq + nv])[nv : nv + run.filter.rows].tolist()
        return all(abs(gap) <= small for gap in gaps) and all(abs(speed) <= small for speed in speeds)

    def _independent(self) -> bool:
        """Whether no row is short, or nearly dependent on others, at the start: without a decomposition."""
        run, ode = self.record, self.record.ode
        angle, length = ode.at(run.t, run.x[: run.nq + run.nv])[run.n : run.n + 2].tolist()
        return angle > CLEARLY * ode.min_angle and length > ode.min_length

    # --- the whole ----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The first record: the start, with the inputs that act there."""
        run, n = self.record, self.system.nq + self.system.nv
        if self.controller is not None and run.hold == 0.0:
            u = run.control.at(run.t, run.x[:n])[: run.nu]
            if np.isfinite(u).all():
                self.inputs[:] = u
        if self.watcher is not None:
            run.event_values[:] = run.watch.at(run.t, run.x[:n])[: run.events]
        first, n = run.states[0], run.n
        first[:n], first[n:-1], first[-1] = run.x, self.inputs, 1.0
        run.times[0], run.records = run.t, 1

    def go(self) -> Status:
        """To the end, or as far as it goes."""
        status, run, advance = Status.DONE, self.record, SIGNATURE(library.address("advance"))
        if any(self.setup.events[name].terminal and hits for name, hits in self.found.items()):
            status = Status.EVENT
        with self.interrupt:
            while run.t < run.end and status == Status.DONE:
                run.room = min(len(run.times), self.setup.max_steps - run.steps + run.records)
                clock = time.perf_counter()
                advance(0, 0, run.pointer)
                self._look(time.perf_counter() - clock)
                if run.t < run.end:
                    self.interrupt.watch()
                if run.outcome == Outcome.PAUSED and run.records < run.room and not self.interrupt.asked:
                    continue
                try:
                    status = self._respond(run.outcome)
                except CompileError as error:  # of code needed on the way, as at a singular position
                    status, self.trouble = Status.NOT_COMPILED, error
                self.history.flush(self)
                if self.interrupt.asked and run.t < run.end:
                    status = Status.INTERRUPTED
                elif status == Status.DONE and run.steps >= self.setup.max_steps and run.t < run.end:
                    status = Status.STEPS
        self.take_records()
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        return status

    def take_records(self) -> None:
        """Move the records of the native loop to the history."""
        run = self.record
        times, records = run.times[: run.records], run.states[: run.records]
        run.records = 0
        if len(times):
            self.halvings = 0
            self.history.add(times, records, self.between)

    def _respond(self, outcome: int) -> Status:
        """What an outcome of the native loop asks for."""
        run = self.record
        self.take_records()
        if run.passed:
            self.note(run.passage_t, run.passage_sigma, run.passage, (self.history.previous[0], run.t))
        if outcome == Outcome.EVENT:
            return self.event()
        if outcome == Outcome.SINGULAR:
            return self.singular()
        if outcome == Outcome.CHART_ENDS:
            return self.next_chart()
        if outcome == Outcome.STEP_UNSOLVED and not run.singular and self.margin() < FRESH**2:
            status = self.singular()
            run.until = max(run.until, (2.0 * FRESH) ** 2)
            return status
        if outcome == Outcome.OK and run.until:
            self.leave()
        return FAILURES.get(outcome, Status.DONE) if outcome else Status.DONE

    def _look(self, seconds: float) -> None:
        """Adapt the number of attempts between looks; a line on a terminal for runs of more than two seconds."""
        run = self.record
        if seconds > 2 * LOOK:
            run.budget = max(1, int(run.budget * LOOK / seconds))
        elif seconds < 0.2 * LOOK and run.outcome == Outcome.PAUSED:
            run.budget *= 2
        if time.perf_counter() - self.started > 2.0 and sys.stderr.isatty():
            start = self.setup.start.t
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
        elif self.charts:
            self.charts.append((float(state.t), None))
        x = np.concatenate([state.q, self.layout.integrated(state), *local, work])
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
            copy = self.record.copy()
            self._dense = Dense(self.layout, lambda: copy, times, records)
        self._dense.times, self._dense.states = times, np.ascontiguousarray(records)
        return self._dense

    @property
    def continuation(self) -> Continuation:
        """How states between records are found once the run is over."""
        return Continuation(self.layout, self.rows)

    # --- events -------------------------------------------------------------------------------------------------

    def event(self) -> Status:
        """Locate events of the last step; a terminal one ends the run there."""
        run, n = self.record, self.system.nq + self.system.nv
        dense = self.between(
            np.array([self.history.previous[0], run.t]), np.stack([self.history.previous[1], self.history.last[1]])
        )
        hits, failed = locate(self.setup.events, run.event_values, dense, n)
        run.event_values[0] = run.event_values[1]
        for when, row, name in hits:
            self.found[name].append((when, row[:n].copy()))
            if self.setup.events[name].terminal:
                run.x[:], run.t, run.fresh = row[: run.n], when, 0
                self.history.cut(when, row)
                return Status.EVENT
        return Status.CALLBACK if failed else Status.DONE
