"""The augmented matrix (Kövecses & Piedboeuf 9): accelerations and multipliers from one linear system.

    [ M  −Aᵀ ] [ v̇ ]   [ f ]
    [ −A  0  ] [ λ  ] = [ γ ]

Solved by LU with partial pivoting. Like `lagrange` it needs independent constraints; `lagrange`'s Cholesky factor says
whether they are.
"""

from __future__ import annotations

from dalembert.formulations import lagrange
from dalembert.formulations.common import finish, solved
from dalembert.formulations.problem import Problem
from dalembert.linalg import solve_general
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import DEPENDENT, OK

_independent = lagrange.solve


@entry(Problem)
@native
def solve(problem):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = _independent(problem)
    if outcome != OK:
        return outcome
    M, f, A, gamma, x = problem.M, problem.f, problem.A, problem.gamma, problem.nm
    vdot, force, multipliers = problem.vdot, problem.force, problem.multipliers
    m, n = A.shape
    K = cut(problem.flat, 0, (n + m, n + m))
    for i in range(n):
        x[i] = f[i]
        for j in range(n):
            K[i, j] = M[i, j]
        for k in range(m):
            K[i, n + k] = K[n + k, i] = -A[k, i]
    for k in range(m):
        x[n + k] = gamma[k]
        for j in range(m):
            K[n + k, n + j] = 0.0
    if not solve_general(K, x, problem.order):
        return finish(problem, DEPENDENT)
    for i in range(n):
        vdot[i] = x[i]
        s = 0.0
        for k in range(m):
            s += A[k, i] * x[n + k]
        force[i] = s
    for k in range(m):
        multipliers[k] = x[n + k]
    return solved(problem)
