"""What a controller is asked to follow, and its gains, from the forms users give them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.checks import array, number, reals
from dalembert.control.trajectories import Trajectory, constant
from dalembert.errors import ArgumentError


def as_reference(reference: Any, names: tuple[str, ...]) -> Callable[[float], Any]:
    """A function t → (θ_d, θ̇_d, θ̈_d): a trajectory with its values in this order, a constant, or a function."""
    if isinstance(reference, Trajectory):
        return reference.ordered(names)
    return reference if callable(reference) else constant(reference).ordered(names)


def as_function(wanted: Any, what: str) -> Callable[[float], float]:
    """A function of time from a number, a function, or a trajectory of one value."""
    if isinstance(wanted, Trajectory):
        return lambda t: float(wanted(t)[0][0])
    if callable(wanted):
        return wanted
    value = number(wanted, what)
    return lambda t: value


def gain_matrices(rate: float, gains: Any, n: int) -> np.ndarray:
    """(2, n, n): G_P and G_D, from numbers, one a row, or matrices; or those of (1 + ωt) exp(−ωt) with rate ω."""
    if gains is None:
        rate = number(rate, "rate", above=0.0)
        gains = (rate**2, 2 * rate)
    if not (isinstance(gains, (tuple, list, np.ndarray)) and len(gains) == 2):
        raise ArgumentError(f"gains are {gains!r}; needed: two, of the error and of its rate.")
    out = np.zeros((2, n, n))
    for k, gain in enumerate(gains):
        g = reals(gain, f"gains[{k}]")
        if g.shape not in ((), (n,), (n, n)):
            raise ArgumentError(f"a gain has shape {g.shape}; needed: a number, ({n},) or ({n}, {n}).")
        g = array(g, None, f"gains[{k}]")
        out[k] = g if g.ndim == 2 else np.diag(np.broadcast_to(g, n))
    return out
