"""The augmented matrix (Kövecses & Piedboeuf 9): accelerations and multipliers from one linear system.

    [ M  −Aᵀ ] [ v̇ ]   [ f ]
    [ −A  0  ] [ λ  ] = [ γ ]

Solved by LU with partial pivoting. Like `lagrange` it needs independent constraints; `lagrange`'s Cholesky factor says
whether they are.
"""

from __future__ import annotations

from dalembert.compiler.memory import matrix
from dalembert.formulations import lagrange
from dalembert.formulations.common import finish
from dalembert.formulations.contract import DEPENDENT, OK
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.linalg import kernel, solve_general

_independent = lagrange.solve


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = _independent(work, options)
    if outcome != OK:
        return outcome
    m, n = work.A.shape
    K, x = matrix(work.flat, 0, n + m, n + m)[0], work.nm
    for i in range(n):
        x[i] = work.f[i]
        for j in range(n):
            K[i, j] = work.M[i, j]
        for k in range(m):
            K[i, n + k] = K[n + k, i] = -work.A[k, i]
    for k in range(m):
        x[n + k] = work.gamma[k]
        for j in range(m):
            K[n + k, n + j] = 0.0
    if not solve_general(K, x, work.order):
        return finish(work, DEPENDENT)
    for i in range(n):
        work.vdot[i] = x[i]
        s = 0.0
        for k in range(m):
            s += work.A[k, i] * x[n + k]
        work.force[i] = s
    for k in range(m):
        work.multipliers[k] = x[n + k]
    return finish(work, OK)


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
