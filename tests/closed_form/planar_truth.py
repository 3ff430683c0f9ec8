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

`python tests/closed_form/planar_truth.py` makes the table of test_near_misses.py anew.
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


LEGS = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
PINS = np.column_stack([np.cos(LEGS), np.sin(LEGS)]).tolist()  # as doubles: the supports and pins of the library too

# --- the linkages -----------------------------------------------------------------------------------------------------


def rod(m, length):
    """Inertia of a uniform bar about its middle, as an exact product."""
    m, length = exact(m)[()], exact(length)[()]
    return m * length * length / 12


def chain(lengths, masses, inertias, span, gravity=9.81, base=None, driven=()):
    """Bars in a row from the origin to (span, 0); with `base` all on a slide along x of that mass, coordinate n."""
    n = len(lengths)
    d = Linkage(n=n + (base is not None), slides=() if base is None else (n,), gravity=gravity)
    carried = {} if base is None else {n: (1, 0)}
    reached = dict(carried)
    for k, (length, m, inertia) in enumerate(zip(lengths, masses, inertias)):
        d.mass(m, ((0, 0), {**reached, k: (exact(length)[()] / 2, 0)}), inertia, on=k)
        reached[k] = (length, 0)
    if base is not None:
        d.mass(base, ((0, 0), carried))
        reached.pop(n)
    d.close(((-exact(span)[()], 0), reached))
    d.driven = list(driven)
    return d.model()


def ladder(couplers, gravity=9.81):
    """Cranks of unit length and mass on supports one apart, couplers of unit mass: A0, coupler 1, A1, coupler 2, …"""
    d = Linkage(n=2 * len(couplers) + 1, gravity=gravity)
    half = Decimal("0.5")
    d.mass(1, ((0, 0), {0: (half, 0)}), rod(1, 1), on=0)
    for k, length in enumerate(couplers, start=1):
        before, coupler, crank = 2 * k - 2, 2 * k - 1, 2 * k
        d.mass(1, ((k - 1, 0), {before: (1, 0), coupler: (exact(length)[()] / 2, 0)}), rod(1, length), on=coupler)
        d.mass(1, ((k, 0), {crank: (half, 0)}), rod(1, 1), on=crank)
        d.close(((-1, 0), {before: (1, 0), coupler: (length, 0), crank: (-1, 0)}))
    return d.model()


def four_bar(ground, crank, coupler, rocker, masses=(1.0, 1.5, 1.2), gravity=9.81):
    """Crank, coupler and rocker."""
    d = Linkage(n=3, gravity=gravity)
    a, b, c = (exact(x)[()] for x in (crank, coupler, rocker))
    d.mass(masses[0], ((0, 0), {0: (a / 2, 0)}), rod(masses[0], a), on=0)
    d.mass(masses[1], ((0, 0), {0: (a, 0), 1: (b / 2, 0)}), rod(masses[1], b), on=1)
    d.mass(masses[2], ((ground, 0), {2: (c / 2, 0)}), rod(masses[2], c), on=2)
    d.close(((-exact(ground)[()], 0), {0: (a, 0), 1: (b, 0), 2: (-c, 0)}))
    return d.model()


def slider_crank(rod_length=1.0, gravity=9.81):
    """Unit crank and a rod with unit masses at their ends; the rod's end stays on the x axis."""
    d = Linkage(n=2, gravity=gravity)
    d.mass(1, ((0, 0), {0: (1, 0)}))
    d.mass(1, ((0, 0), {0: (1, 0), 1: (rod_length, 0)}))
    d.close(((0, 0), {0: (1, 0), 1: (rod_length, 0)}), axes=(1,))
    return d.model()


def sarrus(gravity=9.81):
    """Both legs as one of twice the mass: two struts of unit length, the platform straight above the foot, x = 0."""
    d = Linkage(n=2, gravity=gravity)
    half, m = Decimal("0.5"), 2
    r = exact(0.02)[()]
    inertia = m * (3 * r * r + 1) / 12  # of a cylinder about an axis across it
    d.mass(m, ((0, 0), {0: (half, 0)}), inertia, on=0)
    d.mass(m, ((0, 0), {0: (1, 0), 1: (half, 0)}), inertia, on=1)
    d.mass(1, ((0, 0), {0: (1, 0), 1: (1, 0)}))
    d.close(((0, 0), {0: (1, 0), 1: (1, 0)}), axes=(0,))
    return d.model()


def planar_3rrr(base=0.5, platform=0.15, proximal=0.325, distal=0.325, masses=(0.6, 0.4, 1.0)):
    """Angles of proximal and distal link leg by leg, then that of the platform; no gravity."""
    d = Linkage(n=7, gravity=0.0)
    half = Decimal("0.5")
    a, b = exact(proximal)[()], exact(distal)[()]
    tips = []
    for k, (c, s) in enumerate(PINS):
        i, j = 2 * k, 2 * k + 1
        foot = exact([base * c, base * s])
        d.mass(masses[0], (foot, {i: (a * half, 0)}), rod(masses[0], a), on=i)
        d.mass(masses[1], (foot, {i: (a, 0), j: (b * half, 0)}), rod(masses[1], b), on=j)
        tips.append((foot, {i: (a, 0), j: (b, 0), 6: (-platform * c, -platform * s)}))
    # the platform's centre is the tip of leg 1 less its pin; leg 2 and 3 lead there too
    r = exact(platform)[()]
    d.mass(masses[2], tips[0], exact(masses[2])[()] * r * r / 2, on=6)
    for foot, terms in tips[1:]:
        loop = dict(terms)
        for i, (x, y) in tips[0][1].items():
            x0, y0 = loop.get(i, (0, 0))
            loop[i] = (exact(x0)[()] - exact(x)[()], exact(y0)[()] - exact(y)[()])
        d.close((foot - tips[0][0], loop))
    return d.model()


# --- the table --------------------------------------------------------------------------------------------------------

FIVE_BAR = {
    "lengths": (1.0, 1.5, 1.5, 1.0),
    "masses": (2.0, 3.0, 3.0, 2.0),
    "inertias": (1.0, 2.0, 2.0, 1.0),
    "span": 1.0,
}
BASE = 5.0  # kg
RATE = 2.0  # rad/s of the driven crank
CHANGE_POINT = {"ground": 1.0, "crank": 0.5, "coupler": 1.25, "rocker": 0.75}  # shortest + longest = sum of the others
MISSES = tuple(10.0**-k for k in range(2, 10))
LONGER = tuple(s * 10.0**-k for k in (3, 5, 7, 9, 11, 13) for s in (1, -1))
LADDERS = {
    1: (0.0, *LONGER[1::4], *LONGER[2::4]),
    2: (0.0, *LONGER[3::4], *LONGER[::4]),
    5: (0.0, LONGER[0], LONGER[5], LONGER[8]),
}
SLIDERS = (0.0, *LONGER[::3], *LONGER[-2:])
NEIGHBOUR = 1e-7  # rad between two starts of which it is shown that they lead elsewhere


def made(mechanism, x=0.0):
    """Model of a mechanism and the matrix from joint to absolute coordinates; x: a length that differs, or a phase."""
    if mechanism == "five-bar":
        return chain(**FIVE_BAR), np.tril(np.ones((4, 4), int))
    if mechanism == "five-bar on a slide":  # joints: slide, A, B, C, D
        S = np.zeros((5, 5), int)
        S[:4, 1:], S[4, 0] = np.tril(np.ones((4, 4), int)), 1
        return chain(**FIVE_BAR, base=BASE), S
    if mechanism == "driven five-bar":
        return chain(**FIVE_BAR, driven=[({0: 1}, (x, RATE))]), np.tril(np.ones((4, 4), int))
    if mechanism == "3-RRR":  # joints: A1 B1 C1 A2 B2 A3 B3; absolute: legs, platform
        S = np.zeros((7, 7), int)
        S[0, 0] = S[2, 3] = S[4, 5] = 1
        S[1, :2] = S[3, 3:5] = S[5, 5:] = 1
        S[6, :3] = 1
        return planar_3rrr(), S
    if mechanism.startswith("ladder"):  # joints: A0, B1, A1, B2, A2, …
        loops = int(mechanism.split()[1])
        S = np.eye(2 * loops + 1, dtype=int)
        for k in range(1, loops + 1):
            S[2 * k - 1, 2 * k - 2] = 1
        return ladder(rungs(loops, x)), S
    if mechanism == "four-bar":
        S = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
        return four_bar(**{**CHANGE_POINT, "coupler": CHANGE_POINT["coupler"] + x}), S
    if mechanism == "slider-crank":
        return slider_crank(1.0 + x), np.array([[1, 0], [1, 1]])
    return sarrus(), np.array([[1, 0], [1, 1]])


def rungs(loops, x):
    """Lengths of the couplers of a ladder: x, and for each another multiple of it, longer or shorter than one."""
    return tuple(1.0 + x * (1.0, -0.5, 0.75, -0.25, 0.5)[k] for k in range(loops))


def singular(mechanism):
    """A singular position in absolute coordinates."""
    straight = np.array([np.pi, 0.0, 0.0, np.pi])
    if mechanism == "3-RRR":  # all legs stretched, through the centre of the platform, which is turned by half a turn
        return np.array([*np.repeat(LEGS + np.pi, 2), np.pi])
    return np.array([*straight, 0.0]) if mechanism == "five-bar on a slide" else straight


def beside(mechanism, miss, seed, speed, before, after):
    """A case that passes the singular position at about that distance, with a seeded direction and velocity."""
    rng = np.random.default_rng(seed)
    x = float(np.pi + miss - RATE * before) if mechanism == "driven five-bar" else 0.0
    model, S = made(mechanism, x)
    aside, v = rng.standard_normal((2, model.n))
    q = singular(mechanism) + miss * aside / np.linalg.norm(aside)
    t = exact(before)[()]
    q, v = model.on_manifold(exact(q), exact(v), t)
    if mechanism != "driven five-bar":
        v = v * exact(speed / np.linalg.norm(v.astype(float)))[()]
    q, v, _ = model.integrate(q, v, -before, before)
    back = exact(np.round(np.linalg.inv(S)).astype(int))
    return finished(mechanism, x, miss, (back @ q).astype(float), (back @ v).astype(float), before + after)


def finished(mechanism, x, miss, q, v, duration):
    """The case that starts with these joint coordinates, doubles as they are, with what follows."""
    model, S = made(mechanism, x)
    S = exact(S)
    back = exact(np.round(np.linalg.inv(S.astype(float))).astype(int))
    end_q, end_v, steps = model.integrate(S @ exact(q), S @ exact(v), duration)
    return {
        "mechanism": mechanism, "x": x, "miss": miss, "q": list(map(float, q)), "v": list(map(float, v)),
        "duration": duration, "end_q": (back @ end_q).astype(float).tolist(),
        "end_v": (back @ end_v).astype(float).tolist(),
        "passages": model.passages(steps), "steps": len(steps),
    }  # fmt: skip


def with_neighbour(case):
    """The case, and where a start beside its own leads to: on one side of it or on the other, whichever is farther."""
    model, S = made(case["mechanism"], case["x"])
    back, aside, ends = (
        exact(np.round(np.linalg.inv(S)).astype(int)),
        np.random.default_rng(7).standard_normal(model.n),
        [],
    )
    q0, v0 = exact(S) @ exact(case["q"]), exact(S) @ exact(case["v"])
    moved = model.on_manifold(q0 + exact(NEIGHBOUR * aside), v0)[0] - q0  # along the manifold
    moved = moved * exact(NEIGHBOUR)[()] / max(abs(x) for x in moved)
    for side in (1, -1):
        q, v = model.on_manifold(q0 + side * moved, v0)
        ends.append((back @ model.integrate(q, v, case["duration"])[0]).astype(float))
    end = max(ends, key=lambda e: float(np.abs(e - case["end_q"]).max()))
    return {**case, "neighbour": end.tolist()}


def table():
    """All cases, one after the other."""
    for k, miss in enumerate(MISSES):
        for seed, speed in ((3 * k, 1.0), (3 * k + 1, 6.0), (3 * k + 2, 2.5)):
            yield beside("five-bar", miss, seed, speed, 0.6 / speed, 0.6 / speed)
        yield beside("five-bar on a slide", miss, 100 + k, 2.0, 0.25, 0.25)
        yield beside("3-RRR", miss, 200 + k, 2.0, 0.25, 0.25)
        yield beside("driven five-bar", miss * (-1) ** k, 300 + k, 0.0, 0.2, 0.2)
    flat = np.pi / 2
    for x in (0.0, *LONGER):
        for loops in LADDERS:
            if x in LADDERS[loops]:
                yield started(f"ladder {loops}", x, [flat] + [-flat, flat] * loops, 0, -1.0, 0.9 if loops == 5 else 1.0)
        yield started("four-bar", x, change_point(CHANGE_POINT["coupler"] + x), 0, -3.0, 0.6)
        if x in SLIDERS:
            yield started("slider-crank", x, [0.5, -1.0], 0, 5.0, 0.5)
    yield started("sarrus", 0.0, [0.7, np.pi - 1.4], 0, -2.0, 0.6)


def change_point(coupler, angle=0.8):
    """Joint angles of the change-point four-bar with its crank at an angle."""
    a, c, d = CHANGE_POINT["crank"], CHANGE_POINT["rocker"], CHANGE_POINT["ground"]
    B = a * np.exp(1j * angle)
    gap = d - B
    inner = np.arccos((coupler**2 + abs(gap) ** 2 - c**2) / (2 * coupler * abs(gap)))
    C = B + coupler * np.exp(1j * (np.angle(gap) + inner))
    return [angle, np.angle(C - B) - angle, np.angle(C - d)]


def started(mechanism, x, q, leader, speed, duration):
    """The case that starts near joint coordinates q, on the manifold, with a speed of one of them."""
    model, S = made(mechanism, x)
    back = exact(np.round(np.linalg.inv(S)).astype(int))
    v = np.zeros(model.n)
    q, _ = model.on_manifold(exact(S) @ exact(q), exact(v))
    A = model.A(model.J(model.features(q))).astype(float) @ S
    rest = [i for i in range(model.n) if i != leader]
    v[leader] = speed
    v[rest] = np.linalg.lstsq(A[:, rest], -A[:, leader] * speed, rcond=None)[0]
    return finished(mechanism, x, x, (back @ q).astype(float), v, duration)


if __name__ == "__main__":
    import json
    import sys
    from pathlib import Path

    cases = []
    for case in table():
        if 0.0 < abs(case["miss"]) < 2e-9 and case["x"] != case["miss"]:
            case = with_neighbour(case)
        cases.append(case)
        print(case["mechanism"], case["miss"], case["steps"], case["passages"], file=sys.stderr, flush=True)
        text = ",\n".join(json.dumps(c) for c in cases)
        Path(__file__).with_name("near_misses.json").write_text(f"[\n{text}\n]\n")
