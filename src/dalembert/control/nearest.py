"""The point of a polyhedron nearest to 0, rows hard or soft: the quadratic program of predictive control.

    min ‖y‖² + Σ (eᵢ/dᵢ)²   with   lower ≤ G y + e ≤ upper,   e = 0 where d = 0                                 (1)

As C y + e ≥ h with one-sided rows, s = C y + e − h ≥ 0 and multipliers z ≥ 0, the solution has

    y = Cᵀz,   e = d² z,   s z = 0                                                                             (2)

so that a slack costs no variable: it only makes its row compliant. Rows are divided by their length and y by the
distance of the farthest row, so that units do not count.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dalembert.blas import one_thread

NONE = 1e20  # a bound that is none, to DAQP
KEPT = 1e-10  # of ‖y‖, by how much a row of length 1 may be missed
GAP = 1e-11  # of ‖y‖²: s·z where the iteration ends; below, rounding of CᵀWC would count
FARTHEST = 1e8  # times as far as the farthest row: where no y up to there keeps all rows, none does
FIRST = 1e4  # s and z of all rows: large ones keep the first steps off the edges
ITERATIONS = 100  # of the interior-point method, which takes 10 to 40


class NearestPoint:
    """(1) for one G, (rows, n), and many bounds."""

    def __init__(self, G: np.ndarray):
        size = np.linalg.norm(G, axis=1)
        self.size = np.where(size > 0, size, 1.0)
        self.G = G / self.size[:, None]
        shape = {"h": ca.Sparsity.diag(G.shape[1]), "a": ca.Sparsity.dense(*G.shape)}
        options: dict[str, Any] = {"error_on_fail": False, "daqp": {"primal_tol": 0.1 * KEPT}}
        self.daqp = ca.conic("nearest", "daqp", shape, options)

    def __call__(self, lower: np.ndarray, upper: np.ndarray, soft: np.ndarray | None = None) -> np.ndarray | None:
        """(n,) y, or None where there is none. soft: (rows,) d; default: all are 0.

        DAQP, a dual active-set method, is quick where few rows are active; where it finds none, as it may where many
        are, the interior-point method decides.
        """
        low, high = lower / self.size, upper / self.size
        far = max(low.max(initial=0.0), -high.min(initial=0.0))  # ‖y‖ is no less
        if far == 0.0:
            return np.zeros(self.G.shape[1])
        low, high = low / far, high / far
        y = self._active_set(low, high) if soft is None else None
        if y is None:
            with one_thread():
                y = self._interior_point(low, high, np.zeros(len(low)) if soft is None else soft / self.size)
        return None if y is None else far * y

    def _active_set(self, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
        low, high, one = np.maximum(low, -NONE), np.minimum(high, NONE), ca.DM.eye(self.G.shape[1])
        y = np.array(self.daqp(h=one, g=0.0, a=self.G, lba=low, uba=high, lbx=-NONE, ubx=NONE)["x"]).ravel()
        off = np.maximum(low - self.G @ y, self.G @ y - high).max(initial=0.0)
        return y if off <= KEPT * np.linalg.norm(y) else None  # None where NaN

    def _interior_point(self, low: np.ndarray, high: np.ndarray, soft: np.ndarray) -> np.ndarray | None:
        """Mehrotra's predictor and corrector on (2), in the n unknowns (I + CᵀWC) δy, W = z / (s + d² z)."""
        below, above = np.isfinite(low), np.isfinite(high)
        C, h = np.vstack([self.G[below], -self.G[above]]), np.concatenate([low[below], -high[above]])
        d2 = np.concatenate([soft[below], soft[above]]) ** 2
        y, s, z = np.zeros(C.shape[1]), np.maximum(-h, FIRST), np.full(len(h), FIRST)
        for _ in range(ITERATIONS):
            dual, primal, mu = y - C.T @ z, C @ y + d2 * z - s - h, s @ z / len(h)
            size = 1 + np.linalg.norm(y)
            kept = np.abs(primal).max() <= KEPT * size
            if kept and mu * len(h) <= GAP * size**2:
                break
            if h @ z - d2 @ (z * z) > FARTHEST * np.linalg.norm(C.T @ z):  # h·z ≤ z·Cy + z·d²z for all that keep (1)
                return None
            weight = s + d2 * z
            try:
                factor = cho_factor(np.eye(len(y)) + (C.T * (z / weight)) @ C)
            except np.linalg.LinAlgError:  # rounding has the last word
                break
            unmet = (C, d2, z, weight, factor, dual, primal)
            _, ds, dz = _direction(*unmet, s * z)
            length = _longest(s, ds, z, dz)
            mu_ahead = (s + length * ds) @ (z + length * dz) / len(h)
            dy, ds, dz = _direction(*unmet, s * z + ds * dz - (mu_ahead / mu) ** 3 * mu)
            length = min(1.0, 0.995 * _longest(s, ds, z, dz, 10.0))
            y, s, z = y + length * dy, s + length * ds, z + length * dz
        return y if kept else None


def _direction(
    C: np.ndarray, d2: np.ndarray, z: np.ndarray, weight: np.ndarray, factor: Any, dual: np.ndarray, primal: np.ndarray,
    product: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """(δy, δs, δz) that make s z smaller by `product`, and the residuals of the other equations zero."""
    dy = cho_solve(factor, -dual - C.T @ ((product + z * primal) / weight))
    dz = -(product + z * (C @ dy + primal)) / weight
    return dy, C @ dy + d2 * dz + primal, dz


def _longest(s: np.ndarray, ds: np.ndarray, z: np.ndarray, dz: np.ndarray, most: float = 1.0) -> float:
    """How far s and z can go without changing sign, at most `most`."""
    x, dx = np.concatenate([s, z]), np.concatenate([ds, dz])
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=most))
