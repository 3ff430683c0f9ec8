"""Lengths and speeds by which a hybrid run tells something from nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.simulation.hybrid.contact_modes import AT_REST
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.setup import Choices

CLOSED = 1e-8  # of the length of contacts: a gap that is none


@dataclass(frozen=True, eq=False)
class Scales:
    """The length of a mechanism with its contacts, and the sizes that follow from it and from the tolerances."""

    changeable: Changeable
    least_bounce: float  # of the length: a bounce that is not told from rest
    length: float  # m, by which gaps are measured

    @staticmethod
    def of(instant: Instant, choices: Choices) -> Scales:
        """From the start of a run."""
        changeable = instant.changeable
        gaps = [abs(float(instant.phi[instant.gap_row[n]])) for n, c in changeable.contacts.items() if not c.angular]
        length = max([*changeable.lengths, *gaps], default=0.0) or changeable.base.layout.length
        return Scales(changeable, max(choices.atol, 0.1 * choices.rtol, 1e-12), length)

    def unit(self, contact: str) -> float:
        """1 rad, or the length: of a contact's gap."""
        return 1.0 if self.changeable.contacts[contact].angular else self.length

    def unit_name(self, contact: str) -> str:
        """Of a contact's gap."""
        return "rad" if self.changeable.contacts[contact].angular else "m"

    def still(self, instant: Instant, row: int) -> float:
        """A speed of a row that is rounding."""
        return AT_REST * float(instant.sizes[row]) + 1e-12 * self.length

    def at_rest(self, instant: Instant, contact: str) -> bool:
        """Whether a start is at rest on a contact, but for rounding of a speed: that of a fall through the length."""
        k = instant.gap_row[contact]
        fall = abs(float(instant.rows[k] @ instant.free + instant.gamma[k])) * self.length
        return bool(abs(instant.speeds[k]) <= AT_REST * fall**0.5)

    def speed(self, instant: Instant) -> float:
        """A speed of the motion, for offsets."""
        return max(float(instant.sizes.max(initial=0.0)), 1e-3 * self.length)

    def sense(self, instant: Instant, contact: str) -> int:
        """1 where a contact separates, −1 where it approaches, 0 where its speed is rounding."""
        k = instant.gap_row[contact]
        speed, still = instant.speeds[k], self.still(instant, k)
        return int(speed > still) - int(speed < -still)
