"""The estimated error of the attempt, and what its projection moved it by, are within the tolerances."""

from __future__ import annotations

from dalembert.integrators.guards.discontinuities import give_up_search
from dalembert.integrators.step_control import after_error, is_movable, shift, shorten
from dalembert.native.jit import inline
from dalembert.outcome import OK, STEP_TOO_SMALL


@inline
def accuracy(run, trial):
    """Whether the error is below 1, in tolerances; see `guards`. A step of given length has no estimate."""
    if run.step.exponent == 0.0 or run.attempt.error < 1.0:
        return OK
    give_up_search(run)
    if run.attempt.margin < run.ruler.lost and is_movable(run):  # rounding at a stage, not the method, may be at fault
        return shift(run, STEP_TOO_SMALL)
    return shorten(run, after_error(run.attempt.h, run.attempt.error, run.step.exponent), STEP_TOO_SMALL)
