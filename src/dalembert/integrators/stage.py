"""One evaluation of the right-hand side, with its controller and its chart."""

from __future__ import annotations

from dalembert.integrators.manifold import recover, sound
from dalembert.native.calls import call, finite
from dalembert.native.jit import native
from dalembert.outcome import CALLBACK, NOT_FINITE, OK, UNSOUND


@native
def control(run, t, x):
    """Ask the controller for the inputs of the right-hand side. Returns whether it gave finite numbers."""
    f, u, at = run.control, run.ode.x, run.u_index
    call(f, t, x, run.nq + run.nv)
    out = f.y
    if not finite(out, run.nu):
        return False
    for i in range(run.nu):
        u[at + i] = out[i]
    return True


@native
def evaluate(run, t, x, k):
    """k ← ẋ. In a chart, q and v of x are first made those of its coordinates. Returns the outcome."""
    n, f = run.n, run.ode
    run.evaluations += 1
    if run.dof > 0 and not recover(run, t, x):
        return UNSOUND
    if run.control.address != 0 and run.hold == 0.0 and not control(run, t, x):
        return CALLBACK
    call(f, t, x, run.nq + run.nv + 2 * run.dof)
    out = f.y
    for i in range(n):
        k[i] = out[i]
    run.end_margin = min(out[n], out[n + 1] / max(f.row_scale, 1e-300))
    run.margin = min(run.margin, run.end_margin)
    if not sound(f, n):
        return UNSOUND
    return OK if finite(out, n) else NOT_FINITE
