"""Assembly of many positions at once, by Newton's method from closed ones.

Each run holds its own values of the named coordinates and has its own parameters. With A the constraint rows and E the
rows that hold, a step is the shortest in the mass metric,

    δ = −M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁻¹ (Φ, 0),    J = (A; E),                                                    (1)

and velocities and accelerations are the smallest with J v = (−b, held), J a = (−γ, given). Of rows that depend on each
other for good, as many are used as are independent in the closed position; all are looked at in the end. Runs that do
not come to the manifold so, or whose J is nearly dependent, are left to `System.assemble` and `System.sweep`, which try
harder and tell what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.compiler.target import host
from dalembert.rank import angular_velocities, usual_sizes
from dalembert.system.state import State
from dalembert.system.system import System

STEPS = 12
FAR = 0.5  # rad, or of the mechanism's length: a step that may lead to another branch
CLOSED = 1e-12  # of the mechanism's length
DEPENDENT = 1e-6  # least over largest eigenvalue of the scaled J M⁻¹ Jᵀ
BESIDE = 0.3  # of a step along the branch: what a correction to it may be, that it stays on the branch


class Closing:
    """Equations (1) of n runs at one time, of which coordinates by name are held. p: (n, np)."""

    def __init__(self, system: System, like: State, names: Sequence[str], p: np.ndarray) -> None:
        """like: a closed state of the first of these runs."""
        self.system, self.p, self.t, layout = system, p, like.t, system.layout
        rows = independent_rows(system, like, p[0]) if system.rows.of else None
        self.rows = list(range(len(system.rows.of))) if rows is None else list(rows)
        self.fixed = _places(names, layout.q_names, layout.q_slice, np.arange(system.nq))
        self.held = _places(names, layout.v_names, layout.v_slice, np.arange(system.nv))
        length = usual_sizes(system, p)[1][:, None]
        self.reach, self.units = (
            np.where(turns, 1.0, length) for turns in (angular_velocities(system), system.rows.angular)
        )
        self.possible = len(self.fixed) == len(self.held)  # a quaternion is not held number by number

    def close(self, Q: np.ndarray, good: np.ndarray) -> np.ndarray:
        """(n, nq) closed positions from Q, with what Q holds; `good` (n,) becomes False where there is none.

        `first` (n,) is then the size of the first correction, rad or lengths of the mechanism.
        """
        plus, n = self.system.kernel("plus", lanes=host().width), len(Q)
        for k in range(STEPS):
            phi, solve, independent = self.equations(Q, self.held)
            good &= independent
            delta = solve(np.hstack([-phi[:, self.rows], np.zeros((n, len(self.held)))]))
            size = np.abs(delta / self.reach).max(axis=1, initial=0.0)
            if k == 0:
                self.first = size
            good &= np.isfinite(delta).all(axis=1) & (size < FAR)
            delta[~good] = 0.0
            Q = plus.batch(Q, delta)
            if (np.abs(phi / self.units)[good].max(initial=0.0)) < 1e-8:  # the step just taken squares it
                break
        gaps = np.abs(self.batch("constraints", Q)[0] / self.units).max(axis=1, initial=0.0)
        good &= gaps < CLOSED
        if self.system.rows.branch_of:
            good &= (self.batch("branch", Q).reshape(len(Q), -1) >= 0).all(axis=1)
        return Q

    def equations(self, Q: np.ndarray, held: np.ndarray) -> tuple[np.ndarray, Any, np.ndarray]:
        """Φ (n, m), the solver of (1) for right-hand sides (n, rows + k), and (n,) whether J is independent."""
        system, n, k = self.system, len(Q), len(held)
        phi, A, _ = self.batch("constraints", Q)
        M = self.batch("mass_matrix", Q)
        E = np.broadcast_to(np.eye(system.nv)[held], (n, k, system.nv))
        J = np.concatenate([A[:, self.rows], E], axis=1)
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

    def moving(self, Q: np.ndarray, names: Sequence[str], speeds: np.ndarray, good: np.ndarray) -> np.ndarray:
        """(n, nv) smallest velocities with the named ones, (n, k), as given."""
        layout = self.system.layout
        held = _places(names, layout.v_names, layout.v_slice, np.arange(self.system.nv))
        _, solve, independent = self.equations(Q, held)
        good &= independent
        b = self.batch("constraints", Q)[2].reshape(len(Q), -1)
        V = solve(np.hstack([-b[:, self.rows], speeds]))
        good &= np.isfinite(V).all(axis=1)
        return np.where(good[:, None], V, 0.0)

    def batch(self, name: str, Q: np.ndarray, **more: np.ndarray) -> Any:
        """A function of the system at positions Q."""
        kernel = self.system.kernel(name, lanes=host().width)
        known = {"q": Q, "p": self.p, "t": np.full((len(Q), 1), self.t), **more}
        return kernel.batch(*(known[a] for a in kernel.names_in))


def assembled(
    system: System, like: State, q: Mapping[str, np.ndarray], v: Mapping[str, np.ndarray], p: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, nq) positions, (n, nv) velocities and (n,) whether they are right, from a closed state like the others."""
    n, closing = len(p), Closing(system, like, list(q), p)
    Q, V, good = np.tile(like.q, (n, 1)), np.zeros((n, system.nv)), np.full(n, closing.possible)
    if closing.possible:
        Q[:, closing.fixed] = np.column_stack([np.zeros((n, 0)), *q.values()])
        Q = closing.close(Q, good)
        V = closing.moving(Q, list(v), np.column_stack([np.zeros((n, 0)), *v.values()]), good)
    return Q, V, good


def _places(names: Sequence[str], known: Any, where: Any, all_places: np.ndarray) -> np.ndarray:
    """Indices of coordinates or velocities, by their names or those of joints."""
    found = [[list(known).index(name)] if name in known else all_places[where(name)] for name in names]
    return np.concatenate([np.zeros(0, dtype=int), *found]).astype(int)
