"""Points kept on a line, in a plane, or at a distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.constraint import Constraint, Row
from dalembert.mechanism.constraints.relative import Relative
from dalembert.mechanism.traced import TracedState
from dalembert.symbols import eye


class PointOn(Constraint):
    """The origin of frame b has no component along some of the directions of frame a."""

    def __init__(self, name: str, kind: str, a: Frame, b: Frame, orientation: np.ndarray, directions: str):
        self.name, self.kind, self.a, self.b = name, kind, a, b
        self.orientation, self.directions = orientation, directions

    def rows(self, s: TracedState) -> list[Row]:
        r = Relative(s, self.a, self.b, self.orientation)
        out = []
        for letter in self.directions:
            phi, A, gamma = r.along(eye(3)["xyz".index(letter)]).row()
            out.append(Row(letter, phi, A, 0.0, gamma))
        return out

    def describe(self) -> str:
        return f"{self.kind}, {self.b.body.name} on {self.a.body.name}"


class Rod(Constraint):
    """A massless rod with ball ends: Φ = ‖p‖ − L."""

    kind = "rod"

    def __init__(self, name: str, a: Frame, b: Frame, length: Any):
        self.name, self.a, self.b, self.length = name, a, b, length

    def rows(self, s: TracedState) -> list[Row]:
        r = Relative(s, self.a, self.b)
        squares = [r.along(n) * r.along(n) for n in eye(3)]
        phi, A, gamma = ((squares[0] + squares[1] + squares[2]).sqrt() - self.length).row()
        return [Row("length", phi, A, 0.0, gamma)]

    def describe(self) -> str:
        return f"rod between {self.a.body.name} and {self.b.body.name}"
