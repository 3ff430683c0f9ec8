"""Limits of expressions on the way, as costs: the augmented Lagrangian method.

A limit c(x) ≤ 0 with a multiplier λ ≥ 0 and a weight ρ costs

    (max(0, λ + ρ c)² − λ²) / 2ρ,   and after a search   λ ← max(0, λ + ρ c)                                   (1)

(Bertsekas 1982; Howell, Jackson and Manchester 2019 for motions). The second derivative is exact but for the kink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.control.stage_costs import Expansions, StageCost
from dalembert.mechanism.constraints.expression import Expression
from dalembert.system.system import System


class PathCosts:
    """Limits (function, lower, upper) at the states 1 … N of a motion, with their multipliers."""

    def __init__(self, system: System, path: Sequence[tuple[Expression, float, float]], steps: int):
        self.values = [StageCost(system, CostOfState(f), f"path[{k}]") for k, (f, _, _) in enumerate(path)]
        self.sides = [  # value ≤ upper, lower ≤ value
            (k, sign, sign * bound)
            for k, (_, low, high) in enumerate(path)
            for sign, bound in ((1.0, high), (-1.0, low))
            if np.isfinite(bound)
        ]
        self.multipliers, self.weight = np.zeros((len(self.sides), steps + 1)), 1.0

    def __bool__(self) -> bool:
        return bool(self.sides)

    def begin(self, cost: float, violation: float) -> None:
        """Choose the first weight so that a violation as large as that of the guess costs as much as its motion."""
        self.weight = max(1e-3, abs(cost)) / max(violation, 1e-3) ** 2
        self.multipliers[:] = 0.0

    def at(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray, t: np.ndarray) -> Expansions:
        """(1) at N + 1 states, with derivatives."""
        found = [value.at(q, v, u, p, t) for value in self.values]
        size = found[0].gradient.shape[1]
        total = Expansions(np.zeros(len(q)), np.zeros((len(q), size)), np.zeros((len(q), size, size)))
        for (k, sign, bound), multiplier in zip(self.sides, self.multipliers):
            x = found[k]
            pull = np.maximum(0.0, multiplier + self.weight * (sign * x.value - bound))
            pull[0] = 0.0  # the start is given
            total.value[1:] += (pull**2 - multiplier**2)[1:] / (2 * self.weight)
            total.gradient[:] += (pull * sign)[:, None] * x.gradient
            outer = x.gradient[:, :, None] * x.gradient[:, None, :]
            total.hessian[:] += (pull > 0)[:, None, None] * self.weight * outer
            total.hessian[:] += (pull * sign)[:, None, None] * x.hessian
        return total

    def excess(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray, t: np.ndarray) -> np.ndarray:
        """(sides, N + 1) how far each limit is exceeded, negative where it is not; 0 at the start."""
        found = [value.at(q, v, u, p, t).value for value in self.values]
        out = np.array([sign * found[k] - bound for k, sign, bound in self.sides])
        out[:, 0] = -np.inf
        return out

    def update(self, excess: np.ndarray, stiffer: bool) -> None:
        """λ of (1) after a search; ten times the weight where violations did not shrink enough."""
        self.multipliers = np.maximum(0.0, self.multipliers + self.weight * excess)
        self.weight *= 10.0 if stiffer else 1.0


class CostOfState:
    """f(state) as f(state, inputs); equal for equal functions, so that nothing is compiled twice."""

    def __init__(self, f: Expression):
        self.f = f

    def __call__(self, state: Any, inputs: Any) -> Any:
        return self.f(state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CostOfState) and other.f == self.f

    def __hash__(self) -> int:
        return hash((CostOfState, self.f))
