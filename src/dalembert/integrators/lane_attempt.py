"""One attempt of all lanes together: the stages of the method, its error, the landing on the manifold, ẋ there.

The steps are those of `explicit`, `manifold` and `loop`, written for [number, lane] instead of [number].
"""

from __future__ import annotations

from dalembert.integrators.lane_record import CORRECTIONS, DRIFT, EVALUATIONS, SPEED_DRIFT
from dalembert.integrators.stage import work_tolerance
from dalembert.integrators.tableaus import Tableau
from dalembert.linalg.lane_rows import (
    combine,
    error_sums,
    estimate,
    largest,
    least_margins,
    lower,
    margins,
    moved_sums,
    not_finite,
    take,
)
from dalembert.native.calls import invoke, invoke_into
from dalembert.native.jit import inline, native
from dalembert.native.numba_struct import struct_at
from dalembert.native.simd import assign
from dalembert.outcome import DRIFTED, NOT_FINITE, OK, UNSOUND

IDLE, CORRECTING, REFUSED = -1, -2, -3  # of an attempt, beside outcomes; REFUSED: by its error

_tableau = struct_at(Tableau)


@native
def attempt(g):
    """One step of the method in every lane, landed on the manifold, with ẋ there."""
    method, given = _tableau(g.method), g.ode.x
    W, s, stages, size, moving = g.lanes, method.size, g.stages, g.n * g.lanes, (g.nq + g.nv) * g.lanes
    for i in range(1, s):
        combine(g.x, g.dt, method.A[i], i, stages, given, moving, W)
        _evaluate(g, method.c[i], i)
    combine(g.x, g.dt, method.b, s, stages, g.trial, size, W)
    evaluations = s
    if method.estimates > s:
        assign(1.0, g.trial, 0, given, 0, 0, moving)
        _evaluate(g, 1.0, s)
        evaluations += 1
    _doubt(g, least_margins(
        stages, 1, evaluations, g.n, g.ode.min_angle, g.min_length, g.row_scale, g.margin, g.least_spread, W
    ))  # fmt: skip
    if method.estimates > 0:
        _errors(g, method)
    if g.project != 0:
        _land(g)
    assign(1.0, g.trial, 0, given, 0, 0, moving)
    _evaluate(g, 1.0, g.rows - 1)
    last = stages[g.rows - 1]
    _doubt(g, margins(last, g.n, g.ode.min_angle, g.min_length, g.row_scale, g.end_margin, g.spread, W))
    lower(g.end_margin, g.margin, W)
    lower(g.spread, g.least_spread, W)
    bad = not_finite(g.trial, size, W)
    for l in range(W):
        if g.run[l] >= 0:
            g.counts[g.run[l], EVALUATIONS] += evaluations
            if bad >> l & 1 and g.state[l] == OK:
                g.state[l] = NOT_FINITE


@native
def _evaluate(g, c, row):
    """stages[row] ← ẋ at the states in place in the right-hand side, a part c of the attempt after their times."""
    f, W = g.ode, g.lanes
    if g.control.address != 0:
        _steer(g, g.control, c)
    if f.time_index >= 0:
        for l in range(W):
            f.x[f.time_index * W + l] = g.t[l] + c * g.dt[l]
    invoke_into(f, g.stages[row])


@inline
def _doubt(g, lanes):
    """Lanes, as bits, in which an elimination cannot be trusted."""
    if lanes != 0:
        for l in range(g.lanes):
            if lanes >> l & 1 and g.state[l] == OK:
                g.state[l] = UNSOUND


@native
def _steer(g, f, c):
    """Inputs of the right-hand side from the controller, at the states in place there."""
    W, out = g.lanes, f.y
    assign(1.0, g.ode.x, 0, f.x, 0, 0, (g.nq + g.nv) * W)
    if f.time_index >= 0:
        for l in range(W):
            f.x[f.time_index * W + l] = g.t[l] + c * g.dt[l]
    invoke(f)
    for j in range(g.nu):
        for l in range(W):
            g.ode.x[(g.u_index + j) * W + l] = out[j * W + l]


@native
def _errors(g, method):
    """The estimated error of each lane over its tolerances, as `explicit` has it."""
    W, n, count, size = g.lanes, g.n - g.works, method.estimates, g.n * g.lanes
    estimate(method.e5, count, g.stages, g.errors, size)
    estimate(method.e3, count, g.stages, g.others, size)
    error_sums(g.x, g.trial, g.unit, g.atol, g.rtol, g.errors, g.others, g.five, g.three, n * W, W)
    for l in range(W):
        if g.run[l] < 0:
            continue
        five, h = g.five[l], g.dt[l]
        error = h * five / ((five + 0.01 * g.three[l]) * n) ** 0.5 if five > 0.0 else 0.0
        for j in range(n, g.n):
            at = j * W + l
            scale = work_tolerance(g.rtol, g.trial[at], g.inertias[g.run[l]], g.rate[l])
            error = max(error, h * abs(g.errors[at]) / scale)
        g.error[l] = error if error - error == 0.0 else 1e301
        if g.state[l] == OK and not g.error[l] < 1.0 + g.sampling[l]:
            g.state[l] = REFUSED


@native
def _land(g):
    """Bring the trial states onto the manifold; what moves them is error of the step."""
    W, n = g.lanes, g.nq + g.nv
    assign(1.0, g.trial, 0, g.raw, 0, 0, n * W)
    f = g.correct
    if f.address != 0:
        _correct(g, f)
    f = g.filter
    if f.address != 0:
        _filter(g, f)
    for l in range(W):
        g.noise[l] = g.one.ruler.rounding / max(g.landing_margin[l], 1e-300)
    moved_sums(g.trial, g.raw, g.unit, g.atol, g.rtol, g.noise, g.five, n * W, W)
    for l in range(W):
        g.by_landing[l] = 0.0
        if g.run[l] >= 0 and g.state[l] == OK and g.sampling[l] == 0 and g.dt[l] > g.one.ruler.short * g.usual_h[l]:
            moved = (g.five[l] / n) ** 0.5
            if moved > g.error[l]:
                g.error[l], g.by_landing[l] = moved, 1.0


@native
def _correct(g, f):
    """Positions: Newton steps of least length, each lane until it is on the manifold."""
    W, nq, m, given, out = g.lanes, g.nq, f.rows, f.x, f.y
    for l in range(W):
        if g.state[l] == OK:
            g.state[l] = CORRECTING
    for k in range(g.max_corrections):
        assign(1.0, g.trial, 0, given, 0, 0, nq * W)
        if f.time_index >= 0:
            for l in range(W):
                given[f.time_index * W + l] = g.t[l] + g.dt[l]
        invoke(f)
        largest(out, g.five, nq * W, (nq + m) * W, W)
        doubtful = margins(out, nq + m, f.min_angle, g.min_length, g.row_scale, g.three, g.noise, W)
        busy = False
        for l in range(W):
            g.chosen[l] = 0.0
            if g.state[l] != CORRECTING:
                continue
            i, residual = g.run[l], g.five[l]
            if k == 0:
                g.evidence[i, DRIFT] = max(g.evidence[i, DRIFT], residual)
            if not residual < g.one.ruler.runaway * g.widest:
                g.state[l] = DRIFTED
                continue
            g.landing_margin[l] = min(g.landing_margin[l], g.three[l])
            if doubtful >> l & 1:
                g.state[l] = UNSOUND
            else:
                g.chosen[l] = 1.0
                g.counts[i, CORRECTIONS] += 1
                if residual < g.tolerance:
                    g.state[l] = OK
                else:
                    busy = True
        take(g.chosen, out, 0, g.trial, 0, nq * W, W)
        if not busy:
            break
    for l in range(W):
        if g.state[l] == CORRECTING:
            g.state[l] = OK


@native
def _filter(g, f):
    """Velocities: the nearest admissible ones."""
    W, nq, nv, m, out = g.lanes, g.nq, g.nv, f.rows, f.y
    assign(1.0, g.trial, 0, f.x, 0, 0, (nq + nv) * W)
    if f.time_index >= 0:
        for l in range(W):
            f.x[f.time_index * W + l] = g.t[l] + g.dt[l]
    invoke(f)
    largest(out, g.five, nv * W, (nv + m) * W, W)
    doubtful = margins(out, nv + m, f.min_angle, g.min_length, g.row_scale, g.three, g.noise, W)
    for l in range(W):
        g.chosen[l] = 0.0
        if g.state[l] != OK:
            continue
        i = g.run[l]
        g.evidence[i, SPEED_DRIFT] = max(g.evidence[i, SPEED_DRIFT], g.five[l])
        g.landing_margin[l] = min(g.landing_margin[l], g.three[l])
        if doubtful >> l & 1:
            g.state[l] = UNSOUND
        else:
            g.chosen[l] = 1.0
    take(g.chosen, out, 0, g.trial, nq * W, nv * W, W)
