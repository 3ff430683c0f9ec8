"""The native part of `tree_slope`. Importing this imports Numba."""

from __future__ import annotations

from dalembert.integrators.large_jacobian import assemble
from dalembert.linalg import axpy, cholesky
from dalembert.native.calls import invoke
from dalembert.native.jit import entry
from dalembert.native.memory import doubles
from dalembert.native.simd import assign
from dalembert.outcome import OK
from dalembert.recursions.tree_pairs import tree_pairs
from dalembert.recursions.tree_slope import TreeSlope


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
    assemble(s, given, out)
