"""The native loop of an ensemble: several runs side by side, one a lane of the processor's vectors.

The steps are those of `loop` and `explicit`: the same stages, error estimate, landing and step control, or a step that
is given, each lane with its own time, step and parameters. All lanes make an attempt together. What a lane does next is
its own affair: take the step, repeat it, look for events and wanted times inside it, or end and begin the next run of
the queue. No lane reads another's numbers, so a run does not depend on its company.

A run that comes to a singular position leaves its lane and comes back (`lane_passages`). One that comes into trouble
ends: its outcome says so, and it is computed again from its start, alone.
"""

from __future__ import annotations

from math import exp, log

from dalembert.integrators.lane_attempt import IDLE, REFUSED, attempt
from dalembert.integrators.lane_events import (
    FINISH,
    LOCATE,
    SAMPLE,
    STEP,
    aim_event,
    bracket,
    changed,
    measure,
    narrow,
    start_events,
)
from dalembert.integrators.lane_passages import (
    HELD,
    LAST_ERROR,
    RATE,
    SAMPLED_UNTIL,
    USUAL_H,
    H,
    log_is_full,
    look,
    parameters,
    put_aside,
    take_up,
)
from dalembert.integrators.lane_record import ENERGY, EVALUATIONS, MARGIN, REJECTED, STEPS, LaneRecord
from dalembert.integrators.run_record import EASY
from dalembert.integrators.stage import control, evaluate, motion_rate
from dalembert.integrators.step_control import (
    EASIEST,
    LAST,
    NOW,
    SAFETY,
    SHIFTS,
    after_error,
    after_failure,
    after_step,
    first_step,
    is_last,
    least_length,
    next_stop,
    representable,
    ticked,
    usual_after,
)
from dalembert.linalg.lane_rows import peaks, take
from dalembert.native.jit import entry, inline, native
from dalembert.outcome import CALLBACK, EVENT, OK, PAUSED, SINGULAR, STEP_TOO_SMALL, UNSOUND

START = log(EASY)  # of the error of the step before the first


@entry(LaneRecord)
def run_lanes(x, y, g):
    """Integrate runs of the queue until it is empty, or the budget of attempts used up."""
    g.outcome = _run(g)


@native
def _run(g):
    budget = g.budget
    while True:
        active = False
        for l in range(g.lanes):
            while g.run[l] < 0 and g.next < g.queued:
                _begin(g, l, g.todo[g.next])
                g.next += 1
            active = active or g.run[l] >= 0
        if not active:
            return OK
        if budget <= 0 or log_is_full(g):
            return PAUSED
        budget -= 1
        _aim(g)
        attempt(g)
        _judge_all(g)
        if g.events > 0:
            measure(g)
        _go_on(g)


@native
def _judge_all(g):
    """Which lanes have taken the step. Where times inside it may be wanted, its end is put aside."""
    W, size, there = g.lanes, g.n * g.lanes, g.rows - 1
    peaks(g.trial, g.unit, g.five, g.nq * W, (g.nq + g.nv) * W, W)
    for l in range(W):
        g.chosen[l] = 0.0
        if g.run[l] >= 0 and g.sampling[l] == STEP and _judge(g, l):
            g.chosen[l] = 1.0
            i, speed = g.run[l], g.five[l] * g.rate[l]
            g.evidence[i, ENERGY] = max(g.evidence[i, ENERGY], 0.5 * g.inertias[i] * speed * speed)
    if g.asked + g.events > 0:
        take(g.chosen, g.trial, 0, g.after, 0, size, W)
        take(g.chosen, g.stages, there, g.slope_after, 0, size, W)


@native
def _go_on(g):
    """Lanes with events or wanted times inside their step stay for these; the others move to its end."""
    W, size = g.lanes, g.n * g.lanes
    for l in range(W):
        if g.run[l] >= 0 and (g.sampling[l] != STEP or g.chosen[l] != 0.0):
            g.chosen[l] = 1.0 if _stays_for_nothing(g, l) else 0.0
    if g.asked + g.events > 0:
        take(g.chosen, g.after, 0, g.x, 0, size, W)
        take(g.chosen, g.slope_after, 0, g.stages, 0, size, W)
    else:
        take(g.chosen, g.trial, 0, g.x, 0, size, W)
        take(g.chosen, g.stages, g.rows - 1, g.stages, 0, size, W)
    for l in range(W):
        if g.run[l] >= 0 and g.chosen[l] != 0.0:
            _arrive(g, l)


@native
def _stays_for_nothing(g, l):
    """Use the attempt of a lane, and choose what its next one is for. Returns whether that is another step."""
    if g.sampling[l] != STEP and g.state[l] != OK:
        _end(g, l, UNSOUND)
        return False
    if g.sampling[l] == SAMPLE:
        _keep(g, l, g.trial)
    elif g.sampling[l] == FINISH:
        g.t[l] += g.dt[l]
        _leave(g, l, EVENT, g.trial)
        return False
    elif g.events > 0 and not (narrow(g, l) if g.sampling[l] == LOCATE else changed(g, l)):
        _end(g, l, CALLBACK)
        return False
    while g.events > 0 and g.pending[l] != 0 and not (g.sampling[l] == LOCATE and g.pending[l] >> g.which[l] & 1):
        g.sampling[l] = LOCATE
        if not bracket(g, l):
            _end(g, l, CALLBACK)
            return False
    if g.events > 0 and g.pending[l] != 0:
        return False
    k, to = g.next_sample[l], _step_end(g, l)
    ends = g.events > 0 and g.finish[l] < 1e300
    if k < g.asked and (g.wanted[k] <= g.t[l] + g.finish[l] if ends else g.wanted[k] < to - _near(g, l, to)):
        g.sampling[l] = SAMPLE
        return False
    g.sampling[l] = FINISH if ends else STEP
    return not ends


@inline
def _step_end(g, l):
    return g.stop[l] if g.last[l] != 0 else g.t[l] + g.step_h[l]


@inline
def _near(g, l, to):
    """Wanted times this close to the end of a step are those of its end."""
    return 1e-13 * max(abs(to), g.step_h[l])


@native
def _arrive(g, l):
    """The lane is at the end of its step."""
    to = _step_end(g, l)
    near = _near(g, l, to)
    if g.last[l] != 0:
        g.t[l], g.carry[l] = g.stop[l], 0.0
    else:
        g.t[l], g.carry[l] = ticked(g.t[l], g.carry[l], g.step_h[l])
    for e in range(g.events):
        g.event_before[e * g.lanes + l] = g.event_after[e * g.lanes + l]
    while g.next_sample[l] < g.asked and g.wanted[g.next_sample[l]] <= g.t[l] + near:
        _keep(g, l, g.x)
    if g.t[l] >= g.end[l]:
        _end(g, l, OK)
    elif g.counts[g.run[l], STEPS] >= g.max_steps:
        _end(g, l, PAUSED)
    elif g.leaving[l] != 0:
        _end(g, l, SINGULAR)


@native
def _begin(g, l, i):
    """Put run i into lane l, at its start or where it goes on: ẋ there, the rate of its motion, its first step."""
    one, W, clock, fresh = g.one, g.lanes, g.clock[i], g.resumed[i] == 0
    one.clock.t, one.clock.end, one.step.max_h, one.clock.carry = (
        g.times[i, 0] if fresh else g.reached[i],
        g.times[i, 1],
        g.max_h,
        0.0,
    )
    one.attempt.margin, one.step.usual_h = 1.0, 0.0
    one.step.rtol, one.step.atol = g.rtol, g.atol
    for j in range(g.n):
        if not fresh:
            one.x[j] = g.ends[i, j]
        else:
            one.x[j] = g.ends[i, j] = g.starts[i, j] if j < g.nq + g.nv else 0.0
        one.unit[j] = g.lengths[i] if g.slide[j] != 0 else 1.0
    parameters(g, i)
    least = 1e300
    for k in range(g.m):
        least = min(least, g.sizes[i, k])
    if g.m > 0:
        one.ode.min_length, one.ode.row_scale = (g.near * least) ** 2, least * least
    g.min_length[l], g.row_scale[l] = one.ode.min_length, one.ode.row_scale
    if fresh:
        for k in range(len(clock)):
            clock[k] = 0.0
        g.reached[i], g.evidence[i, MARGIN] = one.clock.t, 1.0
        clock[H], clock[LAST_ERROR] = g.first_h[i], START
        clock[HELD], clock[SAMPLED_UNTIL] = 1.0, one.clock.t + g.hold
        if g.hold > 0.0 and not control(one, one.clock.t, one.x):
            g.outcomes[i] = CALLBACK
            return
        for j in range(g.nu):
            g.inputs[i, j] = one.ode.x[one.u_index + j]
    g.counts[i, EVALUATIONS] += 1
    outcome = evaluate(one, one.clock.t, one.x, one.stages[0])
    if outcome != OK:
        g.outcomes[i] = SINGULAR if outcome == UNSOUND else outcome
        return
    if clock[RATE] == 0.0:
        clock[RATE] = motion_rate(one)
    one.scales.rate, one.step.h = clock[RATE], clock[H]
    if one.step.h == 0.0:
        one.step.h = clock[H] = clock[USUAL_H] = first_step(one)
        g.counts[i, EVALUATIONS] += 1
    g.run[l], g.outcomes[i] = i, PAUSED
    g.t[l], g.end[l], g.sampling[l] = one.clock.t, one.clock.end, STEP
    take_up(g, l, i)
    for j in range(g.n):
        g.x[j * W + l], g.stages[0, j * W + l] = one.x[j], one.stages[0, j]
        g.unit[j * W + l] = one.unit[j] * (one.scales.rate if g.nq <= j < g.nq + g.nv else 1.0)
    for j in range(g.nu):
        g.ode.x[(g.u_index + j) * W + l] = one.ode.x[one.u_index + j]
    for j in range(g.np):
        value = g.parameters[i, j]
        if g.ode_p >= 0:
            g.ode.x[(g.ode_p + j) * W + l] = value
        if g.correct_p >= 0:
            g.correct.x[(g.correct_p + j) * W + l] = value
        if g.filter_p >= 0:
            g.filter.x[(g.filter_p + j) * W + l] = value
        if g.control_p >= 0:
            g.control.x[(g.control_p + j) * W + l] = value
    if g.events > 0:
        start_events(g, l, i)
    while g.next_sample[l] < g.asked and g.wanted[g.next_sample[l]] <= g.t[l]:
        _keep(g, l, g.x)
    if g.t[l] >= g.end[l]:
        _end(g, l, OK)


@native
def _end(g, l, outcome):
    """Free the lane; the results of its run stay."""
    _leave(g, l, outcome, g.x)


@native
def _leave(g, l, outcome, x):
    """Free the lane, whose run ends in the state x."""
    i, W = g.run[l], g.lanes
    g.outcomes[i], g.reached[i] = outcome, g.t[l]
    if outcome == SINGULAR:
        put_aside(g, l, i)
    for j in range(g.n):
        g.ends[i, j] = x[j * W + l]
    g.run[l], g.dt[l], g.sampling[l] = -1, 0.0, STEP


@inline
def _keep(g, l, x):
    """The state in x is that at the next wanted time."""
    i, k, W = g.run[l], g.next_sample[l], g.lanes
    for j in range(g.n):
        g.samples[i, k, j] = x[j * W + l]
    g.next_sample[l] = k + 1


@native
def _aim(g):
    """How far each lane goes in this attempt."""
    for l in range(g.lanes):
        g.state[l] = OK if g.run[l] >= 0 else IDLE
        g.margin[l], g.landing_margin[l], g.error[l], g.least_spread[l] = 1.0, 1.0, 0.0, 1e300
        if g.run[l] < 0:
            continue
        if g.sampling[l] != STEP:
            g.dt[l] = g.finish[l] if g.sampling[l] == FINISH else aim_event(g, l)
            if g.sampling[l] == SAMPLE:
                g.dt[l] = g.wanted[g.next_sample[l]] - g.t[l]
            continue
        if g.hold > 0.0 and g.t[l] >= g.sampled_until[l] and not _ask(g, l):
            _end(g, l, CALLBACK)
            g.state[l] = IDLE
            continue
        g.stop[l] = next_stop(g.end[l], g.sampled_until[l], g.hold)
        h = min(g.h[l], g.max_h)
        g.last[l] = 1 if is_last(g.stop[l] - g.t[l], h) else 0
        if g.last[l] != 0:
            g.dt[l] = g.stop[l] - g.t[l]
        else:
            g.dt[l] = representable(g.t[l], h) if g.exponent > 0.0 else h


@native
def _ask(g, l):
    """Sample the controller: its inputs hold from here on. Returns whether they, and ẋ with them, are sound."""
    one, W, i = g.one, g.lanes, g.run[l]
    parameters(g, i)
    one.clock.t = g.t[l]
    for j in range(g.n):
        one.x[j] = g.x[j * W + l]
    if not control(one, one.clock.t, one.x) or evaluate(one, one.clock.t, one.x, one.stages[0]) != OK:
        return False
    for j in range(g.nu):
        g.ode.x[(g.u_index + j) * W + l] = one.ode.x[one.u_index + j]
    for j in range(g.n):
        g.stages[0, j * W + l] = one.stages[0, j]
    g.held[l] += 1
    g.sampled_until[l] = g.times[i, 0] + g.held[l] * g.hold
    g.counts[i, EVALUATIONS] += 1
    return True


@native
def _judge(g, l):
    """Take the step, or choose a shorter one. Returns whether it is taken."""
    i, h = g.run[l], g.dt[l]
    outcome = g.state[l]
    smallest = least_length(g.one.ruler, g.rate[l], g.t[l])
    if g.last[l] == 0 and h <= g.one.ruler.rounding * abs(g.t[l]):
        _end(g, l, STEP_TOO_SMALL)
        return False
    if outcome != OK and outcome != REFUSED:
        g.counts[i, REJECTED] += 1
        if g.exponent == 0.0 or (outcome == UNSOUND and h <= g.one.ruler.close * g.usual_h[l]):
            _end(g, l, SINGULAR if outcome == UNSOUND else outcome)
            return False
        g.unsound[l] = g.unsound[l] + 1 if outcome == UNSOUND else 0
        g.h[l] = after_failure(g.one.ruler, h, g.unsound[l])
        if g.h[l] < smallest:
            _end(g, l, outcome)
        return False
    if g.exponent > 0.0 and not g.error[l] < 1.0:
        g.counts[i, REJECTED] += 1
        if g.unsound[l] < SHIFTS and g.margin[l] < g.one.ruler.lost:
            g.unsound[l] += 1
            g.h[l] = g.one.ruler.shift * h
        else:
            g.h[l] = after_error(h, g.error[l], g.exponent)
        if g.h[l] < smallest:
            _end(g, l, STEP_TOO_SMALL)
        return False
    g.leaving[l] = 0
    if g.m > 0:
        passage = look(g, l, i, h)
        if passage == SINGULAR:
            _end(g, l, SINGULAR)
            return False
        if passage == UNSOUND:
            g.counts[i, REJECTED] += 1
            return False
    if g.exponent > 0.0:
        _next_step(g, l, h)
    g.step_h[l], g.unsound[l] = h, 0
    g.counts[i, STEPS] += 1
    g.evidence[i, MARGIN] = min(g.evidence[i, MARGIN], g.margin[l])
    return True


@inline
def _next_step(g, l, h):
    """The step to try next, by the PI controller of `step_control`."""
    size = log(max(g.error[l], EASIEST))
    grow = SAFETY * exp(g.exponent * (LAST * g.last_error[l] - NOW * size))
    if g.last[l] == 0 or grow < 1.0:
        g.h[l] = after_step(h, grow)
    if g.last[l] == 0 and (g.by_landing[l] == 0.0 or h > g.usual_h[l]):
        g.usual_h[l] = usual_after(g.usual_h[l], h)
    g.last_error[l] = max(size, START)
