"""One attempt of all lanes together: the stages of the method, its error, the landing on the manifold, ẋ there.

The steps are those of `explicit`, `manifold` and `loop`, written for [number, lane] instead of [number].
"""

from __future__ import annotations

from dalembert.integrators.loop import ROUNDING, SHORT
from dalembert.integrators.manifold import RUNAWAY
from dalembert.integrators.tableaus import Tableau
from dalembert.linalg.simd import assign, axpy, fill
from dalembert.native.calls import invoke
from dalembert.native.jit import inline, native
from dalembert.native.numba_struct import struct_at
from dalembert.outcome import DRIFTED, NOT_FINITE, OK, UNSOUND

WORK = 1e3  # as in `explicit`
IDLE, CORRECTING, REFUSED = -1, -2, -3  # of an attempt, beside outcomes; REFUSED: by its error
STEPS, REJECTED, EVALUATIONS, CORRECTIONS = range(4)
MARGIN, DRIFT, SPEED_DRIFT, ENERGY = range(4)

_tableau = struct_at(Tableau)


@native
def attempt(g):
    """One step of the method in every lane, landed on the manifold, with ẋ there."""
    method = _tableau(g.method)
    s, stages, trial = method.size, g.stages, g.trial
    for i in range(1, s):
        _combine(g, method.A[i], i)
        _evaluate(g, method.c[i], stages, i)
    _combine(g, method.b, s)
    if method.estimates > s:
        _evaluate(g, 1.0, stages, s)
    _errors(g, method)
    if g.project != 0:
        _land(g)
    _evaluate(g, 1.0, stages, g.rows - 1)
    for l in range(g.lanes):
        if g.run[l] >= 0 and g.state[l] == OK:
            total = 0.0
            for j in range(g.n):
                total += trial[j * g.lanes + l] - trial[j * g.lanes + l]
            if total != 0.0:
                g.state[l] = NOT_FINITE


@inline
def _combine(g, weights, count):
    """trial ← x + dt Σ w_k stages[k] with `count` weights."""
    W, size = g.lanes, g.n * g.lanes
    x, trial, stages, dt = g.x, g.trial, g.stages, g.dt
    fill(0.0, trial, 0, 0, size)
    for k in range(count):
        if weights[k] != 0.0:
            axpy(weights[k], stages, k, trial, 0, 0, size)
    for j in range(0, size, W):
        for l in range(W):
            trial[j + l] = x[j + l] + dt[l] * trial[j + l]


@native
def _evaluate(g, c, stages, row):
    """stages[row] ← ẋ at the trial states, a part c of the attempt after their times."""
    f, W = g.ode, g.lanes
    given, out, size = f.x, f.y, g.n * W
    if g.control.address != 0:
        _steer(g, g.control, c)
    assign(1.0, g.trial, 0, given, 0, 0, (g.nq + g.nv) * W)
    if f.time_index >= 0:
        for l in range(W):
            given[f.time_index * W + l] = g.t[l] + c * g.dt[l]
    invoke(f)
    assign(1.0, out, 0, stages, row, 0, size)
    for l in range(W):
        angle, length = out[size + l], out[size + W + l]
        relative = length / max(g.row_scale[l], 1e-300)
        g.end_margin[l], g.spread[l] = min(angle, relative), angle * relative
        g.margin[l], g.least_spread[l] = min(g.margin[l], g.end_margin[l]), min(g.least_spread[l], g.spread[l])
        if not (angle > f.min_angle and length > g.min_length[l]) and g.state[l] == OK:
            g.state[l] = UNSOUND
        if g.run[l] >= 0:
            g.counts[g.run[l], EVALUATIONS] += 1


@native
def _steer(g, f, c):
    """Inputs of the right-hand side from the controller, at the trial states."""
    W, out = g.lanes, f.y
    assign(1.0, g.trial, 0, f.x, 0, 0, (g.nq + g.nv) * W)
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
    W, n, count = g.lanes, g.n - g.works, method.estimates
    size, sums, stages, e5, e3 = g.n * W, g.sums, g.stages, method.e5, method.e3
    fill(0.0, sums, 0, 0, size)
    fill(0.0, sums, 1, 0, size)
    for k in range(count):
        if e5[k] != 0.0:
            axpy(e5[k], stages, k, sums, 0, 0, size)
        if e3[k] != 0.0:
            axpy(e3[k], stages, k, sums, 1, 0, size)
    for l in range(W):
        if g.run[l] < 0:
            continue
        five, three, h = 0.0, 0.0, g.dt[l]
        for j in range(n):
            at = j * W + l
            scale = _tolerance(g, j, l, max(abs(g.x[at]), abs(g.trial[at])))
            five += (sums[0, at] / scale) ** 2
            three += (sums[1, at] / scale) ** 2
        error = h * five / ((five + 0.01 * three) * n) ** 0.5 if five > 0.0 else 0.0
        inertia = g.inertias[g.run[l]]
        for j in range(n, g.n):
            at = j * W + l
            scale = WORK * g.rtol * (abs(g.trial[at]) + inertia * g.rate[l] ** 2)
            error = max(error, h * abs(sums[0, at]) / max(scale, 1e-300))
        g.error[l] = error if error - error == 0.0 else 1e301
        if g.state[l] == OK and not g.error[l] < 1.0 + g.sampling[l]:
            g.state[l] = REFUSED


@inline
def _unit(g, j, l):
    """The unit of number j of x in a lane."""
    unit = g.lengths[g.run[l]] if g.slide[j] != 0 else 1.0
    return unit * g.rate[l] if g.nq <= j < g.nq + g.nv else unit


@inline
def _tolerance(g, j, l, size):
    return g.atol * _unit(g, j, l) + g.rtol * size


@native
def _land(g):
    """Bring the trial states onto the manifold; what moves them is error of the step."""
    W, size = g.lanes, (g.nq + g.nv) * g.lanes
    assign(1.0, g.trial, 0, g.raw, 0, 0, size)
    f = g.correct
    if f.address != 0:
        _correct(g, f)
    f = g.filter
    if f.address != 0:
        _filter(g, f)
    n = g.nq + g.nv
    for l in range(W):
        if g.run[l] < 0 or g.state[l] != OK or g.sampling[l] != 0 or not g.dt[l] > SHORT * g.usual_h[l]:
            continue
        moved, noise = 0.0, ROUNDING / max(g.landing_margin[l], 1e-300)
        for j in range(n):
            size_here = abs(g.trial[j * W + l])
            scale = _tolerance(g, j, l, size_here) + noise * max(_unit(g, j, l), size_here)
            moved += ((g.trial[j * W + l] - g.raw[j * W + l]) / scale) ** 2
        g.error[l] = max(g.error[l], (moved / n) ** 0.5)


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
        busy = False
        for l in range(W):
            if g.state[l] != CORRECTING:
                continue
            i, residual = g.run[l], 0.0
            for r in range(m):
                residual = max(residual, abs(out[(nq + r) * W + l]))
            if k == 0:
                g.evidence[i, DRIFT] = max(g.evidence[i, DRIFT], residual)
            if not residual < RUNAWAY * max(1.0, g.length):
                g.state[l] = DRIFTED
            elif not _trusted(g, f, l, out[(nq + m) * W + l], out[(nq + m + 1) * W + l]):
                g.state[l] = UNSOUND
            else:
                for j in range(nq):
                    g.trial[j * W + l] = out[j * W + l]
                g.counts[i, CORRECTIONS] += 1
                if residual < g.tolerance:
                    g.state[l] = OK
                else:
                    busy = True
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
    for l in range(W):
        if g.state[l] != OK:
            continue
        i = g.run[l]
        for r in range(m):
            g.evidence[i, SPEED_DRIFT] = max(g.evidence[i, SPEED_DRIFT], abs(out[(nv + r) * W + l]))
        if not _trusted(g, f, l, out[(nv + m) * W + l], out[(nv + m + 1) * W + l]):
            g.state[l] = UNSOUND
        else:
            for j in range(nv):
                g.trial[(nq + j) * W + l] = out[j * W + l]


@inline
def _trusted(g, f, l, angle, length):
    """Note the margin of a landing; returns whether its elimination can be trusted."""
    g.landing_margin[l] = min(g.landing_margin[l], angle, length / max(g.row_scale[l], 1e-300))
    return angle > f.min_angle and length > g.min_length[l]
