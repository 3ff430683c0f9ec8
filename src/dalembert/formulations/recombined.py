"""Rows beside a singular position, recombined in twice the precision until none is weak.

Rounding of a row, ε, turns the weak direction of A by ε/σ and the forces along it by as much. But any combination P
of rows states the same constraints, P A v̇ + P γ = 0, whatever the rounding of P. So A = U T Q₁ᵀ is factored in doubles,

    P = T⁻¹ Uᵀ,   A″ = P A,   γ″ = P γ,   λ = Pᵀ λ″                                                        (1)

is computed in twice the precision of rows that are known so (`precise`): row i of A″ is (Uᵀ A)_i less T_ij of the
rows before it, over T_ii. Rows of A″ are orthonormal in the metric but for ε/σ, so that nothing is lost when they are
rounded to doubles and factored once more. γ is a smooth function of the state and known well enough in doubles.
"""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric
from dalembert.formulations.evaluation import run_program
from dalembert.linalg.double_double import add, divide, multiply
from dalembert.native.jit import native
from dalembert.native.memory import doubles
from dalembert.outcome import OK


@native
def recombine(problem, precise, x, size, residual):
    """A and γ of a problem whose rows are scaled ← A″ and γ″ of (1); x: address of the `size` inputs of the program.

    residual: whether the right-hand side is A v + b of the program, over usual lengths, in place of γ. Returns whether
    it is done: not where the rows have less than their usual rank.
    """
    if factor_in_metric(problem, False) != OK or problem.rank < problem.usual_rank or problem.rank == 0:
        return False
    factor, rank, m, n = problem.factor, problem.rank, problem.m, problem.n
    high, rest, side, left, core = precise.high, precise.rest, precise.side, precise.left, precise.core
    for i in range(m):
        for k in range(m):
            left[i, k] = factor.left[i, k]
    for i in range(rank):
        for k in range(i + 1):
            core[i, k] = factor.core[i, k]
    run_program(precise.program, doubles(x, size), precise.low, precise.nq)
    for i in range(rank):
        for j in range(n):
            high[i, j], rest[i, j] = _combined(problem, precise, i, j)
        side[0, i], side[1, i] = _right_side(problem, precise, i, residual)
    for i in range(m):
        for j in range(n):
            problem.A[i, j] = high[i, j] if i < rank else 0.0
        problem.gamma[i] = side[0, i] if i < rank else 0.0
    return True


@native
def _combined(problem, precise, i, j):
    """Element (i, j) of A″, from the rows before it."""
    left, core, result = precise.left, precise.core, precise.program.result
    values, lows = precise.program.high, precise.program.low
    s, t = 0.0, 0.0
    for k in range(problem.m):
        if left[i, k] != 0.0:
            at = result[k * problem.n + j]
            p, e = divide(values[at], lows[at], problem.sizes[k], 0.0)
            p, e = multiply(p, e, left[i, k], 0.0)
            s, t = add(s, t, p, e)
    for k in range(i):
        p, e = multiply(precise.high[k, j], precise.rest[k, j], core[i, k], 0.0)
        s, t = add(s, t, -p, -e)
    return divide(s, t, core[i, i], 0.0)


@native
def _right_side(problem, precise, i, residual):
    """Element i of γ″, from those before it."""
    left, core, side, result = precise.left, precise.core, precise.side, precise.program.result
    s, t = 0.0, 0.0
    for k in range(problem.m):
        if left[i, k] != 0.0:
            p, e = problem.gamma[k], 0.0
            if residual:
                at = result[problem.m * problem.n + k]
                p, e = divide(precise.program.high[at], precise.program.low[at], problem.sizes[k], 0.0)
            p, e = multiply(p, e, left[i, k], 0.0)
            s, t = add(s, t, p, e)
    for k in range(i):
        p, e = multiply(side[0, k], side[1, k], core[i, k], 0.0)
        s, t = add(s, t, -p, -e)
    return divide(s, t, core[i, i], 0.0)


@native
def recover_multipliers(problem, precise, rank):
    """λ of the rows that were recombined ← Pᵀ λ″ of (1)."""
    y, left, core, multipliers = precise.side, precise.left, precise.core, problem.multipliers
    for i in range(rank - 1, -1, -1):
        s = multipliers[i]
        for k in range(i + 1, rank):
            s -= core[k, i] * y[0, k]
        y[0, i] = s / core[i, i]
    for k in range(problem.m):
        multipliers[k] = 0.0
        for i in range(rank):
            multipliers[k] += left[i, k] * y[0, i]
