"""The start of a run: its first record, and whether it is on the manifold, away from singular positions."""

from __future__ import annotations

from dalembert.integrators.run_record import RunRecord
from dalembert.native.calls import call
from dalembert.native.jit import entry, inline


@entry(RunRecord)
def begin(x, y, run):
    """Record x and the inputs; tell whether x satisfies the constraints to rounding and these are independent."""
    run.manifold.closed = (
        1 if _small(run, run.correct, run.nq, run.nq) and _small(run, run.filter, run.nq + run.nv, run.nv) else 0
    )
    ode, n = run.ode, run.n
    call(ode, run.clock.t, run.x, run.nq + run.nv + 2 * run.dof)
    out, row = ode.y, run.states[0]
    run.manifold.independent = 1 if out[n] > run.ruler.clearly * ode.min_angle and out[n + 1] > ode.min_length else 0
    for j in range(n):
        row[j] = run.x[j]
    for j in range(run.nu):
        row[n + j] = ode.x[run.u_index + j]
    row[n + run.nu] = 1.0
    run.times[0], run.counts.records = run.clock.t, 1


@inline
def _small(run, f, size, at):
    """Whether the residuals that f has among its outputs are; not known without f. size: of what f is given of x."""
    if f.address == 0:
        return False
    call(f, run.clock.t, run.x, size)
    out, small = f.y, True
    for i in range(f.rows):
        small = small and abs(out[at + i]) <= run.manifold.closed_to
    return small
