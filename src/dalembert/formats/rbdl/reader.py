"""Reading RBDL's Lua models: frames are bodies with the joints they hang on, constraint sets close loops.

RBDL's E of a joint frame carries vectors from the parent to the joint, so the joint is turned by Eᵀ; E of a frame on a
body (of loops, and `local_frames`) carries them from that frame to the body.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, ModelFileError, UnknownName
from dalembert.formats.graph import WORLD, Edge, FileLink, Graph, build
from dalembert.formats.notes import Notes
from dalembert.formats.rbdl.constraints import add_constraints, frame_of
from dalembert.formats.rbdl.lua import loads
from dalembert.formats.rbdl.node import LuaNode
from dalembert.formats.xml import contents
from dalembert.formats.yaml import decoded
from dalembert.mechanism.joints import Fixed, Free, Joint, Prismatic, Revolute, Screw, Spherical
from dalembert.mechanism.mechanism import Mechanism
from dalembert.spatial import Transform

MAX_BYTES = 8 * 2**20
ROOT = "ROOT"
#: joints that RBDL names: the axes of each, one after another, rotations first
TYPES: dict[str, Any] = {
    "JointTypeFixed": [],
    "JointTypeRevoluteX": ["rx"],
    "JointTypeRevoluteY": ["ry"],
    "JointTypeRevoluteZ": ["rz"],
    "JointTypeTranslationXYZ": ["x", "y", "z"],
    "JointTypeEulerZYX": ["rz", "ry", "rx"],
    "JointTypeEulerXYZ": ["rx", "ry", "rz"],
    "JointTypeEulerYXZ": ["ry", "rx", "rz"],
    "JointTypeSpherical": Spherical,
    "JointTypeFloatingBase": Free,
    "JointTypeFloatingbase": Free,
}


def read_rbdl(
    path: str | os.PathLike[str], *, strict: bool = False, merge_fixed: bool = True, constraints: str | None = None
) -> Mechanism:
    """The mechanism of a Lua model of RBDL; the tables of the file are read, no Lua is run.

    path: the file. strict=True refuses a file with anything that has no meaning here, which is otherwise listed in
    `notes`. merge_fixed=False keeps a body for frames without joint. constraints: the name of the constraint set to
    take, by default the first one; "" takes none.

    Frames have the names of the file; the joint of a frame has the frame's name, and where it has several axes
    name_1, name_2, …, one joint for each with bodies without mass between them.

    >>> import dalembert as da, pathlib, tempfile
    >>> text = '''return { frames = { { name = "rod", parent = "ROOT", joint = { {0, 1, 0, 0, 0, 0} },
    ...   body = { mass = 1, com = {0.5, 0, 0}, inertia = { {0, 0, 0}, {0, 1/12, 0}, {0, 0, 1/12} } } } } }'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "pendulum.lua"
    ...     _ = file.write_text(text)
    ...     da.read_rbdl(file)
    <mechanism 'pendulum': 1 bodies, 1 joints>
    """
    checks.flag(strict, "strict")
    checks.flag(merge_fixed, "merge_fixed")
    if constraints is not None and not isinstance(constraints, str):
        checks.name(constraints, "constraints")
    where = Path(checks.path(path, "path", error=ModelFileError))
    notes, file = Notes(strict), str(where)
    model = LuaNode(loads(decoded(contents(where, file, MAX_BYTES), file), file), file, "the model")
    graph = Graph(where.stem, gravity=tuple(model.numbers("gravity", 3, (0.0, 0.0, -9.81)).tolist()))
    known: set[str] = set()
    for frame in model.children("frames"):
        _frame(frame, graph, notes, known)
    if not graph.links:
        raise model.error("has no frames.")
    try:
        m = build(graph, notes, base="fixed", merge_fixed=merge_fixed)
        for kind in ("points", "local_frames"):
            for e in model.children(kind):
                at = e.numbers("point" if kind == "points" else "r", 3, (0.0, 0.0, 0.0))
                m.add_frame(e.text("name"), frame_of(e, m, e.text("body")).at(at, rotation=e.rotation("E")))
        add_constraints(model, m, notes, constraints)
    except (ModelFileError, UnknownName):
        raise
    except DescriptionError as error:
        raise ModelFileError(str(error), file) from error
    _left_out(model, notes)
    m.notes.extend(notes.done())
    return m


def _frame(e: LuaNode, graph: Graph, notes: Notes, known: set[str]) -> None:
    """A body, its joints and the bodies without mass between them."""
    name, parent = e.text("name"), e.text("parent", ROOT)
    if parent != ROOT and parent not in known:
        raise e.error(f"hangs on '{parent[:60]}', which no frame before it has as its name.")
    link = FileLink(name, e)
    body = e.child("body")
    if body is not None:
        link.mass, link.com = body.number("mass", 0.0), body.numbers("com", 3, (0.0, 0.0, 0.0))
        link.inertia = body.numbers("inertia", (3, 3), np.zeros((3, 3)))
        if link.mass == 0.0:
            link.com = np.zeros(3)
    frame = e.child("joint_frame")
    place = Transform(np.eye(3), np.zeros(3))
    if frame is not None:
        place = Transform(frame.rotation("E").T, frame.numbers("r", 3, (0.0, 0.0, 0.0)))
    joints = _joints(e)
    inner = WORLD if parent == ROOT else parent
    for k, joint in enumerate(joints, 1):
        last = k == len(joints)
        outer = name if last else f"{name}_{k}_carrier"
        if not last:
            graph.links.append(FileLink(outer, e))
        label = name if len(joints) == 1 else f"{name}_{k}"
        graph.edges.append(Edge(label, e, joint, inner, outer, place))
        inner, place = outer, Transform(np.eye(3), np.zeros(3))
    graph.links.append(link)
    known.add(name)
    for key in e.table:
        if key in ("visuals", "markers"):
            notes.add(e, f"its {key} are not kept")
        elif key not in ("name", "parent", "body", "joint", "joint_frame"):
            notes.add(e, f"'{str(key)[:60]}' is not read")


def _joints(e: LuaNode) -> list[Joint]:
    """The joints of a frame, inward to outward; a fixed one where it has no axes."""
    given = e.child("joint")
    axes: list[Any] = [] if given is None else given.table.items_in_order()
    if len(axes) == 1 and isinstance(axes[0], str):
        found = TYPES.get(axes[0])
        if found is None:
            raise e.error(f"has the joint '{axes[0][:60]}'; needed: axes of six numbers, or one of {', '.join(TYPES)}.")
        if not isinstance(found, list):
            return [found()]
        axes = [[float(f"r{k}" == a) for k in "xyz"] + [float(k == a) for k in "xyz"] for a in found]
    else:
        axes = [e.array(a, 6, "axis of its joint").tolist() for a in axes]
    if len(axes) > 6:
        raise e.error(f"has a joint of {len(axes)} axes; needed: at most 6.")
    return [_joint(e, np.array(a)) for a in axes] or [Fixed()]


def _joint(e: LuaNode, axis: np.ndarray) -> Joint:
    turn, slide = axis[:3], axis[3:]
    size, far = float(np.linalg.norm(turn)), float(np.linalg.norm(slide))
    if size == 0.0 and far == 0.0:
        raise e.error("has a joint with an axis of zeros; needed: a rotation or a translation.")
    if size == 0.0:
        return Prismatic(slide / far)
    if far == 0.0:
        return Revolute(turn / size)
    if abs(abs(turn @ slide) - size * far) > 1e-9 * size * far:
        raise e.error("has a joint that turns about one axis and slides along another at once; needed: along the same.")
    return Screw(turn / size, pitch=float(turn @ slide) / size**2)


def _left_out(model: LuaNode, notes: Notes) -> None:
    known = ("gravity", "frames", "points", "local_frames", "constraint_sets")
    for key, value in model.table.items():
        if key not in known:
            where = LuaNode(value, model.file, f"'{str(key)[:60]}'") if hasattr(value, "line") else model
            notes.add(where, f"'{str(key)[:60]}' of the model has no meaning here")
