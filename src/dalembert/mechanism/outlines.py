"""What touches of a shape: its core, sizes and skin, and which pairs of shapes can touch at one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert import checks
from dalembert.errors import DescriptionError, article
from dalembert.mechanism.body import Frame
from dalembert.mechanism.contacts.nearest import LOWEST, PAIRS, Core
from dalembert.mechanism.shapes import Shape
from dalembert.mechanism.values import Defaults, is_exact_zero

#: cores of shapes
CORES = {
    "sphere": Core.POINT, "capsule": Core.SEGMENT, "box": Core.BOX, "cylinder": Core.CYLINDER, "disc": Core.DISC,
    "ellipsoid": Core.ELLIPSOID,
}  # fmt: skip
WORDS = {core: word for word, core in CORES.items()}
SKINNED = (Core.POINT, Core.SEGMENT)  # whose shapes are their cores with a skin, the first number of their size


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A shape that touches: the frame of its core, sizes of the core, and radius of the skin."""

    frame: Frame
    core: Core
    size: tuple[Any, ...]
    radius: Any

    @property
    def kind(self) -> str:
        """In words."""
        return "point" if self.core is Core.POINT and is_zero_length(self.radius) else WORDS[self.core]

    @property
    def plain_size(self) -> tuple[Any, ...]:
        """The size as that of a `Shape`."""
        return (self.radius, *self.size) if self.core in SKINNED else self.size


def outline(parameters: Defaults, frame: Frame, shape: Any, radius: Any, what: str, word: str) -> Outline:
    """The outline of a shape on a frame: a `Shape`, or (kind, size); without one a sphere of some radius.

    word: "shape" or "on_shape", as users call it.
    """
    if shape is None:
        word = word.replace("shape", "radius")
        r = parameters.scalar(radius, f"the {word} of {what}" if word == "radius" else f"{word} of {what}", least=0.0)
        return Outline(frame, Core.POINT, (), _sx(r))
    if not (radius is None or (isinstance(radius, (int, float)) and radius == 0)):
        raise DescriptionError(f"{what} has {word}= and {word.replace('shape', 'radius')}=; needed: one of them.")
    kind: str
    size: Any
    if isinstance(shape, Shape):
        shape = shape.simpler()
        kind, size = shape.kind, shape.size
        frame = frame.at(shape.pose.p.tolist(), rotation=shape.pose.R.astype(float))
    elif isinstance(shape, (list, tuple)) and len(shape) == 2 and isinstance(shape[0], str):
        kind, size = shape
    else:
        raise DescriptionError(f"{word} of {what} is {checks.shown(shape)}; needed: a da.Shape, or (kind, size).")
    checks.choice(kind, list(CORES), f"{word} of {what}", error=DescriptionError)
    size = Shape("sphere" if kind == "disc" else kind, size).size
    for x in size:
        parameters.scalar(x, f"the size of {word} of {what}", least=0.0)
        if is_exact_zero(x) and kind != "sphere":
            raise DescriptionError(f"the size of {word} of {what} has a 0; needed: lengths above 0.")
    core, lengths = CORES[kind], tuple(_sx(x) for x in size)
    if core in SKINNED:
        return Outline(frame, core, lengths[1:], lengths[0])
    return Outline(frame, core, lengths, 0.0)


def check_pair(a: Outline, b: Outline | None, what: str) -> None:
    """Refuse two shapes, or one on a plane, that do not touch at one point."""
    fault = why_not(a.core, Core.PLANE if b is None else b.core)
    if fault:
        raise DescriptionError(f"{what} is between {_a(a.kind)} and {_a('plane' if b is None else b.kind)}: {fault}")
    if b is not None and is_zero_length(a.radius) and is_zero_length(b.radius):
        if a.core is b.core is Core.POINT:
            raise DescriptionError(f"{what} has radius 0 and on_radius 0; needed: one of them above 0.")
        raise DescriptionError(f"{what} is between {_a(a.kind)} and {_a(b.kind)}; needed: a radius above 0.")


def why_not(a: Core, b: Core) -> str:
    """Why two shapes have no gap that is written down; empty where they have."""
    if b is Core.PLANE:
        if a in LOWEST:
            return ""
        return f"{_a(WORDS[a])} rests on a plane at several points; m.add_contacts makes a contact for each of them."
    if (a, b) in PAIRS:
        return ""
    others = [WORDS[y] for x, y in PAIRS if x is a]
    if not others:
        return f"{_a(WORDS[a])} touches planes alone."
    return f"{_a(WORDS[a])} touches a {_either(others)}; for others there is no formula of the gap."


def _a(noun: str) -> str:
    return f"{article(noun)} {noun}"


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def is_zero_length(x: Any) -> bool:
    """Whether a length is the number 0."""
    return isinstance(x, float) and x == 0.0


def _sx(x: Any) -> Any:
    return getattr(x, "sx", x)
