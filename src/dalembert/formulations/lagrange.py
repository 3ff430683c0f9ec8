"""Classical elimination of multipliers (Spencer 2.4-2.5): fast, and undefined where constraints depend on each other.

    λ = −(A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ f + γ),   v̇ = M⁻¹ (f + Aᵀλ)

It is here to be compared with. A dependent set of rows ends with the outcome DEPENDENT, and nothing is made up.
"""

from __future__ import annotations

from dalembert.compiler.memory import matrix
from dalembert.formulations.common import finish, times_mass
from dalembert.formulations.contract import DEPENDENT, LARGEST, MASS_SINGULAR, OK, RANK, SMALLEST
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.linalg import cholesky, dot, kernel, solve_cholesky, solve_upper, solve_upper_transposed, whiten_rows


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    m, n = work.A.shape
    status, _, _ = cholesky(work.M, work.upper)
    if status != 0:
        return finish(work, MASS_SINGULAR)
    whiten_rows(work.A, work.upper, work.white)  # Ã, with A M⁻¹ Aᵀ = Ã Ãᵀ
    x, S = work.n1, matrix(work.flat, 0, m, m)[0]
    for i in range(n):
        x[i] = work.f[i]
    solve_upper_transposed(work.upper, x)
    for i in range(m):
        work.multipliers[i] = -work.gamma[i] - dot(work.white, i, x, 0, 0, n)
        for j in range(i, m):
            S[i, j] = dot(work.white, i, work.white, j, 0, n)
    status, rank, hint = cholesky(S, S)
    work.info[RANK] = rank
    work.gauge[LARGEST], work.gauge[SMALLEST] = 1.0, hint**0.5  # their ratio is what Cholesky tells
    if status != 0 or hint < options.tolerance**2:
        return finish(work, DEPENDENT)
    solve_cholesky(S, work.multipliers)
    for i in range(n):
        s = x[i]
        for k in range(m):
            s += work.white[k, i] * work.multipliers[k]
        work.vdot[i] = s
    solve_upper(work.upper, work.vdot)
    times_mass(work, work.vdot, work.force)
    for i in range(n):
        work.force[i] -= work.f[i]
    return finish(work, OK)


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
