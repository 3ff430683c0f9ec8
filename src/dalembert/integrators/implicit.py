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

from dalembert.integrators.run_record import RunRecord
from dalembert.integrators.stage import evaluate, tolerance, usual_size, work_tolerance
from dalembert.integrators.tableaus import GAMMA, Sdirk
from dalembert.linalg import lu, lu_solve
from dalembert.native.calls import call
from dalembert.native.jit import entry, native
from dalembert.native.numba_struct import struct_at
from dalembert.outcome import NOT_FINITE, OK

ITERATIONS = 10
CONVERGED = 1e-3  # of the tolerances: a last correction, beside what rounding moves
SLOPE, KNOWN = 6, 6  # rows of stages besides ẋ (0) and the slopes of the five stages (1 to 5)

_sdirk = struct_at(Sdirk)


@entry(RunRecord)
def implicit_step(x, y, run):
    """One attempt, see `methods`; a stage that does not converge counts as an error of 10."""
    method, h, x, stages = _sdirk(run.method), run.attempt.h, run.x, run.stages
    trial, n, A, c = stages[run.rows - 2], method.size, method.A, method.c
    first = run.nq + run.nv if run.dof > 0 else 0
    run.attempt.error = 0.0
    run.attempt.outcome = _jacobian(run, method, first)
    if run.attempt.outcome == OK and not _factor(method, h):
        run.attempt.outcome = NOT_FINITE
    if run.attempt.outcome != OK:
        return
    for i in range(5):
        for j in range(run.n):  # the part known already, and a start for Newton's method
            trial[j] = x[j]
            for k in range(i):
                trial[j] += h * A[i, k] * stages[1 + k, j]
            stages[KNOWN, j] = trial[j]
            slope = stages[0, j] if i == 0 else stages[i, j]
            trial[j] += h * GAMMA * slope
        run.attempt.outcome, converged = _stage(run, method, run.clock.t + c[i] * h, h, i, first)
        if run.attempt.outcome != OK:
            return
        if not converged:
            run.attempt.error = 10.0
            return
    for j in range(run.n):
        if j < first or j >= first + n:  # works, and what a chart makes dependent
            trial[j] = x[j]
            for k in range(5):
                trial[j] += h * A[4, k] * stages[1 + k, j]
    run.attempt.error = _error(run, method, h, first)


@native
def _jacobian(run, method, first):
    """∂f/∂z at the start of the step: exact where there is a kernel for it, else by forward differences."""
    x, stages, J, n = run.x, run.stages, method.J, method.size
    trial, slope = stages[run.rows - 2], stages[SLOPE]
    run.counts.jacobians += 1
    if run.slope.address != 0:
        f, state, u = run.slope, run.nq + run.nv, run.ode.x
        given, out = f.x, f.y
        for i in range(run.nu):
            given[state + i] = u[run.u_index + i]
        call(f, run.clock.t, x, state)
        for i in range(n):
            for k in range(n):
                J[i, k] = out[i * n + k]
        return OK
    for k in range(n):
        for j in range(run.n):
            trial[j] = x[j]
        d = 1.5e-8 * max(usual_size(run, first + k), abs(x[first + k]))
        trial[first + k] += d
        d = trial[first + k] - x[first + k]
        outcome = evaluate(run, run.clock.t, trial, slope)
        if outcome != OK:
            return outcome
        for i in range(n):
            J[i, k] = (slope[first + i] - stages[0, first + i]) / d
    return OK


@native
def _stage(run, method, t, h, i, first):
    """Solve (1) for stage i from the guess in stages[−2]; its slope goes to stages[1 + i]. (outcome, converged)."""
    stages, n, before, right = run.stages, method.size, 1e300, method.right
    trial, known, slope = stages[run.rows - 2], stages[KNOWN], stages[1 + i]
    for iteration in range(ITERATIONS):
        outcome = evaluate(run, t, trial, slope)
        if outcome != OK:
            return outcome, False
        for j in range(n):
            a = first + j
            right[j] = known[a] + h * GAMMA * slope[a] - trial[a]
        lu_solve(method.LU, method.pivots, right)
        size = 0.0
        for j in range(n):
            a = first + j
            trial[a] += right[j]
            known_to = run.scales.rounding * usual_size(run, a)
            size += (right[j] / (CONVERGED * tolerance(run, a, abs(trial[a])) + known_to)) ** 2
        size = (size / n) ** 0.5
        if not size < 1e300 or (iteration > 1 and size > 2.0 * before):
            return OK, False
        if size < 1.0:
            for j in range(n):  # the slope that the solution has
                a = first + j
                slope[a] = (trial[a] - known[a]) / (h * GAMMA)
            return OK, True
        before = size
    return OK, False


@native
def _error(run, method, h, first):
    """The embedded error, filtered, over the tolerances."""
    x, stages, n, total, e, right = run.x, run.stages, method.size, 0.0, method.e, method.right
    trial = stages[run.rows - 2]
    for j in range(n):
        right[j] = 0.0
        for k in range(5):
            right[j] += h * e[k] * stages[1 + k, first + j]
    lu_solve(method.LU, method.pivots, right)
    for j in range(n):
        scale = tolerance(run, first + j, max(abs(x[first + j]), abs(trial[first + j])))
        total += (right[j] / scale) ** 2
    error = (total / n) ** 0.5
    for j in range(run.n - run.works, run.n):  # works follow from the motion: nothing stiff is in their errors
        off = 0.0
        for k in range(5):
            off += h * e[k] * stages[1 + k, j]
        error = max(error, abs(off) / work_tolerance(run.step.rtol, trial[j], run.scales.inertia, run.scales.rate))
    return error


@native
def _factor(method, h):
    """LU factors of 1 − hγJ. Returns whether there are any."""
    n, J, LU = method.size, method.J, method.LU
    for i in range(n):
        for j in range(n):
            LU[i, j] = (1.0 if i == j else 0.0) - h * GAMMA * J[i, j]
    return lu(LU, method.pivots, 0.0)
