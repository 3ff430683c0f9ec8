"""Projection formulation (Aghili): square projectors, no basis, three constraint inertia matrices.

    P = 1 − A⁺A,   C q̇ = −A⁺ γ                                                                     (15), (16)
    variant 0:  M_c  = M + PM − (PM)ᵀ,             M_c v̇  = P f + M C q̇                            (22)-(24)
    variant 1:  M_c′ = PMP + (1 − P) M (1 − P),    M_c′ v̇ = P f + (1 − 2P) M C q̇                   (27), (28)
    variant 2:  M_c″ = PM + σ (1 − P),             M_c″ v̇ = P f + σ C q̇                            (29)

f stands for the paper's f − h; its constraint force is −Aᵀλ. σ (the paper's γ) is `problem.sigma`, or where that is 0
the mean of M's diagonal: both terms have one size. In a metric W the equations are those of W^½ q̇, W^−½ f, M_W, A_W
(section 7.2; R takes the place of W^½). In the Euclidean metric, the paper's, units matter.
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, finish, recover_forces, solved, times
from dalembert.formulations.problem import EUCLIDEAN, Problem
from dalembert.linalg import (
    project_null,
    solve_general,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from dalembert.linalg import solve as shortest
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import MASS_SINGULAR, OK


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = factor_in_metric(problem, False)
    if outcome != OK:
        return outcome
    M, f, gamma, upper, factor = problem.M, problem.f, problem.gamma, problem.upper, problem.factor
    MW, PM, x, c, row, right = problem.square1, problem.square2, problem.vdot, problem.n1, problem.n2, problem.m1
    n = problem.n
    for i in range(n):
        x[i] = f[i]
        for j in range(n):
            MW[i, j] = M[i, j]
    if problem.metric != EUCLIDEAN:  # M_W = R⁻ᵀ M R⁻¹, f_W = R⁻ᵀ f
        solve_upper_transposed(upper, x)
        solve_upper_transposed_rows(upper, MW, n)
        _transpose(MW)
        solve_upper_transposed_rows(upper, MW, n)
    for i in range(problem.m):
        right[i] = -gamma[i]
    shortest(factor, right, c)  # C q̇, (16)
    project_null(factor, x, x)  # P f
    for i in range(n):  # P M: P applied to the columns, which by symmetry are the rows
        for j in range(n):
            row[j] = MW[i, j]
        project_null(factor, row, row)
        for j in range(n):
            PM[j, i] = row[j]
    K = cut(problem.flat, 0, (n, n))
    _constraint_inertia(problem, K)
    if not solve_general(K, x, problem.order):
        return finish(problem, MASS_SINGULAR)
    if problem.metric != EUCLIDEAN:
        solve_upper(upper, x)
    recover_forces(problem)
    return solved(problem)


@native
def _constraint_inertia(problem, K):
    """K ← M_c of the variant, from M and PM; the terms of C q̇ (n1) are added to the right side (v̇)."""
    MW, PM, x, c, row, factor = problem.square1, problem.square2, problem.vdot, problem.n1, problem.n2, problem.factor
    n, more = problem.n, cut(problem.nm, 0, (problem.n,))
    if problem.variant == 2:  # (29)
        scale = problem.sigma
        if scale == 0.0:
            for i in range(n):
                scale += MW[i, i] / n
        for i in range(n):
            for j in range(n):
                row[j] = 1.0 if i == j else 0.0
            project_null(factor, row, row)
            for j in range(n):
                K[i, j] = PM[i, j] + scale * ((1.0 if i == j else 0.0) - row[j])
            x[i] += scale * c[i]
        return
    times(MW, c, row)  # M C q̇
    if problem.variant == 0:  # (24)
        for i in range(n):
            for j in range(n):
                K[i, j] = MW[i, j] + PM[i, j] - PM[j, i]
            x[i] += row[i]
        return
    for i in range(n):  # (27): PMP + (1−P)M(1−P) = M − PM − MP + 2 PMP
        for j in range(n):
            more[j] = PM[i, j]
        project_null(factor, more, more)
        for j in range(n):
            K[i, j] = MW[i, j] - PM[i, j] - PM[j, i] + 2.0 * more[j]
    project_null(factor, row, more)
    for i in range(n):
        x[i] += row[i] - 2.0 * more[i]


@native
def _transpose(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j], a[j, i] = a[j, i], a[i, j]
