"""Classical elimination of multipliers (Spencer 2.4-2.5): fast, and undefined where constraints depend on each other.

    λ = −(A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ f + γ),   v̇ = M⁻¹ (f + Aᵀλ)

It is here to be compared with. A dependent set of rows ends with the outcome DEPENDENT, and nothing is made up.
A M⁻¹ Aᵀ squares the angles between rows, so rows nearer to each other than about 1e-7 rad count as dependent.
"""

from __future__ import annotations

from dalembert.formulations.common import finish, solved, times
from dalembert.formulations.problem import Problem
from dalembert.linalg import cholesky, dot, solve_cholesky, solve_upper, solve_upper_transposed, whiten_rows
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import DEPENDENT, MASS_SINGULAR, OK

RESOLVED = 1e-14  # squared sine between rows that rounding leaves of A M⁻¹ Aᵀ, for each row
ROUNDING = 2e-15  # of a squared length in A M⁻¹ Aᵀ, before elimination magnifies it


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    A, upper, white, f, gamma = problem.A, problem.upper, problem.white, problem.f, problem.gamma
    vdot, force, multipliers, x, lengths = problem.vdot, problem.force, problem.multipliers, problem.n1, problem.m1
    m, n = A.shape
    problem.rank, problem.largest, problem.smallest = 0, 1.0, 0.0
    status, _, _ = cholesky(problem.M, upper)
    if status != OK:
        return finish(problem, MASS_SINGULAR)
    whiten_rows(A, upper, white)  # Ã, with A M⁻¹ Aᵀ = Ã Ãᵀ
    S = cut(problem.flat, 0, (m, m))
    for i in range(n):
        x[i] = f[i]
    solve_upper_transposed(upper, x)
    for i in range(m):
        multipliers[i] = -gamma[i] - dot(white, i, x, 0, 0, n)
        for j in range(i, m):
            S[i, j] = dot(white, i, white, j, 0, n)
        lengths[i] = S[i, i]
    status, rank, hint = cholesky(S, S)
    problem.smallest = hint**0.5  # 1 and this have the ratio that Cholesky tells
    angle = max(RESOLVED * m, problem.tolerance**2)
    problem.rank = independent(S, lengths, problem.nm, rank, angle, problem.floor**2)
    if problem.rank < m:
        return finish(problem, DEPENDENT)
    solve_cholesky(S, multipliers)
    for i in range(n):
        s = x[i]
        for k in range(m):
            s += white[k, i] * multipliers[k]
        vdot[i] = s
    solve_upper(upper, vdot)
    times(problem.M, vdot, force)
    for i in range(n):
        force[i] -= f[i]
    return solved(problem)


@native
def independent(R, lengths, lost, rank, angle, length):
    """Number of rows before the first that depends on those above it: its squared sine to them is R_kk² / length².

    Where rows above are nearly dependent their pivots are known to few digits, and so is what they leave of a row along
    the directions that they alone give: lost_k = ε length_k² + Σ_j R_jk² lost_j / R_jj².
    """
    for k in range(rank):
        lost[k] = ROUNDING * lengths[k]
        for j in range(k):
            lost[k] += R[j, k] ** 2 * lost[j] / R[j, j] ** 2
        if not (R[k, k] ** 2 > max(angle * lengths[k], lost[k]) and lengths[k] > length):
            return k
    return rank
