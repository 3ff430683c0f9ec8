"""Shapes that a description gives, as solids of a scene."""

from __future__ import annotations

from dalembert.mechanism.body import Body
from dalembert.mechanism.shapes import Shape
from dalembert.view.scene import Solid


def given_solids(body: Body) -> list[Solid]:
    """The solids of a body's own shapes; meshes whose file was not read are left out."""
    return [solid for shape in body.shapes if (solid := _solid(shape)) is not None]


def _solid(shape: Shape) -> Solid | None:
    if shape.kind == "mesh":
        return None
    color, opacity = "", 1.0
    if shape.colour is not None:
        color = "#" + "".join(f"{round(255 * c):02x}" for c in shape.colour[:3])
        opacity = shape.colour[3]
    return Solid(shape.kind, shape.size, shape.pose, color, opacity, "given")
