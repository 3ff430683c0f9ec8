"""Shapes as geoms of MJCF that weigh nothing and touch nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.formats.mjcf.document import Document, quaternion
from dalembert.spatial import Transform


def write_shapes(d: Document, folder: Path) -> None:
    """Geoms for display; a mesh only where its file is beside the text, since MuJoCo opens it."""
    for body in d.m.bodies.values():
        for shape in (given.simpler() for given in body.numeric_shapes()):
            half: Any = {"box": 0.5, "cylinder": [1.0, 0.5], "capsule": [1.0, 0.5]}.get(shape.kind, 1.0)
            size: Any = np.array(shape.size) * half if shape.size else None
            mesh = None
            if shape.kind != "plane" and min(shape.size, default=1.0) == 0.0:
                d.note(f"shape of body '{body.name}'", f"{shape!r} has no extent, which MuJoCo refuses")
                continue
            if shape.kind == "plane":
                size = [*(np.array(shape.size or (0.0, 0.0)) / 2), 1.0]
            if shape.file is not None:
                if not (folder / shape.file).is_file():
                    d.note(f"shape of body '{body.name}'", f"the mesh '{shape.file}' is not beside the file")
                    continue
                mesh = d.name("mesh", Path(shape.file).stem)
                d.section("asset").add("mesh", name=mesh, file=shape.file, scale=shape.scale)
            T = d.frames[body.name].inverse() @ shape.pose
            if not np.any(T.R - np.eye(3)):
                T = Transform(np.eye(3), T.p)
            d.nodes[body.name].add(
                "geom",
                name=d.name("geom", shape.name) if shape.name else None,
                type_=shape.kind,
                size=size,
                pos=T.p,
                quat=quaternion(T.R),
                rgba=shape.colour,
                mesh=mesh,
                mass=0,
                contype=0,
                conaffinity=0,
            )
