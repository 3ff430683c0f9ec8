"""The native part of `mode_rows`."""

from __future__ import annotations

from math import exp

from dalembert.formulations.common import factor_in_metric
from dalembert.formulations.mode_rows import (
    CLOSES,
    JAMS,
    LOADS,
    OPENS,
    SLIPS,
    SLIPS_JOINT,
    STOPS,
    STOPS_TURNING,
    TURNS,
    ModeRows,
)
from dalembert.formulations.nullspace import in_mass_metric
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.linalg import cholesky, lu, lu_solve, solve_upper, solve_upper_transposed, whiten_rows
from dalembert.native.calls import data, invoke, jump
from dalembert.native.jit import entry, inline, native
from dalembert.native.memory import doubles
from dalembert.outcome import MASS_SINGULAR, NOT_FINITE, OK

# --- places among the outputs of the program -------------------------------------------------------------------------


@inline
def at_f(s):
    return s.nq + s.powers + s.n * s.n


@inline
def at_row(s, row):
    return at_f(s) + s.n + row * s.n


@inline
def at_gamma(s):
    return at_f(s) + s.n + s.all * s.n


@inline
def at_phi(s):
    return at_gamma(s) + s.all


@inline
def at_speed(s):
    return at_gamma(s) + 2 * s.all


@inline
def at_b(s):
    return at_gamma(s) + 3 * s.all


# --- equations -------------------------------------------------------------------------------------------------------


@native
def select(x, s):
    """Evaluate the program at its inputs x; the rows of the mode and the friction of its joints go to the problem."""
    program, problem, n = s.program, s.problem, s.n
    jump(program.address, x, data(program.y), program.w)
    out, A, sizes = program.y, problem.A, problem.sizes
    gammas, phis, speeds = at_gamma(s), at_phi(s), at_speed(s)
    for k in range(s.m):
        row, scale = s.rows[k], 1.0 / sizes[k]
        first = at_row(s, row)
        for j in range(n):
            A[k, j] = out[first + j] * scale
        asked = 2.0 * s.alpha * out[speeds + row] + s.beta**2 * out[phis + row]
        s.gamma[k] = problem.gamma[k] = (out[gammas + row] + asked) * scale
    for j in range(n):
        s.friction[j] = 0.0
    for i in range(s.joints):
        row = s.joint_rows[i]
        pull, first = -s.joint_laws[i, 0] * dry(s.joint_laws, i, out[speeds + row]), at_row(s, row)
        for j in range(n):
            s.friction[j] += pull * out[first + j]
    first = at_f(s)
    for j in range(n):
        problem.f[j] = s.f[j] = out[first + j] + s.friction[j]


@inline
def dry(laws, i, speed):
    """The friction of a joint that slides: Stribeck's curve."""
    coulomb, breakaway, stribeck = laws[i, 1], laws[i, 2], laws[i, 3]
    if stribeck == 0.0 or breakaway == coulomb:
        return coulomb
    return coulomb + (breakaway - coulomb) * exp(-(abs(speed / stribeck) ** laws[i, 4]))


@native
def factor(s):
    """Factor the rows, or the mass matrix alone where there are none. Returns the outcome."""
    problem = s.problem
    if s.m > 0:
        return factor_in_metric(problem, False)
    status, _, _ = cholesky(problem.M, problem.upper)
    problem.rank, problem.largest, problem.smallest = 0, 0.0, 0.0
    problem.status = OK if status == OK else MASS_SINGULAR
    return problem.status


@native
def answer_to(s, i):
    """Row i of `pressed` ← λ of f and γ in the problem, shared by (2); its v̇ too."""
    problem, m, out = s.problem, s.m, s.pressed
    in_mass_metric(problem)
    for k in range(m):
        out[i, k] = problem.multipliers[k] / problem.sizes[k]
    if s.shared == 0:
        return
    side = s.spring_side
    for d in range(s.shared):
        side[d] = 0.0
        for a in range(s.soft):
            side[d] += s.share[d, a] * s.soft_compliance[a] * out[i, s.soft_at[a]]
    lu_solve(s.spring, s.spring_order, side)
    for d in range(s.shared):
        out[i, m + d] = side[d]
        for a in range(s.soft):
            out[i, s.soft_at[a]] -= s.share[d, a] * side[d]


@native
def prepare_shares(s):
    """C of the rows that depend on others, by λ of each as an applied force, and the matrix of (2). False: singular."""
    problem, out = s.problem, s.program.y
    for k in range(s.m):
        problem.gamma[k] = 0.0
    for d in range(s.shared + s.waiting):
        first = at_row(s, s.shared_rows[d] if d < s.shared else s.waiting_rows[d - s.shared])
        for j in range(s.n):
            problem.f[j] = out[first + j]
        in_mass_metric(problem)
        for a in range(s.soft):
            k = s.soft_at[a]
            s.share[d, a] = -problem.multipliers[k] / problem.sizes[k]
    for d in range(s.shared):
        for e in range(s.shared):
            total = s.shared_compliance[d] if d == e else 0.0
            for a in range(s.soft):
                total += s.share[d, a] * s.soft_compliance[a] * s.share[e, a]
            s.spring[d, e] = total
    return lu(s.spring, s.spring_order, 0.0)


@native
def slide(s, i):
    """Row i of `along` ← −μ times the generalized force of a unit force along the slip of a contact."""
    out, n, x_row, y_row = s.program.y, s.n, s.slider_rows[i, 1], s.slider_rows[i, 2]
    mu, x, y = s.slider_laws[i, 0], s.slider_laws[i, 1], s.slider_laws[i, 2]
    if x_row >= 0 and y_row >= 0:
        speeds, start = at_speed(s), s.slider_laws[i, 3]
        x, y = out[speeds + x_row] + start * x, out[speeds + y_row] + start * y
        size = (x * x + y * y) ** 0.5
        if size > 0.0:
            x, y = x / size, y / size
        else:
            x, y = s.slider_laws[i, 1], s.slider_laws[i, 2]
    for j in range(n):
        pull = 0.0
        if x_row >= 0:
            pull += x * out[at_row(s, x_row) + j]
        if y_row >= 0:
            pull += y * out[at_row(s, y_row) + j]
        s.along[i, j] = -mu * pull


@native
def solve(s):
    """`forces` ← λ of the mode, its friction into f of the problem, v̇ there. Returns the outcome."""
    problem, n, m, count = s.problem, s.n, s.m, s.sliders
    outcome = factor(s)
    s.determinant = 1.0
    if outcome != OK:
        return outcome
    if m == 0:
        for j in range(n):
            problem.vdot[j] = problem.f[j]
        solve_upper_transposed(problem.upper, problem.vdot)
        solve_upper(problem.upper, problem.vdot)
        return OK
    if s.shared + s.waiting > 0 and not prepare_shares(s):
        problem.status = NOT_FINITE
        return NOT_FINITE
    for i in range(count):
        slide(s, i)
        for k in range(m):
            problem.gamma[k] = 0.0
        for j in range(n):
            problem.f[j] = s.along[i, j]
        answer_to(s, i + 1)
    for j in range(n):
        problem.f[j] = s.f[j]
    for k in range(m):
        problem.gamma[k] = s.gamma[k]
    if count == 0:
        answer_to(s, 0)
        for k in range(m + s.shared):
            s.forces[k] = s.pressed[0, k]
        return problem.status
    answer_to(s, 0)
    press(s)
    for j in range(n):
        for i in range(count):
            s.friction[j] += s.along[i, j] * s.press_side[i]
            problem.f[j] += s.along[i, j] * s.press_side[i]
    for k in range(m + s.shared):
        s.forces[k] = s.pressed[0, k]
        for i in range(count):
            s.forces[k] += s.press_side[i] * s.pressed[i + 1, k]
    in_mass_metric(problem)
    return problem.status


@native
def press(s):
    """`press_side` ← the normal forces of what slides, by (1); its determinant."""
    count, K = s.sliders, s.press
    for i in range(count):
        at = s.slider_rows[i, 0]
        s.press_side[i] = s.pressed[0, at]
        for j in range(count):
            K[i, j] = (1.0 if i == j else 0.0) - s.pressed[j + 1, at]
    if not lu(K, s.press_order, 0.0):
        s.determinant = 0.0
        return
    for i in range(count):
        s.determinant *= K[i, i] if s.press_order[i] == i else -K[i, i]
    lu_solve(K, s.press_order, s.press_side)


# --- entries ---------------------------------------------------------------------------------------------------------


@entry(ModeRows)
def mode_equations(x, y, s):
    """y ← q̇, powers, M, f, A, γ, Φ, A v + b, −b of the mode."""
    select(x, s)
    if s.sliders > 0:
        solve(s)
    out, problem, n, m = s.program.y, s.problem, s.n, s.m
    size = s.nq + s.own_powers + n * n + n + m * n + 4 * m
    to = doubles(y, size)
    at = powers(x, to, 0, s)
    first = s.nq + s.powers
    for i in range(n * n):
        to[at + i] = out[first + i]
    at += n * n
    for j in range(n):
        to[at + j] = problem.f[j]
    at += n
    for k in range(m):
        first = at_row(s, s.rows[k])
        for j in range(n):
            to[at + k * n + j] = out[first + j]
    at += m * n
    for k in range(m):
        row = s.rows[k]
        to[at + k] = s.gamma[k] * problem.sizes[k]
        to[at + m + k] = out[at_phi(s) + row]
        to[at + 2 * m + k] = out[at_speed(s) + row]
        to[at + 3 * m + k] = out[at_b(s) + row]


@native
def powers(x, y, between, s):
    """y ← q̇ and, after `between` numbers, the powers; returns the place after them."""
    out, v = s.program.y, doubles(x, s.nq + s.n)
    for i in range(s.nq):
        y[i] = out[i]
    at = s.nq + between
    for i in range(s.own_powers):
        y[at + i] = out[s.nq + i] if i < s.powers else 0.0
    if s.lost >= 0:
        for j in range(s.n):
            y[at + s.lost] += s.friction[j] * v[s.nq + j]
    return at + s.own_powers


@entry(ModeRows)
def mode_field(x, y, s):
    """y ← q̇, v̇, powers, the drivers' power, margin and evidence; see `right_hand_side`."""
    select(x, s)
    solve(s)
    problem, out = s.problem, s.program.y
    to = doubles(y, s.nq + s.n + s.own_powers + s.driven + 2 + EVIDENCE)
    at = powers(x, to, s.n, s)
    for j in range(s.n):
        to[s.nq + j] = problem.vdot[j]
    if s.driven != 0:
        power, first = 0.0, at_b(s)
        for k in range(s.m):
            power += problem.multipliers[k] / problem.sizes[k] * out[first + s.rows[k]]
        to[at] = power
        at += 1
    to[at] = to[at + 1] = 1.0
    if problem.largest > 0.0:  # rows are over their usual lengths: a long one, of what has lost its mass, is no harm
        to[at] = min(1.0, problem.smallest / min(problem.largest, 1.0)) ** 2
    if problem.status != OK:  # no step leads there: not a singular position, but no motion
        for j in range(s.n):
            to[s.nq + j] = float("nan")
    elif problem.rank < problem.usual_rank:
        to[at] = to[at + 1] = 0.0
    to[at + 2], to[at + 3], to[at + 4], to[at + 5] = problem.rank, problem.largest, problem.smallest, problem.status


@entry(ModeRows)
def mode_whitened(x, y, s):
    """y ← entries of the rows in the mass metric over their usual lengths; their places stay as they are."""
    select(x, s)
    problem, n = s.problem, s.n
    to = doubles(y, s.m * n)
    status, _, _ = cholesky(problem.M, problem.upper)
    if status == OK:
        whiten_rows(problem.A, problem.upper, problem.white)
    for k in range(s.m):
        for j in range(n):
            to[k * n + j] = problem.white[k, j] if status == OK else 0.0


@entry(ModeRows)
def mode_guards(x, y, s):
    """y ← the guards, then the events of the user."""
    select(x, s)
    sound = solve(s) == OK
    to = doubles(y, s.guards + s.events)
    for i in range(s.guards):
        to[i] = guard_value(s, i, sound)
    if s.events > 0:
        users, given = s.users, doubles(x, s.program.nx)
        for i in range(users.nx):
            users.x[i] = given[s.places[i]]
        invoke(users)
        for i in range(s.events):
            to[s.guards + i] = users.y[i]


@native
def guard_value(s, i, sound):
    """One guard; NaN where it needs forces and there are none."""
    kind, a, b, c, out = s.guard[i, 0], s.guard[i, 1], s.guard[i, 2], s.guard[i, 3], s.program.y
    number, speeds = s.guard_numbers, at_speed(s)
    if kind == CLOSES:
        return out[at_phi(s) + a] + number[i, 0]
    if kind == TURNS:
        return -out[speeds + a]
    if kind == STOPS:  # of a contact that can slide along one line, and of a joint: sign · speed + offset
        return number[i, 1] * out[speeds + a] + number[i, 0]
    if kind == STOPS_TURNING:
        x, y = out[speeds + a], out[speeds + b]
        size, along = (x * x + y * y) ** 0.5, number[i, 1] * x + number[i, 2] * y
        new = number[i, 3]
        return (1.0 - new) * (along - 0.5 * size) - new * size + number[i, 0]
    if not sound:
        return float("nan")
    if kind == OPENS:
        return s.forces[a]
    if kind == SLIPS:
        x, y = s.forces[b] if b >= 0 else 0.0, s.forces[c] if c >= 0 else 0.0
        return number[i, 0] * (s.forces[a] if a >= 0 else 0.0) - (x * x + y * y) ** 0.5
    if kind == SLIPS_JOINT:
        return number[i, 0] - (abs(s.forces[a]) if a >= 0 else 0.0)
    if kind == LOADS:
        total = 0.0
        for k in range(s.soft):
            total += s.share[s.shared + a, k] * s.soft_compliance[k] * s.forces[s.soft_at[k]]
        return -total
    if kind == JAMS:
        return s.determinant
    return 1.0
