"""A rope: a length that cannot be exceeded, of a line that goes slack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.contacts.one_sided import Acting, OneSided
from dalembert.mechanism.traced import UserState


class Rope(OneSided):
    """The line through some points, without mass or friction, is no longer than `length`; λ is its tension."""

    kind = "rope"

    def __init__(self, name: str, points: Sequence[Frame], length: Any, restitution: float):
        self.name, self.points, self.length, self.restitution = name, tuple(points), length, restitution
        self.frames = self.points

    def gap(self, s: UserState) -> ca.SX:
        ends = [s.position(f) for f in self.points]
        return self.length - sum((ca.norm_2(b - a) for a, b in pairwise(ends)), ca.SX(0))

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting:
        out = []
        for one, other in pairwise(self.points):
            a, b = s.position(one), s.position(other)
            pull = lam["gap"] * (b - a) / ca.norm_2(b - a)
            out += [(one, pull, a), (other, -pull, b)]
        return out

    def describe(self) -> str:
        return f"rope from {self.points[0].body.name} to {self.points[-1].body.name}"
