"""Trajectories: functions of time with value, rate and acceleration, compiled like everything that is called often.

A trajectory is a CasADi expression of t. Polynomials, splines and trapezoids are piecewise polynomials, which are
expressions too: the piece is selected, not branched to. Before its start a trajectory stays at its first value, after
its end at its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import factorial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import array, function, number, vector
from dalembert.errors import ArgumentError, unknown


class Trajectory:
    """Values of time, (n,), with their first two derivatives: `value, rate, acceleration = trajectory(t)`.

    motion: a function of the CasADi symbol t that returns n expressions; names: of the n values, if they have any;
    span: (start, end) in s, for planning and plots. The derivatives are exact.

    >>> import casadi as ca
    >>> circle = Trajectory(lambda t: [0.1 * ca.cos(t), 0.1 * ca.sin(t)], ["x", "y"])
    >>> position, speed, _ = circle(0.5)
    >>> bool(abs(position @ speed) < 1e-15)                                  # perpendicular
    True
    """

    def __init__(
        self, motion: Callable[[ca.SX], Any], names: Sequence[str] = (), span: tuple[float, float] = (0.0, np.inf)
    ):
        t = ca.SX.sym("t")
        given = function(motion, "the motion")(t)
        x = ca.densify(ca.SX(given) if isinstance(given, (ca.SX, ca.DM, int, float)) else ca.vertcat(*given))
        if x.shape[1] != 1:
            raise ArgumentError(f"the motion has shape {x.shape}; needed: a column of expressions of t.")
        rate = ca.densify(ca.jacobian(x, t))
        self.names, self.n, self.span = tuple(names), x.shape[0], span
        self._check_names()
        self.function = ca.Function("trajectory", [t], [x, rate, ca.densify(ca.jacobian(rate, t))])

    def _check_names(self) -> None:
        if self.names and len(self.names) != self.n:
            raise ArgumentError(f"the trajectory has {self.n} values and {len(self.names)} names; needed: one each.")

    @cached_property
    def kernel(self) -> Any:
        """The compiled function of t: value, rate, acceleration."""
        from dalembert.compiler import Kernel

        return Kernel(self.function, shapes=[(self.n,)] * 3)

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.kernel(float(t))

    def sampled(self, times: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(N, n) each, at N times."""
        return self.kernel.batch(np.asarray(times, dtype=float).reshape(-1, 1))

    def ordered(self, names: Sequence[str]) -> Trajectory:
        """The same with its values in the order of names; one without names is taken as it is."""
        if not self.names:
            if self.n != len(names):
                raise ArgumentError(f"the trajectory has {self.n} values; needed: {len(names)}, {', '.join(names)}.")
            return self
        for name in self.names:
            if name not in names:
                raise unknown("row", name, names, "the trajectory")
        missing = [name for name in names if name not in self.names]
        if missing:
            raise ArgumentError(f"the trajectory says nothing of '{missing[0]}'; needed: {', '.join(names)}.")
        if tuple(names) == self.names:
            return self
        order = [self.names.index(name) for name in names]
        return Trajectory(lambda t: self.function(t)[0][order], names, self.span)

    def __repr__(self) -> str:
        return f"<trajectory of {', '.join(self.names) or self.n} from {self.span[0]:g} to {self.span[1]:g} s>"


def constant(value: Any) -> Trajectory:
    """Stay at a value, an array or by name."""
    names, x = _vector(value)
    return Trajectory(lambda t: ca.SX(x) + 0 * t, names)


def quintic(start: Any, end: Any, duration: float, *, at: float = 0.0) -> Trajectory:
    """From rest to rest by a polynomial of degree five; start and end are arrays or by name, `at` the time of start.

    >>> move = quintic({"A": 0.0}, {"A": 1.0}, duration=2.0)
    >>> value, rate, acceleration = move(1.0)
    >>> float(value[0]), float(rate[0]), float(acceleration[0])
    (0.5, 0.9375, 0.0)
    """
    names, a, b = _pair(start, end)
    at = number(at, "at")
    d, T = b - a, _positive(duration, "the duration")
    zero = np.zeros_like(a)
    return piecewise([at, at + T], np.array([[a, zero, zero, 10 * d / T**3, -15 * d / T**4, 6 * d / T**5]]), names)


def trapezoid(start: Any, end: Any, *, speed: Any, acceleration: Any, at: float = 0.0) -> Trajectory:
    """From rest to rest with constant acceleration, speed and deceleration; all values begin and end together.

    speed and acceleration: limits, one number or one a value. The slowest value decides the duration; the others keep
    its profile. Accelerations jump.

    >>> move = trapezoid([0.0], [1.0], speed=1.0, acceleration=2.0)
    >>> value, rate, acceleration = move(0.5)
    >>> move.span, float(rate[0])
    ((0.0, 1.5), 1.0)
    """
    names, a, b = _pair(start, end)
    at = number(at, "at")
    d = b - a
    reach = np.where(d == 0.0, np.nan, np.abs(d))
    v = float(np.nanmin(np.broadcast_to(_positive(speed, "the speed"), d.shape) / reach, initial=np.inf))
    w = float(np.nanmin(np.broadcast_to(_positive(acceleration, "the acceleration"), d.shape) / reach, initial=np.inf))
    if not np.isfinite(v):
        raise ArgumentError("a trapezoid needs start and end to differ; use control.constant.")
    v = min(v, np.sqrt(w))  # of a path from 0 to 1, perhaps without cruising
    ramp, cruise = v / w, 1.0 / v - v / w
    zero, breaks = np.zeros_like(a), np.cumsum([at, ramp, cruise, ramp])
    pieces = [
        [a, zero, w / 2 * d],
        [a + w / 2 * ramp**2 * d, v * d, zero],
        [b - w / 2 * ramp**2 * d, v * d, -w / 2 * d],
    ]
    keep = [0, 1, 2] if cruise > 1e-12 * ramp else [0, 2]
    ends = [breaks[0], *(breaks[k + 1] for k in keep)]
    return piecewise(ends, np.array([pieces[k] for k in keep]), names)


def waypoints(times: Any, points: Any, *, degree: int = 5) -> Trajectory:
    """A spline through points, at rest at both ends; degree 3 (continuous acceleration) or 5 (also its rate, and no
    acceleration at the ends).

    points: (N, n), or by name N values each.

    >>> path = waypoints([0, 1, 2], {"A": [0.0, 1.0, 0.5]})
    >>> value, rate, acceleration = path(1.0)
    >>> float(value[0].round(12))
    1.0
    """
    from scipy.interpolate import make_interp_spline

    if degree not in (3, 5):
        raise ArgumentError(f"the degree is {degree}; needed: 3 or 5.")
    T = vector(times, None, "times")
    names = tuple(points) if isinstance(points, Mapping) else ()
    if isinstance(points, Mapping):
        X = np.column_stack([vector(x, len(T), f"the points of '{name}'") for name, x in points.items()])
    else:
        X = array(points, None, "points")
    X = X[:, None] if X.ndim == 1 else X
    if T.ndim != 1 or len(T) < 2 or len(T) != len(X) or np.any(np.diff(T) <= 0):
        raise ArgumentError(f"there are {T.size} times for {len(X)} points; needed: as many, increasing, at least two.")
    still = np.zeros(X.shape[1])
    ends = [(k, still) for k in range(1, (degree + 1) // 2)]
    spline = make_interp_spline(T, X, k=degree, bc_type=(ends, ends))
    c = np.array([spline(T[:-1], nu=k) / factorial(k) for k in range(degree + 1)])
    return piecewise(T, c.transpose(1, 0, 2), names)


def piecewise(breaks: Any, coefficients: Any, names: Sequence[str] = ()) -> Trajectory:
    """Polynomials between breaks: coefficients (pieces, powers rising, n) of t less the piece's beginning."""
    b, c = vector(breaks, None, "breaks"), array(coefficients, (None, None, None), "coefficients")
    if len(b) != len(c) + 1 or np.any(np.diff(b) <= 0):
        raise ArgumentError(f"there are {len(b)} breaks for {len(c)} pieces; needed: one more, increasing.")
    s = b[-1] - b[-2]
    last = np.zeros_like(c[:1])
    last[0, 0] = sum(c[-1, k] * s**k for k in range(c.shape[1]))
    first = np.zeros_like(c[:1])
    first[0, 0] = c[0, 0]
    pieces, begins = np.concatenate([first, c, last]), np.append(b[0], b)

    def motion(t: ca.SX) -> ca.SX:
        chosen, begin = ca.SX(pieces[0]), ca.SX(begins[0])
        for k in range(1, len(pieces)):
            later = t >= begins[k]
            chosen = ca.if_else(later, pieces[k], chosen)
            begin = ca.if_else(later, begins[k], begin)
        x = chosen[-1, :]
        for k in range(chosen.shape[0] - 2, -1, -1):
            x = x * (t - begin) + chosen[k, :]
        return x.T

    return Trajectory(motion, names, (float(b[0]), float(b[-1])))


def _vector(value: Any) -> tuple[tuple[str, ...], np.ndarray]:
    if isinstance(value, Mapping):
        return tuple(value), np.array([number(x, f"the value of '{name}'") for name, x in value.items()])
    return (), vector(np.atleast_1d(array(value, None, "the value")), None, "the value")


def _pair(start: Any, end: Any) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    names, a = _vector(start)
    if isinstance(end, Mapping) and names and set(end) == set(names):
        end = {name: end[name] for name in names}
    others, b = _vector(end)
    if names != others or a.shape != b.shape:
        raise ArgumentError(f"start is of {list(names) or a.shape}, end of {list(others) or b.shape}; needed: alike.")
    return names, a, b


def _positive(x: Any, what: str) -> Any:
    value = array(x, None, what)
    if not np.all(value > 0):
        raise ArgumentError(f"{what} is {x}; needed: positive.")
    return value if value.shape else float(value)
