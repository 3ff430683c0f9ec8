"""Impacts: velocities that jump when constraints close or contacts are hit.

    M (v⁺ − v⁻) = AᵀΛ                                                                                       (1)
    A v⁺ + b = −e (A v⁻ + b)             rows that close; e = 0 for those that hold already                  (2)
    w⁺ ≥ −e w⁻, Λ ≥ 0, complementary     contacts that are hit, w their speed of separation (Newton)         (3)

With e = 0 (2) is the orthogonal projection of v⁻ in the mass metric: v⁺ is the nearest velocity that the constraints
admit, and what is lost is ½ ‖v⁺ − v⁻‖² in that metric (Kövecses & Piedboeuf). Contacts are solved for together, with
Coulomb's law for their tangential impulses. Newton's law with friction, or with unequal e, can make energy out of
nothing (Kane); where the impulses would do positive work on the speeds of the contacts, all e are lowered to where they
do none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.simulation.hybrid.contact_forces import ContactRows, contact_forces
from dalembert.simulation.hybrid.factored_rows import FactoredRows
from dalembert.simulation.hybrid.instantaneous import Instant

TRIES = 60  # of the part of restitution that keeps from making energy


@dataclass(frozen=True, eq=False)
class Impact:
    """A jump of velocities."""

    v: np.ndarray  # (nv,) after it
    impulse: dict[str, float]  # N s or N m s, by row
    lost: float  # J: kinetic energy before, less after
    kept: float  # the part of restitution that could be kept: 1, or less where energy would be made or none solves it


def collide(
    instant: Instant, held: Sequence[int], closing: Mapping[int, float], contacts: Mapping[str, float]
) -> Impact | None:
    """The impact at an instant; None where no impulses solve it.

    held: rows that hold already. closing: rows that close, with their restitution. contacts: those that touch, with
    theirs.
    """
    rows = [*held, *closing]
    factor = FactoredRows.of(instant, held, list(closing))
    solve = _Solve(instant, rows, factor, closing, contacts)
    rounding = 1e-13 * float(instant.nu @ instant.nu)
    found = solve.at(1.0)
    kept = 1.0
    if found is None or solve.work(found) > rounding:  # several hits with friction may have no such answer
        low, high = 0.0, 1.0
        for _ in range(TRIES):
            middle = 0.5 * (low + high)
            trial = solve.at(middle)
            if trial is None or solve.work(trial) > rounding:
                high = middle
            else:
                low = middle
        kept, found = low, solve.at(low)
        if found is None:
            return None
    nu, impulse = found
    names = instant.names
    lost = 0.5 * float((instant.nu - nu) @ (instant.nu + nu))
    by_name = {names[k]: x for k, x in impulse.items() if x != 0.0}
    return Impact(instant.velocities(nu), by_name, lost, kept)


@dataclass(frozen=True, eq=False)
class _Solve:
    """The problem of one impact, for any part of the restitution."""

    instant: Instant
    rows: list[int]
    factor: FactoredRows
    closing: Mapping[int, float]
    contacts: Mapping[str, float]

    def at(self, part: float) -> tuple[np.ndarray, dict[int, float]] | None:
        """ν⁺ and impulses by row, with this part of every restitution."""
        m, factor = self.instant, self.factor
        speeds = m.speeds
        wanted = np.array([-part * self.closing.get(k, 0.0) * speeds[k] - m.b[k] for k in self.rows])
        step, first = factor.step(m.nu, wanted)
        nu = m.nu + step
        impulse = dict(zip(self.rows, first.tolist()))
        sides = [self._side(name, part * e, nu) for name, e in self.contacts.items()]
        if sides:
            found = contact_forces(sides, len(nu))
            if found is None:
                return None
            nu = nu + factor.cut(found.total)
            if self.rows:
                for k, x in zip(self.rows, factor.part(found.total)):
                    impulse[k] += float(x)
            for name, x in found.normal.items():
                impulse[m.gap_row[name]] = x
            for name, across in found.across.items():
                for k, x in zip(m.slip_rows(name), across):
                    impulse[k] = float(x)
        return nu, impulse

    def _side(self, name: str, e: float, nu: np.ndarray) -> ContactRows:
        m, contact = self.instant, self.instant.changeable.contacts[name]
        n = m.gap_row[name]
        side = ContactRows(name, self.factor.cut(m.rows[n]), compliance=m.changeable.compliance[name])
        side.wanted = float(m.rows[n] @ nu + m.b[n]) + e * min(float(m.speeds[n]), 0.0)
        slips = m.slip_rows(name) if contact.friction > 0.0 else []
        if slips:
            side.tangents, side.mu = self.factor.cut(m.rows[slips]), contact.friction
            side.rates, side.before = m.rows[slips] @ nu + m.b[slips], m.speeds[slips]
        return side

    def work(self, found: tuple[np.ndarray, dict[int, float]]) -> float:
        """Work of the impulses on the speeds of their rows, J: what they add to the energy, but for moving walls."""
        nu, impulse = found
        rows = list(impulse)
        after = self.instant.rows[rows] @ nu + self.instant.b[rows]
        return 0.5 * float(np.array(list(impulse.values())) @ (after + self.instant.speeds[rows]))
