"""A chart at one point of the manifold: its equations as numbers, with (2.27) and (2.28) checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.manifold import Tangent
from dalembert.charts.equations import MORE, MOVING, STILL, moving, slopes, still, tracing
from dalembert.errors import ArgumentError
from dalembert.lazy import cached_property
from dalembert.rank import rank_policy
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.charts.local import LocalChart


@dataclass(frozen=True, eq=False)
class ChartPoint:
    """A state x with coordinates y; w is that of the state."""

    chart: LocalChart
    x: State
    y: np.ndarray  # (dof,)

    # --- numbers ------------------------------------------------------------------------------------------------

    def _evaluate(self, name: str, value: Any, w: np.ndarray) -> Any:
        chart, system = self.chart, self.chart.system
        kernel = system.kernels.custom((name, chart.key), ("q", "v", *MORE, "p", "t"), tracing(chart, value))
        more = {"y": self.y, "ydot": np.concatenate([w, np.zeros(chart.dof - len(w))])}
        more |= {"directions": chart.directions, "reference": chart.reference}
        return system.kernels.at(kernel, self.x, None, chart.p, more)

    @cached_property
    def still(self) -> dict[str, np.ndarray]:
        """R, D1, D2, S1, S2 and S0."""
        n, k, nv = self.chart.dof, self.chart.speeds, self.chart.system.nv
        shapes = (n,), (n, nv), (n, n), (k, nv), (k, k), (k,)
        found = self._evaluate("chart", still, np.zeros(k))
        return {name: np.reshape(x, shape) for name, x, shape in zip(STILL, found, shapes)}

    @cached_property
    def w(self) -> np.ndarray:
        """(speeds,) w = −S₂⁻¹ (S₁ v + S₀)."""
        e = self.still
        return -np.linalg.solve(e["S2"], e["S1"] @ self.x.v + e["S0"])

    @cached_property
    def moving(self) -> dict[str, np.ndarray]:
        """Ṡ at v̇ = 0 and ẇ = 0, Ṡ₁, Ṡ₂ and Ȧ: bias, S1_rate, S2_rate and A_rate."""
        k, nv = self.chart.speeds, self.chart.system.nv
        found = self._evaluate("chart_rates", moving, self.w)
        return {name: np.reshape(x, shape) for name, x, shape in zip(MOVING, found, ((k,), (k, nv), (k, k), (-1, nv)))}

    @cached_property
    def constraints(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, A and b."""
        return self.chart.system.evaluate("constraints", self.x, p=self.chart.p)

    @cached_property
    def mass(self) -> np.ndarray:
        """M."""
        return self.chart.system.mass_matrix(self.x, p=self.chart.p)

    # --- rows ---------------------------------------------------------------------------------------------------

    def _stacked(self, rows: np.ndarray, on: np.ndarray) -> Tangent:
        policy = rank_policy(self.chart.system, self.chart.p)
        lengths = np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(self.mass, rows.T)))
        scale = np.concatenate([np.where(lengths > 0, lengths, 1.0), policy.sizes[on]])
        return Tangent.of(np.vstack([rows, self.constraints[1][on]]), self.mass, policy, scale)

    @cached_property
    def positions(self) -> Tangent:
        """[D₁R; A], holonomic rows."""
        return self._stacked(self.still["D1"], self.chart.system.rows.holonomic)

    @cached_property
    def velocities(self) -> Tangent:
        """[S₁; A], all rows."""
        if self.chart.plain:
            return self.positions
        return self._stacked(self.still["S1"], np.ones(len(self.chart.system.rows.holonomic), dtype=bool))

    @property
    def gap(self) -> np.ndarray:
        """R and Φ of the holonomic rows, one under another."""
        return np.concatenate([self.still["R"], self.constraints[0][self.chart.system.rows.holonomic]])

    # --- conditions ---------------------------------------------------------------------------------------------

    def check_coordinates(self) -> None:
        """Refuse a point where ∂R/∂y is singular (2.27)."""
        D2, dof = self.still["D2"], self.chart.dof
        if not np.isfinite(D2).all():
            raise ArgumentError("∂R/∂y is not finite (2.27): R is not defined for this state and y.")
        found = rank_policy().reveal(D2)
        if found.rank < dof:
            raise ArgumentError(
                f"∂R/∂y is singular (2.27): its rank is {found.rank} of {dof}, its smallest singular value "
                f"{found.sigma[-1]:.2g}, its largest {found.sigma[0]:.2g}. R does not determine the coordinates y."
            )

    def check(self, hint: str = "take a chart around a nearer state, or other coordinates.") -> None:
        """Refuse a point where (2.27) or (2.28) fails, or its like for velocities, saying which and by how much."""
        self.check_coordinates()
        chart, nv = self.chart, self.chart.system.nv
        for rows, what, names, equation in (
            (self.positions, "[∂R/∂q; A]", chart.names, "2.28"),
            (self.velocities, "[∂S/∂v; A]", chart.speed_names, "2.22"),
        ):
            if rows.rank < nv:
                least, largest = _extremes(rows, nv)
                raise ArgumentError(
                    f"{', '.join(names)} are not independent here ({equation}): {what} has rank {rows.rank} of {nv}, "
                    f"its smallest singular value is {least / largest:.2g} of the largest, mass metric. The "
                    f"constraints tie them together, or leave another motion free; {hint}"
                )

    @property
    def condition(self) -> float:
        """Condition number of the worse of [D₁R; A] and [S₁; A], rows of unit length in the mass metric."""
        out = 1.0
        for rows in (self.positions, self.velocities):
            unit = rows.white / np.maximum(np.linalg.norm(rows.white, axis=1, keepdims=True), 1e-300)
            sigma = rank_policy().reveal(unit).sigma
            nv = self.chart.system.nv
            out = max(out, sigma[0] / sigma[nv - 1] if len(unit) >= nv and sigma[nv - 1] > 0 else np.inf)
        return float(out)

    # --- derivatives --------------------------------------------------------------------------------------------

    @cached_property
    def K(self) -> np.ndarray:
        """(nv, dof) ∂Ψ_q/∂y (2.44)."""
        rows, D2 = self.positions, self.still["D2"]
        return rows.shortest(np.vstack([-D2, np.zeros((len(rows.A) - len(D2), len(D2)))]))

    @cached_property
    def K_speed(self) -> np.ndarray:
        """(nv, speeds) ∂v/∂w."""
        rows, S2 = self.velocities, self.still["S2"]
        return rows.shortest(np.vstack([-S2, np.zeros((len(rows.A) - len(S2), len(S2)))]))

    def velocity(self, w: np.ndarray) -> np.ndarray:
        """(nv,) v of w: [S₁; A] v = −[S₂ w + S₀; b]."""
        e = self.still
        return self.velocities.shortest(-np.concatenate([e["S2"] @ w + e["S0"], self.constraints[2]]))

    @property
    def K_rate(self) -> np.ndarray:
        """(nv, speeds) d/dt of `K_speed` along the state's velocity (2.40)."""
        e, K = self.moving, self.K_speed
        return self.velocities.shortest(-np.vstack([e["S1_rate"] @ K + e["S2_rate"], e["A_rate"] @ K]))

    @property
    def bias(self) -> np.ndarray:
        """(nv,) v̇ at ẇ = 0: [S₁; A] v̇ = −[Ṡ; γ] (2.45)."""
        gamma = self.chart.system.constraint_gamma(self.x, p=self.chart.p)
        return self.velocities.shortest(-np.concatenate([self.moving["bias"], gamma]))

    def rates(self, vdot: np.ndarray) -> np.ndarray:
        """(dof + speeds,) ẏ = −D₂R⁻¹ D₁R v, and ẇ = −S₂⁻¹ (S₁ v̇ + Ṡ at v̇ = 0, ẇ = 0) for v̇, (nv,)."""
        e = self.still
        ydot = -np.linalg.solve(e["D2"], e["D1"] @ self.x.v)
        return np.concatenate([ydot, -np.linalg.solve(e["S2"], e["S1"] @ vdot + self.moving["bias"])])

    @property
    def derivative(self) -> np.ndarray:
        """(2 nv, dof + speeds) DΨ = [K 0; ∂v/∂y K_speed] (2.40), in small motions (δ, δv)."""
        n, k, nv = self.chart.dof, self.chart.speeds, self.chart.system.nv
        by_q, by_y, speed_q = (
            np.reshape(x, shape)
            for x, shape in zip(self._evaluate("chart_slopes", slopes, self.w), ((k, nv), (k, n), (-1, nv)))
        )
        lower = self.velocities.shortest(-np.vstack([by_q @ self.K + by_y, speed_q @ self.K]))
        return np.block([[self.K, np.zeros((nv, k))], [lower, self.K_speed]])


def _extremes(rows: Tangent, nv: int) -> tuple[float, float]:
    """Smallest and largest of the nv singular values; zero where there are fewer rows."""
    sigma = rows.sigma
    return float(sigma[nv - 1]) if len(sigma) >= nv else 0.0, max(float(sigma[0]), 1e-300) if len(sigma) else 1.0
