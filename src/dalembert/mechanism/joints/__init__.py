"""Joint types: one file each, all answering the questions of `joint.Joint`."""

from dalembert.mechanism.joints.cylindrical import Cylindrical
from dalembert.mechanism.joints.fixed import Fixed
from dalembert.mechanism.joints.free import Free
from dalembert.mechanism.joints.joint import Joint
from dalembert.mechanism.joints.planar import Planar
from dalembert.mechanism.joints.prismatic import Prismatic
from dalembert.mechanism.joints.revolute import Revolute
from dalembert.mechanism.joints.screw import Screw
from dalembert.mechanism.joints.spherical import Spherical
from dalembert.mechanism.joints.universal import Universal

JOINT_TYPES: tuple[type[Joint], ...] = (
    Fixed,
    Revolute,
    Prismatic,
    Screw,
    Cylindrical,
    Universal,
    Planar,
    Spherical,
    Free,
)

__all__ = ["JOINT_TYPES", *(t.__name__ for t in JOINT_TYPES), "Joint"]
