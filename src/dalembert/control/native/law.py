"""The one computation behind every controller here, as Numba kernels: state and wish in, actuator forces out.

With M = RᵀR, K a basis of the admissible motions (A K = 0, KᵀMK = 1) and c the shortest solution of A c = −γ:

    v̇ = c + K y                                                        every admissible acceleration (Aghili 13, 39)
    J K y = θ̈_d + G_D ė + G_P e − J̇v − J c                              what a task asks for (44)
    Kᵀ B u = Kᵀ (M v̇ − f)                                               what the actuators must give (21, 43)
    u = G⁻¹ Nᵀ (N G⁻¹ Nᵀ)⁺ …,  N = KᵀB                                  the shortest such u, of cost uᵀG u (46, 47)
    Aᵀλ = M v̇ − f − B u                                                what the constraints then carry (32)
    u: J K Kᵀ(f + B u) = …                                              instead, where N reaches too few freedoms
    u ← u + Z w, N Z = 0                                               forces that move nothing and shape λ (49, 54)

Departure: the paper builds square projectors P, Q, H and applies Q⁺ (57)-(60). N = KᵀB is smaller, takes any input
matrix and any cost, and asks for the same: its range condition is (56), its shortest solution (60) where the paper's B
and the Euclidean metric are meant.
"""

from __future__ import annotations

import numpy as np

from dalembert.compiler.call import call_kernel
from dalembert.compiler.memory import matrix
from dalembert.control.native.room import room_of
from dalembert.formulations.common import factor_in_metric, particular
from dalembert.formulations.contract import MASS_SINGULAR, OK, RANK, Options
from dalembert.formulations.work import factorization
from dalembert.linalg import (
    cholesky,
    dot,
    kernel,
    rank_factor,
    solve,
    solve_transposed,
    solve_upper,
    solve_upper_rows,
    solve_upper_transposed,
    whiten_rows,
)

TASK, GIVEN, FREE = 0, 1, 2  # what the motion is to be
CONSTANT, MASS_COST, WEIGHTED = 0, 1, 2  # what a force costs
MOBILITY, TASK_RANK, REACH, STATUS, FORCE_RANK = 0, 1, 2, 3, 4
RANK_TOLERANCE = 1e-9  # of J K, KᵀB and the force map, relative to their largest singular values


@kernel
def times(A, x, out):
    """out ← A x."""
    for i in range(out.shape[0]):
        out[i] = dot(A, i, x, 0, 0, x.shape[0])


@kernel
def by_rows(A, B, out):
    """out ← A Bᵀ, as many rows of both as out has rows and columns."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = dot(A, i, B, j, 0, A.shape[1])


@kernel
def shortest(f, A, right, out, null):
    """out ← A⁺ right, with the factorization in f. Returns the rank."""
    _, rank = rank_factor(f, A, RANK_TOLERANCE, 100.0, null)
    solve(f, right, out)
    return rank


@kernel
def admissible(work, on, K, motion, options):
    """K and c of the rows that are on; c goes to `motion`. Returns the outcome and the mobility."""
    m, n = work.A.shape
    for i in range(m):
        if on[i] == 0.0:
            work.gamma[i] = 0.0
            for j in range(n):
                work.A[i, j] = 0.0
    outcome = factor_in_metric(work, options, True)
    if outcome != OK:
        return outcome, 0
    particular(work, options, motion)
    rank = work.info[RANK]
    for i in range(n - rank):
        for j in range(n):
            K[i, j] = work.factor.basis[rank + i, j]
    solve_upper_rows(work.upper, K, n - rank)
    return OK, n - rank


@kernel
def wished_acceleration(theta, rate, wish, gains, out):
    """out ← θ̈_d + G_D ė + G_P e."""
    nt = theta.shape[0]
    for i in range(nt):
        out[i] = wish[2 * nt + i]
        for j in range(nt):
            out[i] += gains[i, j] * (wish[j] - theta[j]) + gains[nt + i, j] * (wish[nt + j] - rate[j])


@kernel
def follow_task(J, K, bias, motion, back, damping, flat, perm, info, right, y):
    """y of J K y = right − J̇v − J c, the shortest; the rest goes like −damping × back. Returns the rank of J K."""
    nt, p = J.shape[0], y.shape[0]
    T, at = matrix(flat, 0, nt, p)
    for i in range(nt):
        right[i] -= bias[i] + dot(J, i, motion, 0, 0, motion.shape[0])
    by_rows(J, K, T)
    f = factorization(flat, at, nt, p, perm, info)
    rank = shortest(f, T, right, y, False)
    if damping > 0.0:
        for i in range(rank):
            s = dot(f.basis, i, back, 0, 0, p)
            for j in range(p):
                back[j] -= s * f.basis[i, j]
        for j in range(p):
            y[j] -= damping * back[j]
    return rank


@kernel
def add_motion(K, y, M, force, motion, need):
    """motion ← c + K y, need ← M v̇ − f."""
    for j in range(y.shape[0]):
        for i in range(motion.shape[0]):
            motion[i] += y[j] * K[j, i]
    times(M, motion, need)
    for i in range(need.shape[0]):
        need[i] -= force[i]


@kernel
def effort_cost(B, upper, flat, cost):
    """The upper factor of G = BᵀW⁻¹B into `cost`, with that of W given. Returns whether it is definite."""
    n, na = B.shape
    X, _ = matrix(flat, 0, na, n)
    for k in range(na):
        for i in range(n):
            X[k, i] = B[i, k]
    whiten_rows(X, upper, X)
    by_rows(X, X, cost)
    status, _, hint = cholesky(cost, cost)
    return status == 0 and hint > 1e-14


@kernel
def shortest_forces(K, B, need, cost, mobility, flat, perm, info, right, u):
    """u of least cost with Kᵀ B u = Kᵀ (M v̇ − f), or nearest to it. Returns the rank of KᵀB."""
    na, p = B.shape[1], mobility
    N, at = matrix(flat, 0, p, na)
    white, at = matrix(flat, at, p, na)
    times(K, need, right[:p])
    for i in range(p):
        for k in range(na):
            s = 0.0
            for j in range(B.shape[0]):
                s += K[i, j] * B[j, k]
            N[i, k] = s
    whiten_rows(N, cost, white)
    rank = shortest(factorization(flat, at, p, na, perm, info), white, right, u, True)
    solve_upper(cost, u)
    return rank


@kernel
def task_first(room, p):
    """Where the actuators do not reach all freedoms: u for the task alone, the rest of the motion as it comes.

    y = Kᵀ(f + B u) in J K y = … gives (J K KᵀB) u = J K (y_wished − Kᵀf); the shortest such u. Returns the rank.
    """
    nt, na, n = room.J.shape[0], room.B.shape[1], room.motion.shape[0]
    T, _ = matrix(room.T, 0, nt, p)
    N, at = matrix(room.N, 0, p, na)
    white, _ = matrix(room.N, at, p, na)
    D, at = matrix(room.L, 0, nt, na)
    along, right, free = room.right[0, :p], room.right[1, :nt], room.right[2, :p]
    times(room.K, room.work.f, free)
    for i in range(nt):
        right[i] = 0.0
        for j in range(p):
            right[i] += T[i, j] * (along[j] - free[j])
        for k in range(na):
            D[i, k] = 0.0
            for j in range(p):
                D[i, k] += T[i, j] * white[j, k]
    rank = shortest(factorization(room.L, at, nt, na, room.ints[2], room.marks[2]), D, right, room.u, False)
    solve_upper(room.cost, room.u)
    for j in range(p):
        more = free[j] - along[j] + dot(N, j, room.u, 0, 0, na)
        for i in range(n):
            room.motion[i] += more * room.K[j, i]
    times(room.work.M, room.motion, room.need)
    for i in range(n):
        room.need[i] -= room.work.f[i]
    return rank


@kernel
def multipliers(factor, upper, force, scratch, out):
    """out ← the shortest λ with Aᵀλ = force."""
    for i in range(force.shape[0]):
        scratch[i] = force[i]
    solve_upper_transposed(upper, scratch)
    solve_transposed(factor, scratch, out)


@kernel
def carried(B, u, need, factor, upper, scratch, force, out):
    """λ and Aᵀλ = M v̇ − f − B u."""
    times(B, u, force)
    for i in range(force.shape[0]):
        force[i] = need[i] - force[i]
    multipliers(factor, upper, force, scratch, out)


@kernel
def shape_forces(room):
    """Add Z w, N Z = 0, to u so that the selected multipliers come nearest to what is wanted; the shortest such w."""
    work, na = room.work, room.B.shape[1]
    ns, p, reach = room.select.shape[0], room.info[MOBILITY], room.info[REACH]
    nz = na - reach
    Z, at = matrix(room.L, 0, nz, na)
    L, at = matrix(room.L, at, ns, nz)
    null = factorization(room.N, 2 * p * na, p, na, room.ints[1], room.marks[1])
    right, w = room.right[0, :ns], room.right[1, :nz]
    for k in range(nz):
        for a in range(na):
            Z[k, a] = null.basis[reach + k, a]
    solve_upper_rows(room.cost, Z, nz)
    for i in range(ns):
        right[i] = room.wanted[i] - work.multipliers[room.select[i]]
    for k in range(nz):
        times(room.B, Z[k], work.n2)
        multipliers(work.factor, work.upper, work.n2, work.n1, work.m1)
        for i in range(ns):
            L[i, k] = -work.m1[room.select[i]]
    room.info[FORCE_RANK] = shortest(factorization(room.L, at, ns, nz, room.ints[2], room.marks[2]), L, right, w, False)
    for k in range(nz):
        for a in range(na):
            room.u[a] += w[k] * Z[k, a]


@kernel
def update(address, x, y, w, flat, ints, dims, options, mode, kind):
    """One control update. Returns the outcome; u, v̇ and ranks are in the room, λ too where forces are shaped."""
    call_kernel(address, x, y, w)  # type: ignore[call-arg]
    room, _, _ = room_of(x, y, flat, ints, dims)
    work, info = room.work, room.info
    outcome, p = admissible(work, room.on, room.K, room.motion, options)
    info[MOBILITY], info[STATUS] = p, outcome
    if outcome != OK:
        return refuse(info, room.u, outcome)
    along, right, back = room.right[0, :p], room.right[1], room.right[2, :p]
    if mode == TASK:
        times(work.M, room.v, work.n1)
        times(room.K, work.n1, back)
        wished_acceleration(room.theta, room.rate, room.wish, room.gains, right)
        info[TASK_RANK] = follow_task(
            room.J, room.K, room.bias, room.motion, back, room.floats[0], room.T, room.ints[0], room.marks[0],
            right, along,
        )  # fmt: skip
    elif mode == GIVEN:  # KᵀM c = 0, so y = KᵀM v̇
        times(work.M, room.asked, work.n1)
        times(room.K, work.n1, along)
    else:
        times(room.K, work.f, along)
    add_motion(room.K, along, work.M, work.f, room.motion, room.need)
    if kind != CONSTANT and not effort_cost(
        room.B, work.upper if kind == MASS_COST else room.weight, room.N, room.cost
    ):
        return refuse(info, room.u, MASS_SINGULAR)
    info[REACH] = shortest_forces(
        room.K, room.B, room.need, room.cost, p, room.N, room.ints[1], room.marks[1], right, room.u
    )
    if mode == TASK and info[REACH] < p:
        info[TASK_RANK] = task_first(room, p)
    if room.select.shape[0] > 0:
        carried(room.B, room.u, room.need, work.factor, work.upper, work.n1, work.force, work.multipliers)
        shape_forces(room)
        carried(room.B, room.u, room.need, work.factor, work.upper, work.n1, work.force, work.multipliers)
    return OK


@kernel
def refuse(info, u, outcome):
    """No forces, and why."""
    info[STATUS] = outcome
    for k in range(u.shape[0]):
        u[k] = np.nan
    return outcome


def options_of(system, tolerance: float) -> Options:
    """The rank decision for A in the mass metric."""
    floor = system.constraint_floor if system.rows.of else 0.0
    return Options(1, tolerance, 100.0, 0.0, 0.0, 0, floor)
