"""From the start of a segment to its end: calls of the native loop, and answers to what it comes back with."""

from __future__ import annotations

import sys
import time

import numpy as np

from dalembert.native import library
from dalembert.outcome import Outcome
from dalembert.simulation.run.context import Context, take_records
from dalembert.simulation.run.located import event_values, land_end
from dalembert.simulation.run.outcomes import end_inside, respond
from dalembert.simulation.status import Status

LOOK = 0.1  # s between looks at the keyboard and the clock
STEPS = 500  # between looks whether they are stiff: a number, so that runs are the same whatever the clock says


def begin(ctx: Context) -> None:
    """The first record: the start, with the inputs that act there, and the values of events."""
    run, n = ctx.record, ctx.system.nq + ctx.system.nv
    if ctx.layout.controller is not None and run.clock.hold == 0.0:
        u = run.control.at(run.clock.t, run.x[:n])[: run.nu]
        if np.isfinite(u).all():
            ctx.inputs[:], run.counts.records = u, 0
    if not run.counts.records:
        library.call("begin", run)
    if ctx.setup.events:
        run.event_values[:] = event_values(ctx, run.clock.t)


def integrate(ctx: Context) -> Status:
    """To the end of the segment, or as far as it goes."""
    status, clock, events = Status.DONE, ctx.record.clock, ctx.setup.events
    if events and any(events[name].terminal and hits for name, hits in ctx.found.items()):
        status = Status.EVENT
    with ctx.interrupt:
        while clock.t < clock.end and status == Status.DONE:
            status = _advance(ctx)
    take_records(ctx)
    if ctx.shown:
        sys.stderr.write("\r" + " " * 60 + "\r")
    return status


def past_singularity(ctx: Context) -> Status:
    """From next to a singular position to where usual steps lead on, or to the end."""
    clock, regime = ctx.record.clock, ctx.record.regime
    with ctx.interrupt:
        status = respond(ctx, Outcome.SINGULAR)
        while clock.t < clock.end and status == Status.DONE:
            if not (regime.careful or regime.until or ctx.goal is not None):
                break
            status = _advance(ctx)
    take_records(ctx)
    return status


def _advance(ctx: Context) -> Status:
    """Call the native loop once, and respond to its outcome."""
    run, most, interrupt = ctx.record, ctx.setup.max_steps, ctx.interrupt
    clock, counts = run.clock, run.counts
    run.room = min(len(run.times), most - counts.steps + counts.records)
    if ctx.segment.stiff is not None:
        run.room = min(run.room, ctx.looked[0] + STEPS - counts.steps + counts.records)
    if ctx.goal is not None:
        run.step.budget = 1  # beyond the end, to the first record
    began = time.perf_counter()
    library.call("advance", run)
    outcome = run.attempt.outcome
    _look(ctx, began)
    if clock.t < clock.end:
        interrupt.watch()
    if outcome == Outcome.PAUSED and counts.records < run.room and not interrupt.asked and ctx.goal is None:
        return Status.DONE
    full = outcome == Outcome.SINGULAR and counts.steps >= most  # no step is left to cross it
    status = respond(ctx, Outcome.PAUSED if full else outcome)
    if status == Status.DONE and ctx.goal is not None and clock.t >= ctx.goal:
        end_inside(ctx)
    if status == Status.DONE and clock.t >= clock.end:
        land_end(ctx)
    if ctx.history.recorder is not None:
        ctx.history.flush(ctx)
    if clock.t < clock.end:
        if interrupt.asked:
            return Status.INTERRUPTED
        if status == Status.DONE and counts.steps >= most:
            return Status.STEPS
        if status == Status.DONE and ctx.budget.is_hopeless(run, most):
            ctx.why = ctx.budget.why
            return Status.TOO_MANY_STEPS
        if status == Status.DONE and ctx.segment.stiff is not None and counts.steps >= ctx.looked[0] + STEPS:
            h, ctx.looked = (clock.t - ctx.looked[1]) / STEPS, (counts.steps, clock.t)
            if not run.regime.careful and ctx.segment.stiff(ctx, h):
                ctx.stiff = h
                return Status.EVENT
    return status


def _look(ctx: Context, began: float) -> None:
    """Adapt the number of attempts between looks; a line on a terminal for runs of more than two seconds."""
    run, now = ctx.record, time.perf_counter()
    seconds = now - began
    if seconds > 2 * LOOK:
        run.step.budget = max(1, int(run.step.budget * LOOK / seconds))
    elif seconds < 0.2 * LOOK and run.attempt.outcome == Outcome.PAUSED and run.counts.records < run.room:
        run.step.budget *= 2
    if now - ctx.started > 2.0 and sys.stderr.isatty():
        start = ctx.span.start.t
        done = (run.clock.t - start) / max(run.clock.end - start, 1e-300)
        sys.stderr.write(f"\rsimulating '{ctx.system.name}': t = {run.clock.t:.4g} s, {100 * done:.0f} %")
        ctx.shown = True
