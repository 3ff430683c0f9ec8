"""Steps that formulations share."""

from __future__ import annotations

from math import isfinite

from dalembert.formulations.problem import EUCLIDEAN, MASS, WEIGHT, Problem
from dalembert.linalg import (
    LARGEST,
    SMALLEST,
    cholesky,
    damped_solve,
    damping,
    dot,
    rank_factor,
    solve,
    solve_transposed,
    solve_upper,
    solve_upper_transposed,
    whiten_rows,
)
from dalembert.native.calls import jump
from dalembert.native.jit import entry, inline, native
from dalembert.outcome import MASS_SINGULAR, NOT_FINITE, OK


@inline
def factor_in_metric(problem, null):
    """Factor Ã = A R⁻¹ with W = RᵀR the metric, the null space too if asked for. Returns the outcome."""
    problem.null = null
    jump(problem.factorize, 0, 0, problem)
    return problem.status


@entry(Problem)
@native
def factorize(problem):
    """`factor_in_metric`, called by address: it is most of the code of a formulation, and all share it."""
    A, upper, white, factor, metric = problem.A, problem.upper, problem.white, problem.factor, problem.metric
    m, n = A.shape
    if metric == EUCLIDEAN:
        for i in range(m):
            for j in range(n):
                white[i, j] = A[i, j]
    else:
        if metric == MASS:
            status, _, _ = cholesky(problem.M, upper)
            if status != OK:
                return finish(problem, MASS_SINGULAR)
        elif metric == WEIGHT:
            weight = problem.weight
            for i in range(n):
                for j in range(i, n):
                    upper[i, j] = weight[i, j]
        whiten_rows(A, upper, white)
    tolerance = problem.tolerance
    if problem.floor > 0.0:
        size = 0.0
        for i in range(m):
            size += dot(white, i, white, i, 0, n)
        tolerance = max(tolerance, min(problem.floor / (size**0.5 + 1e-300), 1e6))
    status, problem.rank = rank_factor(factor, white, tolerance, problem.safety, problem.null != 0)
    problem.largest, problem.smallest = factor.gauge[LARGEST], factor.gauge[SMALLEST]
    return finish(problem, status)


@native
def scale_rows(problem):
    """Divide the rows of A and γ by their usual lengths, so that they can be compared."""
    A, gamma, sizes = problem.A, problem.gamma, problem.sizes
    m, n = A.shape
    for i in range(m):
        factor = 1.0 / sizes[i]
        gamma[i] *= factor
        for j in range(n):
            A[i, j] *= factor


@inline
def finish(problem, outcome):
    """Record the outcome and return it."""
    problem.status = outcome
    return outcome


@native
def solved(problem):
    """Record the residual and that v̇ is found, if it is: a number that is not finite is no answer."""
    A, gamma, vdot, n = problem.A, problem.gamma, problem.vdot, problem.n
    residual, total = 0.0, 0.0
    for i in range(problem.m):
        residual = max(residual, abs(dot(A, i, vdot, 0, 0, n) + gamma[i]))
    for i in range(n):
        total += vdot[i]
    problem.residual = residual
    return finish(problem, OK if isfinite(total) else NOT_FINITE)


@inline
def particular(problem, c):
    """c ← the shortest solution of A c = −γ in the metric, damped near a singularity where that is asked for."""
    gamma, right, factor = problem.gamma, problem.m1, problem.factor
    for i in range(gamma.shape[0]):
        right[i] = -gamma[i]
    damp = damping(problem.smallest, problem.threshold, problem.damp) if problem.damp > 0.0 else 0.0
    if damp > 0.0:
        damped_solve(factor, right, damp, c)
    else:
        solve(factor, right, c)
    if problem.metric != EUCLIDEAN:
        solve_upper(problem.upper, c)


@inline
def times(A, x, out):
    """out ← A x."""
    for i in range(out.shape[0]):
        out[i] = dot(A, i, x, 0, 0, x.shape[0])


@native
def recover_forces(problem):
    """Aᵀλ = M v̇ − f, and the shortest λ that gives it, from the factorization of A in the metric."""
    f, force, white = problem.f, problem.force, problem.n2
    times(problem.M, problem.vdot, force)
    for i in range(f.shape[0]):
        force[i] -= f[i]
        white[i] = force[i]
    if problem.metric != EUCLIDEAN:
        solve_upper_transposed(problem.upper, white)
    solve_transposed(problem.factor, white, problem.multipliers)
