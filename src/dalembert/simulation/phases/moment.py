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
    """M, f, A, γ, Φ, b and the energy at a state, with all rows of `Changeable.everything`.

    before: a moment at the same time and position, which has the factors of M already.
    """

    def __init__(
        self, changeable: Changeable, state: State, u: np.ndarray, p: np.ndarray, before: Moment | None = None
    ):
        self.changeable, self.state, self.u, self.p = changeable, state, u, p
        f, given = changeable.equations, {"q": state.q, "v": state.v, "u": u, "p": p, "t": np.array([state.t])}
        M, self.f, self.A, self.gamma, self.phi, self.b, kinetic, potential = f(*[given[name] for name in f.names_in])
        self.energy = float(kinetic) + float(potential)  # J
        if before is None:
            self.L = np.linalg.cholesky(M)
            self.rows = np.linalg.solve(self.L, self.A.T).T  # A L⁻ᵀ
        else:
            self.L, self.rows = before.L, before.rows
        self.nu = self.L.T @ state.v
        self.names = changeable.everything.rows.names

    def of(self, *elements: str) -> list[int]:
        """The rows of constraints and contacts, by their names."""
        if not elements:
            return []
        return [k for k, name in enumerate(self.changeable.everything.rows.of) if name in elements]

    def gap_row(self, contact: str) -> int:
        """The row of a contact's gap."""
        return self.changeable.row_index[f"{contact}.gap"]

    def slip_rows(self, contact: str) -> list[int]:
        """The rows of a contact's slips, without those that always hold."""
        return self.changeable.slip_rows[contact]

    def friction_row(self, velocity: str) -> int:
        """The row of a joint that sticks."""
        return self.changeable.row_index[f"{self.changeable.frictions[velocity].name}.stick"]

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
        if not rows:
            n = moment.rows.shape[1]
            return Held(np.zeros((0, n)), np.zeros((0, 0)), np.zeros(0), np.zeros((n, 0)), np.zeros(0))
        R = moment.rows[list(rows)]
        scale = np.maximum(np.linalg.norm(R, axis=1), 1e-300)
        U, sigma, Vt = np.linalg.svd(R / scale[:, None], full_matrices=False)
        r = int((sigma > DEPENDENT * max(sigma[0], 1e-300)).sum())
        return Held(R, U[:, :r], sigma[:r], Vt[:r].T, scale)

    def step(self, x: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The shortest δ with R (x + δ) = wanted, and the multipliers Λ with δ = RᵀΛ."""
        if not len(self.scale):
            return np.zeros(len(x)), self.scale
        part = self.U.T @ ((wanted - self.rows @ x) / self.scale) / self.sigma
        return self.V @ part, (self.U @ (part / self.sigma)) / self.scale

    def cut(self, x: np.ndarray) -> np.ndarray:
        """Rows, or vectors, without their part along the rows that hold."""
        return x - (x @ self.V) @ self.V.T if len(self.sigma) else x

    def part(self, x: np.ndarray) -> np.ndarray:
        """Multipliers Λ with RᵀΛ the part of −x along the rows that hold."""
        return -(self.U @ (self.V.T @ x / self.sigma)) / self.scale
