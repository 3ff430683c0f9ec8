"""The constraint manifold at one state: its rows in the mass metric, factored, with their rank."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dalembert.branch.rows import undefined
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import RankPolicy, Revealed, rank_policy


@dataclass(frozen=True, eq=False)
class Tangent:
    """Ã = S⁻¹ A R⁻¹ and its singular value decomposition; see `rank` for S and R."""

    A: np.ndarray  # (m, nv)
    R: np.ndarray  # (nv, nv) upper triangular, RᵀR the metric
    scale: np.ndarray  # (m,) the diagonal of S
    white: np.ndarray  # (m, nv) Ã
    revealed: Revealed

    @staticmethod
    def of(A: np.ndarray, M: np.ndarray, policy: RankPolicy, scale: np.ndarray | None = None) -> Tangent:
        """Factor rows A in the metric M; scale: their usual lengths there (default: `policy.sizes`)."""
        if not (np.isfinite(A).all() and np.isfinite(M).all()):
            raise undefined(A, M)
        try:
            R = np.linalg.cholesky(M).T
            white = np.linalg.solve(R.T, A.T).T
        except np.linalg.LinAlgError:
            raise undefined(A, M) from None
        scale = policy.sizes if scale is None else scale
        white = white / scale[:, None]
        if not np.isfinite(white).all():
            raise undefined(A, M)
        return Tangent(A, R, scale, white, policy.reveal(white, 1.0))

    @property
    def rank(self) -> int:
        """The rank of A."""
        return self.revealed.rank

    @property
    def U(self) -> np.ndarray:
        """(m, m) left singular vectors of Ã; those of A are U / scale, row by row."""
        return self.revealed.U

    @property
    def sigma(self) -> np.ndarray:
        """min(m, nv) singular values of Ã, falling."""
        return self.revealed.sigma

    @property
    def V(self) -> np.ndarray:
        """(nv, nv) right singular vectors of Ã, as columns."""
        return self.revealed.V

    def shortest(self, c: np.ndarray) -> np.ndarray:
        """The v of least ‖R v‖ that brings A v nearest to c, (nv,) or (nv, …)."""
        return np.linalg.solve(self.R, self.revealed.solve((c.T / self.scale).T))

    def first(self, rank: int, c: np.ndarray) -> np.ndarray:
        """The shortest v that brings the first `rank` combinations of rows of A v to those of c."""
        return np.linalg.solve(self.R, self.V[:, :rank] @ ((self.U[:, :rank].T @ (c / self.scale)) / self.sigma[:rank]))

    @property
    def admissible(self) -> np.ndarray:
        """(nv, nv − rank) motions the constraints allow, orthonormal in the metric."""
        return np.linalg.solve(self.R, self.revealed.null)

    @property
    def singular_values(self) -> np.ndarray:
        """min(m, nv) singular values of A R⁻¹, falling: 1/√(effective mass) of combinations of rows in m and rad."""
        return self.singular_values_in(np.ones(len(self.A)))

    def singular_values_in(self, units: np.ndarray) -> np.ndarray:
        """The same for rows measured in `units`, (m,)."""
        return rank_policy().reveal(self.white * (self.scale / units)[:, None]).sigma


def tangent_of_motion(system: SystemLike, state: StateLike, p: Parameters) -> Tangent:
    """The tangent with what kinematic inputs lead as it is: no part of admissible motions; its axes of V come last."""
    led = list(system.description.prescribed.values())
    if not led:
        return tangent(system, state, p)
    n, free = system.nv, np.setdiff1d(np.arange(system.nv), led)
    A, M, policy = system.constraint_matrix(state, p=p), system.mass_matrix(state, p=p), rank_policy(system, p)
    t = Tangent.of(A[:, free], M[np.ix_(free, free)], policy)
    R, V, white = np.zeros((n, n)), np.zeros((n, n)), np.zeros(A.shape)
    R[np.ix_(free, free)], R[led, led] = t.R, np.sqrt(M[led, led])
    V[free, : len(free)], V[led, np.arange(len(free), n)] = t.V, 1.0
    white[:, free] = t.white
    return Tangent(A, R, t.scale, white, replace(t.revealed, V=V))


def tangent(system: SystemLike, state: StateLike, p: Parameters, on: np.ndarray | None = None) -> Tangent:
    """The tangent of the active rows, `on` (m,) bool (default: all), at a state."""
    A, M, policy = system.constraint_matrix(state, p=p), system.mass_matrix(state, p=p), rank_policy(system, p)
    return Tangent.of(A, M, policy) if on is None else Tangent.of(A[on], M, policy, policy.sizes[on])
