"""Linear-quadratic regulators on the minimal model, as controllers of the full mechanism."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.linearization.law_files import write_law
from dalembert.linearization.model import LinearModel, check_model
from dalembert.linearization.trajectory import LinearTrajectory
from dalembert.mechanism.traced import UserState
from dalembert.protocols import StateGiven

LARGEST = 1e100  # weight
Weights = Mapping[str, float] | ArrayLike | None  # by name, a number, a diagonal or a matrix


@dataclass(frozen=True, eq=False)
class Regulator:
    """u(t, state) = u₀ − K x, x the deviation of the named coordinates from the model's state.

    Give it to `simulate(..., u=regulator, period=...)`: it reads the full state of the mechanism.
    """

    K: np.ndarray  # (inputs, states)
    cost: np.ndarray  # (states, states) S of the cost-to-go xᵀ S x
    model: LinearModel  # it was made for
    limits: np.ndarray | None = None  # (inputs, 2) lowest and highest

    def __call__(self, t: float, state: StateGiven) -> np.ndarray:
        """(inputs,) for a state of the mechanism; the time t does not matter."""
        u = self.model.operating.u - self.K @ self.model.deviation(state)
        return u if self.limits is None else np.clip(u, self.limits[:, 0], self.limits[:, 1])

    def traced(self, t: Any, state: UserState) -> ca.SX:
        """(inputs,) as an expression of a traced state: what runs side by side in ensembles evaluate.

        t: the time, which does not matter. state: as a function in `da.expression` sees it.
        """
        op, less = self.model.operating, self.model.reduction
        x = op.traced_deviation(state.traced)[self.model._places]
        x = x if less is None else ca.mtimes(ca.DM(less.project), x)
        u = ca.DM(op.u) - ca.mtimes(ca.DM(self.K), x)
        return u if self.limits is None else ca.fmin(ca.fmax(u, self.limits[:, 0]), self.limits[:, 1])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the law as JSON: names, K, the state and inputs it holds, limits and the step of the model.

        path: of the file. For C: `system.export_c(folder, controllers={name: regulator})`.
        """
        limits = None if self.limits is None else [[_finite(x) for x in pair] for pair in self.limits.tolist()]
        write_law(path, "regulator", self.model, {"K": self.K.tolist(), "limits": limits})

    @property
    def eigenvalues(self) -> np.ndarray:
        """(states,) eigenvalues of the closed loop A − B K."""
        return np.linalg.eigvals(self.model.A - self.model.B @ self.K)


@dataclass(frozen=True, eq=False)
class Tracker:
    """u(t, state) = u₀(t) − K(t) x along a trajectory; between its times by straight lines, after its end as there."""

    K: np.ndarray  # (times, inputs, states)
    cost: np.ndarray  # (times, states, states) S of the cost-to-go xᵀ S x
    trajectory: LinearTrajectory  # it was made for

    def __call__(self, t: float, state: StateGiven) -> np.ndarray:
        """(inputs,) for a state of the mechanism at the time t, s."""
        line, t = self.trajectory, checks.number(t, "t")
        k = int(np.clip(np.searchsorted(line.t, t, side="right") - 1, 0, len(line.t) - 1))
        n = min(k + 1, len(line.t) - 1)
        s = 0.0 if n == k else float(np.clip((t - line.t[k]) / (line.t[n] - line.t[k]), 0.0, 1.0))
        gain, u = (1 - s) * self.K[k] + s * self.K[n], (1 - s) * line.u[k] + s * line.u[n]
        return u - gain @ line.deviation(t, state)


def lqr(
    model: LinearModel,
    Q: Weights = None,
    R: Weights = None,
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
    check_model(model)
    weights = (
        weight_matrix(Q, model.state_names, 0.0, "Q"),
        positive_definite(weight_matrix(R, model.input_names, 1.0, "R")),
    )
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
    return Regulator(K, S, model, None if limits is None else _bounds(limits, model.input_names))


def _bounds(limits: Mapping[str, tuple[float, float]], names: Sequence[str]) -> np.ndarray:
    """(inputs, 2) from limits by name."""
    out = np.tile([-np.inf, np.inf], (len(names), 1))
    for name, pair in checks.mapping(limits, "limits").items():
        if not isinstance(name, str) or name not in names:
            raise unknown("input", name, names, "limits")
        low, high = checks.vector(pair, 2, f"limits['{name}']", finite=False)
        if not low <= high:
            raise ArgumentError(f"limits['{name}'] is ({low:g}, {high:g}); needed: the lowest, then the highest.")
        out[list(names).index(name)] = low, high
    return out


def lqr_along(trajectory: LinearTrajectory, Q: Weights = None, R: Weights = None, final: Weights = None) -> Tracker:
    """The time-varying regulator along a trajectory, by Riccati's recursion backward over its times.

    Inputs are held between two times: give `linearize_along(..., times=)` those at which the law will be sampled.
    Q, R as in `lqr`, per second; final: the weight of the state at the end (default: Q times one second).
    """
    if not isinstance(trajectory, LinearTrajectory):
        raise ArgumentError(f"trajectory is {checks.shown(trajectory)}; needed: what da.linearize_along returns.")
    if len(trajectory.t) < 2 or not trajectory.input_names:
        raise ArgumentError(
            f"the trajectory has {len(trajectory.t)} times and {len(trajectory.input_names)} inputs; needed: two or "
            "more times, and an input."
        )
    names = trajectory.state_names
    W, V = weight_matrix(Q, names, 0.0, "Q"), positive_definite(weight_matrix(R, trajectory.input_names, 1.0, "R"))
    S = W if final is None else weight_matrix(final, names, 0.0, "final")
    gains, costs = [], [S]
    Ad, Bd, steps = trajectory.discretize()
    for A, B, h in zip(Ad[::-1], Bd[::-1], steps[::-1]):
        try:
            K = np.linalg.solve(V * h + B.T @ S @ B, B.T @ S @ A)
        except np.linalg.LinAlgError:
            K = np.full((len(V), len(S)), np.nan)
        if not np.isfinite(K).all():
            raise ArgumentError("Riccati's recursion overflows: the weights are too large, or the trajectory too long.")
        closed = A - B @ K
        S = closed.T @ S @ closed + K.T @ (V * h) @ K + W * h
        gains.append(K)
        costs.append(S)
    gains = gains[::-1]
    return Tracker(np.array([*gains, gains[-1]]), np.array(costs[::-1]), trajectory)


def _finite(x: float) -> float | None:
    """A number, or None where there is no bound: JSON has no infinity."""
    return x if np.isfinite(x) else None


def _gain(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray, step: float | None) -> tuple[np.ndarray, ...]:
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    try:
        if step is None:
            S = solve_continuous_are(A, B, Q, R)
            return np.linalg.solve(R, B.T @ S), S
        S = solve_discrete_are(A, B, Q, R)
        return np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A), S
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ArgumentError(
            f"Riccati's equation has no solution ({error}): a mode on the stability boundary is not seen by Q, or not "
            "reached. Give it a weight in Q, or leave it out with model.without()."
        ) from None


def _grows(value: complex, step: float | None) -> bool:
    return value.real > -1e-9 if step is None else abs(value) > 1 - 1e-9


def positive_definite(R: np.ndarray) -> np.ndarray:
    """R, unless it is not positive definite."""
    if np.linalg.eigvalsh(R).min(initial=1.0) <= 0:
        raise ArgumentError("R is not positive definite; every input needs a positive weight.")
    return R


def weight_matrix(given: Weights, names: Sequence[str], rest: float, what: str) -> np.ndarray:
    """(n, n) weights of n names, positive semidefinite; those that are not named weigh `rest`."""
    n = len(names)
    if given is None:
        return np.eye(n)
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str) or name not in names:
                raise unknown("weight", name, names, what)
        return np.diag([checks.number(given.get(name, rest), f"{what}['{name}']", least=0.0) for name in names])
    W = checks.array(given, None, what)
    if not np.abs(W).max(initial=0.0) <= LARGEST:
        raise ArgumentError(f"{what} has entries up to {np.abs(W).max():.3g}; needed: at most {LARGEST:g}.")
    W = W * np.eye(n) if W.ndim == 0 else np.diag(W) if W.ndim == 1 else W
    if W.shape != (n, n) or not np.allclose(W, W.T):
        raise ArgumentError(
            f"{what} has shape {np.shape(given)}; needed: a number, {n} numbers, or a symmetric ({n}, {n}) matrix for "
            f"{', '.join(names)}."
        )
    if n and np.linalg.eigvalsh(W)[0] < -1e-9 * np.abs(W).max():
        raise ArgumentError(f"{what} is not positive semidefinite; a weight must not be negative.")
    return W
