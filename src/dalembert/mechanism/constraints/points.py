"""Points kept on a line, in a plane, or at a distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.relative import Jet, Relative, RelativeConstraint
from dalembert.mechanism.joints.joint import orient_z
from dalembert.mechanism.traced import TracedState
from dalembert.symbols import eye


class PointOn(RelativeConstraint):
    """The origin of frame b has no component along some directions of frame a: {row name: own axis}."""

    def __init__(self, name: str, kind: str, a: Frame, b: Frame, axis: np.ndarray, directions: dict[str, str]):
        """`axis` of a, a unit vector or an expression of one of any length, is the z of the own axes."""
        self.name, self.kind, self.a, self.b, self.axis = name, kind, a, b, axis
        self.orientation, self.directions = orient_z(axis, f"the axis of constraint '{name}'"), directions

    def jets(self, s: TracedState) -> tuple[Relative, list[tuple[str, Jet, bool]]]:
        r = Relative(s, self.a, self.b, self.orientation)
        return r, [(row, r.along(eye(3)["xyz".index(x)]), False) for row, x in self.directions.items()]

    def describe(self) -> str:
        return f"{self.kind}, {self.b.body.name} on {self.a.body.name}"


class Rod(RelativeConstraint):
    """A massless rod with ball ends: Φ = ‖p‖ − L."""

    kind = "rod"

    def __init__(self, name: str, a: Frame, b: Frame, length: Any):
        self.name, self.a, self.b, self.length = name, a, b, length

    def jets(self, s: TracedState) -> tuple[Relative, list[tuple[str, Jet, bool]]]:
        r = Relative(s, self.a, self.b)
        squares = [r.along(n) * r.along(n) for n in eye(3)]
        return r, [("length", (squares[0] + squares[1] + squares[2]).sqrt() - self.length, False)]

    def describe(self) -> str:
        return f"rod between {self.a.body.name} and {self.b.body.name}"
