"""Rows that hold at an instant, factored in the mass metric, also where they depend on each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.simulation.hybrid.instantaneous import DEPENDENT, Instant

MET = 1e-7  # σ of rows in units of their usual lengths: in a singular position


@dataclass(frozen=True, eq=False)
class FactoredRows:
    """Rows that hold, factored: the shortest solutions of them, and what they leave free.

    In a singular position some of them, W R ≈ 0, are nothing but rounding. Motions keep W Ȧ v = 0 there, the limit of
    W A v / t beside it on the branch that v follows; those rows take their place.
    """

    rows: np.ndarray  # (m, n) whitened
    U: np.ndarray  # (m, r)
    sigma: np.ndarray  # (r,)
    V: np.ndarray  # (n, r)
    scale: np.ndarray  # (m,) lengths that rows were divided by
    limits: np.ndarray  # (k, n) rows W Ȧ in a singular position; else k = 0
    U_limits: np.ndarray  # (k, r)

    @staticmethod
    def of(instant: Instant, rows: Sequence[int], closing: Sequence[int] = (), met: float = MET) -> FactoredRows:
        """Factor some rows of an instant; closing: others, which its motion does not keep. met: σ of weak rows."""
        n, m, none = instant.rows.shape[1], len(rows), np.zeros((0, 0))
        if not m and not closing:
            return FactoredRows(np.zeros((0, n)), none, np.zeros(0), np.zeros((n, 0)), np.zeros(0), none, none)
        R = instant.rows[[*rows, *closing]]
        scale = np.maximum(np.linalg.norm(R, axis=1), 1e-300)
        U, sigma, Vt = np.linalg.svd(R / scale[:, None], full_matrices=False)
        usual = instant.measures.usual[list(rows)]
        if len(R) > n or sigma[-1] * float((scale[:m] / usual).min(initial=1.0)) <= met:
            left, values, _ = np.linalg.svd(R[:m] / usual[:, None])
            rank = int((values > met).sum())
            if rank < m:
                limits = instant.limits(left[:, rank:].T / usual, list(rows))
                scale[:m] = usual
                E = np.zeros((len(R), rank + len(R) - m))
                E[:m, :rank], E[m:, rank:] = left[:, :rank], np.eye(len(R) - m)
                P, sigma, Vt = np.linalg.svd(np.vstack([E.T @ (R / scale[:, None]), limits]), full_matrices=False)
                r, k = int((sigma > DEPENDENT * sigma.max(initial=1e-300)).sum()), E.shape[1]
                return FactoredRows(R, E @ P[:k, :r], sigma[:r], Vt[:r].T, scale, limits, P[k:, :r])
        r = int((sigma > DEPENDENT * max(sigma[0], 1e-300)).sum())
        return FactoredRows(R, U[:, :r], sigma[:r], Vt[:r].T, scale, none, none)

    def step(self, x: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shortest δ with R (x + δ) = wanted, and the multipliers Λ with δ = RᵀΛ."""
        if not len(self.scale):
            return np.zeros(len(x)), self.scale
        part = self.U.T @ ((wanted - self.rows @ x) / self.scale)
        if len(self.limits):
            part = part - self.U_limits.T @ (self.limits @ x)
        part = part / self.sigma
        return self.V @ part, (self.U @ (part / self.sigma)) / self.scale

    def cut(self, x: np.ndarray) -> np.ndarray:
        """Rows, or vectors, without their part along the rows that hold."""
        return x - (x @ self.V) @ self.V.T if len(self.sigma) else x

    def part(self, x: np.ndarray) -> np.ndarray:
        """Multipliers Λ with RᵀΛ the part of −x along the rows that hold."""
        return -(self.U @ (self.V.T @ x / self.sigma)) / self.scale
