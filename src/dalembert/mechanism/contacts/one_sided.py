"""The base of one-sided constraints: a gap that is never negative, and a force that only pushes it open.

    gap(q, t) ≥ 0,   λ ≥ 0,   gap λ = 0

Where the gap is closed and λ > 0 the row is a constraint like any other; contacts with friction then have tangential
rows too, which hold while they stick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.expression import Expressions
from dalembert.mechanism.traced import UserState

Acting = list[tuple[Frame, ca.SX, ca.SX]]  # (frame, force, point) in the ground's axes


class OneSided(ABC):
    """A gap by name, with what happens when it closes.

    restitution e: a gap that closes with the speed v opens again with e v. friction μ: of a contact that slides, static
    μ_s ≥ μ: of one that sticks.
    """

    kind: str
    name: str
    angular = False  # the gap is an angle
    restitution: float = 0.0
    friction: float = 0.0
    static: float = 0.0
    frames: tuple[Frame, ...] = ()  # that it is between

    @abstractmethod
    def gap(self, s: UserState) -> ca.SX:
        """The gap, m or rad; what is closed has none."""

    def slips(self, s: UserState) -> dict[str, ca.SX]:
        """Tangential velocities by name, m/s."""
        return {}

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting | None:
        """Where the forces of the rows act; None: inside the joints."""
        return None

    def closed(
        self, sticking: bool = False, sliding: Callable[[UserState], Mapping[str, Any]] | None = None,
        without: Collection[str] = (),
    ) -> Any:  # fmt: skip
        """The constraint that holds while the gap is closed.

        sticking: with its tangential rows. sliding: the unit vector in which it slides, by the names of these rows;
        friction opposes it. without: rows that are left out, as others hold them.
        """

        def forces(s: UserState, lam: Mapping[str, Any]) -> Acting:
            known = dict(lam)
            if sliding is not None:
                known |= {name: -self.friction * lam["gap"] * d for name, d in sliding(s).items()}
            return self.forces(s, known) or []

        def slip(name: str) -> Callable[[UserState], ca.SX]:
            return lambda s: self.slips(s)[name]

        return Expressions(
            self.name,
            self.kind,
            holonomic=[("gap", self.gap)] if "gap" not in without else (),
            pfaffian=[(name, slip(name)) for name in self.slip_names if name not in without] if sticking else (),
            forces=forces if self.acts else None,
            angular=self.angular,
            text=self.describe(),
        )

    slip_names: tuple[str, ...] = ()
    acts = True  # whether `forces` says where

    def describe(self) -> str:
        """One line for the mechanism's print."""
        return self.kind
