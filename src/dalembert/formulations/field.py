"""The native part of `right_hand_side`."""

from __future__ import annotations

from dalembert.formulations.common import scale_rows
from dalembert.formulations.ordered import accelerate, factor_rows
from dalembert.formulations.problem import Problem
from dalembert.formulations.recombined import recombine, recover_multipliers
from dalembert.formulations.right_hand_side import EVIDENCE, RightHandSide
from dalembert.formulations.sparse import SparseProblem
from dalembert.native.calls import data, jump
from dalembert.native.jit import entry, native
from dalembert.native.memory import doubles
from dalembert.native.numba_struct import struct_at
from dalembert.outcome import OK

_problem, _sparse = struct_at(Problem), struct_at(SparseProblem)


@entry(RightHandSide)
def field(x, y, field):
    """y ← q̇, v̇ and the evidence at the inputs x of the equations; see `right_hand_side`."""
    problem = _problem(field.problem)
    evaluate(x, field, problem)
    scale_rows(problem)
    precise = field.precise
    recombined = precise.exact != 0 and recombine(problem, precise, x, field.equations.nx, False)
    largest, smallest, rank = problem.largest, problem.smallest, problem.rank
    jump(field.solve, 0, 0, problem)
    if recombined:  # what is told of rows is that of the rows themselves
        problem.largest, problem.smallest, problem.rank = largest, smallest, rank
        recover_multipliers(problem, precise, rank)
    answer(field, problem, y)


@entry(RightHandSide)
def sparse_field(x, y, field):
    """`field` of a `SparseProblem`, by `ordered`."""
    problem = _sparse(field.problem)
    evaluate(x, field, problem)
    problem.status = factor_rows(problem)
    if problem.status == OK and problem.rank == problem.m:
        problem.status = accelerate(problem)
    answer(field, problem, y)


@native
def evaluate(x, field, problem):
    """The equations at their inputs x, stabilized where that is asked for."""
    equations = field.equations
    jump(equations.address, x, data(equations.y), equations.w)
    if field.alpha != 0.0 or field.beta != 0.0:
        stabilize(field, problem)


@native
def stabilize(field, problem):
    """γ ← γ + 2α(A v + b) + β²Φ; Φ, A v + b and the drivers' power by λ are the last outputs."""
    out, gamma, m = field.equations.y, problem.gamma, problem.m
    phi = field.equations.ny - 3 * m
    for i in range(m):
        gamma[i] += 2.0 * field.alpha * out[phi + m + i] + field.beta**2 * out[phi + i]


@native
def answer(field, problem, place):
    """Lay out q̇, v̇, the powers and the evidence at an address."""
    out, nq, n, m = field.equations.y, field.nq, problem.n, problem.m
    y = doubles(place, nq + n + field.powers + field.driven + 2 + EVIDENCE)
    vdot, multipliers = problem.vdot, problem.multipliers
    for i in range(nq):
        y[i] = out[i]
    for i in range(n):
        y[nq + i] = vdot[i]
    at = nq + n
    for i in range(field.powers):
        y[at + i] = out[nq + i]
    at += field.powers
    for i in range(m):
        multipliers[i] /= problem.sizes[i]
    if field.driven != 0:  # its parts by v̇, 1 and λ are the outputs before Φ, and the last ones
        power, first = 0.0, field.equations.ny - m
        for i in range(m):
            power += multipliers[i] * out[first + i]
        if field.led != 0:
            first = field.equations.ny - 3 * m - n - 1
            power += out[first + n]
            for i in range(n):
                power += vdot[i] * out[first + i]
        y[at] = power
        at += 1
    y[at] = y[at + 1] = 1.0
    if problem.largest > 0.0:
        y[at] = (problem.smallest / problem.largest) ** 2
    if problem.status != OK:
        y[at] = y[at + 1] = -1.0
    elif problem.rank < problem.usual_rank:
        y[at] = y[at + 1] = 0.0
    y[at + 2], y[at + 3], y[at + 4], y[at + 5] = problem.rank, problem.largest, problem.smallest, problem.status
