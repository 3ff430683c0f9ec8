"""Joints met from their other side: the child's half carries the parent's.

With T the pose of b in a, the tree needs a in b, and the coordinates stay those of b in a:

    T⁻¹(q),   S⁻ = −Ad(T) S,   Ṡ⁻ = −Ad(T) (ad(S v) S + Ṡ)

Joints with one axis need none of it: they turn about the opposite axis by the same number.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import DescriptionError
from dalembert.mechanism.joints.fixed import Fixed
from dalembert.mechanism.joints.free import Free
from dalembert.mechanism.joints.joint import AxisJoint, Joint
from dalembert.mechanism.joints.planar import Planar
from dalembert.mechanism.joints.screw import Screw
from dalembert.mechanism.joints.spherical import Spherical
from dalembert.mechanism.joints.universal import Universal
from dalembert.spatial import Ad, Transform, ad


class Inverse(Joint):
    """The part of an inverse joint that differs from the joint itself."""

    def transform(self, q: np.ndarray) -> Transform:
        """T⁻¹(q)."""
        return super().transform(q).inverse()  # type: ignore[safe-super]

    def screws(self, q: np.ndarray) -> np.ndarray:
        """−Ad(T) S."""
        return -(Ad(super().transform(q)) @ super().screws(q))  # type: ignore[safe-super]

    def screws_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """−Ad(T) (ad(S v) S + Ṡ)."""
        S = super().screws(q)  # type: ignore[safe-super]
        return -(Ad(super().transform(q)) @ (ad(S @ v) @ S + super().screws_rate(q, v)))  # type: ignore[safe-super]

    def locate(self, T: Transform) -> np.ndarray:
        """The coordinates of T⁻¹."""
        return super().locate(T.inverse())  # type: ignore[safe-super]


class InversePlanar(Inverse, Planar):
    """A planar joint whose child carries its parent."""


class InverseSpherical(Inverse, Spherical):
    """A spherical joint whose child carries its parent."""


class InverseUniversal(Inverse, Universal):
    """A universal joint whose child carries its parent."""


class InverseFree(Inverse, Free):
    """A free joint whose child carries its parent."""


_INVERSES: dict[type[Joint], type[Joint]] = {
    Planar: InversePlanar,
    Spherical: InverseSpherical,
    Universal: InverseUniversal,
    Free: InverseFree,
}
_INVERSES |= {there: here for here, there in _INVERSES.items()}


def inverse(joint: Joint) -> Joint:
    """The same joint from its child to its parent, with the same coordinates.

    >>> from dalembert.mechanism.joints import Revolute
    >>> inverse(Revolute("z"))
    Revolute('-z')
    """
    if isinstance(joint, Fixed):
        return joint
    if isinstance(joint, Screw):
        return Screw(_opposite(joint), pitch=joint.pitch)
    if isinstance(joint, AxisJoint) and not isinstance(joint, Planar):
        return type(joint)(_opposite(joint))
    kind = _INVERSES.get(type(joint))
    if kind is None:
        raise DescriptionError(
            f"a joint of the type {type(joint).__name__} cannot be met from its child; swap its two sides, or "
            "close the loop with it by close_loop."
        )
    other = object.__new__(kind)
    vars(other).update(vars(joint))
    return other


def _opposite(joint: AxisJoint) -> np.ndarray:
    return -joint.given
