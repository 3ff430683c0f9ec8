"""A platform on four legs of fixed length to forty digits, in natural coordinates: truth where joints have quaternions.

A rigid body is a point p and three vectors r_i fixed to it, x = (p, r_1, r_2, r_3). Its mass matrix is constant and all
constraints are of second degree in x, so that the Taylor series of a motion follows order by order from one matrix:

    M ẍ = g + Jᵀλ,   Φ_k = ½ xᵀ Q_k x + c_k · x + d_k = 0,   J_k = (Q_k x + c_k)ᵀ                                   (1)
    r_i · r_j = δ_ij,   ½ |p + Σ s_i r_i − b|² = ½ L²                                                                (2)

It is a Stewart platform of which two legs are slack. In the flat position all legs lie in one plane and their rows have
rank 3: the motions that are left, two otherwise, form a cone there. Lengths are exact in binary numbers.

`python tests/closed_form/platform_truth.py` makes the table of test_platform.py anew.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from planar_truth import ORDER, Model, determinant, exact, inverse, one, zero

MASS, INERTIA, GRAVITY = 2.0, (0.25, 0.5, 0.625), 9.81
TOPS = ((0.5, 0.25, 0.0), (-0.5, 0.5, 0.0), (-0.25, -0.5, 0.0), (0.75, -0.25, 0.0))  # of the legs, on the platform
LEGS = ((0.75, 1.0, 0.0), (-1.0, 0.75, 0.0), (-0.75, 1.0, 0.0), (1.25, 0.0, 0.0))  # to the base, in the flat position
LENGTH = 1.25
BASES = tuple(tuple(a + b for a, b in zip(top, leg)) for top, leg in zip(TOPS, LEGS))


class Platform(Model):
    """The matrices of (1)."""

    def __init__(self):
        self.n = 12
        Ix, Iy, Iz = exact(INERTIA)
        spread = (Iy + Iz - Ix) / 2, (Iz + Ix - Iy) / 2, (Ix + Iy - Iz) / 2  # ∫ s² dm along each axis
        self.mass = np.array([w for w in (exact(MASS)[()], *spread) for _ in range(3)], object)
        self.g = exact(np.zeros(12, int))
        self.g[2] = -exact(MASS)[()] * exact(GRAVITY)[()]
        Q, c, d = [], [], []
        for i in range(3):
            for j in range(i, 3):
                S = np.zeros((4, 4), int)
                S[1 + i, 1 + j] += 1
                S[1 + j, 1 + i] += 1
                Q.append(np.kron(S, np.eye(3, dtype=int)))
                c.append(np.zeros(12, int))
                d.append(-int(i == j))
        for top, base in zip(TOPS, BASES):
            S = np.array([1.0, *top])
            Q.append(np.kron(np.outer(S, S), np.eye(3)))
            c.append(-np.kron(S, base))
            d.append((np.dot(base, base) - LENGTH**2) / 2)
        self.Q, self.c, self.d = exact(Q), exact(c), exact(d)

    def rows(self, x):
        return self.Q @ x + self.c

    def on_manifold(self, x, v, t=zero):
        """The nearest position and velocity that fulfil Φ = 0 and its rate."""
        for _ in range(60):
            J = self.rows(x)
            phi = (J + self.c) @ x / 2 + self.d
            W = J.T / self.mass[:, None]
            step = W @ (inverse(J @ W) @ phi)
            x = x - step
            if max(abs(y) for y in step) < Decimal("1e-38"):
                break
        J = self.rows(x)
        W = J.T / self.mass[:, None]
        return x, v - W @ (inverse(J @ W) @ (J @ v))

    def series(self, x, v, t):
        """Coefficients of x, (ORDER + 1, n): ẍ and λ of order k from products of those before it."""
        J, m = self.rows(x), len(self.Q)
        K = inverse(np.block([[np.diag(self.mass), -J.T], [J, exact(np.zeros((m, m), int))]]))
        X, Y, L = [x, v], [self.Q @ x, self.Q @ v], []  # Y_k = Q x_k, (m, n)
        for k in range(ORDER - 1):
            force = self.g * one if k == 0 else self.g * 0
            for i in range(k):  # Jᵀλ without λ of this order
                force = force + Y[k - i].T @ L[i]
            bent = exact(np.zeros(m, int))  # Φ̈ = Σ (Q x)_i · ẍ_{k−i} + (Q ẋ)_i · ẋ_{k−i}, without ẍ of this order
            for i in range(k + 1):
                a, b = i + 1, k - i + 1
                bent = bent + a * b * (Y[a] @ X[b])
                if i > 0:
                    bent = bent + (k - i + 1) * (k - i + 2) * (Y[i] @ X[k - i + 2])
            y = K @ np.concatenate([force, -bent])
            X.append(y[: self.n] / ((k + 1) * (k + 2)))
            Y.append(self.Q @ X[-1])
            L.append(y[self.n :])
        return X

    def energy(self, x, v):
        return (self.mass * v) @ v / 2 - self.g @ x

    def nearness(self, x):
        J = self.rows(x)
        return determinant(J @ (J.T / self.mass[:, None]))


def natural(q, v):
    """x and ẋ of a quaternion before a place, and of ω and ṗ in the body's axes: exactly those of the doubles."""
    e = exact(q[:4])
    e = e / (e @ e).sqrt()
    w, a = e[0], e[1:]
    K = np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]], object)
    R = exact(np.eye(3, dtype=int)) + 2 * w * K + 2 * (K @ K)
    omega, speed = exact(v[:3]), exact(v[3:])
    turning = [R @ np.cross(omega, exact(axis)) for axis in np.eye(3, dtype=int)]
    return np.concatenate([exact(q[4:]), *R.T]), np.concatenate([R @ speed, *turning])


def as_doubles(x, v):
    """R (3, 3), p, and ω and ṗ in the body's axes, of x and ẋ."""
    R, dR = x[3:].reshape(3, 3).T, v[3:].reshape(3, 3).T
    S = R.T @ dR
    omega = np.array([S[2, 1], S[0, 2], S[1, 0]], object)
    parts = R, x[:3], omega, R.T @ v[:3]
    return [part.astype(float).tolist() for part in parts]


FLAT = np.concatenate([np.zeros(3), np.eye(3).ravel()])


def beside(miss, seed, speed, before, after):
    """A case that passes the flat position at about that distance, with a seeded direction and velocity."""
    model, rng = Platform(), np.random.default_rng(seed)
    aside, v = rng.standard_normal((2, 6))
    E = np.zeros((12, 6))  # of a small motion (rotation, displacement)
    E[:3, 3:] = np.eye(3)
    for i in range(3):
        E[3 + 3 * i : 6 + 3 * i, :3] = np.cross(np.eye(3), np.eye(3)[i])
    x, v = model.on_manifold(exact(FLAT + miss * (E @ aside) / np.linalg.norm(aside)), exact(E @ v))
    v = v * exact(speed / np.sqrt(float((v * v).sum())))[()]
    x, v, _ = model.integrate(x, v, -before)
    R, p, omega, u = as_doubles(x, v)
    from scipy.spatial.transform import Rotation

    turned = Rotation.from_matrix(R).as_quat()
    return finished(miss, [turned[3], *turned[:3], *p], [*omega, *u], before + after)


def finished(miss, q, v, duration):
    """The case that starts with these doubles, with what follows."""
    model = Platform()
    x, dx, steps = model.integrate(*natural(q, v), duration)
    R, p, omega, u = as_doubles(x, dx)
    return {
        "miss": miss, "q": list(map(float, q)), "v": list(map(float, v)), "duration": duration, "end_R": R, "end_p": p,
        "end_v": [*omega, *u], "passages": model.passages(steps, 0.1), "steps": len(steps),
    }  # fmt: skip


def neighbour(case, sides=(1, -1)):
    """R where a start NEIGHBOUR beside that of a case leads to, on the side of it that leads farther."""
    model, aside = Platform(), np.random.default_rng(7).standard_normal(12)
    (x, v), ends = natural(case["q"], case["v"]), []
    for side in sides:
        moved = model.on_manifold(x + exact(side * NEIGHBOUR * aside / np.linalg.norm(aside)), v)
        ends.append(as_doubles(*model.integrate(*moved, case["duration"])[:2])[0])
    return max(ends, key=lambda R: np.abs(np.array(R) - case["end_R"]).max())


NEIGHBOUR = 1e-7
CASES = (  # miss, speed
    (1e-2, 3.0), (1e-3, 1.0), (1e-4, 3.0), (1e-5, 1.0), (1e-5, 4.0), (1e-6, 3.0), (1e-7, 1.0), (1e-9, 3.0)
)  # fmt: skip

if __name__ == "__main__":
    import json
    import sys
    from pathlib import Path

    cases = []
    for seed, (miss, speed) in enumerate(CASES):
        case = beside(miss, seed, speed, 0.3 / speed, 0.3 / speed)
        cases.append(case if miss > 2e-9 else {**case, "neighbour": neighbour(case)})
        print(miss, case["steps"], case["passages"], file=sys.stderr, flush=True)
        text = ",\n".join(json.dumps(c) for c in cases)
        Path(__file__).with_name("platform.json").write_text(f"[\n{text}\n]\n")
