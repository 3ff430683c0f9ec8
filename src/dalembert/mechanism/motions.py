"""Motions of drivers: tables of time and value, and whatever else is a function of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import DescriptionError

ENDS = ("natural", "clamped", "cyclic")


class Table:
    """A motion through points: cubic splines of time, to be given to a driver.

    times: (N,), s, increasing; values: (N,), or (N, n) for n values. The second derivative is continuous inside. `ends`
    says what is beyond the first and the last time:

    - "natural": no acceleration at the ends, and straight on with the speed there;
    - "clamped": at rest at the ends, and staying there (the acceleration jumps);
    - "cyclic": the table again and again, with continuous accelerations; where the last value is not the first, every
      turn begins where the one before has ended, as the angle of a shaft does.

    >>> import dalembert as da
    >>> lift = da.Table([0, 1, 2, 3], [0.0, 0.2, 0.1, 0.0], ends="cyclic")
    >>> lift.at(4.0), lift.at(1.0)
    (array([0.2]), array([0.2]))
    """

    def __init__(self, times: ArrayLike, values: ArrayLike, ends: str = "natural"):
        from scipy.interpolate import CubicSpline

        what = "the table of a motion"
        self.ends = checks.choice(ends, ENDS, f"ends of {what}", error=DescriptionError)
        T = checks.vector(times, None, f"the times of {what}", error=DescriptionError)
        X = checks.array(values, None, f"the values of {what}", error=DescriptionError)
        if X.ndim not in (1, 2) or len(T) != len(X) or len(T) < 2 or not X.size or np.any(np.diff(T) <= 0):
            raise DescriptionError(
                f"{what} has {len(T)} times and values of shape {X.shape}; needed: as many of both, at least two, the "
                "times increasing."
            )
        self.times, self.values = T.copy(), X.copy()
        X = X.reshape(len(T), -1)
        ramp = np.zeros_like(X)
        if ends == "cyclic":
            ramp = (T - T[0])[:, None] * (X[-1] - X[0]) / (T[-1] - T[0])
        flat = X - ramp
        if ends == "cyclic":
            flat[-1] = flat[0]
        c = CubicSpline(T, flat, bc_type={"cyclic": "periodic"}.get(ends, ends)).c  # (4, pieces, n), powers falling
        c = c[::-1].transpose(1, 0, 2).copy()
        c[:, 1] += (X[-1] - X[0]) / (T[-1] - T[0]) if ends == "cyclic" else 0.0
        c[:, 0] = X[:-1]
        self._pieces = self._extended(c)

    def _extended(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(begins, coefficients) of the pieces, those before and after the table included."""
        T = self.times
        if self.ends == "cyclic":
            return T[:-1], c
        h = T[-1] - T[-2]
        before, after = np.zeros_like(c[:1]), np.zeros_like(c[:1])
        before[0, 0], after[0, 0] = c[0, 0], np.atleast_1d(self.values[-1])
        if self.ends == "natural":
            before[0, 1] = c[0, 1]
            after[0, 1] = c[-1, 1] + 2 * c[-1, 2] * h + 3 * c[-1, 3] * h * h
        return np.append(T[0], T), np.concatenate([before, c, after])

    def __call__(self, t: ca.SX) -> ca.SX:
        """The values at the time t, a column of expressions."""
        begins, c = self._pieces
        if self.ends != "cyclic":
            return polynomials(t, begins, c)
        period = self.times[-1] - self.times[0]
        turns = ca.floor((t - self.times[0]) / period)
        advance = np.atleast_1d(self.values[-1] - self.values[0])
        return polynomials(t - turns * period, begins, c) + turns * ca.SX(advance)

    def at(self, t: float) -> np.ndarray:
        """(n,) values at the time t (s)."""
        return np.array(ca.evalf(self(ca.SX(checks.number(t, "t"))))).ravel()

    def __repr__(self) -> str:
        return f"<table of {len(self.times)} times from {self.times[0]:g} to {self.times[-1]:g} s, {self.ends}>"


def polynomials(t: ca.SX, begins: Sequence[float] | np.ndarray, pieces: np.ndarray) -> ca.SX:
    """The values at t of polynomials, a column: the last piece that has begun, or the first.

    begins: (pieces,) s; pieces: (pieces, powers, n), powers rising, of t less the piece's beginning.
    """
    chosen, begin = ca.SX(pieces[0]), ca.SX(begins[0])
    for k in range(1, len(pieces)):
        later = t >= begins[k]
        chosen = ca.if_else(later, pieces[k], chosen)
        begin = ca.if_else(later, begins[k], begin)
    x = chosen[-1, :]
    for k in range(chosen.shape[0] - 2, -1, -1):
        x = x * (t - begin) + chosen[k, :]
    return x.T


class Constant:
    """A motion that stays where it is: numbers, or expressions of parameters."""

    def __init__(self, value: np.ndarray):
        self.value = value

    def __call__(self, t: Any) -> np.ndarray:
        """The value."""
        return self.value


def motion_of(given: Any, n: int, what: str, checked: Callable[[Any, tuple[int, ...], str], np.ndarray]) -> Any:
    """A function of time from what a user gives a driver of n values.

    given: a function of the symbol t, a `Table`, a trajectory, (times, values), or numbers and expressions of
    parameters, which `checked` looks at.
    """
    if isinstance(given, tuple) and len(given) == 2 and n != 2 and not any(_is_one(x) for x in given):
        given = Table(*given)
    if isinstance(given, Table):
        width = given.values[0].size
        if width != n:
            raise DescriptionError(f"the table of {what} has {width} values a time; needed: {n}.")
        return given
    if callable(given) and not isinstance(given, ca.SX):
        return given
    if isinstance(given, (str, bytes)) or given is None:
        raise DescriptionError(
            f"the motion of {what} is {checks.shown(given)}; needed: a function of time such as lambda t: 0.5 * t, a "
            "table (times, values), a trajectory, or a number."
        )
    return Constant(checked(given, (n,), f"the motion of {what}"))


def _is_one(x: Any) -> bool:
    return checks.is_real(x) or isinstance(x, ca.SX) or np.ndim(x) == 0
