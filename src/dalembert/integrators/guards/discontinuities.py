"""The attempt has no discontinuity of the forces inside: it ends where a stop is met or left, a line taut or slack.

An indicator is a function of the state that is positive where its force acts and negative where it does not. A step
over a change of its sign is not smooth, and no order holds for it. It is made again, shorter, until it ends beyond the
change by no more than rounding: regula falsi for the length of the step, every third try in the middle.
"""

from __future__ import annotations

from dalembert.integrators.step_control import SHORTER, try_next
from dalembert.native.calls import call
from dalembert.native.jit import inline, native
from dalembert.outcome import OK

TRIES = 60
COARSE = 1e3  # of the tolerance: an error beyond which a step tells nothing
BEYOND = 1e-13  # of the step that was to be taken: how far one that ends at a discontinuity may go beyond it
HERE, THERE, BEFORE = 0, 1, 2  # rows of the values: at x, at the end of the attempt, and of one that is too short


@native
def _evaluate(run, t, x, row):
    """Evaluate the indicators into a row of their values."""
    f, values = run.indicators, run.indicator_values
    if run.discontinuities.u_index > 0:
        given, u = f.x, run.ode.x
        for i in range(run.nu):
            given[run.discontinuities.u_index + i] = u[run.u_index + i]
    call(f, t, x, run.nq + run.nv)
    out = f.y
    for k in range(run.discontinuities.count):
        values[row, k] = out[k]


@inline
def begin_search(run):
    """At x, where a segment begins or inputs have changed: nothing is sought."""
    if run.discontinuities.count > 0:
        give_up_search(run)
        run.discontinuities.high = 0.0
        _evaluate(run, run.clock.t, run.x, HERE)


@inline
def give_up_search(run):
    """An attempt was refused for another reason: the search begins anew."""
    run.discontinuities.tries = 0


@inline
def discontinuities(run, trial):
    """Whether the attempt leads over a discontinuity; see `guards`. A step of given length may."""
    if run.discontinuities.count > 0 and run.step.exponent > 0.0 and not _ends_well(run, run.attempt.h, trial):
        return SHORTER
    return OK


@native
def _ends_well(run, h, trial):
    """Whether an attempt has no discontinuity inside, or ends at one; otherwise step.h is the step to try next.

    An attempt over one is rarely accurate: its end is used to find it all the same.
    """
    values, changed = run.indicator_values, -1
    if not run.attempt.error < COARSE:
        return True
    _evaluate(run, run.clock.t + h, trial, THERE)
    for k in range(run.discontinuities.count):
        if changed < 0 and values[HERE, k] * values[THERE, k] < 0.0:
            changed = k
    if changed < 0 and (run.discontinuities.tries == 0 or not run.attempt.error < 1.0):
        return True
    if run.discontinuities.tries == 0:
        run.discontinuities.low, run.discontinuities.h = 0.0, h
        for k in range(run.discontinuities.count):
            values[BEFORE, k] = values[HERE, k]
    run.discontinuities.tries += 1
    near = max(BEYOND * run.discontinuities.h, run.ruler.rounding * abs(run.clock.t))
    if changed >= 0:
        run.discontinuities.which, run.discontinuities.high, run.discontinuities.value = (
            changed,
            h,
            values[THERE, changed],
        )
    else:
        run.discontinuities.low = h
        for k in range(run.discontinuities.count):
            values[BEFORE, k] = values[THERE, k]
    width, before = run.discontinuities.high - run.discontinuities.low, values[BEFORE, run.discontinuities.which]
    part = before / (before - run.discontinuities.value)
    if changed >= 0 and ((1.0 - part) * width <= near or width <= near or run.discontinuities.tries > TRIES):
        return True
    if changed < 0 and width <= near:  # what was beyond is not any more: rounding
        return True
    try_next(run, run.discontinuities.low + (0.5 if run.discontinuities.tries % 3 == 0 else part) * width + 0.5 * near)
    return False


@inline
def end_search(run):
    """A step was taken: its end is where the next begins. Returns the step to try there (s); 0 if none ended it."""
    if run.discontinuities.count == 0:
        return 0.0
    values, h = run.indicator_values, run.discontinuities.h if run.discontinuities.tries > 0 else 0.0
    for k in range(run.discontinuities.count):
        values[HERE, k] = values[THERE, k]
    run.discontinuities.tries, run.discontinuities.high = 0, 0.0
    return h
