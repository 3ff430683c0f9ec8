"""Screw joint: rotation by q with an advance proportional to it."""

from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.mechanism.values import shaped
from dalembert.spatial import Transform, axis_rotation
from dalembert.symbols import array, is_number, zeros


class Screw(AxisJoint):
    """Turns by q radians and advances pitch · q metres along the axis.

    pitch is in metres per radian (a lead of 5 mm per turn is 0.005 / 2π) and may be a parameter.
    """

    kind = "screw"
    coordinate_names = ("",)
    velocity_names = ("",)
    angular = (True,)
    closure = ("x", "y", "rx", "ry", "thread")

    def __init__(self, axis: Any = "z", *, pitch: Any):
        super().__init__(axis)
        self.pitch = shaped(pitch, (), "the pitch of a screw joint")[()]
        if is_number(self.pitch):
            checks.number(self.pitch, "the pitch of a screw joint", error=DescriptionError)

    def transform(self, q: np.ndarray) -> Transform:
        """T = (Rz(q), h q z)."""
        return Transform(axis_rotation(2, q[0]), array([0.0, 0.0, self.pitch * q[0]]))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S = (z; h z)."""
        S = zeros(6, 1)
        S[2, 0], S[5, 0] = 1.0, self.pitch
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """From the advance, which also counts the turns."""
        return array([T.p[2] / self.pitch])
