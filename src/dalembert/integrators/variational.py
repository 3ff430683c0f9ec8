"""A structure-preserving method of order 2: the constrained variational midpoint rule, for long conservative runs.

The kernel `variational` (`system.variational_step`) makes one iteration of the discrete equations; see there. Momenta
and the symplectic form are kept, the energy error stays bounded for any time. An iteration is a step of Newton's method
with an approximate matrix, F(δ) the change of δ that it asks for. Broyden's method corrects the matrix by the changes
s₀, s₁, … of δ made so far (Kelley 1995, section 7.3):

    z = F(δ),   z ← z + s_{j+1} (s_j · z) / (s_j · s_j) for j = 0, …, k − 2                                    (1)
    s_k = z / (1 − s_{k−1} · z / (s_{k−1} · s_{k−1}))                                                          (2)
"""

from __future__ import annotations

from dalembert.integrators.manifold import sound
from dalembert.integrators.run_record import RunRecord
from dalembert.integrators.stage import control, evaluate
from dalembert.integrators.variational_record import ITERATIONS, Learned, VariationalMotion
from dalembert.native.calls import call, invoke
from dalembert.native.jit import entry, native
from dalembert.native.numba_struct import struct_at
from dalembert.outcome import CALLBACK, NOT_FINITE, OK, STEP_UNSOLVED, UNSOUND

STALLED = 3  # iterations that did not help: rounding allows no more
STEEPEST = 5.0  # times a change may grow by (2)
RUNAWAY = 1e6  # rad or lengths: a change from which no iteration comes back

_learned = struct_at(Learned)


@entry(RunRecord)
def variational_step(x, y, run):
    """One attempt, see `methods`; controllers act at midpoints."""
    f, nq, nv, t, h = run.step_kernel, run.nq, run.nv, run.clock.t, run.attempt.h
    x, stages, given, out, u = run.x, run.stages, f.x, f.y, run.ode.x
    trial, works, n = stages[run.rows - 2], run.works, nq + nv
    run.attempt.outcome, run.attempt.error = OK, 0.0
    if run.control.address != 0 and run.clock.hold == 0.0:
        for i in range(n):
            trial[i] = x[i] + 0.5 * h * stages[0, i]
        if not control(run, t + 0.5 * h, trial):
            run.attempt.outcome = CALLBACK
            return
    for i in range(run.nu):
        given[n + nv + 1 + i] = u[run.u_index + i]
    run.attempt.outcome = solve(f, _learned(run.method), t, h, x, n, nv, run.scales.length)
    if run.attempt.outcome != OK:
        return
    for i in range(n):
        trial[i] = out[nv + i]
    if works > 0:  # trapezoidal rule
        for i in range(run.n - works, run.n):
            trial[i] = x[i]
        run.attempt.outcome = evaluate(run, t + h, trial, stages[1])
        for i in range(run.n - works, run.n):
            trial[i] = x[i] + 0.5 * h * (stages[0, i] + stages[1, i])


@native
def solve(f, learned, t, h, x, n, nv, length):
    """Solve for a step of length h from the state x; returns the outcome. The outputs of f are then the step's.

    The first guess is a step of constant velocity. Runs and motions share it: near a dead point there are two answers.
    """
    given, out, m, s = f.x, f.y, f.rows, learned.changes
    for i in range(nv):
        given[n + i] = h * x[n - nv + i]
    given[n + nv] = h
    most, least, count, stalled = max(1.0, length), 1e300, 0, 0
    for _ in range(ITERATIONS):
        call(f, t, x, n)
        if not sound(f, nv + n + m):
            return UNSOUND
        change = 0.0
        for i in range(m):
            change = max(change, abs(out[nv + n + i]))
        if not change < RUNAWAY * most:
            return STEP_UNSOLVED
        stalled = stalled + 1 if change >= 0.5 * least else 0
        least = min(least, change)
        if change < 1e-15 * min(1.0, length) or (stalled > 0 and change < 1e-13 * most):
            return OK
        if stalled >= STALLED and change < 1e-11 * most:
            return OK
        if count == learned.memory:
            count = 0
        z = s[count]
        for i in range(nv):
            z[i] = out[i] - given[n + i]
        for j in range(count):
            along, square = 0.0, 0.0
            for i in range(nv):
                along += s[j, i] * z[i]
                square += s[j, i] * s[j, i]
            part = along / max(square, 1e-300)
            if j < count - 1:  # (1)
                for i in range(nv):
                    z[i] += part * s[j + 1, i]
            else:  # (2)
                part = 1.0 / max(1.0 - part, 1.0 / STEEPEST)
                for i in range(nv):
                    z[i] *= part
        for i in range(nv):
            given[n + i] += z[i]
        count += 1
    return STEP_UNSOLVED


@entry(VariationalMotion)
def variational_motion(x, y, motion):
    """The steps of a motion from `done` on, as far as they can be taken."""
    f, nq, nv, nu, h = motion.kernel, motion.nq, motion.nv, motion.nu, motion.h
    n, given, out, minus, states = nq + nv, f.x, f.y, motion.minus, motion.before
    motion.outcome = OK
    for k in range(motion.done, motion.steps):
        if k > 0 and motion.apart == 0:
            for i in range(n):
                states[k, i] = motion.after[k - 1, i]
        if not _act(motion, k, minus):
            motion.outcome = NOT_FINITE
            return
        for j in range(nu):
            given[n + nv + 1 + j] = motion.inputs[k, j]
        motion.outcome = solve(f, motion.learned, motion.times[k], h, states[k], n, nv, motion.length)
        if motion.outcome != OK:
            return
        for i in range(n):
            motion.after[k, i] = out[nv + i]
        for i in range(nv):
            motion.moves[k, i] = out[i]
        motion.done = k + 1


@native
def _act(motion, k, minus):
    """The inputs of the k-th step; returns whether they are finite."""
    nq, nv, away, state, wanted = motion.nq, motion.nv, motion.away, motion.before[k], motion.wanted[k]
    for i in range(nq):
        minus.x[i], minus.x[nq + i] = state[i], wanted[i]
    invoke(minus)
    for i in range(nv):
        away[i], away[nv + i] = minus.y[i], state[nq + i] - wanted[nq + i]
    for j in range(motion.nu):
        value = motion.u[k, j]
        for i in range(2 * nv):
            value += motion.gains[k, j, i] * away[i]
        if not abs(value) < 1e300:
            return False
        motion.inputs[k, j] = min(max(value, motion.lower[j]), motion.upper[j])
    return True
