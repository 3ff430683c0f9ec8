"""How well contacts kept their laws in a run: gaps, overlaps, and forces against their bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dalembert.lazy import cached_property
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.results.run import Run


@dataclass(frozen=True, eq=False, repr=False)
class ContactRun(Run):
    """A run of a mechanism with contacts, which `_changeable` has."""

    @property
    def _changeable(self) -> Changeable:
        raise NotImplementedError

    @cached_property
    def gaps(self) -> np.ndarray:
        """(N, contacts) m or rad, in the order of contact_names; negative where they overlap."""
        changeable = self._changeable
        kernel, rows = changeable.everything.kernel("residuals"), list(changeable.gap_row.values())
        known = {"q": self.q, "v": self.v, "p": self.p, "t": self.t[:, None]}
        return np.asarray(kernel.batch(*(known[n] for n in kernel.names_in))[0])[:, rows]

    @cached_property
    def penetration(self) -> np.ndarray:
        """(N,) m or rad: the largest overlap of a contact, a stop or a rope."""
        overlaps: np.ndarray = np.maximum(-self.gaps, 0.0).max(axis=1, initial=0.0)
        return overlaps


def broken_laws(changeable: Changeable, mode: HybridMode, forces: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """(N,) by how much forces miss Signorini's and Coulomb's laws, over the largest force of the phase.

    A contact that bears does not pull; what sticks needs no more friction than there is. forces: (N,) multipliers by
    row. count: N. Gaps of what bears, and forces of what is open, are zero by the mode, and slips have their friction.
    """
    found, largest = [np.zeros(count)], 0.0
    for name, how in mode.touching:
        contact, normal = changeable.contacts[name], forces[f"{name}.gap"]
        largest = max(largest, float(np.abs(normal).max(initial=0.0)))
        found.append(-normal)
        if how == "sticks":
            slips = [forces[row] for s in contact.slip_names if (row := f"{name}.{s}") in forces]
            across = np.sqrt(np.sum(np.square(slips), axis=0)) if slips else np.zeros(count)
            found.append(across - contact.static * np.maximum(normal, 0.0))
    for name in mode.sticking:
        friction = changeable.frictions[name]
        if f"{friction.name}.stick" in forces and friction.law.load == 0.0:
            largest = max(largest, friction.law.breakaway)
            found.append(np.abs(forces[f"{friction.name}.stick"]) - friction.law.breakaway)
    return np.maximum.reduce(found) / largest if largest > 0.0 else np.zeros(count)
