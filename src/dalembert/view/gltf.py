"""A run as a glTF file (.glb) with animation, for Blender, game engines and viewers of the web.

One binary file of the format's version 2.0: a JSON chunk and one buffer. Bodies are nodes whose translation and
rotation are animated; links between bodies are bars that are also scaled. A root node turns "up" to the y axis, as
glTF has it.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.sweep import Sweep
from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.lazy import cached_property
from dalembert.protocols import RunLike
from dalembert.spatial import matrix_quaternion
from dalembert.view.attachments import turn_to
from dalembert.view.door import system_of, writing
from dalembert.view.faces import cylinder, faces, triangles
from dalembert.view.painting import LINKS, path_of
from dalembert.view.poses import clock, positions_at
from dalembert.view.scene import DrawnLink, DrawnSolid, Scene, motion, quaternions, scene

MOST = 6000  # pictures in a file
VERTICES = 34962  # ARRAY_BUFFER: what a view of the buffer is for
RADII = {"rod": 0.5, "actuator": 0.6, "cable": 0.16, "muscle": 0.45, "spring": 0.3, "gap": 0.2}


@explained
def export_gltf(
    run: RunLike | Sweep,
    path: str | os.PathLike[str],
    *,
    fps: float = 30.0,
    meshes: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the motion of a run to a binary glTF file with animation, and return its path.

    run: what da.simulate or da.read_run returns, or a sweep of kinematics. path: ends in .glb. fps: pictures for each
    second of the run, at most 6000 in all; between them viewers go in straight lines and turn evenly. Lengths are
    metres. meshes: the folder of the model's mesh files, as in `scene`.

    >>> import dalembert as da, tempfile
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> run = da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 2.0)
    >>> export_gltf(run, tempfile.mkdtemp() + "/four-bar.glb").stat().st_size < 250_000
    True
    """
    system = system_of(run, sweeps=True)
    checks.path(path, "path")
    if not os.fspath(path).lower().endswith(".glb"):
        raise ArgumentError(f"path is {checks.shown(os.fspath(path))}; needed: a name that ends in .glb.")
    rate = checks.number(fps, "fps", least=1e-9, most=1e9)
    t = clock(run)
    count = 1 + int(min(MOST, np.ceil(rate * float(t[-1] - t[0]))))
    times = np.linspace(t[0], t[-1], count)
    q = positions_at(run, times)
    s = scene(system, q, (), run.p, meshes=meshes)
    data = written(s, motion(system, q, run.p), times - times[0])
    with writing(path):
        Path(path).write_bytes(data)
    return Path(path)


def written(s: Scene, poses: np.ndarray, times: np.ndarray) -> bytes:
    """The file of a scene in poses (N, bodies, 7) at times (N,)."""
    f = _File()
    up = np.array([s.axes[:, 0], s.axes[:, 1], s.axes[:, 2]])  # the picture's axes become x, y, z
    w, x, y, z = matrix_quaternion(up)
    f.nodes.append({"name": s.name, "rotation": [x, y, z, w], "children": []})
    f.times = times
    for k, body in enumerate(s.bodies):
        mesh, moves = f.mesh(body.name, body.solids, body.color), np.ptp(poses[:, k], axis=0).any()
        if mesh is None and not moves:  # the ground, where nothing is drawn on it
            continue
        f.move(f.node(body.name, mesh), translation=poses[:, k, :3], rotation=poses[:, k, [4, 5, 6, 3]])
    for link in s.links:
        for k in range(len(link.points) - 1):
            f.link(s, link, k, poses)
    return f.bytes(s.name)


class _File:
    """The parts of a glTF file while it is made."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.meshes: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self.accessors: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self.channels: list[dict[str, Any]] = []
        self.data = bytearray()
        self.known: dict[tuple[str, float], int] = {}
        self.times = np.zeros(1)

    @cached_property
    def clock(self) -> int:
        """The index of the times of the animation."""
        return self.accessor(self.times, "SCALAR")

    def accessor(self, values: np.ndarray, kind: str, **target: int) -> int:
        """The index of an array of 32-bit numbers put into the buffer."""
        raw = np.ascontiguousarray(values, dtype="<f4")
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": raw.nbytes, **target})
        self.data += raw.tobytes()
        flat = raw.reshape(len(raw), -1)
        self.accessors.append(
            {"bufferView": len(self.views) - 1, "componentType": 5126, "count": len(raw), "type": kind,
             "min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        )  # fmt: skip
        return len(self.accessors) - 1

    def attributes(self, position: np.ndarray, normal: np.ndarray) -> dict[str, int]:
        """Vertices (N, 3) and their normals."""
        data = {"POSITION": position, "NORMAL": normal}
        return {name: self.accessor(values, "VEC3", target=VERTICES) for name, values in data.items()}

    def material(self, color: str, opacity: float) -> int:
        """The index of a colour, "#rrggbb", as a material; glTF has linear colours."""
        if (color, opacity) not in self.known:
            srgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255
            linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
            look = {"baseColorFactor": [*linear.tolist(), opacity], "metallicFactor": 0.1, "roughnessFactor": 0.6}
            extra = {"alphaMode": "BLEND"} if opacity < 1 else {}
            self.materials.append({"name": color, "pbrMetallicRoughness": look, "doubleSided": True, **extra})
            self.known[color, opacity] = len(self.materials) - 1
        return self.known[color, opacity]

    def mesh(self, name: str, solids: list[DrawnSolid], color: str) -> int | None:
        """The index of a mesh of solids: one primitive for each colour."""
        parts: dict[tuple[str, float], list[tuple[np.ndarray, np.ndarray]]] = {}
        for solid in solids:
            x, n = triangles(faces(solid))
            R = np.asarray(solid.T.R, dtype=float)
            if len(x):
                parts.setdefault((solid.color or color, solid.opacity), []).append((x @ R.T + solid.T.p, n @ R.T))
        primitives = []
        for key, pieces in parts.items():
            position, normal = (np.concatenate([p[i] for p in pieces]) for i in (0, 1))
            primitives.append({"attributes": self.attributes(position, normal), "material": self.material(*key)})
        if not primitives:
            return None
        self.meshes.append({"name": name, "primitives": primitives})
        return len(self.meshes) - 1

    def node(self, name: str, mesh: int | None) -> int:
        """The index of a node below the root."""
        self.nodes.append({"name": name} | ({} if mesh is None else {"mesh": mesh}))
        self.nodes[0]["children"].append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def move(self, node: int, **ways: np.ndarray) -> None:
        """Place a node, and animate what changes: translation (N, 3), rotation (N, 4) as x, y, z, w, scale (N, 3)."""
        for name, values in ways.items():
            self.nodes[node][name] = values[0].tolist()
            if len(self.times) < 2 or np.ptp(values, axis=0).max() == 0:
                continue
            output = self.accessor(values, "VEC4" if name == "rotation" else "VEC3")
            self.samplers.append({"input": self.clock, "output": output, "interpolation": "LINEAR"})
            self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": name}})

    def link(self, s: Scene, link: DrawnLink, k: int, poses: np.ndarray) -> None:
        """The k-th piece of a link, as a bar of unit length along z that is moved, turned and scaled."""
        a, b = (path_of(poses, place) for place in link.points[k : k + 2])
        length = np.linalg.norm(b - a, axis=1)
        if length.min() < 1e-9 * s.length:
            return
        x, n = triangles(cylinder(RADII.get(link.kind, 0.3) * s.thickness, 1.0, 16))
        vertices = self.attributes(x + np.array([0, 0, 0.5]), n)
        primitive = {"attributes": vertices, "material": self.material(LINKS[link.kind], 1.0)}
        self.meshes.append({"name": link.name, "primitives": [primitive]})
        node = self.node(link.name, len(self.meshes) - 1)
        turn = quaternions(np.array([turn_to(way) for way in b - a]))[:, [1, 2, 3, 0]]
        scale = np.column_stack([np.ones_like(length), np.ones_like(length), length])
        self.move(node, translation=a, rotation=turn, scale=scale)

    def bytes(self, name: str) -> bytes:
        """The whole file: header, JSON chunk, binary chunk."""
        doc: dict[str, Any] = {
            "asset": {"version": "2.0", "generator": "dalembert"},
            "scene": 0,
            "scenes": [{"name": name, "nodes": [0]}],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.data)}],
        }
        if self.channels:
            doc["animations"] = [{"name": name, "samplers": self.samplers, "channels": self.channels}]
        text = json.dumps({k: v for k, v in doc.items() if v != []}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks
