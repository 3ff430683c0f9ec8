"""The list of guards."""

from __future__ import annotations

from dalembert.integrators.guards.accuracy import accuracy
from dalembert.integrators.guards.clearance import clearance
from dalembert.integrators.guards.discontinuities import discontinuities
from dalembert.integrators.guards.missed_roots import missed_roots
from dalembert.integrators.guards.singularities import singularities
from dalembert.integrators.guards.soundness import soundness
from dalembert.native.jit import inline
from dalembert.outcome import OK


@inline
def judge(run, trial):
    """OK for an attempt that may be accepted; else the verdict of the first guard that refuses it."""
    verdict = soundness(run, trial)
    if verdict == OK:
        verdict = discontinuities(run, trial)
    if verdict == OK:
        verdict = accuracy(run, trial)
    if verdict == OK:
        verdict = missed_roots(run, trial)
    if verdict == OK:
        verdict = singularities(run, trial)
    if verdict == OK:
        verdict = clearance(run, trial)
    return verdict
