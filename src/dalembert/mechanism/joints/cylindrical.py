"""Cylindrical joint: rotation about and translation along one axis, independent."""

import numpy as np

from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform, axis_rotation
from dalembert.symbols import array, atan2, zeros


class Cylindrical(AxisJoint):
    """Turns (`angle`, rad) about and slides (`slide`, m) along the same axis."""

    kind = "cylindrical"
    coordinate_names = ("angle", "slide")
    velocity_names = ("angle", "slide")
    angular = (True, False)
    closure = ("x", "y", "rx", "ry")

    def transform(self, q: np.ndarray) -> Transform:
        """T = (Rz(angle), slide z)."""
        return Transform(axis_rotation(2, q[0]), array([0.0, 0.0, q[1]]))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = [(z; 0), (0; z)]."""
        S = zeros(6, 2)
        S[2, 0] = S[5, 1] = 1.0
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """The angle about z and the distance along it."""
        return array([atan2(T.R[1, 0], T.R[0, 0]), T.p[2]])
