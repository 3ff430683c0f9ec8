"""Null-space formulation (Spencer 2.43, 3.5): work along the motions the constraints allow.

    K: basis of the null space of A;   c = K̇ẏ: the shortest solution of A c = −γ                 (2.42b, 3.4)
    v̇ = K (Kᵀ M K)⁻¹ Kᵀ (f − M c) + c                                                           (2.43b, 3.5)

Spencer takes K = V₂ of the SVD, the Euclidean metric here. In the mass metric Kᵀ M K = 1 and v̇ is the free acceleration
with its forbidden part removed, which needs no basis at all. Redundant and singular constraints are welcome: rank and
null space come from one rank-revealing factorization. The paper's sign is −Gᵀλ.
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, finish, particular, recover_forces, times_mass
from dalembert.formulations.contract import EUCLIDEAN, MASS, MASS_SINGULAR, OK, RANK
from dalembert.linalg import (
    cholesky,
    dot,
    kernel,
    project_null,
    small,
    solve_cholesky,
    solve_upper,
    solve_upper_rows,
    solve_upper_transposed,
)


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = factor_in_metric(work, options, options.metric != MASS)
    if outcome != OK:
        return outcome
    n = work.f.shape[0]
    particular(work, options, work.vdot)
    if options.metric == MASS:
        for i in range(n):
            work.n1[i] = work.f[i]
        solve_upper_transposed(work.upper, work.n1)  # R⁻ᵀ f: the free acceleration in whitened coordinates
        project_null(work.factor, work.n1, work.n1)
        solve_upper(work.upper, work.n1)
        for i in range(n):
            work.vdot[i] += work.n1[i]
    else:
        outcome = along_null_space(work, options)
        if outcome != OK:
            return outcome
    recover_forces(work, options)
    return finish(work, OK)


@small
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


@small
def reduced_solve(work, K, MK, p):
    """v̇ += K (Kᵀ M K)⁻¹ Kᵀ (f − M v̇) with the p columns of K in the rows of K."""
    n = work.f.shape[0]
    times_mass(work, work.vdot, work.n1)
    for i in range(n):
        work.n1[i] = work.f[i] - work.n1[i]
    H = work.flat[: p**2].reshape((p, p))
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
