"""Moreau and Jean's time stepping: contacts, friction and impacts at velocity level, with fixed steps.

A step of length h evaluates the mechanism once, at the middle Q = q ⊕ h/2 v and t + h/2. With M̂ = M + h/2 D + h²/4 K, D
and K dampers and springs of joints (trapezoidal rule) and v̄ = (v + v⁺)/2, impulses p of the rows A satisfy

    M̂ (v⁺ − v) = h f(Q, v̄) + Aᵀp                                                                                (1)
    A v̄ + b = 0                                     rows that hold: loops, drivers                              (2)
    w⁺ + s ≥ 0 ⊥ p ≥ 0                              contacts, stops, ropes; w⁺ = A v⁺ + b                       (3)
    ‖p_t‖ ≤ μ p_n, or h F, against w_t⁺             Coulomb's law                                               (4)

and q⁺ = Q ⊕ h/2 v⁺ (J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302, 1988; M.
Jean, The non-smooth contact dynamics method, CMAME 177 (1999) 235-257). In (3)

    s = e w⁻      a contact that is closed at Q and is hit with the speed −w⁻ (Newton)
    s = 2 g/h     one with a gap g > 0 at Q: it may close by the end of the step, no more (Stewart & Trinkle)
    s = 0         one that is closed

All e are lowered where impulses would make energy, or where there are none.

Hit is what approaches faster than forces change its speed in the step; with e > 0 such a contact is not slowed before
it is closed. In the mass metric, ν = R v with M̂ = RᵀR, the rows that hold are cut off by an orthonormal basis that
reveals their rank; what is left is `cone`.

The end is then brought onto the manifold along the same directions: Φ(q⁺) = 0, gaps that bear are not negative, and
A(q⁺) v⁺ + b = 0 (V. Acary, Projected event-capturing time-stepping schemes, CMAME 256 (2013) 224-250), so loops are
closed in positions and velocities. Departures: x also has the mean force of each row in the step, which the next step
starts from, and the residual of its contact problem.
"""

from __future__ import annotations

from math import sqrt

from dalembert.integrators.cone import solve
from dalembert.integrators.moreau_record import TimeStepping
from dalembert.integrators.run_record import RunRecord
from dalembert.integrators.stage import control
from dalembert.linalg.cholesky import cholesky, solve_upper, solve_upper_transposed, solve_upper_transposed_rows
from dalembert.linalg.qr import form_q, pivoted_qr
from dalembert.native.calls import call, finite, invoke
from dalembert.native.jit import entry, inline, native
from dalembert.native.numba_struct import struct_at
from dalembert.native.simd import axpy, dot
from dalembert.outcome import CALLBACK, DRIFTED, NOT_FINITE, OK, STEP_UNSOLVED

DEPENDENT = 1e-9  # of unit rows in the mass metric: what is left of a row that depends on others
HIT = 2.0  # times what forces change a speed by in a step: approaches that are faster are impacts
IMPULSIVE = 9.0  # times the square of what forces change: contact forces of the last step beyond are of an impact
MADE = 1e-13  # of the kinetic energy: what impulses may make, by rounding
HALVES = 12  # of the part of restitution that makes none
SOLVED, UNSOLVED = 1e-8, 1e-6  # of speeds: residuals of a contact problem of impacts, and one that ends the run
CLOSED = 1e-13  # of lengths and radians, and of speeds in the mass metric: residuals of what is closed
OPEN = 1e-11  # of lengths and radians: residuals of a step that was not restored
ROUNDS = 30  # of corrections
STUCK = 0.5  # of its last residual: a correction that does not bring it below has reached rounding

_stepping = struct_at(TimeStepping)


@entry(RunRecord)
def moreau_step(x, y, run):
    """One attempt, see `methods`."""
    s, t, h = _stepping(run.method), run.clock.t, run.attempt.h
    x, trial = run.x, run.stages[run.rows - 2]
    run.attempt.error = 0.0
    for i in range(run.n):
        trial[i] = x[i]
    run.attempt.outcome = _evaluate(run, s, t, h, trial)
    if run.attempt.outcome != OK:
        return
    _factor_held(s)
    _forces_at_middle(run, s, t, h, trial)
    _move_freely(s)
    run.attempt.outcome = _impulses(s, h, trial)
    if run.attempt.outcome != OK:
        return
    nq, nv = s.nq, s.nv
    for i in range(nv):
        s.mean[i] = s.free[i]
    solve_upper(s.R, s.mean)  # v⁺
    for i in range(nv):
        trial[nq + i] = s.mean[i]
        s.mean[i] = 0.5 * h * s.mean[i]
    _plus(s, s.middle, s.mean, trial)
    run.attempt.outcome = _restore(run, s, t + h, trial)
    _works(run, s, t, h, trial)


@native
def _evaluate(run, s, t, h, trial):
    """M̂ = RᵀR, Y, ν, h R⁻ᵀf and the speeds of rows at the middle of the step, which becomes `middle`."""
    f, nq, nv, m, x = s.equations, s.nq, s.nv, s.m, run.x
    for i in range(nv):
        s.mean[i] = 0.5 * h * x[nq + i]
    _plus(s, x, s.mean, trial)
    for i in range(nq):
        s.middle[i] = trial[i]
    if run.control.address != 0 and run.clock.hold == 0.0 and not control(run, t + 0.5 * h, trial):
        return CALLBACK
    for i in range(run.nu):
        f.x[s.u_index + i] = run.ode.x[run.u_index + i]
    call(f, t + 0.5 * h, trial, nq + nv)
    out, R, Y = f.y, s.R, s.Y
    for i in range(nv):
        for j in range(i, nv):
            R[i, j] = out[i * nv + j]
    at = nv * nv
    for i in range(nv):
        s.change[i] = h * out[at + i]
    at += nv
    for i in range(m):
        for j in range(nv):
            Y[i, j] = out[at + i * nv + j]
    at += m * nv + 2 * m
    for i in range(nv):
        R[i, i] += 0.5 * h * out[at + i] + 0.25 * h * h * out[at + nv + i]
    if cholesky(R, R)[0] != OK:
        return NOT_FINITE
    solve_upper_transposed_rows(R, Y, m)
    solve_upper_transposed(R, s.change)
    for i in range(nv):
        s.nu[i] = _row_times(R, i, x, nq, nv)
    at = nv * nv + nv + m * nv + m
    for i in range(m):
        s.speed[i] = dot(Y, i, s.nu, 0, 0, nv) + out[at + i]
    return OK


@inline
def _row_times(R, i, x, nq, nv):
    """Row i of R times the velocities in x."""
    total = 0.0
    for j in range(i, nv):
        total += R[i, j] * x[nq + j]
    return total


@inline
def _plus(s, q, delta, out):
    """The first numbers of out ← q ⊕ δ."""
    f = s.plus
    for i in range(s.nq):
        f.x[i] = q[i]
    for i in range(s.nv):
        f.x[s.nq + i] = delta[i]
    invoke(f)
    for i in range(s.nq):
        out[i] = f.y[i]


# --- rows that hold -------------------------------------------------------------------------------------------------


@native
def _factor_held(s):
    """Rows that hold, at unit length, into basis and triangle."""
    s.rank = 0
    if s.held == 0:
        return
    H, Y, nv = s.H, s.Y, s.nv
    for k in range(s.held):
        i = s.held_rows[k]
        length = sqrt(dot(Y, i, Y, i, 0, nv))
        s.length[k] = length
        inverse = 1.0 / length if length > 0.0 else 0.0
        for j in range(nv):
            H[k, j] = inverse * Y[i, j]
    status, rank, _ = pivoted_qr(H, DEPENDENT, s.perm, s.scratch)
    if status == OK:
        s.rank = rank
        form_q(H, s.scratch, rank, 0, rank, s.basis)


@native
def _shortest(s):
    """part ← coefficients of the shortest change in ν that changes the speeds of rows that hold by `right`."""
    H, right, part = s.H, s.right, s.part
    for k in range(s.rank):
        i = s.perm[k]
        value = right[i] / s.length[i]
        for j in range(k):
            value -= H[k, j] * part[j]
        part[k] = value / s.scratch[0, k]


@inline
def _cut(s, x, i):
    """Row i of x ← what is left of it without the span of the rows that hold."""
    basis, nv = s.basis, s.nv
    for k in range(s.rank):
        axpy(-dot(basis, k, x, i, 0, nv), basis, k, x, i, 0, nv)


@native
def _forces_at_middle(run, s, t, h, trial):
    """change ← h R⁻ᵀ f at the velocity u that the step has in its middle by forces at its start, and by old contacts.

    f is taken as f(u) − D (v̄ − u), with v̄ = (v + v⁺)/2 in (1). Forces of contacts that were hit count for nothing.
    """
    f, nq, nv, x, first = s.forces, s.nq, s.nv, run.x, s.work_at + s.works + 2
    for i in range(nv):
        s.mean[i] = 0.0
    for i in range(s.m):
        if s.place[i] >= 0 and trial[first + s.place[i]] != 0.0:
            axpy(h * trial[first + s.place[i]], s.Y, i, s.mean, 0, 0, nv)
    usual = dot(s.change, 0, s.change, 0, 0, nv)
    if dot(s.mean, 0, s.mean, 0, 0, nv) > IMPULSIVE * usual:
        for i in range(nv):
            s.mean[i] = 0.0
    for i in range(nv):
        s.mean[i] += s.change[i]
    _admit(s, s.mean)
    solve_upper(s.R, s.mean)
    damping = nv * nv + nv + s.m * nv + 2 * s.m
    for i in range(nq):
        f.x[i] = trial[i]
    for i in range(nv):
        f.x[nq + i] = x[nq + i] + 0.5 * s.mean[i]
    for i in range(run.nu):
        f.x[s.u_forces + i] = run.ode.x[run.u_index + i]
    if f.time_index >= 0:
        f.x[f.time_index] = t + 0.5 * h
    invoke(f)
    if finite(f.y, nv):
        for i in range(nv):
            s.change[i] = h * (f.y[i] + 0.5 * s.equations.y[damping + i] * s.mean[i])
        solve_upper_transposed(s.R, s.change)


@native
def _move_freely(s):
    """free ← ν after the step without impulses of contacts: (1) and (2)."""
    for i in range(s.nv):
        s.free[i] = s.change[i]
    _admit(s, s.free)
    for i in range(s.nv):
        s.free[i] += s.nu[i]


@native
def _admit(s, x):
    """x, a change of ν by forces ← the change with the impulses of rows that hold: (2)."""
    _cut(s, x, 0)
    if s.held > 0:
        for k in range(s.held):
            s.right[k] = -2.0 * s.speed[s.held_rows[k]]
        _shortest(s)
        for k in range(s.rank):
            axpy(s.part[k], s.basis, k, x, 0, 0, s.nv)


# --- contacts and friction ------------------------------------------------------------------------------------------


@native
def _impulses(s, h, trial):
    """free ← ν after the step with the impulses of contacts and friction; forces and residual go into the trial."""
    c, nv, first = s.cone, s.nv, s.work_at + s.works
    _gather(s, h, trial, first + 2)
    k = c.rows
    trial[first] = trial[first + 1] = 0.0
    for i in range(s.m):
        if s.place[i] >= 0:
            trial[first + 2 + s.place[i]] = 0.0
    for i in range(s.contacts):
        s.bears[i] = 0
    if s.blocked != 0:
        return STEP_UNSOLVED
    if k == 0:
        return OK
    work, part = _solve(s, 1.0), 1.0
    if s.hits > 0 and not _is_admissible(s, work):
        low, high = 0.0, 1.0
        for _ in range(HALVES):
            part = 0.5 * (low + high)
            if _is_admissible(s, _solve(s, part)):
                low = part
            else:
                high = part
        work, part = _solve(s, low), low
    s.lowered += 1 if part < 1.0 else 0
    trial[first], trial[first + 1] = work, c.residual
    s.residual, s.newton_steps = max(s.residual, c.residual), s.newton_steps + c.steps
    if not c.residual <= UNSOLVED:
        return STEP_UNSOLVED
    for i in range(k):
        axpy(c.z[i], s.cut, i, s.free, 0, 0, nv)
        trial[first + 2 + s.place[s.row[i]]] = c.z[i] / h
    for e in range(c.elements):
        i = s.element[e]
        if i < s.contacts and s.pushed[e] != 0 and c.z[c.first[e]] > 0.0:
            s.bears[i] = 1
    return OK


@native
def _solve(s, part):
    """Solve the cone problem with this part of restitution. Returns the work of its impulses on A v̄."""
    c, nv, k, work, rows = s.cone, s.nv, s.cone.rows, 0.0, s.cut
    G = c.G
    for i in range(k):
        for j in range(i + 1):
            G[i, j] = G[j, i] = dot(rows, i, rows, j, 0, nv)
        c.q[i], c.z[i] = s.rest[i] + part * s.rebound[i], s.start[i]
    solve(c)
    at = nv * nv + nv + s.m * nv + s.m
    for i in range(k):
        row = s.row[i]
        after = c.w[i] - part * s.rebound[i] - s.offset[i] - s.equations.y[at + row]
        work += 0.5 * c.z[i] * (after + s.speed[row] - s.equations.y[at + row])
    return work


@inline
def _is_admissible(s, work):
    """Whether impulses were found, and make no energy: with friction, or unequal e, Newton's law can (Kane)."""
    return s.cone.residual <= SOLVED and work <= MADE * dot(s.free, 0, s.free, 0, 0, s.nv)


@native
def _gather(s, h, trial, forces):
    """The cone problem of what may touch in this step and of all joints with friction; it starts from old forces."""
    c, nv, at, fast = s.cone, s.nv, s.nv * s.nv + s.nv + s.m * s.nv, 0.0
    out = s.equations.y
    c.rows = c.elements = s.hits = s.blocked = 0
    for i in range(nv):
        fast += s.free[i] ** 2
    fast = sqrt(fast)
    for i in range(s.contacts):
        row, gap = s.gap_row[i], out[at + s.gap_row[i]]
        reach = sqrt(dot(s.Y, row, s.Y, row, 0, nv)) * fast + abs(out[at + s.m + row])
        if gap > 0.5 * h * reach:
            continue
        before = s.speed[row]
        change = dot(s.Y, row, s.free, 0, 0, nv) + out[at + s.m + row] - before
        hit = s.restitution[i] > 0.0 and before < -HIT * abs(change)
        if hit and gap > 0.0:
            continue
        e = c.elements
        s.element[e], s.pushed[e] = i, 0 if hit else 1
        c.first[e], c.normal[e], c.bound[e], c.across[e], c.mu[e] = c.rows, 1, 0.0, 0, 0.0
        _add_row(s, row, trial[forces + s.place[row]] * h)
        k = c.rows - 1
        if dot(s.cut, k, s.cut, k, 0, nv) == 0.0 and s.rest[k] + 2.0 * max(gap, 0.0) / h < -UNSOLVED * reach:
            s.blocked = 1  # closed by rows that hold, whatever pushes
        if hit:
            s.rebound[k] = s.restitution[i] * before
            s.hits += 1
        else:
            s.offset[k] = 2.0 * max(gap, 0.0) / h
            s.rest[k] += s.offset[k]
        if s.mu[i] > 0.0 and s.slips[i] > 0:
            c.across[e], c.mu[e] = s.slips[i], _friction(s, i)
            for a in range(s.slip_row[i], s.slip_row[i] + s.slips[i]):
                _add_row(s, a, trial[forces + s.place[a]] * h)
        c.elements += 1
    for i in range(s.frictions):
        e, row = c.elements, s.stick_row[i]
        s.element[e], s.pushed[e] = s.contacts + i, 0
        c.first[e], c.normal[e], c.across[e], c.mu[e] = c.rows, 0, 1, 0.0
        c.bound[e] = h * _joint_friction(s, i)
        _add_row(s, row, trial[forces + s.place[row]] * h)
        c.elements += 1


@inline
def _add_row(s, row, start):
    """One more row of the cone problem: cut, with its speed without impulses and where to start from."""
    c, nv, k = s.cone, s.nv, s.cone.rows
    for j in range(nv):
        s.cut[k, j] = s.Y[row, j]
    whole = dot(s.cut, k, s.cut, k, 0, nv)
    if s.rank > 0:
        _cut(s, s.cut, k)
        if dot(s.cut, k, s.cut, k, 0, nv) <= 0.25 * whole:
            _cut(s, s.cut, k)  # twice is enough (Parlett)
        if dot(s.cut, k, s.cut, k, 0, nv) <= DEPENDENT * DEPENDENT * whole:
            for j in range(nv):
                s.cut[k, j] = 0.0
    at = nv * nv + nv + s.m * nv + s.m
    s.rest[k] = dot(s.Y, row, s.free, 0, 0, nv) + s.equations.y[at + row]
    s.start[k], s.row[k], s.rebound[k], s.offset[k] = start, row, 0.0, 0.0
    c.rows += 1


@inline
def _friction(s, i):
    """μ of a contact: the static one where its slip is no more than forces change in a step."""
    if s.static[i] <= s.mu[i]:
        return s.mu[i]
    slip, change = 0.0, 0.0
    for a in range(s.slip_row[i], s.slip_row[i] + s.slips[i]):
        slip += s.speed[a] ** 2
        change += dot(s.Y, a, s.change, 0, 0, s.nv) ** 2
    return s.static[i] if slip <= change else s.mu[i]


@inline
def _joint_friction(s, i):
    """N or N m of a joint, by Stribeck's curve at its speed; without one, more where forces could stop it at once."""
    row = s.stick_row[i]
    speed = abs(s.speed[row])
    if s.stribeck[i] > 0.0:
        from_rest = (speed / s.stribeck[i]) ** s.exponent[i]
        return s.coulomb[i] + s.more[i] * (2.718281828459045 ** -min(from_rest, 700.0))
    still = speed <= abs(dot(s.Y, row, s.change, 0, 0, s.nv))
    return s.coulomb[i] + (s.more[i] if still else 0.0)


# --- the end of the step --------------------------------------------------------------------------------------------


@native
def _restore(run, s, t, trial):
    """Positions and velocities of the trial onto the manifold, gaps that bear not negative. Returns the outcome."""
    if s.held == 0 and s.contacts == 0:
        return OK if finite(trial, s.nq + s.nv) else NOT_FINITE
    last = 1e300
    for k in range(ROUNDS):
        call(s.residuals, t, trial, s.nq + s.nv)
        worst = _position_error(s)
        if k == 0:
            run.evidence.drift = max(run.evidence.drift, worst)
        if worst <= CLOSED or (worst <= OPEN and worst > STUCK * last):
            break
        if not worst < 1e3:
            return NOT_FINITE if worst - worst != 0.0 else DRIFTED
        if k == ROUNDS - 1:
            return DRIFTED
        last = worst
        _correct(s, trial)
        run.counts.corrections += 1
    if s.held > 0:
        _filter(run, s, t, trial)
    return OK if finite(trial, s.nq + s.nv) else NOT_FINITE


@native
def _position_error(s):
    """Largest residual of a row that holds, or depth of a gap that bears, in their units; NaN where one is."""
    out, worst = s.residuals.y, 0.0
    for k in range(s.held):
        error = abs(out[s.held_rows[k]]) / s.held_unit[k]
        if not error <= worst:
            worst = error
    for i in range(s.contacts):
        if s.bears[i] != 0:
            depth = -out[s.gap_row[i]] / s.gap_unit[i]
            if depth > worst:
                worst = depth
    return worst


@native
def _correct(s, trial):
    """q ← q ⊕ δ: the shortest δ along rows at the middle that closes loops and opens gaps that are negative."""
    out, nv, p, c = s.residuals.y, s.nv, s.push, s.cone
    for k in range(s.held):
        s.right[k] = -out[s.held_rows[k]]
    _shortest(s)
    for i in range(nv):
        s.mean[i] = 0.0
    for k in range(s.rank):
        axpy(s.part[k], s.basis, k, s.mean, 0, 0, nv)
    p.rows = p.elements = 0
    for e in range(c.elements):
        i = s.element[e]
        if i < s.contacts and s.bears[i] != 0:
            k, j = p.rows, c.first[e]
            p.first[k], p.normal[k], p.across[k], p.mu[k], p.bound[k] = k, 1, 0, 0.0, 0.0
            p.q[k] = out[s.gap_row[i]] + dot(s.Y, s.gap_row[i], s.mean, 0, 0, nv)
            p.z[k] = 0.0
            p.active[k] = j
            p.rows += 1
            p.elements += 1
    if p.rows > 0:
        for a in range(p.rows):
            s.pushed[a] = p.active[a]
        for a in range(p.rows):
            for b in range(p.rows):
                p.G[a, b] = dot(s.cut, s.pushed[a], s.cut, s.pushed[b], 0, nv)
        solve(p)
        for a in range(p.rows):
            axpy(p.z[a], s.cut, s.pushed[a], s.mean, 0, 0, nv)
    solve_upper(s.R, s.mean)
    _plus(s, trial, s.mean, trial)


@native
def _filter(run, s, t, trial):
    """v ← the nearest velocity that the rows that hold admit, along rows at the middle. s.residuals is up to date."""
    out, nv, nq, m, last = s.residuals.y, s.nv, s.nq, s.m, 1e300
    for k in range(ROUNDS):
        worst, size = 0.0, 0.0
        for a in range(s.held):
            s.right[a] = -out[m + s.held_rows[a]]
            worst = max(worst, abs(s.right[a]) / s.length[a] if s.length[a] > 0.0 else 0.0)
        for i in range(nv):
            size = max(size, abs(s.free[i]))
        if k == 0:
            for a in range(s.held):
                run.evidence.speed_drift = max(run.evidence.speed_drift, abs(s.right[a]))
        if worst <= CLOSED * size or worst > STUCK * last:
            break
        last = worst
        _shortest(s)
        for i in range(nv):
            s.mean[i] = 0.0
        for a in range(s.rank):
            axpy(s.part[a], s.basis, a, s.mean, 0, 0, nv)
        solve_upper(s.R, s.mean)
        for i in range(nv):
            trial[nq + i] += s.mean[i]
        call(s.residuals, t, trial, nq + nv)


@native
def _works(run, s, t, h, trial):
    """Works since the start: powers at the mean velocity of the step, of drivers and contacts from impulses."""
    x, nq, nv, first = run.x, s.nq, s.nv, s.work_at
    trial[first + s.works] += x[first + s.works]
    if s.works == 0:
        return
    f = s.power
    if s.powers > 0:
        for i in range(nq):
            f.x[i] = s.middle[i]
        for i in range(nv):
            f.x[nq + i] = 0.5 * (x[nq + i] + trial[nq + i])
        for i in range(run.nu):
            f.x[s.u_power + i] = run.ode.x[run.u_index + i]
        if f.time_index >= 0:
            f.x[f.time_index] = t + 0.5 * h
        invoke(f)
        for i in range(s.powers):
            trial[first + i] = x[first + i] + h * f.y[i]
    if s.powers < s.works:
        trial[first + s.powers] = x[first + s.powers] + _driven(s)


@native
def _driven(s):
    """Work of drivers in the step, −p · b: their impulses are what (1) leaves along the rows that hold."""
    nv, out, at = s.nv, s.equations.y, s.nv * s.nv + s.nv + s.m * s.nv + s.m
    for i in range(nv):
        s.mean[i] = s.free[i] - s.nu[i] - s.change[i]
    for i in range(s.cone.rows):
        axpy(-s.cone.z[i], s.Y, s.row[i], s.mean, 0, 0, nv)
    work = 0.0
    for k in range(s.rank):
        s.part[k] = dot(s.basis, k, s.mean, 0, 0, nv)
    for k in range(s.rank - 1, -1, -1):
        i = s.perm[k]
        s.part[k] /= s.scratch[0, k]
        for j in range(k):
            s.part[j] -= s.H[k, j] * s.part[k]
        work -= s.part[k] / s.length[i] * out[at + s.held_rows[i]]
    return work
