"""The constraint manifold at one state: Φ, A, b and the mass metric, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import AssemblyError

RANK_TOLERANCE = 1e-9  # of σ/σ_max, in the mass metric


@dataclass(frozen=True, eq=False)
class Tangent:
    """A whitened by the mass metric, Ã = A R⁻¹ with M = RᵀR, and its singular values (DESIGN section 2)."""

    A: np.ndarray  # (m, nv)
    R: np.ndarray  # (nv, nv)
    U: np.ndarray
    sigma: np.ndarray  # min(m, nv) values, falling
    V: np.ndarray  # (nv, nv), columns
    rank: int

    @staticmethod
    def of(A: np.ndarray, M: np.ndarray, tolerance: float = RANK_TOLERANCE, floor: float = 0.0) -> Tangent:
        """Factor; singular values count above tolerance × the largest and above the floor."""
        if not (np.isfinite(A).all() and np.isfinite(M).all()):
            raise AssemblyError(
                "the constraints are not defined at this configuration (a disc that lies flat, a rod of no length); "
                "start from another one."
            )
        R = np.linalg.cholesky(M).T
        white = np.linalg.solve(R.T, A.T).T
        U, sigma, Vt = np.linalg.svd(white)
        rank = int((sigma > max(tolerance * sigma[0], floor)).sum()) if len(sigma) and sigma[0] > 0 else 0
        return Tangent(A, R, U, sigma, Vt.T, rank)

    def shortest(self, c: np.ndarray) -> np.ndarray:
        """The v of least ‖R v‖ that brings A v nearest to c."""
        r = self.rank
        return np.linalg.solve(self.R, self.V[:, :r] @ ((self.U[:, :r].T @ c) / self.sigma[:r]))

    @property
    def admissible(self) -> np.ndarray:
        """(nv, nv − rank) motions the constraints allow, orthonormal in the mass metric."""
        return np.linalg.solve(self.R, self.V[:, self.rank :])

    @property
    def dependencies(self) -> np.ndarray:
        """(m − rank, m) combinations of rows that vanish."""
        return self.U[:, self.rank :].T


def tangent(system: Any, state: Any, p: Any, on: np.ndarray, tolerance: float = RANK_TOLERANCE) -> Tangent:
    """The tangent of the active rows at a state."""
    A, M = system.constraint_matrix(state, p=p)[on], system.mass_matrix(state, p=p)
    return Tangent.of(A, M, tolerance, system.constraint_floor)
