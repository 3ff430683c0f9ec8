"""Lengths and speeds by which a run of phases tells something from nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.simulation.phases.bearing import AT_REST
from dalembert.simulation.phases.mode import Changeable
from dalembert.simulation.phases.moment import Moment
from dalembert.simulation.setup import Choices


@dataclass(frozen=True, eq=False)
class Scales:
    """The length of a mechanism with its contacts, and the sizes that follow from it and from the tolerances."""

    changeable: Changeable
    least_bounce: float  # of the length: a bounce that is not told from rest
    length: float  # m, by which gaps are measured

    @staticmethod
    def of(moment: Moment, choices: Choices) -> Scales:
        """From the start of a run."""
        changeable = moment.changeable
        gaps = [abs(float(moment.phi[moment.gap_row(n)])) for n, c in changeable.contacts.items() if not c.angular]
        layout = changeable.base.layout
        ground = layout.mechanism.ground
        known = [abs(x) for body in layout.bodies.values() for x in body.com if isinstance(x, float)]
        known += [abs(x) for j in layout.joints.values() for x in (*j.parent.T.p, *j.child.T.p) if isinstance(x, float)]
        for contact in changeable.contacts.values():
            sizes = (getattr(contact, name, 0.0) for name in ("radius", "length"))
            moving = (f for f in contact.frames if f.body.name in layout.bodies and f.body is not ground)
            known += [abs(x) for x in (*sizes, *(x for f in moving for x in f.T.p)) if isinstance(x, float)]
        length = max([*known, *gaps], default=0.0) or layout.length
        return Scales(changeable, max(choices.atol, 0.1 * choices.rtol, 1e-12), length)

    def unit(self, contact: str) -> float:
        """1 rad, or the length: of a contact's gap."""
        return 1.0 if self.changeable.contacts[contact].angular else self.length

    def unit_name(self, contact: str) -> str:
        """Of a contact's gap."""
        return "rad" if self.changeable.contacts[contact].angular else "m"

    def low(self, contact: str) -> float:
        """The height of a bounce that is not told from rest."""
        return self.least_bounce * self.unit(contact)

    def still(self, moment: Moment, row: int) -> float:
        """A speed of a row that is rounding."""
        return AT_REST * float(moment.sizes[row]) + 1e-12 * self.length

    def at_rest(self, moment: Moment, contact: str) -> bool:
        """Whether a start is at rest on a contact, but for rounding of a speed: that of a fall through the length."""
        k = moment.gap_row(contact)
        fall = abs(float(moment.rows[k] @ moment.free + moment.gamma[k])) * self.length
        return bool(abs(moment.speeds[k]) <= AT_REST * fall**0.5)

    def speed(self, moment: Moment) -> float:
        """A speed of the motion, for offsets."""
        return max(float(moment.sizes.max(initial=0.0)), 1e-3 * self.length)

    def closing(self, moment: Moment, contact: str) -> bool:
        """Whether a contact approaches."""
        k = moment.gap_row(contact)
        return bool(moment.speeds[k] < -self.still(moment, k))

    def leaving(self, moment: Moment, contact: str) -> bool:
        """Whether a contact separates."""
        k = moment.gap_row(contact)
        return bool(moment.speeds[k] > self.still(moment, k))
