"""Actuator limits: the least change of the forces, among those that keep the motion, that respects bounds.

All forces that give the motion are u = u₀ + Z w with Z orthonormal in the cost, so that ‖w‖ is what a change costs:

    min ‖w‖   with   G w ≥ h                     rows: u ≤ upper, u ≥ lower, and the same for multipliers       (1)

Lawson and Hanson's least distance programming (Solving Least Squares Problems, 23.4) turns (1) into a nonnegative least
squares problem for the vector (Gᵀ; hᵀ) z ≈ (0; 1). Its residual is zero just where (1) has no solution, and then z says
which bounds contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its optimizers load when they are first used

from dalembert.checks import array
from dalembert.errors import ArgumentError, unknown


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower ≤ x ≤ upper with a name for each; infinite where there is none."""

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray

    @staticmethod
    def of(names: Sequence[str], limits: Mapping[str, Any] | float | None, kind: str) -> Bounds:
        """Bounds from one number for all (±), or by name a number (±) or a pair (lower, upper), None for no bound."""
        lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
        if limits is None:
            return Bounds(tuple(names), lower, upper)
        each = limits if isinstance(limits, Mapping) else dict.fromkeys(names, limits)
        for name, value in each.items():
            if not isinstance(name, str) or name not in names:
                raise unknown(kind, name, names, "limits")
            what = f"the limits of {kind} '{name}'"
            if isinstance(value, (tuple, list)) and len(value) == 2:
                value = [open_ if end is None else end for end, open_ in zip(value, (-np.inf, np.inf))]
            pair = array(value, None, what, finite=False)
            if pair.shape not in ((), (2,)):
                raise ArgumentError(f"{what} have shape {pair.shape}; needed: a number, or lower and upper.")
            low, high = (-pair, pair) if pair.shape == () else pair
            if not low <= high:
                raise ArgumentError(f"the limits of {kind} '{name}' are {low:g} … {high:g}; needed: lower ≤ upper.")
            lower[list(names).index(name)], upper[list(names).index(name)] = low, high
        return Bounds(tuple(names), lower, upper)

    def within(self, forces: Mapping[str, Any]) -> Bounds:
        """These bounds of inputs, and beside them the limits that actuators among the forces have of their own."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for k, name in enumerate(self.names):
            own = forces.get(name)
            if own is None or own.kind != "actuator":
                continue
            lower[k], upper[k] = max(lower[k], own.limits[0]), min(upper[k], own.limits[1])
            if not lower[k] <= upper[k]:
                raise ArgumentError(
                    f"the bounds of input '{name}' are {self.lower[k]:g} … {self.upper[k]:g}, and its actuator exerts "
                    f"{own.limits[0]:g} … {own.limits[1]:g} N; needed: bounds that leave it some force."
                )
        return Bounds(self.names, lower, upper)

    def hold(self, x: np.ndarray, slack: float = 1e-9) -> bool:
        """Whether lower ≤ x ≤ upper, to rounding."""
        room = slack * (np.abs(x) + 1e-3 * np.abs(x).max(initial=0.0))
        return bool(np.all(x >= self.lower - room) and np.all(x <= self.upper + room))

    def rows(self, x: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """G, h and the names of G w ≥ h for lower ≤ x + X w ≤ upper."""
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        names = [f"{n} ≥ {b:g}" for n, b, k in zip(self.names, self.lower, low) if k]
        names += [f"{n} ≤ {b:g}" for n, b, k in zip(self.names, self.upper, high) if k]
        h = np.concatenate([(self.lower - x)[low], (x - self.upper)[high]])
        return np.vstack([X[low], -X[high]]), h, names


def least_change(G: np.ndarray, h: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """The shortest w with G w ≥ h, or None; and the weights of the bounds that hold it, or that contradict each other.

    >>> least_change(np.array([[1.0, 1.0]]), np.array([2.0]))[0]
    array([1., 1.])
    >>> least_change(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]))[0] is None          # w ≥ 1 and w ≤ −1
    True
    """
    count, n = G.shape
    if not count or np.all(h <= 0):
        return np.zeros(n), np.zeros(count)
    size = max(np.abs(h).max(), 1e-300)  # w in units of size
    scale = np.maximum(np.linalg.norm(np.column_stack([G, h / size]), axis=1), 1e-300)
    E = np.vstack([G.T / scale, h / size / scale])
    z, _ = scipy.optimize.nnls(E, np.append(np.zeros(n), 1.0), maxiter=100 * (count + n))
    r = E @ z
    r[-1] -= 1.0
    if -r[-1] < 1e-10:
        return None, z / scale
    return -r[:n] / r[-1] * size, z / scale
