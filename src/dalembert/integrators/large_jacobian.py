"""The native part of `large_slope`. Importing this imports Numba."""

from __future__ import annotations

from dalembert.integrators.large_slope import LargeSlope, TreeSlope
from dalembert.linalg import axpy, cholesky, lu, lu_solve
from dalembert.native.calls import invoke
from dalembert.native.jit import entry, native
from dalembert.native.memory import doubles
from dalembert.native.simd import assign
from dalembert.outcome import OK
from dalembert.recursions.tree_pairs import tree_pairs


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
    _assemble(s, given, out)


@entry(TreeSlope)
def tree_jacobian(x, y, s):
    """y ← ∂(q̇, v̇)/∂(q, v) at x of a tree; NaN where M is not positive."""
    nv, n, right, factor = s.nv, s.nq + s.nv, s.right, s.factor
    given, out, ode, columns, tree = doubles(x, s.given), doubles(y, n * n), s.ode, s.columns, s.tree
    for i in range(s.given):
        if s.ode_places[i] >= 0:
            ode.x[s.ode_places[i]] = given[i]
        if s.column_places[i] >= 0:
            columns.x[s.column_places[i]] = given[i]
    invoke(ode)
    for i in range(nv):
        columns.x[s.vdot + i] = ode.y[s.nq + i]
    invoke(columns)
    tree_pairs(tree)
    for i in range(nv):
        assign(-1.0, tree.by_q, i, right, i, 0, nv)
        for j in range(nv):
            right[i, nv + j] = -tree.by_v[i, j]
        if s.forced >= 0:
            for j in range(nv):
                right[i, j] += columns.y[s.forced + i * nv + j]
                right[i, nv + j] += columns.y[s.forced + (nv + i) * nv + j]
    status, _, _ = cholesky(tree.by_a, factor)
    if status != OK:
        for i in range(n * n):
            out[i] = 0.0 / 0.0
        return
    for k in range(nv):  # right ← M⁻¹ right, row by row
        for i in range(k):
            axpy(-factor[i, k], right, i, right, k, 0, 2 * nv)
        assign(1.0 / factor[k, k], right, k, right, k, 0, 2 * nv)
    for k in range(nv - 1, -1, -1):
        for i in range(k + 1, nv):
            axpy(-factor[k, i], right, i, right, k, 0, 2 * nv)
        assign(1.0 / factor[k, k], right, k, right, k, 0, 2 * nv)
    for i in range(n * n):
        out[i] = 0.0
    _assemble(s, given, out)


@native
def _assemble(s, given, out):
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
