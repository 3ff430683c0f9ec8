"""Model predictive control on a linear model: a quadratic program over a horizon at every sample.

    min Σ xₖᵀQ xₖ + δuₖᵀR δuₖ + x_Nᵀ S x_N + ρ Σ sₖ²,   xₖ₊₁ = A xₖ + B δuₖ + rate,
    u within limits, x within bounds widened by the slacks s

with S the cost-to-go of the regulator: without bounds that matter the law is `da.lqr`. States are eliminated; DAQP
(through CasADi) solves for inputs and slacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import whole
from dalembert.errors import ArgumentError, DalembertError
from dalembert.linearization.lqr import Weights, lqr, positive_definite, weight_matrix
from dalembert.linearization.model import LinearModel, check_model
from dalembert.protocols import StateGiven
from dalembert.statics.limits import Bounds

SOFT = 1e4  # of the largest weight: what a slack costs
NONE = 1e20  # a bound that is none


class PredictiveControl:
    """u(t, state) by model predictive control: the first inputs of the best course over a horizon.

    model: a `LinearModel` with a step, which is the `hold` of the run; another one is refused. horizon: steps. Q, R: as
    in `da.lqr`. limits: {input: bound or (lower, upper)} of the inputs, kept. bounds: the same for states, as
    deviations from the model's state, missed by as little as can be where they cannot be kept.

    >>> import dalembert as da
    >>> from dalembert import control, zoo
    >>> system = zoo.cart_pole().compile()
    >>> upright = system.state(*zoo.cart_pole_start())
    >>> model = da.linearize(system, upright).discretize(0.02)
    >>> law = control.PredictiveControl(model, 40, {"cart": 1.0, "phi1": 10.0}, 0.1, limits=15.0, bounds={"cart": 0.15})
    >>> run = da.simulate(system, upright.replace(q=upright.q + [0.0, 0.1]), 4.0, u=law, hold=0.02)
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
        regulator = lqr(model, Q, R)
        n, m, N = len(model.A), len(model.input_names), self.horizon
        W, V = (
            weight_matrix(Q, model.state_names, 0.0, "Q"),
            positive_definite(weight_matrix(R, model.input_names, 1.0, "R")),
        )
        # x = F x₀ + H δu + g, all steps one under another
        F, H, g = np.zeros((N * n, n)), np.zeros((N * n, N * m)), np.zeros(N * n)
        power, drift = np.eye(n), np.zeros(n)
        for k in range(N):
            for j in range(N - k):
                H[(j + k) * n : (j + k + 1) * n, j * m : (j + 1) * m] = power @ model.B
            drift, power = model.A @ drift + model.rate, model.A @ power
            F[k * n : (k + 1) * n], g[k * n : (k + 1) * n] = power, drift
        cost = np.kron(np.eye(N), W)
        cost[-n:, -n:] = regulator.cost
        states = Bounds.of(model.state_names, bounds, "state")
        kept = np.flatnonzero(np.isfinite(states.lower) | np.isfinite(states.upper))
        rows = np.concatenate([k * n + kept for k in range(N)]).astype(int)
        s = len(rows)
        soft = SOFT * max(float(np.abs(W).max(initial=0.0)), float(np.abs(V).max()))
        self._hessian = np.zeros((N * m + s, N * m + s))
        self._hessian[: N * m, : N * m] = 2 * (H.T @ cost @ H + np.kron(np.eye(N), V))
        self._hessian[N * m :, N * m :] = 2 * soft * np.eye(s)
        self._slope = 2 * H.T @ cost
        self._F, self._g, self._rows = F, g, rows
        self._A = np.vstack([np.hstack([H[rows], np.eye(s)]), np.hstack([H[rows], -np.eye(s)])])
        self._low, self._high = np.tile(states.lower[kept], N), np.tile(states.upper[kept], N)
        inputs = Bounds.of(model.input_names, limits, "input")
        u = model.operating.u
        self._least = np.concatenate([np.tile(inputs.lower - u, N), np.zeros(s)])
        self._most = np.concatenate([np.tile(inputs.upper - u, N), np.full(s, np.inf)])
        shape = {"h": ca.DM(self._hessian).sparsity(), "a": ca.Sparsity.dense(*self._A.shape)}
        self._solver = ca.conic("mpc", "daqp", shape, {"error_on_fail": False})

    @property
    def sampling_period(self) -> float:
        """The sampling period of the model, s."""
        assert self.model.step is not None
        return self.model.step

    def __call__(self, t: float, state: StateGiven) -> np.ndarray:
        """(inputs,) for a state of the mechanism; the time t does not matter."""
        return self.plan(state)[0]

    def plan(self, state: StateGiven) -> np.ndarray:
        """(horizon, inputs) the inputs that are planned from a state on."""
        m, N = len(self.model.input_names), self.horizon
        free = self._F @ self.model.deviation(state) + self._g
        at, s = free[self._rows], len(self._rows)
        gradient = np.concatenate([self._slope @ free, np.zeros(s)])
        lower = np.clip(np.concatenate([self._low - at, np.full(s, -np.inf)]), -NONE, NONE)
        upper = np.clip(np.concatenate([np.full(s, np.inf), self._high - at]), -NONE, NONE)
        found = self._solver(
            h=self._hessian, g=gradient, a=self._A, lba=lower, uba=upper,
            lbx=np.clip(self._least, -NONE, NONE), ubx=np.clip(self._most, -NONE, NONE),
        )  # fmt: skip
        if not self._solver.stats()["success"]:
            raise DalembertError(
                "the quadratic program of predictive control was not solved; see its limits and bounds."
            )
        du = np.array(found["x"]).ravel()[: N * m].reshape(N, m)
        return self.model.operating.u + du
