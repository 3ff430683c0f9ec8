"""Planar joint: motion in a plane."""

import numpy as np

from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform, axis_rotation
from dalembert.symbols import array, atan2, cos, sin, zeros


class Planar(AxisJoint):
    """Slides by (x, y) in the plane of the parent normal to the axis and turns by `angle` about the normal.

    x and y are the joint's own axes: those of the frame for the normal "z", (y, z) for "x", (z, x) for "y", and what
    the shortest turn from z makes of them for another vector.
    """

    kind = "planar"
    coordinate_names = ("x", "y", "angle")
    velocity_names = ("x", "y", "angle")
    angular = (False, False, True)
    closure = ("z", "rx", "ry")

    def transform(self, q: np.ndarray) -> Transform:
        """T = (Rz(angle), (x, y, 0))."""
        return Transform(axis_rotation(2, q[2]), array([q[0], q[1], 0.0]))

    def screws(self, q: np.ndarray) -> np.ndarray:
        """S v = (z θ̇; Rzᵀ (ẋ, ẏ, 0))."""
        c, s = cos(q[2]), sin(q[2])
        S = zeros(6, 3)
        S[3, 0], S[4, 0] = c, -s
        S[3, 1], S[4, 1] = s, c
        S[2, 2] = 1.0
        return S

    def locate(self, T: Transform) -> np.ndarray:
        """Position in the plane and angle about its normal."""
        return array([T.p[0], T.p[1], atan2(T.R[1, 0], T.R[0, 0])])

    def screws_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The plane's axes turn against the child."""
        c, s, w = cos(q[2]), sin(q[2]), v[2]
        dS = zeros(6, 3)
        dS[3, 0], dS[4, 0] = -s * w, -c * w
        dS[3, 1], dS[4, 1] = c * w, -s * w
        return dS
