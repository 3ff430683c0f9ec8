"""Shapes of bodies: boxes, spheres, cylinders, meshes. Pictures show them; contacts can be made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.values import as_matrix, check_rotation, described, plain, shaped
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers, is_number

#: kind: how many numbers its size may have
SIZES: dict[str, tuple[int, ...]] = {
    "box": (3,),
    "sphere": (1,),
    "cylinder": (2,),
    "capsule": (2,),
    "rod": (2,),
    "wheel": (2,),
    "plate": (3, 4),
    "arrow": (2,),
    "ellipsoid": (3,),
    "plane": (0, 2),
    "mesh": (0,),
}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A shape fixed to a body; it has no mass, and touches nothing until `Mechanism.add_contacts` is called.

    kind and size (m): "box" (three full edges), "sphere" (radius), "cylinder" and "capsule" (radius, length along z, a
    capsule's without its caps), "rod" (radius, length: from the origin along z, with round ends), "wheel" (radius,
    width along its axis z), "plate" (edges along x and y, thickness along z, radius of its corners if any),
    "arrow" (radius, length: from the origin along z), "ellipsoid" (three half axes), "plane" (normal z; two full
    edges, or none: endless), "mesh" (no numbers; its `file`, which is never opened here, and `scale`, three factors).
    pose places it in the body: a `Transform`, or (rotation, position). colour is (red, green, blue, opacity)
    from 0 to 1, or None. Numbers of the size and the position may be expressions of parameters; `evaluated` evaluates
    them.

    >>> Shape("box", (0.2, 0.1, 0.1), colour=(1, 0, 0, 1))
    <box (0.2, 0.1, 0.1)>
    """

    kind: str
    size: tuple[Any, ...] = ()
    pose: Transform = field(default_factory=lambda: Transform(np.eye(3), np.zeros(3)))
    colour: tuple[float, float, float, float] | None = None
    file: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    name: str = ""

    def __post_init__(self) -> None:
        checks.choice(self.kind, list(SIZES), "the kind of a shape", error=DescriptionError)
        if not isinstance(self.name, str):
            raise DescriptionError(f"the name of a shape is {checks.shown(self.name)}; needed: a string.")
        what = f"{self.kind} '{self.name}'" if self.name else f"a {self.kind}"
        size = _lengths(self.size, f"the size of {what}")
        if len(size) not in SIZES[self.kind]:
            needed = " or ".join(map(str, SIZES[self.kind]))
            raise DescriptionError(f"the size of {what} has {len(size)} number(s); needed: {needed}.")
        if min(filter(is_number, size), default=0.0) < 0.0:
            raise DescriptionError(f"the size of {what} is {size}; no length may be negative.")
        if (self.file is not None) != (self.kind == "mesh"):
            raise DescriptionError(
                f"{what} has {'no file' if self.file is None else 'a file'}; a mesh needs one, others have none."
            )
        if self.file is not None:
            checks.name(self.file, f"the file of {what}", error=DescriptionError)
        set_ = object.__setattr__
        set_(self, "size", size)
        set_(self, "pose", _pose(self.pose, what))
        set_(self, "scale", _numbers(self.scale, 3, f"the scale of {what}"))
        if self.colour is not None:
            colour = _numbers(self.colour, 4, f"the colour of {what} (red, green, blue, opacity)")
            if not all(0.0 <= c <= 1.0 for c in colour):
                raise DescriptionError(f"the colour of {what} is {colour}; needed: four numbers from 0 to 1.")
            set_(self, "colour", colour)

    def evaluated(self, value: Callable[[np.ndarray, str], np.ndarray]) -> Shape:
        """The shape with expressions evaluated: value(x, what) gives an array's values, as `Defaults.number` does."""
        values = np.array([*self.size, *self.pose.p], dtype=object)
        if all_numbers(values):
            return self
        found = value(values, f"a {self.kind} '{self.name}'" if self.name else f"a {self.kind}")
        pose = Transform(self.pose.R, found[-3:])
        return Shape(self.kind, tuple(found[:-3]), pose, self.colour, self.file, self.scale, self.name)

    def simpler(self) -> Shape:
        """The shape in kinds that all formats know: rods as capsules, wheels as cylinders, plates as boxes."""
        if self.kind not in ("rod", "wheel", "plate", "arrow"):
            return self
        kind, size, ahead = {
            "rod": ("capsule", self.size, self.size[-1] / 2),
            "wheel": ("cylinder", self.size, 0.0),
            "plate": ("box", self.size[:3], 0.0),
            "arrow": ("cylinder", self.size, self.size[-1] / 2),
        }[self.kind]
        pose = self.pose @ Transform(np.eye(3), np.array([0.0, 0.0, ahead]))
        return Shape(kind, size, pose, self.colour, name=self.name)

    def moved(self, T: Transform) -> Shape:
        """The shape in another frame, in which the body's frame is at T."""
        other = copy(self)  # checked already
        object.__setattr__(other, "pose", T @ self.pose)
        return other

    def __repr__(self) -> str:
        size = f" ({', '.join(f'{x:g}' if is_number(x) else str(x.sx) for x in self.size)})" if self.size else ""
        return f"<{self.kind}{f' {self.name!r}' if self.name else ''}{size}{f' {self.file!r}' if self.file else ''}>"


@dataclass(frozen=True, slots=True, eq=False)
class Collider:
    """A shape of a body that may touch others, as a model file says: data, until `Mechanism.add_contacts` uses it.

    friction (μ) and restitution: None where nothing is said; of two shapes the least counts, or with combine
    "greatest" of one of them the greatest. Two shapes may touch where the group of one has a bit in common with
    `against` of the other, and no label of `apart`; those with a label of `together` in common may in any case.
    """

    shape: Shape
    friction: float | None = None
    restitution: float | None = None
    combine: str = "least"
    group: int = 1
    against: int = 1
    apart: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise DescriptionError(f"the shape of a collider is {checks.shown(self.shape)}; needed: a da.Shape.")
        what = f"collider {self.shape!r}"
        if self.friction is not None:
            checks.number(self.friction, f"the friction of {what}", least=0.0, error=DescriptionError)
        if self.restitution is not None:
            checks.number(self.restitution, f"the restitution of {what}", least=0.0, most=1.0, error=DescriptionError)
        checks.choice(self.combine, ("least", "greatest"), f"combine of {what}", error=DescriptionError)
        for key in ("group", "against"):
            checks.whole(getattr(self, key), f"{key} of {what}", least=0, error=DescriptionError)
        for key in ("apart", "together"):
            labels = checks.items(getattr(self, key), f"{key} of {what}", "labels, in a list", error=DescriptionError)
            object.__setattr__(
                self, key, tuple(checks.name(x, f"a label of {what}", error=DescriptionError) for x in labels)
            )


def _numbers(value: Any, n: int | None, what: str) -> tuple[Any, ...]:
    if (
        value.__class__ is tuple
        and n in (None, len(value))
        and all(e.__class__ is float and isfinite(e) for e in value)
    ):
        return value
    given = [value] if checks.is_real(value) else value
    return tuple(checks.vector(given, n, what, error=DescriptionError).tolist())


def _lengths(value: Any, what: str) -> tuple[Any, ...]:
    """Numbers and expressions, one or several."""
    if value.__class__ is tuple and all(e.__class__ is float and isfinite(e) for e in value):
        return value
    found = np.atleast_1d(described(value, what))
    if found.ndim != 1 or not all(isfinite(x) for x in found if is_number(x)):
        raise DescriptionError(f"{what} is {checks.shown(value)}; needed: finite numbers or expressions of parameters.")
    return tuple(found.tolist())


def _pose(pose: Any, what: str) -> Transform:
    if isinstance(pose, Transform):
        R, p = pose.R, pose.p
    elif isinstance(pose, Sequence) and len(pose) == 2:
        R, p = pose
    else:
        raise DescriptionError(f"the pose of {what} is {checks.shown(pose)}; needed: (rotation, position).")
    R = checks.array(as_matrix(R), (3, 3), f"the rotation of {what}", error=DescriptionError)
    check_rotation(R, f"the rotation of {what}")
    place = f"the position of {what}"
    return Transform(R.copy(), plain(np.array(_lengths(shaped(p, (3,), place), place), dtype=object)))
