"""Contacts and dry friction by Moreau's time stepping: an oracle that knows no events and shares no code with ours.

A step of length h takes forces and contacts at the midpoint q + h v/2. Impulses p of what touches there satisfy

    M (v⁺ − v) = h f + Hᵀ p,   u = H v,   Newton: u_n⁺ + e u_n⁻ ≥ 0 ⊥ p_n ≥ 0,   Coulomb: |p_t| ≤ μ p_n against u_t⁺

solved by Gauss-Seidel sweeps (J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302,
1988; M. Jean, The non-smooth contact dynamics method, CMAME 177 (1999) 235-257). Errors fall like h.
"""

from dataclasses import dataclass

import numpy as np

SWEEPS, SETTLED = 2000, 1e-13


@dataclass
class Touch:
    """A one-sided constraint at a position: its gap, the rows of its normal and tangential speeds, its coefficients."""

    gap: float
    normal: np.ndarray
    tangent: np.ndarray | None = None
    mu: float = 0.0
    e: float = 0.0


@dataclass
class Rub:
    """Dry friction of a coordinate with a fixed bound, N or N m."""

    row: np.ndarray
    bound: float


def step(model, q, v, h):
    """One step of a model with mass(q), force(q, v, t) and touches(q); returns q and v after it."""
    middle = q + 0.5 * h * v
    M, touching = model.mass(middle), [c for c in model.touches(middle) if getattr(c, "gap", 0.0) <= 0.0]
    free = v + np.linalg.solve(M, h * model.force(middle, v))
    rows, kinds = [], []
    for c in touching:
        if isinstance(c, Rub):
            kinds.append(("rub", len(rows), c))
            rows.append(c.row)
            continue
        kinds.append(("normal", len(rows), c))
        rows.append(c.normal)
        if c.tangent is not None and c.mu > 0.0:
            kinds.append(("across", len(rows), c))
            rows.append(c.tangent)
    if rows:
        H = np.array(rows)
        W, before, u0 = H @ np.linalg.solve(M, H.T), H @ v, H @ free
        p = np.zeros(len(rows))
        for _ in range(SWEEPS):
            last = p.copy()
            for kind, k, c in kinds:
                want = p[k] - (u0[k] + W[k] @ p + (c.e * before[k] if kind == "normal" else 0.0)) / W[k, k]
                if kind == "normal":
                    p[k] = max(want, 0.0)
                else:
                    bound = h * c.bound if kind == "rub" else c.mu * p[k - 1]
                    p[k] = min(max(want, -bound), bound)
            if np.abs(p - last).max() <= SETTLED * (1.0 + np.abs(p).max()):
                break
        free = free + np.linalg.solve(M, H.T @ p)
    return q + 0.5 * h * (v + free), free


def course(model, q, v, end, steps):
    """The states (q, v) after so many equal steps to the end."""
    q, v = np.array(q, dtype=float), np.array(v, dtype=float)
    for _ in range(steps):
        q, v = step(model, q, v, end / steps)
    return q, v


@dataclass
class Bodies:
    """Rigid bodies (mass, inertia) in the x-z plane with gravity (gx, gz); q = (x, z, θ) of each, θ about +y."""

    bodies: list
    gravity: tuple
    contacts: list  # (body, (x, z) of its point, body or None for the ground, height of the plane, μ, e)
    push: tuple = ()  # (body, force along x)

    def mass(self, q):
        return np.diag([x for m, J in self.bodies for x in (m, m, J)])

    def force(self, q, v):
        f = np.array([x for m, _ in self.bodies for x in (m * self.gravity[0], m * self.gravity[1], 0.0)])
        for body, force in self.push:
            f[3 * body] += force
        return f

    def touches(self, q):
        out = []
        for a, point, b, height, mu, e in self.contacts:
            at, J = _point(q, a, _turned(q, a) @ point)
            R, base = np.eye(2), np.zeros(2)
            if b is not None:
                R, base = _turned(q, b), q[3 * b : 3 * b + 2]
                J = J - _point(q, b, at - base)[1]
            gap = (R.T @ (at - base))[1] - height
            out.append(Touch(gap, R[:, 1] @ J, R[:, 0] @ J, mu, e))
        return out


def _turned(q, body):
    """Axes of a body: a turn by θ about +y takes x to −z."""
    c, s = np.cos(q[3 * body + 2]), np.sin(q[3 * body + 2])
    return np.array([[c, s], [-s, c]])


def _point(q, body, arm):
    """Place and Jacobian of the point of a body at its centre plus the arm, in the ground's axes."""
    J = np.zeros((2, len(q)))
    J[0, 3 * body] = J[1, 3 * body + 1] = 1.0
    J[:, 3 * body + 2] = arm[1], -arm[0]
    return q[3 * body : 3 * body + 2] + arm, J


@dataclass
class DoublePendulum:
    """Two point masses on rods l, in the x-z plane, angles from straight down; θ₂ of the second is absolute."""

    masses: tuple
    lengths: tuple
    stop: float  # θ₁ ≥ stop
    e: float
    friction: float = 0.0  # N m, in the first joint

    def mass(self, q):
        (m1, m2), (l1, l2) = self.masses, self.lengths
        c = m2 * l1 * l2 * np.cos(q[0] - q[1])
        return np.array([[(m1 + m2) * l1**2, c], [c, m2 * l2**2]])

    def force(self, q, v):
        (m1, m2), (l1, l2) = self.masses, self.lengths
        s = m2 * l1 * l2 * np.sin(q[0] - q[1])
        weight = 9.81 * np.array([(m1 + m2) * l1 * np.sin(q[0]), m2 * l2 * np.sin(q[1])])
        return -weight - s * np.array([v[1] ** 2, -(v[0] ** 2)])

    def touches(self, q):
        row = np.array([1.0, 0.0])
        return [Touch(q[0] - self.stop, row, e=self.e), Rub(row, self.friction)]


@dataclass
class OnRope:
    """A point mass in the x-z plane on a rope from the origin."""

    m: float
    length: float
    e: float

    def mass(self, q):
        return self.m * np.eye(2)

    def force(self, q, v):
        return np.array([0.0, -9.81 * self.m])

    def touches(self, q):
        r = np.hypot(*q)
        return [Touch(self.length - r, -q / r, e=self.e)]
