"""The native part of `landing`."""

from __future__ import annotations

from dalembert.formulations.common import factor_in_metric, particular, scale_rows
from dalembert.formulations.evaluation import evaluate_precisely
from dalembert.formulations.landing import Landing
from dalembert.formulations.ordered import factor_rows, shortest
from dalembert.formulations.problem import Problem
from dalembert.formulations.recombined import recombine
from dalembert.formulations.sparse import SparseProblem
from dalembert.linalg.double_double import add, divide, multiply, root
from dalembert.native.calls import data, invoke, jump
from dalembert.native.jit import entry, inline, native
from dalembert.native.memory import doubles
from dalembert.native.numba_struct import struct_at
from dalembert.outcome import OK

_problem, _sparse = struct_at(Problem), struct_at(SparseProblem)


@entry(Landing)
def position(x, y, landing):
    """y ← the nearest q, one Newton step; Φ; margin."""
    land_position(x, y, landing, _problem(landing.problem), solve_shortest)


@entry(Landing)
def velocity(x, y, landing):
    """y ← the nearest admissible v; A v + b; margin."""
    land_velocity(x, y, landing, _problem(landing.problem), solve_shortest)


@entry(Landing)
def sparse_position(x, y, landing):
    """`position` with a `SparseProblem`."""
    land_position(x, y, landing, _sparse(landing.problem), solve_shortest_by_elements)


@entry(Landing)
def sparse_velocity(x, y, landing):
    """`velocity` with a `SparseProblem`."""
    land_velocity(x, y, landing, _sparse(landing.problem), solve_shortest_by_elements)


@native
def land_position(x, y, landing, problem, solve):
    """`position`, the shortest δ by a function `solve`."""
    equations, plus, nq = landing.equations, landing.plus, landing.nq
    m, n, worst = problem.m, problem.n, 0.0
    out, given, answer, q = equations.y, plus.x, doubles(y, nq + m + 2), doubles(x, equations.nx)
    if landing.exact == 0 and landing.turning > 0:
        for i in range(nq):
            landing.low[i] = 0.0
    for k in range(landing.turning):
        make_unit(q, landing.low, landing.turns[k])
    jump(equations.address, x, data(equations.y), equations.w)
    if landing.exact != 0:
        evaluate_precisely(landing.program, q, landing.low, nq, out, landing.first)
    for i in range(m):
        problem.gamma[i] = answer[nq + i] = out[landing.first + i]
        worst = max(worst, abs(answer[nq + i]))
    solve(problem, landing, x, answer, nq + m)
    for i in range(nq):
        given[i] = answer[i] = q[i]
    if landing.exact != 0 or worst > landing.rounding:
        for i in range(n):
            given[nq + i] = problem.vdot[i]
        invoke(plus)
        for i in range(nq):
            if landing.exact != 0:
                answer[i], landing.low[i] = add(q[i], landing.low[i], plus.y[i], 0.0)
            else:
                answer[i] = plus.y[i]


@native
def make_unit(q, low, at):
    """The quaternion whose first number is number `at` of (q, low) ← itself over its length."""
    s, t = 0.0, 0.0
    for i in range(at, at + 4):
        p, e = multiply(q[i], low[i], q[i], low[i])
        s, t = add(s, t, p, e)
    s, t = root(s, t)
    for i in range(at, at + 4):
        q[i], low[i] = divide(q[i], low[i], s, t)


@native
def land_velocity(x, y, landing, problem, solve):
    """`velocity`, the shortest δ by a function `solve`."""
    equations, nq = landing.equations, landing.nq
    m, n = problem.m, problem.n
    jump(equations.address, x, data(equations.y), equations.w)
    out, answer, state = equations.y, doubles(y, n + m + 2), doubles(x, nq + n)
    for i in range(m):
        problem.gamma[i] = answer[n + i] = out[landing.first + m + i]
    solve(problem, landing, x, answer, n + m)
    for i in range(n):
        answer[i] = state[nq + i] + problem.vdot[i]


@native
def solve_shortest(problem, landing, x, answer, at):
    """v̇ of the problem ← the shortest δ with A δ = −γ; the margin goes to answer[at] and answer[at + 1]."""
    rows = landing.rows
    scale_rows(problem)
    recombined = rows.exact != 0 and recombine(problem, rows, x, landing.equations.nx, True)
    largest, smallest, rank = problem.largest, problem.smallest, problem.rank
    outcome = factor_in_metric(problem, False)
    if recombined:
        problem.largest, problem.smallest, problem.rank = largest, smallest, rank
    if found(problem, outcome, answer, at):
        particular(problem, problem.vdot)


@native
def solve_shortest_by_elements(problem, landing, x, answer, at):
    """`solve_shortest` of a `SparseProblem`."""
    if found(problem, factor_rows(problem), answer, at):
        shortest(problem, problem.vdot)


@inline
def found(problem, outcome, answer, at):
    """Whether factored rows have their usual rank; the margin is set, and v̇ is zero."""
    for i in range(problem.n):
        problem.vdot[i] = 0.0
    full = outcome == OK and problem.rank >= problem.usual_rank
    answer[at] = answer[at + 1] = 1.0 if full else 0.0
    if full and problem.largest > 0.0:
        answer[at] = (problem.smallest / problem.largest) ** 2
    return full
