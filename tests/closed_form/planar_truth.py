"""Planar linkages to forty digits: truth for motions through and beside singular positions, by no code of the library.

Bars have absolute angles θ, slides a coordinate x. Points are linear in the features z = (cos θ, sin θ, x):

    T = ½ żᵀ Z ż + ½ Σ I θ̇²,   V = gᵀz,   Φ = D z + C q − f(t) = 0,   J = ∂z/∂q                                 (1)
    Jᵀ (Z z̈ + g − Dᵀλ) + I q̈ − Cᵀλ = 0,   D z̈ + C q̈ = f̈                                                       (2)

with Z, g, D, C constant. (2) is solved order by order for the Taylor series of q and λ: every order has the same matrix
and products of the orders before it on its right side. Steps end where the last terms are of the size of the
tolerance, so they are as short as the distance of a singular position asks for. A motion that meets the position has a
series that converges past it: the next step begins behind it, on the branch that the motion selects, and nothing has to
be known of branches. Arithmetic is that of `decimal`, with so many digits that a matrix that is singular to 1e-12 costs
none of those that are wanted.

planar_linkages.py has the linkages, planar_motions.py their motions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, getcontext

import numpy as np

DIGITS = 46
ORDER = 30
TOLERANCE = Decimal("1e-26")  # of a step, in q
getcontext().prec = DIGITS

zero, one = Decimal(0), Decimal(1)


def exact(values):
    """The same numbers as decimals, floats exactly as they are."""
    a = np.asarray(values, dtype=object)
    return np.array([x if isinstance(x, Decimal) else Decimal(x) for x in a.ravel()], dtype=object).reshape(a.shape)


def cos_sin(x):
    """cos x and sin x of a decimal, by their series at x/64 and six doublings."""
    x = x / 64
    c, s, term, k = zero, zero, one, 0
    while abs(term) > Decimal(10) ** (-DIGITS - 5):
        c, s = (c + term, s) if k % 2 == 0 else (c, s + term)
        k += 1
        term *= x / k if k % 2 else -x / k
    for _ in range(6):
        c, s = c * c - s * s, 2 * c * s
    return c, s


def inverse(K):
    """Of a square matrix of decimals, by elimination with pivots."""
    n = len(K)
    W = np.concatenate([K, exact(np.eye(n, dtype=int))], axis=1)
    for j in range(n):
        p = j + max(range(n - j), key=lambda i: abs(W[j + i, j]))
        W[[j, p]] = W[[p, j]]
        W[j] = W[j] / W[j, j]
        for i in range(n):
            if i != j and W[i, j]:
                W[i] = W[i] - W[i, j] * W[j]
    return W[:, n:]


@dataclass
class Linkage:
    """A planar linkage being built: points are (constant, {coordinate: (a, b)}), a bar's a and b in its frame."""

    slides: tuple[int, ...] = ()  # which coordinates are slides
    n: int = 0
    gravity: float = 9.81
    masses: list = field(default_factory=list)  # (mass, point)
    inertias: dict = field(default_factory=dict)
    closures: list = field(default_factory=list)  # (point, axis): zero at all times
    driven: list = field(default_factory=list)  # ({coordinate: factor}, coefficients of f in powers of t)

    def mass(self, m, point, inertia=0, on=None):
        self.masses.append((m, point))
        if on is not None:
            self.inertias[on] = self.inertias.get(on, zero) + exact(inertia)[()]

    def close(self, point, axes=(0, 1)):
        self.closures += [(point, axis) for axis in axes]

    def model(self):
        return Model(self)


class Model:
    """The constant matrices of (1)."""

    def __init__(self, d: Linkage):
        self.n = n = d.n
        self.angle = np.array([i not in d.slides for i in range(n)])
        self.where = np.cumsum([0] + [2 if a else 1 for a in self.angle])
        nz = self.where[-1]
        self.Z, self.g = exact(np.zeros((nz, nz), int)), exact(np.zeros(nz, int))
        for m, point in d.masses:
            L = self._linear(point, nz)[1]
            m = exact(m)[()]
            self.Z = self.Z + m * (L.T @ L)
            self.g = self.g + m * exact(d.gravity)[()] * L[1]
        rows = len(d.closures) + len(d.driven)
        self.D, self.C = exact(np.zeros((rows, nz), int)), exact(np.zeros((rows, n), int))
        self.f = [[zero] for _ in range(rows)]
        for r, (point, axis) in enumerate(d.closures):
            constant, L = self._linear(point, nz)
            self.D[r], self.f[r] = L[axis], [-constant[axis]]
        for r, (factors, f) in enumerate(d.driven, start=len(d.closures)):
            self.f[r] = list(exact(f))
            for i, a in factors.items():
                self.C[r, i] = exact(a)[()]
        self.I = exact(np.zeros(n, int))
        for i, inertia in d.inertias.items():
            self.I[i] = inertia
        self.closed = len(d.closures)

    def _linear(self, point, nz):
        constant, terms = point
        L = exact(np.zeros((2, nz), int))
        for i, (a, b) in terms.items():
            a, b, k = exact(a)[()], exact(b)[()], self.where[i]
            L[:, k] += (a, b)
            if self.angle[i]:
                L[:, k + 1] += (-b, a)
        return exact(constant), L

    # --- at a position ------------------------------------------------------------------------------------------

    def features(self, q):
        return np.array([x for i in range(self.n) for x in (cos_sin(q[i]) if self.angle[i] else (q[i],))], object)

    def J(self, z):
        out = exact(np.zeros((self.where[-1], self.n), int))
        for i, k in enumerate(self.where[:-1]):
            if self.angle[i]:
                out[k, i], out[k + 1, i] = -z[k + 1], z[k]
            else:
                out[k, i] = one
        return out

    def f_at(self, t, derivative=0):
        """f or a derivative of it, (m,)."""
        out = []
        for f in self.f:
            for _ in range(derivative):
                f = [k * a for k, a in enumerate(f)][1:]
            value = zero
            for a in reversed(f):
                value = value * t + a
            out.append(value)
        return np.array(out, object)

    def M(self, J):
        return J.T @ self.Z @ J + np.diag(self.I)

    def A(self, J):
        return self.D @ J + self.C

    def shortest(self, A, M, right):
        """The v of least kinetic energy with A v = right."""
        W = inverse(M) @ A.T
        return W @ (inverse(A @ W) @ right)

    def on_manifold(self, q, v, t=zero):
        """The nearest position and velocity that fulfil Φ = 0 and its rate."""
        for _ in range(60):
            z = self.features(q)
            J = self.J(z)
            step = self.shortest(self.A(J), self.M(J), self.f_at(t) - self.D @ z - self.C @ q)
            q = q + step
            if max(abs(x) for x in step) < Decimal("1e-38"):
                break
        J = self.J(self.features(q))
        A = self.A(J)
        return q, v + self.shortest(A, self.M(J), self.f_at(t, 1) - A @ v)

    def energy(self, q, v):
        z = self.features(q)
        return v @ self.M(self.J(z)) @ v / 2 + self.g @ z

    # --- motion -------------------------------------------------------------------------------------------------

    def series(self, q, v, t):
        """Coefficients of q, (ORDER + 1, n)."""
        n, where, turns = self.n, self.where, np.flatnonzero(self.angle)
        co, si, sl = where[:-1][turns], where[:-1][turns] + 1, where[:-1][~self.angle]
        z = self.features(q)
        J = self.J(z)
        A = self.A(J)
        m, nz = len(A), len(z)
        K = inverse(np.block([[self.M(J), -A.T], [A, exact(np.zeros((m, m), int))]]))
        c, s, w, squares, a, yc, ys = exact(np.zeros((7, ORDER + 1, len(turns)), int))  # θ̇, θ̇², θ̈, forces
        c[0], s[0], w[0] = z[co], z[si], v[turns]
        Q = [q, v]
        for k in range(ORDER - 1):
            squares[k] = _product(w, w, k)
            known = exact(np.zeros(nz, int))  # z̈ without the accelerations of this order
            known[co], known[si] = (
                -_product(c, squares, k) - _product(s, a, k),
                _product(c, a, k) - _product(s, squares, k),
            )
            y = self.Z @ known + (self.g if k == 0 else 0)
            yc[k], ys[k] = y[co], y[si]
            left = exact(np.zeros(n, int))
            left[~self.angle], left[turns] = y[sl], _product(c, ys, k) - _product(s, yc, k)
            x = K @ np.concatenate([-left, self._f_coefficient(t, k) - self.D @ known])
            y = y + self.Z @ (J @ x[:n]) - self.D.T @ x[n:]
            a[k], yc[k], ys[k] = x[turns], y[co], y[si]
            Q.append(x[:n] / ((k + 1) * (k + 2)))
            w[k + 1] = x[turns] / (k + 1)
            c[k + 1], s[k + 1] = -_product(s, w, k) / (k + 1), _product(c, w, k) / (k + 1)
        return Q

    def _f_coefficient(self, t, k):
        """Coefficient k of the series of f̈ about t."""
        out, factorial = self.f_at(t, k + 2), one
        for i in range(2, k + 1):
            factorial *= i
        return out / factorial

    def integrate(self, q, v, duration, t=0):
        """q and v after a time, and the steps on the way: (t, coefficients, length)."""
        t = exact(t)[()]
        q, v = self.on_manifold(exact(q), exact(v), t)
        end, steps, sign = t + exact(duration)[()], [], 1 if duration > 0 else -1
        while t != end:
            Q = self.series(q, v, t)
            h = min(
                (TOLERANCE / max(*(abs(x) for x in Q[k]), Decimal("1e-99"))) ** (one / k) for k in (ORDER - 1, ORDER)
            )
            h = sign * min(h, abs(end - t))
            steps.append((t, Q, h))
            q, v = at(Q, h)
            t = end if h == end - t else t + h
            q, v = self.on_manifold(q, v, t)
        return q, v, steps

    # --- singular positions -------------------------------------------------------------------------------------

    def nearness(self, q):
        """det(A M⁻¹ Aᵀ), which is zero in singular positions only; no choice of coordinates changes it."""
        J = self.J(self.features(q))
        A = self.A(J)
        return determinant(A @ inverse(self.M(J)) @ A.T)

    def passages(self, steps, small=1e-3):
        """Times at which the nearness is least, to 1e-13 s, where it is below `small` times its greatest value."""
        times, values = [], []
        for t, Q, h in steps:
            for k in range(8):
                times.append((t, Q, h * k / 8))
                values.append(self.nearness(at(Q, h * k / 8)[0]))
        greatest, found = max(values), []
        for k in range(1, len(values) - 1):
            if values[k - 1] > values[k] <= values[k + 1]:
                t, least = self._least(steps, times[k - 1], times[k + 1])
                if least < exact(small)[()] * greatest:
                    found.append((t, float(least / greatest)))
        return found

    def _least(self, steps, a, b):
        """Time and value of the least nearness between two times, by golden sections."""

        def value(t):
            start, Q, _ = next(s for s in reversed(steps) if s[0] <= t)
            return self.nearness(at(Q, t - start)[0])

        a, b, golden = a[0] + a[2], b[0] + b[2], (Decimal(5).sqrt() - 1) / 2
        c, d = b - golden * (b - a), a + golden * (b - a)
        fc, fd = value(c), value(d)
        while b - a > Decimal("1e-13"):
            if fc < fd:
                b, d, fd = d, c, fc
                c = b - golden * (b - a)
                fc = value(c)
            else:
                a, c, fc = c, d, fd
                d = a + golden * (b - a)
                fd = value(d)
        return float((a + b) / 2), min(fc, fd)


def determinant(K):
    """Of a symmetric positive matrix of decimals."""
    K, out = K.copy(), one
    for j in range(len(K)):
        out *= K[j, j]
        if not K[j, j]:
            return zero
        for i in range(j + 1, len(K)):
            K[i] = K[i] - K[i, j] / K[j, j] * K[j]
    return out


def _product(a, b, k):
    """Coefficient k of a product of series."""
    return (a[: k + 1] * b[k::-1]).sum(axis=0)


def at(Q, h):
    """q and v a time h after the point of expansion."""
    q, v = Q[-1], Q[-1] * 0
    for x in reversed(Q[:-1]):
        v = v * h + q
        q = q * h + x
    return q, v
