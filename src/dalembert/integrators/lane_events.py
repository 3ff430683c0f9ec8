"""Events of runs side by side: changes of sign over a step, and their times, found by shorter steps from its start.

An event is located while the other lanes go on with their runs: each trial time inside the step is an attempt of its
lane. Brackets shrink by inverse quadratic interpolation where that is safe, else by halves (T. R. Chandrupatla, A new
hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function without using derivatives, Adv. Eng.
Softw. 28 (1997) 145-149).
"""

from __future__ import annotations

from dalembert.integrators.guards.missed_roots import hides
from dalembert.native.calls import call, invoke
from dalembert.native.jit import inline, native
from dalembert.native.simd import assign

STEP, SAMPLE, LOCATE, FINISH = range(4)  # what an attempt of a lane is for; FINISH: the state at a terminal event


@native
def measure(g):
    """Values of the events at the trial states."""
    f, W = g.watch, g.lanes
    assign(1.0, g.trial, 0, f.x, 0, 0, (g.nq + g.nv) * W)
    if f.time_index >= 0:
        for l in range(W):
            f.x[f.time_index * W + l] = g.t[l] + g.dt[l]
    invoke(f)


@native
def start_events(g, l, i):
    """Values of the events at the start of run i, which is in the record of one lane."""
    one, W = g.one, g.lanes
    if g.one_watch_p >= 0:
        for j in range(g.np):
            one.watch.x[g.one_watch_p + j] = g.parameters[i, j]
    call(one.watch, one.clock.t, one.x, g.nq + g.nv)
    for e in range(g.events):
        g.event_before[e * W + l] = one.watch.y[e]
    if g.watch_p >= 0:
        for j in range(g.np):
            g.watch.x[(g.watch_p + j) * W + l] = g.parameters[i, j]
    g.pending[l], g.finish[l] = 0, 1e300


@native
def changed(g, l):
    """Note the events that a step has changed. Returns whether all values are numbers."""
    W, out = g.lanes, g.watch.y
    g.pending[l], g.finish[l] = 0, 1e300
    for e in range(g.events):
        before, after = g.event_before[e * W + l], out[e * W + l]
        g.event_after[e * W + l] = after
        if after - after != 0.0:
            return False
        if before == 0.0 or not before * after <= 0.0:
            continue
        if g.direction[e] == 0 or (after > before) == (g.direction[e] > 0):
            g.pending[l] |= 1 << e
    return g.exponent == 0.0 or not _hides(g, l)


@native
def _hides(g, l):
    """Whether an event changes its sign more than once in the step of a lane; such a run is made alone."""
    one, W, there = g.one, g.lanes, g.one.stages[g.one.rows - 2]
    if g.one_watch_p >= 0:
        for j in range(g.np):
            one.watch.x[g.one_watch_p + j] = g.parameters[g.run[l], j]
    for j in range(g.nq + g.nv):
        one.x[j], there[j] = g.x[j * W + l], g.after[j * W + l]
        one.stages[0, j], one.stages[one.rows - 1, j] = g.stages[0, j * W + l], g.slope_after[j * W + l]
    for e in range(g.events):
        one.event_values[0, e] = g.event_before[e * W + l]
    one.clock.t, one.step.usual_h = g.t[l], g.usual_h[l]
    return hides(one, g.step_h[l], there) > 0.0


@native
def bracket(g, l):
    """Begin with the first of the events that are to be located. Returns whether the run has room for it."""
    W, e = g.lanes, 0
    while not g.pending[l] >> e & 1:
        e += 1
    g.which[l] = e
    g.time_1[l], g.value_1[l] = 0.0, g.event_before[e * W + l]
    g.time_2[l], g.value_2[l] = g.step_h[l], g.event_after[e * W + l]
    g.part[l] = g.value_1[l] / (g.value_1[l] - g.value_2[l])
    if g.hits_of[g.run[l]] >= g.room:
        return False
    if g.value_2[l] == 0.0:
        _found(g, l, g.step_h[l])
    return True


@inline
def aim_event(g, l):
    """How far the attempt goes that looks for an event."""
    return g.time_1[l] + g.part[l] * (g.time_2[l] - g.time_1[l])


@native
def narrow(g, l):
    """Use the value of the event at the trial time; note the event where it is located. Returns whether it is sound."""
    at, value = g.dt[l], g.watch.y[g.which[l] * g.lanes + l]
    if value - value != 0.0:
        return False
    if (value > 0.0) == (g.value_1[l] > 0.0):
        t3, f3 = g.time_1[l], g.value_1[l]
    else:
        t3, f3 = g.time_2[l], g.value_2[l]
        g.time_2[l], g.value_2[l] = g.time_1[l], g.value_1[l]
    g.time_1[l], g.value_1[l] = at, value
    t1, f1, t2, f2 = at, value, g.time_2[l], g.value_2[l]
    best = t1 if abs(f1) < abs(f2) else t2
    least = g.one.ruler.rounding * max(abs(g.t[l] + best), g.step_h[l]) / abs(t2 - t1)
    if value == 0.0 or least > 0.5:
        _found(g, l, best)
        return True
    xi, phi, part = (t1 - t2) / (t3 - t2), (f1 - f2) / (f3 - f2), 0.5
    if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
        part = f1 / (f2 - f1) * f3 / (f2 - f3) + (t3 - t1) / (t2 - t1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    g.part[l] = min(1.0 - least, max(least, part))
    return True


@native
def _found(g, l, after):
    """The event that was looked for happens so long after the start of the step."""
    e, i = g.which[l], g.run[l]
    k = g.hits_of[i]
    g.hits[i, k, 0], g.hits[i, k, 1] = g.t[l] + after, float(e)
    g.hits_of[i] = k + 1
    g.pending[l] &= ~(1 << e)
    if g.terminal[e] != 0:
        g.finish[l] = min(g.finish[l], after)
