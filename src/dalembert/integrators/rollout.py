"""N steps of RK4 with projection for runs side by side, and their adjoint: one lane a run, kernels of all lanes.

    x₁ = filter(correctᵏ(x₀ + h Σ bᵢ kᵢ)),   kᵢ = ẋ(x₀ + h aᵢ kᵢ₋₁)                                         (1)

The adjoint takes the steps backwards: from the states after each of them it makes the stages anew, then multiplies the
weights by the transposed derivative of each kernel, last one first. Every derivative is one of (1) as it was computed,
Newton steps included. A lane whose elimination cannot be trusted, or whose projection does not converge, is NaN.
"""

from __future__ import annotations

import numpy as np

from dalembert.integrators.rollout_plan import RolloutPlan
from dalembert.native.calls import jump
from dalembert.native.jit import entry, inline, native
from dalembert.native.memory import cut, doubles
from dalembert.native.simd import assign, axpy, fill

A2, B1, B2 = 0.5, 1.0 / 6.0, 1.0 / 3.0  # of RK4


@entry(RolloutPlan)
def rollout(x, y, g):
    """x: (x₀, inputs of all steps, parameters) of every part, t; y: states after every step, of every part."""
    W, n, size = g.lanes, g.n * g.lanes, (g.n + g.steps * g.nu + g.np) * g.lanes
    given, m = doubles(x, g.parts * size + W), doubles(y, g.room)
    for d in range(g.parts):
        _copy(given, d * size, m, g.at_state + d * n, n)
    _clear(m, g.at_marks, (g.corrections + 2) * W)
    for k in range(g.steps):
        _drive(g, given, m, k, size)
        _step(g, given, m, y, k, size)
        _fail(g, m, g.at_state)
        for d in range(g.parts):
            _copy(m, g.at_state + d * n, m, (d * g.steps + k) * n, n)


@entry(RolloutPlan)
def rollout_adjoint(x, y, g):
    """x: as in `rollout`, then the states after every step and their weights, of every part; y: weights of x."""
    W, n, size = g.lanes, g.n * g.lanes, (g.n + g.steps * g.nu + g.np) * g.lanes
    before, path = g.parts * size + W, g.parts * g.steps * n
    given, m = doubles(x, before + 2 * path), doubles(y, g.room)
    _clear(m, 0, g.parts * size)
    _clear(m, g.at_weights, g.parts * n)
    _clear(m, g.at_marks, (g.corrections + 2) * W)
    for back in range(g.steps):
        k = g.steps - 1 - back
        for d in range(g.parts):
            after = before + (d * g.steps + k) * n
            _add(given, after + path, m, g.at_weights + d * n, n)
            _copy(given, d * size if k == 0 else after - n, m, g.at_state + d * n, n)
        _drive(g, given, m, k, size)
        _step(g, given, m, y, k, size)
        _clear(m, g.at_driven, g.parts * (g.nu + g.np) * W)
        _step_back(g, given, m, y, k, size)
        _fail(g, m, g.at_weights)
        for d in range(g.parts):
            own, u = d * size + n, g.nu * W
            part = g.at_driven + d * (g.nu + g.np) * W
            _copy(m, part, m, own + k * u, u)
            _add(m, part + u, m, own + g.steps * u, g.np * W)
    for d in range(g.parts):
        _copy(m, g.at_weights + d * n, m, d * size, n)


# --- one step -------------------------------------------------------------------------------------------------------


@native
def _step(g, given, m, base, k, size):
    """(1) from the state in place, to there; the states at which kernels were evaluated go to the tape."""
    n, h = g.parts * g.n * g.lanes, g.h
    state, tape, stages = g.at_state, g.at_tape, g.at_stages
    if g.ode != 0:
        for i in range(4):
            at = tape + i * n
            _copy(m, state, m, at, n)
            if i > 0:
                _axpy(h if i == 3 else A2 * h, m, stages + (i - 1) * n, at, n)
            _evaluate(g, given, m, base, g.ode, at, k, 0.0 if i == 0 else 1.0 if i == 3 else A2, size)
            _trust(g, m, g.at_out + n, g.at_marks + (g.corrections + 1) * g.lanes)
            _copy(m, g.at_out, m, stages + i * n, n)
        for i in range(4):
            _axpy(h * (B1 if i == 0 or i == 3 else B2), m, stages + i * n, state, n)
    if g.correct != 0:
        _correct(g, given, m, base, k, size)
    if g.filter != 0:
        at = tape + (4 + g.corrections) * n
        _copy(m, state, m, at, n)
        _evaluate(g, given, m, base, g.filter, at, k, 1.0, size)
        _trust(g, m, g.at_out + n, g.at_marks + (g.corrections + 1) * g.lanes)
        _copy(m, g.at_out, m, state, n)


@native
def _correct(g, given, m, base, k, size):
    """Newton steps of every lane until it is on the manifold; marks tell which lane took which."""
    W, n, failed = g.lanes, g.parts * g.n * g.lanes, g.at_marks + (g.corrections + 1) * g.lanes
    _clear(m, g.at_marks, g.corrections * W)
    for l in range(W):
        m[g.at_marks + l] = 1.0 if m[failed + l] == 0.0 else 0.0
    for j in range(g.corrections):
        at, marks, busy = g.at_tape + (4 + j) * n, g.at_marks + j * W, False
        _copy(m, g.at_state, m, at, n)
        _evaluate(g, given, m, base, g.correct, at, k, 1.0, size)
        for l in range(W):
            if m[marks + l] == 0.0:
                continue
            residual = 0.0
            for i in range(g.rows):
                residual = max(residual, abs(m[g.at_out + n + i * W + l]))
            angle, length = m[g.at_out + n + g.rows * W + l], m[g.at_out + n + (g.rows + 1) * W + l]
            if not (angle > g.least_angle and length > g.least_length):
                m[failed + l] = 1.0
            for i in range(g.parts * g.n):
                m[g.at_state + i * W + l] = m[g.at_out + i * W + l]
            if j + 1 < g.corrections and (j + 1 < g.least or not residual < g.tolerance):
                m[marks + W + l], busy = 1.0, True
            elif not residual < g.limit:
                m[failed + l] = 1.0
        if not busy:
            break


@native
def _step_back(g, given, m, base, k, size):
    """The weights in place, of the state after a step, become those before it; `driven` takes those of the rest."""
    n, W, h = g.parts * g.n * g.lanes, g.lanes, g.h
    bar, slope = g.at_weights, g.at_weights + g.parts * g.n * g.lanes
    if g.filter != 0:
        _transpose(g, given, m, base, g.filter_adjoint, g.at_tape + (4 + g.corrections) * n, bar, k, 1.0, size)
        _copy(m, g.at_out, m, bar, n)
        _add(m, g.at_out + n, m, g.at_driven, g.parts * (g.nu + g.np) * W)
    if g.correct != 0:
        for back in range(g.corrections):
            j = g.corrections - 1 - back
            if _any(m, g.at_marks + j * W, W):
                _transpose(g, given, m, base, g.correct_adjoint, g.at_tape + (4 + j) * n, bar, k, 1.0, size)
                _take(m, g.at_marks + j * W, g.at_out, bar, g.parts * g.n, W)
                _increase(m, g.at_marks + j * W, g.at_out + n, g.at_driven, g.parts * (g.nu + g.np), W)
    if g.ode != 0:
        # weights of kᵢ: h bᵢ x̄₁ + h aᵢ₊₁ x̄ᵢ₊₁, those of x₀ in place; the stages of the step forward are not needed now
        for i in range(4):
            _clear(m, g.at_stages + i * n, n)
            _axpy(h * (B1 if i == 0 or i == 3 else B2), m, bar, g.at_stages + i * n, n)
        for back in range(4):
            i = 3 - back
            _copy(m, g.at_stages + i * n, m, slope, n)
            part = 0.0 if i == 0 else 1.0 if i == 3 else A2
            _transpose(g, given, m, base, g.ode_adjoint, g.at_tape + i * n, slope, k, part, size)
            _add(m, g.at_out, m, bar, n)
            _add(m, g.at_out + n, m, g.at_driven, g.parts * (g.nu + g.np) * W)
            if i > 0:
                _axpy(h if i == 3 else A2 * h, m, g.at_out, g.at_stages + (i - 1) * n, n)


# --- kernels --------------------------------------------------------------------------------------------------------


@native
def _drive(g, given, m, k, size):
    """Inputs of a step and parameters, in place among the arguments of kernels."""
    W, n = g.lanes, g.parts * g.n * g.lanes
    for d in range(g.parts):
        own, to = d * size + g.n * W, g.at_given + n + d * (g.nu + g.np) * W
        _copy(given, own + k * g.nu * W, m, to, g.nu * W)
        _copy(given, own + g.steps * g.nu * W, m, to + g.nu * W, g.np * W)


@native
def _evaluate(g, given, m, base, kernel, at, k, c, size):
    """A kernel at a state, a part c of a step after the beginning of step k."""
    W, n = g.lanes, g.parts * g.n * g.lanes
    _copy(m, at, m, g.at_given, n)
    time = g.at_given + n + g.parts * (g.nu + g.np) * W
    for l in range(W):
        m[time + l] = given[g.parts * size + l] + (k + c) * g.h
    jump(kernel, base + 8 * g.at_given, base + 8 * g.at_out, base + 8 * g.at_work)


@native
def _transpose(g, given, m, base, kernel, at, weights, k, c, size):
    """The transposed derivative of a kernel at a state, times weights."""
    W, n = g.lanes, g.parts * g.n * g.lanes
    _copy(m, weights, m, g.at_given + n + (g.parts * (g.nu + g.np) + 1) * W, n)
    _evaluate(g, given, m, base, kernel, at, k, c, size)


@native
def _trust(g, m, margins, failed):
    """Mark lanes in which an elimination cannot be trusted."""
    for l in range(g.lanes):
        if not (m[margins + l] > g.least_angle and m[margins + g.lanes + l] > g.least_length):
            m[failed + l] = 1.0


@native
def _fail(g, m, at):
    """Numbers of lanes that have failed are NaN."""
    W = g.lanes
    for l in range(W):
        if m[g.at_marks + (g.corrections + 1) * W + l] != 0.0:
            for i in range(g.parts * g.n):
                m[at + i * W + l] = np.nan


# --- arrays ---------------------------------------------------------------------------------------------------------


@inline
def _copy(x, i, y, j, n):
    assign(1.0, cut(x, i, (n,)), 0, cut(y, j, (n,)), 0, 0, n)


@inline
def _add(x, i, y, j, n):
    axpy(1.0, cut(x, i, (n,)), 0, cut(y, j, (n,)), 0, 0, n)


@inline
def _axpy(a, m, i, j, n):
    axpy(a, cut(m, i, (n,)), 0, cut(m, j, (n,)), 0, 0, n)


@inline
def _clear(m, i, n):
    fill(0.0, cut(m, i, (n,)), 0, 0, n)


@inline
def _any(m, marks, W):
    total = 0.0
    for l in range(W):
        total += m[marks + l]
    return total > 0.0


@native
def _take(m, marks, i, j, n, W):
    """m[j:] ← m[i:] in lanes that are marked."""
    for l in range(W):
        if m[marks + l] != 0.0:
            for k in range(n):
                m[j + k * W + l] = m[i + k * W + l]


@native
def _increase(m, marks, i, j, n, W):
    """m[j:] += m[i:] in lanes that are marked."""
    for l in range(W):
        if m[marks + l] != 0.0:
            for k in range(n):
                m[j + k * W + l] += m[i + k * W + l]
