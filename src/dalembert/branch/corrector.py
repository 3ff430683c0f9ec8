"""The corrector of a predictor-corrector method: Newton's method beside a predicted point, undamped.

A corrector that leads away, or whose residual does not fall, is given up: the prediction was too far, and a shorter
step is tried from the last point (Allgower & Georg, Introduction to Numerical Continuation Methods, ch. 6). Residuals,
J and steps are scaled as in `rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.branch.policy import POLICY
from dalembert.branch.rows import times


class Correctable(Protocol):
    """Rows of one position."""

    def at(self, q: np.ndarray, x: float) -> tuple[np.ndarray, np.ndarray, Any]:
        """e (rows,), J (rows, nv) and what else is to be known at the corrected point, at q and the place x."""

    def newton(self, J: np.ndarray, e: np.ndarray, far: float) -> tuple[np.ndarray, float] | None:
        """The shortest δ that J takes nearest to e, and its largest part; None where J is not finite."""

    def moved(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ reach · δ."""


class Corrected(NamedTuple):
    """A point, and the rows there."""

    q: np.ndarray
    J: np.ndarray
    more: Any


def correct(rows: Correctable, q: np.ndarray, x: float, far: float, growth: float = POLICY.growth) -> Corrected | None:
    """The point at the place x beside q; None where no steps below `far` lead there.

    growth: of the residual in one iteration, above which it is given up.
    """
    last = inf
    for _ in range(POLICY.corrections):
        e, J, more = rows.at(q, x)
        gap = largest(e)
        if gap <= POLICY.closed or (gap <= POLICY.nearly and gap >= 0.5 * last):
            return Corrected(q, J, more)
        if not gap <= growth * last or not isfinite(gap):
            return None
        step = rows.newton(J, e, far)
        if step is None or not step[1] <= far:
            return None
        q, last = rows.moved(q, -step[0]), gap
    return None


@dataclass(eq=False)
class CorrectedMany:
    """Points, whether each was found, and J there."""

    q: np.ndarray  # (K, nq)
    ok: np.ndarray  # (K,) bool
    white: np.ndarray  # (K, rows, nv)
    cost: np.ndarray  # (K,) evaluations of the rows
    residual: np.ndarray  # (K,) the largest


def correct_many(rows: Any, guess: np.ndarray, x: np.ndarray, far: float) -> CorrectedMany:
    """Points at places x, (K, …), beside guesses (K, nq): none farther than `far`.

    rows: `many(q, x)` gives e (K, rows) and J (K, rows, nv), `shortest(J, c)` steps, `moved(q, δ)` is q ⊕ reach · δ.
    """
    K = len(guess)
    q, ok, last = guess.copy(), np.zeros(K, dtype=bool), np.full(K, np.inf)
    white, cost = np.zeros((K, len(rows.units), rows.system.nv)), np.zeros(K, dtype=int)
    open_ = np.arange(K)
    for count in range(POLICY.corrections):
        if not len(open_):
            break
        everything = len(open_) == K
        e, J = rows.many(q, x) if everything else rows.many(q[open_], x[open_])
        cost[open_] += 1
        gap = np.abs(e).max(axis=1, initial=0.0)
        done = (gap <= POLICY.closed) | ((gap <= POLICY.nearly) & (gap >= 0.5 * last[open_]))
        white[open_[done]], ok[open_[done]] = J[done], True
        last[open_[done]] = gap[done]
        go = (
            ~done
            & np.isfinite(gap)
            & np.isfinite(J).all(axis=(1, 2))
            & (gap <= (POLICY.growth if count < 2 else POLICY.slowest) * last[open_])
        )
        delta = rows.shortest(J[go], -e[go])
        small = np.abs(delta).max(axis=1, initial=0.0) <= far
        open_, gap = open_[go][small], gap[go][small]
        q[open_], last[open_] = rows.moved(q[open_], delta[small]), gap
    return CorrectedMany(q, ok, white, cost, last)


def shortest_many(J: np.ndarray, c: np.ndarray, tolerance: float) -> np.ndarray:
    """(K, nv) the shortest δ with J δ = c, (K, rows); singular values up to `tolerance` of the largest are zero."""
    if J.shape[1] == J.shape[2]:
        try:
            return np.linalg.solve(J, c[..., None])[..., 0]
        except np.linalg.LinAlgError:
            pass
    return times(pseudoinverse(J, tolerance)[0], c)


def pseudoinverse(J: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """J⁺ (K, nv, rows), and the singular values of J."""
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    counts = sigma > tolerance * np.maximum(sigma[:, :1], 1.0)
    inverse = np.where(counts, 1.0 / np.where(counts, sigma, 1.0), 0.0)
    return (Vt.swapaxes(1, 2) * inverse[:, None]) @ U.swapaxes(1, 2), sigma


def largest(x: np.ndarray) -> float:
    """max |x|, 0 of nothing; NaN if one is."""
    values = x.tolist()  # for a few numbers quicker than NumPy
    if not values:
        return 0.0
    size = max(map(abs, values))
    return size if size == size and isfinite(sum(values)) else float(np.abs(x).max())
