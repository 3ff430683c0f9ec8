"""Shapes that a description gives, as solids of a scene."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert.mechanism.body import Body
from dalembert.mechanism.meshes import find_mesh, read_mesh
from dalembert.mechanism.shapes import Shape
from dalembert.view.outlines import rounded
from dalembert.view.scene import DrawnSolid


def given_solids(body: Body, p: np.ndarray, meshes: str | os.PathLike[str] | None = None) -> list[DrawnSolid]:
    """The solids of a body's own shapes, with parameters of the values p (np,).

    meshes: the folder that mesh files are read from (extra `meshes`); without one, or where a file is not below it,
    meshes are left out.
    """
    if not body.shapes:
        return []
    number = body.defaults.at(p).number
    return [solid for shape in body.shapes if (solid := _solid(shape.evaluated(number), meshes)) is not None]


def _solid(shape: Shape, meshes: str | os.PathLike[str] | None) -> DrawnSolid | None:
    color, opacity = "", 1.0
    if shape.colour is not None:
        color = "#" + "".join(f"{round(255 * c):02x}" for c in shape.colour[:3])
        opacity = shape.colour[3]
    look: dict[str, Any] = {"T": shape.pose, "color": color, "opacity": opacity, "origin": "given"}
    if shape.kind == "mesh":
        found = find_mesh(shape.file or "", meshes) if meshes is not None else None
        if found is None:
            return None
        vertices, faces = read_mesh(found)
        scale = np.array(shape.scale)
        return DrawnSolid(
            "mesh", vertices=vertices * scale, faces=faces[:, ::-1] if np.prod(scale) < 0 else faces, **look
        )
    if shape.kind == "plate":
        x, y, thickness, *corner = shape.size
        r = min(*corner, 0.499 * x, 0.499 * y) if corner else 0.0
        corners = np.array([[a * (x / 2 - r), b * (y / 2 - r)] for a in (-1, 1) for b in (-1, 1)])
        outline = rounded(corners, r) if r > 0 else corners[[0, 2, 3, 1]]
        return DrawnSolid("plate", (thickness,), outline=outline, **look)
    if shape.kind != "plane" and min(shape.size) <= 0:
        return None
    return DrawnSolid(shape.kind, shape.size, **look)
