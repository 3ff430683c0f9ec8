"""Singular positions on the way: other rows, careful steps, the crossing itself, and the passages that are noted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.mobility import independent_rows
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.ruler import Ruler
from dalembert.simulation.run.charts import next_chart, without_chart
from dalembert.simulation.run.context import Context, place, take_records
from dalembert.simulation.run.located import cut, last_known_velocity, locate_across
from dalembert.simulation.setup import Setup
from dalembert.simulation.singular.collocation import Collocation
from dalembert.simulation.singular.crossing import Crosser, branch_of
from dalembert.simulation.singular.passages import Met, describe, known_with_drift
from dalembert.simulation.singular.rank_revealing import give_back, lease
from dalembert.simulation.singular.resolution import resolution
from dalembert.simulation.status import Status
from dalembert.simulation.total_rates import integrated
from dalembert.system.state import State


def at_singularity(ctx: Context) -> Status:
    """Other rows where these no longer carry the rest; careful steps; where these end too, across the position."""
    run = ctx.record
    if run.regime.stop:
        return Status.SINGULAR
    if run.regime.careful:
        return _cross(ctx)
    if ctx.rows is not None:
        rows = independent_rows(ctx.system, ctx.state(), ctx.setup.p, len(ctx.rows))
        if rows is not None and rows != ctx.rows:
            place(ctx, ctx.state(), rows, ctx.chart, ctx.work.copy())
            run.manifold.project_first = 1
            return Status.DONE
    without_chart(ctx)
    _step_carefully(ctx)
    run.manifold.project_first = 1
    near = run.ruler.within * run.ruler.hit if ctx.arrival is None else run.ruler.known
    if ctx.margin() <= near**2:
        return _cross(ctx)
    _land_start(ctx)
    return Status.DONE


def _land_start(ctx: Context) -> None:
    """Begin on the manifold: rounding of a start beside a singular position turns its velocity by ε/σ².

    The record of the start is the state that the motion begins with, so that its energy is that of the motion.
    """
    run, setup, nq, n = ctx.record, ctx.setup, ctx.system.nq, ctx.system.nq + ctx.system.nv
    if not ctx.segment.first or run.counts.steps or setup.projection is None:
        return
    assert ctx.careful is not None
    landed = ctx.careful.land(ctx.state(), 0.0)
    if landed is None:
        return
    run.low_before[:] = run.low
    row = ctx.history.last[1].copy()
    row[:nq], row[nq:n] = landed.q, integrated(setup, landed)
    cut(ctx, run.clock.t, row)
    if setup.projection.energy:
        run.manifold.energy = ctx.system.energy(landed, p=setup.p)


def _step_carefully(ctx: Context) -> None:
    """Careful steps from now on."""
    run = ctx.record
    ctx.careful = lease(ctx.layout, ctx.rows)
    stepper = ctx.careful.stepper
    ctx.usual, ctx.dense = stepper.now(run, ctx.setup.method), None
    stepper.enter(run)
    run.low[:] = run.low_before[:] = 0.0
    follow(ctx, _resolution(ctx))


def _resolution(ctx: Context) -> float:
    """σ down to which a motion that misses the position ahead is followed; 0: to `hit`.

    Nearer than `hit` only where it turns aside there. Not one that begins beside the position, in doubles, nor one that
    has crossed another: it is not known so well.
    """
    run, system, p, usual = ctx.record, ctx.system, ctx.setup.p, ctx.layout.equations.usual_rank(ctx.rows)
    assert ctx.careful is not None
    driven = "drivers" in system.work_names or bool(system.description.prescribed)
    if not ctx.careful.exact or system.nv - usual + driven < 2:  # no apex
        return 0.0
    if ctx.margin() < run.ruler.far**2 or any(met.sigma <= met.hit for met in ctx.met):
        return 0.0
    return resolution(system, ctx.state(), p, usual, ctx.inputs, run.ruler, ctx.careful.phi)


def follow(ctx: Context, sigma: float) -> None:
    """Follow motions that miss a position down to this σ; 0: to `hit`."""
    assert ctx.careful is not None
    ruler, ctx.record.regime.followed = ctx.record.ruler, sigma
    ctx.careful.reveal(ruler.nothing if sigma else ruler.zero * ruler.hit)


def go_on_carefully(ctx: Context, singular: int, low: np.ndarray) -> None:
    """Be where a recording ends: in all coordinates until a chart is possible, in careful steps or not."""
    without_chart(ctx)
    if singular:
        _step_carefully(ctx)
        ctx.record.low[:], ctx.record.low_before[:] = low, low


def leave(ctx: Context) -> Status:
    """Back to ordinary steps, and to a chart where there was one, at the margin that is far enough for them."""
    run = ctx.record
    if not run.regime.until:
        return Status.DONE
    run.manifold.project_first, ctx.dense = 1, None
    if run.regime.careful:
        assert ctx.usual is not None
        assert ctx.careful is not None
        ctx.usual.enter(run)
        give_back(ctx.layout, ctx.careful)
        ctx.careful = None
        if run.manifold.restore_energy and ("drivers" in ctx.system.work_names or ctx.system.description.prescribed):
            # works of drivers, 1/σ for a while, are not as exact as the motion: the balance goes on from here
            run.manifold.energy = ctx.system.energy(ctx.state(), p=ctx.setup.p) - float(ctx.work.sum())
        if ctx.setup.method.fixed:
            run.step.h = ctx.setup.step
        elif run.step.usual_h == 0.0:  # no usual step was made yet
            run.step.h = 0.0
        return Status.DONE
    run.regime.until = 0.0
    if ctx.returning:
        next_chart(ctx)
    return Status.DONE


def go_beyond(ctx: Context) -> Status:
    """Go on beyond the end, to the first record behind it."""
    run = ctx.record
    ctx.goal = run.clock.end
    run.clock.end += max(10.0 * run.step.usual_h, run.clock.end - ctx.span.start.t)
    return Status.DONE


def _cross(ctx: Context) -> Status:
    """Across a singular position, to where the rows are independent again."""
    run, start, first = ctx.record, ctx.state(), ctx.segment.first
    if ctx.margin() > run.ruler.known**2:
        ctx.arrival = start.v
    elif ctx.arrival is None:
        ctx.arrival = last_known_velocity(ctx)
    end = run.clock.end if ctx.goal is None else ctx.goal
    found = _crosser(ctx, end).cross(start)
    if isinstance(found, float):
        return _come_nearer(ctx, found)
    if found is None:
        _land_start(ctx)
        run.regime.across = 0.0
        return Status.DONE
    if isinstance(found, str):
        ctx.why = found
        return Status.BLOCKED
    if run.clock.hold > 0.0 and min(found.after.t, end) > run.clock.sampled_until + run.clock.hold:
        found = found._replace(determined=False)  # samples of a controller were left out
    position, after = found.position, found.after
    ctx.arrival = ctx.arrival if found.along is None else found.along
    ctx.was_singular = ctx.was_singular or (not first and position.t == ctx.span.start.t)
    # the sum of two times need not be the third
    if abs(run.clock.end - after.t) <= run.ruler.rounding * abs(run.clock.end):
        after = after.replace(t=run.clock.end)
    if after.t > run.clock.end:
        go_beyond(ctx)
    _record_crossing(ctx, start, after, _works(ctx, found.works, start, after, position.t == start.t))
    if run.singularity.risen and ctx.met:  # noted as one that is passed, σ has not risen since
        ctx.met.pop()
    run.singularity.risen = 0.0
    x = np.concatenate([position.q, position.v])
    if not _stayed(ctx, start.t, x):
        margin = 0.0 if run.regime.precise else ctx.margin(position.t, x)
        note(ctx, position.t, 0.0, x, (start.t, run.clock.t), margin, True, run.counts.careful_steps, found.determined)
    follow(ctx, 0.0)
    return locate_across(ctx)


def _crosser(ctx: Context, end: float) -> Crosser:
    """What crosses a position for this run, which ends at a time."""
    run, n = ctx.record, ctx.system.nq + ctx.system.nv

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        run.low[:] = 0.0
        if run.control.address and run.clock.hold == 0.0:
            ctx.inputs[:] = run.control.at(t, x[:n])[: run.nu]
        return run.ode.at(t, x[:n])[: run.n].copy()

    def inputs(x: State) -> np.ndarray:
        return run.control.at(x.t, np.concatenate([x.q, x.v]))[: run.nu].copy()

    assert ctx.careful is not None
    left, duration = max(end - run.clock.t, 0.0), end - ctx.span.start.t
    return Crosser(
        collocation=Collocation(ctx.system, ctx.setup.p, rates, ctx.careful.land, ctx.layout.ruler),
        u=ctx.inputs.copy(),
        usual=ctx.layout.equations.usual_rank(ctx.rows),
        hit=run.ruler.hit if run.regime.across else run.regime.followed,
        left=left,
        room=left + duration if run.regime.beyond else left,
        stay=run.ruler.stay * duration,
        begins=ctx.segment.first and run.clock.t == ctx.span.start.t,
        inputs=inputs if run.control.address and run.clock.hold == 0.0 else None,
        arrival=ctx.arrival,
        followed=run.regime.followed if run.regime.across else 0.0,
    )


def _come_nearer(ctx: Context, h: float) -> Status:
    """A crossing that was refused: careful steps, of at most h, come nearer first."""
    _land_start(ctx)
    run, sigma = ctx.record, ctx.margin() ** 0.5
    if run.regime.across:
        run.regime.across = max(run.ruler.far if sigma > run.ruler.far else run.ruler.known, run.ruler.nearer * sigma)
    if ctx.refused == run.clock.t:  # a step failed
        run.step.h *= 0.5
    run.step.h, ctx.refused = min(run.step.h, h), run.clock.t
    return Status.STEP_TOO_SMALL if 0.0 < run.step.h < run.ruler.exact * run.step.usual_h else Status.DONE


def _works(ctx: Context, works: np.ndarray, start: State, after: State, at_once: bool) -> np.ndarray:
    """Works done on the way; drivers that turn the motion at once do what the energy tells."""
    system, p = ctx.system, ctx.setup.p
    if at_once and "drivers" in system.work_names:
        change = system.energy(after, p=p) - system.energy(start, p=p)
        works[system.work_names.index("drivers")] += change - works.sum()
    return works


def _record_crossing(ctx: Context, start: State, after: State, works: np.ndarray) -> None:
    """Be behind the position, with one record more."""
    run, nq, n = ctx.record, ctx.system.nq, ctx.system.nq + ctx.system.nv
    run.x[:nq], run.x[nq:n] = after.q, after.v
    run.low_before[:] = run.low
    run.x[n:] += works
    run.step.h, run.clock.t, run.step.fresh, run.manifold.project_first = 0.5 * (after.t - start.t), after.t, 0, 0
    counts = run.counts
    counts.steps, counts.careful_steps, counts.records = counts.steps + 1, counts.careful_steps + 1, 1
    run.times[0], run.states[0] = run.clock.t, np.concatenate([run.x, ctx.inputs, [0.0]])
    take_records(ctx)


def branch(ctx: Context) -> np.ndarray | None:
    """(nv,) the velocity, on the tangent cone, with which the motion came to a singular position, or one near it.

    None where the state now is in none, or where the velocity selects no branch there.
    """
    assert ctx.arrival is not None
    if not ctx.system.rows.of:
        return None
    x, usual, p = ctx.state(), ctx.layout.equations.usual_rank(ctx.rows), ctx.setup.p
    here = tangent_of_motion(ctx.system, x, p)
    far = ctx.record.ruler.far
    if here.sigma[usual - 1] > far:
        return None
    cone = TangentCone.of(ctx.system, x, p, int((here.sigma[:usual] > far).sum()), usual, here, ctx.inputs)
    on = branch_of(cone, ctx.arrival)
    return None if on is None else cone.c + cone.K @ on


def _stayed(ctx: Context, since: float, x: np.ndarray) -> bool:
    """Whether the last passage still lasts: the mechanism has rested in its position; then it ends now."""
    last = ctx.met[-1] if ctx.met else None
    if last is None or last.end != since or (*last.q, *last.v) != tuple(x.tolist()):
        return False
    ctx.met[-1] = replace(last, end=ctx.record.clock.t, steps=last.steps + 1)
    return True


def note(
    ctx: Context, t: float, sigma: float, x: np.ndarray, span: tuple[float, ...], margin: float, resolved: bool,
    steps: int, determined: bool | None = None,
) -> None:  # fmt: skip
    """One more passage, after so many singular steps of the run; a warning where that is asked for."""
    run, system, setup = ctx.record, ctx.system, ctx.setup
    q, v = tuple(x[: system.nq].tolist()), tuple(x[system.nq : system.nq + system.nv].tolist())
    steps -= sum(m.steps for m in ctx.met)
    usual = ctx.layout.equations.usual_rank(ctx.rows)
    if resolved and setup.method.fixed and sigma > run.ruler.hit:
        resolved = resolved_by_given_steps(setup, system.state(q, v, t), sigma, usual, run.scales.rate, ctx.inputs)
    weakness = sigma if run.regime.precise else margin  # elimination squares the angle between rows
    error = run.ruler.operation / max(weakness, run.ruler.operation)
    if run.regime.followed:  # by rows in twice the precision
        error = 0.0
    met_below = run.regime.followed or run.ruler.hit
    met = Met(t, sigma, q, v, span[0], span[1], met_below, error, setup.rtol, usual, steps, resolved, determined)
    if determined is None:
        met = known_with_drift(setup, met, ctx.inputs)
    if (
        system.description.prescribed and sigma <= run.ruler.hit and determined is None
    ):  # now: the inputs are not kept with it
        met = replace(met, determined=describe(system, setup.p, met, ctx.inputs).determined)
    ctx.met.append(met)
    if setup.on_singularity == "warn":
        warnings.warn(f"'{system.name}': {describe(system, setup.p, met)}", stacklevel=6)


def resolved_by_given_steps(
    setup: Setup, state: State, sigma: float, usual: int, rate: float, inputs: np.ndarray
) -> bool:
    """Whether steps of the given length lead to a distance σ without error control, on the right side.

    state: where σ is least. usual: rank of the constraints away from singular positions. rate: of the motion, 1/s.
    """
    if sigma <= (setup.step * rate) ** setup.method.order:  # about the error of such steps
        return False
    system, p = setup.system, setup.p
    cone = TangentCone.of(system, state, p, usual - 1, usual, tangent_of_motion(system, state, p), inputs)
    return setup.step * cone.opening(cone.local(state.v)) <= Ruler.given * sigma
