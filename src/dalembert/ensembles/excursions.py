"""Excursions: runs that leave their lanes next to a singular position, are carried past it alone, and come back.

The excursion is that of `simulate`: a `Driver` set up for the run is put where the lane left off, with its clock, takes
careful steps or crosses the position, and hands state and clock back once usual steps lead on. Neither side knows of
other runs, so the result does not depend on a run's company.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.ensembles.lanes import Batch, Lanes
from dalembert.ensembles.plan import Plan, laid_out
from dalembert.errors import DalembertError
from dalembert.integrators.lane_record import CLOCK, DRIFT, MARGIN, SPEED_DRIFT, LaneRecord
from dalembert.native import library
from dalembert.outcome import Outcome
from dalembert.simulation.driver import Driver
from dalembert.simulation.passages import Met
from dalembert.simulation.pool import give_back
from dalembert.simulation.status import Status

COUNTS = ("steps", "rejected", "evaluations", "corrections")
LEFT = -2  # outcome of a run that is to be made alone from its start
_LOG, _NEXT = CLOCK.index("last_error"), CLOCK.index("next_sample")


class Excursions:
    """Those of the runs of a batch."""

    def __init__(self, plan: Plan, batch: Batch, lanes: Lanes) -> None:
        self.plan, self.batch, self.lanes = plan, batch, lanes

    def __call__(self, record: LaneRecord, k: int, met: dict[int, list[Met]]) -> bool:
        """Carry run k on. Returns whether it goes back to a lane; else it has ended, or is to be made alone."""
        try:
            layout, span = laid_out(self.plan, self.batch, k)
            taken = int(record.clock[k, _NEXT])
            driver = Driver(layout, span._replace(samples=self.plan.wanted[taken:]))
        except DalembertError:  # of its start or parameters, which the run made alone tells of
            record.outcomes[k] = LEFT
            return False
        self._put(driver, record, k)
        status = driver.detour()
        run, on = driver.record, status == Status.DONE and driver.record.t < driver.record.end
        if on and driver.rows != self.lanes.rows:  # other constraint rows carry the rest
            status, on = driver.go(), False
        elif on:
            run.end = run.t
            library.call("advance", run)  # brings the state onto the manifold, and goes no further
            on, run.end = run.outcome == Outcome.OK, span.end
            status = status if on else Status.DRIFTED
        room = self._take(driver, record, k)
        met.setdefault(k, []).extend(driver.met)
        give_back(layout, driver.spare)
        if not room or status not in (Status.DONE, Status.EVENT):
            record.outcomes[k] = LEFT
            return False
        record.outcomes[k] = Outcome.EVENT if status == Status.EVENT else Outcome.OK
        return on

    def _put(self, driver: Driver, record: LaneRecord, k: int) -> None:
        """Put the driver where the lane left off."""
        run = driver.record
        run.t, run.x[:], run.fresh, run.records = record.reached[k], record.ends[k], 0, 0
        for name, value in zip(CLOCK[:_NEXT], record.clock[k]):
            setattr(run, name, int(value) if name == "samples" else math.exp(value) if name == "last_error" else value)
        for name, count in zip(COUNTS, record.counts[k]):
            setattr(run, name, int(count))
        run.worst_margin, run.drift, run.speed_drift = record.evidence[k, [MARGIN, DRIFT, SPEED_DRIFT]]
        driver.inputs[:] = record.inputs[k]
        driver.begin()

    def _take(self, driver: Driver, record: LaneRecord, k: int) -> bool:
        """Take state, clock, samples and events from the driver. Returns whether there was room for all events."""
        run, names, taken = driver.record, list(driver.setup.events), int(record.clock[k, _NEXT])
        record.reached[k], record.ends[k], record.inputs[k] = run.t, run.x, driver.inputs
        record.counts[k] = [getattr(run, name) for name in COUNTS]
        record.evidence[k, [MARGIN, DRIFT, SPEED_DRIFT]] = run.worst_margin, run.drift, run.speed_drift
        times, columns = driver.history.whole()
        record.samples[k, taken : taken + len(times)] = columns[:, : run.n]
        record.clock[k, :_NEXT] = [getattr(run, name) for name in CLOCK[:_NEXT]]
        record.clock[k, _LOG], record.clock[k, _NEXT] = math.log(run.last_error), taken + len(times)
        hits = [(when, names.index(name)) for name, found in driver.found.items() for when, _ in found]
        before = int(record.hits_of[k])
        if before + len(hits) > record.room:
            return not hits
        record.hits[k, before : before + len(hits)] = np.array(hits).reshape(-1, 2)
        record.hits_of[k] = before + len(hits)
        return True
