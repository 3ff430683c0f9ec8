"""Explicit Runge-Kutta steps (tables in `tableaus`).

A pair estimates its error; the step follows a PI controller (Hairer & Wanner IV.2). In a chart every stage is taken at
the state of its independent coordinates, so that only these are integrated.
"""

from __future__ import annotations

from dalembert.compiler.memory import floats
from dalembert.integrators.called import OK
from dalembert.integrators.method import step_of
from dalembert.integrators.native import inline, native
from dalembert.integrators.numbers import ATOL, DOF, NQ, NV, RTOL, WORKS
from dalembert.integrators.stage import evaluate
from dalembert.integrators.tableaus import Tableau


@step_of(Tableau)
def runge_kutta(method, parts, t, h, x, stages, numbers, counts):
    """stages[−2] ← x after the step; stages[0] holds ẋ at its start. Returns the outcome and the error."""
    s, A, b, c = method.size, floats(method.A), floats(method.b), floats(method.c)
    trial = stages[stages.shape[0] - 2]
    for i in range(1, s):
        combine(trial, x, h, A, i * s, stages, i)
        outcome = evaluate(parts, t + c[i] * h, trial, stages[i], numbers, counts)
        if outcome != OK:
            return outcome, 0.0
    combine(trial, x, h, b, 0, stages, s)
    if method.exponent == 0.0:
        return OK, 0.0
    outcome = evaluate(parts, t + h, trial, stages[s], numbers, counts)
    return outcome, _error(method, h, x, trial, stages, numbers)


@inline
def combine(trial, x, h, weights, at, stages, count):
    """trial ← x + h Σ w_k stages[k] with `count` weights from place `at`; stage by stage, which runs in vectors."""
    n = x.shape[0]
    for j in range(n):
        trial[j] = 0.0
    for k in range(count):
        w = weights[at + k]
        if w != 0.0:
            for j in range(n):
                trial[j] += w * stages[k, j]
    for j in range(n):
        trial[j] = x[j] + h * trial[j]


@native
def _error(method, h, x, trial, stages, numbers):
    """The estimated error over the tolerances; works are not judged, in a chart only its coordinates are."""
    s, n, e5, e3 = method.size, x.shape[0] - int(numbers[WORKS]), floats(method.e5), floats(method.e3)
    first = int(numbers[NQ] + numbers[NV]) if numbers[DOF] > 0.0 else 0
    five, three = 0.0, 0.0
    for j in range(first, n):
        scale = numbers[ATOL] + numbers[RTOL] * max(abs(x[j]), abs(trial[j]))
        a5, a3 = 0.0, 0.0
        for k in range(s + 1):
            a5 += e5[k] * stages[k, j]
            a3 += e3[k] * stages[k, j]
        five += (a5 / scale) ** 2
        three += (a3 / scale) ** 2
    if five == 0.0:
        return 0.0
    return h * five / ((five + 0.01 * three) * (n - first)) ** 0.5
