"""Fixed joint: no motion."""

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

    def transform(self, q):
        return Transform.identity()

    def screws(self, q):
        return zeros(6, 0)

    def locate(self, T):
        return zeros(0)
