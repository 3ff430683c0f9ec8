"""Fixed joint: no motion."""

import numpy as np

from dalembert.mechanism.joints.joint import Joint
from dalembert.spatial import Transform
from dalembert.symbols import zeros


class Fixed(Joint):
    """Child and parent move as one."""

    kind = "fixed"
    coordinate_names = ()
    velocity_names = ()
    angular = ()
    closure = ("x", "y", "z", "rx", "ry", "rz")

    def transform(self, q: np.ndarray) -> Transform:
        return Transform.identity()

    def screws(self, q: np.ndarray) -> np.ndarray:
        return zeros(6, 0)

    def locate(self, T: Transform) -> np.ndarray:
        return zeros(0)
