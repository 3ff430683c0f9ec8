"""Bounds, priorities and weights: the forces of an update, sought again as least squares in levels (`levels`).

Motion and constraint forces are affine in u alone: with y = Kᵀ(f + B u)

    v̇ = c + K y,    λ = λ₀ − (Aᵀ)⁺B u                                                                          (1)

The unknowns are x = U u, the cost of u being ‖x‖. The levels, each kept as far as those before it allow:

    limits of actuators                                                        in any case
    bounds and cones of multipliers, bounds of positions, speeds, accelerations  or missed by as little as can be
    the rows of the task by priority; then the rest of the motion, where the actuators reach all of it
    wanted multipliers
    ‖x‖

Errors of rows of a task are measured in their sizes, or with their weights: Σ (e/size)², as without bounds, so that a
row that a bound holds back takes nothing from rows that can be met beside it. Errors of a motion as a whole are
measured in y, in which the mass metric is Euclidean (Gauss's measure). A position q ≥ q_l is kept by
v̇ ≥ −2ω v − ω²(q − q_l), a speed by v̇ ≥ −ω (v − v_l): ω is `limit_rate`. Of a friction cone in space the tangent planes
that λ breaks are added until none is broken.
"""

from __future__ import annotations

from dalembert.control.native.feasibility import feasible
from dalembert.control.native.inequalities import add_bounds, any_broken, cut_cones, first_planes, respond
from dalembert.control.native.levels import clear, improve
from dalembert.control.native.steps import carry, length, picked_reach, require, shortest
from dalembert.control.native.workspace import TASK
from dalembert.formulations.common import times
from dalembert.linalg import dot
from dalembert.native.jit import native
from dalembert.native.memory import cut

CUTS = 40  # tangent planes of a cone at most, besides the first five


@native
def level_of_motion(a, rows, count, target):
    """A level: `rows` (count, p) of y come to target (count,)."""
    s, p, A, b = a.levels, a.mobility, a.levels.A, a.levels.b
    s.rows = count
    for i in range(count):
        b[i] = target[i] - dot(rows, i, a.free_y, 0, 0, p)
        for k in range(a.na):
            A[i, k] = dot(rows, i, a.drives_of, k, 0, p)
    improve(s)


@native
def rows_of_level(a, level):
    """The rows of the task of a priority over their sizes, into `task.A`, (count, p). Returns how many."""
    T, part, count = cut(a.task_rows, 0, (a.nt, a.mobility)), cut(a.task.A, 0, (a.nt, a.mobility)), 0
    for i in range(a.nt):
        if a.priority[i] == level:
            for j in range(a.mobility):
                part[count, j] = T[i, j] / a.row_size[i]
            count += 1
    return count


@native
def task_levels(a):
    """The task by priority. Returns whether bounds keep it from what it asks."""
    s, p, nt, wide, lost = a.levels, a.mobility, a.nt, a.n + a.na + a.nt + a.ns, False
    y, right, whole = cut(a.right, 0, (p,)), cut(a.right, wide, (nt,)), length(cut(a.white_task, 0, (nt, a.n)))
    for level in range(1, a.priorities + 1):
        count = 0
        for i in range(nt):
            if a.priority[i] == level:
                right[count] = a.desired[i] / a.row_size[i]
                count += 1
        rows_of_level(a, level)  # and y: what they ask for, damped near singular positions
        shortest(a.task, count, p, a.problem.tolerance, whole, a.damping, cut(right, 0, (count,)), y, False)
        rows_of_level(a, level)
        part = cut(a.task.A, 0, (count, p))
        for i in range(count):
            right[i] = dot(part, i, y, 0, 0, p)
        s.whole = a.drive * whole
        level_of_motion(a, part, count, right)
        lost = lost or s.pressing > 0
    return lost


@native
def rest_of_motion(a):
    """The motion that is asked for, or what the task leaves of it. Returns whether bounds keep it from that."""
    s, p, target, rows = (
        a.levels,
        a.mobility,
        cut(a.right, 0, (a.mobility,)),
        cut(a.identity, 0, (a.mobility, a.mobility)),
    )
    for i in range(p):
        for j in range(p):
            rows[i, j] = 1.0 if i == j else 0.0
        target[i] = a.along[i]
    s.whole = a.drive
    level_of_motion(a, rows, p, target)
    return s.pressing > 0


@native
def wanted_forces(a):
    """The multipliers and measures that are wanted."""
    s, m, ns, carries, picked, A, b = a.levels, a.m, a.ns, a.carries_of, a.picked, a.levels.A, a.levels.b
    s.rows, s.whole, size = ns, picked_reach(a), a.force_size
    for i in range(ns):
        b[i] = (a.wanted[i] - dot(picked, i, a.resting, 0, 0, m)) / size[i]
        for k in range(a.na):
            A[i, k] = dot(carries, k, picked, i, 0, m) / size[i]
    improve(s)


@native
def solve_levels(a, hard):
    """All levels with the inequalities there are; u from x."""
    s, na, u = a.levels, a.na, a.u
    s.tolerance = a.problem.tolerance
    feasible(s, hard)
    clear(s)
    lost = False
    if a.mode == TASK:
        lost = task_levels(a)
        if a.reach == a.mobility:
            rest_of_motion(a)
    else:
        lost = rest_of_motion(a)
    if a.ns > 0:
        wanted_forces(a)
    s.rows = 0
    improve(s)
    for i in range(na):
        u[i] = 0.0
        for k in range(na):
            u[i] += a.unit[k, i] * s.x[k]
        u[i] = min(max(u[i], a.u_lower[i]), a.u_upper[i])
    a.limited = 2 if lost else 1


@native
def produce(a):
    """The motion that u produces, what is required for it, and what the constraints carry."""
    K, motion, n = a.K, a.motion, a.n
    for j in range(n):
        motion[j] = a.c[j]
    times(a.B, a.u, a.problem.n2)
    for k in range(a.mobility):
        y = a.free_y[k] + dot(K, k, a.problem.n2, 0, 0, n)
        for j in range(n):
            motion[j] += y * K[k, j]
    require(a)
    carry(a)


@native
def within_bounds(a):
    """Change u so that bounds, priorities and weights are kept; λ and v̇ with it."""
    a.limited = 0
    for k in range(a.na):
        a.before[k] = a.u[k]
    carry(a)
    first_planes(a)
    if a.layered == 0 and not any_broken(a):
        return
    respond(a)
    for k in range(a.na):  # from u without bounds, cut at those of the actuators; then from the last one
        a.u[k] = min(max(a.before[k], a.u_lower[k]), a.u_upper[k])
    for _ in range(CUTS):
        hard = add_bounds(a)
        for k in range(a.na):
            a.levels.x[k] = dot(a.cost, k, a.u, 0, k, a.na)
        solve_levels(a, hard)
        produce(a)
        if a.nk == 0 or not cut_cones(a):
            break
