"""The scene: what a mechanism looks like, for every renderer, as plain data; its motion is apart, as poses of bodies.

A scene is made once for a system. Bodies carry solids; links (springs, cables, rods) run between points of bodies. The
motion is an array (N, bodies, 7) of positions and quaternions, x, y, z, w, qx, qy, qz, in the order of `Scene.bodies`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import Parameters, check_system
from dalembert.spatial import Transform, matrix_quaternion
from dalembert.system.system import System
from dalembert.view.poses import body_poses, place_on_body

VERSION = 1
#: colours of bodies, told apart by the colour-blind too
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#5e4fa2")
GROUND = "#8a8f98"
TRACES = ("#7a3e9d", "#1b7837", "#b2182b", "#2166ac")


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSolid:
    """A shape on a body.

    kind and size (m): "box" (three full edges), "sphere" (radius), "cylinder", "capsule" (radius, length along z, both
    centred; a capsule's without caps), "rod" (radius, length: from the origin along z), "ellipsoid" (half axes),
    "wheel" (radius, width, axis z), "plate" (thickness along z; its `outline` (n, 2) in x and y, counterclockwise),
    "arrow" (radius, length: from the origin along z), "plane" (two edges, or none), "mesh" (`vertices` (n, 3),
    `faces` (m, 3)). T places it in the body. color "" is the body's. origin: "given" by the description, "automatic",
    or "floor" for the plane of a contact.
    joint: the joint or contact it belongs to, if it is part of one.
    """

    kind: str
    size: tuple[float, ...] = ()
    T: Transform = field(default_factory=Transform.identity)
    color: str = ""
    opacity: float = 1.0
    origin: str = "automatic"
    joint: str = ""
    outline: np.ndarray | None = None
    vertices: np.ndarray | None = None
    faces: np.ndarray | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data; lengths to eight digits."""
        out: dict[str, Any] = {"kind": self.kind, "size": _list(self.size), **_pose(self.T), "origin": self.origin}
        if self.color:
            out["color"] = self.color
        if self.opacity < 1.0:
            out["opacity"] = self.opacity
        if self.joint:
            out["joint"] = self.joint
        if self.outline is not None:
            out["outline"] = _list(self.outline)
        if self.vertices is not None and self.faces is not None:
            out["vertices"], out["faces"] = _list(self.vertices, 5), np.asarray(self.faces).ravel().tolist()
        return out


@dataclass(slots=True, eq=False)
class SceneBody:
    """A body: its colour, its solids, its mass (kg) and centre of mass (3,), if they are numbers."""

    name: str
    color: str
    solids: list[DrawnSolid] = field(default_factory=list)
    mass: float | None = None
    com: np.ndarray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A frame by name: the body (its index in the scene) and the pose in it."""

    name: str
    body: int
    T: Transform


@dataclass(frozen=True, slots=True, eq=False)
class SceneJoint:
    """A joint: z of a and b is its axis. closes: it closes a loop. glyph: "pin", "slider", "ball", "none" and so on."""

    name: str
    kind: str
    closes: bool
    a: Place
    b: Place
    glyph: str


@dataclass(frozen=True, slots=True, eq=False)
class DrawnLink:
    """A line between points of bodies. kind: "rod", "spring", "cable", "muscle", "actuator", "gap" (of a cut)."""

    kind: str
    name: str
    points: tuple[Place, ...]


@dataclass(eq=False)
class Scene:
    """The scene of a mechanism: shapes, colours and frames.

    length: a length of the mechanism's size (m). axes: directions of the picture in the ground, columns right, up and
    towards the eye; planar: all moves in the plane of the first two. gravity (m/s²). bodies: the ground is the first.
    thickness: the radius of automatic bars (m). eye: yaw and pitch (degrees) to look at a spatial mechanism from.
    """

    name: str
    planar: bool
    length: float
    thickness: float
    axes: np.ndarray
    gravity: np.ndarray
    bodies: list[SceneBody]
    joints: list[SceneJoint] = field(default_factory=list)
    links: list[DrawnLink] = field(default_factory=list)
    frames: list[Place] = field(default_factory=list)
    traces: list[Place] = field(default_factory=list)
    eye: tuple[float, float] = (35.0, 22.0)

    def index(self, body: str) -> int:
        """The place of a body in `bodies`."""
        return next(k for k, b in enumerate(self.bodies) if b.name == body)

    def to_dict(self) -> dict[str, Any]:
        """The scene as plain data for JSON; its keys are the names of the fields."""
        return {
            "version": VERSION,
            "name": self.name,
            "units": "m",
            "planar": self.planar,
            "length": self.length,
            "thickness": self.thickness,
            "axes": {name: _list(self.axes[:, k]) for k, name in enumerate(("right", "up", "towards"))},
            "eye": list(self.eye),
            "gravity": _list(self.gravity),
            "bodies": [
                {
                    "name": b.name,
                    "color": b.color,
                    "mass": b.mass,
                    "com": None if b.com is None else _list(b.com),
                    "shapes": [s.to_dict() for s in b.solids],
                }
                for b in self.bodies
            ],
            "joints": [
                {
                    "name": j.name,
                    "kind": j.kind,
                    "closes": j.closes,
                    "glyph": j.glyph,
                    "a": {"body": j.a.body, **_pose(j.a.T)},
                    "b": {"body": j.b.body, **_pose(j.b.T)},
                }
                for j in self.joints
            ],
            "links": [
                {
                    "kind": link.kind,
                    "name": link.name,
                    "points": [{"body": x.body, "position": _list(x.T.p)} for x in link.points],
                }
                for link in self.links
            ],
            "frames": [{"name": f.name, "body": f.body, **_pose(f.T)} for f in self.frames],
            "traces": [
                {"name": f.name, "body": f.body, "position": _list(f.T.p), "color": TRACES[k % len(TRACES)]}
                for k, f in enumerate(self.traces)
            ],
        }


def scene(
    system: System,
    q: Any = None,
    traces: Iterable[str | Body | Frame] = (),
    p: Parameters = None,
    *,
    meshes: str | os.PathLike[str] | None = None,
) -> Scene:
    """The scene of a system: what every picture, page and file of it is made from.

    q: positions (N, nq) it will be seen in, by default the neutral ones: rails reach as far as they do. traces: frames,
    or names of frames or bodies, whose paths are drawn. p: parameters, where they differ from the declared ones.
    meshes: the folder of the model's mesh files (STL, OBJ, PLY, OFF, GLB; extra `meshes`); none beyond it is opened.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile(backend="casadi")
    >>> s = scene(system, system.state(*zoo.four_bar_start()).q)
    >>> [body.name for body in s.bodies], s.planar
    (['ground', 'crank', 'coupler', 'rocker'], True)
    """
    from dalembert.view.automatic import furnish

    check_system(system)
    q = _positions(system, system.state().q if q is None else q)
    if meshes is not None:
        checks.path(meshes, "meshes")
    return furnish(system, q, [system.layout.frame(f) for f in checked_traces(traces)], p, meshes)


def motion(system: System, q: Any, p: Parameters = None) -> np.ndarray:
    """Poses (N, bodies, 7) of positions q (N, nq): x, y, z (m) and the unit quaternion w, x, y, z of each body.

    p: parameters. Quaternions of one body keep their sign from one position to the next.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile(backend="casadi")
    >>> motion(system, system.state(*zoo.four_bar_start()).q).shape
    (1, 4, 7)
    """
    check_system(system)
    q = _positions(system, q)
    T = body_poses(system, q, p)
    out = np.empty((len(q), len(T), 7))
    for k, name in enumerate(system.layout.bodies):
        out[:, k, :3] = T[name][:, :3, 3]
        out[:, k, 3:] = quaternions(T[name][:, :3, :3])
    return out


def _positions(system: System, q: Any) -> np.ndarray:
    """Positions (N, nq) from what a user gives: one position or several."""
    found = checks.reals(q, "q", f"positions of {system.nq} numbers each")
    return checks.array(np.atleast_2d(found), (None, system.nq), "q")


def quaternions(R: np.ndarray) -> np.ndarray:
    """Unit quaternions (N, 4) of rotations (N, 3, 3), each with the sign nearest to the one before."""
    from scipy.spatial.transform import Rotation

    found = Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]
    found[0] *= 1.0 if found[0, 0] >= 0 else -1.0
    turns = np.sign(np.sum(found[1:] * found[:-1], axis=1))
    found[1:] *= np.cumprod(np.where(turns < 0, -1.0, 1.0))[:, None]
    return found


def placed(system: System, body_index: dict[str, int], frame: Frame, p: Parameters, name: str = "") -> Place:
    """A frame as a place, in numbers."""
    R, x = place_on_body(system, frame, p)
    return Place(name, body_index[frame.body.name], Transform(R, x))


def _list(x: Any, places: int = 8) -> list[float]:
    """Numbers to eight digits of the largest."""
    x = np.asarray(x, dtype=float).ravel()
    top = float(np.abs(x).max(initial=0.0))
    if top == 0.0 or not np.isfinite(top):
        return [0.0] * len(x) if top == 0.0 else x.tolist()
    digits = places - int(np.floor(np.log10(top)))
    return [float(f"{v:.9g}") for v in (np.round(x, digits) if 0 <= digits <= 300 else x) + 0.0]


def _pose(T: Transform) -> dict[str, list[float]]:
    R = np.asarray(T.R, dtype=float)
    return {"position": _list(T.p), "quaternion": _list(matrix_quaternion(R))}


def checked_traces(traces: Any) -> list[Any]:
    """The traced frames as a list; a single frame or name is a list of one."""
    from dalembert.view.door import names

    return [traces] if isinstance(traces, (Body, Frame)) else names(traces, "traces")


__all__ = ["COLORS", "DrawnLink", "DrawnSolid", "Place", "Scene", "SceneBody", "SceneJoint", "motion", "scene"]
