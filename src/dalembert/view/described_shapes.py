"""Shapes that a description gives, as solids of a scene; meshes are read from files below one folder, never beyond."""

from __future__ import annotations

import io
import os
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from dalembert.errors import FileError, extra
from dalembert.mechanism.body import Body
from dalembert.mechanism.shapes import Shape
from dalembert.view.outlines import rounded
from dalembert.view.scene import DrawnSolid

SUFFIXES = (".stl", ".obj", ".ply", ".off", ".glb")
LARGEST = 64_000_000  # bytes of a mesh file
MOST = 60_000  # triangles; a mesh with more is drawn as its convex hull


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


def find_mesh(file: str, folder: str | os.PathLike[str]) -> Path | None:
    """The file below a folder that a model means: its path, or the end of it after package://… or a drive."""
    root = Path(folder).resolve()
    parts = [part for part in PurePosixPath(file.replace("\\", "/").split("://")[-1]).parts if part not in ("/", "..")]
    for k in range(len(parts)):
        path = root.joinpath(*parts[k:])
        if path.suffix.lower() in SUFFIXES and path.is_file() and path.resolve().is_relative_to(root):
            return path
    return None


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3) of a mesh file."""
    trimesh = extra("trimesh", "meshes", "meshes in pictures")
    size = path.stat().st_size
    if size > LARGEST:
        raise FileError(f"'{path.name}' has {size / 1e6:.0f} MB; needed: at most {LARGEST / 1e6:.0f} MB. Simplify it.")
    try:
        mesh = trimesh.load(
            io.BytesIO(path.read_bytes()), file_type=path.suffix.lower()[1:], force="mesh", skip_materials=True
        )
        if len(mesh.faces) > MOST:
            mesh = mesh.convex_hull
        vertices, faces = np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces, dtype=int)
    except Exception as error:  # whatever the reader of a broken file raises
        raise FileError(f"'{path.name}' cannot be read as a mesh: {error}") from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise FileError(f"'{path.name}' holds no triangles, or places that are no numbers.")
    return vertices, faces
