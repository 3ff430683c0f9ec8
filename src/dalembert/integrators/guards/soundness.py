"""The attempt could be made: its stages, its projection and ẋ at its end are finite, and eliminations can be trusted.

An elimination that cannot be trusted is that of rows which are nearly dependent, at a stage or at the end of the
attempt. Beside a singular configuration the attempt is first moved (`ruler.shift`), as its stages lie elsewhere then,
and halved if that does not help. Where halving has led to within `ruler.close` of the usual step the loop ends with
SINGULAR: steps that reveal the rank, or a crossing, take over. In a chart another chart does.
"""

from __future__ import annotations

from dalembert.integrators.guards.discontinuities import give_up_search
from dalembert.integrators.guards.singularities import nearness
from dalembert.integrators.step_control import shorten_failed
from dalembert.native.jit import inline
from dalembert.outcome import CALLBACK, CHART_ENDS, DRIFTED, NOT_FINITE, OK, SINGULAR, UNSOUND


@inline
def soundness(run, trial):
    """Whether the attempt failed, as its outcome tells; see `guards`."""
    outcome, h = run.attempt.outcome, run.attempt.h
    if outcome in (OK, CALLBACK):
        return outcome
    if outcome == UNSOUND and run.dof > 0:
        return CHART_ENDS
    give_up_search(run)
    if run.step.exponent == 0.0 or (outcome == UNSOUND and _is_close(run, h)):
        return SINGULAR if outcome == UNSOUND else outcome
    return shorten_failed(run, outcome == UNSOUND, DRIFTED if outcome == DRIFTED else NOT_FINITE)


@inline
def _is_close(run, h):
    """Whether a step that fails is as short as a singular configuration asks for before others take over."""
    if run.regime.careful != 0:
        met = nearness(run, run.clock.t, run.x) <= (run.ruler.within * run.ruler.hit) ** 2
        return met or h <= run.ruler.nearest * run.step.usual_h
    return h <= run.ruler.close * run.step.usual_h
