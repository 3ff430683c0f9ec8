"""The base of all constraints. A new constraint is one file that subclasses `Constraint` and one method of Mechanism.

Φ(q, t) = 0                 holonomic rows (a Pfaffian row has none)
A(q, t) v + b(q, t) = 0     every row; A = ∂Φ/∂δ and b = ∂Φ/∂t for holonomic ones
A v̇ + γ(q, v, t) = 0       γ = Ȧ v + ḃ
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from dalembert.mechanism.traced import Load, TracedState
from dalembert.recursions.sparse import Sparse, entries
from dalembert.symbols import is_zero

#: what is wrong on a mirror branch, where Φ = 0 too
MIRRORS = {
    "z": "its axis reversed",
    "x": "its x axes opposite to each other",
    "thread": "half a turn off its thread",
    "side": "its parts on the wrong side of each other",
}


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One scalar constraint, traced."""

    name: str  # within its constraint
    phi: Any  # 0.0 for a Pfaffian row
    coefficients: InitVar[np.ndarray | Mapping[int, Any]]  # A: (nv,), or {place in v: element}
    b: Any
    gamma: Any
    holonomic: bool = True
    angular: bool = False  # Φ is an angle (rad or its sine), the multiplier a moment (N m); else a length and a force
    own: bool = False  # or Φ is in a unit of the user's, which only its coefficients tell
    A: Mapping[int, Any] = field(init=False)  # {place in v: element}, without exact zeros

    def __post_init__(self, coefficients: np.ndarray | Mapping[int, Any]) -> None:
        if isinstance(coefficients, np.ndarray):
            own = entries(coefficients)
        else:
            own = {k: a for k, a in sorted(coefficients.items()) if not is_zero(a)}
        object.__setattr__(self, "A", own)

    @property
    def is_void(self) -> bool:
        """Whether no velocity enters, so that the row does not constrain the motion."""
        return not self.A

    def dense(self, width: int) -> np.ndarray:
        """A, (width,), zeros included."""
        return Sparse([self.A], width).dense()[0]

    def times(self, x: np.ndarray) -> Any:
        """A x of velocities or accelerations x, (nv,)."""
        return sum((a * x[k] for k, a in self.A.items()), 0.0)


class Constraint(ABC):
    """A constraint of a mechanism."""

    kind: str
    name: str

    @abstractmethod
    def rows(self, s: TracedState) -> list[Row]:
        """Its rows in the state s."""

    def exert(self, s: TracedState, multipliers: Mapping[str, Any], load: Load) -> None:
        """Put the constraint's forces on the bodies: those of the rows in `multipliers`, Aᵀλ in all.

        By default they act inside the joints, along the velocities, as the force of a gear or a driver does.
        """
        for row in self.rows(s):
            if row.name in multipliers:
                for k, a in row.A.items():
                    load.tau[k] = load.tau[k] + a * multipliers[row.name]

    def branch_signs(self, s: TracedState) -> dict[str, Any]:
        """Numbers that are positive on the branch the user means and negative on a mirror one that also has Φ = 0.

        By what is wrong there, a key of `MIRRORS`.
        """
        return {}

    def describe(self) -> str:
        """One line for the mechanism's print."""
        return self.kind
