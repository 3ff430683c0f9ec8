"""Steps that control updates share."""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, times
from dalembert.linalg import damped_solve, damping, dot, solve, solve_transposed, solve_upper_transposed
from dalembert.native.jit import native


@native
def by_rows(A, B, out):
    """out ← A Bᵀ, as many rows of both as out has rows and columns."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = dot(A, i, B, j, 0, A.shape[1])


@native
def length(A):
    """The Frobenius norm."""
    total = 0.0
    for i in range(A.shape[0]):
        total += dot(A, i, A, i, 0, A.shape[1])
    return total**0.5


@native
def shortest(problem, m, n, tolerance, whole, damp, right, out, null):
    """out ← A⁺ right, A (m, n) that of the problem; singular values up to tolerance × whole are zero. Returns the rank.

    whole: the length of A, or that of the map A is what is left of, if that is longer. damp: where the least singular
    value is below damp × whole, the solution is damped (`linalg.damped`); 0: never.
    """
    factor = problem.factor
    problem.m, problem.n, factor.m, factor.n = m, n, m, n
    problem.tolerance = tolerance * max(1.0, min(whole / (length(problem.A) + 1e-300), 1e16))
    factor_in_metric(problem, null)
    near = damp * whole
    if damp > 0.0 and problem.smallest < near:
        damped_solve(factor, right, damping(problem.smallest, near, 0.5 * near), out)
    else:
        solve(factor, right, out)
    return problem.rank


@native
def require(a):
    """required_force ← M v̇ − f."""
    f, required = a.problem.f, a.required_force
    times(a.problem.M, a.motion, required)
    for i in range(a.n):
        required[i] -= f[i]


@native
def multipliers(problem, force, out):
    """out ← the shortest λ with Aᵀλ = force."""
    white = problem.n1
    for i in range(problem.n):
        white[i] = force[i]
    solve_upper_transposed(problem.upper, white)
    solve_transposed(problem.factor, white, out)


@native
def carry(a):
    """λ and Aᵀλ = M v̇ − f − B u."""
    force, required = a.problem.force, a.required_force
    times(a.B, a.u, force)
    for i in range(a.n):
        force[i] = required[i] - force[i]
    multipliers(a.problem, force, a.problem.multipliers)


@native
def force_sizes(a):
    """Sizes of the wanted multipliers and measures, λ_j by 1/unit_j: newtons and newton metres compare."""
    picked, unit, size = a.picked, a.unit_of, a.force_size
    for i in range(a.ns):
        total = 0.0
        for j in range(a.m):
            total += (picked[i, j] / unit[j]) ** 2
        size[i] = total**0.5 if total > 0.0 else 1.0


@native
def picked_reach(a):
    """The length of the map from forces to wanted multipliers, in their sizes, if constraints carry forces best."""
    total = 0.0
    for i in range(a.ns):
        total += dot(a.picked, i, a.picked, i, 0, a.m) / a.force_size[i] ** 2
    return total**0.5 * a.drive / max(a.problem.largest, 1e-300)
