"""Stops at the limits of joints: rigid ones, which are one-sided constraints, and compliant ones, which are forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.contacts.one_sided import OneSided
from dalembert.mechanism.forces.force import Force
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.traced import Load, TracedState, UserState
from dalembert.symbols import lesser, positive_part, where_less, zeros


@dataclass(frozen=True)
class Stops:
    """Stops of a joint at its limits.

    Rigid (the default): a joint that arrives with the speed v leaves with restitution × v; with 0 it stays there until
    something draws it away. With a stiffness (N m/rad or N/m) compliant: beyond the limit a force max(0, k δ + d δ̇)
    acts against it, d the damping (N m s/rad or N s/m).

    >>> import dalembert as da
    >>> m = da.Mechanism("gate")
    >>> leaf = m.add_body("leaf", mass=20.0, com=(0.5, 0, 0), inertia=da.rod_inertia(20.0, 1.0))
    >>> m.add_joint("hinge", da.Revolute("z"), m.ground, leaf, limits=(0, 1.5), stops=da.Stops(restitution=0.5))
    >>> system = m.compile()
    >>> run = da.simulate(system, system.state(v={"hinge": 1.0}), 2.0)
    >>> round(float(run.rate("hinge")[-1]), 12), run.switches[0].what
    (-0.5, 'hinge upper stop hit')
    """

    restitution: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        checks.number(self.restitution, "restitution", least=0.0, most=1.0)
        checks.number(self.stiffness, "stiffness", least=0.0)
        checks.number(self.damping, "damping", least=0.0)
        if self.stiffness and self.restitution:
            raise ArgumentError("a stop with a stiffness has no restitution; its damping says what is lost.")
        if self.damping and not self.stiffness:
            raise ArgumentError("a stop with damping needs a stiffness; rigid ones take restitution=.")


def as_stops(given: Any, what: str) -> Stops | None:
    """Stops as users give them: "rigid", `Stops`, or None."""
    if given is None or isinstance(given, Stops):
        return given
    if isinstance(given, str) and given == "rigid":
        return Stops()
    raise ArgumentError(f"{what} is {checks.shown(given)}; needed: 'rigid', a da.Stops, or None.")


class JointStop(OneSided):
    """q ≥ low, or q ≤ high, of one coordinate."""

    kind = "stop"
    acts = False

    def __init__(self, coordinate: str, limit: float, upper: bool, angular: bool, restitution: float):
        self.coordinate, self.limit, self.upper, self.angular = coordinate, limit, upper, angular
        self.name, self.restitution = f"{coordinate} {'upper' if upper else 'lower'} stop", restitution

    def gap(self, s: UserState) -> ca.SX:
        return self.limit - s[self.coordinate] if self.upper else s[self.coordinate] - self.limit

    def describe(self) -> str:
        return f"stop of {self.coordinate} at {self.limit:g}"


class CompliantStop(Force):
    """max(0, k δ + d δ̇) against a coordinate that is beyond its limit by δ > 0."""

    kind = "stop"

    def __init__(self, joint: Attachment, index: int, limit: float, upper: bool, stops: Stops):
        self.joint, self.index, self.limit, self.sign = joint, index, limit, 1.0 if upper else -1.0
        self.name, self.stops = f"{joint.coordinates[index]} {'upper' if upper else 'lower'} stop", stops

    def _beyond(self, s: TracedState) -> Any:
        return self.sign * (s.q(self.joint.name)[self.index] - self.limit)

    def _pushed(self, s: TracedState) -> Any:
        speed = self.sign * s.v(self.joint.name)[self.index]
        return self.stops.stiffness * self._beyond(s) + self.stops.damping * speed

    def act(self, s: TracedState, load: Load) -> None:
        depth, pushed = self._beyond(s), self._pushed(s)
        tau = zeros(self.joint.joint.nv)
        tau[self.index] = -self.sign * where_less(depth, 0.0, lambda: 0.0, lambda: positive_part(pushed))
        load.joint(self.joint.name, tau)

    @property
    def bends(self) -> bool:
        return True

    def kinks(self, s: TracedState) -> list[Any]:
        depth = self._beyond(s)
        return [depth] if self.conservative else [depth, lesser(depth, self._pushed(s) / self.stops.stiffness)]

    @property
    def conservative(self) -> bool:
        return self.stops.damping == 0.0

    def energy(self, s: TracedState) -> Any:
        depth = positive_part(self._beyond(s))
        return 0.5 * self.stops.stiffness * depth * depth
