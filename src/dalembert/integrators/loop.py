"""The native loop of a simulation: control, attempt, land on the manifold, accept, record, watch for events.

An attempt is a step of the method, its landing on the manifold, and the right-hand side there; the distance between
step and landing counts as error, so a step that leaves the manifold too far is refused like one that is not accurate.
Where the elimination of constraints is not sound the step is halved, and near enough to the singularity (a hundredth of
the usual step) the loop ends with SINGULAR. Careful steps are steps of this loop too: of a right-hand side that reveals
the rank, until the position is far enough (`until`) for the ordinary one. A run that would end beside the position is
left before its last step (ENDS_BESIDE), to go on beyond the end, which is then inside a step. Before a step is accepted
`watch` looks for singular positions inside it, and `kinks` for forces that begin or cease to act.
"""

from __future__ import annotations

from dalembert.integrators.discontinuities import after_kinks, ends_well, forget_kinks
from dalembert.integrators.manifold import keep_energy, project, recover
from dalembert.integrators.missed_roots import hides
from dalembert.integrators.run_record import TURNS, RunRecord
from dalembert.integrators.singularity import meets, nearness, watch
from dalembert.integrators.stage import control, evaluate, motion_rate, tolerance, usual_size
from dalembert.native.calls import call, finite, jump
from dalembert.native.jit import entry, inline, native
from dalembert.outcome import (
    CALLBACK,
    CHART_ENDS,
    DRIFTED,
    ENDS_BESIDE,
    EVENT,
    NOT_FINITE,
    OK,
    PASSED,
    PAUSED,
    SINGULAR,
    STEP_TOO_SMALL,
    UNSOUND,
)

SHIFTS = 3  # of such a step, or of one that ends there, before a shorter one or careful ones take over


@entry(RunRecord)
def advance(x, y, run):
    """Integrate towards the end, recording every accepted step; the outcome goes into the record."""
    run.attempt.outcome = _advance(run)


@native
def _advance(run):
    x, stages, budget = run.x, run.stages, run.step.budget
    trial = stages[run.rows - 2]
    if run.manifold.project_first != 0:
        run.manifold.project_first, run.step.fresh = 0, 0
        if run.manifold.project_every > 0 and run.dof == 0 and not project(run, run.clock.t, x, x):
            return DRIFTED
        _keep_low(run)
    while run.clock.t < run.clock.end:
        if budget <= 0 or run.counts.records == run.room:
            return PAUSED
        budget -= 1
        stop = run.clock.end
        if run.clock.hold > 0.0:
            if run.clock.t >= run.clock.sampled_until:
                if not control(run, run.clock.t, x):
                    return CALLBACK
                run.counts.samples += 1
                run.clock.sampled_until = run.clock.hold_start + run.counts.samples * run.clock.hold
                run.step.fresh = 0
            if run.clock.sampled_until < run.clock.end - 1e-9 * run.clock.hold:
                stop = run.clock.sampled_until
        if run.step.fresh == 0:
            outcome = evaluate(run, run.clock.t, x, stages[0])
            if outcome != OK:
                return _ended(run, outcome)
            run.step.fresh = 1
            if run.discontinuities.count > 0:
                forget_kinks(run)
        if run.scales.rate == 0.0:
            run.scales.rate = motion_rate(run)
        if run.step.h == 0.0:
            run.step.h = run.step.usual_h = first_step(run)
        h = min(run.step.h, run.step.max_h)
        if run.step.pace > 0.0:
            if run.step.least_h == 0.0:
                run.step.least_h = h
            h = min(h, max(run.step.least_h, run.step.pace * (run.clock.t - run.step.begun)))
        last = stop - run.clock.t <= h * (1.0 + 1e-9)
        if last:
            h = stop - run.clock.t
        elif h <= run.ruler.rounding * abs(run.clock.t):  # the clock hardly moves: the motion runs away
            return STEP_TOO_SMALL
        run.attempt.h, run.attempt.margin, run.attempt.least_spread, run.attempt.largest_margin = (
            h,
            1.0,
            1e300,
            run.singularity.sigma**2,
        )
        outcome = _attempt(run, trial)
        if outcome == CALLBACK:
            return CALLBACK
        if outcome == UNSOUND and run.dof > 0:
            return CHART_ENDS
        if outcome != OK:
            run.counts.rejected += 1
            run.attempt.margin, run.discontinuities.tries = 1.0, 0
            if run.step.exponent == 0.0 or (outcome == UNSOUND and _close(run, h)):
                return _ended(run, outcome)
            run.step.unsound = run.step.unsound + 1 if outcome == UNSOUND else 0
            run.step.h = run.ruler.shift * h if 0 < run.step.unsound <= SHIFTS and run.regime.careful == 0 else 0.5 * h
            if run.step.h < run.ruler.least_step * max(1.0 / run.scales.rate, abs(run.clock.t)):
                return DRIFTED if outcome == DRIFTED else NOT_FINITE
            continue
        if run.discontinuities.count > 0 and run.step.exponent > 0.0 and not ends_well(run, h, trial):
            run.counts.rejected += 1
            run.attempt.margin = 1.0
            continue
        if run.step.exponent > 0.0 and not run.attempt.error < 1.0:
            run.counts.rejected += 1
            if run.step.unsound < SHIFTS and run.regime.careful == 0 and run.attempt.margin < run.ruler.lost:
                run.step.unsound += 1
                run.step.h = run.ruler.shift * h
            else:
                run.step.h = (
                    h * max(0.2, 0.9 * run.attempt.error ** (-run.step.exponent))
                    if run.attempt.error < 1e300
                    else 0.1 * h
                )
            run.attempt.margin, run.discontinuities.tries = 1.0, 0
            if run.step.h < run.ruler.least_step * max(1.0 / run.scales.rate, abs(run.clock.t)):
                return STEP_TOO_SMALL
            continue
        if run.events.count > run.events.own and run.watch.address != 0 and run.step.exponent > 0.0:
            shown = hides(run, h, trial)
            if shown > 0.0:
                run.counts.rejected += 1
                run.attempt.margin, run.step.h = 1.0, shown
                continue
        passage = watch(run, h, trial)
        if passage == SINGULAR:
            return SINGULAR
        if passage == UNSOUND:
            if run.step.exponent == 0.0:  # a chart is left where the step begins, whose length is given
                return CHART_ENDS
            run.counts.rejected += 1
            run.attempt.margin = 1.0
            continue
        too_near, movable = (
            _too_near(run, run.detected),
            run.step.unsound < SHIFTS and run.step.exponent > 0.0 and not last,
        )
        ends_beside = (
            last and stop == run.clock.end and run.regime.beyond != 0 and (too_near or _meets_one(run, passage))
        )
        if ends_beside or (too_near and movable):
            run.counts.rejected += 1
            run.attempt.margin = 1.0
            if ends_beside:
                return ENDS_BESIDE
            run.step.unsound += 1
            run.step.h = run.ruler.shift * h
            continue
        if run.step.exponent > 0.0:
            bent = after_kinks(run) if run.discontinuities.count > 0 else 0.0
            _next_step(run, h, last or bent > 0.0)
            if bent > 0.0:
                run.step.h = bent
        run.step.unsound, before = 0, run.clock.t
        if run.gauge.address != 0:
            run.singularity = run.detected
        _accept(run, trial, stop, h, last)
        if passage == PASSED:
            noted = run.passages[run.regime.noted]
            noted[4], noted[5], noted[6] = float(run.counts.careful_steps), before, run.clock.t
            run.regime.noted += 1
        if run.watch.address != 0 and crossed(run):
            return EVENT
        if run.regime.noted == run.regime.most:
            return PASSED
        if run.dof > 0 and run.singularity.sigma < run.ruler.fresh:
            return CHART_ENDS
        if run.clock.t < run.clock.end and _too_near(run, run.singularity):
            return SINGULAR
        if run.regime.until > 0.0 and run.clock.t < run.clock.end and run.manifold.projected != 0 and _clear(run):
            return OK
        if run.regime.careful != 0 and run.clock.t < run.clock.end and meets(run):
            return SINGULAR
    return OK


@inline
def _too_near(run, found):
    """Whether an ordinary step ends too near to a singular position for another one."""
    return run.regime.careful == 0 and run.gauge.address != 0 and min(found.sigma, found.end_sigma) < run.ruler.near


@inline
def _meets_one(run, passage):
    """Whether a careful step leads over a singular position that is met, by what `watch` has found."""
    return run.regime.careful != 0 and passage == PASSED and run.passages[run.regime.noted, 1] <= run.ruler.hit


@inline
def _clear(run):
    """Whether rows are as far from dependent as ordinary steps need, and careful ones lead away from the position."""
    if run.regime.careful != 0:
        return run.singularity.end_sigma**2 > run.regime.until and run.singularity.fall > 0.0
    return nearness(run, run.clock.t, run.x) > run.regime.until


@inline
def _close(run, h):
    """Whether a step that fails is as short as a singular position asks for before others take over."""
    if run.regime.careful != 0:
        return nearness(run, run.clock.t, run.x) <= (4.0 * run.ruler.hit) ** 2 or h <= 1e-9 * run.step.usual_h
    return h <= run.ruler.close * run.step.usual_h


@inline
def _attempt(run, trial):
    """One step of the method, landed on the manifold where ẋ is sound; that ẋ, for the next step, goes to stages[−1].

    Returns the outcome; the error is in the record.
    """
    jump(run.method_step, 0, 0, run)
    if run.attempt.outcome == OK and (run.step.exponent == 0.0 or run.attempt.error < 1.0):
        run.attempt.outcome = land(run, run.clock.t + run.attempt.h, trial)
        if run.attempt.outcome == OK and (run.step.exponent == 0.0 or run.attempt.error < 1.0):
            return evaluate(run, run.clock.t + run.attempt.h, trial, run.stages[run.rows - 1])
    return run.attempt.outcome


@native
def land(run, t, trial):
    """Bring the trial onto the manifold, in place. What moves it is error of the step. Returns the outcome.

    In a chart q and v are those of its coordinates: they are integrated too, to tell how far that moves them.
    """
    run.attempt.projected, run.attempt.by_projection = 1, 0
    if run.dof > 0 or run.manifold.project_every > 0:
        raw, n, moved, every = run.stages[run.rows - 1], run.nq + run.nv, 0.0, max(1, run.manifold.project_every)
        for j in range(n):
            raw[j] = trial[j]
        if run.dof > 0:
            if not recover(run, t, trial):
                return UNSOUND
        elif not project(run, t, trial, run.x):
            return DRIFTED
        if run.attempt.projected == 0 and run.ode.min_angle >= 0.0:
            return UNSOUND
        if run.energies.address != 0 and run.attempt.projected != 0:
            keep_energy(run, t, trial, run.x)
        # not the step's error: of a start off the manifold, and what does not get less with the step: rounding
        if run.manifold.projected != 0 and run.attempt.h > run.ruler.short * run.step.usual_h:
            noise = run.ruler.rounding / max(
                run.attempt.projection_margin, 1e-300
            )  # of Φ moves q by 1/σ, that moves v by 1/σ again
            for j in range(n):
                scale = tolerance(run, j, abs(trial[j])) + noise * max(usual_size(run, j), abs(trial[j]))
                moved += ((trial[j] - raw[j]) / scale) ** 2
            moved = (moved / n) ** 0.5 / every
            if moved > run.attempt.error:
                run.attempt.error, run.attempt.by_projection = moved, 1
    return OK if finite(trial, run.n) else NOT_FINITE


@native
def _next_step(run, h, last):
    """The step to try next, by a PI controller."""
    grow = (
        0.9
        * max(run.attempt.error, 1e-10) ** (-0.7 * run.step.exponent)
        * run.step.last_error ** (0.4 * run.step.exponent)
    )
    if not last or grow < 1.0:
        run.step.h = h * min(5.0, max(0.2, grow))
    # falls slowly, and not where rounding of landings makes steps short: those next to singular positions are not usual
    if not last and run.regime.careful == 0 and (run.attempt.by_projection == 0 or h > run.step.usual_h):
        run.step.usual_h = max(0.98 * run.step.usual_h, 0.8 * run.step.usual_h + 0.2 * h)
    run.step.last_error = max(run.attempt.error, 1e-4)


@native
def _accept(run, trial, stop, h, last):
    """Clock, state and record of a step that is taken."""
    x, slope, slope_there = run.x, run.stages[0], run.stages[run.rows - 1]
    if last:
        run.clock.t, run.clock.carry = stop, 0.0
    else:  # compensated, so that a million steps end where they should
        due = h - run.clock.carry
        run.clock.carry = (run.clock.t + due - run.clock.t) - due
        run.clock.t += due
    for j in range(run.n):
        x[j] = trial[j]
        slope[j] = slope_there[j]
    _keep_low(run)
    run.counts.steps += 1
    run.counts.careful_steps += run.regime.careful
    run.manifold.projected = run.attempt.projected
    row, u = run.states[run.counts.records], run.ode.x
    run.times[run.counts.records] = run.clock.t
    for j in range(run.n):
        row[j] = x[j]
    for j in range(run.nu):
        row[run.n + j] = u[run.u_index + j]
    row[run.n + run.nu] = run.attempt.margin
    run.evidence.worst_margin = min(run.evidence.worst_margin, run.attempt.margin)
    run.attempt.margin = 1.0
    run.counts.records += 1


@inline
def _keep_low(run):
    """The low part of the trial becomes that of x."""
    if run.regime.precise != 0:
        for j in range(run.nq):
            run.low_before[j] = run.low[j]


@native
def _ended(run, outcome):
    """The loop's word for an evaluation or a step that failed."""
    if outcome == UNSOUND:
        return CHART_ENDS if run.dof > 0 else SINGULAR
    return outcome


@native
def crossed(run):
    """Evaluate the events into event_values[1]; whether any changed its sign as it is to, or is no number."""
    f, values, ways, hit = run.watch, run.event_values, run.directions, False
    if run.events.u_index > 0:
        given, u = f.x, run.ode.x
        for i in range(run.nu):
            given[run.events.u_index + i] = u[run.u_index + i]
    call(f, run.clock.t, run.x, run.nq + run.nv)
    out = f.y
    for i in range(run.events.count):
        values[1, i] = out[i]
        if values[0, i] * values[1, i] < 0.0 or (values[1, i] == 0.0 and values[0, i] != 0.0):
            if ways[i] == TURNS:
                hit = hit or (values[1, i] < values[0, i] and _dips(run, i - 1))
            else:
                hit = hit or ways[i] == 0 or (values[1, i] > values[0, i]) == (ways[i] > 0)
    hit = hit or not finite(out, run.events.count)
    if not hit:
        for i in range(run.events.count):
            values[0, i] = values[1, i]
    return hit


@inline
def _dips(run, i):
    """Whether an event may have been negative in a step that ended as it began, by its rates at both ends.

    Event i + 1 is minus its rate. The tangents at both ends meet below a value that is bent upwards, as it is where it
    turns; half of the smaller value is kept in hand.
    """
    values, h = run.event_values, run.attempt.h
    first, last, fall, rise = values[0, i], values[1, i], values[0, i + 1], -values[1, i + 1]
    if first <= 0.0 or last <= 0.0:
        return False
    return first - fall * (first - last + rise * h) / (fall + rise) < 0.5 * min(first, last)


@native
def first_step(run):
    """A step to begin with, from the size of x, ẋ and ẍ (Hairer, Nørsett & Wanner II.4)."""
    x, stages, n = run.x, run.stages, run.n - run.works
    exponent = run.step.exponent if run.step.exponent > 0.0 else 0.125
    d0, d1, d2 = 0.0, 0.0, 0.0
    trial, slope = stages[run.rows - 2], stages[run.rows - 1]
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d0 += (x[j] / scale) ** 2
        d1 += (stages[0, j] / scale) ** 2
    h0 = 0.01 * (d0 / d1) ** 0.5 if d0 > 1e-10 and d1 > 1e-10 * run.scales.rate**2 else 1e-6 / run.scales.rate
    h0 = min(h0, run.step.max_h)
    for j in range(run.n):
        trial[j] = x[j] + h0 * stages[0, j]
    if evaluate(run, run.clock.t + h0, trial, slope) != OK:
        return h0
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d2 += ((slope[j] - stages[0, j]) / scale) ** 2
    d1, d2 = (
        d1 / run.scales.rate**2,
        d2 / (run.scales.rate**2 * h0) ** 2,
    )  # with the time that the motion takes as their unit
    steep = max(d1, d2) ** 0.5 / n**0.5
    h1 = max(1e-6 / run.scales.rate, 1e-3 * h0) if steep <= 1e-15 else (0.01 / steep) ** exponent / run.scales.rate
    return min(100.0 * h0, h1, run.step.max_h)
