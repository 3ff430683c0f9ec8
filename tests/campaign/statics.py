"""Which joint reactions statics determines: the equilibrium of free bodies under unknown wrenches, by NumPy.

Every joint passes on what it does not leave free, every other constraint acts by its own multipliers. Sets of these
that balance on every body are the null space of the equilibrium; a component of a reaction that one of them contains is
not determinate. Wrenches are (moment; force) in the ground's axes about the ground's origin, moments in units of the
size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rigid import SIZES, Pose, Rigid, cross, plane_axes

UNSURE = (1e-9, 1e-5)  # parts of a null vector that neither vanish nor count


def freedoms(j: Any, T: Pose) -> np.ndarray:
    """(6, n) twists (ω; v at the child frame's origin) that a joint leaves free, in the parent frame's axes."""
    n, zero = np.asarray(j.axis, dtype=float), np.zeros(3)
    turn, slide = np.concatenate([n, zero]), np.concatenate([zero, n])
    if j.kind == "universal":
        second = np.asarray(T.R, dtype=float) @ j.second
        return np.column_stack([turn, np.concatenate([second, zero])])
    if j.kind == "planar":
        e = np.asarray(plane_axes(j.axis), dtype=float)
        return np.column_stack([*(np.concatenate([zero, x]) for x in e.T), turn])
    return {
        "fixed": lambda: np.zeros((6, 0)),
        "revolute": lambda: turn[:, None],
        "prismatic": lambda: slide[:, None],
        "screw": lambda: np.concatenate([n, j.pitch * n])[:, None],
        "cylindrical": lambda: np.column_stack([turn, slide]),
        "spherical": lambda: np.eye(6)[:, :3],
        "free": lambda: np.eye(6),
    }[j.kind]()


def determinate(rigid: Rigid, q: np.ndarray, driven_by_joints: bool) -> dict[str, np.ndarray] | None:
    """{joint or loop: (6,) bool}, in the axes and at the origin of its child frame (of b); None if rounding decides."""
    plan, L = rigid.plan, rigid.plan.size
    poses = [Pose(np.asarray(T.R, dtype=float), np.asarray(T.p, dtype=float)) for T in rigid.poses(q)]
    ground = Pose(np.eye(3), np.zeros(3))

    def at(k: int, frame: Pose) -> Pose:
        return (poses[k] if k >= 0 else ground) @ Pose(*(np.asarray(x, dtype=float) for x in frame))

    columns: list[np.ndarray] = []  # (6 bodies,) what each unknown does to all bodies
    passed: dict[str, list[tuple[int, np.ndarray]]] = {}  # joint: (unknown, its wrench in the child frame)

    def acting(a: int, b: int, W: np.ndarray) -> np.ndarray:
        column = np.zeros(6 * len(plan.bodies))
        for k, sign in ((a, -1.0), (b, 1.0)):
            if k >= 0:
                column[6 * k : 6 * k + 6] += sign * W
        return column

    def about_origin(force: np.ndarray, moment: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.concatenate([(moment + np.cross(point, force)) / L, force])

    own: dict[int, tuple[np.ndarray, Pose, Pose, Any]] = {}  # joint number: dual of its freedoms, for forces along them
    for number, j in enumerate([*plan.joints, *plan.loops]):
        a, b = at(j.parent, j.at_parent), at(j.child, j.at_child)
        T = Pose(a.R.T @ b.R, a.R.T @ (b.p - a.p))
        S = np.asarray(freedoms(j, T), dtype=float)
        unit = np.repeat([1.0, L], 3)[:, None]  # of twists; wrenches are dual
        U, sigma, _ = np.linalg.svd(S / unit)
        free = int((sigma > 1e-9).sum())
        passed[j.name] = []
        for w in U[:, free:].T:  # wrenches that do no work, moments in units of L
            moment, force = a.R @ w[:3] * L, a.R @ w[3:]
            passed[j.name].append((len(columns), np.concatenate([b.R.T @ moment / L, b.R.T @ force])))
            columns.append(acting(j.parent, j.child, about_origin(force, moment, b.p)))
        if number < len(plan.joints):
            own[number] = np.linalg.pinv((S / unit).T), a, b, j
    for c in plan.others:
        if c.kind in ("coupling", "driver"):
            pairs = zip(c.values[0], c.values[1]) if c.kind == "coupling" else [(c.values[0], 1.0)]
            column, parts = np.zeros(6 * len(plan.bodies)), []
            for k, factor in pairs:
                number = max(i for i in own if rigid.first_velocity(i) <= k and SIZES[plan.joints[i].kind])
                dual, a, b, j = own[number]
                w = dual[:, k - rigid.first_velocity(number)] * factor * rigid.reach[k]
                moment, force = a.R @ w[:3] * L, a.R @ w[3:]
                column += acting(j.parent, j.child, about_origin(force, moment, b.p))
                parts.append((j.name, np.concatenate([b.R.T @ moment / L, b.R.T @ force])))
            if driven_by_joints:
                for name, w in parts:
                    passed[name].append((len(columns), w))
            columns.append(column)
            continue
        b = at(*c.b)
        a = ground if c.a is None else at(*c.a)
        other = -1 if c.a is None else c.a[0]
        for force, point in _forces(c, a, b):
            columns.append(acting(other, c.b[0], about_origin(force, np.zeros(3), point)))
    if not columns:
        return {name: np.ones(6, dtype=bool) for name in passed}
    G = np.column_stack(columns)
    G /= np.maximum(np.linalg.norm(G, axis=0), 1e-300)
    lengths = np.maximum(np.linalg.norm(np.column_stack(columns), axis=0), 1e-300)
    _, sigma, Vt = np.linalg.svd(G)
    full = np.concatenate([sigma, np.zeros(len(Vt) - len(sigma))])
    if ((full > UNSURE[0]) & (full < UNSURE[1])).any():
        return None
    null = Vt[full <= UNSURE[0]].T / lengths[:, None]
    out = {}
    for name, parts in passed.items():
        change = np.zeros((6, null.shape[1]))
        for k, w in parts:
            change += np.outer(w, null[k])
        size = np.abs(change).max(axis=1, initial=0.0)
        if ((size > UNSURE[0]) & (size < UNSURE[1])).any():
            return None
        out[name] = size <= UNSURE[0]
    return out


def _forces(c: Any, a: Pose, b: Pose) -> list[tuple[np.ndarray, np.ndarray]]:
    """Forces on b, and where, that a constraint can exert."""
    if c.kind == "rod":
        return [((b.p - a.p) / np.linalg.norm(b.p - a.p), b.p)]
    if c.kind in ("line", "plane"):
        n = a.R @ c.values[0]
        return [(n, b.p)] if c.kind == "plane" else [(x, b.p) for x in np.linalg.svd(cross(n))[0][:, :2].T]
    if c.kind == "point driver":
        return [(x, b.p) for x in np.eye(3)]
    if c.kind == "skate":
        return [(b.R[:, c.values[0]], b.p)]
    n = a.R[:, 2]
    d = b.R[:, 1]
    reach = -n if c.kind == "sphere" else -(n - (n @ d) * d) / np.linalg.norm(n - (n @ d) * d)
    return [(x, b.p + c.values[0] * reach) for x in a.R.T]
