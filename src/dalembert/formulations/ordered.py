"""Independent rows in the mass metric, factored by their envelope: what careful steps are made of.

With M = FᵀF and Ã = A F⁻¹ = L Q₁ᵀ (`linalg.envelope`), f̃ = F⁻ᵀ f:

    y = −L⁻¹γ,   v̇ = F⁻¹ (f̃ + Q₁ (y − Q₁ᵀf̃)),   λ = L⁻ᵀ (y − Q₁ᵀf̃)                                       (1)

the null-space formulation (Spencer 3.5) without a basis. Neither M nor A is squared, so rounding costs 1/σ, σ the least
singular value of Ã.
"""

from __future__ import annotations

from math import isfinite

from dalembert.linalg.envelope import (
    envelope_qr,
    factor_tree,
    least_singular_value,
    solve_rows,
    solve_rows_transposed,
    solve_tree,
    solve_tree_transposed,
    turn,
    turn_back,
    whiten_by_tree,
)
from dalembert.native.jit import native
from dalembert.native.simd import fill
from dalembert.outcome import MASS_SINGULAR, NOT_FINITE, OK

STEPS, ENOUGH = 3, 0.1  # inverse iterations that tell a solution from none


@native
def factor_rows(problem):
    """Factor the rows, each over its usual length, as γ is then; sets rank and singular values. Returns the outcome."""
    e, m, sizes = problem.envelope, problem.m, problem.sizes
    problem.rank, problem.largest, problem.smallest = 0, 1.0, 0.0
    fill(0.0, e.lower, 0, 0, e.tree_room)
    for k in range(problem.masses):
        e.lower[problem.mass_place[k], 0] = problem.mass[k]
    fill(0.0, e.rows, 0, 0, e.room)
    for k in range(problem.elements):
        e.rows[problem.element_place[k], 0] = problem.element[k] * (1.0 / sizes[problem.element_row[k]])
    for i in range(m):
        problem.gamma[i] *= 1.0 / sizes[i]
    if not factor_tree(e):
        return MASS_SINGULAR
    whiten_by_tree(e)
    problem.rank = envelope_qr(e)
    if problem.rank == m:
        for i in range(m):  # whatever came before, the same answer
            e.weak[i] = 0.0
        problem.smallest = least_singular_value(e, STEPS, ENOUGH)
        if problem.smallest <= max(problem.tolerance, problem.floor):
            problem.rank = m - 1
    return OK


@native
def accelerate(problem):
    """v̇ and λ of factored rows, by (1). Returns the outcome."""
    e, m, n, vdot, multipliers = problem.envelope, problem.m, problem.n, problem.vdot, problem.multipliers
    y, total = e.right, 0.0
    for i in range(n):
        vdot[i] = problem.f[i]
    solve_tree_transposed(e, vdot)
    turn(e, vdot)
    right_side(problem)
    for i in range(m):
        y[i], vdot[i] = y[i] - vdot[i], y[i]
    turn_back(e, vdot)
    solve_tree(e, vdot)
    solve_rows_transposed(e, y)
    for i in range(m):
        multipliers[e.order[i]] = y[i]
    for i in range(n):
        total += vdot[i]
    return OK if isfinite(total) else NOT_FINITE


@native
def shortest(problem, c):
    """c ← the shortest solution of A c = −γ, of factored rows."""
    e, y = problem.envelope, problem.envelope.right
    right_side(problem)
    for i in range(problem.n):
        c[i] = y[i] if i < problem.m else 0.0
    turn_back(e, c)
    solve_tree(e, c)


@native
def right_side(problem):
    """y ← −L⁻¹γ."""
    e = problem.envelope
    for i in range(problem.m):
        e.right[i] = -problem.gamma[e.order[i]]
    solve_rows(e, e.right)
