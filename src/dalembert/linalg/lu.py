"""LU factorization with partial pivoting of a small square matrix, in place."""

from __future__ import annotations

from ..native.jit import kernel


@kernel
def lu(a, pivots, least):
    """LU with partial pivoting in place; returns whether every pivot exceeds `least`."""
    n = a.shape[0]
    for k in range(n):
        best, size = k, abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > size:
                best, size = i, abs(a[i, k])
        pivots[k] = best
        if not size > least:
            return False
        if best != k:
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return True


@kernel
def lu_solve(a, pivots, x):
    """x ← a⁻¹ x with the factors of `lu`."""
    n = a.shape[0]
    for k in range(n):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]
    for k in range(n):
        for j in range(k):
            x[k] -= a[k, j] * x[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            x[k] -= a[k, j] * x[j]
        x[k] /= a[k, k]


@kernel
def solve_general(a, x, order):
    """x ← a⁻¹ x; a (n × n) is overwritten. Returns whether no pivot vanished."""
    if not lu(a, order, 0.0):
        return False
    lu_solve(a, order, x)
    return True
