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

from dalembert.formulations.common import factor_in_metric, finish, particular, recover_forces, solved, times
from dalembert.formulations.problem import EUCLIDEAN, MASS, Problem
from dalembert.linalg import (
    axpy,
    cholesky,
    dot,
    solve_cholesky,
    solve_upper,
    solve_upper_rows,
    solve_upper_transposed,
)
from dalembert.linalg.rows import dot_fresh
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import MASS_SINGULAR, OK


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    without_basis = problem.metric == MASS and problem.damp == 0.0
    outcome = factor_in_metric(problem, not without_basis)
    if outcome != OK:
        return outcome
    if without_basis:
        return in_mass_metric(problem)
    particular(problem, problem.vdot)
    outcome = along_null_space(problem)
    if outcome != OK:
        return outcome
    recover_forces(problem)
    return solved(problem)


@native
def in_mass_metric(problem):
    """(1): two triangular solves with R instead of four, and no product with M."""
    A, f, gamma, upper, factor = problem.A, problem.f, problem.gamma, problem.upper, problem.factor
    vdot, force, multipliers, free, d = problem.vdot, problem.force, problem.multipliers, problem.n1, problem.m1
    y, core, left, basis, rank = factor.scratch, factor.core, factor.left, factor.basis, problem.rank
    m, n = A.shape
    for i in range(n):
        free[i] = f[i]
    solve_upper_transposed(upper, free)
    for i in range(n):
        vdot[i] = free[i]
        force[i] = 0.0
    for i in range(rank):
        y[2, i] = -(dot(left, i, gamma, 0, 0, m) + dot_fresh(core, i, y, 2, 0, i)) / core[i, i]
        d[i] = y[2, i] - dot(basis, i, free, 0, 0, n)
        axpy(d[i], basis, i, vdot, 0, 0, n)
    solve_upper(upper, vdot)
    for i in range(m):
        multipliers[i] = 0.0
    for i in range(rank - 1, -1, -1):
        x = d[i] / core[i, i]
        axpy(-x, core, i, d, 0, 0, i)
        axpy(x, left, i, multipliers, 0, 0, m)
    for i in range(m):
        axpy(multipliers[i], A, i, force, 0, 0, n)
    return solved(problem)


@native
def along_null_space(problem):
    """Add K (Kᵀ M K)⁻¹ Kᵀ (f − M c) to c in v̇; rows of square1 are the columns of K."""
    n, rank, K, basis = problem.n, problem.rank, problem.square1, problem.factor.basis
    for i in range(n - rank):
        for j in range(n):
            K[i, j] = basis[rank + i, j]
    if problem.metric != EUCLIDEAN:
        solve_upper_rows(problem.upper, K, n - rank)
    return reduced_solve(problem, n - rank)


@native
def reduced_solve(problem, p):
    """v̇ += K (Kᵀ M K)⁻¹ Kᵀ (f − M v̇) with the p columns of K in the rows of square1."""
    M, f, vdot, K, MK = problem.M, problem.f, problem.vdot, problem.square1, problem.square2
    rest, y, H = problem.n1, cut(problem.n2, 0, (p,)), cut(problem.flat, 0, (p, p))
    n = f.shape[0]
    times(M, vdot, rest)
    for i in range(n):
        rest[i] = f[i] - rest[i]
    for i in range(p):
        for j in range(n):
            MK[i, j] = dot(M, j, K, i, 0, n)
        for j in range(i + 1):
            H[j, i] = dot(MK, i, K, j, 0, n)
    for i in range(p):
        y[i] = dot(K, i, rest, 0, 0, n)
    status, _, _ = cholesky(H, H)
    if status != OK:
        return finish(problem, MASS_SINGULAR)
    solve_cholesky(H, y)
    for i in range(p):
        for j in range(n):
            vdot[j] += y[i] * K[i, j]
    return OK
