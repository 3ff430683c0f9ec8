"""A sphere, or a point, on one side of a plane or outside another sphere."""

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
        self.frames = frame, plane
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


class SphereOnSphere(OneSided):
    """The sphere around the origin of `frame` is outside the sphere around the origin of frame `other`.

    Slips are along two tangents t₁, t₂ of the other sphere: the x and y axes of `other`, turned the shortest way that
    takes its z axis to the normal n. They are undefined where n = −z.
    """

    kind = "contact"
    slip_names = ("slip x", "slip y")

    def __init__(
        self,
        name: str,
        frame: Frame,
        radius: Any,
        other: Frame,
        other_radius: Any,
        restitution: float,
        friction: float,
        static: float,
    ):
        self.name, self.frame, self.radius, self.other, self.other_radius = name, frame, radius, other, other_radius
        self.frames = frame, other
        self.restitution, self.friction, self.static = restitution, friction, static

    def gap(self, s: UserState) -> ca.SX:
        return ca.norm_2(s.position(self.frame) - s.position(self.other)) - (self.radius + self.other_radius)

    def _axes(self, s: UserState) -> tuple[ca.SX, ca.SX]:
        """(3, 3) t₁, t₂, n as columns, and the point where the spheres touch, or would."""
        o, axes = s.position(self.other), s.rotation(self.other)
        d = s.position(self.frame) - o
        n = d / ca.norm_2(d)
        half = (n + axes[:, 2]) / (1 + ca.dot(axes[:, 2], n))
        tangents = [axes[:, k] - ca.dot(axes[:, k], n) * half for k in range(2)]
        return ca.horzcat(*tangents, n), o + self.other_radius * n

    def slips(self, s: UserState) -> dict[str, ca.SX]:
        axes, at = self._axes(s)
        v = material_velocity(s, self.frame, at) - material_velocity(s, self.other, at)
        return {name: ca.dot(axes[:, k], v) for k, name in enumerate(self.slip_names)}

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting:
        axes, at = self._axes(s)
        f = axes @ ca.vertcat(*(lam.get(name, 0.0) for name in (*self.slip_names, "gap")))
        return [(self.frame, f, at), (self.other, -f, at)]

    def describe(self) -> str:
        return f"contact of {self.frame.body.name} on {self.other.body.name}"
