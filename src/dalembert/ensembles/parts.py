"""A part of an ensemble made by one thread, here or in another process: in lanes where that is possible, else alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.ensembles.excursions import LEFT, Excursions
from dalembert.ensembles.judging import Ends
from dalembert.ensembles.lanes import Batch, Lanes, Made
from dalembert.ensembles.plan import EnsemblePlan, run_alone
from dalembert.ensembles.sensitivities import Slopes, differentiated
from dalembert.errors import DalembertError
from dalembert.outcome import Outcome
from dalembert.simulation.callbacks import ARGUMENTS, scalar_of
from dalembert.simulation.results.run import positions_met
from dalembert.simulation.singular.passages import Met, is_determined
from dalembert.simulation.status import Status
from dalembert.system.system import System

COUNTS = ("steps", "rejected", "evaluations", "corrections")
EVIDENCE = ("margin", "drift", "speed_drift", "motion_energy", "energy_error")
DOUBT = 0.03  # of the error of an energy that is allowed: fixed steps with more are made again, alone


@dataclass(eq=False)
class EnsemblePart:
    """Results of some runs, one row a run."""

    status: np.ndarray  # (N,) whole numbers of `Status`
    x: np.ndarray  # (N, nq + nv + works) at the end
    t: np.ndarray  # (N,) reached, s
    counts: np.ndarray  # (N, 4) as in COUNTS
    evidence: np.ndarray  # (N, 5) as in EVIDENCE
    passages: np.ndarray  # (N,) singular positions met or passed
    determined: np.ndarray  # (N,) whether the motion through them was
    alone: np.ndarray  # (N,) whether a run was made alone
    states: np.ndarray | None  # (N, times, nq + nv)
    outputs: dict[str, np.ndarray]  # (N, times)
    messages: dict[int, str] = field(default_factory=dict)  # of runs that did not end well
    events: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)  # times, s, of runs that had some
    met: dict[int, tuple[Met, ...]] = field(default_factory=dict)  # passages that were not looked at for `determined`
    slopes: Slopes = field(default_factory=dict)  # derivatives, if any are wanted
    no_slopes: dict[int, str] = field(default_factory=dict)  # why runs have no derivatives

    @property
    def success(self) -> np.ndarray:
        """(N,) whether a run reached its end, or a terminal event, with closed loops and a right energy balance."""
        good = np.isin(self.status, (Status.DONE, Status.EVENT))
        good[list(self.messages)] = False
        return good

    def forget(self, rows: np.ndarray) -> None:
        """Leave these runs to be made again: an interrupt came before they were differentiated."""
        self.status[rows] = Status.INTERRUPTED
        for values in (self.x, *([] if self.states is None else [self.states]), *self.outputs.values()):
            values[rows] = np.nan
        kept: tuple[dict[int, Any], ...] = (self.messages, self.met, *self.events.values())
        for hits in kept:
            for k in map(int, rows):
                hits.pop(k, None)

    def look_at_passages(self, system: System, p: np.ndarray) -> None:
        """Find out whether motions through singular positions were determined. p: (N, np), of the runs."""
        for k, met in self.met.items():
            self.determined[k] = all(is_determined(system, p[k], one) for one in met)
        self.met.clear()


def make_part(
    plan: EnsemblePlan, batch: Batch, go_on: Callable[[], bool] = lambda: True, lanes: Lanes | None = None
) -> EnsemblePart:
    """Make the runs of a batch, and judge them."""
    part, lengths, crossed = make_runs(plan, batch, go_on, lanes)
    beside = np.flatnonzero(~part.alone & (part.status != Status.INTERRUPTED))  # those made alone have been judged
    if len(beside):
        ends = Ends(plan.setup, batch.part(beside), part.x[beside], part.t[beside])
        part.evidence[beside, EVIDENCE.index("energy_error")] = ends.energy_error
        motion = part.evidence[beside, EVIDENCE.index("motion_energy")]
        given = part.status[beside], lengths[beside], crossed[beside]
        wrong = ends.judge(motion, *given)
        if plan.setup.method.fixed:  # errors may be large: runs that may be wrong are looked at on their whole way
            for k in ends.judge(np.zeros(len(beside)), *given, DOUBT).keys() - wrong.keys():
                run = run_alone(plan, batch, int(beside[k]), None)
                wrong |= {} if run.success else {k: run.message}
        part.messages |= {int(beside[k]): text for k, text in wrong.items()}
    ended = np.flatnonzero(np.isin(part.status, (Status.DONE, Status.EVENT)))
    part.slopes, part.no_slopes, left = differentiated(plan, batch, ended, go_on)
    part.forget(left)
    return part


def make_runs(
    plan: EnsemblePlan, batch: Batch, go_on: Callable[[], bool], lanes: Lanes | None
) -> tuple[EnsemblePart, np.ndarray, np.ndarray]:
    """Results of the runs of a batch.

    Of runs that were not made alone also (N,) lengths of the mechanism in m, and (N,) whether singular positions were
    met, not only passed at a distance.
    """
    setup, system, count = plan.setup, plan.setup.system, len(batch)
    n, times = system.nq + system.nv + len(system.work_names), len(plan.wanted)
    made = _nothing(count, times, n) if lanes is None else lanes.run(batch, go_on, Excursions(plan, batch, lanes))
    good, ended = made.outcomes == Outcome.OK, made.outcomes == Outcome.EVENT
    full = ~(good | ended) & (made.counts[:, 0] >= setup.max_steps)
    done = good | ended | full
    status = np.full(count, int(Status.INTERRUPTED))
    status[good], status[ended], status[full] = Status.DONE, Status.EVENT, Status.STEPS
    left, samples, crossed = np.flatnonzero(~done), made.samples, np.zeros(count, dtype=bool)
    made.x[left], made.t[left], samples[left] = np.nan, batch.t[left, 0], np.nan
    made.counts[left], made.evidence[left] = 0, 0.0
    part = EnsemblePart(
        status=status, x=made.x, t=made.t, counts=made.counts,
        evidence=np.column_stack([made.evidence, np.zeros(count)]), passages=np.zeros(count, dtype=np.int64),
        determined=np.ones(count, dtype=bool), alone=np.zeros(count, dtype=bool), states=None, outputs={},
        events={name: {} for name in setup.events},
    )  # fmt: skip
    for name, hits in made.events.items():
        part.events[name] |= {k: t for k, t in hits.items() if done[k]}
    for k, met in made.met.items():
        if done[k]:
            part.passages[k], part.met[k] = len(met), tuple(met)
            crossed[k] = any(one.sigma <= one.hit for one in met)
    lengths, rest = made.lengths, left[~np.isin(made.outcomes[left], (-1, Outcome.PAUSED))]
    for row in rest:
        if not go_on():
            break
        _alone(plan, batch, int(row), part, samples)
    if plan.keep == "states":
        part.states = samples[:, :, : system.nq + system.nv].copy()
    part.outputs = {name: _evaluated(plan, name, samples, batch) for name in plan.outputs}
    return part, lengths, crossed


def _nothing(count: int, times: int, n: int) -> Made:
    """What lanes have made of runs that all have to be made alone."""
    return Made(
        np.full(count, LEFT), np.zeros((count, n)), np.zeros(count), np.zeros((count, times, n)),
        np.zeros((count, 4), dtype=np.int64), np.zeros((count, 4)), np.ones(count), {}, {},
    )  # fmt: skip


def _alone(plan: EnsemblePlan, batch: Batch, k: int, part: EnsemblePart, samples: np.ndarray) -> None:
    """Make run k by itself."""
    part.alone[k] = True
    wanted, end, system = plan.samples, batch.t[k, 1], plan.setup.system
    try:
        asked = np.append(wanted, end) if wanted is not None and wanted[-1] < end else wanted
        run = run_alone(plan, batch, k, asked)
    except DalembertError as error:
        part.status[k], part.messages[k] = Status.NOT_BEGUN, str(error)
        return
    part.status[k] = run.status
    if not run.success or run.status not in (Status.DONE, Status.EVENT):
        part.messages[k] = run.message
    rows = np.hstack([run.q, run.v, *(run.work[name][:, None] for name in system.work_names)])
    if len(rows):
        part.x[k], part.t[k] = rows[-1], run.t[-1]
        if wanted is not None:
            there = np.searchsorted(run.t, wanted, side="right") - 1  # at a change of structure: after it
            known = (there >= 0) & (run.t[there] == wanted)
            samples[k, known] = rows[there[known]]
        part.evidence[k, EVIDENCE.index("energy_error")] = run.energy_error[-1]
    part.counts[k] = [getattr(run, name) for name in COUNTS]
    part.evidence[k, :4] = run.margin.min(initial=1.0), run.drift, run.speed_drift, np.nan
    part.passages[k] = len(positions_met(run))
    if positions_met(run):
        part.met[k] = positions_met(run)
    for name, hits in run.t_events.items():
        if len(hits) and name in part.events:
            part.events[name][k] = hits


def _evaluated(plan: EnsemblePlan, name: str, samples: np.ndarray, batch: Batch) -> np.ndarray:
    """(N, times) values of an output f(t, state), in machine code."""
    system, f, t = plan.setup.system, plan.outputs[name], plan.wanted
    kernel = system.kernels.custom(
        ("output", f), ARGUMENTS, lambda s: np.array([scalar_of(s, f, f"output '{name}'")]), lanes=plan.lanes
    )
    count, times, nq, n = len(samples), len(t), system.nq, system.nq + system.nv
    if not count * times:
        return np.zeros((count, times))
    flat = samples.reshape(count * times, -1)
    known = {
        "q": flat[:, :nq], "v": flat[:, nq:n], "p": np.repeat(batch.p, times, axis=0),
        "t": np.tile(t, count)[:, None],
    }  # fmt: skip
    return np.asarray(kernel.batch(*(known[a] for a in kernel.names_in))).reshape(count, times)
