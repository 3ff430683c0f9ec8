"""A structure-preserving method of order 2: the constrained variational midpoint rule, for long conservative runs.

The kernel `variational` (`system.variational_step`) makes one iteration of the discrete equations; see there. Momenta
and the symplectic form are kept, the energy error stays bounded for any time.
"""

from __future__ import annotations

from dalembert.integrators.manifold import sound
from dalembert.integrators.run_record import ITERATIONS, RunRecord
from dalembert.integrators.stage import control, evaluate
from dalembert.native.calls import call
from dalembert.native.jit import entry
from dalembert.outcome import CALLBACK, OK, STEP_UNSOLVED, UNSOUND


@entry(RunRecord)
def variational_step(x, y, run):
    """One attempt, see `methods`; the first guess is a step of constant velocity. Controllers act at midpoints."""
    f, nq, nv, t, h = run.step_kernel, run.nq, run.nv, run.t, run.attempt_h
    x, stages, given, out, u = run.x, run.stages, f.x, f.y, run.ode.x
    trial, works, n, m = stages[run.rows - 2], run.works, nq + nv, f.rows
    run.outcome, run.error = OK, 0.0
    if run.control.address != 0 and run.hold == 0.0:
        for i in range(n):
            trial[i] = x[i] + 0.5 * h * stages[0, i]
        if not control(run, t + 0.5 * h, trial):
            run.outcome = CALLBACK
            return
    for i in range(nv):
        given[n + i] = h * x[nq + i]
    given[n + nv] = h
    for i in range(run.nu):
        given[n + nv + 1 + i] = u[run.u_index + i]
    before, most, solved = 1e300, max(1.0, run.length), False
    for _ in range(ITERATIONS):
        call(f, t, x, n)
        if not sound(f, nv + n + m):
            run.outcome = UNSOUND
            return
        change = 0.0
        for i in range(m):
            change = max(change, abs(out[nv + n + i]))
        for i in range(nv):
            given[n + i] = out[i]
        if not change < 1e3 * most:
            break
        if change < 1e-15 or (change < 1e-11 * most and change >= 0.5 * before):  # rounding allows no more
            solved = True
            break
        before = change
    if not solved:
        run.outcome = STEP_UNSOLVED
        return
    for i in range(n):
        trial[i] = out[nv + i]
    if works > 0:  # trapezoidal rule
        for i in range(run.n - works, run.n):
            trial[i] = x[i]
        run.outcome = evaluate(run, t + h, trial, stages[1])
        for i in range(run.n - works, run.n):
            trial[i] = x[i] + 0.5 * h * (stages[0, i] + stages[1, i])
