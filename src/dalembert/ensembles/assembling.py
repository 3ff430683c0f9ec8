"""Assembly of many runs at once, by Newton's method from one closed state.

Each run holds its own values of the named coordinates and has its own parameters. With A the constraint rows and E the
rows that hold, a step is the shortest in the mass metric,

    δ = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ (Φ, 0),    J = (A; E),                                                    (1)

and the velocity is the smallest with J v = (−b, held). Runs that do not come to the manifold so, or whose J is nearly
dependent, are left to `System.assemble`, which tries harder and tells what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.rank import angular_velocities, usual_sizes
from dalembert.system.state import State
from dalembert.system.system import System

STEPS = 12
FAR = 0.5  # rad, or of the mechanism's length: a step that may lead to another branch
CLOSED = 1e-13  # of the mechanism's length
DEPENDENT = 1e-6  # least over largest eigenvalue of the scaled J M⁻¹ Jᵀ


def assembled(
    system: System, like: State, q: Mapping[str, np.ndarray], v: Mapping[str, np.ndarray], p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, nq) positions, (n, nv) velocities and (n,) whether they are right, from a closed state like the others."""
    n, layout = len(p), system.layout
    Q, V, good = np.tile(like.q, (n, 1)), np.zeros((n, system.nv)), np.ones(n, dtype=bool)
    fixed = _places(q, layout.q_names, layout.q_slice, np.arange(system.nq))
    held = _places(q, layout.v_names, layout.v_slice, np.arange(system.nv))
    moved = _places(v, layout.v_names, layout.v_slice, np.arange(system.nv))
    if len(fixed) != len(held):  # a quaternion
        return Q, V, np.zeros(n, dtype=bool)
    Q[:, fixed] = np.column_stack([np.zeros((n, 0)), *q.values()])
    speeds = np.column_stack([np.zeros((n, 0)), *v.values()])
    length = usual_sizes(system, p)[1][:, None]
    reach, units = (np.where(turns, 1.0, length) for turns in (angular_velocities(system), system.rows.angular))
    plus = system.kernel("plus")
    for _ in range(STEPS):
        phi, solve, independent = _equations(system, Q, p, like.t, held)
        good &= independent
        delta = solve(np.hstack([-phi, np.zeros((n, len(held)))]))
        good &= np.isfinite(delta).all(axis=1) & (np.abs(delta / reach).max(axis=1, initial=0.0) < FAR)
        delta[~good] = 0.0
        Q = plus.batch(Q, delta)
        if (np.abs(phi / units)[good].max(initial=0.0)) < 1e-8:  # the step just taken squares it
            break
    phi, solve, independent = _equations(system, Q, p, like.t, moved)
    good &= independent & (np.abs(phi / units).max(axis=1, initial=0.0) < CLOSED * 10)
    b = _batch(system, "constraints", Q, p, like.t)[2]
    V = solve(np.hstack([-b, speeds]))
    good &= np.isfinite(V).all(axis=1)
    return Q, np.where(good[:, None], V, 0.0), good


def _equations(system: System, Q: np.ndarray, p: np.ndarray, t: float, held: np.ndarray) -> Any:
    """Φ (n, m), the solver of (1) for right-hand sides (n, m + k), and (n,) whether its rows are independent."""
    n, k = len(Q), len(held)
    phi, A, _ = _batch(system, "constraints", Q, p, t)
    M = _batch(system, "mass_matrix", Q, p, t)
    E = np.broadcast_to(np.eye(system.nv)[held], (n, k, system.nv))
    J = np.concatenate([A, E], axis=1)
    with np.errstate(all="ignore"):
        W = np.linalg.solve(M, np.swapaxes(J, 1, 2))  # M⁻¹ Jᵀ
        G = J @ W
        size = np.sqrt(np.einsum("kii->ki", G))
        scaled = G / size[:, :, None] / size[:, None, :]
    finite = np.isfinite(scaled).all(axis=(1, 2))
    scaled[~finite] = np.eye(scaled.shape[1])
    values, vectors = np.linalg.eigh(scaled)
    independent = finite & (values[:, :1] > DEPENDENT * values[:, -1:]).all(axis=1)
    values[~independent] = 1.0

    def solve(right: np.ndarray) -> np.ndarray:
        y = np.einsum("kji,kj->ki", vectors, right / size) / values
        return np.einsum("kij,kj->ki", W, np.einsum("kij,kj->ki", vectors, y) / size)

    return phi, solve, independent


def _batch(system: System, name: str, Q: np.ndarray, p: np.ndarray, t: float) -> Any:
    kernel = system.kernel(name)
    known = {"q": Q, "p": p, "t": np.full((len(Q), 1), t)}
    return kernel.batch(*(known[a] for a in kernel.names_in))


def _places(names: Mapping[str, Any], known: Any, where: Any, all_places: np.ndarray) -> np.ndarray:
    """Indices of coordinates or velocities, by their names or those of joints."""
    found = [[list(known).index(name)] if name in known else all_places[where(name)] for name in names]
    return np.concatenate([np.zeros(0, dtype=int), *found]).astype(int)
