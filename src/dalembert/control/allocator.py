"""Forces for a plant: the native update, then limits and evidence in NumPy.

An `Allocator` never changes after it is made. Every call works in an `Allocation` of its own (`take`, `give`), so that
threads can share a controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.checks import choice, number, shown
from dalembert.control.native.workspace import (
    CONSTANT,
    FORCES,
    GIVEN,
    MASS_COST,
    REACTIONS,
    WEIGHTED,
    Allocation,
    make_allocation,
)
from dalembert.control.plant import Plant
from dalembert.control.references import LimitsGiven, MetricGiven
from dalembert.errors import ArgumentError, unknown
from dalembert.native.library import call
from dalembert.statics.limits import Bounds, least_change, nearest_in_bounds
from dalembert.system.acceleration import limits as rank_limits
from dalembert.system.formulation_options import metric_factor
from dalembert.system.state import State

INADMISSIBLE = 1e-7  # of its terms: by how much an acceleration may miss the constraints


class Allocator:
    """A plant with a metric of forces and limits."""

    def __init__(
        self,
        plant: Plant,
        metric: MetricGiven = "euclidean",
        limits: LimitsGiven = None,
        reactions: LimitsGiven = None,
        tolerance: float = 1e-9,
        selected: Iterable[int] = (),
        **numbers: float,
    ):
        self.plant, self.system = plant, plant.system
        tolerance = number(tolerance, "tolerance", above=0.0, below=1.0)
        floor = rank_limits(self.system, plant.p).floor
        self.template = make_allocation(plant, list(selected), tolerance=tolerance, floor=floor, **numbers)
        self.template.cost_kind = self._metric(metric)
        if not (reactions is None or isinstance(reactions, Mapping)):
            raise ArgumentError(f"reactions is {shown(reactions)}; needed: bounds by row, {{'loop.row': bound}}.")
        self.bounds = Bounds.of(plant.actuators.names, limits, "actuator")
        self.reactions = Bounds.of(self.system.row_names, reactions, "row")
        self.bounded = limits is not None or reactions is not None
        self._free: list[Allocation] = []
        self._nq, self._n = self.system.nq, self.system.nq + self.system.nv
        self._time = self.template.plant.time_index

    def take(self) -> Allocation:
        """A workspace that nobody else uses, until it is given back."""
        try:
            return self._free.pop()
        except IndexError:
            return self.template.copy()

    def give(self, a: Allocation) -> None:
        """Give a workspace back."""
        self._free.append(a)

    def switch(self, a: Allocation, active: Mapping[str, bool] | None) -> None:
        """Switch constraints on and off."""
        a.active[:] = self.system.active_rows(active)

    def run(self, a: Allocation, t: float, state: State, mode: int) -> int:
        """Run the native update: u, v̇ and ranks go to the workspace, limits are not kept yet. Returns the outcome."""
        nq, x = self._nq, a.plant.x
        x[:nq] = state.q
        x[nq : self._n] = state.v
        if self._time >= 0:
            x[self._time] = t
        a.mode = mode
        call("allocate", a)
        return a.status

    def forces(self, a: Allocation, required: np.ndarray) -> np.ndarray:
        """The shortest forces for M v̇ − f = required, where the last update was; before limits."""
        a.required_force[:], a.mode = required, FORCES
        call("allocate", a)
        return a.u.copy()

    def carry(self, a: Allocation) -> None:
        """λ and Aᵀλ of required_force and u, into the workspace."""
        a.mode = REACTIONS
        call("allocate", a)

    def limited(self, a: Allocation) -> tuple[np.ndarray, tuple[str, ...], bool]:
        """u within the limits, the limits that matter, and whether the motion is kept."""
        start = a.u.copy()
        self.carry(a)
        carried = a.problem.multipliers
        if not self.bounded or (self.bounds.hold(start) and self.reactions.hold(carried)):
            return start, (), True
        N, r = self.driven(a)
        Z = self.null_forces(a, N)
        null = self._multipliers(a, -a.B @ Z)
        blocks = [self.bounds.rows(start, Z), self.reactions.rows(carried, null)]
        G, h = np.vstack([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
        names = [*blocks[0][2], *blocks[1][2]]
        w, z = least_change(G, h)
        acting = tuple(name for name, weight in zip(names, z) if weight > 1e-9 * max(z.max(), 1e-300))
        if w is not None:
            return start + Z @ w, acting, True
        return nearest_in_bounds(N, r, self.bounds, start, self._bounded_reactions(a, N, start)), acting, False

    def _bounded_reactions(self, a: Allocation, N: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G and h of G u ≥ h, the bounds of multipliers where u also changes the motion: v̇ = … + K N u."""
        slope = self._multipliers(a, a.problem.M @ a.K[: a.mobility].T @ N - a.B)
        G, h, _ = self.reactions.rows(a.problem.multipliers - slope @ start, slope)
        return G, h

    def driven(self, a: Allocation) -> tuple[np.ndarray, np.ndarray]:
        """N = KᵀB and r = Kᵀ(M v̇ − f), where the last update was: forces u produce the motion where N u = r."""
        K = a.K[: a.mobility]
        return K @ a.B, K @ a.required_force

    def null_forces(self, a: Allocation, N: np.ndarray) -> np.ndarray:
        """Z (na, nz), forces that move nothing, N Z = 0, orthonormal in the cost."""
        U = np.triu(a.cost)
        _, _, Vt = np.linalg.svd(np.linalg.solve(U.T, N.T).T)
        return np.linalg.solve(U, Vt[a.reach :].T)

    def complete(self, a: Allocation, state: State, named: Mapping[str, Any]) -> tuple[float, bool]:
        """The smallest admissible v̇ with the named entries, into wanted_motion.

        Returns by how much they are missed at most, and whether that is more than rounding.
        """
        layout, names = self.system.layout, self.system.v_names
        values = self.system.velocity_vector(named, "acceleration")
        chosen = [
            k
            for key in named
            for k in (range(len(names))[layout.v_slice(key)] if key not in names else [names.index(key)])
        ]
        a.wanted_motion[:] = 0.0
        if self.run(a, state.t, state, GIVEN) != 0:
            return 0.0, False
        K, c = a.K[: a.mobility].T, a.motion
        usual = 1.0 / np.sqrt(np.diag(a.problem.M)[chosen])  # a velocity of one joule in each: rows of one size
        y = np.linalg.lstsq(K[chosen] / usual[:, None], (values[chosen] - c[chosen]) / usual, rcond=1e-10)[0]
        a.wanted_motion[:] = c + K @ y
        off = np.abs(a.wanted_motion[chosen] - values[chosen])
        terms = np.abs(values[chosen]) + np.abs(c[chosen]) + np.abs(K[chosen]) @ np.abs(y)
        return float(off.max(initial=0.0)), bool((off > INADMISSIBLE * terms).any())

    def _multipliers(self, a: Allocation, forces: np.ndarray) -> np.ndarray:
        """The shortest λ of each column of Aᵀλ."""
        if not self.plant.m:
            return np.zeros((0, forces.shape[1]))
        return np.linalg.lstsq(a.problem.A.T, forces, rcond=1e-10)[0]

    def _metric(self, metric: MetricGiven) -> int:
        """The kind of cost; its numbers go into the template."""
        a, names = self.template, self.plant.actuators.names
        if isinstance(metric, Mapping):
            for name, scale in metric.items():
                if not isinstance(name, str) or name not in names:
                    raise unknown("actuator", name, names, "the metric")
                k = names.index(name)
                a.cost[k, k] = 1.0 / number(scale, f"the scale of actuator '{name}'", above=0.0)
            return CONSTANT
        if isinstance(metric, str):
            return CONSTANT if choice(metric, ("euclidean", "mass"), "metric") == "euclidean" else MASS_COST
        _, a.weight[:] = metric_factor(metric, self.plant.n)
        return WEIGHTED
