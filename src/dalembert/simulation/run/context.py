"""The context of a segment under way: the record of the native loop, its history, and what was met so far.

`Context` is data. What happens to it are functions of it: `stepping` calls the native loop, `outcomes` responds to what
that came back with, `located` to events, `charts` and `singularities` to positions that usual steps do not pass.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dalembert import charts
from dalembert.analysis.mobility import independent_rows
from dalembert.branch.mirrors import refuse_mirrored
from dalembert.charts import LocalChart
from dalembert.integrators.run_record import SKIPPED
from dalembert.native import library
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.dense import Dense
from dalembert.simulation.run.history import RunHistory
from dalembert.simulation.run.interrupt import Interrupt
from dalembert.simulation.run.native_record import CHUNK, begin_record, make_record
from dalembert.simulation.run.record_pool import Spare, lease
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.step_budget import StepBudget
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.setup import on_manifold
from dalembert.simulation.singular.passages import Met
from dalembert.simulation.singular.rank_revealing import Careful
from dalembert.simulation.total_rates import integrated
from dalembert.system.state import State

RECORDED = 500  # records in a batch of a run that is recorded: what a crash can cost


class Context:
    """A segment under way."""

    spare: Spare
    rows: tuple[int, ...] | None = None  # constraint rows in use; None: all
    chart: LocalChart | None = None
    returning = False  # whether a chart is taken again once the constraints are far enough from dependent
    halvings = 0  # of the step, since the last record, for a chart that ended at once
    usual: Stepper | None = None  # to be taken again after careful steps
    careful: Careful | None = None  # careful steps, while they are taken
    was_singular = False  # whether the segment began in a singular position, and not at the start of the run
    refused = -np.inf  # s, when a crossing was refused last
    goal: float | None = None  # s: the end, where the run goes on beyond it
    stiff = 0.0  # s: the last steps, where the segment ends to go on by another method
    looked: tuple[int, float] = (0, 0.0)  # the last look at that: steps, and the time
    ended_by = -1  # the number of the event that ended the segment
    why = ""  # no motion leads on
    trouble: Exception | None = None  # that ended the run, besides those of callbacks
    shown = False  # whether a line about the progress is on the terminal
    dense: Dense | None = None  # states between records of the present layout

    def __init__(self, segment: Segment, recorder: Any = None) -> None:
        layout, self.span = segment.layout, segment.span
        self.segment, self.layout, self.setup, self.system = segment, layout, layout.setup, layout.system
        self.arrival = segment.arrival  # (nv,) the last velocity beside a singular position that selects a branch
        self.looked = 0, segment.span.start.t
        self.history = RunHistory(layout, segment.span.samples, recorder)
        self.interrupt = segment.interrupt or Interrupt()
        self.interrupt.callbacks = list(layout.callbacks)
        self.budget = StepBudget()
        self.met: list[Met] = []
        self.charts: list[tuple[float, LocalChart | None]] = []  # None: all coordinates again
        self.found: dict[str, list[tuple[float, np.ndarray]]] = {name: [] for name in self.setup.events}
        self.started = time.perf_counter()
        self.modes = segment.record
        spare = lease(layout) if recorder is None and self.modes is None else None
        if self.modes is not None:
            run, rows = self.modes.run, first_rows(layout, segment.span.start)
            self.record = run
            self.modes.begin(layout, rows, np.zeros(self.system.nq + self.system.nv + layout.works))
            put(self, segment.span.start)
            spare = Spare(run, rows, b"", run.x, run.ode)
        elif spare is None:
            run, rows = make_record(layout), first_rows(layout, segment.span.start)
            self.record = run
            place(self, segment.span.start, rows, None, np.zeros(layout.works))
            spare = Spare(run, rows, bytes(run), run.x, run.ode)
        else:
            self.record = spare.record
            put(self, segment.span.start)
        self.spare = spare

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
        return self.system.state(run.x[:nq], run.x[nq : nq + self.system.nv], run.clock.t)

    def margin(self, t: float | None = None, x: np.ndarray | None = None) -> float:
        """Margin of the constraint rows now, or at a time and state."""
        run, gauge = self.record, self.record.gauge
        if not gauge.address:
            return 1.0
        gauge.y[1] = SKIPPED
        return float(gauge.at(run.clock.t if t is None else t, (run.x if x is None else x)[: run.nq])[0])

    @property
    def allows_chart(self) -> bool:
        """Whether the constraints are far enough from dependent for a chart."""
        return self.margin() >= self.layout.ruler.fresh**2

    @property
    def far(self) -> float:
        """Margin from which a chart is taken again."""
        return (self.layout.ruler.clear * self.layout.ruler.fresh) ** 2


def lay_out(segment: Segment, recorder: Any = None) -> Context:
    """A segment before its first record: the start is checked, rows and chart are chosen, functions are in place."""
    ctx = Context(segment, recorder)
    layout, system, p, run, start = ctx.layout, ctx.system, ctx.setup.p, ctx.record, segment.span.start
    begin_record(layout, run, start, segment.span.end, segment.span.u)
    library.call("begin", run)
    on, laid_out = start, ctx.spare.rows
    ctx.rows = laid_out
    if system.rows.of:
        if run.manifold.closed and laid_out is None:
            refuse_mirrored(system, start, p)
        else:
            on = on_manifold(system, start, p)
        if laid_out is not None or not (run.manifold.independent and ctx.setup.formulation == "auto"):
            ctx.rows = independent_rows(system, on, p)
    if ctx.setup.coordinates is not None:
        put(ctx, on)
        charts.check(system, ctx.setup.coordinates)
        chart = charts.choose(system, on, p, ctx.setup.coordinates) if ctx.allows_chart else None
        place(ctx, on, ctx.rows, chart, ctx.work.copy())
        if chart is None:
            ctx.returning, run.regime.until = True, ctx.far
    elif ctx.rows != laid_out:
        place(ctx, on, ctx.rows, None, ctx.work.copy())
    elif on is not start:
        put(ctx, on)
    if segment.step > 0.0:
        run.step.h = run.step.usual_h = segment.step
    if segment.sampling is not None:
        run.clock.hold_start, run.clock.sampled_until = segment.sampling
        run.counts.samples = round((run.clock.sampled_until - run.clock.hold_start) / run.clock.hold)
    return ctx


def first_rows(layout: RunLayout, start: State) -> tuple[int, ...] | None:
    """The rows that a record is first laid out for: all (None), or independent ones where some must be redundant.

    As many rows as velocities leave no motion unless some depend on others: code of all of them would be compiled and
    never used.
    """
    system = layout.system
    if not 0 < system.nv <= len(system.rows.of) or layout.setup.formulation != "auto":
        return None
    return independent_rows(system, start, layout.setup.p)


def put(ctx: Context, state: State) -> None:
    """Put a state into the record, no work done yet."""
    run, nq, n = ctx.record, ctx.system.nq, ctx.system.nq + ctx.system.nv
    x = run.x
    x[:nq], x[nq:n], x[n:] = state.q, integrated(ctx.setup, state), 0.0
    run.counts.records = 0


def place(ctx: Context, state: State, rows: tuple[int, ...] | None, chart: LocalChart | None, work: np.ndarray) -> None:
    """Lay everything out for these rows and this chart, from a state."""
    run, ctx.rows, ctx.chart, ctx.dense = ctx.record, rows, chart, None
    local: list[np.ndarray] = []
    if chart is not None:
        local = [chart.carried(state)]
        ctx.charts.append((float(state.t), chart))
        ctx.returning, run.regime.until = False, 0.0
    elif ctx.charts:
        ctx.charts.append((float(state.t), None))
    x = np.concatenate([state.q, integrated(ctx.setup, state), *local, work])
    room = CHUNK if ctx.history.recorder is None else RECORDED
    if ctx.modes is not None:
        ctx.modes.place(ctx.layout, rows, x, min(room, ctx.setup.max_steps))
    else:
        ctx.layout.place(run, rows, chart, x, min(room, ctx.setup.max_steps))
    if ctx.history.taken == run.clock.t:
        ctx.history.last = run.clock.t, np.concatenate([x, ctx.inputs, [1.0]])  # as the new layout has it
    if chart is not None:
        n = ctx.system.nq + ctx.system.nv
        out = run.recover.at(state.t, x[: n + 2 * chart.dof])
        run.manifold.chart_margin = min(run.ruler.chart, run.ruler.worn * out[n + run.recover.rows])


def take_records(ctx: Context) -> None:
    """Move the records of the native loop to the history."""
    run = ctx.record
    count = run.counts.records
    if count:
        run.counts.records = ctx.halvings = 0
        ctx.history.add(run.times[:count], run.states[:count], lambda *records: dense(ctx, *records))


def dense(ctx: Context, times: np.ndarray, records: np.ndarray) -> Dense:
    """States between records of the present layout."""
    found = ctx.dense
    if found is None:
        spare = ctx.spare
        found = spare.dense if spare.is_as_laid_out else None
        if ctx.modes is not None and not ctx.record.regime.careful:
            found = ctx.modes.between(ctx.layout, ctx.rows)
        elif found is None:
            copy = ctx.record.copy()
            found = Dense(ctx.layout, ctx.rows, lambda: copy, times, records)
            if spare.is_as_laid_out:
                spare.dense = found
        else:
            found.run.renew(ctx.record)
        ctx.dense = found
    found.times, found.states = times, np.ascontiguousarray(records)
    return found
