"""The equations at one instant between segments, in the mass metric: every row there may be, by element.

With M = L Lᵀ and ν = Lᵀ v a row A becomes A L⁻ᵀ: lengths are energies, orthogonal is orthogonal in the mass metric, and
the rows that hold are cut off by their projector (Kövecses & Piedboeuf).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.lazy import cached_property
from dalembert.rank import massless
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.status import Ended, Status
from dalembert.system.state import State

DEPENDENT = 1e-9  # of a row's length in the mass metric: what is left of one that depends on others
NO_MASS = "{}; give the bodies it moves mass and inertia"
BESIDE = 1e-4  # rad, or of a length: between positions whose difference tells how rows change along a motion
REDUNDANT = 1e-5  # σ of such changes, per rad: those of rows that depend on others everywhere


class Instant:
    """M, f, A, γ, Φ, b and the energy at a state, with all rows of `Changeable.everything`.

    before: an instant at the same time and position, which has the factors of M already. arrival: (nv,) a velocity
    along the branch by which the motion came, in a singular position.
    """

    def __init__(
        self, changeable: Changeable, state: State, u: np.ndarray, p: np.ndarray, before: Instant | None = None,
        arrival: np.ndarray | None = None,
    ):  # fmt: skip
        self.changeable, self.state, self.u, self.p = changeable, state, u, p
        self.measures = changeable.measures(p)
        self.motion = state.v if arrival is None else arrival  # tells the branch in a singular position
        if before is not None:
            self.motion = before.motion
        f, given = changeable.program, {"q": state.q, "v": state.v, "u": u, "p": p, "t": np.array([state.t])}
        found = f(*[given[name] for name in f.names_in])
        M, self.f, self.A, self.gamma, self.phi, _, b, kinetic, potential = found[2:]
        self.b = -b
        self.energy = float(kinetic) + float(potential)  # J
        if before is None:
            self.L = _factor(M, state, changeable, p)
            self.rows = np.linalg.solve(self.L, self.A.T).T  # A L⁻ᵀ
        else:
            self.L, self.rows = before.L, before.rows
        self.nu = self.L.T @ state.v
        self.names, self.gap_row = changeable.row_names, changeable.gap_row

    def of(self, *elements: str) -> list[int]:
        """The rows of constraints and contacts, by their names."""
        if not elements:
            return []
        return [k for k, name in enumerate(self.changeable.everything.rows.of) if name in elements]

    def slip_rows(self, contact: str) -> list[int]:
        """The rows of a contact's slips, without those that always hold."""
        return self.changeable.slip_rows[contact]

    def friction_row(self, velocity: str) -> int:
        """The row of a joint that sticks."""
        return self.changeable.friction_rows[velocity]

    def rows_of(self, mode: HybridMode) -> list[int]:
        """All rows that hold in a mode: of constraints, gaps, what sticks."""
        rows = [*self.of(*mode.held), *(self.gap_row[n] for n, _ in mode.touching)]
        rows += [k for n, how in mode.touching if how == "sticks" for k in self.slip_rows(n)]
        return rows + [self.friction_row(n) for n in mode.sticking]

    @cached_property
    def speeds(self) -> np.ndarray:
        """A v + b of every row."""
        return self.rows @ self.nu + self.b

    @cached_property
    def sizes(self) -> np.ndarray:
        """Size of the terms in A v + b, row by row: the scale for the rounding of a speed."""
        return np.abs(self.A) @ np.abs(self.state.v) + np.abs(self.b)

    @cached_property
    def plain(self) -> tuple[list[float], list[float]]:
        """`sizes` and their units, number by number."""
        return self.sizes.tolist(), self.measures.units.tolist()

    @cached_property
    def rate(self) -> float:
        """1/s: how fast the motion is, by velocities, and by accelerations that forces and friction could cause."""
        unit = self.measures.reach
        a, frictions = np.abs(self.velocities(self.free)), self.changeable.frictions
        if frictions:
            most = np.array([friction.law.breakaway for friction in frictions.values()])
            by_friction = self.velocities(self.rows[[self.friction_row(name) for name in frictions]].T)
            a = np.maximum(a, (most * np.abs(by_friction)).max(axis=1))
        return float(np.maximum(np.abs(self.state.v) / unit, np.sqrt(a / unit)).max(initial=0.0))

    def limits(self, W: np.ndarray, rows: Sequence[int]) -> np.ndarray:
        """(k, n) changes of W times these rows along the motion, per rad, without those that are always dependent."""
        system, v = self.changeable.everything, self.motion
        speed = float(np.abs(v / self.measures.reach).max(initial=0.0))
        if speed == 0.0 or self.b[rows].any():
            return np.zeros((0, len(v)))
        A = [
            system.evaluate("constraints", self.state.replace(q=system.plus(self.state, s / speed * v)), p=self.p)[1]
            for s in (-BESIDE, BESIDE)
        ]
        found = W @ np.linalg.solve(self.L, (A[1] - A[0])[rows].T).T / (2.0 * BESIDE)
        _, sigma, Vt = np.linalg.svd(found, full_matrices=False)
        real = sigma > REDUNDANT
        return sigma[real, None] * Vt[real]

    def stay_dependent(self, rows: Sequence[int], others: Sequence[int]) -> bool:
        """Whether other rows, which depend on these here, also do beside here, wherever these let the motion go."""
        system = self.changeable.everything
        _, sigma, Vt = np.linalg.svd(self.rows[list(rows)])
        free = Vt[int((sigma > DEPENDENT * sigma.max(initial=1e-300)).sum()) :]
        if not len(free):
            return True
        v = self.velocities(free.T @ np.random.default_rng(1).normal(size=len(free)))
        way = v * (BESIDE / float(np.abs(v / self.measures.reach).max()))
        beside = self.state.replace(q=system.plus(self.state, way))
        A = np.linalg.solve(self.L, system.evaluate("constraints", beside, p=self.p)[1].T).T
        unit = A / np.maximum(np.linalg.norm(self.rows, axis=1), 1e-300)[:, None]
        _, sigma, Vt = np.linalg.svd(unit[list(rows)], full_matrices=False)
        basis = Vt[sigma > BESIDE * 1e-2 * sigma.max(initial=1e-300)]
        left = unit[list(others)] - unit[list(others)] @ basis.T @ basis
        return bool(np.abs(left).max(initial=0.0) <= 1e-2 * BESIDE)  # of the second order; else it is BESIDE times 1

    def shortest(self, rows: Sequence[int], forces: np.ndarray) -> np.ndarray:
        """Multipliers of rows without the self-stress in those of contacts, which share them as `sharing` says."""
        of, c = self.changeable.everything.rows.of, self.changeable
        weights = np.array([c.compliance[of[k]] if of[k] in c.contacts else 0.0 for k in rows])
        U, sigma, _ = np.linalg.svd(self.rows[list(rows)])
        N = U[:, int((sigma > DEPENDENT * sigma.max(initial=1e-300)).sum()) :]
        return forces - N @ (np.linalg.pinv(N.T @ (weights[:, None] * N)) @ (N.T @ (weights * forces)))

    def velocities(self, nu: np.ndarray) -> np.ndarray:
        """v of ν."""
        return np.linalg.solve(self.L.T, nu)

    @cached_property
    def free(self) -> np.ndarray:
        """L⁻¹ f: accelerations without constraints."""
        return np.linalg.solve(self.L, self.f)


def _factor(M: np.ndarray, state: State, changeable: Changeable, p: np.ndarray) -> np.ndarray:
    """L of M = L Lᵀ; without it the run ends: forces and impulses make accelerations and jumps without bounds."""
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        still = massless(changeable.base, state, p)
        why = "the mass matrix is not positive definite" if still is None else f"velocity '{still}' moves no mass here"
        raise Ended(Status.NOT_FINITE, NO_MASS.format(why)) from None
