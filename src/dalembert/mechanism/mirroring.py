"""Mirror images of parts: S = diag(±1) reflects places as (S R S, S p), so that frames stay right-handed.

A rotation about n by q becomes one about −S n by q, a translation along n one along S n: the coordinates of the image
are those of the original in the mirrored position.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.constraints import Expressions, LoopJoint, Rod
from dalembert.mechanism.contacts import Contact, Rope
from dalembert.mechanism.forces import Actuator, CutJointSpring, JointForce, KinematicInput, Servo, Spring
from dalembert.mechanism.joints import Fixed, Joint, Prismatic, Revolute, Screw, Spherical, Universal
from dalembert.mechanism.shapes import Shape
from dalembert.spatial import Transform

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism

JOINTS = (Fixed, Revolute, Prismatic, Screw, Universal, Spherical)
ELEMENTS = (Spring, Actuator, Servo, KinematicInput, JointForce, CutJointSpring, LoopJoint, Rod, Rope)
TIES = ("coupling", "driver")  # of coordinates, which are the same in the image


def mirror_matrix(axis: str) -> np.ndarray:
    """S, (3, 3)."""
    return np.diag([-1.0 if letter == axis else 1.0 for letter in "xyz"]).astype(object)


def mirrored_joint(joint: Joint, S: np.ndarray) -> Joint:
    """The mirror image of a joint in mirrored frames."""
    if isinstance(joint, (Fixed, Spherical)):
        return joint
    if isinstance(joint, Universal):
        return Universal(*(-(S @ n) for n in joint.given))
    if isinstance(joint, Screw):
        return Screw(-(S @ joint.given), pitch=-joint.pitch)
    sign = -1.0 if isinstance(joint, Revolute) else 1.0
    return type(joint)(sign * (S @ joint.given))  # type: ignore[attr-defined, call-arg]


def mirrored_shape(shape: Shape, S: np.ndarray) -> Shape:
    """A shape in its mirrored place; a mesh is drawn as it is."""
    other, M = copy(shape), S.astype(float)
    R = M @ np.asarray(shape.pose.R, dtype=float) @ M
    object.__setattr__(other, "pose", Transform(R, S @ np.asarray(shape.pose.p, dtype=object)))
    return other


def check_mirrored(m: Mechanism, axis: str) -> None:
    """Refuse elements whose mirror image is not theirs in mirrored frames."""
    for a in m.joints.values():
        if not isinstance(a.joint, JOINTS):
            raise DescriptionError(f"{a} cannot be mirrored: needed: {', '.join(k.kind for k in JOINTS)}.")
    elements: list[Any] = [*m.forces.values(), *m.constraints.values(), *m.contacts.values()]
    for x in elements:
        tie = isinstance(x, Expressions) and x.kind in TIES
        touching = isinstance(x, Contact) and not (x.on_plane and axis == "z")
        loop = isinstance(x, LoopJoint) and not isinstance(x.joint, JOINTS)
        if loop or not (tie or touching or isinstance(x, ELEMENTS)):
            raise DescriptionError(f"{x.kind} '{x.name}' cannot be mirrored; add it after merging, on each side.")
