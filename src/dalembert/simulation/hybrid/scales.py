"""Lengths and speeds by which a hybrid run tells something from nothing, each row by its own unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

from dalembert.simulation.hybrid.contact_modes import AT_REST
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.setup import Choices

CLOSED = 1e-8  # of the length of contacts: a gap that is none
RESOLVED = 1e-12  # of the unit of a row times the rate of the motion: speeds that events leave, whatever the size
ROUNDING = 2.0**-50  # of the time: how exactly an event is located
BEGINS = 1e-9, 1e-5  # of the speed of the motion: least and largest slip that is none, beside the tolerance of steps


@dataclass(frozen=True, eq=False)
class HybridScales:
    """The length of a mechanism with its contacts, its rate, and sizes that follow from them and from tolerances."""

    changeable: Changeable
    least_bounce: float  # of the length: a bounce that is not told from rest
    length: float  # m, by which gaps are measured
    rate: float  # 1/s, of the motion at the start
    begins: float  # of the speed of the motion: a slip in a plane that errors of steps keep from vanishing

    @staticmethod
    def of(instant: Instant, choices: Choices) -> HybridScales:
        """From the start of a run."""
        changeable = instant.changeable
        gaps = [abs(float(instant.phi[instant.gap_row[n]])) for n, c in changeable.contacts.items() if not c.angular]
        length = max([*changeable.lengths, *gaps], default=0.0) or changeable.base.layout.length
        begins = min(max(BEGINS[0], 30.0 * max(choices.rtol, choices.atol)), BEGINS[1])
        return HybridScales(changeable, max(choices.atol, 0.1 * choices.rtol, 1e-12), length, instant.rate, begins)

    def unit(self, contact: str) -> float:
        """1 rad, or the length: of a contact's gap."""
        return 1.0 if self.changeable.contacts[contact].angular else self.length

    def unit_name(self, contact: str) -> str:
        """Of a contact's gap."""
        return "rad" if self.changeable.contacts[contact].angular else "m"

    def fastest(self, instant: Instant) -> float:
        """1/s: the rate of the motion, at the start or now; 1 where nothing moves or acts."""
        return max(self.rate, instant.rate) or 1.0

    def still(self, instant: Instant, rows: int | Sequence[int]) -> float:
        """A speed of rows that is rounding: of their terms, of the motion, and of the time of an event."""
        k, rate, (sizes, units) = [rows] if isinstance(rows, int) else rows, self.fastest(instant), instant.plain
        own = RESOLVED + ROUNDING * abs(instant.state.t) * rate
        return AT_REST * hypot(*(sizes[i] for i in k)) + own * rate * max((units[i] for i in k), default=0.0)

    def at_rest(self, instant: Instant, contact: str) -> bool:
        """Whether a start is at rest on a contact, but for rounding of a speed: that of a fall through the length."""
        k = instant.gap_row[contact]
        fall = abs(float(instant.rows[k] @ instant.free + instant.gamma[k])) * self.unit(contact)
        return bool(abs(instant.speeds[k]) <= AT_REST * fall**0.5)

    def speed(self, instant: Instant, row: int) -> float:
        """A speed of the motion in the unit of a row, for offsets."""
        unit = instant.measures.units
        most = float((instant.sizes / unit).max(initial=0.0))
        return float(unit[row]) * max(most, 1e-3 * self.fastest(instant))

    def sense(self, instant: Instant, contact: str) -> int:
        """1 where a contact separates, −1 where it approaches, 0 where its speed is rounding."""
        k = instant.gap_row[contact]
        speed, still = instant.speeds[k], self.still(instant, k)
        return int(speed > still) - int(speed < -still)
