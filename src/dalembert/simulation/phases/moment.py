"""The equations at one moment between phases, in the mass metric: every row there may be, by element.

With M = L Lᵀ and ν = Lᵀ v a row A becomes A L⁻ᵀ: lengths are energies, orthogonal is orthogonal in the mass metric, and
the rows that hold are cut off by their projector (Kövecses & Piedboeuf).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.simulation.phases.mode import Changeable
from dalembert.system.state import State

DEPENDENT = 1e-9  # of a row's length in the mass metric: what is left of one that depends on others


class Moment:
    """M, f, A, γ, Φ and b at a state, with all rows of `Changeable.everything`."""

    def __init__(self, changeable: Changeable, state: State, u: np.ndarray, p: np.ndarray):
        self.changeable, self.state, self.u, self.p = changeable, state, u, p
        system = changeable.everything
        self.M, self.f, self.A, self.gamma = system.evaluate("constrained", state, u=u, p=p)
        self.phi, _, self.b = system.evaluate("constraints", state, p=p)
        self.L = np.linalg.cholesky(self.M)
        self.rows = np.linalg.solve(self.L, self.A.T).T  # A L⁻ᵀ
        self.nu = self.L.T @ state.v
        self.names = system.rows.names

    def at(self, state: State) -> Moment:
        """A copy with another state."""
        return Moment(self.changeable, state, self.u, self.p)

    def of(self, *elements: str) -> list[int]:
        """The rows of constraints and contacts, by their names."""
        of = self.changeable.everything.rows.of
        return [k for k, name in enumerate(of) if name in elements]

    def gap_row(self, contact: str) -> int:
        """The row of a contact's gap."""
        return self.names.index(f"{contact}.gap")

    def slip_rows(self, contact: str) -> list[int]:
        """The rows of a contact's slips, without those that say nothing."""
        named = (f"{contact}.{row}" for row in self.changeable.contacts[contact].slip_names)
        return [self.names.index(name) for name in named if name in self.names]

    def friction_row(self, velocity: str) -> int:
        """The row of a joint that sticks."""
        return self.names.index(f"{self.changeable.frictions[velocity].name}.stick")

    @cached_property
    def speeds(self) -> np.ndarray:
        """A v + b of every row."""
        return self.rows @ self.nu + self.b

    @cached_property
    def sizes(self) -> np.ndarray:
        """Size of the terms in A v + b, row by row: the scale for the rounding of a speed."""
        return np.abs(self.A) @ np.abs(self.state.v) + np.abs(self.b)

    def velocities(self, nu: np.ndarray) -> np.ndarray:
        """v of ν."""
        return np.linalg.solve(self.L.T, nu)

    @cached_property
    def free(self) -> np.ndarray:
        """L⁻¹ f: accelerations without constraints."""
        return np.linalg.solve(self.L, self.f)


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that hold, factored: the shortest solutions of them, and what they leave free."""

    rows: np.ndarray  # (m, n) whitened
    U: np.ndarray  # (m, r)
    sigma: np.ndarray  # (r,)
    V: np.ndarray  # (n, r)
    scale: np.ndarray  # (m,) lengths that rows were divided by

    @staticmethod
    def of(moment: Moment, rows: Sequence[int]) -> Held:
        """Factor some rows of a moment."""
        R = moment.rows[list(rows)]
        scale = np.maximum(np.linalg.norm(R, axis=1), 1e-300)
        if not len(R):
            n = moment.rows.shape[1]
            return Held(R.reshape(0, n), np.zeros((0, 0)), np.zeros(0), np.zeros((n, 0)), scale)
        U, sigma, Vt = np.linalg.svd(R / scale[:, None], full_matrices=False)
        r = int((sigma > DEPENDENT * max(sigma[0], 1e-300)).sum())
        return Held(R, U[:, :r], sigma[:r], Vt[:r].T, scale)

    def step(self, x: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shortest δ with R (x + δ) = wanted, and the multipliers Λ with δ = RᵀΛ."""
        part = self.U.T @ ((wanted - self.rows @ x) / self.scale) / self.sigma
        return self.V @ part, (self.U @ (part / self.sigma)) / self.scale

    def cut(self, x: np.ndarray) -> np.ndarray:
        """Rows, or vectors, without their part along the rows that hold."""
        return x - (x @ self.V) @ self.V.T

    def part(self, x: np.ndarray) -> np.ndarray:
        """Multipliers Λ with RᵀΛ the part of −x along the rows that hold."""
        return -(self.U @ (self.V.T @ x / self.sigma)) / self.scale
