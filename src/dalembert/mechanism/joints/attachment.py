"""A joint in its place: between two frames, with its spring, damper, armature and limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.mechanism.joints.inverse import inverse
from dalembert.mechanism.joints.joint import Joint

if TYPE_CHECKING:
    from dalembert.mechanism.body import Frame
    from dalembert.mechanism.contacts import Friction, Stops


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """Joint `name` of type `joint` from frame `parent` to frame `child`; made by `Mechanism.add_joint`."""

    name: str
    joint: Joint
    parent: Frame
    child: Frame
    stiffness: np.ndarray  # (nv,) N m/rad or N/m
    damping: np.ndarray  # (nv,) N m s/rad or N s/m
    rest: np.ndarray  # (nq,) position of zero spring force
    armature: np.ndarray  # (nv,) kg m² or kg
    limits: np.ndarray  # (nv, 2) lower and upper
    friction: tuple[Friction | None, ...] = ()  # (nv,) dry
    stops: Stops | None = None  # at the limits; None: they are data
    tree: bool | None = None  # whether it is to be in the tree; None: as is best (see `topology`)
    flipped: bool = False  # whether the tree meets it from the side that the user named second

    def __repr__(self) -> str:
        as_described = self.inverted() if self.flipped else self
        a, b = as_described.parent.body.name, as_described.child.body.name
        return f"<joint '{self.name}': {as_described.joint!r}, {a} → {b}>"

    def inverted(self) -> Attachment:
        """The same joint from its child to its parent: coordinates, springs and limits are the same numbers."""
        return replace(self, joint=inverse(self.joint), parent=self.child, child=self.parent, flipped=not self.flipped)

    @property
    def loaded(self) -> Frame:
        """The frame at which the joint's reaction acts: that of the body which the user named second."""
        return self.parent if self.flipped else self.child

    @property
    def coordinates(self) -> list[str]:
        """Names of its coordinates."""
        return [f"{self.name}.{s}" if s else self.name for s in self.joint.coordinate_names]

    @property
    def velocities(self) -> list[str]:
        """Names of its velocities."""
        return [f"{self.name}.{s}" if s else self.name for s in self.joint.velocity_names]
