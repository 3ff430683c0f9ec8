"""Back to the manifold: the steps made of the kernels `correct`, `filter`, `restore` and `recover`.

correct, filter    positions by Newton steps of least length, then the nearest admissible velocity
restore            positions, velocities and energy together (Spencer 3.1.3)
keep_energy        velocities as fast as the balance of energy tells
recover            the state that has given independent coordinates (Spencer 2.3.1)
"""

from __future__ import annotations

from dalembert.native.calls import call
from dalembert.native.jit import inline, native


@inline
def sound(f, at):
    """Whether the elimination can be trusted whose margins are outputs `at` and `at + 1` of f."""
    out = f.y
    return out[at] > f.min_angle and out[at + 1] > f.min_length


@inline
def gauge(run, f, at):
    """Note the margin of the projection by f; returns whether it can be trusted."""
    out = f.y
    run.attempt.projection_margin = min(run.attempt.projection_margin, out[at], out[at + 1] / max(f.row_scale, 1e-300))
    if sound(f, at):
        return True
    run.attempt.projected = 0
    return False


@native
def project(run, t, x, before):
    """Bring x onto the manifold as the run's options say; `before` is the state at the step's start.

    Returns False where it runs away. `attempt.projected`: whether the projection can be trusted; else x is unchanged.
    """
    run.attempt.projection_margin, run.attempt.projected = 1.0, 1
    if run.manifold.restore_energy != 0:
        return _restore(run, t, x)
    good = True
    if (run.counts.steps + 1) % run.manifold.project_every == 0:
        good = _correct(run, t, x, before)
    if run.manifold.filter_velocities != 0:
        _filter(run, t, x)
    return good


@native
def _correct(run, t, x, before):
    """Positions: Newton steps, along new directions each time or those frozen at the step's start."""
    f, nq = run.correct, run.nq
    m, residual, moved, out = f.rows, 0.0, 0.0, f.y
    if run.manifold.frozen != 0:
        given = f.x
        for i in range(nq):
            given[nq + i] = before[i]
    for k in range(run.manifold.max_corrections):
        call(f, t, x, nq)
        residual = 0.0
        for i in range(m):
            residual = max(residual, abs(out[nq + i]))
        if k == 0:
            run.evidence.drift = max(run.evidence.drift, residual)
        if not gauge(run, f, nq + m):
            break
        moved = _moved(run, x, out, nq)
        run.counts.corrections += 1
        if residual < run.manifold.tolerance and run.manifold.frozen == 0:  # the step just taken squares it
            break
    return m == 0 or (
        residual < run.ruler.runaway * run.scales.widest and moved < run.ruler.runaway
    )  # quaternions alone become of unit length


@inline
def _moved(run, x, out, n):
    """x ← out, n numbers of it; returns the largest change of a position, in rad or lengths of the mechanism."""
    largest = 0.0
    for i in range(n):
        if i < run.nq:
            largest = max(largest, abs(out[i] - x[i]) / run.unit[i])
        x[i] = out[i]
    return largest


@native
def _filter(run, t, x):
    """Velocities: the nearest admissible ones."""
    f, nq, nv = run.filter, run.nq, run.nv
    m, out = f.rows, f.y
    call(f, t, x, nq + nv)
    for i in range(m):
        run.evidence.speed_drift = max(run.evidence.speed_drift, abs(out[nv + i]))
    if gauge(run, f, nv + m):
        for i in range(nv):
            x[nq + i] = out[i]


@native
def _restore(run, t, x):
    """Positions, velocities and energy; the energy due is the first one plus the work done since."""
    f, n = run.restore, run.nq + run.nv
    due, m, residual, gap, moved, out, given = run.manifold.energy, f.rows, 0.0, 0.0, 0.0, f.y, f.x
    for i in range(run.n - run.works, run.n):
        due += x[i]
    rate = run.scales.rate if run.scales.rate > 0.0 else 1.0
    given[n], given[n + 1] = due, run.attempt.h if run.attempt.h > 0.0 else 1.0 / rate
    given[n + 2], given[n + 3] = rate, max(run.scales.inertia * rate**2, 1e-300)
    for k in range(run.manifold.max_corrections + 4):
        call(f, t, x, n)
        residual, gap = 0.0, abs(out[n + m - 1])
        for i in range(m - 1):
            residual = max(residual, abs(out[n + i]))
        if k == 0:
            run.evidence.drift = max(run.evidence.drift, residual)
        if not gauge(run, f, n + m):
            return True
        moved = _moved(run, x, out, n)
        run.counts.corrections += 1
        if max(residual, gap) < 1e-3 * run.manifold.tolerance:
            break
    # not the gap of energy: its unit is that of the motion, and at rest no more than rounding
    return residual < run.ruler.runaway * run.scales.widest and moved < run.ruler.runaway


@native
def keep_energy(run, t, x, before):
    """Scale the velocities of x, at t, to the energy that the step's start, `before`, and works since tell.

    Constraint forces grow like 1/σ next to a singular position and are known to rounding / σ, which changes the energy
    by as much in each step. Not where σ is large, or the energy mostly potential: then it is known no better.
    """
    f, n, sigma = run.energies, run.nq + run.nv, max(run.attempt.projection_margin, 0.0) ** 0.5
    if sigma > run.manifold.kept_below:
        return
    call(f, run.clock.t, before, n)
    missing = f.y[0] + f.y[1]
    call(f, t, x, n)
    kinetic, potential = f.y[0], f.y[1]
    missing -= kinetic + potential
    for i in range(run.n - run.works, run.n):
        missing += x[i] - before[i]
    if abs(missing) < run.ruler.scaled * kinetic and kinetic > run.ruler.lively * sigma * (kinetic + abs(potential)):
        faster = (1.0 + missing / kinetic) ** 0.5
        for i in range(run.nq, n):
            x[i] *= faster


@native
def recover(run, t, x):
    """q and v from the chart's y and ẏ in x, by Newton's method from the q there. False where the chart ends."""
    f, n = run.recover, run.nq + run.nv
    m, out = f.rows, f.y
    before, small, large = 1e300, min(1.0, run.scales.length), max(1.0, run.scales.length)
    coarse = max(run.ruler.settles, 4.0 * run.scales.rounding)  # of lengths: where rounding may end Newton's method
    for _ in range(8):
        call(f, t, x, n + 2 * run.dof)
        residual = 0.0
        for i in range(m):
            residual = max(residual, abs(out[n + i]))
        run.attempt.projection_margin = out[n + m]
        good = run.attempt.projection_margin > run.manifold.chart_margin and out[n + m + 1] > f.min_length
        if not (good and residual < 10.0 * large):
            return False
        for i in range(n):
            x[i] = out[i]
        if residual < run.ruler.closes * small or (
            residual < coarse * large and residual >= 0.5 * before
        ):  # rounding allows no more
            return True
        before = residual
    return residual < coarse * small
