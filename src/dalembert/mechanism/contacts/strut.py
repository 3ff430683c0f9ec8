"""A strut: two points that cannot come closer than a length, as the ends of a cylinder at its stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from dalembert.mechanism.contacts.one_sided import Acting
from dalembert.mechanism.contacts.rope import Rope
from dalembert.mechanism.traced import UserState


class Strut(Rope):
    """The line through two points is no shorter than `length`; λ is the force that pushes them apart."""

    kind = "strut"

    def gap(self, s: UserState) -> ca.SX:
        return -super().gap(s)

    def forces(self, s: UserState, lam: Mapping[str, Any]) -> Acting:
        return super().forces(s, {**lam, "gap": -lam["gap"]})

    def describe(self) -> str:
        return f"strut from {self.points[0].body.name} to {self.points[-1].body.name}"
