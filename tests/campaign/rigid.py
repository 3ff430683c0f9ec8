"""Rigid bodies from nothing: a second reader of plans, which shares no code with the library.

Poses are products of rotations and displacements in extended precision. Their derivatives along motions are central
differences of seven points, so velocities, accelerations, M, h, A and γ follow from positions alone:

    M = Σ m Jᵀ J + Σ Jωᵀ I Jω,   h = Σ m Jᵀ (c̈ − g) + Σ Jωᵀ (I α + ω × I ω)          with c̈ and α at v̇ = 0
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LONG = np.longdouble
STEP = LONG("2e-3")  # of differences, rad or sizes of the mechanism
FIRST = np.array([-1, 9, -45, 0, 45, -9, 1], dtype=LONG) / 60
SECOND = np.array([2, -27, 270, -490, 270, -27, 2], dtype=LONG) / 180
POINTS = np.arange(-3, 4)
SIZES = {"revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3,
         "free": 6, "fixed": 0}  # fmt: skip
SUFFIXES = {"cylindrical": (".angle", ".slide"), "universal": (".first", ".second"), "planar": (".x", ".y", ".angle"),
            "spherical": (".wx", ".wy", ".wz"), "free": (".wx", ".wy", ".wz", ".vx", ".vy", ".vz")}  # fmt: skip
TURNS = {"revolute": (1,), "prismatic": (0,), "screw": (1,), "cylindrical": (1, 0), "universal": (1, 1),
         "planar": (0, 0, 1), "spherical": (1, 1, 1), "free": (1, 1, 1, 0, 0, 0), "fixed": ()}  # fmt: skip


def cross(w: Any) -> np.ndarray:
    """[w]× as a matrix."""
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def rotation_vector(w: Any) -> np.ndarray:
    """exp([w]×)."""
    w = np.asarray(w, dtype=LONG)
    angle = np.sqrt(w @ w)
    K = cross(w)
    if angle < LONG("1e-6"):
        return np.eye(3, dtype=LONG) + K + K @ K / 2 + K @ K @ K / 6
    return np.eye(3, dtype=LONG) + np.sin(angle) / angle * K + (1 - np.cos(angle)) / angle**2 * (K @ K)


def quaternion_matrix(q: Any) -> np.ndarray:
    w, x, y, z = np.asarray(q, dtype=LONG) / np.sqrt(np.asarray(q, dtype=LONG) @ np.asarray(q, dtype=LONG))
    K = cross([x, y, z])
    return np.eye(3, dtype=LONG) + 2 * w * K + 2 * (K @ K)


def axial(K: np.ndarray) -> np.ndarray:
    """w of the skew part of a matrix."""
    return np.array([K[2, 1] - K[1, 2], K[0, 2] - K[2, 0], K[1, 0] - K[0, 1]]) / 2


class Pose(NamedTuple):
    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, other: Pose) -> Pose:  # type: ignore[override]
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        return Pose(self.R.T, -(self.R.T @ self.p))


IDENTITY = Pose(np.eye(3), np.zeros(3))


def plane_axes(n: np.ndarray) -> np.ndarray:
    """(3, 2) x and y of a planar joint with normal n: cyclic for letters, else what the shortest turn from z makes."""
    for k in range(3):
        if n[k] == 1.0:
            return np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3]]
    w = np.cross([0.0, 0.0, 1.0], n)
    angle = np.arctan2(np.linalg.norm(w), n[2])
    return rotation_vector(w / np.linalg.norm(w) * angle)[:, :2]


class Rigid:
    """A plan as rigid bodies."""

    def __init__(self, plan: Any):
        self.plan = plan
        self.nv = sum(SIZES[j.kind] for j in plan.joints)
        self.turning = np.array([t for j in plan.joints for t in TURNS[j.kind]], dtype=bool)
        self.reach = np.where(self.turning, 1.0, plan.size)
        self.velocity_names = [j.name + s for j in plan.joints for s in SUFFIXES.get(j.kind, ("",)) if SIZES[j.kind]]

    def first_velocity(self, joint: int) -> int:
        return sum(SIZES[j.kind] for j in self.plan.joints[:joint])

    def random_position(self, rng: np.random.Generator) -> np.ndarray:
        """Coordinates in the library's order: quaternions before slides."""
        parts = []
        for j in self.plan.joints:
            if j.kind in ("spherical", "free"):
                x = rng.normal(size=4)
                parts.append(x / np.linalg.norm(x))
                if j.kind == "free":
                    parts.append(rng.normal(size=3) * self.plan.size)
            else:
                parts.append(rng.uniform(-1.5, 1.5, SIZES[j.kind]) * np.where(TURNS[j.kind], 1.0, self.plan.size))
        return np.concatenate([np.zeros(0), *parts])

    def plain(self, q: np.ndarray, velocity: int) -> float:
        """The coordinate whose rate is a velocity."""
        return float(q[self._offsets(velocity)])

    def _offsets(self, velocity: int) -> int:
        q = v = 0
        for j in self.plan.joints:
            if velocity < v + SIZES[j.kind]:
                return q + velocity - v
            q += SIZES[j.kind] + (j.kind in ("spherical", "free"))
            v += SIZES[j.kind]
        raise IndexError

    # --- motion -----------------------------------------------------------------------------------------------------

    def poses(self, q: np.ndarray, delta: np.ndarray | None = None) -> list[Pose]:
        """Poses of all bodies at q moved by δ, to second order as if with constant velocity."""
        delta = np.zeros(self.nv, dtype=LONG) if delta is None else delta
        out: list[Pose] = []
        i = k = 0
        for j in self.plan.joints:
            n, quaternion = SIZES[j.kind], j.kind in ("spherical", "free")
            T = _moved(j, np.asarray(q[i : i + n + quaternion], dtype=LONG), delta[k : k + n])
            i, k = i + n + quaternion, k + n
            base = IDENTITY if j.parent < 0 else out[j.parent]
            out.append(base @ j.at_parent @ T @ j.at_child.inverse())
        return out

    def along(self, q: np.ndarray, direction: np.ndarray, step: Any, f: Any) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of f(poses, δ, s) along δ = s · direction; s in units of `step`."""
        values = np.array([f(self.poses(q, k * step * direction), k * step * direction, k * step) for k in POINTS])
        return (np.tensordot(FIRST, values, 1) / step, np.tensordot(SECOND, values, 1) / step**2)

    def moving(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of `_stacked` along the motion with velocity v and acceleration a."""
        speed = max(
            float(np.abs(v / self.reach).max(initial=0.0)), float(np.abs(a / self.reach).max(initial=0.0)) ** 0.5
        )
        step = STEP / LONG(max(speed, 1e-300))
        v, a = v.astype(LONG), a.astype(LONG)
        values = np.array([self._stacked(self.poses(q, k * step * v + (k * step) ** 2 / 2 * a)) for k in POINTS])
        return np.tensordot(FIRST, values, 1) / step, np.tensordot(SECOND, values, 1) / step**2

    def _stacked(self, poses: list[Pose], *_: Any) -> np.ndarray:
        """(bodies, 3, 4) rotation and centre of mass."""
        return np.array([np.column_stack([T.R, T.p + T.R @ b.com]) for T, b in zip(poses, self.plan.bodies)])

    def step_along(self, v: np.ndarray) -> Any:
        return STEP / LONG(max(float(np.abs(v / self.reach).max(initial=0.0)), 1e-300))

    # --- dynamics -------------------------------------------------------------------------------------------------

    def dynamics(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M and h."""
        here = self._stacked(self.poses(q))
        R, n = here[:, :, :3], self.nv
        Jw, Jc = (np.zeros((len(here), 3, n), dtype=LONG) for _ in range(2))
        for k in range(n):
            e = np.zeros(n, dtype=LONG)
            e[k] = self.reach[k]
            first, _ = self.along(q, e, STEP, self._stacked)
            for i, D in enumerate(first):
                Jw[i, :, k], Jc[i, :, k] = axial(D[:, :3] @ R[i].T) / e[k], D[:, 3] / e[k]
        first, second = self.along(q, v.astype(LONG), self.step_along(v), self._stacked)
        M, h = np.zeros((n, n), dtype=LONG), np.zeros(n, dtype=LONG)
        for i, b in enumerate(self.plan.bodies):
            I = R[i] @ b.inertia @ R[i].T
            w, alpha = axial(first[i][:, :3] @ R[i].T), axial(second[i][:, :3] @ R[i].T)
            M += b.mass * Jc[i].T @ Jc[i] + Jw[i].T @ I @ Jw[i]
            h += b.mass * Jc[i].T @ (second[i][:, 3] - self.plan.gravity)
            h += Jw[i].T @ (I @ alpha + np.cross(w, I @ w))
        k = 0
        for j in self.plan.joints:
            for _ in range(SIZES[j.kind]):
                M[k, k] += j.armature
                k += 1
        return M.astype(float), h.astype(float)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇: quaternions turn by ½ q ω with ω in the body's axes, free bodies move in them too."""
        out, i, k = [], 0, 0
        for j in self.plan.joints:
            n = SIZES[j.kind]
            if j.kind in ("spherical", "free"):
                w, x, y, z = q[i : i + 4]
                turn = 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) @ v[k : k + 3]
                move = np.asarray(quaternion_matrix(q[i : i + 4]), dtype=float) @ v[k + 3 : k + n] if n == 6 else []
                out += [*turn, *move]
                i += 1
            else:
                out += list(v[k : k + n])
            i, k = i + n, k + n
        return np.array(out)

    def potential(self, q: np.ndarray) -> float:
        """−Σ m g · c of all bodies."""
        places = zip(self.plan.bodies, self.poses(q))
        return float(-sum(b.mass * (self.plan.gravity @ (T.p + T.R @ b.com)) for b, T in places))

    # --- constraints ----------------------------------------------------------------------------------------------

    def residuals(self, q: np.ndarray, poses: list[Pose], delta: np.ndarray, t: Any) -> np.ndarray:
        """Φ of all holonomic constraints in sizes and radians."""
        out: list[Any] = []
        L = self.plan.size
        for j in self.plan.loops:
            a = (poses[j.parent] if j.parent >= 0 else IDENTITY) @ j.at_parent
            out += _loop_rows(j, a.inverse() @ ((poses[j.child] if j.child >= 0 else IDENTITY) @ j.at_child), L)
        for c in self.plan.others:
            a, b = ((poses[x[0]] if x[0] >= 0 else IDENTITY) @ x[1] if x else None for x in (c.a, c.b))
            if c.kind == "rod":
                out.append((np.sqrt((a.p - b.p) @ (a.p - b.p)) - c.values[0]) / L)
            elif c.kind == "line":
                out += list(np.cross(c.values[0], a.R.T @ (b.p - a.p)) / L)
            elif c.kind == "plane":
                out.append(c.values[0] @ (a.R.T @ (b.p - a.p)) / L)
            elif c.kind in ("sphere", "disc"):
                out.append(a.R[:, 2] @ (b.p + _to_contact(c, a, b) - a.p) / L)
            elif c.kind == "point driver":
                p, move, w = c.values
                out += list((b.p - p - move * np.sin(w * t) / w) / L)
            elif c.kind == "driver":
                k, at, rate, w = c.values
                value = LONG(self.plain(q, k)) + delta[k]
                out.append((value - at - rate * np.sin(w * t) / w - rate * w * t**2) / self.reach[k])
            elif c.kind == "coupling":
                pair, coefficients, rest = c.values
                out.append(sum(x * (LONG(self.plain(q, k)) + delta[k]) for k, x in zip(pair, coefficients)) - rest)
        return np.array(out, dtype=LONG)

    def speeds(self, poses: list[Pose], rates: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """What Pfaffian constraints keep at zero, in sizes: of poses and the rates (Ṙ, ṗ) of bodies."""
        out: list[Any] = []
        for c in self.plan.others:
            if c.kind == "skate":
                k, frame = c.b
                T = poses[k] @ frame
                out.append(T.R[:, c.values[0]] @ (rates[k][0] @ frame.p + rates[k][1]) / self.plan.size)
            elif c.kind in ("sphere", "disc"):
                k, frame = c.b
                a, b = c.a[1], poses[k] @ frame
                w = axial(rates[k][0] @ poses[k].R.T)
                slip = rates[k][0] @ frame.p + rates[k][1] + np.cross(w, _to_contact(c, a, b))
                out += [a.R[:, 0] @ slip / self.plan.size, a.R[:, 1] @ slip / self.plan.size]
        return np.array(out, dtype=LONG)

    def constraints(self, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> tuple[np.ndarray, ...]:
        """Φ, A, b and γ of all rows, in sizes and radians; Pfaffian rows come last."""
        zero, now = np.zeros(self.nv, dtype=LONG), LONG(t)
        here = self.poses(q)
        phi = self.residuals(q, here, zero, now)

        def both(direction: np.ndarray, step: Any, clock: float) -> tuple[np.ndarray, np.ndarray]:
            one, two = self.along(q, direction, step, lambda P, delta, s: self.residuals(q, P, delta, now + clock * s))
            first, second = self.along(
                q, direction, step, lambda P, delta, s: np.array([np.column_stack([T.R, T.p]) for T in P])
            )
            rates, changes = ([(D[:, :3], D[:, 3]) for D in x] for x in (first, second))
            moving = self.speeds(here, rates)
            # d/ds of g(poses, rates): once along the poses, once along the rates
            nearby = [[Pose(T.R + k * step * D, T.p + k * step * d) for T, (D, d) in zip(here, rates)] for k in POINTS]
            bent = np.tensordot(FIRST, np.array([self.speeds(P, rates) for P in nearby]), 1) / step
            return np.concatenate([one, moving]), np.concatenate([two, bent + self.speeds(here, changes)])

        A = np.zeros((len(phi) + len(self.speeds(here, [(np.zeros((3, 3)), np.zeros(3))] * len(here))), self.nv))
        for k in range(self.nv):
            e = zero.copy()
            e[k] = self.reach[k]
            A[:, k] = both(e, STEP, 0.0)[0] / self.reach[k]
        step = (
            min(self.step_along(v), STEP * self.plan.pace) if np.abs(v).max(initial=0.0) > 0 else STEP * self.plan.pace
        )
        rate, change = both(v.astype(LONG), step, 1.0)
        return phi.astype(float), A, (rate - A @ v).astype(float), change.astype(float)


def _moved(j: Any, q: np.ndarray, d: np.ndarray) -> Pose:
    """T(q ⊕ δ) of a joint."""
    n, zero = j.axis.astype(LONG), np.zeros(3, dtype=LONG)
    if j.kind == "fixed":
        return Pose(np.eye(3, dtype=LONG), zero)
    if j.kind in ("spherical", "free"):
        R, w = quaternion_matrix(q[:4]), d[:3]
        if j.kind == "spherical":
            return Pose(R @ rotation_vector(w), zero)
        move = d[3:] + np.cross(w, d[3:]) / 2 + np.cross(w, np.cross(w, d[3:])) / 6
        return Pose(R @ rotation_vector(w), q[4:] + R @ move)
    x = q + d
    if j.kind == "universal":
        return Pose(rotation_vector(n * x[0]) @ rotation_vector(j.second.astype(LONG) * x[1]), zero)
    if j.kind == "planar":
        return Pose(rotation_vector(n * x[2]), plane_axes(j.axis) @ x[:2])
    turn, slide = {
        "revolute": lambda: (x[0], 0.0),
        "prismatic": lambda: (0.0, x[0]),
        "screw": lambda: (x[0], j.pitch * x[0]),
        "cylindrical": lambda: (x[0], x[1]),
    }[j.kind]()
    return Pose(rotation_vector(n * turn), n * slide)


def _loop_rows(j: Any, T: Pose, L: float) -> list[Any]:
    """What a cut joint keeps at zero, T being b in a; in sizes and radians."""
    n, p = j.axis, T.p / L
    aligned = list(np.cross(n, T.R @ n))
    turned = list(axial(T.R))
    rows = {
        "spherical": lambda: list(p),
        "fixed": lambda: [*p, *turned],
        "revolute": lambda: [*p, *aligned],
        "cylindrical": lambda: [*np.cross(n, p), *aligned],
        "prismatic": lambda: [*np.cross(n, p), *turned],
        "universal": lambda: [*p, n @ (T.R @ j.second)],
        "planar": lambda: [n @ p, *aligned],
        "screw": lambda: [*np.cross(n, p), *aligned, n @ p - j.pitch / L * _angle_about(n, T.R)],
    }
    return rows[j.kind]()


def _angle_about(n: np.ndarray, R: np.ndarray) -> Any:
    return np.arctan2(2 * (n @ axial(R)), np.trace(R) - n @ R @ n)


def _to_contact(c: Any, plane: Pose, wheel: Pose) -> np.ndarray:
    """From the centre of a wheel to where it touches."""
    n = plane.R[:, 2]
    if c.kind == "sphere":
        return -c.values[0] * n
    d = wheel.R[:, 1]
    across = n - (n @ d) * d
    return -c.values[0] * across / np.sqrt(across @ across)
