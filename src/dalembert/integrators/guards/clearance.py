"""The attempt ends where another ordinary step can begin: not beside a singular configuration.

One that ends there is moved. The last step of a run cannot be: the loop is left before it (ENDS_BESIDE), to go on
beyond the end, which is then inside a step.
"""

from __future__ import annotations

from dalembert.integrators.step_control import is_movable, shift
from dalembert.native.jit import inline
from dalembert.outcome import ENDS_BESIDE, OK, STEP_TOO_SMALL


@inline
def clearance(run, trial):
    """Whether the attempt ends beside a singular configuration; see `guards`."""
    beside, last = is_beside(run, run.detected), run.attempt.last != 0
    if last and run.clock.stop == run.clock.end and run.regime.beyond != 0 and (beside or _meets_one(run)):
        return ENDS_BESIDE
    if beside and not last and run.step.exponent > 0.0 and is_movable(run):
        return shift(run, STEP_TOO_SMALL)
    return OK


@inline
def is_beside(run, found):
    """Whether an ordinary step ends too near to a singular configuration for another one, by what was found there."""
    return run.regime.careful == 0 and run.gauge.address != 0 and min(found.sigma, found.end_sigma) < run.ruler.near


@inline
def _meets_one(run):
    """Whether a step that reveals the rank leads over a singular configuration that is met."""
    return run.regime.careful != 0 and run.attempt.passes != 0 and run.passages[run.regime.noted, 1] <= run.ruler.hit
