"""An implicit method for stiff motion: the SDIRK method of order 4 of Hairer & Wanner (table IV.6.5).

Five stages with one diagonal coefficient, L-stable and stiffly accurate: the last stage is the new state. What is
integrated is z: the independent coordinates and their rates where the run has a chart (the local state-space form,
Spencer 4.6), else all coordinates and velocities. Each stage solves

    z_i = z + h Σ_{j<i} a_ij k_j + h γ f(z_i)        by Newton's method with the matrix 1 − hγ ∂f/∂z        (1)

with one Jacobian a step. It is exact in all coordinates and where named coordinates lead (Â of `linearization`); else
it is made by differences of f itself, on the manifold, controller included. The error
is that of the embedded method of order 3, seen through (1 − hγ ∂f/∂z)⁻¹ so that stiff components do not rule the step.
"""

from __future__ import annotations

from dalembert.compiler.memory import array_at, floats, integers_at
from dalembert.integrators.called import NOT_FINITE, OK
from dalembert.integrators.method import step_of
from dalembert.integrators.native import call, native
from dalembert.integrators.numbers import ATOL, DOF, JACOBIANS, NQ, NV, RTOL, U_AT, U
from dalembert.integrators.stage import evaluate
from dalembert.integrators.tableaus import GAMMA, Sdirk
from dalembert.linalg import lu, lu_solve

ITERATIONS = 10


@step_of(Sdirk)
def implicit_step(method, parts, t, h, x, stages, numbers, counts):
    """stages[−2] ← x after the step. Returns the outcome and the error; a stage that does not converge counts as 10."""
    trial, n, A, c = stages[stages.shape[0] - 2], method.size, floats(method.A), floats(method.c)
    first = int(numbers[NQ] + numbers[NV]) if numbers[DOF] > 0.0 else 0
    outcome = _jacobian(method, parts, t, x, first, stages, numbers, counts)
    if outcome != OK:
        return outcome, 0.0
    if not _factor(method, h):
        return NOT_FINITE, 0.0
    for i in range(5):
        for j in range(x.shape[0]):  # the part known already, and a start for Newton's method
            trial[j] = x[j]
            for k in range(i):
                trial[j] += h * A[5 * i + k] * stages[1 + k, j]
            stages[6, j] = trial[j]
            slope = stages[0, j] if i == 0 else stages[i, j]
            trial[j] += h * GAMMA * slope
        outcome, converged = _stage(method, parts, t + c[i] * h, h, i, first, stages, numbers, counts)
        if outcome != OK:
            return outcome, 0.0
        if not converged:
            return OK, 10.0
    for j in range(x.shape[0]):
        if j < first or j >= first + n:  # works, and what a chart makes dependent
            trial[j] = x[j]
            for k in range(5):
                trial[j] += h * A[20 + k] * stages[1 + k, j]
    return OK, _error(method, h, x, trial, first, stages, numbers)


@native
def _jacobian(method, parts, t, x, first, stages, numbers, counts):
    """∂f/∂z at the start of the step: exact where there is a kernel for it, else by forward differences."""
    trial, slope, n = stages[stages.shape[0] - 2], stages[6], method.size
    J = array_at(method.J, (n, n))
    counts[JACOBIANS] += 1
    if parts.slope.address != 0:
        state, at = int(numbers[NQ] + numbers[NV]), int(numbers[U_AT])
        given, out, u = floats(parts.slope.given), floats(parts.slope.out), floats(parts.ode.given)
        for i in range(int(numbers[U])):
            given[state + i] = u[at + i]
        call(parts.slope, t, x, state)
        for i in range(n):
            for k in range(n):
                J[i, k] = out[i * n + k]
        return OK
    for k in range(n):
        for j in range(x.shape[0]):
            trial[j] = x[j]
        d = 1.5e-8 * max(1.0, abs(x[first + k]))
        trial[first + k] += d
        d = trial[first + k] - x[first + k]
        outcome = evaluate(parts, t, trial, slope, numbers, counts)
        if outcome != OK:
            return outcome
        for i in range(n):
            J[i, k] = (slope[first + i] - stages[0, first + i]) / d
    return OK


@native
def _stage(method, parts, t, h, i, first, stages, numbers, counts):
    """Solve (1) for stage i from the guess in stages[−2]; its slope goes to stages[1 + i]. (outcome, converged)."""
    trial, known, slope, n = stages[stages.shape[0] - 2], stages[6], stages[1 + i], method.size
    before, right = 1e300, array_at(method.right, (n,))
    for iteration in range(ITERATIONS):
        outcome = evaluate(parts, t, trial, slope, numbers, counts)
        if outcome != OK:
            return outcome, False
        for j in range(n):
            a = first + j
            right[j] = known[a] + h * GAMMA * slope[a] - trial[a]
        lu_solve(array_at(method.LU, (n, n)), integers_at(method.pivots, (n,)), right)
        size = 0.0
        for j in range(n):
            a = first + j
            trial[a] += right[j]
            size += (right[j] / (numbers[ATOL] + numbers[RTOL] * abs(trial[a]))) ** 2
        size = (size / n) ** 0.5
        if not size < 1e300 or (iteration > 1 and size > 2.0 * before):
            return OK, False
        if size < 1e-3:
            for j in range(n):  # the slope that the solution has
                a = first + j
                slope[a] = (trial[a] - known[a]) / (h * GAMMA)
            return OK, True
        before = size
    return OK, False


@native
def _error(method, h, x, trial, first, stages, numbers):
    """The embedded error, filtered, over the tolerances."""
    n, total, e, right = method.size, 0.0, floats(method.e), array_at(method.right, (method.size,))
    for j in range(n):
        right[j] = 0.0
        for k in range(5):
            right[j] += h * e[k] * stages[1 + k, first + j]
    lu_solve(array_at(method.LU, (n, n)), integers_at(method.pivots, (n,)), right)
    for j in range(n):
        scale = numbers[ATOL] + numbers[RTOL] * max(abs(x[first + j]), abs(trial[first + j]))
        total += (right[j] / scale) ** 2
    return (total / n) ** 0.5


@native
def _factor(method, h):
    """LU factors of 1 − hγJ. Returns whether there are any."""
    n = method.size
    J, LU = array_at(method.J, (n, n)), array_at(method.LU, (n, n))
    for i in range(n):
        for j in range(n):
            LU[i, j] = (1.0 if i == j else 0.0) - h * GAMMA * J[i, j]
    return lu(LU, integers_at(method.pivots, (n,)), 0.0)
