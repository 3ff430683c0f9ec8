"""Admissible and constrained motion at a state, in a metric: one factorization, many small uses of it.

With W = RᵀR the metric, Ã = A R⁻¹ and Q₂ a basis of its null space:

    P = R⁻¹ Q₂ Q₂ᵀ R            projector on admissible motion: Aghili's P (15) for W = 1,
                                Kövecses & Piedboeuf's P_a (17) for W = M
    A⁺ = R⁻¹ Ã⁺                 generalized inverse of A: Kövecses & Piedboeuf's (18) for W = M
    c = −A⁺ γ                   the acceleration the constraints ask for by themselves: Aghili's C q̇ (16)
    K = R⁻¹ Q₂                  null-space basis, Kᵀ W K = 1: Spencer's V₂ (3.1) for W = 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert import checks
from dalembert.analysis.manifold import Tangent
from dalembert.lazy import cached_property
from dalembert.protocols import Parameters, StateLike, SystemLike, check_system
from dalembert.rank import angular_velocities, rank_policy, reach

LARGE = 1e100  # of lengths and limits, and its inverse the least: their squares are weights


@dataclass(frozen=True, eq=False)
class Subspaces:
    """Projectors and bases of admissible and constrained motion, in the order of the mechanism's velocities."""

    M: np.ndarray  # (nv, nv) mass matrix
    A: np.ndarray  # (m, nv) active rows of the constraints
    gamma: np.ndarray  # (m,) γ of A v̇ + γ = 0
    tangent: Tangent  # A in the metric, factored
    mass_metric: bool  # whether the metric is M
    reach: np.ndarray  # (nv,) 1 rad, or the length of the mechanism

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
    def inverse(self) -> np.ndarray:
        """(nv, m) W of Kövecses & Piedboeuf (18), the generalized inverse of A: the shortest motion of each row.

        M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹ in the mass metric, where the rows are independent; else L⁻¹(A L⁻¹)† with M = LᵀL.
        """
        return self.tangent.shortest(np.eye(len(self.A)))

    @cached_property
    def bias(self) -> np.ndarray:
        """(nv,) c, the shortest solution of A c = −γ."""
        return self.tangent.shortest(-self.gamma)

    def constraint_inertia(self, variant: int = 0, scale: float | None = None) -> np.ndarray:
        """(nv, nv) constraint inertia of Aghili in the coordinates R v of the metric (velocities, if Euclidean).

        variant: 0 for his M_c (23), 1 for M_c′ (28), 2 for M_c″ (29). scale: his γ of (29), by default the mean of the
        diagonal of M; see `best_scale`.
        """
        checks.whole(variant, "variant", least=0, most=2)
        if scale is not None:
            scale = checks.number(scale, "scale", above=0.0)
        M, P = self._in_metric()
        Q = np.eye(len(M)) - P
        if variant == 0:
            return M + P @ M - (P @ M).T
        if variant == 1:
            return P @ M @ P + Q @ M @ Q
        return P @ M + (float(np.mean(np.diag(M))) if scale is None else scale) * Q

    @cached_property
    def best_scale(self) -> float:
        """The γ of Aghili's M_c″ (29) that gives it the smallest condition number.

        With P = Q₂Q₂ᵀ and Q₁ beside it M_c″ is [Q₂ᵀMQ₂, Q₂ᵀMQ₁; 0, γ 1]: where nothing is coupled any γ among the
        eigenvalues of Q₂ᵀMQ₂ does, and far from them none.
        """
        from scipy.optimize import minimize_scalar

        M, _ = self._in_metric()
        along = np.linalg.eigvalsh(M)
        low, high = np.log(max(along[0], 1e-12 * along[-1]) / 100), np.log(along[-1] * 100)

        def condition(log_scale: float) -> float:
            return float(np.log(np.linalg.cond(self.constraint_inertia(2, scale=float(np.exp(log_scale))))))

        grid = np.linspace(low, high, 81)
        values = [condition(x) for x in grid]
        k = int(np.argmin(values))
        ends = grid[max(k - 1, 0)], grid[min(k + 1, 80)]
        return float(np.exp(minimize_scalar(condition, bounds=ends, method="bounded", options={"xatol": 1e-9}).x))

    @cached_property
    def cross_coupling(self) -> np.ndarray:
        """μ = (1 − P) M M_c⁻¹ (32): how forces along admissible motion change constraint forces; in R v."""
        M, P = self._in_metric()
        return (np.eye(len(M)) - P) @ M @ np.linalg.inv(self.constraint_inertia())

    @property
    def decoupled(self) -> bool:
        """Whether forces along admissible motions leave constraint forces alone: M P = P M (Proposition 3), μ P = 0.

        Motions and forces are split in the metric. In the mass metric this holds for every mechanism, so the answer
        there is that of the Euclidean metric of the velocities, slides in lengths of the mechanism.
        """
        M, P = self._in_metric()
        if self.mass_metric:
            Q, _ = np.linalg.qr(self.K / self.reach[:, None])
            M, P = self.M * self.reach * self.reach[:, None], Q @ Q.T
        usual = np.sqrt(np.diag(M))
        return bool((np.abs((np.eye(len(M)) - P) @ M @ P) <= 1e-9 * usual * usual[:, None]).all())

    def energies(self, v: np.ndarray) -> tuple[float, float]:
        """Kinetic energies (J) of the admissible and of the constrained part of a velocity v, (nv,).

        In the mass metric they add up to that of v (21).
        """
        v = checks.vector(v, len(self.M), "v")
        a, c = self.P @ v, self.complement @ v
        return float(0.5 * a @ self.M @ a), float(0.5 * c @ self.M @ c)

    def _in_metric(self) -> tuple[np.ndarray, np.ndarray]:
        """M and P for the velocities R v: R^−ᵀ M R⁻¹ and Q₂Q₂ᵀ (Aghili 7.2)."""
        R, Q2 = self.tangent.R, self.tangent.V[:, self.rank :]
        half = np.linalg.solve(R.T, self.M)
        return np.linalg.solve(R.T, half.T).T, Q2 @ Q2.T


def subspaces(
    system: SystemLike,
    state: StateLike,
    p: Parameters,
    on: np.ndarray,
    W: np.ndarray | None,
    tolerance: float,
    epsilon: float = 0.0,
) -> Subspaces:
    """The subspaces of the active rows, `on` (m,) bool, at a state, in the metric W (nv, nv); None is the mass metric.

    tolerance: singular values of A up to this part of the largest count as zero; epsilon: those of A up to this.
    """
    tolerance = checks.number(tolerance, "tolerance", above=0.0, below=1.0)
    M, _, A, gamma = system.evaluate("constrained", state, p=p)
    A, gamma = A[on], gamma[on]
    if checks.number(epsilon, "epsilon", least=0.0) > 0.0 and len(A):
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        kept = sigma > epsilon
        A, gamma = (U * np.where(kept, sigma, 0.0)) @ Vt, U[:, kept] @ (U[:, kept].T @ gamma)
    policy = rank_policy(system, p, 10 * tolerance)
    # in another metric the rows have other lengths: measured by the size of that metric
    sizes = policy.sizes[on] * (1.0 if W is None else np.sqrt(np.trace(M) / np.trace(W)))
    return Subspaces(M, A, gamma, Tangent.of(A, M if W is None else W, policy, sizes), W is None, reach(system, p))


def characteristic_length(system: SystemLike, length: float) -> np.ndarray:
    """(nv,) weights that measure translations in units of a length κ (Aghili 48): 1/κ² for slides, 1 for angles.

    Use them as `metric=` of a system's `acceleration` or `subspaces`. length: κ, m.
    """
    check_system(system)
    length = checks.number(length, "length", least=1 / LARGE, most=LARGE)
    return np.where(angular_velocities(system), 1.0, 1.0 / length**2)


def effort_limits(system: SystemLike, limits: Mapping[str, float]) -> np.ndarray:
    """(nv,) weights f_max² that measure forces by what actuators can give (Aghili 7.2).

    Use them as `metric=` of a system's `acceleration` or `subspaces`. limits: {joint: f_max, N or N m}; joints that
    are not named count as 1.
    """
    check_system(system)
    W = np.ones(system.nv)
    for name, value in checks.mapping(limits, "limits").items():
        where = system.layout.v_slice(name)
        W[where] = checks.number(value, f"the limit of joint '{name}'", least=1 / LARGE, most=LARGE) ** 2
    return W
