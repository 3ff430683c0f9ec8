"""Whether a mechanism has a position in which a task takes given values: Φ(q) = 0 and θ(q) = θ_d."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.control.plant import Plant
from dalembert.rank import angular_velocities, rank_policy
from dalembert.system.state import State

ITERATIONS = 100
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
