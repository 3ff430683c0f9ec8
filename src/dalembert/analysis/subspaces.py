"""Admissible and constrained motion at a state, in a metric: one factorization, many small uses of it.

With W = RᵀR the metric, Ã = A R⁻¹ and Q₂ a basis of its null space:

    P = R⁻¹ Q₂ Q₂ᵀ R            projector on admissible motion: Aghili's P (15) for W = 1,
                                Kövecses & Piedboeuf's P_a (17) for W = M
    c = −R⁻¹ Ã⁺ γ               the acceleration the constraints ask for by themselves: Aghili's C q̇ (16)
    K = R⁻¹ Q₂                  null-space basis, Kᵀ W K = 1: Spencer's V₂ (3.1) for W = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.analysis.manifold import Tangent
from dalembert.rank import angular_velocities, rank_policy


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Projectors and bases of admissible and constrained motion, in the order of the mechanism's velocities."""

    M: np.ndarray
    A: np.ndarray
    gamma: np.ndarray
    tangent: Tangent

    @property
    def rank(self) -> int:
        """The rank of A."""
        return self.tangent.rank

    @cached_property
    def K(self) -> np.ndarray:
        """(nv, nv − rank) basis of admissible motion, orthonormal in the metric."""
        return self.tangent.admissible

    @cached_property
    def P(self) -> np.ndarray:
        """(nv, nv) projector on admissible motion, self-adjoint in the metric: W P = Pᵀ W."""
        return self.K @ (self.tangent.V[:, self.rank :].T @ self.tangent.R)

    @property
    def complement(self) -> np.ndarray:
        """(nv, nv) projector on constrained motion, P_c."""
        return np.eye(len(self.M)) - self.P

    @cached_property
    def bias(self) -> np.ndarray:
        """(nv,) c, the shortest solution of A c = −γ."""
        return self.tangent.shortest(-self.gamma)

    def constraint_inertia(self, variant: int = 0, scale: float | None = None) -> np.ndarray:
        """Aghili's M_c (23), M_c′ (28) or M_c″ (29) in the coordinates R v of the metric (velocities, if Euclidean).

        scale is the paper's γ of (29), by default the mean of the diagonal.
        """
        M, P = self._in_metric()
        Q = np.eye(len(M)) - P
        if variant == 0:
            return M + P @ M - (P @ M).T
        if variant == 1:
            return P @ M @ P + Q @ M @ Q
        return P @ M + (float(np.mean(np.diag(M))) if scale is None else scale) * Q

    @cached_property
    def cross_coupling(self) -> np.ndarray:
        """μ = (1 − P) M M_c⁻¹ (32): how forces along admissible motion change constraint forces; in R v."""
        M, P = self._in_metric()
        return (np.eye(len(M)) - P) @ M @ np.linalg.inv(self.constraint_inertia())

    @property
    def decoupled(self) -> bool:
        """Whether M keeps the admissible motions among themselves (Proposition 3), so that μ P = 0."""
        M, P = self._in_metric()
        return bool(np.abs((np.eye(len(M)) - P) @ M @ P).max(initial=0.0) <= 1e-9 * np.abs(M).max(initial=1e-300))

    def energies(self, v: np.ndarray) -> tuple[float, float]:
        """Kinetic energy of the admissible and of the constrained part of v; they add up in the mass metric (21)."""
        a, c = self.P @ v, self.complement @ v
        return float(0.5 * a @ self.M @ a), float(0.5 * c @ self.M @ c)

    def _in_metric(self) -> tuple[np.ndarray, np.ndarray]:
        """M and P for the velocities R v: R^−ᵀ M R⁻¹ and Q₂Q₂ᵀ (Aghili 7.2)."""
        R, Q2 = self.tangent.R, self.tangent.V[:, self.rank :]
        half = np.linalg.solve(R.T, self.M)
        return np.linalg.solve(R.T, half.T).T, Q2 @ Q2.T


def subspaces(system: Any, state: Any, p: Any, on: np.ndarray, W: np.ndarray | None, tolerance: float) -> Subspaces:
    """The subspaces of the active rows at a state; W None is the mass metric."""
    M, _, A, gamma = system.evaluate("constrained", state, p=p)
    policy = rank_policy(system, p, 10 * tolerance)
    # in another metric the rows have other lengths: measured by the size of that metric
    sizes = policy.sizes[on] * (1.0 if W is None else np.sqrt(np.trace(M) / np.trace(W)))
    return Subspaces(M, A[on], gamma[on], Tangent.of(A[on], M if W is None else W, policy, sizes))


def characteristic_length(system: Any, length: float) -> np.ndarray:
    """(nv,) weights that measure translations in units of a length (Aghili 48): 1/κ² for slides, 1 for angles."""
    return np.where(angular_velocities(system), 1.0, 1.0 / length**2)


def effort_limits(system: Any, limits: dict[str, float]) -> np.ndarray:
    """(nv,) weights f_max² that measure forces by what actuators can give (Aghili 7.2); the other joints count 1."""
    W = np.ones(system.nv)
    for name, value in limits.items():
        W[system.layout.v_slice(name)] = float(value) ** 2
    return W
