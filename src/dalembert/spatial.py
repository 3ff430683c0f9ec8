"""Rigid motions, twists and wrenches: SE(3), Ad, ad, exp, log, inertias. One implementation for numbers and symbols.

Conventions (Spencer, appendix A.1): twist V = (ω; v) and wrench F = (moment; force), angular part first; T_AB = (R, p)
maps coordinates in B to A; V and F are expressed in the moving frame. Everything works on float arrays and on the
traced object arrays of `dalembert.symbols`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.symbols import Scalar, all_numbers, atan2, cos, element, eye, sin, snap, sqrt, where_less, zeros
from dalembert.symbols import array as traced

_EPS = float(np.finfo(float).eps)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a × b of 3-vectors, or of a and every column of b."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(w: np.ndarray) -> np.ndarray:
    """The matrix [w] with [w] x = w × x."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]], dtype=w.dtype)


def congruence(R: np.ndarray, J: np.ndarray) -> np.ndarray:
    """R J Rᵀ for symmetric J, computed once and mirrored."""
    RJ = R @ J
    out = np.empty_like(RJ)
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = RJ[i] @ R[j]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Transform:
    """T_AB = (R, p): x_A = R x_B + p.

    >>> T = Transform(rotation("z", np.pi / 2), np.array([1.0, 0.0, 0.0]))
    >>> np.round((T @ T).matrix(), 12)[:3, 3]
    array([1., 1., 0.])
    """

    R: np.ndarray  # (3, 3) rotation
    p: np.ndarray  # (3,) position of B's origin in A

    @staticmethod
    def identity() -> Transform:
        """The motion that moves nothing."""
        return Transform(eye(3), zeros(3))

    def __matmul__(self, other: Transform) -> Transform:
        return Transform(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Transform:
        """T_BA."""
        return Transform(self.R.T, -(self.R.T @ self.p))

    def matrix(self) -> np.ndarray:
        """The homogeneous (4, 4) matrix."""
        T = np.concatenate([np.column_stack([self.R, self.p]), [[0.0, 0.0, 0.0, 1.0]]])
        return T if self.R.dtype == object else T.astype(float)


def Ad(T: Transform) -> np.ndarray:
    """The (6, 6) matrix that carries twists from B to A: [[R, 0], [[p]R, R]] (Spencer A.1.4)."""
    return np.block([[T.R, np.zeros((3, 3))], [skew(T.p) @ T.R, T.R]])


def ad(V: np.ndarray) -> np.ndarray:
    """The (6, 6) matrix of the Lie bracket: ad(V) W = [[ω]ω', [v]ω' + [ω]v'] (Spencer A.1.4)."""
    w, v = skew(V[:3]), skew(V[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def bracket(V: np.ndarray, W: np.ndarray) -> np.ndarray:
    """ad(V) W without forming the matrix; W a vector or columns."""
    w = V[:3]
    return np.concatenate([cross(w, W[:3]), cross(V[3:], W[:3]) + cross(w, W[3:])])


def bracket_dual(V: np.ndarray, F: np.ndarray) -> np.ndarray:
    """ad(V)ᵀ F without forming the matrix."""
    w, v = V[:3], V[3:]
    return np.concatenate([-cross(w, F[:3]) - cross(v, F[3:]), -cross(w, F[3:])])


class AdInverse:
    """X = Ad(T⁻¹): `X @ V` carries twists from A to B, `X.T @ F` carries wrenches from B to A; nothing is formed.

    X V = (Rᵀω; Rᵀ(v − p × ω)) and Xᵀ F = (R m + p × (R f); R f): 24 products where the matrix needs 45.
    """

    __slots__ = ("R", "p")

    def __init__(self, T: Transform):
        self.R, self.p = T.R, T.p

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        w, Rt = V[:3], self.R.T
        return np.concatenate([Rt @ w, Rt @ (V[3:] - cross(self.p, w))])

    @property
    def T(self) -> AdInverseDual:
        """The transpose, which carries wrenches the other way."""
        return AdInverseDual(self.R, self.p)


class AdInverseDual:
    """Xᵀ of `AdInverse`."""

    __slots__ = ("R", "p")

    def __init__(self, R: np.ndarray, p: np.ndarray):
        self.R, self.p = R, p

    def __matmul__(self, F: np.ndarray) -> np.ndarray:
        f = self.R @ F[3:]
        return np.concatenate([self.R @ F[:3] + cross(self.p, f), f])


@dataclass(frozen=True, slots=True, eq=False)
class RigidInertia:
    """Inertia of a rigid body about a frame's origin: mass m, first moment h = m c, second moment J (3, 3).

    As a (6, 6) matrix it is [[J, [h]], [−[h], m]] (Spencer A.2.4).
    """

    m: Any
    h: np.ndarray
    J: np.ndarray

    @staticmethod
    def zero() -> RigidInertia:
        """The inertia of nothing."""
        return RigidInertia(0.0, zeros(3), zeros(3, 3))

    @staticmethod
    def at_center(m: Any, c: np.ndarray, Jc: np.ndarray) -> RigidInertia:
        """From the inertia Jc about the centre of mass c: J = Jc − m [c][c] (parallel axes)."""
        C = skew(c)
        return RigidInertia(m, m * c, Jc - m * (C @ C))

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.m + other.m, self.h + other.h, self.J + other.J)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        w, v = V[:3], V[3:]
        return np.concatenate([self.J @ w + cross(self.h, v), self.m * v - cross(self.h, w)])

    def seen_from(self, T: Transform) -> RigidInertia:
        """The same body about the origin of A, where T = T_AB and self is given in B: Xᵀ I X with X = Ad(T⁻¹).

        h_A = R h + m p,  J_A = R J Rᵀ − [p][R h] − [h_A][p]
        """
        Rh = T.R @ self.h
        h = Rh + self.m * T.p
        P = skew(T.p)
        shift = P @ skew(Rh) + skew(h) @ P
        J = congruence(T.R, self.J)
        for i in range(3):
            for j in range(i, 3):
                J[i, j] = J[j, i] = J[i, j] - shift[i, j]
        return RigidInertia(self.m, h, J)

    def matrix(self) -> np.ndarray:
        """The (6, 6) matrix."""
        H = skew(self.h)
        return np.block([[self.J, H], [-H, self.m * eye(3)]])


def axis_rotation(axis: int, angle: Any) -> np.ndarray:
    """The rotation about coordinate axis 0, 1 or 2, with exact zeros."""
    c, s = cos(angle), sin(angle)
    R = eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[j, j] = R[k, k] = c
    R[j, k], R[k, j] = -s, s
    return R


def rotation(axis: Any, angle: Any) -> Any:
    """The rotation matrix about an axis ("x", "y", "z", "-x", … or three numbers) by an angle in radians.

    The angle and the numbers of the axis may be parameters.

    >>> np.round(rotation("x", np.pi / 2) @ [0, 1, 0], 12)
    array([0., 0., 1.])
    """
    n, a = axis_vector(axis, "the axis of a rotation"), _angle(angle)
    for k in range(3):
        if not isinstance(n[k], Scalar) and abs(n[k]) == 1.0:
            R = axis_rotation(k, n[k] * a)
            break
    else:
        K = skew(n.astype(object))
        R = eye(3) + sin(a) * K + (1 - cos(a)) * (K @ K)
    R = snap(R, scale=1.0)
    return R.astype(float) if all_numbers(R) else R


def _angle(angle: Any) -> Any:
    if isinstance(angle, (ca.SX, Scalar)):
        if isinstance(angle, ca.SX) and angle.numel() != 1:
            raise DescriptionError(f"the angle of a rotation is {angle.numel()} expressions; needed: one.")
        return element(angle)
    return checks.number(angle, "the angle of a rotation", error=DescriptionError)


def axis_vector(axis: Any, what: str) -> np.ndarray:
    """The unit vector of "x", "-y", …, of three numbers, or of three expressions of parameters (then traced)."""
    if isinstance(axis, str):
        letter, length = axis.removeprefix("-"), -1.0 if axis.startswith("-") else 1.0
        if letter not in ("x", "y", "z"):
            raise DescriptionError(f"{what} is '{axis}'; needed: 'x', 'y', 'z', '-x', '-y', '-z' or three numbers.")
        return np.array([length if k == letter else 0.0 for k in "xyz"])
    if _holds_symbols(axis):
        return _traced_axis(axis, what)
    n = checks.vector(axis, 3, what, error=DescriptionError)
    size = float(np.abs(n).max())
    if size == 0.0:
        raise DescriptionError(f"{what} is (0, 0, 0), which has no direction; give a non-zero vector or a letter.")
    if not 1e-150 < size < 1e150:  # a square would overflow or vanish
        n = n / size
    return unit(n)


def _traced_axis(axis: Any, what: str) -> np.ndarray:
    n = traced(axis)
    if n.shape != (3,):
        raise DescriptionError(f"{what} has shape {n.shape}; needed: three numbers or expressions.")
    return n / sqrt(n @ n)


def unit(x: np.ndarray) -> np.ndarray:
    """x / ‖x‖; what has unit length within rounding stays as it is, so that doing it twice changes nothing."""
    length = float(np.linalg.norm(x))
    return x if abs(length - 1.0) <= 4 * _EPS else x / length


def _holds_symbols(x: Any) -> bool:
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.dtype == object):
        return any(_holds_symbols(e) for e in (x.ravel() if isinstance(x, np.ndarray) else x))
    return isinstance(x, (ca.SX, Scalar))


# --- quaternions (w, x, y, z), unit, R(q) maps body to parent -----------------------------------------------------


def quaternion_matrix(q: np.ndarray) -> np.ndarray:
    """R(q) of a unit quaternion."""
    w, x, y, z = q
    xx, yy, zz, wx, wy, wz = 2 * x * x, 2 * y * y, 2 * z * z, 2 * w * x, 2 * w * y, 2 * w * z
    xy, xz, yz = 2 * x * y, 2 * x * z, 2 * y * z
    return np.array(
        [
            [1 - yy - zz, xy - wz, xz + wy],
            [xy + wz, 1 - xx - zz, yz - wx],
            [xz - wy, yz + wx, 1 - xx - yy],
        ]
    )


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a ∘ b: the rotation b, then a."""
    va, vb = a[1:], b[1:]
    return np.concatenate([[a[0] * b[0] - va @ vb], a[0] * vb + b[0] * va + cross(va, vb)])


def quaternion_rate(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """q̇ = ½ q ∘ (0, ω) for the angular velocity ω in body axes."""
    return quaternion_product(q, np.concatenate([[0.0], 0.5 * w]))


_SMALL = 1e-6  # of θ²: below it three terms of a series are exact to rounding


def quaternion_exp(phi: np.ndarray) -> np.ndarray:
    """The unit quaternion of the rotation vector φ: (cos θ/2, φ sin(θ/2)/θ), θ = ‖φ‖."""
    n2 = phi @ phi
    half = 0.5 * sqrt(where_less(n2, _SMALL, lambda: 1.0, lambda: n2))  # the root of 0 has no derivative
    c = where_less(n2, _SMALL, lambda: 1 - n2 / 8 + n2 * n2 / 384, lambda: cos(half))
    k = where_less(n2, _SMALL, lambda: 0.5 - n2 / 48 + n2 * n2 / 3840, lambda: sin(half) / (2 * half))
    return np.concatenate([[c], k * phi])


def quaternion_log(q: np.ndarray) -> np.ndarray:
    """The rotation vector of a unit quaternion, ‖φ‖ ≤ π: φ = 2 atan2(‖x‖, w) x/‖x‖, of q or −q, whichever has w ≥ 0."""
    w, x = q[0], q[1:]
    sign = where_less(w, 0.0, lambda: -1.0, lambda: 1.0)
    w, x = sign * w, sign * x
    s2 = x @ x
    s = sqrt(where_less(s2, _SMALL, lambda: 1.0, lambda: s2))  # the root of 0 has no derivative
    # near zero: 2 asin(s)/s = 2 (1 + s²/6 + 3s⁴/40)
    k = where_less(s2, _SMALL, lambda: 2 + s2 / 3 + 3 * s2 * s2 / 20, lambda: 2 * atan2(s, w) / s)
    return k * x


def rotation_quaternion(R: np.ndarray) -> np.ndarray:
    """The unit quaternion of a rotation matrix, w ≥ 0, traced or numeric (Shepperd: divide by the largest of four).

    With d = (w, x, y, z) squared from the trace and the diagonal, the row of 4 q qᵀ with the largest diagonal is used.
    """
    t = R[0, 0] + R[1, 1] + R[2, 2]
    d = [1 + t, 1 + 2 * R[0, 0] - t, 1 + 2 * R[1, 1] - t, 1 + 2 * R[2, 2] - t]  # 4 w², 4 x², 4 y², 4 z²
    a = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])  # 4 w (x, y, z)
    b = np.array([R[2, 1] + R[1, 2], R[0, 2] + R[2, 0], R[1, 0] + R[0, 1]])  # 4 (yz, xz, xy)
    rows = [[d[0], *a], [a[0], d[1], b[2], b[1]], [a[1], b[2], d[2], b[0]], [a[2], b[1], b[0], d[3]]]
    best, largest = rows[0], d[0]
    for row, size in zip(rows[1:], d[1:]):
        best = [_of_larger(size, largest, x, y) for x, y in zip(row, best)]
        largest = _of_larger(size, largest, size, largest)
    sign = where_less(best[0], 0.0, lambda: -1.0, lambda: 1.0)
    return np.array(best, dtype=object) * (sign * 0.5 / sqrt(largest))


def _of_larger(a: Any, b: Any, x: Any, y: Any) -> Any:
    """x where a > b, else y."""
    return where_less(b - a, 0.0, lambda: x, lambda: y)


def matrix_quaternion(R: np.ndarray) -> np.ndarray:
    """Unit quaternion (4,) of a numeric rotation matrix (3, 3)."""
    q = rotation_quaternion(np.asarray(R, dtype=float)).astype(float)
    return q / np.linalg.norm(q)


# --- exponential of twists ------------------------------------------------------------------------------------------


def _translation_factors(n2: Any) -> tuple[Any, Any]:
    """(1 − cos θ)/θ² and (θ − sin θ)/θ³ with θ² = n2."""
    th = where_less(n2, _SMALL, lambda: 1.0, lambda: sqrt(n2))
    # 1 − cos θ = 2 sin²(θ/2), which does not cancel
    a = where_less(n2, _SMALL, lambda: 0.5 - n2 / 24 + n2 * n2 / 720, lambda: 2 * sin(0.5 * th) ** 2 / n2)
    b = where_less(n2, _SMALL, lambda: 1 / 6 - n2 / 120 + n2 * n2 / 5040, lambda: (th - sin(th)) / (n2 * th))
    return a, b


def exp_translation(xi: np.ndarray) -> np.ndarray:
    """The position part of exp(ξ), ξ = (φ; ρ): ρ + a φ×ρ + b φ×(φ×ρ).

    Spencer A.1.3 with the misprint mended: the [φ]² term divides by ‖φ‖³.
    """
    phi, rho = xi[:3], xi[3:]
    a, b = _translation_factors(phi @ phi)
    u = cross(phi, rho)
    return rho + a * u + b * cross(phi, u)


def log_translation(phi: np.ndarray, p: np.ndarray) -> np.ndarray:
    """ρ with exp_translation((φ; ρ)) = p: ρ = p − ½ φ×p + (1 − ½θ cot ½θ)/θ² φ×(φ×p)."""
    n2 = phi @ phi
    th = where_less(n2, _SMALL, lambda: 1.0, lambda: sqrt(n2))
    half = 0.5 * th
    k = where_less(n2, _SMALL, lambda: 1 / 12 + n2 / 720, lambda: (1 - half * cos(half) / sin(half)) / n2)
    u = cross(phi, p)
    return p - 0.5 * u + k * cross(phi, u)


def exp(xi: np.ndarray) -> Transform:
    """The rigid motion exp(ξ) of the twist ξ = (φ; ρ).

    >>> T = exp(np.array([0, 0, np.pi / 2, 1.0, 0, 0]))
    >>> np.round(T.p * np.pi / 2, 12)                          # a quarter circle of length 1
    array([1., 1., 0.])
    """
    xi = np.asarray(xi) if np.asarray(xi).dtype == object else np.asarray(xi, dtype=float)
    return Transform(quaternion_matrix(quaternion_exp(xi[:3])), exp_translation(xi))


def log(T: Transform) -> np.ndarray:
    """The twist ξ with exp(ξ) = T, for a numeric T; ‖φ‖ ≤ π."""
    phi = quaternion_log(matrix_quaternion(T.R))
    return np.concatenate([phi, log_translation(phi, T.p)]).astype(float)
