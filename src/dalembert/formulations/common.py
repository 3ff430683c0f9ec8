"""Steps that formulations share."""

from __future__ import annotations

from dalembert.formulations.contract import (
    EUCLIDEAN,
    LARGEST,
    MASS,
    MASS_SINGULAR,
    NOT_FINITE,
    OK,
    RANK,
    SMALLEST,
    STATUS,
    WEIGHT,
)
from dalembert.linalg import LARGEST as F_LARGEST
from dalembert.linalg import SMALLEST as F_SMALLEST
from dalembert.linalg import (
    cholesky,
    damped_solve,
    damping,
    dot,
    inlined,
    inner,
    rank_factor,
    solve,
    solve_transposed,
    solve_upper,
    solve_upper_transposed,
    whiten_rows,
)


@inner
def factor_in_metric(work, options, null):
    """Factor Ã = A R⁻¹ with W = RᵀR the metric; rank and gauge into work. Returns the outcome."""
    status = 0
    if options.metric == MASS:
        status, _, _ = cholesky(work.M, work.upper)
        if status != 0:
            return finish(work, MASS_SINGULAR)
        whiten_rows(work.A, work.upper, work.white)
    elif options.metric == WEIGHT:
        n = work.metric.shape[0]
        for i in range(n):
            for j in range(i, n):
                work.upper[i, j] = work.metric[i, j]
        whiten_rows(work.A, work.upper, work.white)
    else:
        m, n = work.A.shape
        for i in range(m):
            for j in range(n):
                work.white[i, j] = work.A[i, j]
    tolerance = options.tolerance
    if options.floor > 0.0:
        size = 0.0
        for i in range(work.white.shape[0]):
            size += dot(work.white, i, work.white, i, 0, work.white.shape[1])
        tolerance = max(tolerance, min(options.floor / (size**0.5 + 1e-300), 1e6))
    status, rank = rank_factor(work.factor, work.white, tolerance, options.safety, null)
    work.info[RANK] = rank
    work.gauge[LARGEST], work.gauge[SMALLEST] = work.factor.gauge[F_LARGEST], work.factor.gauge[F_SMALLEST]
    return finish(work, OK if status == 0 else NOT_FINITE)


@inlined
def finish(work, outcome):
    """Record the outcome and return it."""
    work.info[STATUS] = outcome
    return outcome


@inlined
def particular(work, options, c):
    """c ← the shortest solution of A c = −γ in the metric, damped near a singularity where that is asked for."""
    for i in range(work.gamma.shape[0]):
        work.m1[i] = -work.gamma[i]
    damp = damping(work.gauge[SMALLEST], options.threshold, options.damp) if options.damp > 0.0 else 0.0
    if damp > 0.0:
        damped_solve(work.factor, work.m1, damp, c)
    else:
        solve(work.factor, work.m1, c)
    if options.metric != EUCLIDEAN:
        solve_upper(work.upper, c)


@inlined
def times_mass(work, x, out):
    """out ← M x."""
    n = x.shape[0]
    for i in range(n):
        out[i] = dot(work.M, i, x, 0, 0, n)


@inner
def recover_forces(work, options):
    """Aᵀλ = M v̇ − f, and the shortest λ that gives it, from the factorization of A in the metric."""
    n = work.f.shape[0]
    times_mass(work, work.vdot, work.force)
    for i in range(n):
        work.force[i] -= work.f[i]
        work.n2[i] = work.force[i]
    if options.metric != EUCLIDEAN:
        solve_upper_transposed(work.upper, work.n2)
    solve_transposed(work.factor, work.n2, work.multipliers)
