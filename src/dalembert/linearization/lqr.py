"""Linear-quadratic regulators on the minimal model, as controllers of the full mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.linearization.model import LinearModel
from dalembert.linearization.trajectory import LinearTrajectory


@dataclass(frozen=True, eq=False)
class Regulator:
    """u(t, state) = u₀ − K x, x the deviation of the named coordinates from the model's state.

    Give it to `simulate(..., u=regulator, hold=...)`: it reads the full state of the mechanism.
    """

    K: np.ndarray  # (inputs, states)
    cost: np.ndarray  # (states, states) S of the cost-to-go xᵀ S x
    model: LinearModel
    limits: np.ndarray | None = None  # (inputs, 2)

    def __call__(self, t: float, state: Any) -> np.ndarray:
        u = self.model.operating.u - self.K @ self.model.deviation(state)
        return u if self.limits is None else np.clip(u, self.limits[:, 0], self.limits[:, 1])

    @property
    def eigenvalues(self) -> np.ndarray:
        """(states,) eigenvalues of the closed loop A − B K."""
        return np.linalg.eigvals(self.model.A - self.model.B @ self.K)


@dataclass(frozen=True, eq=False)
class Tracker:
    """u(t, state) = u₀(t) − K(t) x along a trajectory; between its times by straight lines, after its end as there."""

    K: np.ndarray  # (times, inputs, states)
    cost: np.ndarray  # (times, states, states)
    trajectory: LinearTrajectory

    def __call__(self, t: float, state: Any) -> np.ndarray:
        line = self.trajectory
        k = int(np.clip(np.searchsorted(line.t, t, side="right") - 1, 0, len(line.t) - 1))
        n = min(k + 1, len(line.t) - 1)
        s = 0.0 if n == k else float(np.clip((t - line.t[k]) / (line.t[n] - line.t[k]), 0.0, 1.0))
        gain, u = (1 - s) * self.K[k] + s * self.K[n], (1 - s) * line.u[k] + s * line.u[n]
        return u - gain @ line.deviation(t, state)


def lqr(
    model: LinearModel,
    Q: Any = None,
    R: Any = None,
    *,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> Regulator:
    """The regulator that keeps ∫ xᵀQx + δuᵀRδu small (or the sum over steps, for a model with a step).

    Q, R: matrices, diagonals, one number, or weights by name (states or inputs that are not named weigh 0 in Q, 1 in
    R); default 1. limits: {input: (lowest, highest)} of what it asks for.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.cart_pole().compile()
    >>> model = da.linearize(system, system.state(*zoo.cart_pole_start()))
    >>> keep = da.lqr(model, {"cart": 1.0, "phi1": 10.0}, 0.1)
    >>> bool((keep.eigenvalues.real < 0).all())
    True
    """
    weights = _weight(Q, model.state_names, 0.0, "Q"), _weight(R, model.input_names, 1.0, "R")
    if np.linalg.eigvalsh(weights[1]).min(initial=1.0) <= 0:
        raise ArgumentError("R is not positive definite; every input needs a positive weight.")
    if not len(model.input_names):
        raise ArgumentError(f"'{model.operating.system.name}' has no inputs; add motors to control it.")
    growing = [h for h in model.uncontrollable if _grows(h.eigenvalue, model.step)]
    if growing:
        lost = "; ".join(map(str, growing))
        raise ArgumentError(
            f"no regulator can stabilize the model: no input reaches {lost}. Leave out cyclic states with "
            "model.without(), or add an input."
        )
    K, S = _gain(model.A, model.B, *weights, model.step)
    bounds = None
    if limits is not None:
        for name in limits:
            if name not in model.input_names:
                raise unknown("input", name, model.input_names)
        bounds = np.array([limits.get(name, (-np.inf, np.inf)) for name in model.input_names], dtype=float)
    return Regulator(K, S, model, bounds)


def lqr_along(trajectory: LinearTrajectory, Q: Any = None, R: Any = None, final: Any = None) -> Tracker:
    """The time-varying regulator along a trajectory, by Riccati's recursion backward over its times.

    Q, R as in `lqr`, per second; final: the weight of the state at the end (default: Q times one second).
    """
    names = trajectory.state_names
    W, V = _weight(Q, names, 0.0, "Q"), _weight(R, trajectory.input_names, 1.0, "R")
    S = W if final is None else _weight(final, names, 0.0, "final")
    gains, costs = [], [S]
    Ad, Bd, steps = trajectory.discretize()
    for A, B, h in zip(Ad[::-1], Bd[::-1], steps[::-1]):
        K = np.linalg.solve(V * h + B.T @ S @ B, B.T @ S @ A)
        closed = A - B @ K
        S = closed.T @ S @ closed + K.T @ (V * h) @ K + W * h
        gains.append(K)
        costs.append(S)
    gains = gains[::-1]
    return Tracker(np.array([*gains, gains[-1]]), np.array(costs[::-1]), trajectory)


def _gain(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, step: float | None) -> tuple[Any, Any]:
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    try:
        if step is None:
            S = solve_continuous_are(A, B, Q, R)
            return np.linalg.solve(R, B.T @ S), S
        S = solve_discrete_are(A, B, Q, R)
        return np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A), S
    except np.linalg.LinAlgError as error:
        raise ArgumentError(
            f"Riccati's equation has no solution ({error}): a mode on the stability boundary is not seen by Q, or not "
            "reached. Give it a weight in Q, or leave it out with model.without()."
        ) from None


def _grows(value: complex, step: float | None) -> bool:
    return value.real > -1e-9 if step is None else abs(value) > 1 - 1e-9


def _weight(given: Any, names: Sequence[str], rest: float, what: str) -> np.ndarray:
    n = len(names)
    if given is None:
        return np.eye(n)
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise unknown("weight", name, names, what)
        return np.diag([float(given.get(name, rest)) for name in names])
    W = np.asarray(given, dtype=float)
    W = W * np.eye(n) if W.ndim == 0 else np.diag(W) if W.ndim == 1 else W
    if W.shape != (n, n) or not np.allclose(W, W.T):
        raise ArgumentError(
            f"{what} has shape {np.shape(given)}; needed: a number, {n} numbers, or a symmetric ({n}, {n}) matrix for "
            f"{', '.join(names)}."
        )
    return W
