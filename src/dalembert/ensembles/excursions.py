"""Excursions: runs that leave their lanes next to a singular position, are carried past it alone, and come back.

The excursion is that of `simulate`: a segment set up for the run is put where the lane left off, with its clock, takes
careful steps or crosses the position, and hands state and clock back once usual steps lead on. Neither side knows of
other runs, so the result does not depend on a run's company.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.ensembles.lanes import Batch, Lanes
from dalembert.ensembles.plan import EnsemblePlan, laid_out
from dalembert.errors import DalembertError
from dalembert.integrators.lane_record import CLOCK, DRIFT, MARGIN, SPEED_DRIFT, LaneRecord
from dalembert.native import library
from dalembert.outcome import Outcome
from dalembert.simulation.run.context import Context, lay_out
from dalembert.simulation.run.record_pool import give_back
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepping import begin, integrate, past_singularity
from dalembert.simulation.singular.passages import Met
from dalembert.simulation.status import Status

COUNTS = ("counts.steps", "counts.rejected", "counts.evaluations", "counts.corrections")
LEFT = -2  # outcome of a run that is to be made alone from its start
_LOG, _NEXT = CLOCK.index("step.last_error"), CLOCK.index("next_sample")


class Excursions:
    """Those of the runs of a batch."""

    def __init__(self, plan: EnsemblePlan, batch: Batch, lanes: Lanes) -> None:
        self.plan, self.batch, self.lanes = plan, batch, lanes

    def __call__(self, record: LaneRecord, k: int, met: dict[int, list[Met]]) -> bool:
        """Carry run k on. Returns whether it goes back to a lane; else it has ended, or is to be made alone."""
        if self.plan.setup.on_singularity == "stop":  # there it ends: alone it finds out where
            record.outcomes[k] = LEFT
            return False
        try:
            layout, span = laid_out(self.plan, self.batch, k)
            taken = int(record.clock[k, _NEXT])
            ctx = lay_out(Segment(layout, span._replace(samples=self.plan.wanted[taken:])))
        except DalembertError:  # of its start or parameters, which the run made alone tells of
            record.outcomes[k] = LEFT
            return False
        self._put(ctx, record, k)
        status = past_singularity(ctx)
        run, on = ctx.record, status == Status.DONE and ctx.record.clock.t < ctx.record.clock.end
        if on and ctx.rows != self.lanes.rows:  # other constraint rows carry the rest
            status, on = integrate(ctx), False
        elif on:
            run.clock.end = run.clock.t
            library.call("advance", run)  # brings the state onto the manifold, and goes no further
            on, run.clock.end = run.attempt.outcome == Outcome.OK, span.end
            status = status if on else Status.DRIFTED
        room = self._take(ctx, record, k)
        met.setdefault(k, []).extend(ctx.met)
        give_back(layout, ctx.spare)
        if not room or status not in (Status.DONE, Status.EVENT):
            record.outcomes[k] = LEFT
            return False
        record.outcomes[k] = Outcome.EVENT if status == Status.EVENT else Outcome.OK
        return on

    def _put(self, ctx: Context, record: LaneRecord, k: int) -> None:
        """Put the segment where the lane left off."""
        run = ctx.record
        run.clock.t, run.x[:], run.step.fresh, run.counts.records = record.reached[k], record.ends[k], 0, 0
        for path, value in zip(CLOCK[:_NEXT], record.clock[k]):
            whole, log = path == "counts.samples", path == "step.last_error"
            run.store(path, int(value) if whole else math.exp(value) if log else value)
        for path, count in zip(COUNTS, record.counts[k]):
            run.store(path, int(count))
        run.evidence.worst_margin, run.evidence.drift, run.evidence.speed_drift = record.evidence[
            k, [MARGIN, DRIFT, SPEED_DRIFT]
        ]
        ctx.inputs[:] = record.inputs[k]
        begin(ctx)

    def _take(self, ctx: Context, record: LaneRecord, k: int) -> bool:
        """Take state, clock, samples and events from the segment. Returns whether there was room for all events."""
        run, names, taken = ctx.record, list(ctx.setup.events), int(record.clock[k, _NEXT])
        record.reached[k], record.ends[k], record.inputs[k] = run.clock.t, run.x, ctx.inputs
        record.counts[k] = [run.fetch(path) for path in COUNTS]
        record.evidence[k, [MARGIN, DRIFT, SPEED_DRIFT]] = (
            run.evidence.worst_margin,
            run.evidence.drift,
            run.evidence.speed_drift,
        )
        times, columns = ctx.history.whole()
        record.samples[k, taken : taken + len(times)] = columns[:, : run.n]
        record.clock[k, :_NEXT] = [run.fetch(path) for path in CLOCK[:_NEXT]]
        record.clock[k, _LOG], record.clock[k, _NEXT] = math.log(run.step.last_error), taken + len(times)
        hits = [(when, names.index(name)) for name, found in ctx.found.items() for when, _ in found]
        before = int(record.hits_of[k])
        if before + len(hits) > record.room:
            return not hits
        record.hits[k, before : before + len(hits)] = np.array(hits).reshape(-1, 2)
        record.hits_of[k] = before + len(hits)
        return True
