"""Events inside the last step: when, in which state, and whether they end the segment."""

from __future__ import annotations

import numpy as np

from dalembert.simulation.events import ending, locate, up_to
from dalembert.simulation.run.context import Context, dense
from dalembert.simulation.setup import TOTAL_RATES
from dalembert.simulation.singular.rank_revealing import land_record
from dalembert.simulation.status import Status
from dalembert.simulation.total_rates import velocities


def event_values(ctx: Context, t: float) -> np.ndarray:
    """(events,) values of all events at a time, in the state and with the inputs of now; until the next call."""
    run, rest = ctx.record, ctx.segment.rest
    if run.events.u_index:
        run.watch.x[run.events.u_index : run.events.u_index + run.nu] = ctx.inputs
    values = run.watch.at(t, run.x[: ctx.system.nq + ctx.system.nv])[: run.events.count]
    if rest is not None:
        values[: run.events.own] = rest.values(t, ctx.inputs)
    return values


def locate_events(ctx: Context) -> Status:
    """Locate events of the last step; the first terminal one ends the segment there."""
    run, n, before, events = ctx.record, ctx.system.nq + ctx.system.nv, ctx.history.previous, ctx.setup.events
    step = dense(ctx, np.array([before[0], run.clock.t]), np.stack([before[1], ctx.history.last[1]]))
    hits, failed = locate(list(events.values()), run.event_values, step)
    run.event_values[0] = run.event_values[1]
    if ctx.goal is not None:
        hits = [hit for hit in hits if hit[0] <= ctx.goal]
    end, names = ending(hits, list(events.values()), run.events.own), list(events)
    for when, row, k in hits if end is None or len(hits) == 1 else up_to(hits, end, run.events.own):
        q, v = row[: run.nq], velocities(ctx.setup, row[None, : run.nq], row[None, run.nq : n])[0]
        ctx.found[names[k]].append((when, np.concatenate([q, v])))
    if end is not None:
        when, row, ctx.ended_by = end
        if ctx.system.rows.of:
            _land(ctx, when, row)
            _remember(ctx, before[1], row)
        cut(ctx, when, row)
        return Status.EVENT
    return Status.CALLBACK if failed else Status.DONE


def locate_across(ctx: Context) -> Status:
    """Locate events on the way across a singular position; in it, forces that are 0/0 stay as they are."""
    if not ctx.setup.events:
        return Status.DONE
    run = ctx.record
    before, now = run.event_values[0, : run.events.own], event_values(ctx, run.clock.t).copy()
    before[~np.isfinite(before)] = 1.0
    own = now[: run.events.own]
    own[:] = np.where(np.isfinite(own), own, before)
    run.event_values[1] = now
    return locate_events(ctx)


def cut(ctx: Context, t: float, row: np.ndarray) -> None:
    """Be where the record at t, inside the last step, is."""
    run = ctx.record
    run.x[:], run.clock.t, run.step.fresh = row[: run.n], t, 0
    if run.nu:
        ctx.inputs[:] = row[run.n : run.n + run.nu]
    ctx.history.cut(t, row)


def _land(ctx: Context, t: float, row: np.ndarray) -> None:
    """Bring a record beside a singular position onto the manifold, as well as doubles tell: impulses need it."""
    if ctx.chart is None and ctx.margin(t, row) < ctx.record.ruler.landed**2:
        land_record(ctx.layout, ctx.rows, t, row)


def land_end(ctx: Context) -> None:
    """Bring the last record onto the manifold where rounding of ordinary steps turns its velocity."""
    run, setup = ctx.record, ctx.setup
    if run.regime.careful or setup.projection is None or setup.formulation in TOTAL_RATES:
        return
    if ctx.system.rows.of and ctx.margin() < run.ruler.turned**2:
        row = ctx.history.last[1].copy()
        land_record(ctx.layout, ctx.rows, run.clock.t, row)
        cut(ctx, run.clock.t, row)


def _remember(ctx: Context, before: np.ndarray, row: np.ndarray) -> None:
    """Remember the velocity of a record at which a segment ends, or, where it is slow, of one before."""
    at = slice(ctx.system.nq, ctx.system.nq + ctx.system.nv)
    slow = np.linalg.norm(row[at]) <= ctx.record.ruler.slow * np.linalg.norm(before[at])
    found = last_known_velocity(ctx) if slow else row[at].copy()
    ctx.arrival = ctx.arrival if found is None else found


def last_known_velocity(ctx: Context) -> np.ndarray | None:
    """(nv,) the velocity of the last record before now that tells the branch; None where there is none lately."""
    nq, n = ctx.system.nq, ctx.system.nq + ctx.system.nv
    records = [row for part in ctx.history.recent for row in part]
    for row in reversed(records[:-1]):
        if ctx.margin(x=row) > ctx.record.ruler.known**2:
            v: np.ndarray = velocities(ctx.setup, row[None, :nq], row[None, nq:n])[0]
            return v.copy()
    return None
