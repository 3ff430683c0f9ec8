"""Exits: why the loop may end behind a step that was accepted, in the order in which they are asked."""

from __future__ import annotations

from dalembert.integrators.guards.clearance import is_beside
from dalembert.integrators.guards.singularities import meets, nearness
from dalembert.integrators.run_record import TURNS
from dalembert.native.calls import call, finite
from dalembert.native.jit import inline, native
from dalembert.outcome import CHART_ENDS, EVENT, OK, PASSED, SINGULAR

GO_ON = -2  # beside outcomes: nothing ends the loop


@inline
def leave(run):
    """The outcome with which the loop ends at x, or GO_ON."""
    on, regime = run.clock.t < run.clock.end, run.regime
    if run.watch.address != 0 and crossed(run):
        return EVENT
    if regime.noted == regime.most:
        return PASSED
    if run.dof > 0 and run.singularity.sigma < run.ruler.fresh:
        return CHART_ENDS
    if on and is_beside(run, run.singularity):
        return SINGULAR
    if on and regime.until > 0.0 and run.manifold.projected != 0 and _is_clear(run):
        return OK
    if on and regime.careful != 0 and meets(run):
        return SINGULAR
    return GO_ON


@inline
def _is_clear(run):
    """Whether rows are independent enough for ordinary steps, and those that reveal the rank lead away."""
    if run.regime.careful != 0:
        return run.singularity.end_sigma**2 > run.regime.until and run.singularity.fall > 0.0
    return nearness(run, run.clock.t, run.x) > run.regime.until


@native
def crossed(run):
    """Evaluate the events into event_values[1]; whether any changed sign in its direction, or is not finite."""
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
