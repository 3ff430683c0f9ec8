"""Prismatic joint: translation by q along one axis."""

import numpy as np

from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform
from dalembert.symbols import array, eye, zeros


class Prismatic(AxisJoint):
    """Slides along an axis; q in metres."""

    kind = "prismatic"
    coordinate_names = ("",)
    velocity_names = ("",)
    angular = (False,)
    closure = ("x", "y", "rx", "ry", "rz")

    def transform(self, q: np.ndarray) -> Transform:
        """T = (1, q z)."""
        return Transform(eye(3), array([0.0, 0.0, q[0]]))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = (0; z)."""
        S = zeros(6, 1)
        S[5, 0] = 1.0
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """The distance along z."""
        return array([T.p[2]])
