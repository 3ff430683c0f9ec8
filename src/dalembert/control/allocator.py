"""Forces for a plant: the native update, then limits and evidence in NumPy.

An `Allocator` never changes after it is made. Every call works in an `Allocation` of its own (`take`, `give`), so that
threads can share a controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.checks import choice, number
from dalembert.control.bounds import BROKEN, Cone, Reactions
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
from dalembert.errors import unknown
from dalembert.native.library import call
from dalembert.statics.limits import Bounds, least_change, nearest_in_bounds
from dalembert.system.acceleration import limits as rank_limits
from dalembert.system.formulation_options import metric_factor
from dalembert.system.state import State

CUTS = 40  # tangent planes of a cone at most
INADMISSIBLE = 1e-7  # of its terms: by how much an acceleration may miss the constraints


class Allocator:
    """A plant with a metric of forces and limits."""

    def __init__(
        self,
        plant: Plant,
        metric: MetricGiven = "euclidean",
        limits: LimitsGiven = None,
        reactions: Mapping[str, Any] | None = None,
        cones: Iterable[Cone] | None = None,
        tolerance: float = 1e-9,
        selected: Iterable[int] = (),
        **numbers: float,
    ):
        self.plant, self.system = plant, plant.system
        tolerance = number(tolerance, "tolerance", above=0.0, below=1.0)
        floor = rank_limits(self.system, plant.p).floor
        self.template = make_allocation(plant, list(selected), tolerance=tolerance, floor=floor, **numbers)
        self.template.cost_kind = self._metric(metric)
        self.bounds = Bounds.of(plant.actuators.names, limits, "actuator")
        self.reactions = Reactions.of(self.system.row_names, reactions, cones)
        self.bounded = limits is not None or len(self.reactions.C) > 0
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
        """u within the limits, the limits that matter, and whether the motion is kept.

        First come the limits of actuators, then those of multipliers, the motion, the multipliers that are wanted, and
        least cost: each is kept as far as those before it allow.
        """
        start = a.u.copy()
        self.carry(a)
        carried = a.problem.multipliers.copy()
        reactions = self.reactions.on(a.active)
        if not self.bounded or (self.bounds.hold(start) and not reactions.missed(carried)):
            return start, (), True
        N, _ = self.driven(a)
        slope = self._multipliers(a, a.problem.M @ a.K[: a.mobility].T @ N - a.B)  # λ = carried + slope (u − start)
        usual, cones = np.abs(carried).max(initial=0.0), {name for name, _, _ in reactions.cones}
        for _ in range(CUTS):
            u, acting, kept = self._within(a, reactions, start, carried, slope)
            found = carried + slope @ (u - start)
            more = reactions.cut(found)
            if more is None or reactions.missed(found, BROKEN, usual).keys() - cones:
                break
            reactions = more
        return u, acting, kept

    def _within(
        self, a: Allocation, reactions: Reactions, start: np.ndarray, carried: np.ndarray, slope: np.ndarray
    ) -> tuple[np.ndarray, tuple[str, ...], bool]:
        """The same with planes only: u that keeps the motion at least cost, or else the bounds."""
        N, r = self.driven(a)
        Z, C = self.null_forces(a, N), reactions.C
        S = slope[a.selected] @ Z
        small = 1e-4 * max(1e-300, np.abs(S).max(initial=0.0)) if S.any() else 1.0
        R = np.linalg.qr(np.vstack([S, small * np.eye(Z.shape[1])]))[1]  # what a change w costs: ‖R w‖
        blocks = [self.bounds.rows(start, Z), reactions.bounds.rows(C @ carried, C @ slope @ Z)]
        G, h = np.vstack([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])
        names = [*blocks[0][2], *blocks[1][2]]
        w, z = least_change(np.linalg.solve(R.T, G.T).T, h)
        acting = tuple(dict.fromkeys(n for n, weight in zip(names, z) if weight > 1e-9 * max(z.max(), 1e-300)))
        if w is not None:
            return start + Z @ np.linalg.solve(R, w), acting, True
        G, h, _ = reactions.bounds.rows(C @ (carried - slope @ start), C @ slope)
        return nearest_in_bounds(N, r, self.bounds, start, (G, h)), acting, False

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
