"""Null-space formulation (Spencer 2.43, 3.5): work along the motions the constraints allow.

    K: basis of the null space of A;   c = K̇ẏ: the shortest solution of A c = −γ                 (2.42b, 3.4)
    v̇ = K (Kᵀ M K)⁻¹ Kᵀ (f − M c) + c                                                           (2.43b, 3.5)

Spencer takes K = V₂ of the SVD, the Euclidean metric here. In the mass metric Kᵀ M K = 1 and v̇ is the free acceleration
with its forbidden part removed, which needs no basis at all. With M = RᵀR, Ã = A R⁻¹ = U T Q₁ᵀ, f̃ = R⁻ᵀ f:

    d = −T⁻¹ Uᵀγ − Q₁ᵀ f̃,   v̇ = R⁻¹ (f̃ + Q₁ d),   λ = U T⁻ᵀ d                                       (1)

Redundant and singular constraints are welcome: rank and null space come from one rank-revealing factorization. The
paper's sign is −Gᵀλ.
"""

from __future__ import annotations

from dalembert.compiler.memory import matrix
from dalembert.formulations.common import factor_in_metric, finish, particular, recover_forces, times_mass
from dalembert.formulations.contract import EUCLIDEAN, MASS, MASS_SINGULAR, OK, RANK
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.linalg import (
    axpy,
    cholesky,
    dot,
    inner,
    kernel,
    solve_cholesky,
    solve_upper,
    solve_upper_rows,
    solve_upper_transposed,
)
from dalembert.linalg.rows import dot_fresh


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    without_basis = options.metric == MASS and options.damp == 0.0
    outcome = factor_in_metric(work, options, not without_basis)
    if outcome != OK:
        return outcome
    if without_basis:
        return in_mass_metric(work)
    particular(work, options, work.vdot)
    outcome = along_null_space(work, options)
    if outcome != OK:
        return outcome
    recover_forces(work, options)
    return finish(work, OK)


@inner
def in_mass_metric(work):
    """(1): two triangular solves with R instead of four, and no product with M."""
    m, n = work.A.shape
    rank, free, d = work.info[RANK], work.n1, work.m1
    y, core, left, basis = work.factor.scratch, work.factor.core, work.factor.left, work.factor.basis
    for i in range(n):
        free[i] = work.f[i]
    solve_upper_transposed(work.upper, free)
    for i in range(n):
        work.vdot[i] = free[i]
        work.force[i] = 0.0
    for i in range(rank):
        y[2, i] = -(dot(left, i, work.gamma, 0, 0, m) + dot_fresh(core, i, y, 2, 0, i)) / core[i, i]
        d[i] = y[2, i] - dot(basis, i, free, 0, 0, n)
        axpy(d[i], basis, i, work.vdot, 0, 0, n)
    solve_upper(work.upper, work.vdot)
    for i in range(m):
        work.multipliers[i] = 0.0
    for i in range(rank - 1, -1, -1):
        x = d[i] / core[i, i]
        axpy(-x, core, i, d, 0, 0, i)
        axpy(x, left, i, work.multipliers, 0, 0, m)
    for i in range(m):
        axpy(work.multipliers[i], work.A, i, work.force, 0, 0, n)
    return finish(work, OK)


@inner
def along_null_space(work, options):
    """Add K (Kᵀ M K)⁻¹ Kᵀ (f − M c) to c in work.vdot; rows of s2 are the columns of K."""
    n, rank = work.f.shape[0], work.info[RANK]
    p = n - rank
    K, MK = work.s2, work.s3
    for i in range(p):
        for j in range(n):
            K[i, j] = work.factor.basis[rank + i, j]
    if options.metric != EUCLIDEAN:
        solve_upper_rows(work.upper, K, p)
    return reduced_solve(work, K, MK, p)


@inner
def reduced_solve(work, K, MK, p):
    """v̇ += K (Kᵀ M K)⁻¹ Kᵀ (f − M v̇) with the p columns of K in the rows of K."""
    n = work.f.shape[0]
    times_mass(work, work.vdot, work.n1)
    for i in range(n):
        work.n1[i] = work.f[i] - work.n1[i]
    H = matrix(work.flat, 0, p, p)[0]
    for i in range(p):
        for j in range(n):
            MK[i, j] = dot(work.M, j, K, i, 0, n)
        for j in range(i + 1):
            H[j, i] = dot(MK, i, K, j, 0, n)
    y = work.n2[:p]
    for i in range(p):
        y[i] = dot(K, i, work.n1, 0, 0, n)
    status, _, _ = cholesky(H, H)
    if status != 0:
        return finish(work, MASS_SINGULAR)
    solve_cholesky(H, y)
    for i in range(p):
        for j in range(n):
            work.vdot[j] += y[i] * K[i, j]
    return OK


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
