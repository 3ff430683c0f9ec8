"""Trajectories: compiled functions of time with value, rate and acceleration.

A trajectory is a CasADi expression of t. Polynomials, splines and trapezoids are piecewise polynomials, which are
expressions too: the piece is selected, not branched to. Before its start a trajectory stays at its first value, after
its end at its last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import factorial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.checks import array, function, number, shown, vector, whole
from dalembert.errors import ArgumentError, DalembertError, unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.motions import polynomials

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

#: values as users give them: by name, one number, or an array
Values = Mapping[str, float] | ArrayLike


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
        x = _column(function(motion, "the motion"), t)
        rate = ca.densify(ca.jacobian(x, t))
        self.names, self.n, self.span = _names(names, x.shape[0]), x.shape[0], _span(span)
        try:
            self.function = ca.Function("trajectory", [t], [x, rate, ca.densify(ca.jacobian(rate, t))])
        except RuntimeError as error:  # another symbol than t
            raise ArgumentError("the motion depends on symbols other than t; needed: expressions of t.") from error

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function of t: value, rate, acceleration."""
        from dalembert.compiler import Kernel

        return Kernel(self.function, shapes=[(self.n,)] * 3)

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, rate and acceleration, (n,) each, at the time t (s)."""
        return self.kernel(number(t, "t"))

    def sampled(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, rate and acceleration, (N, n) each, at N times (s)."""
        return self.kernel.batch(vector(times, None, "times").reshape(-1, 1))

    def ordered(self, names: Sequence[str]) -> Trajectory:
        """This trajectory with its values in the order of names; without names of its own, as it is."""
        names = _names(names, None)
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


def constant(value: Values) -> Trajectory:
    """A trajectory that stays at a value: an array, one number, or by name."""
    return steady(value, "the value")


def steady(value: Values, what: str) -> Trajectory:
    """`constant`, with the words for the value in errors."""
    names, x = _vector(value, what)
    return Trajectory(lambda t: ca.SX(x) + 0 * t, names)


def quintic(start: Values, end: Values, duration: float, *, at: float = 0.0) -> Trajectory:
    """A motion from rest to rest by a polynomial of degree five.

    start, end: values as arrays or by name. duration: s. at: the time of the start, s.

    >>> move = quintic({"A": 0.0}, {"A": 1.0}, duration=2.0)
    >>> value, rate, acceleration = move(1.0)
    >>> float(value[0]), float(rate[0]), float(acceleration[0])
    (0.5, 0.9375, 0.0)
    """
    names, a, b = _pair(start, end)
    at = number(at, "at")
    d, T = b - a, number(duration, "the duration", above=0.0)
    zero, c = np.zeros_like(a), d / T / T / T
    return piecewise([at, at + T], np.array([[a, zero, zero, 10 * c, -15 * c / T, 6 * c / T / T]]), names)


def trapezoid(start: Values, end: Values, *, speed: ArrayLike, acceleration: ArrayLike, at: float = 0.0) -> Trajectory:
    """A motion from rest to rest with constant acceleration, speed and deceleration; all values begin and end together.

    start, end: values as arrays or by name. speed, acceleration: limits, one number or one a value. at: the time of the
    start, s. The slowest value decides the duration; the others keep its profile. Accelerations jump.

    >>> move = trapezoid([0.0], [1.0], speed=1.0, acceleration=2.0)
    >>> value, rate, acceleration = move(0.5)
    >>> move.span, float(rate[0])
    ((0.0, 1.5), 1.0)
    """
    names, a, b = _pair(start, end)
    at = number(at, "at")
    d = b - a
    reach = np.where(d == 0.0, np.nan, np.abs(d))
    v, w = (
        float(np.nanmin(_positive(x, len(d), what) / reach, initial=np.inf))
        for x, what in ((speed, "the speed"), (acceleration, "the acceleration"))
    )
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


def waypoints(times: ArrayLike, points: Mapping[str, ArrayLike] | ArrayLike, *, degree: int = 5) -> Trajectory:
    """A spline through points, at rest at both ends.

    times: (N,), s. points: (N, n), or by name N values each. degree: 3 (continuous acceleration) or 5 (also its rate,
    and no acceleration at the ends).

    >>> path = waypoints([0, 1, 2], {"A": [0.0, 1.0, 0.5]})
    >>> value, rate, acceleration = path(1.0)
    >>> float(value[0].round(12))
    1.0
    """
    from scipy.interpolate import make_interp_spline

    if whole(degree, "the degree") not in (3, 5):
        raise ArgumentError(f"the degree is {degree}; needed: 3 or 5.")
    T = vector(times, None, "times")
    names = _names(tuple(points), None) if isinstance(points, Mapping) else ()
    if isinstance(points, Mapping):
        X = np.array([vector(points[n], len(T), f"the points of '{n}'") for n in names]).reshape(len(names), len(T)).T
    else:
        X = array(points, None, "points")
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or not X.size or len(T) < 2 or len(T) != len(X) or np.any(np.diff(T) <= 0):
        raise ArgumentError(
            f"there are {T.size} times for points of shape {X.shape}; needed: as many, increasing, at least two."
        )
    still = np.zeros(X.shape[1])
    ends = [(k, still) for k in range(1, (degree + 1) // 2)]
    spline = make_interp_spline(T, X, k=degree, bc_type=(ends, ends))
    c = np.array([spline(T[:-1], nu=k) / factorial(k) for k in range(degree + 1)])
    return piecewise(T, c.transpose(1, 0, 2), names)


def piecewise(breaks: ArrayLike, coefficients: ArrayLike, names: Sequence[str] = ()) -> Trajectory:
    """Polynomials between breaks.

    breaks: (pieces + 1,) times, s. coefficients: (pieces, powers, n), powers rising, of t less the piece's beginning.
    names: of the n values, if they have any.
    """
    b, c = vector(breaks, None, "breaks"), array(coefficients, (None, None, None), "coefficients")
    if not c.size or len(b) != len(c) + 1 or np.any(np.diff(b) <= 0):
        raise ArgumentError(f"there are {len(b)} breaks for {len(c)} pieces; needed: one more, increasing.")
    s = b[-1] - b[-2]
    last = np.zeros_like(c[:1])
    last[0, 0] = sum(c[-1, k] * s**k for k in range(c.shape[1]))
    first = np.zeros_like(c[:1])
    first[0, 0] = c[0, 0]
    pieces, begins = np.concatenate([first, c, last]), np.append(b[0], b)

    return Trajectory(lambda t: polynomials(t, begins, pieces), names, (float(b[0]), float(b[-1])))


def _column(motion: Callable[[ca.SX], Any], t: ca.SX) -> ca.SX:
    """The expressions of t that a motion gives, as a column."""
    try:
        given = motion(t)
        x = ca.SX(given) if isinstance(given, (ca.SX, ca.DM, int, float)) else ca.vertcat(*given)
        x = ca.densify(ca.SX(x))
    except DalembertError:
        raise
    except Exception as error:  # Python's max, if and the like, or a fault in the function
        raise ArgumentError(
            f"the motion could not be evaluated on expressions: {type(error).__name__}: {error}. Needed: a function of "
            "t that returns expressions; use CasADi's functions (casadi.sin, casadi.if_else) in place of Python's."
        ) from error
    if x.shape[1] != 1 or not x.shape[0]:
        raise ArgumentError(f"the motion has shape {x.shape}; needed: a column of expressions of t.")
    if any(entry.is_constant() and not np.isfinite(float(entry)) for entry in ca.vertsplit(x)):
        raise ArgumentError("the motion has values that are not finite numbers; needed: expressions of t.")
    return x


def _names(names: Sequence[str], n: int | None) -> tuple[str, ...]:
    """Different names, n of them or none."""
    if not isinstance(names, (tuple, list)):
        raise ArgumentError(f"names is {shown(names)}; needed: a list of names.")
    found = tuple(checks.name(x, "a name of a value") for x in names)
    if len(set(found)) < len(found):
        raise ArgumentError(f"the trajectory has two values '{max(found, key=found.count)}'; needed: different names.")
    if n is not None and found and len(found) != n:
        raise ArgumentError(f"the trajectory has {n} values and {len(found)} names; needed: one each.")
    return found


def _span(span: tuple[float, float]) -> tuple[float, float]:
    start, end = array(span, (2,), "span", finite=False).tolist()
    if not start <= end:
        raise ArgumentError(f"span is ({start:g}, {end:g}); needed: start ≤ end.")
    return start, end


def _vector(value: Values, what: str = "the value") -> tuple[tuple[str, ...], np.ndarray]:
    if isinstance(value, Mapping):
        names = _names(tuple(value), None)
        return names, np.array([number(value[n], f"{what} of '{n}'") for n in names])
    return (), vector(np.atleast_1d(array(value, None, what)), None, what)


def _pair(start: Values, end: Values) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    names, a = _vector(start, "start")
    if isinstance(end, Mapping) and names and set(end) == set(names):
        end = {name: end[name] for name in names}
    others, b = _vector(end, "end")
    if names != others or a.shape != b.shape:
        raise ArgumentError(f"start is of {list(names) or a.shape}, end of {list(others) or b.shape}; needed: alike.")
    return names, a, b


def _positive(x: ArrayLike, n: int, what: str) -> np.ndarray:
    value = array(x, None, what)
    if value.shape not in ((), (n,)) or not np.all(value > 0):
        raise ArgumentError(f"{what} is {shown(x)}; needed: a positive number, or {n} of them.")
    return np.broadcast_to(value, (n,))
