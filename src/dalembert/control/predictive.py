"""Model predictive control on a linear model: a quadratic program over a horizon at every sample.

    min Σ xₖᵀQ xₖ + δuₖᵀR δuₖ + x_Nᵀ S x_N,   xₖ₊₁ = A xₖ + B δuₖ + c,   u within limits, x within bounds     (1)

S and K are cost-to-go and gain of `da.lqr`. With p_N = 0, pₖ = (A − BK)ᵀ (pₖ₊₁ + S c) and L Lᵀ = R + BᵀSB, the inputs

    δuₖ = −K xₖ − (L Lᵀ)⁻¹ Bᵀ (pₖ₊₁ + S c) + L⁻ᵀ yₖ                                                            (2)

make the sum ‖y‖² and a constant (completion of squares, Åström & Wittenmark 11.2). So the law is the regulator y = 0
where limits and bounds allow it, and else the point of a polyhedron nearest to 0:

    min ‖y‖²   with   lower ≤ G y + g(x₀) ≤ upper                                                             (3)

x is predicted under feedback, so that G stays moderate however unstable the mechanism is (`nearest`). Where (3) has no
solution, plans that miss the bounds of states by least are sought first, with slacks; then all these bounds are widened
by one share of their widths, ROOM times that of the least misses, and (3) is solved again.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import number, whole
from dalembert.control.nearest import NearestPoint
from dalembert.errors import ArgumentError
from dalembert.linearization.lqr import Weights, lqr, positive_definite, weight_matrix
from dalembert.linearization.model import LinearModel, check_model
from dalembert.protocols import StateGiven
from dalembert.statics.limits import Bounds

SOFT = 1e6  # times what it costs to move a state as far: a miss, where the least misses are sought
ROOM = 2.0  # times the least misses: at 1 no plan is left to choose from, and inputs go from limit to limit


@dataclass(frozen=True, eq=False)
class Prediction:
    """What `PredictiveControl` plans from a state on: inputs, predicted states, and bounds that are missed."""

    inputs: np.ndarray  # (horizon, inputs) held for a step each
    states: np.ndarray  # (horizon + 1, states) deviations from the model's state, at the samples
    missed: dict[str, float]  # {state: by how much its bounds are exceeded at most}; empty where all can be kept
    share: float  # the largest of these, each of half the width of its bounds

    @property
    def message(self) -> str:
        """A sentence on the bounds."""
        each = ", ".join(f"'{name}' by {e:.3g}" for name, e in self.missed.items())
        return f"the plan exceeds the bounds of {each}" if each else "the plan keeps all bounds"


class PredictiveControl:
    """u(t, state) by model predictive control: the first inputs of the best motion over a horizon.

    t: s. state: the `State` of the mechanism. model: a `LinearModel` with a step, which is the `period` of the run;
    another one is refused. horizon: steps. Q, R: as in `da.lqr`. limits: {input: bound or (lower, upper)} of the
    inputs, kept always. bounds: the same for states, as deviations from the model's state, at the samples of the
    horizon. Where limits and bounds can be kept together, they are: to 1e-9 of what the plan changes. Where not, all
    bounds of states are widened by one share of their widths, twice that of the least misses, which `explain`,
    `remarks` and `run.remarks` report.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.cart_pole().compile()
    >>> upright = system.state(*zoo.cart_pole_start())
    >>> model = da.linearize(system, upright).discretize(0.02)
    >>> law = control.PredictiveControl(model, 40, {"cart": 1.0, "phi1": 10.0}, 0.1, limits=15.0, bounds={"cart": 0.15})
    >>> run = da.simulate(system, upright.replace(q=upright.q + [0.0, 0.1]), 4.0, u=law, period=0.02)
    >>> bool(abs(run["cart"]).max() < 0.16), bool(abs(run["phi1"][-1] - upright["phi1"]) < 1e-2)
    (True, True)
    """

    def __init__(
        self,
        model: LinearModel,
        horizon: int,
        Q: Weights = None,
        R: Weights = None,
        *,
        limits: Mapping[str, Any] | float | None = None,
        bounds: Mapping[str, Any] | None = None,
    ):
        check_model(model)
        if model.step is None:
            raise ArgumentError("the model has no step; needed: model.discretize(step).")
        self.model, self.horizon = model, whole(horizon, "horizon", least=1, most=1000)
        self.limits = Bounds.of(model.input_names, limits, "input")
        self.bounds = Bounds.of(model.state_names, bounds, "state")
        regulator = lqr(model, Q, R)
        self._K, N = regulator.K, self.horizon
        A, B, S, c = model.A, model.B, regulator.cost, model.rate
        V = positive_definite(weight_matrix(R, model.input_names, 1.0, "R"))
        n, m = B.shape
        inverse = np.linalg.inv(np.linalg.cholesky(V + B.T @ S @ B))  # L⁻¹
        self._closed, self._constant = A - B @ self._K, np.zeros((N, m))
        p = np.zeros(n)
        for k in reversed(range(N)):
            self._constant[k] = -inverse.T @ (inverse @ (B.T @ (p + S @ c)))
            p = self._closed.T @ (p + S @ c)
        X, U = np.zeros((N + 1, n, N * m)), np.zeros((N, m, N * m))  # ∂x/∂y, ∂u/∂y
        for k in range(N):
            own = slice(k * m, (k + 1) * m)
            U[k] = -self._K @ X[k]
            U[k][:, own] += inverse.T
            X[k + 1] = self._closed @ X[k]
            X[k + 1][:, own] += B @ inverse.T
        limited, bounded = (np.isfinite(b.lower) | np.isfinite(b.upper) for b in (self.limits, self.bounds))
        self._limited, self._bounded, self._factor = limited, bounded, inverse
        G = np.vstack([U[:, limited].reshape(-1, N * m), X[1:, bounded].reshape(-1, N * m)])
        moved = np.linalg.norm(X[1:], axis=2).max(axis=0)  # a state, by a y of length 1
        moved[moved == 0] = 1.0
        width = (self.bounds.upper - self.bounds.lower) / 2
        self._width = np.where(np.isfinite(width) & (width > 0), width, moved)
        self._room = np.tile(self._width[bounded], N)
        self._soft = np.append(np.zeros(N * limited.sum()), np.tile(moved[bounded] / SOFT**0.5, N))
        self._lower, self._upper = (
            np.append(np.tile(u[limited], N), np.tile(x[bounded], N))
            for u, x in ((self.limits.lower, self.bounds.lower), (self.limits.upper, self.bounds.upper))
        )
        self._nearest = NearestPoint(G)
        self.reset()

    def reset(self) -> None:
        """Forget which bounds were missed."""
        self._missed: tuple[float, float, float, Prediction] | None = None  # from, to, when most, and then

    def fresh(self) -> PredictiveControl:
        """A copy that remembers no missed bounds; `simulate` makes one per run."""
        other = copy(self)
        other.reset()
        return other

    @property
    def sampling_period(self) -> float:
        """The sampling period of the model, s."""
        assert self.model.step is not None
        return self.model.step

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences on the updates so far: when bounds of states could not be kept; `run.summary()` has them."""
        if self._missed is None:
            return ()
        first, last, most, found = self._missed
        when = f"between t = {first:.6g} s and {last:.6g} s" if last > first else f"at t = {first:.6g} s"
        return (
            f"{when} predictive control could not keep bounds of states within the limits of the inputs: at t = "
            f"{most:.6g} s {found.message}",
        )

    def __call__(self, t: float, state: StateGiven) -> np.ndarray:
        """(inputs,) for a state of the mechanism; the time t (s) is for `remarks` alone."""
        t, found = number(t, "t"), self.explain(t, state)
        if found.missed:
            first, _, most, worst = self._missed or (t, t, t, found)
            self._missed = (first, t, t, found) if found.share > worst.share else (first, t, most, worst)
        return found.inputs[0]

    def plan(self, state: StateGiven) -> np.ndarray:
        """(horizon, inputs) the inputs that are planned from a state on."""
        return self.explain(0.0, state).inputs

    def explain(self, t: float, state: StateGiven) -> Prediction:
        """Inputs and states over the horizon from a state on, and bounds that they miss; the time t does not matter."""
        x0 = self.model.deviation(state)
        u, x = self._motion(x0, self._constant)
        at = np.concatenate([u[:, self._limited].ravel(), x[1:, self._bounded].ravel()])
        lower, upper = self._lower - at, self._upper - at
        y = self._nearest(lower, upper)
        kept = y is not None
        if y is None:
            y = self._widened(x0, lower, upper)
        u, x = self._motion(x0, self._more(y), self.limits)
        off = np.zeros(len(x0)) if kept else self._off(x)
        missed = {name: float(e) for name, e in zip(self.bounds.names, off) if e > 0}
        return Prediction(u, x, missed, float((off / self._width).max(initial=0.0)))

    def _widened(self, x0: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """y of the best plan within bounds that are ROOM times as much wider as the least misses ask for."""
        y = self._nearest(lower, upper, self._soft)
        if y is None:  # no inputs within limits hold the mechanism: the regulator's, cut at the limits
            return np.zeros(self._constant.size)
        share = float((self._off(self._motion(x0, self._more(y), self.limits)[1]) / self._width).max())
        room = ROOM * share * np.append(np.zeros(len(lower) - len(self._room)), self._room)
        wide = self._nearest(lower - room, upper + room)
        return y if wide is None else wide

    def _more(self, y: np.ndarray) -> np.ndarray:
        """(horizon, inputs) what (2) adds to −K x."""
        return self._constant + y.reshape(self._constant.shape) @ self._factor

    def _off(self, x: np.ndarray) -> np.ndarray:
        """(states,) by how much states after the first one exceed their bounds at most; below 0 where they do not."""
        return np.maximum(self.bounds.lower - x[1:], x[1:] - self.bounds.upper).max(axis=0)

    def _motion(self, x0: np.ndarray, more: np.ndarray, limits: Bounds | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (horizon, inputs), within limits, and states (horizon + 1, states): the regulator's, and `more`."""
        model, x = self.model, [x0]
        u0, u = model.operating.u, []
        for w in more:
            wanted = u0 - self._K @ x[-1] + w
            u.append(wanted if limits is None else np.clip(wanted, limits.lower, limits.upper))
            x.append(model.A @ x[-1] + model.B @ (u[-1] - u0) + model.rate)
        return np.array(u), np.array(x)
