"""Revolute joint: rotation by q about one axis."""

import numpy as np

from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform, axis_rotation
from dalembert.symbols import array, atan2, zeros


class Revolute(AxisJoint):
    """Turns about an axis; q in radians.

    >>> import dalembert as da
    >>> da.Revolute("z")
    Revolute('z')
    """

    kind = "revolute"
    coordinate_names = ("",)
    velocity_names = ("",)
    angular = (True,)
    closure = ("x", "y", "z", "rx", "ry")

    def transform(self, q: np.ndarray) -> Transform:
        """T = (Rz(q), 0)."""
        return Transform(axis_rotation(2, q[0]), zeros(3))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = (z; 0)."""
        S = zeros(6, 1)
        S[2, 0] = 1.0
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """The angle of the child's x axis about z."""
        return array([atan2(T.R[1, 0], T.R[0, 0])])
