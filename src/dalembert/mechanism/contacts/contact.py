"""A contact: two shapes that touch where they are nearest, push along the normal there and rub across it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.rolling import material_velocity
from dalembert.mechanism.contacts.nearest import LOWEST, PAIRS, Core, Side
from dalembert.mechanism.contacts.one_sided import Acting, OneSided
from dalembert.mechanism.traced import UserState

#: axes whose z no face, edge or corner of a box is turned away from: tangents are undefined where n = −z
ASKEW = np.array([[3.0, 6.0, 2.0], [-6.0, 2.0, 3.0], [2.0, -3.0, 6.0]]) / 7


class Contact(OneSided):
    """A shape on frame `frame` outside one on frame `on`, or on the side of +z of its x-y plane.

    core, size, radius (of the skin): see `nearest`. Slips are along the x and y axes of a plane. On other shapes they
    are along two tangents: the x and y axes of `on`, of a sphere on a sphere, else askew ones, turned the shortest way
    that takes the z axis to the normal n. They are undefined where n = −z.
    """

    kind = "contact"
    slip_names = ("slip x", "slip y")

    def __init__(
        self,
        name: str,
        frame: Frame,
        core: Core,
        size: Sequence[Any],
        radius: Any,
        on: Frame,
        on_core: Core,
        on_size: Sequence[Any],
        on_radius: Any,
        restitution: float,
        friction: float,
        static: float,
    ):
        self.name, self.frames = name, (frame, on)
        self.frame, self.core, self.size, self.radius = frame, core, tuple(size), radius
        self.on, self.on_core, self.on_size, self.on_radius = on, on_core, tuple(on_size), on_radius
        self.restitution, self.friction, self.static = restitution, friction, static

    @property
    def on_plane(self) -> bool:
        """Whether the second is a plane."""
        return self.on_core is Core.PLANE

    def touch(self, s: UserState) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The gap; (3, 3) t₁, t₂, n as columns; and the point where the two touch, or would."""
        a = Side(s.position(self.frame), s.rotation(self.frame), self.size)
        b = Side(s.position(self.on), s.rotation(self.on), self.on_size)
        if self.on_plane:
            n = b.R[:, 2]
            at = LOWEST[self.core](a, n) - self.radius * n
            return ca.dot(n, at - b.o), b.R, at
        near = PAIRS[self.core, self.on_core](a, b)
        gap = near.distance - (self.radius + self.on_radius)
        round_ = self.core is Core.POINT and self.on_core is Core.POINT
        return gap, _axes(near.n, b.R if round_ else b.R @ ca.SX(ASKEW)), near.b + self.on_radius * near.n

    def gap(self, s: UserState) -> ca.SX:
        return self.touch(s)[0]

    def slips(self, s: UserState) -> dict[str, ca.SX]:
        _, axes, at = self.touch(s)
        v = material_velocity(s, self.frame, at) - material_velocity(s, self.on, at)
        return {name: ca.dot(axes[:, k], v) for k, name in enumerate(self.slip_names)}

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting:
        _, axes, at = self.touch(s)
        f = axes @ ca.vertcat(*(lam.get(name, 0.0) for name in (*self.slip_names, "gap")))
        return [(self.frame, f, at), (self.on, -f, at)]

    def describe(self) -> str:
        return f"contact of {self.frame.body.name} on {self.on.body.name}"


def _axes(n: ca.SX, axes: ca.SX) -> ca.SX:
    """The axes, turned the shortest way that takes z to n."""
    half = (n + axes[:, 2]) / (1 + ca.dot(axes[:, 2], n))
    return ca.horzcat(*(axes[:, k] - ca.dot(axes[:, k], n) * half for k in range(2)), n)
