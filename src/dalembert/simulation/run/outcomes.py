"""Outcomes of the native loop, and what each asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dalembert.errors import CompileError
from dalembert.integrators.run_record import PASSAGE
from dalembert.outcome import Outcome
from dalembert.simulation.run.charts import next_chart, without_chart
from dalembert.simulation.run.context import Context, dense, take_records
from dalembert.simulation.run.located import cut, locate_events
from dalembert.simulation.run.singularities import at_singularity, go_beyond, leave, note
from dalembert.simulation.status import FAILURES, Status

HALVINGS = 40  # of the step by which a fresh chart is tried before the position counts as singular


def respond(ctx: Context, outcome: int) -> Status:
    """Respond to an outcome of the native loop; code that is needed for it, as at a singularity, may not compile."""
    run, clock, regime = ctx.record, ctx.record.clock, ctx.record.regime
    try:
        take_records(ctx)
        for k in range(regime.noted):
            t, sigma, margin, resolved, steps, *span = run.passages[k, :PASSAGE].tolist()
            note(ctx, t, sigma, run.passages[k, PASSAGE:], (*span,), margin, bool(resolved), int(steps))
        regime.noted = 0
        if ctx.goal is not None and outcome != Outcome.EVENT:
            if clock.t >= ctx.goal:
                return Status.DONE
            if outcome in FAILURES:  # as where a controller ends with the run
                clock.end, regime.beyond, ctx.goal = ctx.goal, 0, None
                for callback in ctx.layout.callbacks:
                    callback.error = None
                return Status.DONE
        handler = HANDLERS.get(outcome)
        return FAILURES.get(outcome, Status.DONE) if handler is None else handler(ctx)
    except CompileError as error:
        ctx.trouble = error
        return Status.NOT_COMPILED


def _chart_ends(ctx: Context) -> Status:
    """Another chart of the same kind; where a fresh one ends too, shorter steps, then singular ones."""
    run = ctx.record
    if not np.isfinite(run.x).all():
        return Status.NOT_FINITE
    if not ctx.allows_chart:
        without_chart(ctx)
        return Status.DONE
    if ctx.charts[-1][0] == run.clock.t:  # a fresh chart cannot take this step either
        ctx.halvings += 1
        h = run.step.h
        if run.step.exponent == 0.0 or h == 0.0 or h < run.ruler.renewed * run.step.usual_h or ctx.halvings > HALVINGS:
            ctx.halvings = 0
            return at_singularity(ctx)
        run.step.h *= 0.5
        ctx.charts.pop()
    next_chart(ctx)
    return Status.DONE


def _unsolved(ctx: Context) -> Status:
    """A step whose equations were not solved, perhaps for a singular position beside it."""
    run = ctx.record
    if run.regime.careful or ctx.allows_chart:
        return FAILURES[Outcome.STEP_UNSOLVED]
    status = at_singularity(ctx)
    run.regime.until = max(run.regime.until, ctx.far)
    return status


HANDLERS: dict[int, Callable[[Context], Status]] = {
    Outcome.OK: leave,
    Outcome.EVENT: locate_events,
    Outcome.SINGULAR: at_singularity,
    Outcome.ENDS_BESIDE: go_beyond,
    Outcome.CHART_ENDS: _chart_ends,
    Outcome.STEP_UNSOLVED: _unsolved,
}


def end_inside(ctx: Context) -> None:
    """End the run inside its last step: velocities beside a singular position are known by those on both sides."""
    clock, end, history = ctx.record.clock, ctx.goal, ctx.history
    assert end is not None
    clock.end, ctx.goal = end, None
    if clock.t == end:
        return
    (t, first), (_, last) = history.previous, history.last
    (row,) = dense(ctx, np.array([t, clock.t]), np.stack([first, last])).rows(np.array([end]))
    cut(ctx, end, row)
    met = ctx.margin() <= ctx.record.ruler.hit**2
    ctx.met = [replace(m, t=min(m.t, end), end=min(m.end, end)) for m in ctx.met if m.t <= end or met]
