"""Step control: how long attempts are. The scalar loop and the lanes of ensembles use the same formulas.

After a step the next length follows from the errors of the last two by a PI controller (Hairer & Wanner IV.2), after a
refused attempt from its error alone; the first step from the size of x, ẋ and ẍ (Hairer, Nørsett & Wanner II.4).
"""

from __future__ import annotations

from dalembert.integrators.run_record import EASY
from dalembert.integrators.stage import evaluate, tolerance
from dalembert.native.jit import inline, native
from dalembert.outcome import OK, STEP_TOO_SMALL

SHORTER = -1  # the verdict of a guard, beside outcomes: the attempt is to be made again with the length `step.h`
SHIFTS = 3  # attempts in a row that are moved beside a singular configuration before shorter ones are tried
TOGETHER = 1e-9  # of a step: how far from its end another end of the same step may be
SAFETY = 0.9  # of the step that would just keep the tolerance
LAST, NOW = 0.4, 0.7  # of the exponent: how the errors of the step before, and of this one, count (the PI controller)
EASIEST = 1e-10  # of the tolerance: an error below counts as this, and that of the step before as `EASY`


@inline
def propose(run):
    """attempt.h ← the length of the next attempt, which ends at clock.stop at the latest. Returns the outcome."""
    clock, step = run.clock, run.step
    h = min(step.h, step.max_h)
    if step.pace > 0.0:
        if step.least_h == 0.0:
            step.least_h = h
        h = min(h, max(step.least_h, step.pace * (clock.t - step.begun)))
    run.attempt.last = 1 if is_last(clock.stop - clock.t, h) else 0
    if run.attempt.last != 0:
        h = clock.stop - clock.t
    elif h <= run.ruler.rounding * abs(clock.t):  # the clock hardly moves: the motion runs away
        return STEP_TOO_SMALL
    elif step.exponent > 0.0:
        h = representable(clock.t, h)
    run.attempt.h, run.attempt.passes = h, 0
    run.attempt.margin, run.attempt.least_spread = 1.0, 1e300
    run.attempt.largest_margin = run.singularity.sigma**2
    return OK


@inline
def next_stop(end, sampled_until, hold):
    """s: where the next step ends at the latest, at the end or at the next sample of a controller."""
    return sampled_until if hold > 0.0 and sampled_until < end - TOGETHER * hold else end


@inline
def ticked(t, carry, h):
    """The clock, and what rounding takes from it, a step later: a million steps end where they should."""
    due = h - carry
    after = t + due
    return after, (after - t) - due


@inline
def is_last(left, h):
    """Whether a step of length h leads to the end of the time that is left."""
    return left <= h * (1.0 + TOGETHER)


@inline
def representable(t, h):
    """About h: a step that ends at a number, so that a driver at a late time moves as far as the clock does."""
    return (t + h) - t


@inline
def try_next(run, h):
    """SHORTER, with h as the length of the next attempt."""
    run.step.h = h
    return SHORTER


@inline
def shorten(run, h, otherwise):
    """SHORTER, with h as the length of the next attempt; `otherwise` where no step may be so short."""
    shorter = try_next(run, h)
    return otherwise if h < least_length(run.ruler, run.scales.rate, run.clock.t) else shorter


@inline
def least_length(ruler, rate, t):
    """s: no step that error control may ask for is shorter."""
    return ruler.least_step * max(1.0 / rate, abs(t))


@inline
def is_movable(run):
    """Whether an ordinary step beside a singular configuration may still be moved."""
    return run.step.unsound < SHIFTS and run.regime.careful == 0


@inline
def shift(run, otherwise):
    """Like `shorten`, by so little that stages and end of the attempt just lie elsewhere."""
    run.step.unsound += 1
    return shorten(run, run.ruler.shift * run.attempt.h, otherwise)


@inline
def shorten_failed(run, unsound, otherwise):
    """Like `shorten`, for an attempt that failed; unsound: as those do beside a singular configuration."""
    run.step.unsound = run.step.unsound + 1 if unsound else 0
    in_a_row = run.step.unsound if run.regime.careful == 0 else 0
    return shorten(run, after_failure(run.ruler, run.attempt.h, in_a_row), otherwise)


@inline
def after_failure(ruler, h, unsound):
    """The length to try after an attempt that failed; unsound: so many in a row beside a singular configuration."""
    return ruler.shift * h if 0 < unsound <= SHIFTS else 0.5 * h


@inline
def after_error(h, error, exponent):
    """The length to try after an attempt whose error, over the tolerances, is too large."""
    return h * max(0.2, SAFETY * error ** (-exponent)) if error < 1e300 else 0.1 * h


@inline
def after_step(h, grow):
    """The length to try after a step, which the controller would multiply by `grow`."""
    return h * min(5.0, max(0.2, grow))


@inline
def usual_after(usual_h, h):
    """The usual length of steps after one more. It falls slowly: a few short steps are not usual."""
    return max(0.98 * usual_h, 0.8 * usual_h + 0.2 * h)


@inline
def accepted(run, resumed):
    """The step is taken; resumed: the one that was to be taken, s, where it has ended at a discontinuity, else 0."""
    if run.step.exponent > 0.0:
        control_step(run, run.attempt.last != 0 or resumed > 0.0)
        if resumed > 0.0:
            run.step.h = resumed
    run.step.unsound = 0


@native
def control_step(run, at_end):
    """step.h ← the step to try next; at_end: this one was cut by a time or a discontinuity, and tells less."""
    h, step = run.attempt.h, run.step
    error = max(run.attempt.error, EASIEST)
    grow = SAFETY * error ** (-NOW * step.exponent) * step.last_error ** (LAST * step.exponent)
    if not at_end or grow < 1.0:
        step.h = after_step(h, grow)
    # not where rounding of projections makes steps short: those beside singular configurations are not usual
    if not at_end and run.regime.careful == 0 and (run.attempt.by_projection == 0 or h > step.usual_h):
        step.usual_h = usual_after(step.usual_h, h)
    step.last_error = max(run.attempt.error, EASY)


@inline
def begin_steps(run):
    """The length of the first attempt, where none is known."""
    if run.step.h == 0.0:
        run.step.h = run.step.usual_h = first_step(run)


@native
def first_step(run):
    """s: a step to begin with, from the size of x, ẋ and ẍ."""
    x, stages, n, rate = run.x, run.stages, run.n - run.works, run.scales.rate
    exponent = run.step.exponent if run.step.exponent > 0.0 else 0.125
    d0, d1, d2 = 0.0, 0.0, 0.0
    trial, slope = stages[run.rows - 2], stages[run.rows - 1]
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d0 += (x[j] / scale) ** 2
        d1 += (stages[0, j] / scale) ** 2
    h0 = 0.01 * (d0 / d1) ** 0.5 if d0 > 1e-10 and d1 > 1e-10 * rate**2 else 1e-6 / rate
    h0 = min(h0, run.step.max_h)
    for j in range(run.n):
        trial[j] = x[j] + h0 * stages[0, j]
    if evaluate(run, run.clock.t + h0, trial, slope) != OK:
        return h0
    for j in range(n):
        scale = tolerance(run, j, abs(x[j]))
        d2 += ((slope[j] - stages[0, j]) / scale) ** 2
    d1, d2 = d1 / rate**2, d2 / (rate**2 * h0) ** 2  # with the time that the motion takes as their unit
    steep = max(d1, d2) ** 0.5 / n**0.5
    h1 = max(1e-6 / rate, 1e-3 * h0) if steep <= 1e-15 else (0.01 / steep) ** exponent / rate
    return min(100.0 * h0, h1, run.step.max_h)
