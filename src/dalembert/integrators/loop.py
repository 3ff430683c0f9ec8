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

from dalembert.integrators.hidden import hides
from dalembert.integrators.kinks import after_kinks, ends_well, forget_kinks
from dalembert.integrators.manifold import keep_energy, project, recover
from dalembert.integrators.run_record import FRESH, TURNS, RunRecord
from dalembert.integrators.stage import control, evaluate, motion_rate, tolerance, usual_size
from dalembert.integrators.watch import meets, nearness, watch
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

SMALLEST = 1e-15  # of the time: a step that rounding swallows
ROUNDING = 1e-15  # of a coordinate
LEAST = 1e-14  # of the time, or of what the motion takes: a step that error control must not ask for
SHIFT = 0.87  # of a step with a stage too near to a singular position: other stages may lie beside it
SHIFTS = 3  # of such a step, or of one that ends there, before a shorter one or careful ones take over
LOST = 1e-13  # over rtol: margin of a stage at which rounding may be more than the tolerance, and no error of the step
SHORT = 0.1  # of the usual step: the distance of a landing that is no error of so short a step
CLOSE = 0.01  # of the usual step: how near to a singularity the ordinary steps go


@entry(RunRecord)
def advance(x, y, run):
    """Integrate towards the end, recording every accepted step; the outcome goes into the record."""
    run.outcome = _advance(run)


@native
def _advance(run):
    x, stages, budget = run.x, run.stages, run.budget
    trial = stages[run.rows - 2]
    if run.project_first != 0:
        run.project_first, run.fresh = 0, 0
        if run.project_every > 0 and run.dof == 0 and not project(run, run.t, x, x):
            return DRIFTED
        _keep_low(run)
    while run.t < run.end:
        if budget <= 0 or run.records == run.room:
            return PAUSED
        budget -= 1
        stop = run.end
        if run.hold > 0.0:
            if run.t >= run.sampled_until:
                if not control(run, run.t, x):
                    return CALLBACK
                run.samples += 1
                run.sampled_until = run.hold_start + run.samples * run.hold
                run.fresh = 0
            if run.sampled_until < run.end - 1e-9 * run.hold:
                stop = run.sampled_until
        if run.fresh == 0:
            outcome = evaluate(run, run.t, x, stages[0])
            if outcome != OK:
                return _ended(run, outcome)
            run.fresh = 1
            if run.kinks > 0:
                forget_kinks(run)
        if run.rate == 0.0:
            run.rate = motion_rate(run)
        if run.h == 0.0:
            run.h = run.usual_h = first_step(run)
        h = min(run.h, run.max_h)
        if run.pace > 0.0:
            if run.least_h == 0.0:
                run.least_h = h
            h = min(h, max(run.least_h, run.pace * (run.t - run.begun)))
        last = stop - run.t <= h * (1.0 + 1e-9)
        if last:
            h = stop - run.t
        elif h <= SMALLEST * abs(run.t):  # the clock hardly moves: the motion runs away
            return STEP_TOO_SMALL
        run.attempt_h, run.margin, run.least_spread, run.largest_margin = h, 1.0, 1e300, run.sigma**2
        outcome = _attempt(run, trial)
        if outcome == CALLBACK:
            return CALLBACK
        if outcome == UNSOUND and run.dof > 0:
            return CHART_ENDS
        if outcome != OK:
            run.rejected += 1
            run.margin, run.kink_tries = 1.0, 0
            if run.exponent == 0.0 or (outcome == UNSOUND and _close(run, h)):
                return _ended(run, outcome)
            run.unsound = run.unsound + 1 if outcome == UNSOUND else 0
            run.h = SHIFT * h if 0 < run.unsound <= SHIFTS and run.singular == 0 else 0.5 * h
            if run.h < LEAST * max(1.0 / run.rate, abs(run.t)):
                return DRIFTED if outcome == DRIFTED else NOT_FINITE
            continue
        if run.kinks > 0 and run.exponent > 0.0 and not ends_well(run, h, trial):
            run.rejected += 1
            run.margin = 1.0
            continue
        if run.exponent > 0.0 and not run.error < 1.0:
            run.rejected += 1
            if run.unsound < SHIFTS and run.singular == 0 and run.margin < LOST / run.rtol:
                run.unsound += 1
                run.h = SHIFT * h
            else:
                run.h = h * max(0.2, 0.9 * run.error ** (-run.exponent)) if run.error < 1e300 else 0.1 * h
            run.margin, run.kink_tries = 1.0, 0
            if run.h < LEAST * max(1.0 / run.rate, abs(run.t)):
                return STEP_TOO_SMALL
            continue
        if run.events > run.own_events and run.watch.address != 0 and run.exponent > 0.0:
            shown = hides(run, h, trial)
            if shown > 0.0:
                run.rejected += 1
                run.margin, run.h = 1.0, shown
                continue
        known = run.root_rate, run.root, run.sigma, run.end_sigma, run.fall, run.fall_t, run.risen
        passage = watch(run, h, trial)
        if passage == SINGULAR:
            return SINGULAR
        if passage == UNSOUND:
            if run.exponent == 0.0:  # a chart is left where the step begins, whose length is given
                return CHART_ENDS
            run.rejected += 1
            run.margin = 1.0
            continue
        too_near, movable = _too_near(run), run.unsound < SHIFTS and run.exponent > 0.0 and not last
        ends_beside = last and stop == run.end and run.beyond != 0 and (too_near or _meets_one(run, passage))
        if ends_beside or (too_near and movable):
            run.root_rate, run.root, run.sigma, run.end_sigma, run.fall, run.fall_t, run.risen = known
            run.rejected += 1
            run.margin = 1.0
            if ends_beside:
                return ENDS_BESIDE
            run.unsound += 1
            run.h = SHIFT * h
            continue
        if run.exponent > 0.0:
            bent = after_kinks(run) if run.kinks > 0 else 0.0
            _next_step(run, h, last or bent > 0.0)
            if bent > 0.0:
                run.h = bent
        run.unsound, before = 0, run.t
        _accept(run, trial, stop, h, last)
        if passage == PASSED:
            noted = run.passages[run.passed]
            noted[4], noted[5], noted[6] = float(run.singular_steps), before, run.t
            run.passed += 1
        if run.watch.address != 0 and crossed(run):
            return EVENT
        if run.passed == run.most:
            return PASSED
        if run.dof > 0 and run.sigma < FRESH:
            return CHART_ENDS
        if run.t < run.end and _too_near(run):
            return SINGULAR
        if run.until > 0.0 and run.t < run.end and run.landed != 0 and _clear(run):
            return OK
        if run.singular != 0 and run.t < run.end and meets(run):
            return SINGULAR
    return OK


@inline
def _too_near(run):
    """Whether an ordinary step ends too near to a singular position for another one."""
    return run.singular == 0 and run.gauge.address != 0 and min(run.sigma, run.end_sigma) < run.near


@inline
def _meets_one(run, passage):
    """Whether a careful step leads over a singular position that is met, by what `watch` has found."""
    return run.singular != 0 and passage == PASSED and run.passages[run.passed, 1] <= run.hit


@inline
def _clear(run):
    """Whether rows are as far from dependent as ordinary steps need, and careful ones lead away from the position."""
    if run.singular != 0:
        return run.end_sigma**2 > run.until and run.fall > 0.0
    return nearness(run, run.t, run.x) > run.until


@inline
def _close(run, h):
    """Whether a step that fails is as short as a singular position asks for before others take over."""
    if run.singular != 0:
        return nearness(run, run.t, run.x) <= (4.0 * run.hit) ** 2 or h <= 1e-9 * run.usual_h
    return h <= CLOSE * run.usual_h


@inline
def _attempt(run, trial):
    """One step of the method, landed on the manifold where ẋ is sound; that ẋ, for the next step, goes to stages[−1].

    Returns the outcome; the error is in the record.
    """
    jump(run.step, 0, 0, run)
    if run.outcome == OK and (run.exponent == 0.0 or run.error < 1.0):
        run.outcome = land(run, run.t + run.attempt_h, trial)
        if run.outcome == OK and (run.exponent == 0.0 or run.error < 1.0):
            return evaluate(run, run.t + run.attempt_h, trial, run.stages[run.rows - 1])
    return run.outcome


@native
def land(run, t, trial):
    """Bring the trial onto the manifold, in place. What moves it is error of the step. Returns the outcome.

    In a chart q and v are those of its coordinates: they are integrated too, to tell how far that moves them.
    """
    run.landing, run.by_landing = 1, 0
    if run.dof > 0 or run.project_every > 0:
        raw, n, moved, every = run.stages[run.rows - 1], run.nq + run.nv, 0.0, max(1, run.project_every)
        for j in range(n):
            raw[j] = trial[j]
        if run.dof > 0:
            if not recover(run, t, trial):
                return UNSOUND
        elif not project(run, t, trial, run.x):
            return DRIFTED
        if run.landing == 0 and run.ode.min_angle >= 0.0:
            return UNSOUND
        if run.energies.address != 0 and run.landing != 0:
            keep_energy(run, t, trial, run.x)
        # not the step's error: of a start off the manifold, and what does not get less with the step: rounding
        if run.landed != 0 and run.attempt_h > SHORT * run.usual_h:
            noise = ROUNDING / max(run.landing_margin, 1e-300)  # of Φ moves q by 1/σ, that moves v by 1/σ again
            for j in range(n):
                scale = tolerance(run, j, abs(trial[j])) + noise * max(usual_size(run, j), abs(trial[j]))
                moved += ((trial[j] - raw[j]) / scale) ** 2
            moved = (moved / n) ** 0.5 / every
            if moved > run.error:
                run.error, run.by_landing = moved, 1
    return OK if finite(trial, run.n) else NOT_FINITE


@native
def _next_step(run, h, last):
    """The step to try next, by a PI controller."""
    grow = 0.9 * max(run.error, 1e-10) ** (-0.7 * run.exponent) * run.last_error ** (0.4 * run.exponent)
    if not last or grow < 1.0:
        run.h = h * min(5.0, max(0.2, grow))
    # falls slowly, and not where rounding of landings makes steps short: those next to singular positions are not usual
    if not last and run.singular == 0 and (run.by_landing == 0 or h > run.usual_h):
        run.usual_h = max(0.98 * run.usual_h, 0.8 * run.usual_h + 0.2 * h)
    run.last_error = max(run.error, 1e-4)


@native
def _accept(run, trial, stop, h, last):
    """Clock, state and record of a step that is taken."""
    x, slope, slope_there = run.x, run.stages[0], run.stages[run.rows - 1]
    if last:
        run.t, run.carry = stop, 0.0
    else:  # compensated, so that a million steps end where they should
        due = h - run.carry
        run.carry = (run.t + due - run.t) - due
        run.t += due
    for j in range(run.n):
        x[j] = trial[j]
        slope[j] = slope_there[j]
    _keep_low(run)
    run.steps += 1
    run.singular_steps += run.singular
    run.landed = run.landing
    row, u = run.states[run.records], run.ode.x
    run.times[run.records] = run.t
    for j in range(run.n):
        row[j] = x[j]
    for j in range(run.nu):
        row[run.n + j] = u[run.u_index + j]
    row[run.n + run.nu] = run.margin
    run.worst_margin = min(run.worst_margin, run.margin)
    run.margin = 1.0
    run.records += 1


@inline
def _keep_low(run):
    """The low part of the trial becomes that of x."""
    if run.precise != 0:
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
    if run.watch_u > 0:
        given, u = f.x, run.ode.x
        for i in range(run.nu):
            given[run.watch_u + i] = u[run.u_index + i]
    call(f, run.t, run.x, run.nq + run.nv)
    out = f.y
    for i in range(run.events):
        values[1, i] = out[i]
        if values[0, i] * values[1, i] < 0.0 or (values[1, i] == 0.0 and values[0, i] != 0.0):
            if ways[i] == TURNS:
                hit = hit or (values[1, i] < values[0, i] and _dips(run, i - 1))
            else:
                hit = hit or ways[i] == 0 or (values[1, i] > values[0, i]) == (ways[i] > 0)
    hit = hit or not finite(out, run.events)
    if not hit:
        for i in range(run.events):
            values[0, i] = values[1, i]
    return hit


@inline
def _dips(run, i):
    """Whether an event may have been negative in a step that ended as it began, by its rates at both ends.

    Event i + 1 is minus its rate. The tangents at both ends meet below a value that is bent upwards, as it is where it
    turns; half of the smaller value is kept in hand.
    """
    values, h = run.event_values, run.attempt_h
    first, last, fall, rise = values[0, i], values[1, i], values[0, i + 1], -values[1, i + 1]
    if first <= 0.0 or last <= 0.0:
        return False
    return first - fall * (first - last + rise * h) / (fall + rise) < 0.5 * min(first, last)


@native
def first_step(run):
    """A step to begin with, from the size of x, ẋ and ẍ (Hairer, Nørsett & Wanner II.4)."""
    x, stages, n = run.x, run.stages, run.n - run.works
    exponent = run.exponent if run.exponent > 0.0 else 0.125
    d0, d1, d2 = 0.0, 0.0, 0.0
    trial, slope = stages[run.rows - 2], stages[run.rows - 1]
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d0 += (x[j] / scale) ** 2
        d1 += (stages[0, j] / scale) ** 2
    h0 = 0.01 * (d0 / d1) ** 0.5 if d0 > 1e-10 and d1 > 1e-10 * run.rate**2 else 1e-6 / run.rate
    h0 = min(h0, run.max_h)
    for j in range(run.n):
        trial[j] = x[j] + h0 * stages[0, j]
    if evaluate(run, run.t + h0, trial, slope) != OK:
        return h0
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d2 += ((slope[j] - stages[0, j]) / scale) ** 2
    d1, d2 = d1 / run.rate**2, d2 / (run.rate**2 * h0) ** 2  # with the time that the motion takes as their unit
    steep = max(d1, d2) ** 0.5 / n**0.5
    h1 = max(1e-6 / run.rate, 1e-3 * h0) if steep <= 1e-15 else (0.01 / steep) ** exponent / run.rate
    return min(100.0 * h0, h1, run.max_h)
