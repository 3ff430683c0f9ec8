"""Singular positions of runs side by side: passed in the lane, or left to an excursion, after which the run comes back.

A step that comes close to a singular position is inspected as in `loop`. Passages that its stages resolve, and
positions met between two steps, are noted and the lane goes on. Where careful steps are needed the run leaves its
lane: state and clock are put aside, another run takes the lane, and Python carries the one that left past the position,
alone. Then it waits for a lane like a run that has not begun, and goes on with its own clock.
"""

from __future__ import annotations

from dalembert.integrators.guards.singularities import inspect, may_pass
from dalembert.integrators.lane_record import CLOCK, LOG
from dalembert.integrators.run_record import PASSAGE
from dalembert.integrators.step_control import SHIFTS
from dalembert.native.jit import native
from dalembert.outcome import OK, PASSED, SINGULAR, UNSOUND

#: numbers of a clock, in the order of `lane_record.CLOCK`
(
    CARRY, H, USUAL_H, LAST_ERROR, RATE, SIGMA, ROOT, ROOT_RATE, FALL, FALL_T, RISEN, HELD, SAMPLED_UNTIL, NEXT_SAMPLE,
) = range(len(CLOCK))  # fmt: skip


@native
def parameters(g, i):
    """Give parameters, inputs and usual lengths of rows of run i to the functions of one lane."""
    one = g.one
    for j in range(g.nu):
        one.ode.x[one.u_index + j] = g.inputs[i, j]
    for j in range(g.np):
        if g.one_p >= 0:
            one.ode.x[g.one_p + j] = g.parameters[i, j]
        if g.gauge_p >= 0:
            one.gauge.x[g.gauge_p + j] = g.parameters[i, j]
        if g.one_control_p >= 0:
            one.control.x[g.one_control_p + j] = g.parameters[i, j]
    if g.gauge_sizes >= 0:
        for k in range(g.measured):
            one.gauge.x[g.gauge_sizes + k] = g.measures[i, k]


@native
def look(g, l, i, h):
    """The outcome of `inspect` for the step of lane l, asked where constraint rows come close, and what follows of it.

    OK or PASSED for a step that may stand, UNSOUND for one that is too long, SINGULAR where the run has to leave.
    """
    sigma = max(g.end_margin[l], 0.0) ** 0.5
    root = max(g.spread[l], 0.0) ** 0.5
    way = 0.0
    for j in range(g.nq):
        way = max(way, abs(g.trial[j * g.lanes + l] - g.x[j * g.lanes + l]) / g.one.unit[j])
    near = may_pass(g.one.ruler, g.margin[l], g.least_spread[l], sigma, g.sigma[l], root, g.root[l], g.root_rate[l] * h)
    if not near and g.blind[l] == 0 and way <= g.one.ruler.seen * g.one.ruler.turn:
        g.sigma[l], g.root_rate[l], g.root[l] = sigma, (root - g.root[l]) / h, root
        if sigma > g.risen[l]:
            g.risen[l] = 0.0
        return OK
    one, W, there = g.one, g.lanes, g.rows - 1
    parameters(g, i)
    one.clock.t, one.step.h, one.step.usual_h, one.scales.rate, one.regime.blind = (
        g.t[l],
        h,
        g.usual_h[l],
        g.rate[l],
        g.blind[l],
    )
    one.attempt.margin, one.attempt.end_margin, one.singularity.sigma = g.margin[l], g.end_margin[l], g.sigma[l]
    one.attempt.largest_margin = max(sigma, g.sigma[l]) ** 2
    one.attempt.least_spread, one.attempt.spread, one.singularity.root, one.singularity.root_rate = (
        g.least_spread[l],
        g.spread[l],
        g.root[l],
        g.root_rate[l],
    )
    one.singularity.fall, one.singularity.fall_t, one.singularity.risen = g.fall[l], g.fall_t[l], g.risen[l]
    trial = one.stages[one.rows - 2]
    for j in range(g.n):
        one.x[j], one.stages[0, j] = g.x[j * W + l], g.stages[0, j * W + l]
        trial[j], one.stages[one.rows - 1, j] = g.trial[j * W + l], g.stages[there, j * W + l]
    outcome = inspect(one, h, trial)
    if outcome == UNSOUND:
        g.h[l] = one.step.h
    too_near = min(one.detected.sigma, one.detected.end_sigma) < one.ruler.near
    movable = g.exponent > 0.0 and g.last[l] == 0  # whether the step may end elsewhere
    if outcome in (OK, PASSED) and too_near and g.unsound[l] < SHIFTS and movable:
        g.unsound[l] += 1
        g.h[l] = one.ruler.shift * h
        return UNSOUND
    if outcome in (OK, PASSED) and too_near and g.last[l] != 0 and g.stop[l] == g.end[l] and one.regime.beyond != 0:
        return SINGULAR  # before the last step: an end beside the position is found inside a step
    if outcome in (OK, PASSED):
        g.sigma[l], g.root[l], g.root_rate[l] = one.detected.sigma, one.detected.root, one.detected.root_rate
        g.fall[l], g.fall_t[l], g.risen[l] = one.detected.fall, one.detected.fall_t, one.detected.risen
        g.leaving[l] = 1 if too_near else 0
    if outcome == PASSED:
        _note(g, l, i, h)
    return outcome


@native
def _note(g, l, i, h):
    """Log the passage that `inspect` has found in the step."""
    row, found, nx, W = g.log[g.logged], g.one.passages[0], g.nq + g.nv, g.lanes
    row[0] = float(i)
    for j in range(PASSAGE + nx):
        row[1 + j] = found[j]
    row[1 + 4], row[1 + 5], row[1 + 6] = 0.0, g.t[l], g.t[l] + h
    for j in range(g.nu):
        row[1 + PASSAGE + nx + j] = g.ode.x[(g.u_index + j) * W + l]
    g.logged += 1


@native
def log_is_full(g):
    """Whether the next attempt may find more passages than there is room for."""
    return g.logged + g.lanes > LOG


@native
def put_aside(g, l, i):
    """Keep the clock and the inputs of the run in lane l, for when it goes on."""
    W, clock = g.lanes, g.clock[i]
    clock[CARRY], clock[H], clock[USUAL_H], clock[LAST_ERROR] = g.carry[l], g.h[l], g.usual_h[l], g.last_error[l]
    clock[RATE], clock[SIGMA], clock[ROOT], clock[ROOT_RATE] = g.rate[l], g.sigma[l], g.root[l], g.root_rate[l]
    clock[FALL], clock[FALL_T], clock[RISEN] = g.fall[l], g.fall_t[l], g.risen[l]
    clock[HELD], clock[SAMPLED_UNTIL] = float(g.held[l]), g.sampled_until[l]
    clock[NEXT_SAMPLE] = float(g.next_sample[l])
    for j in range(g.nu):
        g.inputs[i, j] = g.ode.x[(g.u_index + j) * W + l]


@native
def take_up(g, l, i):
    """Set the clock of lane l to that of run i, which begins or goes on."""
    clock = g.clock[i]
    g.carry[l], g.h[l], g.usual_h[l], g.last_error[l] = clock[CARRY], clock[H], clock[USUAL_H], clock[LAST_ERROR]
    g.rate[l], g.sigma[l], g.root[l], g.root_rate[l] = clock[RATE], clock[SIGMA], clock[ROOT], clock[ROOT_RATE]
    g.fall[l], g.fall_t[l], g.risen[l] = clock[FALL], clock[FALL_T], clock[RISEN]
    g.held[l], g.sampled_until[l], g.next_sample[l] = int(clock[HELD]), clock[SAMPLED_UNTIL], int(clock[NEXT_SAMPLE])
    g.unsound[l], g.leaving[l], g.blind[l] = 0, 0, 0
    least, most = 1e300, 0.0
    for k in range(g.m):
        least, most = min(least, g.sizes[i, k]), max(most, g.sizes[i, k])
    if g.m > 0 and most > g.unequal * least:
        g.blind[l] = 1
