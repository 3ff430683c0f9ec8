"""One simulation: calls of the native loop, and what its outcomes ask for."""

from __future__ import annotations

import sys
import time
import warnings
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
from dalembert.simulation.crossing import Crosser
from dalembert.simulation.dense import Continuation, Dense
from dalembert.simulation.events import locate, watcher
from dalembert.simulation.history import History
from dalembert.simulation.interrupt import Interrupt
from dalembert.simulation.layout import CHART, CHUNK, Layout, Stepper
from dalembert.simulation.passages import Met, describe
from dalembert.simulation.pool import lease
from dalembert.simulation.setup import CLOSED, Setup, on_manifold
from dalembert.simulation.status import FAILURES, Status
from dalembert.system.state import State

RECORDED = 500  # records in a batch of a run that is recorded: what a crash can cost
LOOK = 0.1  # s between looks at the keyboard and the clock
CLEARLY = 1e4  # of the margin that is not trusted: rows that are this far from dependent need no closer look
ROUNDING = 2e-16
HALVINGS = 40  # of the step by which a fresh chart is tried before the position counts as singular


class Driver:
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
        small = CLOSED * min(1.0, run.length)
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
        self._take_records()
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        return status

    def _take_records(self) -> None:
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
        self._take_records()
        if run.passed:
            self._note(run.passage_t, run.passage_sigma, run.passage, (self.history.previous[0], run.t))
        if outcome == Outcome.EVENT:
            return self._event()
        if outcome == Outcome.SINGULAR:
            return self._singular()
        if outcome == Outcome.CHART_ENDS:
            return self._next_chart()
        if outcome == Outcome.STEP_UNSOLVED and not run.singular and self._margin() < FRESH**2:
            status = self._singular()
            run.until = max(run.until, (2.0 * FRESH) ** 2)
            return status
        if outcome == Outcome.OK and run.until:
            self._leave()
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

    # --- singular positions and charts --------------------------------------------------------------------------

    def _singular(self) -> Status:
        """Other rows where these no longer carry the rest; careful steps; where these end too, across the position."""
        run = self.record
        if run.stop:
            return Status.SINGULAR
        if run.singular:
            return self._cross()
        if self.rows is not None:
            rows = independent_rows(self.system, self.state(), self.setup.p)
            if rows is not None and rows != self.rows:
                self.place(self.state(), rows, self.chart, self.work.copy())
                run.project_first = 1
                return Status.DONE
        self._without_chart()
        self._careful()
        run.project_first = 1
        return self._cross() if self._margin() <= (4.0 * run.hit) ** 2 else Status.DONE

    def _careful(self) -> None:
        """Careful steps from now on."""
        run, careful = self.record, self.layout.careful(self.rows)
        self.usual, self._dense = careful.now(run, self.setup.method), None
        careful.enter(run)

    def go_on_carefully(self, singular: bool, low: np.ndarray) -> None:
        """Be where a recording ends: in all coordinates until a chart is possible, in careful steps or not."""
        run = self.record
        self.returning = next((chart for _, chart in reversed(self.charts) if chart is not None), None)
        if self.returning is not None:
            run.until = (2.0 * FRESH) ** 2
        if singular:
            self._careful()
            run.low[:], run.low_before[:] = low, low

    def _without_chart(self) -> None:
        """Go on in all coordinates, until the constraints are far enough from dependent for a chart."""
        if self.chart is not None:
            self.returning = self.chart
            self.place(self.state(), self.rows, None, self.work.copy())
            self.record.until = (2.0 * FRESH) ** 2

    def _leave(self) -> None:
        """Back to ordinary steps, and to a chart where there was one."""
        run = self.record
        run.project_first, self._dense = 1, None
        if run.singular:
            assert self.usual is not None
            self.usual.enter(run)
            if self.setup.method.fixed:
                run.h = self.setup.step
            return
        run.until = 0.0
        if self.returning is not None:
            state, rows = self.state(), self.rows
            if rows is not None:
                rows = independent_rows(self.system, state, self.setup.p)
            self.place(state, rows, self._renewed(self.returning, state), self.work.copy())

    def _cross(self) -> Status:
        """Across a singular position, to where the rows are independent again."""
        run, start, nq, n = self.record, self.state(), self.system.nq, self.system.nq + self.system.nv

        def slope(x: State) -> np.ndarray:
            return run.ode.at(x.t, np.concatenate([x.q, x.v]))[: run.n].copy()

        crosser = Crosser(
            self.system, self.setup.p, self.inputs.copy(), lambda x: slope(x)[nq:n],
            self.layout.usual_rank(self.rows), run.hit, run.end - run.t,
        )  # fmt: skip
        found = crosser.cross(start)
        if isinstance(found, str):
            self.why = found
            return Status.BLOCKED
        position, after = found.position, found.after
        time = after.t - start.t
        run.x[:nq], run.x[nq:n] = after.q, after.v
        run.x[n:] += 0.5 * time * (slope(start) + slope(after))[n:]
        run.h, run.t, run.fresh, run.project_first = 0.5 * time, after.t, 0, 0
        run.steps, run.singular_steps, run.records = run.steps + 1, run.singular_steps + 1, 1
        run.times[0], run.states[0] = run.t, np.concatenate([run.x, self.inputs, [0.0]])
        self._take_records()
        if run.risen and self.met:  # noted as one that is passed, σ has not risen since
            self.met.pop()
        run.risen = 0.0
        self._note(position.t, 0.0, np.concatenate([position.q, position.v]), (start.t, run.t), found.determined)
        if self.watcher is not None:
            run.event_values[1] = run.watch.at(run.t, run.x[:n])[: run.events]
            return self._event()
        return Status.DONE

    def _next_chart(self) -> Status:
        """Another chart of the same kind; where a fresh one ends too, shorter steps, then singular ones."""
        run, chart, state = self.record, self.chart, self.state()
        assert chart is not None
        if not np.isfinite(run.x).all():
            return Status.NOT_FINITE
        if self._margin() < FRESH**2:
            self._without_chart()
            return Status.DONE
        if self.charts[-1][0] == run.t:  # a fresh chart cannot take this step either
            self.halvings += 1
            if run.exponent == 0.0 or run.h == 0.0 or run.h < 1e-3 * run.usual_h or self.halvings > HALVINGS:
                self.halvings = 0
                return self._singular()
            run.h *= 0.5
            self.charts.pop()
        rows = self.rows if self.rows is None else independent_rows(self.system, state, self.setup.p)
        self.place(state, rows, self._renewed(chart, state), self.work.copy())
        return Status.DONE

    def _margin(self) -> float:
        """Margin of the constraint rows now."""
        run, gauge = self.record, self.record.gauge
        if not gauge.address:
            return 1.0
        return float(gauge.at(run.t, run.x[: run.nq])[0])

    def _renewed(self, chart: LocalChart, state: State) -> LocalChart:
        """A chart around a state: by the coordinates that are best there, or by the tangent space."""
        make = charts.named if chart.kind == "named" else charts.tangent
        return make(self.system, state, p=self.setup.p)

    def _note(
        self, t: float, sigma: float, x: np.ndarray, span: tuple[float, float], determined: bool | None = None
    ) -> None:
        """One more passage; a warning where that is asked for."""
        run, nq, setup = self.record, self.system.nq, self.setup
        q, v = tuple(x[:nq].tolist()), tuple(x[nq : nq + self.system.nv].tolist())
        steps = run.singular_steps - sum(m.steps for m in self.met)
        usual = self.layout.usual_rank(self.rows)
        error = ROUNDING / max(sigma, ROUNDING) ** (1 if run.precise else 2)
        met = Met(t, sigma, q, v, *span, run.hit, error, setup.rtol, usual, steps, bool(run.resolved), determined)
        run.passed = 0
        self.met.append(met)
        if setup.on_singularity == "warn":
            warnings.warn(f"'{self.system.name}': {describe(self.system, setup.p, met)}", stacklevel=6)

    @property
    def continuation(self) -> Continuation:
        """How states between records are found once the run is over."""
        return Continuation(self.layout, self.rows)

    # --- events -------------------------------------------------------------------------------------------------

    def _event(self) -> Status:
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
