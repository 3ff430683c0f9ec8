"""References that controllers follow, their gains, and the arguments that controllers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert.checks import array, function, mapping, number, reals, shown, vector, whole
from dalembert.control.trajectories import Trajectory, steady
from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.constraints.expression import Expression

#: θ_d, θ̇_d and θ̈_d at a time, (n,) each
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
#: a reference as users give it: a trajectory, a constant by name or as an array, or a function of time
ReferenceGiven = Trajectory | Mapping[str, float] | ArrayLike | Callable[[float], Any]
#: gains as users give them: of the error and of its rate, each a number, one a row, or a matrix
GainsGiven = tuple[ArrayLike, ArrayLike]
#: limits as users give them: one bound for all, or by name a bound or (lower, upper)
LimitsGiven = Mapping[str, Any] | float | None
#: a metric of forces as users give it: "euclidean", "mass", scales by name, or weights (nv,) or (nv, nv)
MetricGiven = str | Mapping[str, float] | ArrayLike


def as_reference(reference: ReferenceGiven, names: tuple[str, ...]) -> Callable[[float], Triple]:
    """A function t → (θ_d, θ̇_d, θ̈_d) of values in this order, from a trajectory, a constant, or a function."""
    if isinstance(reference, Trajectory):
        return reference.ordered(names)
    if not callable(reference):
        return steady(reference, "the reference").ordered(names)

    def checked(t: float) -> Triple:
        given = reference(t)
        if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 3:
            raise ArgumentError(f"the reference gives {shown(given)}; needed: value, rate and acceleration.")
        value, rate, acceleration = (vector(x, len(names), f"the reference at t = {t:g} s") for x in given)
        return value, rate, acceleration

    return checked


def as_function(wanted: float | Trajectory | Callable[[float], float], what: str) -> Callable[[float], float]:
    """A function of time from a number, a function, or a trajectory of one value."""
    if isinstance(wanted, Trajectory):
        if wanted.n != 1:
            raise ArgumentError(f"{what} is a trajectory of {wanted.n} values; needed: one.")
        return lambda t: float(wanted(t)[0][0])
    if callable(wanted):
        return lambda t: number(wanted(t), what)
    value = number(wanted, what)
    return lambda t: value


def gain_matrices(rate: float, gains: GainsGiven | None, n: int) -> np.ndarray:
    """(2, n, n): G_P and G_D, from numbers, one a row, or matrices; or those of (1 + ωt) exp(−ωt) with rate ω."""
    if gains is None:
        rate = number(rate, "rate", above=0.0, most=1e9)
        gains = (rate**2, 2 * rate)
    if not (isinstance(gains, (tuple, list)) or (isinstance(gains, np.ndarray) and gains.ndim)) or len(gains) != 2:
        raise ArgumentError(f"gains is {shown(gains)}; needed: two, of the error and of its rate.")
    out = np.zeros((2, n, n))
    for k, gain in enumerate(gains):
        g = reals(gain, f"gains[{k}]")
        if g.shape not in ((), (n,), (n, n)):
            raise ArgumentError(f"a gain has shape {g.shape}; needed: a number, ({n},) or ({n}, {n}).")
        g = array(g, None, f"gains[{k}]")
        out[k] = g if g.ndim == 2 else np.diag(np.broadcast_to(g, n))
    return out


def force_course(wanted: Mapping[str, Any]) -> Trajectory | None:
    """Wanted forces as one trajectory, where all are numbers or trajectories of one value; else None."""
    if not wanted or any(callable(f) and not isinstance(f, Trajectory) for f in wanted.values()):
        return None
    given = list(wanted.values())
    return Trajectory(
        lambda t: ca.vertcat(*(f.function(t)[0] if isinstance(f, Trajectory) else ca.SX(float(f)) for f in given))
    )


def row_numbers(
    names: tuple[str, ...], priorities: Mapping[str, int] | None, weights: Mapping[str, float] | None
) -> tuple[np.ndarray, np.ndarray]:
    """(nt,) priorities, 1 first, and (nt,) weights of the rows of a task, from what is given by row; else 1."""
    level, weight = np.ones(len(names), dtype=np.int64), np.ones(len(names))
    for given, what in ((priorities, "priorities"), (weights, "weights")):
        for name, x in mapping({} if given is None else given, what).items():
            if not isinstance(name, str) or name not in names:
                raise unknown("row", name, names, what)
            k = names.index(name)
            if what == "weights":
                weight[k] = number(x, f"the weight of '{name}'", above=0.0)
            else:
                level[k] = whole(x, f"the priority of '{name}'", least=1, most=len(names))
    return level, weight


def checked_path(path: Sequence[tuple[Expression, float, float]]) -> list[tuple[Expression, float, float]]:
    """Limits of expressions: (function, lower, upper) each."""
    if not isinstance(path, (list, tuple)):
        raise ArgumentError(f"bounds is {shown(path)}; needed: a list of (function, lower, upper).")
    found = []
    for k, row in enumerate(path):
        what = f"bounds[{k}]"
        if not isinstance(row, (list, tuple)) or len(row) != 3:
            raise ArgumentError(f"{what} is {shown(row)}; needed: (function, lower, upper).")
        f, low, high = (function(row[0], what), *(number(x, f"a bound of {what}", finite=False) for x in row[1:]))
        if not low <= high:
            raise ArgumentError(f"{what} has the bounds {low:g} … {high:g}; needed: lower ≤ upper.")
        found.append((f, low, high))
    return found
