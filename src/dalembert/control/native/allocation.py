"""The one computation behind every controller here: state and reference in, actuator forces out.

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

Ranks. What the constraints leave of a map is measured by the map before they act: KᵀB by R⁻ᵀB, J K by J R⁻¹. A force
whose admissible part is nothing but rounding moves nothing, although that part has a rank relative to itself.
"""

from __future__ import annotations

from math import floor, isfinite

import numpy as np

from dalembert.control.native.bounded import within_bounds
from dalembert.control.native.inequalities import resolve
from dalembert.control.native.steps import (
    by_rows,
    carry,
    force_sizes,
    length,
    multipliers,
    picked_reach,
    require,
    shortest,
)
from dalembert.control.native.workspace import CONSTANT, FORCES, GIVEN, MASS_COST, REACTIONS, TASK, Allocation
from dalembert.formulations.common import factor_in_metric, particular, times
from dalembert.linalg import cholesky, dot, factor_svd, solve_upper, solve_upper_rows, whiten_rows
from dalembert.native.calls import invoke
from dalembert.native.jit import entry, native
from dalembert.native.memory import cut
from dalembert.outcome import MASS_SINGULAR, NOT_FINITE, OK


@entry(Allocation)
@native
def allocate(a):
    """One control update: u, v̇ and ranks, λ too where forces are wanted. Returns the outcome."""
    if a.mode == FORCES:
        a.reach = shortest_forces(a)
        return OK
    if a.mode == REACTIONS:
        carry(a)
        return OK
    invoke(a.plant)
    a.status = admissible(a)
    if a.status != OK:
        return refuse(a, a.status)
    desired_motion(a)
    if a.cost_kind != CONSTANT and not effort_cost(a):
        return refuse(a, MASS_SINGULAR)
    a.reach = shortest_forces(a)
    if a.mode == TASK and a.reach < a.mobility:
        a.task_rank = task_first(a)
    if a.ns > 0:
        for i in range(a.ns):
            resolve(a, cut(a.pick, i * (a.m + a.nm), (a.m + a.nm,)), cut(a.picked, i * a.m, (a.m,)))
        force_sizes(a)
        carry(a)
        shape_forces(a)
        carry(a)
    if a.bounded != 0 or a.layered != 0:
        within_bounds(a)
    total = 0.0
    for k in range(a.na):
        total += a.u[k]
    for i in range(a.n):
        total += a.required_force[i]
    return OK if isfinite(total) else refuse(a, NOT_FINITE)


@native
def refuse(a, outcome):
    """No forces, and why."""
    a.status = outcome
    u = a.u
    for k in range(a.na):
        u[k] = np.nan
    return outcome


@native
def admissible(a):
    """K and the mobility with the rows that are active, and c, which goes to `motion`. Returns the outcome."""
    problem, active, K = a.problem, a.active, a.K
    A, gamma, n = problem.A, problem.gamma, a.n
    for i in range(a.m):
        if active[i] == 0:
            gamma[i] = 0.0
            for j in range(n):
                A[i, j] = 0.0
    if a.epsilon > 0.0:
        sieve(a)
    a.mobility = 0
    outcome = factor_in_metric(problem, True)
    if outcome != OK:
        return outcome
    particular(problem, a.motion)
    for j in range(n):
        a.c[j] = a.motion[j]
    basis, rank = problem.factor.basis, problem.rank
    a.mobility = n - rank
    for i in range(n - rank):
        for j in range(n):
            K[i, j] = basis[rank + i, j]
    solve_upper_rows(problem.upper, K, n - rank)
    return OK


@native
def sieve(a):
    """A and γ without what belongs to singular values of A up to ε (Aghili 68)."""
    f, A, gamma, work, m, n = a.sieve, a.problem.A, a.problem.gamma, a.problem.m1, a.m, a.n
    factor_svd(f, A, 1e-300, False)
    left, core, basis = f.left, f.core, f.basis
    for i in range(m):
        work[i] = gamma[i]
        gamma[i] = 0.0
        for j in range(n):
            A[i, j] = 0.0
    for k in range(min(m, n)):
        if core[k, k] > a.epsilon:
            part = dot(left, k, work, 0, 0, m)
            for i in range(m):
                gamma[i] += part * left[k, i]
                for j in range(n):
                    A[i, j] += core[k, k] * left[k, i] * basis[k, j]


@native
def desired_motion(a):
    """motion ← c + K y with y as the mode asks for, required_force ← M v̇ − f. y stays in right[0]."""
    K, M, f, motion, vector = a.K, a.problem.M, a.problem.f, a.motion, a.problem.n1
    y = cut(a.right, 0, (a.mobility,))
    if a.mode == TASK:
        follow_task(a)
    elif a.mode == GIVEN:  # KᵀM c = 0, so y = KᵀM v̇
        times(M, a.wanted_motion, vector)
        times(K, vector, y)
    else:
        times(K, f, y)
    for j in range(a.mobility):
        a.along[j] = y[j]
        for i in range(a.n):
            motion[i] += y[j] * K[j, i]
    require(a)


@native
def follow_task(a):
    """y of J K y = θ̈_d + G_D ė + G_P e − J̇v − J c, the shortest; the rest goes like −free_damping × its velocity."""
    J, K, gains, reference, theta, rate, bias = a.J, a.K, a.gains, a.reference, a.theta, a.rate, a.bias
    nt, p, wide = a.nt, a.mobility, a.n + a.na + a.nt + a.ns
    y, right, back = cut(a.right, 0, (p,)), cut(a.right, wide, (nt,)), cut(a.right, 2 * wide, (p,))
    T, factor, desired = cut(a.task_rows, 0, (nt, p)), a.task.factor, a.desired
    given = cut(a.task.A, 0, (nt, p))
    by_rows(J, K, T)
    for i in range(nt):
        right[i] = a.pull[i]
    for j in range(nt):
        e, de = reference[j] - theta[j], reference[nt + j] - rate[j]
        if a.period[j] > 0.0:  # the shorter way round
            e -= a.period[j] * floor(e / a.period[j] + 0.5)
        for i in range(nt):
            right[i] += gains[i, j] * e + gains[nt + i, j] * de
    if a.impedance != 0:  # a force along the task: J K Kᵀ Jᵀ of it, the mobility of its rows
        for j in range(p):
            back[j] = 0.0
            for i in range(nt):
                back[j] += T[i, j] * right[i]
        times(T, back, right)
    white, size = cut(a.white_task, 0, (nt, a.n)), a.row_size
    whiten_rows(J, a.problem.upper, white)
    for i in range(nt):
        desired[i] = right[i] + reference[2 * nt + i] - bias[i] - dot(J, i, a.motion, 0, 0, a.n)
        right[i] = desired[i] / size[i]
        for j in range(p):
            given[i, j] = T[i, j] / size[i]
        for j in range(a.n):
            white[i, j] /= size[i]
    a.task_rank = shortest(a.task, nt, p, a.problem.tolerance, length(white), a.damping, right, y, False)
    if a.free_damping > 0.0:
        vector, basis = a.problem.n1, factor.basis
        times(a.problem.M, a.v, vector)
        times(K, vector, back)
        for i in range(a.task_rank):
            s = dot(basis, i, back, 0, 0, p)
            for j in range(p):
                back[j] -= s * basis[i, j]
        for j in range(p):
            y[j] -= a.free_damping * back[j]


@native
def effort_cost(a):
    """The upper factor of G = BᵀW⁻¹B into `cost`, W the mass matrix or weights. Returns whether it is definite."""
    B, cost, upper = a.B, a.cost, a.problem.upper if a.cost_kind == MASS_COST else a.weight
    n, na = B.shape
    X = cut(a.actuation, 0, (na, n))
    for k in range(na):
        for i in range(n):
            X[k, i] = B[i, k]
    whiten_rows(X, upper, X)
    by_rows(X, X, cost)
    status, _, hint = cholesky(cost, cost)
    return status == OK and hint > 1e-14


@native
def unconstrained_drive(a):
    """‖R⁻ᵀ B U⁻¹‖, G = UᵀU the cost: KᵀB in the metric of forces, if there were no constraints."""
    B, R, X = a.B, a.problem.upper, cut(a.drives.A, 0, a.B.shape)
    for i in range(a.n):
        for k in range(a.na):
            X[i, k] = B[i, k]
        for j in range(i):
            if R[j, i] != 0.0:
                for k in range(a.na):
                    X[i, k] -= R[j, i] * X[j, k]
        for k in range(a.na):
            X[i, k] /= R[i, i]
    whiten_rows(X, a.cost, X)
    return length(X)


@native
def shortest_forces(a):
    """u of least cost with Kᵀ B u = Kᵀ required_force, or nearest to it. Returns the rank of KᵀB."""
    K, B, u, na, p = a.K, a.B, a.u, a.na, a.mobility
    N, white = cut(a.actuation, 0, (p, na)), cut(a.drives.A, 0, (p, na))
    right = cut(a.right, a.n + a.na + a.nt + a.ns, (p,))
    times(K, a.required_force, right)
    for i in range(p):
        for k in range(na):
            s = 0.0
            for j in range(a.n):
                s += K[i, j] * B[j, k]
            N[i, k] = s
    a.drive = unconstrained_drive(a)
    whiten_rows(N, a.cost, white)
    rank = shortest(a.drives, p, na, a.problem.tolerance, a.drive, a.damping, right, u, True)
    solve_upper(a.cost, u)
    return rank


@native
def task_first(a):
    """Where the actuators do not reach all freedoms: u for the task alone, the rest of the motion is uncontrolled.

    With y = Kᵀ(f + B u) and V orthonormal rows that span those of J K: V KᵀB u = V (y_desired − Kᵀf), the shortest such
    u. What is missing is least in the mass metric, whatever the units of the rows. Returns the rank.
    """
    rows, na, n, p, wide = a.task_rank, a.na, a.n, a.mobility, a.n + a.na + a.nt + a.ns
    K, V, u, motion = a.K, a.task.factor.basis, a.u, a.motion
    N, white = cut(a.actuation, 0, (p, na)), cut(a.drives.A, 0, (p, na))
    D = cut(a.shaping.A, 0, (rows, na))
    along, right, free = cut(a.right, 0, (p,)), cut(a.right, wide, (rows,)), cut(a.right, 2 * wide, (p,))
    times(K, a.problem.f, free)
    for i in range(rows):
        right[i] = 0.0
        for j in range(p):
            right[i] += V[i, j] * (along[j] - free[j])
        for k in range(na):
            D[i, k] = 0.0
            for j in range(p):
                D[i, k] += V[i, j] * white[j, k]
    rank = shortest(a.shaping, rows, na, a.problem.tolerance, a.drive, a.damping, right, u, False)
    solve_upper(a.cost, u)
    for j in range(p):
        more = free[j] - along[j] + dot(N, j, u, 0, 0, na)
        for i in range(n):
            motion[i] += more * K[j, i]
    require(a)
    return rank


@native
def shape_forces(a):
    """Add Z w, N Z = 0, to u so that the selected multipliers come nearest to what is wanted; the shortest such w.

    Each is measured by the usual size of its kind (`force_sizes`).
    """
    problem, u, na, ns, reach = a.problem, a.u, a.na, a.ns, a.reach
    nz, wide = na - reach, a.n + a.na + a.nt + a.ns
    Z, L = cut(a.null_forces, 0, (nz, na)), cut(a.shaping.A, 0, (ns, nz))
    right, w = cut(a.right, 0, (ns,)), cut(a.right, wide, (nz,))
    basis, picked, wanted, size = a.drives.factor.basis, a.picked, a.wanted, a.force_size
    carried, one = problem.multipliers, problem.m1
    for k in range(nz):
        for i in range(na):
            Z[k, i] = basis[reach + k, i]
    solve_upper_rows(a.cost, Z, nz)
    for i in range(ns):
        right[i] = (wanted[i] - dot(picked, i, carried, 0, 0, a.m)) / size[i]
    for k in range(nz):
        times(a.B, cut(Z, k * na, (na,)), problem.n2)
        multipliers(problem, problem.n2, one)
        for i in range(ns):
            L[i, k] = -dot(picked, i, one, 0, 0, a.m) / size[i]
    a.force_rank = shortest(a.shaping, ns, nz, problem.tolerance, picked_reach(a), 0.0, right, w, False)
    for k in range(nz):
        for i in range(na):
            u[i] += w[k] * Z[k, i]
