"""A structure-preserving method of order 2: the constrained variational midpoint rule, for long conservative runs.

The kernel `variational` (`system.discrete`) makes one iteration of the discrete equations; see there. Momenta and the
symplectic form are kept, the energy error stays bounded for any time.
"""

from __future__ import annotations

from dalembert.compiler.memory import floats
from dalembert.integrators.called import CALLBACK, OK, UNHEALTHY, UNSOLVED
from dalembert.integrators.manifold import sound
from dalembert.integrators.method import step_of
from dalembert.integrators.methods import Variational
from dalembert.integrators.native import call
from dalembert.integrators.numbers import HOLD, LENGTH, NQ, NV, U_AT, WORKS, U
from dalembert.integrators.stage import control, evaluate

ITERATIONS = 100


@step_of(Variational)
def variational_step(method, parts, t, h, x, stages, numbers, counts):
    """stages[−2] ← x after the step; the first guess is a step of constant velocity. Controllers act at midpoints."""
    f, nq, nv, nu = parts.step, int(numbers[NQ]), int(numbers[NV]), int(numbers[U])
    given, out, u = floats(f.given), floats(f.out), floats(parts.ode.given)
    trial, works, n = stages[stages.shape[0] - 2], int(numbers[WORKS]), nq + nv
    if parts.control.address != 0 and numbers[HOLD] == 0.0:
        for i in range(n):
            trial[i] = x[i] + 0.5 * h * stages[0, i]
        if not control(parts, t + 0.5 * h, trial, numbers):
            return CALLBACK, 0.0
    for i in range(nv):
        given[n + i] = h * x[nq + i]
    given[n + nv] = h
    for i in range(nu):
        given[n + nv + 1 + i] = u[int(numbers[U_AT]) + i]
    before, most = 1e300, max(1.0, numbers[LENGTH])
    for _ in range(ITERATIONS):
        call(f, t, x, n)
        if not sound(f, nv + n + f.rows, numbers):
            return UNHEALTHY, 0.0
        change = 0.0
        for i in range(f.rows):
            change = max(change, abs(out[nv + n + i]))
        for i in range(nv):
            given[n + i] = out[i]
        if not change < 1e3 * most:
            return UNSOLVED, 0.0
        if change < 1e-15 or (change < 1e-11 * most and change >= 0.5 * before):  # as far as rounding lets it
            break
        before = change
    else:
        return UNSOLVED, 0.0
    for i in range(n):
        trial[i] = out[nv + i]
    if works > 0:  # trapezoidal rule
        end = x.shape[0]
        for i in range(end - works, end):
            trial[i] = x[i]
        outcome = evaluate(parts, t + h, trial, stages[1], numbers, counts)
        if outcome != OK:
            return outcome, 0.0
        for i in range(end - works, end):
            trial[i] = x[i] + 0.5 * h * (stages[0, i] + stages[1, i])
    return OK, 0.0
