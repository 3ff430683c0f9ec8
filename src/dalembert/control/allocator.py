"""Forces for a plant: the native update with its bounds, and what Python asks of it.

An `Allocator` never changes after it is made. Every call works in an `Allocation` of its own (`take`, `give`), so that
threads can share a controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.checks import choice, number
from dalembert.control.bounds import Cone, MotionBounds, ReactionBounds
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
from dalembert.statics.limits import Bounds
from dalembert.system.acceleration import limits as rank_limits
from dalembert.system.formulation_options import metric_factor
from dalembert.system.state import State

INADMISSIBLE = 1e-7  # of its terms: by how much an acceleration may miss the constraints


class Allocator:
    """A plant with a metric of forces, bounds and wanted forces."""

    def __init__(
        self,
        plant: Plant,
        metric: MetricGiven = "euclidean",
        limits: LimitsGiven = None,
        reactions: Mapping[str, Any] | None = None,
        cones: Iterable[Cone] | None = None,
        tolerance: float = 1e-9,
        wanted: Iterable[str] = (),
        motion: MotionBounds | None = None,
        **numbers: Any,
    ):
        """wanted: rows and measures whose values are asked for. numbers: fields of the `Allocation` by name."""
        self.plant, self.system = plant, plant.system
        tolerance = number(tolerance, "tolerance", above=0.0, below=1.0)
        floor = rank_limits(self.system, plant.p).floor
        self.bounds = Bounds.of(plant.actuators.names, limits, "actuator").within(self.system.layout.mechanism.forces)
        limited = limits is not None or bool(np.isfinite([self.bounds.lower, self.bounds.upper]).any())
        self.reactions = ReactionBounds.of(plant.force_names, reactions, cones)
        self.motion = MotionBounds.of(self.system, None, None, None) if motion is None else motion
        self.bounded = any((limited, len(self.reactions.C), self.reactions.cones, len(self.motion.names)))
        pick = np.zeros((len(tuple(wanted)), len(plant.force_names)))
        for k, name in enumerate(wanted):
            pick[k, plant.force_names.index(name)] = 1.0
        self.template = make_allocation(
            plant, pick=pick, **self.reactions.arrays(), tolerance=tolerance, floor=floor, bounded=int(self.bounded),
            freedom=self.motion.freedom, place=self.motion.place, f_bounds=self.motion.values.ravel().copy(),
            u_lower=self.bounds.lower.copy(), u_upper=self.bounds.upper.copy(), **numbers,
        )  # fmt: skip
        self.template.cost_kind = self._metric(metric)
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
        a.active[:] = self.system.arguments.active_rows(active)

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

    def holding(self, a: Allocation, state: State) -> tuple[str, ...]:
        """The bounds that hold u where it is, or that contradict what is asked, by name."""
        if not a.limited:
            return ()
        s, na, nc, nk, nf = a.levels, a.na, a.nc, a.nk, a.nf
        of, motors, out = self.reactions, self.bounds, []
        for k in np.flatnonzero(s.pressed[: s.count]):
            i = int(a.ids[k])
            if i < 2 * na:
                low = i < na
                b, n = (motors.lower if low else motors.upper)[i % na], motors.names[i % na]
                out.append(f"{n} {'≥' if low else '≤'} {b:g}")
            elif (i := i - 2 * na) < 2 * nc:
                low = i < nc
                b, n = (of.bounds.lower if low else of.bounds.upper)[i % nc], of.bounds.names[i % nc]
                out.append(f"{n} {'≥' if low else '≤'} {b:g}")
            elif (i := i - 2 * nc) < nk:
                out.append(of.cones[i][0])
            else:
                i -= nk
                f = i % nf
                at = state.q[self.motion.place[f]], state.v[self.motion.freedom[f]]
                out.append(self.motion.allowed(f, *at, a.limit_rate)[i >= nf][1])
        return tuple(dict.fromkeys(out))

    def forces_of(self, a: Allocation) -> np.ndarray:
        """(m + nm,) multipliers and measures."""
        return np.concatenate([a.problem.multipliers, a.S @ a.problem.multipliers])

    def broken(self, a: Allocation, state: State, slack: float, usual: float) -> dict[str, float]:
        """Bounds of forces and motions that are not kept, and by how much; usual: a size of multipliers."""
        on = np.concatenate([a.active != 0, ~((a.S != 0) & (a.active == 0)).any(axis=1)])
        out = self.reactions.missed(self.forces_of(a), on, slack, usual)
        for k in range(a.nf):
            d = self.motion.freedom[k]
            (low, below), (high, above) = self.motion.allowed(
                k, state.q[self.motion.place[k]], state.v[d], a.limit_rate
            )
            x, least = a.motion[d], slack * (np.abs(a.motion).max() + np.abs(a.c).max())
            if x < low - least:
                out[below] = float(low - x)
            if x > high + least:
                out[above] = float(x - high)
        return out

    def driven(self, a: Allocation) -> tuple[np.ndarray, np.ndarray]:
        """N = KᵀB and r = Kᵀ(M v̇ − f), where the last update was: forces u produce the motion where N u = r."""
        K = a.K[: a.mobility]
        return K @ a.B, K @ a.required_force

    def complete(self, a: Allocation, state: State, named: Mapping[str, Any]) -> tuple[float, bool]:
        """The smallest admissible v̇ with the named entries, into wanted_motion.

        Returns by how much they are missed at most, and whether that is more than rounding.
        """
        layout, names = self.system.layout, self.system.v_names
        values = self.system.arguments.velocity_vector(named, "acceleration")
        chosen = [
            k
            for key in named
            for k in (range(len(names))[layout.v_slice(key)] if key not in names else [names.index(key)])
        ]
        a.wanted_motion[:] = 0.0
        if self.run(a, state.t, state, GIVEN) != 0:
            return 0.0, False
        K, c = a.K[: a.mobility].T, a.c
        usual = 1.0 / np.sqrt(np.diag(a.problem.M)[chosen])  # a velocity of one joule in each: rows of one size
        y = np.linalg.lstsq(K[chosen] / usual[:, None], (values[chosen] - c[chosen]) / usual, rcond=1e-10)[0]
        a.wanted_motion[:] = c + K @ y
        off = np.abs(a.wanted_motion[chosen] - values[chosen])
        terms = np.abs(values[chosen]) + np.abs(c[chosen]) + np.abs(K[chosen]) @ np.abs(y)
        return float(off.max(initial=0.0)), bool((off > INADMISSIBLE * terms).any())

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
