"""Rest: a mechanism that does not move, in a singular position or beside it, until its forces come to their bounds.

Multipliers of the rows that hold are 0/0 in the position. Forces along the branch by which the mechanism came are not:
the change of rows along it takes the place of the weak ones (see `factored_rows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.simulation.events import Hit, ending, up_to
from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.hybrid.state import Numbers
from dalembert.simulation.run.context import Context, take_records
from dalembert.simulation.run.located import event_values
from dalembert.simulation.run.segment import Cause
from dalembert.simulation.run.singularities import note
from dalembert.simulation.status import Status

NEAR = 1e-5  # σ in units of usual lengths: nearer, rounding spoils the multipliers of weak rows more than this does


@dataclass(frozen=True, eq=False)
class Rest:
    """A mechanism at rest, with the factored rows that hold it."""

    instant: Instant
    rows: list[int]
    drag: np.ndarray  # (nv,) L⁻¹ times the forces of joints that would slide, did not others stick
    factor: FactoredRows
    guards: Sequence[Cause]
    locked: bool = False  # whatever the load

    @staticmethod
    def of(instant: Instant, mode: HybridMode, guards: Sequence[Cause], numbers: Numbers) -> Rest | None:
        """At an instant at rest; None where something can move or is driven, or friction depends on reactions.

        numbers: of the mode, among them the signs of joints that slide.
        """
        frictions = instant.changeable.frictions
        slides = any(how == "slides" for _, how in mode.touching)
        if slides or any(f.law.load > 0.0 for f in frictions.values()):
            return None
        drag = np.zeros(instant.rows.shape[1])
        for name, friction in frictions.items():
            if name not in mode.sticking:
                sign = float(np.atleast_1d(numbers["sign", name])[0])
                drag += instant.rows[instant.friction_row(name)] * (sign * float(friction.force(0.0)))
        rows = instant.rows_of(mode)
        if not rows or instant.b[rows].any() or instant.gamma[rows].any():
            return None
        factor = FactoredRows.of(instant, rows, met=NEAR)
        if not len(factor.limits) or len(factor.sigma) < instant.rows.shape[1]:
            return None
        return Rest(instant, rows, drag, factor, guards)

    def values(self, t: float, u: np.ndarray) -> np.ndarray:
        """Of each guard that forces decide, how far they are from their bounds at a time; of others, 1."""
        at = self.instant
        if self.locked:
            return np.ones(len(self.guards))
        now = Instant(at.changeable, at.state.replace(t=t), u, at.p, at)
        force = dict(zip(self.rows, self.factor.step(now.free - self.drag, -now.gamma[self.rows])[1].tolist()))
        out = np.ones(len(self.guards))
        for k, (kind, name) in enumerate(self.guards):
            contact = at.changeable.contacts.get(name)
            if kind == "opens":
                out[k] = force[at.gap_row[name]]
            elif kind == "slips" and contact is not None:
                across = np.linalg.norm([force[row] for row in at.slip_rows(name)])
                out[k] = contact.static * force[at.gap_row[name]] - across
            elif kind == "slips":
                out[k] = at.changeable.frictions[name].law.breakaway - abs(force[at.friction_row(name)])
        return out


def stay(ctx: Context) -> Status:
    """A segment at rest, to its end or to the first event that ends it."""
    run, t, status = ctx.record, ctx.record.clock.t, Status.DONE
    run.x[ctx.system.nq : ctx.system.nq + ctx.system.nv] = 0.0
    take_records(ctx)
    with ctx.interrupt:
        while run.clock.t < run.clock.end and status == Status.DONE:
            status = Status.INTERRUPTED if ctx.interrupt.asked else _stay(ctx, run.ruler.stay * (run.clock.end - t))
    sigma = ctx.margin() ** 0.5
    if sigma <= run.ruler.hit:
        note(ctx, t, sigma, run.x, (t, run.clock.t), sigma**2, True, run.counts.careful_steps, True)
    return status


def _stay(ctx: Context, step: float) -> Status:
    """A step in which nothing moves, to the first event that ends the segment."""
    from scipy.optimize import brentq

    run, events, names = ctx.record, list(ctx.setup.events.values()), list(ctx.setup.events)
    if run.clock.hold > 0.0 and run.clock.t >= run.clock.sampled_until and _sample(ctx):
        return Status.EVENT
    before, end = run.event_values[0].copy(), min(run.clock.t + step, run.clock.end)
    end = run.clock.end if run.clock.end - end < 0.5 * step else end
    if run.clock.hold > 0.0:
        end = min(end, run.clock.sampled_until)
    now, hits, status = _values(ctx, end), list[Hit](), Status.DONE
    for k, event in enumerate(events):
        if event.wants(before[k], now[k]):
            when = end if now[k] == 0.0 else brentq(lambda t, k=k: _values(ctx, t)[k], run.clock.t, end, xtol=1e-15)
            hits.append((float(when), run.x[: ctx.system.nq + ctx.system.nv].copy(), k))
    hits.sort(key=lambda hit: hit[0])
    last = ending(hits, events, run.events.own)
    for when, row, k in hits if last is None else up_to(hits, last, run.events.own):
        ctx.found[names[k]].append((when, row))
    if last is not None:
        end, ctx.ended_by, status = last[0], last[2], Status.EVENT
        now = _values(ctx, end)
    run.event_values[0], run.clock.t = now, end
    run.counts.steps, run.counts.records = run.counts.steps + 1, 1
    run.times[0], run.states[0] = run.clock.t, np.concatenate([run.x, ctx.inputs, [0.0]])
    take_records(ctx)
    return status


def _sample(ctx: Context) -> bool:
    """Sample the controller. Returns whether its jump leads to an event that ends the segment."""
    run, before, x = ctx.record, ctx.record.event_values[0].copy(), ctx.record.x[: ctx.system.nq + ctx.system.nv]
    ctx.inputs[:] = run.control.at(run.clock.t, x)[: run.nu]
    run.counts.samples += 1
    run.clock.sampled_until = run.clock.hold_start + run.counts.samples * run.clock.hold
    run.event_values[0] = _values(ctx, run.clock.t)
    for k, (name, event) in enumerate(ctx.setup.events.items()):
        if event.terminal and event.wants(before[k], run.event_values[0, k]):
            ctx.found[name].append((run.clock.t, x.copy()))
            ctx.ended_by = k
            return True
    return False


def _values(ctx: Context, t: float) -> np.ndarray:
    """Values of all events at a time, while nothing moves."""
    run = ctx.record
    if run.control.address and run.clock.hold == 0.0:
        ctx.inputs[:] = run.control.at(t, run.x[: ctx.system.nq + ctx.system.nv])[: run.nu]
    return event_values(ctx, t).copy()
