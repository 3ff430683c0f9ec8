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

from dalembert.compiler.memory import matrix
from dalembert.formulations.common import factor_in_metric, finish, recover_forces
from dalembert.formulations.contract import CHART_SINGULAR, OK, RANK
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.formulations.nullspace import reduced_solve
from dalembert.linalg import inner, kernel, lu, lu_solve


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = factor_in_metric(work, options, False)
    if outcome != OK:
        return outcome
    n, rank = work.f.shape[0], work.info[RANK]
    if not choose(work, rank):
        return finish(work, CHART_SINGULAR)
    if not follow(work, rank, options.tolerance):
        return finish(work, CHART_SINGULAR)
    outcome = reduced_solve(work, work.s2, work.s3, n - rank)
    if outcome != OK:
        return outcome
    recover_forces(work, options)
    return finish(work, OK)


@inner
def choose(work, rank):
    """order[:rank] ← dependent coordinates, order[rank:n] ← independent ones. Returns whether the counts fit."""
    m, n = work.A.shape
    wanted = 0
    for j in range(n):
        wanted += work.choice[j]
    if wanted > 0:
        d, k = 0, rank
        for j in range(n):
            if work.choice[j] == 0:
                if d < rank:
                    work.order[d] = j
                d += 1
            else:
                if k < n:
                    work.order[k] = j
                k += 1
        return wanted == n - rank
    columns = matrix(work.flat, 0, n, m)[0]  # rows of this array are the columns of A
    for j in range(n):
        for i in range(m):
            columns[j, i] = work.A[i, j]
    _pivot_columns(columns, work.order[:n], rank)
    return True


@inner
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


@inner
def follow(work, rank, tolerance):
    """Rows of s2 ← columns of K (2.46); vdot ← c (2.47). Returns whether A S̄ has full column rank.

    U of the factorization A = U T Q₁ᵀ reduces the rows first: with redundant rows, (A S̄)⁻¹ is that of least squares.
    """
    m, n = work.A.shape
    p = n - rank
    B = matrix(work.flat, 0, rank, rank)[0]  # Uᵀ A S̄
    left, K = work.factor.left, work.s2
    largest = 0.0
    for i in range(rank):
        for d in range(rank):
            s = 0.0
            for k in range(m):
                s += left[i, k] * work.A[k, work.order[d]]
            B[i, d] = s
            largest = max(largest, abs(s))
    pivots = work.order[n : n + rank]
    if not lu(B, pivots, tolerance * largest):
        return False
    x = work.nm[:rank]
    for f in range(p + 1):
        for i in range(rank):
            s = 0.0
            for k in range(m):
                right = work.gamma[k] if f == p else work.A[k, work.order[rank + f]]
                s -= left[i, k] * right
            x[i] = s
        lu_solve(B, pivots, x)
        for j in range(n):
            if f == p:
                work.vdot[j] = 0.0
            else:
                K[f, j] = 0.0
        for d in range(rank):
            if f == p:
                work.vdot[work.order[d]] = x[d]
            else:
                K[f, work.order[d]] = x[d]
        if f < p:
            K[f, work.order[rank + f]] = 1.0
    return True


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
