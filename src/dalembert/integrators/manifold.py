"""Back to the manifold after a step: what the kernels `correct`, `filter`, `restore` and `recover` are for.

correct, filter    positions by Newton steps of least length, then the nearest admissible velocity
restore            positions, velocities and energy together (Spencer 3.1.3)
recover            the state that has given independent coordinates (Spencer 2.3.1)
"""

from __future__ import annotations

from dalembert.compiler.memory import floats
from dalembert.integrators.native import call, inline, native
from dalembert.integrators.numbers import (
    CHART,
    CORRECTIONS,
    DOF,
    ENERGY,
    EVERY,
    FILTER,
    FROZEN,
    LENGTH,
    MOST,
    NQ,
    NV,
    POSITION,
    RESTORE,
    SPEED,
    STEPS,
    TOLERANCE,
    WORKS,
)

RUNAWAY = 0.1  # rad, or of a length of the mechanism: a residual that no correction of a step can have left


@inline
def sound(f, at, numbers):
    """Whether the elimination whose health stands at out[at:] can be trusted."""
    out = floats(f.out)
    return out[at] > f.healthy and out[at + 1] > f.shortest


@native
def return_to_manifold(parts, t, x, before, numbers, counts):
    """Bring x back as the run's options say; residuals into `numbers`. Returns False where it runs away."""
    if numbers[RESTORE] > 0.0:
        return _restore(parts.restore, t, x, numbers, counts)
    good = True
    if counts[STEPS] % int(numbers[EVERY]) == 0:
        good = _correct(parts.correct, t, x, before, numbers, counts)
    if numbers[FILTER] > 0.0:
        _filter(parts.filter, t, x, numbers)
    return good


@native
def _correct(f, t, x, before, numbers, counts):
    """Positions: at most MOST Newton steps, directions new each time or frozen at those of the step's start."""
    nq, m, residual, out = int(numbers[NQ]), f.rows, 0.0, floats(f.out)
    if numbers[FROZEN] > 0.0:
        given = floats(f.given)
        for i in range(nq):
            given[nq + i] = before[i]
    for k in range(int(numbers[MOST])):
        call(f, t, x, nq)
        residual = 0.0
        for i in range(m):
            residual = max(residual, abs(out[nq + i]))
        if k == 0:
            numbers[POSITION] = max(numbers[POSITION], residual)
        if not sound(f, nq + m, numbers):
            break
        for i in range(nq):
            x[i] = out[i]
        counts[CORRECTIONS] += 1
        if residual < numbers[TOLERANCE] and numbers[FROZEN] == 0.0:  # the step just taken squares it
            break
    return residual < RUNAWAY * max(1.0, numbers[LENGTH])


@native
def _filter(f, t, x, numbers):
    """Velocities: the nearest admissible ones."""
    nq, nv, m, out = int(numbers[NQ]), int(numbers[NV]), f.rows, floats(f.out)
    call(f, t, x, nq + nv)
    for i in range(m):
        numbers[SPEED] = max(numbers[SPEED], abs(out[nv + i]))
    if sound(f, nv + m, numbers):
        for i in range(nv):
            x[nq + i] = out[i]


@native
def _restore(f, t, x, numbers, counts):
    """Positions, velocities and energy; the energy due is the first one plus the work done since."""
    nq, nv, works = int(numbers[NQ]), int(numbers[NV]), int(numbers[WORKS])
    due, m, residual, out = numbers[ENERGY], f.rows, 0.0, floats(f.out)
    for i in range(works):
        due += x[x.shape[0] - works + i]
    floats(f.given)[nq + nv] = due
    for k in range(int(numbers[MOST]) + 4):
        call(f, t, x, nq + nv)
        residual = 0.0
        for i in range(m):
            residual = max(residual, abs(out[nq + nv + i]))
        if k == 0:
            numbers[POSITION] = max(numbers[POSITION], residual)
        if not sound(f, nq + nv + m, numbers):
            return True
        for i in range(nq + nv):
            x[i] = out[i]
        counts[CORRECTIONS] += 1
        if residual < 1e-3 * numbers[TOLERANCE]:
            break
    return residual < RUNAWAY * max(1.0, numbers[LENGTH])


@native
def recover(f, t, x, numbers):
    """q and v from the chart's y and ẏ in x, by Newton's method from the q there. False where the chart ends."""
    n, dof, out = int(numbers[NQ] + numbers[NV]), int(numbers[DOF]), floats(f.out)
    before, small, large = 1e300, min(1.0, numbers[LENGTH]), max(1.0, numbers[LENGTH])
    for _ in range(8):
        call(f, t, x, n + 2 * dof)
        residual = 0.0
        for i in range(f.rows):
            residual = max(residual, abs(out[n + i]))
        good = out[n + f.rows] > numbers[CHART] and out[n + f.rows + 1] > f.shortest
        if not (good and residual < 10.0 * large):
            return False
        for i in range(n):
            x[i] = out[i]
        if residual < 1e-14 * small or (
            residual < 1e-9 * large and residual >= 0.5 * before
        ):  # as far as rounding lets it
            return True
        before = residual
    return residual < 1e-9 * small
