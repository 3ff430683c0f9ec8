"""Admissible-motion formulation (Kövecses & Piedboeuf): split by projectors that are orthogonal in the mass metric.

    P_a = 1 − L⁻¹ (A L⁻¹)⁺ A,   M = LᵀL                                                            (17)
    variant 0:  v̇ = P_a M⁻¹ f − L⁻¹ (A L⁻¹)⁺ γ                                                     (30), (31)
    variant 1:  M v̇ + Lᵀ (A L⁻¹)⁺ γ − P_aᵀ f = 0                                                   (28)

γ = Ȧv + ḃ, so that time-driven and nonholonomic constraints are included. The projectors are self-adjoint in the mass
metric (M P_a = P_aᵀ M), not symmetric as the paper says. The metric is always that of the mass.
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, finish, particular, recover_forces, times_mass
from dalembert.formulations.contract import MASS, OK, Options
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.linalg import inner, kernel, project_null, solve_cholesky, solve_upper, solve_upper_transposed


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    o = options
    options = Options(MASS, o.tolerance, o.safety, o.threshold, o.damp, o.variant, o.floor)
    outcome = factor_in_metric(work, options, False)
    if outcome != OK:
        return outcome
    n, x = work.f.shape[0], work.n1
    particular(work, options, work.vdot)  # −L⁻¹ Ã⁺ γ
    for i in range(n):
        x[i] = work.f[i]
    if options.variant == 0:
        solve_cholesky(work.upper, x)  # M⁻¹ f
        admissible(work, x)  # (30)
        for i in range(n):
            work.vdot[i] += x[i]  # (31)
    else:
        admissible_dual(work, x)  # P_aᵀ f
        times_mass(work, work.vdot, work.n2)
        for i in range(n):
            x[i] += work.n2[i]
        solve_cholesky(work.upper, x)  # (28)
        for i in range(n):
            work.vdot[i] = x[i]
    recover_forces(work, options)
    return finish(work, OK)


@inner
def admissible(work, x):
    """x ← P_a x = L⁻¹ (1 − Ã⁺Ã) L x."""
    n = x.shape[0]
    for i in range(n):
        s = 0.0
        for j in range(i, n):
            s += work.upper[i, j] * x[j]
        x[i] = s
    project_null(work.factor, x, x)
    solve_upper(work.upper, x)


@inner
def admissible_dual(work, x):
    """x ← P_aᵀ x = Lᵀ (1 − Ã⁺Ã) L⁻ᵀ x."""
    n = x.shape[0]
    solve_upper_transposed(work.upper, x)
    project_null(work.factor, x, x)
    for i in range(n - 1, -1, -1):
        s = 0.0
        for j in range(i + 1):
            s += work.upper[j, i] * x[j]
        x[i] = s


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
