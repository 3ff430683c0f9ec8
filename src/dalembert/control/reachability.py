"""Whether a mechanism has a position in which a task takes given values: Φ(q) = 0 and θ(q) = θ_d."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.control.plant import Plant
from dalembert.rank import angular_velocities, rank_policy
from dalembert.system.state import State

ITERATIONS = 100
MARGIN = 0.03  # of what a row changes where the mechanism moves: how far an edge of the workspace is kept off
ACCURACY = 1e-8  # relative, of Φ and θ


def within_reach(plant: Plant, state: State, t: float, target: np.ndarray, active: np.ndarray) -> bool:
    """Whether such a position is found from this state, by Levenberg and Marquardt's method on the group, q ⊕ δ.

    target: θ_d, (nt,). active: (m,), which rows of the constraints count. A search from one state can miss a position
    that is far away.
    """
    system = plant.system
    rows = system.rows.holonomic & (active != 0)
    policy, still = rank_policy(system, plant.p), np.zeros(plant.n)
    reach = np.where(angular_velocities(system), 1.0, policy.length)
    slopes = plant.values(t, system.state(state.q, still, t))[7]  # θ changes by this where the mechanism moves
    usual = np.maximum(np.linalg.norm(slopes * reach, axis=1), np.abs(target))
    size = np.concatenate([policy.units[rows], np.where(usual > 0, usual, 1.0)])

    def at(q: np.ndarray) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
        x = system.state(q, still, t)
        values = plant.values(t, x)
        phi = system.residuals(x, p=plant.p)[rows]
        r = np.concatenate([phi, values[5] - target]) / size
        return r, lambda: np.vstack([values[2][rows], values[7]]) / size[:, None]

    q, damping = state.q, 1e-3
    r, slope = at(q)
    for _ in range(ITERATIONS):
        if not np.isfinite(r).all() or np.abs(r).max(initial=0.0) < ACCURACY:
            break
        S = slope()
        normal = S.T @ S
        diagonal = damping * np.trace(normal) + 1e-300
        step = np.linalg.solve(normal + diagonal * np.eye(plant.n), -S.T @ r)
        tried = system.plus(system.state(q), step)
        other, slope_there = at(tried)
        if other @ other < r @ r:
            q, r, slope, damping = tried, other, slope_there, max(damping / 10, 1e-14)
        elif damping < 1e6:
            damping *= 10
        else:
            break
    return bool(np.abs(r).max(initial=0.0) < ACCURACY)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The position of a mechanism in which a task comes nearest to its reference."""

    q: np.ndarray  # (nq,)
    theta: np.ndarray  # (nt,) the task there
    inside: np.ndarray  # (nt,) the same, drawn back from the edge of the workspace where that is met
    reached: bool  # whether that is the reference
    message: str  # what is missed


def nearest(
    plant: Plant, state: State, guess: np.ndarray | None, t: float, target: np.ndarray, active: np.ndarray
) -> Nearest:
    """The nearest position, by Gauss and Newton's method along the constraints, damped (Levenberg and Marquardt).

    guess: q to start from, if not that of the state. target: θ_d, (nt,). active: (m,), which rows count. Errors of
    rows are measured by how much the row changes where the mechanism moves.
    """
    system = plant.system
    rows = system.rows.holonomic & (active != 0)
    policy, still = rank_policy(system, plant.p), np.zeros(plant.n)
    reach = np.where(angular_velocities(system), 1.0, policy.length)

    def at(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        x = system.state(q, still, t)
        values = plant.values(t, x)
        return system.residuals(x, p=plant.p)[rows], values[2][rows], values[5], values[7]

    def close(q: np.ndarray) -> np.ndarray:
        for _ in range(8):
            phi, A, _, _ = at(q)
            if np.abs(phi / policy.units[rows]).max(initial=0.0) < 1e-12:
                break
            step = reach * np.linalg.lstsq(A * reach / policy.units[rows][:, None], -phi / policy.units[rows], 1e-8)[0]
            q = system.plus(system.state(q), step)
        return q

    q, damping = close(state.q if guess is None else guess), 1e-4
    phi, A, theta, J = at(q)
    usual = np.maximum(np.linalg.norm(J * reach, axis=1), 1e-300)
    cost = float(np.sum(((theta - target) / usual) ** 2))
    for _ in range(ITERATIONS):
        if cost < ACCURACY**2:
            break
        null = np.linalg.svd(A * reach / policy.units[rows][:, None])[2]
        K = reach[:, None] * null[np.linalg.matrix_rank(A * reach / policy.units[rows][:, None], 1e-8) :].T
        S, r = J @ K / usual[:, None], (target - theta) / usual
        if np.linalg.norm(S.T @ r) < 1e-9 * np.linalg.norm(r):
            break
        step = K @ np.linalg.solve(S.T @ S + damping * np.eye(K.shape[1]), S.T @ r)
        tried = close(system.plus(system.state(q), step))
        phi, A2, theta2, J2 = at(tried)
        other = float(np.sum(((theta2 - target) / usual) ** 2))
        closed = np.abs(phi / policy.units[rows]).max(initial=0.0) < 1e-9
        if closed and other < cost:
            small = cost - other < 1e-12 * cost
            q, A, theta, J, cost, damping = tried, A2, theta2, J2, other, max(damping / 5, 1e-12)
            if small:
                break
        elif damping < 1e3:
            damping *= 10
        else:
            break
    gap = (target - theta) / usual
    back = MARGIN * gap / max(float(np.linalg.norm(gap)), 1e-300)
    off = {n: x for n, x, u in zip(plant.task.names, target - theta, usual) if abs(x) > ACCURACY * u}
    said = ", ".join(f"{n} comes to {target[k] - off[n]:.4g} of {target[k]:.4g}"
                     for k, n in enumerate(plant.task.names) if n in off)  # fmt: skip
    return Nearest(q, theta, theta - usual * back, cost < (10 * ACCURACY) ** 2, said)
