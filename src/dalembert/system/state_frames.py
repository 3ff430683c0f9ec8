"""Frames of a state: the questions that the state of a traced expression answers, too (`UserState`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.traced import TracedState, line_points
from dalembert.mechanism.values import vector_of
from dalembert.recursions.kinematics import in_world_axes
from dalembert.symbols import all_numbers, to_sx


class FramesOfState:
    """Position, rotation, pose, velocity and twist of frames (or bodies, or names of either) at a state.

    They need no system: parameters that place frames are the state's own, or those of the system that made it.
    """

    __slots__ = ()
    q: np.ndarray
    v: np.ndarray
    t: float
    layout: TreeLayout
    p: np.ndarray | None
    _defaults: np.ndarray | None

    def position(self, frame: Any) -> np.ndarray:
        """Origin of a frame in the ground, (3,), m."""
        return self._number(self._traced().position(self.layout.frame(frame)))

    def rotation(self, frame: Any) -> np.ndarray:
        """(3, 3) rotation from the axes of a frame to the ground's."""
        return self._number(self._traced().pose(self.layout.frame(frame)).R)

    def pose(self, frame: Any) -> np.ndarray:
        """(4, 4) pose of a frame in the ground: rotation and position."""
        return self._number(self._traced().pose(self.layout.frame(frame)).matrix())

    def velocity(self, frame: Any) -> np.ndarray:
        """Velocity of the origin of a frame in the ground's axes, (3,), m/s."""
        return self._number(self._traced().velocity(self.layout.frame(frame)))

    def twist(self, frame: Any, axes: str = "body") -> np.ndarray:
        """(ω; v) of a frame's origin, (6,), rad/s and m/s, in the axes of the frame ("body") or ground ("world")."""
        V = self._number(self._traced().twist(self.layout.frame(frame)))
        if checks.choice(axes, ("body", "world"), "axes") == "body":
            return V
        return in_world_axes(self.rotation(frame), V)

    def length(self, name: str) -> float:
        """Length of the spring, cable or actuator of this name, m."""
        points = [self.position(f) for f in line_points(self.layout.mechanism.forces, name)]
        return float(sum(np.linalg.norm(b - a) for a, b in pairwise(points)))

    def length_rate(self, name: str) -> float:
        """Rate of the length of the spring, cable or actuator of this name, m/s; NaN where two points coincide."""
        points = [(self.position(f), self.velocity(f)) for f in line_points(self.layout.mechanism.forces, name)]
        with np.errstate(invalid="ignore"):
            rates = [(w - v) @ (b - a) / np.linalg.norm(b - a) for (a, v), (b, w) in pairwise(points)]
        return float(sum(rates))

    def _traced(self) -> TracedState:
        return TracedState(self.layout, self.layout.tree.moving(self.q, self.v), self.t)

    def _number(self, x: np.ndarray) -> np.ndarray:
        if all_numbers(x):
            return x.astype(float)
        declared = self.layout.mechanism.parameters
        own = self._defaults if self.p is None else self.p
        p = vector_of(declared.values) if own is None else own
        symbols = ca.vertcat(*declared.symbols.values())
        return np.array(ca.evalf(ca.substitute(to_sx(x), symbols, ca.DM(p[: symbols.numel()])))).reshape(x.shape)
