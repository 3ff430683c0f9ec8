"""The one computation behind every controller here, as Numba kernels: state and wish in, actuator forces out.

With M = RᵀR, K a basis of the admissible motions (A K = 0, KᵀMK = 1) and c the shortest solution of A c = −γ:

    v̇ = c + K y                                                        every admissible acceleration (Aghili 13, 39)
    J K y = θ̈_d + G_D ė + G_P e − J̇v − J c                              what a task asks for (44)
    Kᵀ B u = Kᵀ (M v̇ − f)                                               what the actuators must give (21, 43)
    u = G⁻¹ Nᵀ (N G⁻¹ Nᵀ)⁺ …,  N = KᵀB                                  the shortest such u, of cost uᵀG u (46, 47)
    Aᵀλ = M v̇ − f − B u                                                what the constraints then carry (32)
    u ← u + Z w, N Z = 0                                               forces that move nothing and shape λ (49, 54)

Departure: the paper builds square projectors P, Q, H and applies Q⁺ (57)-(60). N = KᵀB is smaller, takes any input
matrix and any cost, and asks for the same: its range condition is (56), its shortest solution (60) where the paper's B
and the Euclidean metric are meant.
"""

from __future__ import annotations

import numpy as np

from dalembert.compiler.call import call_kernel
from dalembert.control.native.room import SELECTED, carve, matrix, room_of
from dalembert.formulations.common import factor_in_metric, particular, times_mass
from dalembert.formulations.contract import MASS_SINGULAR, OK, RANK, Options
from dalembert.linalg import (
    cholesky,
    dot,
    inlined,
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
def admissible(x, y, flat, ints, dims, options):
    """K and c of the rows that are on; c goes to room.motion. Returns the outcome."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    work = room.work
    m, n = work.A.shape
    for i in range(m):
        if room.on[i] == 0.0:
            work.gamma[i] = 0.0
            for j in range(n):
                work.A[i, j] = 0.0
    outcome = factor_in_metric(work, options, True)
    if outcome != OK:
        return outcome
    particular(work, options, room.motion)
    rank = work.info[RANK]
    for i in range(n - rank):
        for j in range(n):
            room.K[i, j] = work.factor.basis[rank + i, j]
    solve_upper_rows(work.upper, room.K, n - rank)
    room.info[MOBILITY] = n - rank
    return OK


@inlined
def follow_task(room, y):
    """y of J K y = θ̈_d + G_D ė + G_P e − J̇v − J c, the shortest; the rest of the motion is damped where asked."""
    nt, n = room.J.shape
    p = room.info[MOBILITY]
    T, at = matrix(room.T, 0, nt, p)
    right, back = room.right[1, :nt], room.right[2, :p]
    for i in range(nt):
        right[i] = room.wish[2 * nt + i] - room.bias[i] - dot(room.J, i, room.motion, 0, 0, n)
        for j in range(nt):
            right[i] += room.gains[i, j] * (room.wish[j] - room.theta[j])
            right[i] += room.gains[nt + i, j] * (room.wish[nt + j] - room.rate[j])
        for j in range(p):
            T[i, j] = dot(room.J, i, room.K, j, 0, n)
    f = carve(room.T, at, nt, p, room.ints[0], room.marks[0])
    _, room.info[TASK_RANK] = rank_factor(f, T, RANK_TOLERANCE, 100.0, False)
    solve(f, right, y)
    if room.floats[0] > 0.0 and room.info[TASK_RANK] < p:
        times_mass(room.work, room.v, room.work.n1)
        for j in range(p):
            back[j] = -room.floats[0] * dot(room.K, j, room.work.n1, 0, 0, n)
        for i in range(room.info[TASK_RANK]):
            s = dot(f.basis, i, back, 0, 0, p)
            for j in range(p):
                back[j] -= s * f.basis[i, j]
        for j in range(p):
            y[j] += back[j]


@kernel
def wished_motion(x, y, flat, ints, dims, mode):
    """v̇ = c + K y into room.motion, and M v̇ − f into room.need."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    work, n, p = room.work, room.need.shape[0], room.info[MOBILITY]
    along = room.right[0, :p]
    if mode == TASK:
        follow_task(room, along)
    else:
        for i in range(n):  # KᵀM c = 0, so y = KᵀM v̇ (GIVEN), or Kᵀ f (FREE)
            work.n2[i] = room.asked[i] if mode == GIVEN else 0.0
        times_mass(work, work.n2, work.n1)
        for j in range(p):
            along[j] = dot(room.K, j, work.n1 if mode == GIVEN else work.f, 0, 0, n)
    for j in range(p):
        for i in range(n):
            room.motion[i] += along[j] * room.K[j, i]
    times_mass(work, room.motion, room.need)
    for i in range(n):
        room.need[i] -= work.f[i]


@kernel
def effort_cost(x, y, flat, ints, dims, kind):
    """The upper factor of G into room.cost: constant, or BᵀM⁻¹B, or BᵀW⁻¹B. Returns whether it is definite."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    if kind == CONSTANT:
        return True
    n, na = room.B.shape
    X, _ = matrix(room.N, 0, na, n)
    for k in range(na):
        for i in range(n):
            X[k, i] = room.B[i, k]
    whiten_rows(X, room.work.upper if kind == MASS_COST else room.weight, X)
    for k in range(na):
        for l in range(k, na):
            room.cost[k, l] = dot(X, k, X, l, 0, n)
    status, _, hint = cholesky(room.cost, room.cost)
    return status == 0 and hint > 1e-14


@kernel
def shortest_forces(x, y, flat, ints, dims):
    """u of least cost with Kᵀ B u = Kᵀ (M v̇ − f), or nearest to it."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    n, na = room.B.shape
    p = room.info[MOBILITY]
    N, at = matrix(room.N, 0, p, na)
    white, at = matrix(room.N, at, p, na)
    right = room.right[1, :p]
    for i in range(p):
        right[i] = dot(room.K, i, room.need, 0, 0, n)
        for k in range(na):
            s = 0.0
            for j in range(n):
                s += room.K[i, j] * room.B[j, k]
            N[i, k] = s
    whiten_rows(N, room.cost, white)
    f = carve(room.N, at, p, na, room.ints[1], room.marks[1])
    _, room.info[REACH] = rank_factor(f, white, RANK_TOLERANCE, 100.0, True)
    solve(f, right, room.u)
    solve_upper(room.cost, room.u)


@inlined
def multipliers(room, force, out):
    """out ← the shortest λ with Aᵀλ = force."""
    work = room.work
    for i in range(force.shape[0]):
        work.n1[i] = force[i]
    solve_upper_transposed(work.upper, work.n1)
    solve_transposed(work.factor, work.n1, out)


@kernel
def carried(x, y, flat, ints, dims):
    """λ and Aᵀλ that go with v̇ and u, into the workspace."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    n, na = room.B.shape
    for i in range(n):
        room.work.force[i] = room.need[i] - dot(room.B, i, room.u, 0, 0, na)
    multipliers(room, room.work.force, room.work.multipliers)


@kernel
def shape_forces(x, y, flat, ints, dims):
    """Add Z w, N Z = 0, to u so that the selected multipliers come nearest to what is wanted; the shortest such w."""
    room, _, _ = room_of(x, y, flat, ints, dims)
    n, na = room.B.shape
    ns, p, reach = room.select.shape[0], room.info[MOBILITY], room.info[REACH]
    nz = na - reach
    carried(x, y, flat, ints, dims)
    Z, at = matrix(room.L, 0, nz, na)
    L, at = matrix(room.L, at, ns, nz)
    null = carve(room.N, 2 * p * na, p, na, room.ints[1], room.marks[1])
    right, w = room.right[0, :ns], room.right[1, :nz]
    for k in range(nz):
        for a in range(na):
            Z[k, a] = null.basis[reach + k, a]
    solve_upper_rows(room.cost, Z, nz)
    for i in range(ns):
        right[i] = room.wanted[i] - room.work.multipliers[room.select[i]]
    for k in range(nz):
        for i in range(n):
            room.work.n2[i] = -dot(room.B, i, Z, k, 0, na)
        multipliers(room, room.work.n2, room.work.m1)
        for i in range(ns):
            L[i, k] = room.work.m1[room.select[i]]
    f = carve(room.L, at, ns, nz, room.ints[2], room.marks[2])
    _, room.info[FORCE_RANK] = rank_factor(f, L, RANK_TOLERANCE, 100.0, False)
    solve(f, right, w)
    for k in range(nz):
        for a in range(na):
            room.u[a] += w[k] * Z[k, a]
    carried(x, y, flat, ints, dims)


@kernel
def update(address, x, y, w, flat, ints, dims, options, mode, kind):
    """One control update. Returns the outcome; u, v̇ and ranks are in the room, λ too where forces are shaped."""
    call_kernel(address, x, y, w)  # type: ignore[call-arg]
    outcome = admissible(x, y, flat, ints, dims, options)
    if outcome == OK:
        wished_motion(x, y, flat, ints, dims, mode)
        if not effort_cost(x, y, flat, ints, dims, kind):
            outcome = MASS_SINGULAR
        else:
            shortest_forces(x, y, flat, ints, dims)
            if dims[SELECTED] > 0:
                shape_forces(x, y, flat, ints, dims)
    room, _, _ = room_of(x, y, flat, ints, dims)
    room.info[STATUS] = outcome
    if outcome != OK:
        for k in range(room.u.shape[0]):
            room.u[k] = np.nan
    return outcome


def options_of(system, tolerance: float) -> Options:
    """The rank decision for A in the mass metric."""
    floor = system.constraint_floor if system.rows.of else 0.0
    return Options(1, tolerance, 100.0, 0.0, 0.0, 0, floor)
