"""Projection formulation (Aghili): square projectors, no basis, three constraint inertia matrices.

    P = 1 − A⁺A,   C q̇ = −A⁺ γ                                                                     (15), (16)
    variant 0:  M_c  = M + PM − (PM)ᵀ,             M_c v̇  = P f + M C q̇                            (22)-(24)
    variant 1:  M_c′ = PMP + (1 − P) M (1 − P),    M_c′ v̇ = P f + (1 − 2P) M C q̇                   (27), (28)
    variant 2:  M_c″ = PM + σ (1 − P),             M_c″ v̇ = P f + σ C q̇                            (29)

f stands for the paper's f − h; its constraint force is −Aᵀλ. σ (the paper's γ) is the mean of M's diagonal: both
terms have one size. In a metric W the equations are those of W^½ q̇, W^−½ f, M_W, A_W (section 7.2; R takes the
place of W^½). In the Euclidean metric, the paper's, units matter.
"""

from __future__ import annotations

from dalembert.compiler.memory import matrix
from dalembert.formulations.common import factor_in_metric, finish, recover_forces
from dalembert.formulations.contract import EUCLIDEAN, MASS_SINGULAR, OK
from dalembert.formulations.native_field import answer, arrays, equations
from dalembert.linalg import (
    inner,
    kernel,
    project_null,
    solve_general,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from dalembert.linalg import solve as shortest


@kernel
def solve(work, options):
    """v̇, Aᵀλ, λ; see the head of this file."""
    outcome = factor_in_metric(work, options, False)
    if outcome != OK:
        return outcome
    n = work.f.shape[0]
    MW, PM, x, c = work.s2, work.s3, work.vdot, work.n1
    for i in range(n):
        x[i] = work.f[i]
        for j in range(n):
            MW[i, j] = work.M[i, j]
    if options.metric != EUCLIDEAN:  # M_W = R⁻ᵀ M R⁻¹, f_W = R⁻ᵀ f
        solve_upper_transposed(work.upper, x)
        solve_upper_transposed_rows(work.upper, MW, n)
        _transpose(MW)
        solve_upper_transposed_rows(work.upper, MW, n)
    for i in range(work.gamma.shape[0]):
        work.m1[i] = -work.gamma[i]
    shortest(work.factor, work.m1, c)  # C q̇, (16)
    project_null(work.factor, x, x)  # P f
    for i in range(n):  # P M: P applied to the columns, which by symmetry are the rows
        for j in range(n):
            work.n2[j] = MW[i, j]
        project_null(work.factor, work.n2, work.n2)
        for j in range(n):
            PM[j, i] = work.n2[j]
    K = matrix(work.flat, 0, n, n)[0]
    scale = 0.0
    for i in range(n):
        scale += MW[i, i] / n
    if options.variant == 2:
        _add_complement(work, K, PM, scale)
        for i in range(n):
            x[i] += scale * c[i]
    else:
        _products(MW, c, work.n2)  # M C q̇
        if options.variant == 0:
            for i in range(n):
                for j in range(n):
                    K[i, j] = MW[i, j] + PM[i, j] - PM[j, i]
                x[i] += work.n2[i]
        else:
            for i in range(n):  # PMP + (1−P)M(1−P) = M − PM − MP + 2 PMP
                for j in range(n):
                    work.nm[j] = PM[i, j]
                project_null(work.factor, work.nm[:n], work.nm[:n])
                for j in range(n):
                    K[i, j] = MW[i, j] - PM[i, j] - PM[j, i] + 2.0 * work.nm[j]
            for i in range(n):
                work.nm[i] = work.n2[i]
            project_null(work.factor, work.nm[:n], work.nm[:n])
            for i in range(n):
                x[i] += work.n2[i] - 2.0 * work.nm[i]
    if not solve_general(K, x, work.order):
        return finish(work, MASS_SINGULAR)
    if options.metric != EUCLIDEAN:
        solve_upper(work.upper, x)
    recover_forces(work, options)
    return finish(work, OK)


@inner
def _add_complement(work, K, PM, scale):
    """K ← PM + scale (1 − P)."""
    n = work.f.shape[0]
    for i in range(n):
        for j in range(n):
            work.n2[j] = 1.0 if i == j else 0.0
        project_null(work.factor, work.n2, work.n2)
        for j in range(n):
            K[i, j] = PM[i, j] + scale * ((1.0 if i == j else 0.0) - work.n2[j])


@inner
def _products(a, x, out):
    """out ← a x."""
    n = x.shape[0]
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += a[i, j] * x[j]
        out[i] = s


@inner
def _transpose(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j], a[j, i] = a[j, i], a[i, j]


def field(x, y, w):
    """This formulation as a right-hand side; see `formulations.field`."""
    x, y, w = arrays(x, y, w)
    work, options = equations(x, w)
    answer(work, solve(work, options), y, w)
