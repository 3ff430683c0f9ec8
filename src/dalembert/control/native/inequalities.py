"""The inequalities of an update: bounds of actuators, multipliers, measures and motions, planes of friction cones."""

from __future__ import annotations

from math import isfinite

import numpy as np

from dalembert.control.native.steps import multipliers
from dalembert.formulations.common import times
from dalembert.linalg import dot, solve_upper
from dalembert.native.jit import native
from dalembert.native.memory import cut

SLACK = 1e-9  # of its terms: by how much a bound is kept that is said to be kept
NOTHING = 1e-9  # of what forces could do without constraints: what is rounding


@native
def resolve(a, row, out):
    """out ← a combination of multipliers and measures, (m + nm), as one of multipliers, (m,)."""
    S, m = a.S, a.m
    for j in range(m):
        out[j] = row[j]
    for k in range(a.nm):
        if row[m + k] != 0.0:
            for j in range(m):
                out[j] += row[m + k] * S[k, j]


@native
def present(a, row):
    """Whether all multipliers of a combination are of rows that are on."""
    active, off = a.active, 0
    for j in range(a.m):
        off += active[j] == 0 and row[j] != 0.0
    return off == 0


@native
def respond(a):
    """Effect of a unit of each x on u, y, λ and v̇; and λ without forces."""
    na, n, m, p, K, B, problem = a.na, a.n, a.m, a.mobility, a.K, a.B, a.problem
    unit, drives, carries, moves, force = a.unit, a.drives_of, a.carries_of, a.moves_of, problem.n2
    for k in range(na):
        one = cut(unit, k * na, (na,))
        for i in range(na):
            one[i] = 1.0 if i == k else 0.0
        solve_upper(a.cost, one)
        times(B, one, force)
        for i in range(p):
            drives[k, i] = dot(K, i, force, 0, 0, n)
        for j in range(n):
            moves[k, j] = 0.0
            for i in range(p):
                moves[k, j] += drives[k, i] * K[i, j]
        carried = cut(carries, k * m, (m,))
        multipliers(problem, force, carried)
        for j in range(m):
            carried[j] = -carried[j]
    times(K, problem.f, cut(a.free_y, 0, (p,)))
    # u without bounds in these units, and λ less what it does
    x, rest, lam = a.levels.x, a.resting, problem.multipliers
    for j in range(m):
        rest[j] = lam[j]
    for k in range(na):
        x[k] = dot(a.cost, k, a.u, 0, k, na)
        for j in range(m):
            rest[j] -= x[k] * carries[k, j]


@native
def first_planes(a):
    """The planes of cones that are there from the beginning: the normal, and two for each tangent."""
    axes, planes, of, m = a.cones, a.planes, a.plane_of, a.m
    a.plane_count = 0
    for k in range(a.nk):
        shown = True
        for i in range(1 + a.tangents[k]):
            resolve(a, cut(axes, (3 * k + i) * (m + a.nm), (m + a.nm,)), a.row)
            shown = shown and present(a, a.row)
        if not shown:
            continue
        normal = cut(planes, a.plane_count * m, (m,))
        resolve(a, cut(axes, 3 * k * (m + a.nm), (m + a.nm,)), normal)
        of[a.plane_count] = k
        a.plane_count += 1
        for i in range(a.tangents[k]):
            tangent = a.row
            resolve(a, cut(axes, (3 * k + 1 + i) * (m + a.nm), (m + a.nm,)), tangent)
            for side in (-1.0, 1.0):
                for j in range(m):
                    planes[a.plane_count, j] = a.friction[k] * normal[j] + side * tangent[j]
                of[a.plane_count] = k
                a.plane_count += 1


@native
def broken_cone(a, k, out):
    """Put the tangent plane that λ breaks most into out, (m,), if cone k has two tangents and one is broken."""
    axes, m, lam, mu = a.cones, a.m, a.problem.multipliers, a.friction[k]
    if a.tangents[k] < 2:
        return False
    size = 0.0
    for j in range(m):
        size = max(size, abs(lam[j]))
    parts = (0.0, 0.0, 0.0)
    for i in range(3):
        resolve(a, cut(axes, (3 * k + i) * (m + a.nm), (m + a.nm,)), out)
        if not present(a, out):
            return False
        value = dot(out, 0, lam, 0, 0, m)
        parts = (value, parts[1], parts[2]) if i == 0 else (parts[0], value if i == 1 else parts[1], value)
    normal, s, t = parts
    across = (s * s + t * t) ** 0.5
    if normal <= 0.0 or across <= mu * normal + SLACK * (across + 1e-3 * size):
        return False
    resolve(a, cut(axes, 3 * k * (m + a.nm), (m + a.nm,)), out)
    for j in range(m):
        out[j] *= mu
    for i in range(1, 3):
        part = (s if i == 1 else t) / across
        tangent = cut(axes, (3 * k + i) * (m + a.nm), (m + a.nm,))
        resolve(a, tangent, a.row)
        for j in range(m):
            out[j] -= part * a.row[j]
    return True


@native
def cut_cones(a):
    """Add tangent planes of cones that λ breaks. Returns whether there are any new ones."""
    m, planes, of, more = a.m, a.planes, a.plane_of, False
    for k in range(a.nk):
        if a.plane_count >= planes.shape[0]:
            break
        plane = cut(planes, a.plane_count * m, (m,))
        if not broken_cone(a, k, plane):
            continue
        size, new = 0.0, True
        for j in range(m):
            size = max(size, abs(plane[j]))
        for i in range(a.plane_count):
            if of[i] == k:
                off = 0.0
                for j in range(m):
                    off = max(off, abs(planes[i, j] - plane[j]))
                new = new and off > 1e-7 * size
        if new:
            of[a.plane_count] = k
            a.plane_count += 1
            more = True
    return more


@native
def motion_bounds(a, k):
    """Lowest and highest v̇ of the k-th bounded freedom, from bounds of its position, speed and acceleration."""
    limits, w, v, q = a.f_bounds, a.limit_rate, a.v[a.freedom[k]], a.plant.x[a.place[k]]
    low, high = limits[6 * k + 4], limits[6 * k + 5]
    if isfinite(limits[6 * k]):
        low = max(low, -2 * w * v - w * w * (q - limits[6 * k]))
    if isfinite(limits[6 * k + 1]):
        high = min(high, -2 * w * v - w * w * (q - limits[6 * k + 1]))
    if isfinite(limits[6 * k + 2]):
        low = max(low, -w * (v - limits[6 * k + 2]))
    if isfinite(limits[6 * k + 3]):
        high = min(high, -w * (v - limits[6 * k + 3]))
    return low, high


@native
def outside(low, x, high, terms):
    """Whether low ≤ x ≤ high is broken by more than rounding."""
    room = SLACK * terms
    return x < low - room or x > high + room


@native
def any_broken(a):
    """Whether u, λ or v̇ of the update break a bound."""
    u, lam, m, size = a.u, a.problem.multipliers, a.m, 0.0
    for k in range(a.na):
        size = max(size, abs(u[k]))
    for k in range(a.na):
        if outside(a.u_lower[k], u[k], a.u_upper[k], abs(u[k]) + 1e-3 * size):
            return True
    size = 0.0
    for j in range(m):
        size = max(size, abs(lam[j]))
    row = a.row
    for i in range(a.nc + a.plane_count):
        if i < a.nc:
            resolve(a, cut(a.C, i * (m + a.nm), (m + a.nm,)), row)
            low, high = a.c_lower[i], a.c_upper[i]
        else:
            for j in range(m):
                row[j] = a.planes[i - a.nc, j]
            low, high = 0.0, np.inf
        if not present(a, row):
            continue
        terms = 1e-2 * size
        for j in range(m):
            terms += abs(row[j] * lam[j])
        if outside(low, dot(row, 0, lam, 0, 0, m), high, terms):
            return True
    for k in range(a.nk):
        if broken_cone(a, k, a.cone_row):
            return True
    for k in range(a.nf):
        low, high = motion_bounds(a, k)
        if outside(low, a.motion[a.freedom[k]], high, abs(a.motion[a.freedom[k]])):
            return True
    return False


@native
def add_bound(a, name, row, bound, least):
    """Add row · x ≥ bound, unless x does nothing to it."""
    s, n = a.levels, a.na
    size = dot(row, 0, row, 0, 0, n) ** 0.5
    if not isfinite(bound) or size <= least:
        return
    G, h, i = s.G, s.h, s.count
    for k in range(n):
        G[i, k] = row[k] / size
    h[i] = bound / size
    a.ids[i] = name
    s.count += 1


@native
def add_pair(a, name, step, row, low, high, least):
    """Add low ≤ row · x ≤ high; the upper one is named `name + step`."""
    add_bound(a, name, row, low, least)
    for k in range(a.na):
        row[k] = -row[k]
    add_bound(a, name + step, row, -high, least)


@native
def add_multipliers(a, name, step, combination, low, high, row):
    """Add low ≤ combination · λ ≤ high."""
    m, carries, problem = a.m, a.carries_of, a.problem
    if not present(a, combination):
        return
    size = dot(combination, 0, combination, 0, 0, m) ** 0.5
    rest = dot(combination, 0, a.resting, 0, 0, m)
    for k in range(a.na):
        row[k] = dot(carries, k, combination, 0, 0, m)
    add_pair(a, name, step, row, low - rest, high - rest, NOTHING * size * a.drive / max(problem.largest, 1e-300))


@native
def add_bounds(a):
    """All inequalities: those of actuators, then the others. Returns how many the first are."""
    s, na, m, row, combination = a.levels, a.na, a.m, a.unknown, a.row
    s.count = 0
    for i in range(na):
        for k in range(na):
            row[k] = a.unit[k, i]
        add_pair(a, i, na, row, a.u_lower[i], a.u_upper[i], 0.0)
    hard, name = s.count, 2 * na
    for i in range(a.nc):
        resolve(a, cut(a.C, i * (m + a.nm), (m + a.nm,)), combination)
        add_multipliers(a, name + i, a.nc, combination, a.c_lower[i], a.c_upper[i], row)
    name += 2 * a.nc
    for i in range(a.plane_count):
        for j in range(m):
            combination[j] = a.planes[i, j]
        add_multipliers(a, name + a.plane_of[i], 0, combination, 0.0, np.inf, row)
    name += a.nk
    for i in range(a.nf):
        d = a.freedom[i]
        low, high = motion_bounds(a, i)
        rest = a.c[d]
        for k in range(a.mobility):
            rest += a.K[k, d] * a.free_y[k]
        for k in range(na):
            row[k] = a.moves_of[k, d]
        least = NOTHING * a.drive / a.problem.M[d, d] ** 0.5
        add_pair(a, name + i, a.nf, row, low - rest, high - rest, least)
    return hard
