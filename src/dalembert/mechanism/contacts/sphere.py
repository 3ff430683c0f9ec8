"""A sphere, or a point, on one side of a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.rolling import material_velocity
from dalembert.mechanism.contacts.one_sided import Acting, OneSided
from dalembert.mechanism.traced import UserState


class SphereOnPlane(OneSided):
    """The sphere around the origin of `frame` is on the side of +z of the x-y plane of frame `plane`."""

    kind = "contact"
    slip_names = ("slip x", "slip y")

    def __init__(
        self, name: str, frame: Frame, radius: Any, plane: Frame, restitution: float, friction: float, static: float
    ):
        self.name, self.frame, self.radius, self.plane = name, frame, radius, plane
        self.restitution, self.friction, self.static = restitution, friction, static

    def _point(self, s: UserState) -> ca.SX:
        """Where they touch, or would."""
        return s.position(self.frame) - self.radius * s.rotation(self.plane)[:, 2]

    def gap(self, s: UserState) -> ca.SX:
        return ca.dot(s.rotation(self.plane)[:, 2], self._point(s) - s.position(self.plane))

    def slips(self, s: UserState) -> dict[str, ca.SX]:
        at, axes = self._point(s), s.rotation(self.plane)
        v = material_velocity(s, self.frame, at) - material_velocity(s, self.plane, at)
        return {name: ca.dot(axes[:, k], v) for k, name in enumerate(self.slip_names)}

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting:
        parts = [lam.get(name, 0.0) for name in (*self.slip_names, "gap")]
        f, at = s.rotation(self.plane) @ ca.vertcat(*parts), self._point(s)
        return [(self.frame, f, at), (self.plane, -f, at)]

    def describe(self) -> str:
        return f"contact of {self.frame.body.name} on {self.plane.body.name}"
