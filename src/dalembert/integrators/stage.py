"""One evaluation of the right-hand side, with its controller and its chart."""

from __future__ import annotations

from dalembert.compiler.memory import floats
from dalembert.integrators.called import CALLBACK, NOT_FINITE, OK, UNHEALTHY
from dalembert.integrators.manifold import recover, sound
from dalembert.integrators.native import call, finite, inline, native
from dalembert.integrators.numbers import DOF, EVALUATIONS, HEALTH, HOLD, NQ, NV, U_AT, U


@native
def control(parts, t, x, numbers):
    """Ask the controller; its answer goes to the right-hand side. Returns whether it gave one."""
    f, at, nu = parts.control, int(numbers[U_AT]), int(numbers[U])
    u, out = floats(parts.ode.given), floats(f.out)
    call(f, t, x, int(numbers[NQ] + numbers[NV]))
    if not finite(out, nu):
        return False
    for i in range(nu):
        u[at + i] = out[i]
    return True


@inline
def evaluate(parts, t, x, k, numbers, counts):
    """k ← ẋ. Where a chart is used, q and v of x are first made those of its coordinates. Returns the outcome."""
    n, f = x.shape[0], parts.ode
    out = floats(f.out)
    counts[EVALUATIONS] += 1
    if numbers[DOF] > 0.0 and not recover(parts.recover, t, x, numbers):
        return UNHEALTHY
    if parts.control.address != 0 and numbers[HOLD] == 0.0 and not control(parts, t, x, numbers):
        return CALLBACK
    call(f, t, x, int(numbers[NQ] + numbers[NV] + 2 * numbers[DOF]))
    for i in range(n):
        k[i] = out[i]
    numbers[HEALTH] = min(numbers[HEALTH], out[n], out[n + 1] / max(f.size, 1e-300))
    if not sound(f, n, numbers):
        return UNHEALTHY
    return OK if finite(out, n) else NOT_FINITE
