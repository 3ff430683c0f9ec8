"""Least squares in levels under inequalities, by a primal active set:

    x of  G x ≥ h  that makes ‖A₁x − b₁‖ least; of those, ‖A₂x − b₂‖ least; …; and at last ‖x‖ least            (1)

A level that is solved is kept by the rows of A_k: A_k x has one value over all solutions (least squares), so the later
levels move in the null space of these rows (Escande, Mansard & Wieber, "Hierarchical quadratic programming", 2014,
with hard inequalities only, so that no level has inequalities of its own). Within a level, with Q orthonormal rows that
span the kept rows and those of active inequalities:

    p = (A (1 − QᵀQ))⁺ (b − A x)                the shortest step to the least-squares solution along Q            (2)
    x ← x + α p                                 α up to the first inequality that would break; it becomes active   (3)
    Σ μ_i G_i = Aᵀ(A x − b) along Q             after a full step; an active row with μ_i < 0 is let go            (4)

Every step starts from a feasible x; `feasibility` finds one.
"""

from __future__ import annotations

from dalembert.linalg import dot, rank_factor, solve
from dalembert.native.jit import native
from dalembert.native.memory import cut

ROUNDS = 20  # steps for each row and unknown, at most
PARALLEL = 1e-9  # of a row of length 1: what is left of one that depends on others
STILL = PARALLEL  # of a step's length: an approach to a bound that is none; what blocks a step can be held then
ROUNDING = 1e-12  # of its terms: what a step does to a level that is nothing
TOUCHING = 1e-14  # of its terms: the distance from a bound that is met
PULL = 1e-11  # of its terms: a multiplier that is zero


@native
def clear(s):
    """Forget what is kept and what is active."""
    s.kept = s.held = 0
    on, pressed = s.on, s.pressed
    for i in range(s.count):
        on[i] = pressed[i] = 0


@native
def orthogonal(s, v, coefficients, record):
    """v ← v without its part along Q, the part along active rows into coefficients if asked. Returns its length."""
    Q, n, known = s.Q, s.n, s.kept + s.held
    for again in range(2):
        for k in range(known):
            c = dot(Q, k, v, 0, 0, n)
            if record and k >= s.kept:
                coefficients[k - s.kept] = c + (coefficients[k - s.kept] if again else 0.0)
            for j in range(n):
                v[j] -= c * Q[k, j]
    return dot(v, 0, v, 0, 0, n) ** 0.5


@native
def hold(s, i):
    """Make inequality i active, unless it follows from others."""
    n, Q, R, G = s.n, s.Q, s.R, s.G
    if s.kept + s.held >= n:
        return
    v, coefficients = cut(Q, (s.kept + s.held) * n, (n,)), cut(R, s.held * n, (n,))
    for j in range(n):
        v[j], coefficients[j] = G[i, j], 0.0
    left = orthogonal(s, v, coefficients, True)
    if left <= PARALLEL:
        return
    for j in range(n):
        v[j] /= left
    coefficients[s.held] = left
    s.active[s.held] = i
    s.on[i] = 1
    s.held += 1


@native
def hold_again(s, gone):
    """Build Q of the active rows anew, without the one at the place `gone` (−1: with all of them)."""
    active, on, before = s.active, s.on, s.held
    s.held = 0
    for k in range(before):
        i = active[k]
        on[i] = 0
        if k != gone:
            hold(s, i)


@native
def project(s, known):
    """The rows of A without their part along `known` rows of Q, into `projected`; their lengths after and before."""
    n, A, Q, P = s.n, s.A, s.Q, cut(s.projected, 0, (s.rows, s.n))
    total, whole = 0.0, 0.0
    for i in range(s.rows):
        whole += dot(A, i, A, i, 0, n)
        for j in range(n):
            P[i, j] = A[i, j]
        for k in range(known):
            c = dot(Q, k, P, i, 0, n)
            for j in range(n):
                P[i, j] -= c * Q[k, j]
        total += dot(P, i, P, i, 0, n)
    return total**0.5, whole**0.5


@native
def factor_projected(s, known):
    """Factor A (1 − QᵀQ), Q the first `known` rows. Returns the rank."""
    size, whole = project(s, known)
    factor = s.factor
    factor.m, factor.n = s.rows, s.n
    tolerance = s.tolerance * max(1.0, min(max(s.whole, whole) / (size + 1e-300), 1e16))
    _, rank = rank_factor(factor, cut(s.projected, 0, (s.rows, s.n)), tolerance, 100.0, False)
    return rank


@native
def descend(s):
    """Step ← p of (2)."""
    n, x, step, right, Q = s.n, s.x, s.step, s.right, s.Q
    known = s.kept + s.held
    if s.rows == 0:
        for j in range(n):
            step[j] = -x[j]
    else:
        A, b = s.A, s.b
        factor_projected(s, known)
        for i in range(s.rows):
            right[i] = b[i] - dot(A, i, x, 0, 0, n)
        solve(s.factor, cut(right, 0, (s.rows,)), step)
    for k in range(known):
        c = dot(Q, k, step, 0, 0, n)
        for j in range(n):
            step[j] -= c * Q[k, j]
    if known >= n or idle(s):
        for j in range(n):
            step[j] = 0.0


@native
def idle(s):
    """Whether the step does nothing to the level but rounding."""
    n, x, step, A, b = s.n, s.x, s.step, s.A, s.b
    if s.rows == 0:
        return dot(step, 0, step, 0, 0, n) <= ROUNDING**2 * dot(x, 0, x, 0, 0, n)
    change, terms = 0.0, 0.0
    for i in range(s.rows):
        change += dot(A, i, step, 0, 0, n) ** 2
        terms += abs(b[i])
        for j in range(n):
            terms += abs(A[i, j] * x[j])
    return change <= (ROUNDING * terms) ** 2


@native
def first_broken(s):
    """The inequality that a full step would break first (−1: none), and how much of the step it leaves."""
    G, h, x, step, on, n = s.G, s.h, s.x, s.step, s.on, s.n
    part, first = 1.0, -1
    small = STILL * dot(step, 0, step, 0, 0, n) ** 0.5
    for i in range(s.count):
        if on[i] == 0:
            speed = dot(G, i, step, 0, 0, n)
            if speed < -small:
                room, terms = -h[i], abs(h[i])
                for j in range(n):
                    room += G[i, j] * x[j]
                    terms += abs(G[i, j] * x[j])
                if room < TOUCHING * terms:
                    room = 0.0
                if room < -speed * part:
                    part, first = room / -speed, i
    return part, first


@native
def multipliers(s):
    """μ of (4), into `mu`; returns the size of the terms they are differences of."""
    n, x, Q, R, pull, mu = s.n, s.x, s.Q, s.R, s.pull, s.mu
    terms = 0.0
    if s.rows == 0:
        for j in range(n):
            pull[j] = x[j]
        terms = dot(x, 0, x, 0, 0, n) ** 0.5
    else:
        A, b = s.A, s.b
        for j in range(n):
            pull[j] = 0.0
        for i in range(s.rows):
            r, length = -b[i], dot(A, i, A, i, 0, n) ** 0.5
            size = abs(b[i])
            for j in range(n):
                r += A[i, j] * x[j]
                size += abs(A[i, j] * x[j])
            terms += length * size
            for j in range(n):
                pull[j] += r * A[i, j]
    for k in range(s.held - 1, -1, -1):
        mu[k] = dot(Q, s.kept + k, pull, 0, 0, n)
        for i in range(k + 1, s.held):
            mu[k] -= mu[i] * R[i, k]
        mu[k] /= R[k, k]
    return terms


@native
def improve(s):
    """Solve the level in A and b (rows = 0: the shortest x), and keep it."""
    n, x, step = s.n, s.x, s.step
    for rounds in range(ROUNDS * (s.count + n) + 1):
        descend(s)
        part, first = first_broken(s)
        for j in range(n):
            x[j] += part * step[j]
        if first >= 0:
            hold(s, first)
        elif not release(s, rounds > 2 * (s.count + n)):
            break
    keep(s)


@native
def release(s, careful):
    """Let go of an active row that pulls x back: that of the least μ. Returns whether there is one.

    careful: by Bland's rule, which ends cycles, the first row of all that pull back.
    """
    mu, active = s.mu, s.active
    least, gone = -PULL * multipliers(s), -1
    for k in range(s.held):
        if mu[k] < least and not (careful and gone >= 0 and active[gone] < active[k]):
            gone = k
            least = least if careful else mu[k]
    if gone >= 0:
        hold_again(s, gone)
    return gone >= 0


@native
def keep(s):
    """Record how the level ended, and keep its rows for those after it."""
    n, x, mu, active, pressed, Q = s.n, s.x, s.mu, s.active, s.pressed, s.Q
    terms = multipliers(s)
    s.pressing, s.residual = 0, 0.0
    for k in range(s.held):
        if mu[k] > 1e3 * PULL * terms:
            s.pressing += 1
            pressed[active[k]] = 1
    if s.rows == 0:
        return
    A, b = s.A, s.b
    for i in range(s.rows):
        s.residual += (dot(A, i, x, 0, 0, n) - b[i]) ** 2
    s.residual **= 0.5
    rank, held = factor_projected(s, s.kept), s.held
    basis = s.factor.basis
    for k in range(min(rank, n - s.kept)):
        for j in range(n):
            Q[s.kept + k, j] = basis[k, j]
    s.kept += min(rank, n - s.kept)
    s.held = held
    hold_again(s, -1)
