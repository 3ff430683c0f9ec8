"""Bodies and frames fixed to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.shapes import Collider, Shape
from dalembert.mechanism.values import Defaults
from dalembert.spatial import RigidInertia, Transform, congruence
from dalembert.symbols import array, snap, zeros

IDENTITY = Transform.identity()  # shared by frames, so nobody may write to it
IDENTITY.R.flags.writeable = IDENTITY.p.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body of a mechanism; made by `Mechanism.add_body`."""

    name: str
    mass: Any
    com: np.ndarray  # (3,) in the body frame
    inertia: np.ndarray  # (3, 3) about the centre of mass, in body axes
    defaults: Defaults  # the parameters of the mechanism it belongs to
    shapes: list[Shape] = field(default_factory=list)  # what it looks like, for pictures
    drawn: Transform = IDENTITY  # place of its frame in the drawing
    colliders: list[Collider] = field(default_factory=list)  # shapes that may touch, for `Mechanism.add_contacts`

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0, *, rotation: Any = None) -> Frame:
        """The frame at (x, y, z) of this body (m), turned by `rotation` (a 3×3 matrix or a SciPy Rotation).

        The position may also be given as one list or array, of three numbers or, with z = 0, of two. The name of a
        point of the drawing (`add_points`) is the frame there, with the ground's axes.

        >>> import dalembert as da
        >>> m = da.Mechanism("example")
        >>> m.ground.at(0.5, 0, 0, rotation=da.rotation("x", 0.1))
        <frame of 'ground' at (0.5, 0, 0), turned>
        """
        what = f"the position of a frame on body '{self.name}'"
        if isinstance(x, str):
            if x not in self.defaults.points:
                raise unknown("point", x, self.defaults.points, what)
            here = self.drawn_at(self.defaults.points[x])
            return here if rotation is None else here.at(rotation=rotation)
        p = self.defaults.checked(_position(x, y, z, what), (3,), what)
        if rotation is None:
            return Frame(self, Transform(IDENTITY.R, p))
        return Frame(
            self,
            Transform(self.defaults.rotation(rotation, f"the rotation of a frame on body '{self.name}'"), p),
        )

    def drawn_at(self, point: np.ndarray) -> Frame:
        """The frame at a point (3,) of the drawing, with the ground's axes."""
        here = Transform(IDENTITY.R, point)
        return Frame(self, here if self.drawn is IDENTITY else self.drawn.inverse() @ here)

    def add_shape(
        self,
        kind: str,
        size: Sequence[float] | float = (),
        *,
        at: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: Any = None,
        colour: Sequence[float] | None = None,
        file: str | None = None,
        scale: Sequence[float] = (1.0, 1.0, 1.0),
        name: str = "",
    ) -> Shape:
        """Let the body look like a box, sphere, cylinder, capsule, rod, wheel, plate, arrow or mesh; it weighs nothing.

        kind, size (m), colour, file, scale and name as in `Shape`; `at` (m) and `rotation` (a 3×3 matrix or a SciPy
        Rotation) place it in the body. size and `at` may be expressions of parameters: pictures follow their values.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.ground.add_shape("cylinder", (0.05, 0.4), at=(0, 0, 0.2))
        <cylinder (0.05, 0.4)>
        """
        R = np.eye(3) if rotation is None else rotation
        shape = Shape(kind, size, (R, at), colour, file, scale, name)  # type: ignore[arg-type]
        shape.evaluated(self.defaults.number)  # refuses symbols that are no parameters, and lengths below zero
        self.shapes.append(shape)
        return shape

    def add_collider(
        self,
        shape: Shape,
        *,
        friction: float | None = None,
        restitution: float | None = None,
        combine: str = "least",
        group: int = 1,
        against: int = 1,
        apart: Sequence[str] = (),
        together: Sequence[str] = (),
    ) -> None:
        """Let `shape`, a `da.Shape`, be one of the body that may touch, where `Mechanism.add_contacts` is called.

        It is not drawn, and alone changes nothing. friction (μ) and restitution (0 to 1) of a contact are the least of
        two shapes, or with combine="greatest" of one of them the greatest. Two shapes may touch where the bits of
        `group` of one meet those of `against` of the other. apart: labels; shapes that have one in common do not touch.
        together: labels; shapes that have one in common may touch in any case.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> m.add_body("crate", mass=1.0).add_collider(da.Shape("box", (0.2, 0.2, 0.2)), friction=0.6)
        """
        given = Collider(
            shape, friction, restitution, combine, group, against, apart, together  # type: ignore[arg-type]
        )  # fmt: skip
        shape.evaluated(self.defaults.number)
        self.colliders.append(given)

    def numeric_shapes(self) -> list[Shape]:
        """The shapes in plain numbers, at the default parameters."""
        return [shape.evaluated(self.defaults.number) for shape in self.shapes]

    @property
    def frame(self) -> Frame:
        """The body's own frame."""
        return Frame(self, IDENTITY)

    def spatial_inertia(self) -> RigidInertia:
        """Inertia about the body frame's origin."""
        return RigidInertia.at_center(self.mass, self.com, self.inertia)

    def __repr__(self) -> str:
        return f"<body '{self.name}'>"


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A frame fixed to a body: T maps its coordinates to the body's."""

    body: Body
    T: Transform

    def at(self, x: Any = 0.0, y: Any = 0.0, z: Any = 0.0, *, rotation: Any = None) -> Frame:
        """The frame at (x, y, z) of this one (m; also one list of three or two), turned by `rotation`."""
        inside = self.body.at(x, y, z, rotation=rotation)
        return inside if self.T is IDENTITY else Frame(self.body, self.T @ inside.T)

    @property
    def drawn(self) -> Transform:
        """Place of the frame in the drawing."""
        return self.T if self.body.drawn is IDENTITY else self.body.drawn @ self.T

    def __repr__(self) -> str:
        p = ", ".join(f"{x:g}" if isinstance(x, float) else str(x.sx) for x in self.T.p)
        turned = "" if np.array_equal(self.T.R, Transform.identity().R) else ", turned"
        return f"<frame of '{self.body.name}' at ({p}){turned}>"


def _position(x: Any, y: Any, z: Any, what: str) -> Any:
    """Three numbers, given one by one or as one list of three or two in place of x."""
    if isinstance(x, (ca.SX, ca.DM)):
        several = x.numel() != 1
    else:
        several = isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim > 0)
    if not several:
        return [x, y, z]
    if y.__class__ is not float or z.__class__ is not float or y != 0.0 or z != 0.0:
        raise DescriptionError(f"{what} is a list and y or z besides; needed: at(x, y, z) or at((x, y, z)).")
    if isinstance(x, (ca.SX, ca.DM)):
        return ca.vertcat(ca.vec(x), 0.0) if x.numel() == 2 else x
    return [*x, 0.0] if len(x) == 2 else x


def turned_inertia(J: np.ndarray, R: np.ndarray) -> np.ndarray:
    """J given in axes R (columns in body axes), in body axes."""
    return snap(congruence(R, J))


def ground_body(defaults: Defaults) -> Body:
    """The ground: the body that does not move."""
    return Body("ground", 0.0, zeros(3), array(np.zeros((3, 3))), defaults)
