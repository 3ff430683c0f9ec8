"""Coordinate partitioning (Spencer 2.3.3, 2.46, 2.47): some coordinates lead, the others follow.

    R̄, S̄: unit vectors of the independent and the dependent coordinates
    K = R̄ − S̄ (A S̄)⁻¹ A R̄                                                                        (2.46)
    c = −S̄ (A S̄)⁻¹ γ                                                                             (2.47)
    v̇ = K (Kᵀ M K)⁻¹ Kᵀ (f − M c) + c                                                            (2.43b)

The dependent coordinates are the pivots of a column-pivoted QR of A (Remark 2), or what the user's choice leaves. With
redundant rows A S̄ has more rows than columns and its inverse is that of least squares. A choice that is not independent
here ends with CHART_SINGULAR (Remark 1).
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, finish, recover_forces, solved
from dalembert.formulations.nullspace import reduced_solve
from dalembert.formulations.problem import Problem
from dalembert.linalg import lu, lu_solve
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import CHART_SINGULAR, OK


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = factor_in_metric(problem, False)
    if outcome != OK:
        return outcome
    if not (choose(problem) and follow(problem)):
        return finish(problem, CHART_SINGULAR)
    outcome = reduced_solve(problem, problem.n - problem.rank)
    if outcome != OK:
        return outcome
    recover_forces(problem)
    return solved(problem)


@native
def choose(problem):
    """order[:rank] ← dependent coordinates, order[rank:n] ← independent ones. Returns whether the counts fit."""
    A, order, independent, rank = problem.A, problem.order, problem.independent, problem.rank
    m, n = A.shape
    wanted = 0
    for j in range(n):
        wanted += independent[j]
    if wanted > 0:
        d, k = 0, rank
        for j in range(n):
            if independent[j] == 0:
                if d < rank:
                    order[d] = j
                d += 1
            else:
                if k < n:
                    order[k] = j
                k += 1
        return wanted == n - rank
    columns = cut(problem.flat, 0, (n, m))  # rows of this array are the columns of A
    for j in range(n):
        for i in range(m):
            columns[j, i] = A[i, j]
    _pivot_columns(columns, order, rank)
    return True


@native
def _pivot_columns(c, perm, rank):
    """Gram-Schmidt with pivoting on the rows of c: perm[:rank] ← the rank rows that span them best."""
    n, m = c.shape
    for j in range(n):
        perm[j] = j
    for k in range(rank):
        best, size = k, -1.0
        for j in range(k, n):
            s = 0.0
            for i in range(m):
                s += c[perm[j], i] * c[perm[j], i]
            if s > size:
                best, size = j, s
        perm[k], perm[best] = perm[best], perm[k]
        p = perm[k]
        for j in range(k + 1, n):
            q, s = perm[j], 0.0
            for i in range(m):
                s += c[p, i] * c[q, i]
            s /= size
            for i in range(m):
                c[q, i] -= s * c[p, i]


@native
def follow(problem):
    """Rows of square1 ← columns of K (2.46); v̇ ← c (2.47). Returns whether A S̄ has full column rank.

    U of the factorization A = U T Q₁ᵀ reduces the rows first: with redundant rows, (A S̄)⁻¹ is that of least squares.
    """
    A, gamma, vdot, order, rank = problem.A, problem.gamma, problem.vdot, problem.order, problem.rank
    left, K = problem.factor.left, problem.square1
    m, n = A.shape
    p = n - rank
    B = cut(problem.flat, 0, (rank, rank))  # Uᵀ A S̄
    pivots, x = cut(order, n, (rank,)), cut(problem.nm, 0, (rank,))
    largest = 0.0
    for i in range(rank):
        for d in range(rank):
            s = 0.0
            for k in range(m):
                s += left[i, k] * A[k, order[d]]
            B[i, d] = s
            largest = max(largest, abs(s))
    if not lu(B, pivots, problem.tolerance * largest):
        return False
    for f in range(p + 1):
        for i in range(rank):
            s = 0.0
            for k in range(m):
                right = gamma[k] if f == p else A[k, order[rank + f]]
                s -= left[i, k] * right
            x[i] = s
        lu_solve(B, pivots, x)
        for j in range(n):
            if f == p:
                vdot[j] = 0.0
            else:
                K[f, j] = 0.0
        for d in range(rank):
            if f == p:
                vdot[order[d]] = x[d]
            else:
                K[f, order[d]] = x[d]
        if f < p:
            K[f, order[rank + f]] = 1.0
    return True
