"""Admissible-motion formulation (Kövecses & Piedboeuf): split by projectors that are orthogonal in the mass metric.

    P_a = 1 − L⁻¹ (A L⁻¹)⁺ A,   M = LᵀL                                                            (17)
    variant 0:  v̇ = P_a M⁻¹ f − L⁻¹ (A L⁻¹)⁺ γ                                                     (30), (31)
    variant 1:  M v̇ + Lᵀ (A L⁻¹)⁺ γ − P_aᵀ f = 0                                                   (28)

γ = Ȧv + ḃ, so that time-driven and nonholonomic constraints are included. The projectors are self-adjoint in the mass
metric (M P_a = P_aᵀ M), not symmetric as the paper says. The metric is always that of the mass.
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, particular, recover_forces, solved, times
from dalembert.formulations.problem import MASS, Problem
from dalembert.linalg import project_null, solve_cholesky, solve_upper, solve_upper_transposed
from dalembert.native.jit import entry, native
from dalembert.outcome import OK


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    problem.metric = MASS
    outcome = factor_in_metric(problem, False)
    if outcome != OK:
        return outcome
    f, vdot, x, more, upper, n = problem.f, problem.vdot, problem.n1, problem.n2, problem.upper, problem.n
    particular(problem, vdot)  # −L⁻¹ Ã⁺ γ
    for i in range(n):
        x[i] = f[i]
    if problem.variant == 0:
        solve_cholesky(upper, x)  # M⁻¹ f
        admissible(problem, x)  # (30)
        for i in range(n):
            vdot[i] += x[i]  # (31)
    else:
        admissible_dual(problem, x)  # P_aᵀ f
        times(problem.M, vdot, more)
        for i in range(n):
            x[i] += more[i]
        solve_cholesky(upper, x)  # (28)
        for i in range(n):
            vdot[i] = x[i]
    recover_forces(problem)
    return solved(problem)


@native
def admissible(problem, x):
    """x ← P_a x = L⁻¹ (1 − Ã⁺Ã) L x."""
    upper, n = problem.upper, x.shape[0]
    for i in range(n):
        s = 0.0
        for j in range(i, n):
            s += upper[i, j] * x[j]
        x[i] = s
    project_null(problem.factor, x, x)
    solve_upper(upper, x)


@native
def admissible_dual(problem, x):
    """x ← P_aᵀ x = Lᵀ (1 − Ã⁺Ã) L⁻ᵀ x."""
    upper, n = problem.upper, x.shape[0]
    solve_upper_transposed(upper, x)
    project_null(problem.factor, x, x)
    for i in range(n - 1, -1, -1):
        s = 0.0
        for j in range(i + 1):
            s += upper[j, i] * x[j]
        x[i] = s
