"""A part of an ensemble made by one thread, here or in another process: in lanes where that is possible, else alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.compiler.target import host
from dalembert.ensembles.judging import Ends
from dalembert.ensembles.lanes import Batch, Lanes, fits
from dalembert.errors import ArgumentError, DalembertError
from dalembert.outcome import Outcome
from dalembert.simulation.callbacks import ARGUMENTS, scalar_of
from dalembert.simulation.layout import Layout
from dalembert.simulation.run import Run
from dalembert.simulation.setup import Setup, Span, steers
from dalembert.simulation.simulate import carried_out, simulate
from dalembert.simulation.status import Status

LEAST = 8  # lanes
#: options of `simulate` that a setup keeps under their names
PASSED_ON = ("rtol", "atol", "max_step", "stabilization", "formulation", "on_singularity", "max_steps", "events")
COUNTS = ("steps", "rejected", "evaluations", "corrections")
EVIDENCE = ("margin", "drift", "speed_drift", "motion_energy", "energy_error")


@dataclass(frozen=True, eq=False)
class Plan:
    """The settings that all runs of an ensemble share; picklable, so that other processes can use them."""

    setup: Setup  # of one run; parameters are replaced
    samples: np.ndarray | None  # (T,) times of t_eval
    outputs: Mapping[str, Callable[[Any, Any], Any]]  # f(t, state), at the times of t_eval
    keep: str  # at the times of t_eval: "states", "outputs", or a "summary" of outputs
    lanes: int  # 1: each run alone
    controllers: Callable[[int, Mapping[str, Any]], Any] | None = None  # f(k, values): the controller of run k
    changes: Mapping[str, Any] = field(default_factory=dict)  # switches and stops, as `simulate` takes them

    @property
    def wanted(self) -> np.ndarray:
        """Times of t_eval."""
        return np.zeros(0) if self.samples is None else self.samples

    @cached_property
    def layout(self) -> Layout:
        """The common settings of plain runs with the parameters of the setup."""
        return Layout(self.setup)

    def __reduce__(self) -> tuple[Any, ...]:
        known = self.setup, self.samples, self.outputs, self.keep, self.lanes, self.controllers, self.changes
        return Plan, known

    @property
    def hybrid(self) -> bool:
        """Whether the structure of the mechanism changes in its runs."""
        return bool(self.changes) or self.setup.system.layout.is_hybrid


@dataclass(eq=False)
class Part:
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

    @property
    def success(self) -> np.ndarray:
        """(N,) whether a run reached its end, or a terminal event, with closed loops and a right energy balance."""
        good = np.isin(self.status, (Status.DONE, Status.EVENT))
        good[list(self.messages)] = False
        return good


def make_part(plan: Plan, batch: Batch, go_on: Callable[[], bool] = lambda: True, lanes: Lanes | None = None) -> Part:
    """Make the runs of a batch, and judge them."""
    part, lengths = make_runs(plan, batch, go_on, lanes)
    beside = np.flatnonzero(~part.alone)  # others have been judged
    if len(beside):
        ends = Ends(plan.setup, batch.part(beside), part.x[beside], part.t[beside])
        part.evidence[beside, EVIDENCE.index("energy_error")] = ends.energy_error
        motion = part.evidence[beside, EVIDENCE.index("motion_energy")]
        wrong = ends.judge(part.status[beside], motion, lengths[beside])
        part.messages |= {int(beside[k]): text for k, text in wrong.items()}
    return part


def make_runs(plan: Plan, batch: Batch, go_on: Callable[[], bool], lanes: Lanes | None) -> tuple[Part, np.ndarray]:
    """Results of the runs of a batch, and (N,) lengths of the mechanism in m, of runs that were not made alone."""
    setup, system, count = plan.setup, plan.setup.system, len(batch)
    n, times = system.nq + system.nv + len(system.work_names), len(plan.wanted)
    part = Part(
        status=np.full(count, int(Status.INTERRUPTED)), x=np.full((count, n), np.nan), t=batch.t[:, 0].copy(),
        counts=np.zeros((count, 4), dtype=np.int64), evidence=np.zeros((count, 5)),
        passages=np.zeros(count, dtype=np.int64), determined=np.ones(count, dtype=bool),
        alone=np.ones(count, dtype=bool), states=None, outputs={}, events={name: {} for name in setup.events},
    )  # fmt: skip
    samples = np.full((count, times, n), np.nan)
    rest, lengths = np.arange(count), np.ones(count)
    if lanes is not None:
        made = lanes.run(batch, go_on)
        lengths = made.lengths
        good, full = made.outcomes == Outcome.OK, made.counts[:, 0] >= setup.max_steps
        ended = made.outcomes == Outcome.EVENT
        done = good | full | ended
        part.status[good], part.status[full & ~good], part.status[ended] = Status.DONE, Status.STEPS, Status.EVENT
        for name, hits in made.events.items():
            part.events[name] |= {k: t for k, t in hits.items() if done[k]}
        part.x[done], part.t[done], samples[done] = made.x[done], made.t[done], made.samples[done]
        part.counts[done], part.evidence[done, :4], part.alone[done] = made.counts[done], made.evidence[done], False
        rest = np.flatnonzero(~done & ~np.isin(made.outcomes, (-1, Outcome.PAUSED)))
    for k in rest:
        if not go_on():
            break
        _alone(plan, batch, int(k), part, samples)
    if plan.keep == "states":
        part.states = samples[:, :, : system.nq + system.nv].copy()
    part.outputs = {name: _evaluated(plan, name, samples, batch) for name in plan.outputs}
    return part, lengths


def laid_out(plan: Plan, batch: Batch, k: int) -> tuple[Layout, Span]:
    """The layout of run k of a batch, of its own where it has functions or parameters of its own, and its span."""
    setup = plan.setup
    if plan.controllers is not None:
        setup = replace(setup, controller=controller_of(plan.controllers, int(batch.k[k]), batch.values, k))
    plain = setup.controller is None and not setup.events and setup.coordinates is None
    shared = plain and np.array_equal(batch.p[k], setup.p)
    layout = plan.layout if shared else Layout(replace(setup, p=batch.p[k]))
    start = setup.system.state(batch.q[k], batch.v[k], float(batch.t[k, 0]))
    return layout, Span(start, float(batch.t[k, 1]), plan.samples, batch.u[k])


def run_alone(plan: Plan, batch: Batch, k: int, samples: np.ndarray | None) -> Run:
    """Run k of a batch by itself, with states at the times of `samples`, or at every step."""
    if not plan.hybrid:
        layout, span = laid_out(plan, batch, k)
        return carried_out(layout, span._replace(samples=samples))
    setup = plan.setup
    law = setup.controller
    if plan.controllers is not None:
        law = controller_of(plan.controllers, int(batch.k[k]), batch.values, k)
    options = {name: getattr(setup, name) for name in PASSED_ON}
    return simulate(
        setup.system, setup.system.state(batch.q[k], batch.v[k], float(batch.t[k, 0])), tuple(batch.t[k]),
        u=batch.u[k] if law is None else law, p=batch.p[k], hold=setup.hold or None, step=setup.step or None,
        method=setup.method_name, options=setup.options or None, t_eval=samples, **options, **plan.changes,
    )  # fmt: skip


def controller_of(make: Callable[[int, Mapping[str, Any]], Any], run: int, varied: Mapping[str, Any], k: int) -> Any:
    """The controller that a user's function makes for a run, from row k of what differs from run to run."""
    try:
        made = make(run, {name: x[k] if x.ndim > 1 else float(x[k]) for name, x in varied.items()})
    except Exception as error:
        raise ArgumentError(f"controllers({run}, …) raised {type(error).__name__}: {error}") from error
    if not steers(made):
        raise ArgumentError(f"controllers({run}, …) gives {checks.shown(made)}; needed: a controller u(t, state).")
    return made


def _alone(plan: Plan, batch: Batch, k: int, part: Part, samples: np.ndarray) -> None:
    """Make run k by itself."""
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
    part.passages[k], part.determined[k] = len(run.passages), all(p.determined for p in run.passages)
    for name, hits in run.t_events.items():
        if len(hits) and name in part.events:
            part.events[name][k] = hits


def _evaluated(plan: Plan, name: str, samples: np.ndarray, batch: Batch) -> np.ndarray:
    """(N, times) values of an output f(t, state), in machine code."""
    system, f, t = plan.setup.system, plan.outputs[name], plan.wanted
    kernel = system.custom_kernel(
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


def usual_lanes(setup: Setup) -> int:
    """Lanes for runs like this on this processor: two vectors' worth, 8 or 16, or 1 where each run is made alone."""
    beside = fits(setup) and setup.system.backend == "native" and not setup.system.layout.is_hybrid
    return max(LEAST, 2 * host().width) if beside else 1
