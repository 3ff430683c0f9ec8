"""Phases in which nothing moves, in a singular position or beside it: when their forces come to their bounds.

Multipliers of the rows that hold are 0/0 in the position. Forces along the branch by which the mechanism came are not:
the change of rows along it takes the place of the weak ones (see `moment.Held`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.simulation.phases.mode import Mode
from dalembert.simulation.phases.moment import Held, Moment

NEAR = 1e-5  # σ in units of usual lengths: nearer, rounding spoils the multipliers of weak rows more than this does
FORCES = ("opens", "slips")


@dataclass(frozen=True, eq=False)
class Standing:
    """A mechanism that stands still, with the factored rows that hold it."""

    moment: Moment  # at rest
    rows: list[int]
    drag: np.ndarray  # (nv,) L⁻¹ times the forces of joints that would slide, did not others stick
    factor: Held
    watched: Sequence[tuple[str, str]]

    @staticmethod
    def of(
        moment: Moment, mode: Mode, watched: Sequence[tuple[str, str]], values: Mapping[tuple[str, str], Any]
    ) -> Standing | None:
        """At a moment at rest; None where something can move or is driven, or friction depends on reactions.

        values: numbers of the phase, among them the signs of joints that slide.
        """
        frictions = moment.changeable.frictions
        slides = any(how == "slides" for _, how in mode.touching)
        if slides or any(f.law.load > 0.0 for f in frictions.values()):
            return None
        drag = np.zeros(moment.rows.shape[1])
        for name, friction in frictions.items():
            if name not in mode.sticking:
                sign = float(np.atleast_1d(values["sign", name])[0])
                drag += moment.rows[moment.friction_row(name)] * (sign * float(friction.force(0.0)))
        rows = [*moment.of(*mode.held), *(moment.gap_row(n) for n in mode.touched)]
        for name, how in mode.touching:
            rows += moment.slip_rows(name) if how == "sticks" else []
        rows += [moment.friction_row(n) for n in mode.sticking]
        if not rows or moment.b[rows].any() or moment.gamma[rows].any():
            return None
        factor = Held.of(moment, rows, met=NEAR)
        if not len(factor.limits) or len(factor.sigma) < moment.rows.shape[1]:
            return None
        return Standing(moment, rows, drag, factor, watched)

    def values(self, t: float, u: np.ndarray) -> np.ndarray:
        """Of each watched event that forces decide, how far they are from their bounds at a time; of others, 1."""
        m = self.moment
        now = Moment(m.changeable, m.state.replace(t=t), u, m.p, m)
        force = dict(zip(self.rows, self.factor.step(now.free - self.drag, -now.gamma[self.rows])[1].tolist()))
        out = np.ones(len(self.watched))
        for k, (kind, name) in enumerate(self.watched):
            contact = m.changeable.contacts.get(name)
            if kind == "opens":
                out[k] = force[m.gap_row(name)]
            elif kind == "slips" and contact is not None:
                across = np.linalg.norm([force[row] for row in m.slip_rows(name)])
                out[k] = contact.static * force[m.gap_row(name)] - across
            elif kind == "slips":
                out[k] = m.changeable.frictions[name].law.breakaway - abs(force[m.friction_row(name)])
        return out
