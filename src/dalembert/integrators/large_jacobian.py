"""The native part of `large_slope`. Importing this imports Numba."""

from __future__ import annotations

from dalembert.integrators.large_slope import LargeSlope
from dalembert.linalg import axpy, lu, lu_solve
from dalembert.native.calls import invoke
from dalembert.native.jit import entry, native
from dalembert.native.memory import doubles


@entry(LargeSlope)
def large_jacobian(x, y, s):
    """y ← ∂(q̇, v̇)/∂(q, v) at x; NaN where the equations do not determine v̇."""
    nq, nv, k = s.nq, s.nv, s.nv + s.m
    n = nq + nv
    given, out = doubles(x, s.given), doubles(y, n * n)
    for i in range(n * n):
        out[i] = 0.0
    _place(s, given)
    for i in range(k):
        s.z[i] = 0.0
    _rows(s)
    J, left, right, z = s.J, s.left, s.right, s.z
    for i in range(k):
        z[i] = -J[i, s.columns - 1]
        for j in range(k):
            left[i, j] = J[i, s.unknowns + j]
    if not lu(left, s.pivots, 0.0):
        for i in range(n * n):
            out[i] = 0.0 / 0.0
        return
    lu_solve(left, s.pivots, z)
    _rows(s)
    for i in range(k):
        for j in range(2 * nv):
            right[i, j] = -J[i, j]
    _divide(left, s.pivots, right)
    assemble(s, given, out)


@native
def assemble(s, given, out):
    """∂(q̇, v̇)/∂(q, v) from ∂v̇/∂(δ, v), `right`."""
    nq, nv, right = s.nq, s.nv, s.right
    n = nq + nv
    rates = s.rates
    for i in range(n):
        rates.x[i] = given[i]
    invoke(rates)
    places = s.upper_places
    for i in range(s.upper):
        out[places[i, 0] * n + places[i, 1]] = rates.y[i]
    places = s.lower_places
    for e in range(s.lower):  # v̇_q ∂δ/∂q
        d = rates.y[s.upper + e]
        for i in range(nv):
            out[(nq + i) * n + places[e, 1]] += right[i, places[e, 0]] * d
    for i in range(nv):
        for j in range(nv):
            out[(nq + i) * n + nq + j] = right[i, nv + j]


@native
def _place(s, given):
    """Put q, v, u, p and t into all lanes."""
    x, lanes, moved = s.rows.x, s.lanes, s.moved
    for i in range(s.given):
        if moved[i] >= 0:
            for lane in range(lanes):
                x[moved[i] * lanes + lane] = given[i]


@native
def _rows(s):
    """J at (x, z), as many rows at once as there are lanes."""
    f, lanes, nv, k, J, z = s.rows, s.lanes, s.nv, s.nv + s.m, s.J, s.z
    x, y = f.x, f.y
    for i in range(k):
        place = s.vdot + i if i < nv else s.multipliers + i - nv
        for lane in range(lanes):
            x[place * lanes + lane] = z[i]
    for i in range(s.weights * lanes, f.nx):  # the weights are the last inputs of the kernel
        x[i] = 0.0
    for first in range(0, k, lanes):
        for lane in range(lanes):
            if first + lane < k:
                x[(s.weights + first + lane) * lanes + lane] = 1.0
        invoke(f)
        for lane in range(lanes):
            if first + lane < k:
                x[(s.weights + first + lane) * lanes + lane] = 0.0
                for j in range(s.columns):
                    J[first + lane, j] = y[j * lanes + lane]


@native
def _divide(a, pivots, X):
    """X ← a⁻¹ X with the factors of `lu`, row by row."""
    n, c = X.shape
    for k in range(n):
        if pivots[k] != k:
            for j in range(c):
                X[k, j], X[pivots[k], j] = X[pivots[k], j], X[k, j]
    for k in range(n):
        for i in range(k):
            axpy(-a[k, i], X, i, X, k, 0, c)
    for k in range(n - 1, -1, -1):
        for i in range(k + 1, n):
            axpy(-a[k, i], X, i, X, k, 0, c)
        for j in range(c):
            X[k, j] /= a[k, k]
