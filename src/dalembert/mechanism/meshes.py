"""Mesh files, read below one folder and never beyond; and the corners of their convex hulls."""

from __future__ import annotations

import io
import os
from pathlib import Path, PurePosixPath

import numpy as np

from dalembert.errors import FileError, extra

SUFFIXES = (".stl", ".obj", ".ply", ".off", ".glb")
LARGEST = 64_000_000  # bytes of a mesh file
MOST = 60_000  # triangles; a mesh with more is taken as its convex hull
CORNERS = 24  # of a hull that touches planes: each is a contact


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
    trimesh = extra("trimesh", "meshes", "reading meshes")
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


def hull_corners(vertices: np.ndarray, most: int = CORNERS) -> tuple[np.ndarray, int, float]:
    """Corners (n, 3) of the convex hull of some points, how many it has, and by how much it exceeds that of the n.

    Of more than `most` those are kept that are farthest in as many directions, evenly spread.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        every = vertices[ConvexHull(vertices).vertices]
        if len(every) <= most:
            return every, len(every), 0.0
        k = np.arange(most) + 0.5
        turn, z = np.pi * (1 + 5**0.5) * k, 1 - 2 * k / most
        ways = np.column_stack([np.cos(turn), np.sin(turn), z])
        ways[:, :2] *= np.sqrt(1 - z**2)[:, None]
        kept = every[np.unique((every @ ways.T).argmax(axis=0))]
        faces = ConvexHull(kept).equations
        return kept, len(every), float((every @ faces[:, :3].T + faces[:, 3]).max())
    except QhullError as error:
        raise FileError(f"a mesh is flat, or has too few corners for a hull: {str(error).splitlines()[0]}.") from None
