"""Explicit Runge-Kutta steps (tables in `tableaus`).

A pair estimates its error; the step follows a PI controller (Hairer & Wanner IV.2). In a chart every stage is taken at
the state of its independent coordinates, so that only these are integrated.
"""

from __future__ import annotations

from dalembert.integrators.run_record import RunRecord
from dalembert.integrators.stage import evaluate, tolerance, work_tolerance
from dalembert.integrators.tableaus import Tableau
from dalembert.linalg.double_double import add
from dalembert.native.jit import entry, native
from dalembert.native.numba_struct import struct_at
from dalembert.native.simd import combine, estimate
from dalembert.outcome import OK

_tableau = struct_at(Tableau)


@entry(RunRecord)
def runge_kutta(x, y, run):
    """One attempt, see `methods`: the trial state goes to stages[−2]."""
    method, t, h = _tableau(run.method), run.clock.t, run.attempt.h
    x, stages, A, b, c = run.x, run.stages, method.A, method.b, method.c
    s, trial = method.size, stages[run.rows - 2]
    run.attempt.outcome, run.attempt.error = OK, 0.0
    for i in range(1, s):
        combine(x, h, A[i], i, stages, trial, run.n)
        if run.regime.precise != 0:
            keep_low(run, h, A[i], i, trial)
        run.attempt.outcome = evaluate(run, t + c[i] * h, trial, stages[i])
        if run.attempt.outcome != OK:
            return
    combine(x, h, b, s, stages, trial, run.n)
    if run.regime.precise != 0:
        keep_low(run, h, b, s, trial)
    if method.estimates > s:
        run.attempt.outcome = evaluate(run, t + h, trial, stages[s])
    if method.estimates > 0:
        run.attempt.error = _error(run, method, h, trial)


@native
def keep_low(run, h, b, count, trial):
    """The low part of the position of the trial: what rounding takes from x + h Σ b_k stages[k]."""
    for j in range(run.nq):
        way = 0.0
        for k in range(count):
            way += b[k] * run.stages[k, j]
        trial[j], run.low[j] = add(run.x[j], run.low_before[j], h * way, 0.0)


@native
def _error(run, method, h, trial):
    """The estimated error over the tolerances, in a chart of its coordinates, and that of works."""
    x, stages, n = run.x, run.stages, run.n - run.works
    first = run.nq + run.nv if run.dof > 0 else 0
    e5, e3 = stages[run.rows - 1], stages[1]  # these stages are not needed any more
    estimate(method.e5, method.estimates, stages, e5, run.n)
    estimate(method.e3, method.estimates, stages, e3, n)
    five, three = 0.0, 0.0
    for j in range(first, n):
        scale = tolerance(run, j, max(abs(x[j]), abs(trial[j])))
        five += (e5[j] / scale) ** 2
        three += (e3[j] / scale) ** 2
    error = abs(h) * five / ((five + 0.01 * three) * (n - first)) ** 0.5 if five > 0.0 else 0.0
    for j in range(n, run.n):
        error = max(
            error, abs(h * e5[j]) / work_tolerance(run.step.rtol, trial[j], run.scales.inertia, run.scales.rate)
        )
    return error
