"""Curves through tables: laws of one variable for springs, dampers, bushings, roads and whatever else is a function."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.motions import polynomials
from dalembert.mechanism.values import Defaults, is_exact_zero
from dalembert.symbols import Scalar, element, element_sx

BEYOND = ("linear", "constant")


class Curve:
    """A function y(x) through a table.

    x: (N,), increasing; y: (N,). smooth: False, straight lines between the points, where adaptive steps end; True,
    a cubic Hermite spline with a continuous derivative that keeps the table's rises and falls (PCHIP, Fritsch and
    Butland). beyond: "linear" goes on with the slope at the ends, "constant" keeps the values there.

    In place of a stiffness y is the force (N, N m) over the deflection (m, rad), in place of a damping the force over
    the speed. Called with a CasADi expression it gives one, so force laws and constraints may use it.

    >>> import dalembert as da
    >>> bump = da.Curve([-0.1, -0.02, 0.02, 0.1], [-900, -100, 100, 900])       # stiff beyond 2 cm
    >>> bump.at(0.01), bump.at([0.03, 0.2])
    (50.0, array([ 200., 1900.]))
    """

    def __init__(self, x: ArrayLike, y: ArrayLike, smooth: bool = False, beyond: str = "linear"):
        what = "a curve"
        X = checks.vector(x, None, f"x of {what}", error=DescriptionError)
        Y = checks.vector(y, None, f"y of {what}", error=DescriptionError)
        if len(X) != len(Y) or len(X) < 2 or np.any(np.diff(X) <= 0):
            raise DescriptionError(
                f"{what} has {len(X)} x and {len(Y)} y; needed: as many of both, at least two, x increasing."
            )
        self.smooth = checks.flag(smooth, f"smooth of {what}", error=DescriptionError)
        self.beyond = checks.choice(beyond, BEYOND, f"beyond of {what}", error=DescriptionError)
        self.x, self.y = X.copy(), Y.copy()

    def _pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """(begins, coefficients (pieces, powers, 1), powers rising), those before and after the table included."""
        h, rise = np.diff(self.x), np.diff(self.y)
        m = _slopes(h, rise / h) if self.smooth else np.zeros(len(self.x))
        c = np.zeros((len(h) + 2, 4))
        c[1:-1, 0] = self.y[:-1]
        if self.smooth:
            c[1:-1, 1], c[1:-1, 2] = m[:-1], (3 * rise / h - 2 * m[:-1] - m[1:]) / h
            c[1:-1, 3] = (m[:-1] + m[1:] - 2 * rise / h) / h**2
            ends = m[0], m[-1]
        else:
            c[1:-1, 1] = rise / h
            ends = rise[0] / h[0], rise[-1] / h[-1]
        c[0, 0], c[-1, 0] = self.y[0], self.y[-1]
        if self.beyond == "linear":
            c[0, 1], c[-1, 1] = ends
        return np.append(self.x[0], self.x), c[:, : 4 if self.smooth else 2, None]

    def __call__(self, x: Any) -> ca.SX:
        """y at x, an expression."""
        return polynomials(ca.SX(x), *self._pieces())

    def slope(self, x: Any) -> ca.SX:
        """dy/dx at x, an expression."""
        begins, c = self._pieces()
        return polynomials(ca.SX(x), begins, c[:, 1:] * np.arange(1, c.shape[1])[:, None])

    def integral(self, x: Any) -> ca.SX:
        """∫ y from 0 to x, an expression."""
        begins, c = self._pieces()
        powers = np.arange(1, c.shape[1] + 1)
        C = np.concatenate([np.zeros_like(c[:, :1]), c / powers[:, None]], axis=1)
        for k in range(2, len(C)):  # each piece goes on where the one before ends; the first two begin at one x
            C[k, 0] = np.polynomial.polynomial.polyval(begins[k] - begins[k - 1], C[k - 1, :, 0])
        at_zero = float(ca.evalf(polynomials(ca.SX(0.0), begins, C)))
        C[:, 0] -= at_zero
        return polynomials(ca.SX(x), begins, C)

    def at(self, x: ArrayLike) -> Any:
        """The number y at a number x, or an array of them."""
        X = checks.array(x, None, "x")
        f = ca.Function("curve", [t := ca.SX.sym("t")], [self(t)])
        out = np.array(f(X.ravel()[None])).reshape(X.shape)
        return float(out) if out.ndim == 0 else out

    @property
    def breaks(self) -> list[float]:
        """Where its slope jumps."""
        slopes = self._pieces()[1][:, 1, 0]
        return [] if self.smooth and self.beyond == "linear" else [
            float(b) for b, one, other in zip(self.x, slopes, slopes[1:])
            if (one != other and not self.smooth) or (self.smooth and b in (self.x[0], self.x[-1]))
        ]  # fmt: skip

    def __repr__(self) -> str:
        kind = "smooth" if self.smooth else "straight"
        return f"<curve of {len(self.x)} points from {self.x[0]:g} to {self.x[-1]:g}, {kind}>"


def _slopes(h: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Slopes at the points of a shape-preserving spline: Fritsch and Butland's weighted harmonic means inside."""
    if len(h) == 1:
        return np.array([d[0], d[0]])
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    same = d[:-1] * d[1:] > 0
    one, other = np.where(same, d[:-1], 1.0), np.where(same, d[1:], 1.0)
    inner = np.where(same, (w1 + w2) / (w1 / one + w2 / other), 0.0)
    return np.concatenate([[_end(h[0], h[1], d[0], d[1])], inner, [_end(h[-1], h[-2], d[-1], d[-2])]])


def _end(h0: float, h1: float, d0: float, d1: float) -> float:
    """The slope at an end by a parabola through three points, cut where it would break the shape."""
    m = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)
    if m * d0 <= 0:
        return 0.0
    return 3 * d0 if d0 * d1 < 0 and abs(m) > 3 * abs(d0) else m


# --- laws: a number k is the law k x ----------------------------------------------------------------------------------

Law = Any  # a float or a Scalar, k in y = k x, or a Curve


def law_of(parameters: Defaults, given: Any, what: str) -> Law:
    """A law as users give it: a number, an expression of parameters, a `Curve`, or a table (x, y)."""
    if isinstance(given, Curve):
        return given
    if isinstance(given, tuple) and len(given) == 2 and all(np.ndim(x) == 1 and len(x) > 1 for x in given):
        return Curve(*given)
    return parameters.scalar(given, what)


def response(law: Law, x: Any) -> Any:
    """y(x)."""
    return element(law(element_sx(x))) if isinstance(law, Curve) else law * x


def stored(law: Law, x: Any) -> Any:
    """∫ y from 0 to x."""
    return element(law.integral(element_sx(x))) if isinstance(law, Curve) else 0.5 * law * x * x


def corners(law: Law, x: Any) -> list[Any]:
    """Numbers that change their sign where y is not smooth."""
    return [x - b for b in law.breaks] if isinstance(law, Curve) and isinstance(x, Scalar) else []


def is_nothing(law: Law) -> bool:
    """Whether a law is the number 0."""
    return not isinstance(law, Curve) and is_exact_zero(law)
