"""Writing MJCF: bodies, joints, sites, geoms, keyframes; constraints and forces in files of their own.

Names are kept; a coordinate `joint.part` becomes the joint `joint_part`. All joints have ref 0, so coordinates are
those of the mechanism. Bodies without mass that carry one other are written as further joints of that one, as MuJoCo
has them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.mjcf.document import Document, Node, quaternion
from dalembert.formats.mjcf.laws import BallHigherOrder, HigherOrder
from dalembert.formats.mjcf.writing_constraints import write_constraints
from dalembert.formats.mjcf.writing_forces import write_forces
from dalembert.mechanism.body import Body
from dalembert.mechanism.forces import JointForce
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.notes import Note
from dalembert.spatial import Transform

LEAST = 1.001e-15  # MuJoCo refuses moving bodies with a mass or a moment of inertia of 1e-15 or less


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> list[Note]:
    """Write a mechanism to an MJCF file; gives what MJCF cannot say. Needs no MuJoCo.

    mechanism: any; parameters are written with their default values. path: the file, which is replaced.

    >>> import dalembert as da, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = write(da.zoo.four_bar(), pathlib.Path(folder) / "four_bar.xml")
    >>> notes
    []
    """
    where = Path(checks.path(path, "path", error=ModelFileError))
    d = Document(mechanism, where.name)
    written, notes = text_of(d, where.parent), d.notes
    try:
        where.write_text(written, encoding="utf-8")
    except OSError as error:
        raise ModelFileError(f"could not be written: {error.strerror}.", str(where)) from None
    return notes


def text_of(d: Document, folder: Path) -> str:
    """The MJCF text of a document's mechanism."""
    m = d.m
    d.section("compiler").attributes |= {"angle": "radian", "inertiafromgeom": "false", "autolimits": "true"}
    d.section("option").attributes["gravity"] = Node("", x=d.number(m.gravity)).attributes["x"]
    for name in m.parameters.symbols:
        d.note(f"parameter '{name}'", "is written with its default value")
    _bodies(d)
    for name, frame in m.frames.items():
        if frame.body is not m.ground or name != "world" or np.any(d.number(frame.T.p)):
            d.site(name, frame)
    _shapes(d, folder)
    write_constraints(d)
    write_forces(d)
    _states(d)
    return d.written()


# --- bodies -----------------------------------------------------------------------------------------------------------


def _bodies(d: Document) -> None:
    """The tree, parents first."""
    m = d.m
    d.nodes["ground"], d.frames["ground"] = d.section("worldbody"), _identity()
    hanging: dict[str, list[Attachment]] = defaultdict(list)
    for joint in m.joints.values():
        hanging[joint.parent.body.name].append(joint)
    kept = _visible(d)
    waiting = [[joint] for joint in reversed(hanging["ground"])]
    while waiting:
        chain = waiting.pop()
        body = chain[-1].child.body
        below = hanging[body.name]
        if len(below) == 1 and body.name not in kept and _merges(d, chain[-1], below[0]):
            waiting.append([*chain, below[0]])
            continue
        _body(d, chain)
        waiting.extend([joint] for joint in reversed(below))


def _visible(d: Document) -> set[str]:
    """Bodies with mass, or that something besides joints is fixed to."""
    out = set()
    for body in d.m.bodies.values():
        heavy = float(d.number([body.mass])[0]) > 0.0 or np.any(d.number(body.inertia))
        if heavy or body.shapes:
            out.add(body.name)
    for frame in d.m.frames.values():
        out.add(frame.body.name)
    for element in (*d.m.constraints.values(), *d.m.forces.values()):
        for part in vars(element).values():
            for frame in part if isinstance(part, (list, tuple)) else [part]:
                if hasattr(frame, "body"):
                    out.add(frame.body.name)
    return out


def _merges(d: Document, first: Attachment, second: Attachment) -> bool:
    """Whether a joint can follow another on one body: neither is free, and a ball comes last."""
    return first.joint.kind not in ("free", "spherical", "fixed") and second.joint.kind not in ("free", "fixed")


def _body(d: Document, chain: list[Attachment]) -> None:
    """One body with its joints, in a frame that gives ball and free joints their own coordinates."""
    last = chain[-1]
    body, kind = last.child.body, last.joint.kind
    end = d.numeric(last.child.T)
    W = end if kind == "free" else Transform(end.R, np.zeros(3)) if kind == "spherical" else _identity()
    parent = chain[0].parent
    T = d.frames[parent.body.name].inverse() @ d.numeric(chain[0].parent.T)
    places = []  # each joint's frame in the parent's, at the neutral position
    for n, joint in enumerate(chain):
        places.append(T)
        T = T @ d.numeric(joint.child.T).inverse()
        T = T @ d.numeric(chain[n + 1].parent.T) if n + 1 < len(chain) else T @ W
    node = d.nodes[parent.body.name].add("body", name=d.name("body", body.name), pos=T.p, quat=quaternion(T.R))
    d.nodes[body.name], d.frames[body.name] = node, W
    moving = False
    for joint, place in zip(chain, places):
        _joint(d, node, joint, T.inverse() @ place)
        moving |= joint.joint.nv > 0
    _inertia(d, node, body, W)


def _inertia(d: Document, node: Node, body: Body, W: Transform) -> None:
    mass = float(d.number([body.mass])[0])
    com = W.inverse() @ Transform(np.eye(3), d.number(body.com))
    J = W.R.T @ d.number(body.inertia) @ W.R
    moments, axes = np.linalg.eigh((J + J.T) / 2)
    if np.count_nonzero(J - np.diag(np.diag(J))) == 0:
        moments, axes = np.diag(J), np.eye(3)
    elif np.linalg.det(axes) < 0:
        axes = axes * [1.0, 1.0, -1.0]
    if mass == 0.0:
        d.note(f"body '{body.name}'", f"has no mass, which MuJoCo needs on bodies that move: {LEAST:g} kg is written")
    elif moments.min() < LEAST - 1e-12 * moments.max():
        d.note(f"body '{body.name}'", f"has a moment of inertia below {LEAST:g} kg m², the least that MuJoCo takes")
    moments = np.maximum(moments, LEAST)
    a, b, c = sorted(moments)
    lacking = c - (a + b)
    if lacking > 0.0:
        if lacking > 1e-9 * c:
            d.note(f"body '{body.name}'", "has moments of inertia that no solid has; the two smaller ones are raised")
        moments = np.where(moments == c, c, moments + lacking / 2 + 4e-16 * c)
    node.add("inertial", mass=max(mass, LEAST), pos=com.p, quat=quaternion(axes), diaginertia=moments)


# --- joints -----------------------------------------------------------------------------------------------------------

#: kind of a joint: for each coordinate, hinge or slide and the joint's own axis
AXES = {
    "revolute": (("hinge", 2),),
    "prismatic": (("slide", 2),),
    "cylindrical": (("hinge", 2), ("slide", 2)),
    "universal": (("hinge", 0), ("hinge", 1)),
    "planar": (("slide", 0), ("slide", 1), ("hinge", 2)),
    "screw": (("hinge", 2), ("slide", 2)),
}


def _joint(d: Document, node: Node, a: Attachment, place: Transform) -> None:
    """The joint as elements of MJCF; place: its frame in the written body."""
    kind = a.joint.kind
    if kind == "fixed":
        return
    if kind == "free":
        _free(d, node, a)
        return
    stiffness, damping, armature = d.number(a.stiffness), d.number(a.damping), d.number(a.armature)
    higher = _higher(d, a)
    if kind == "spherical":
        name = d.coordinates[a.name] = d.name("joint", a.name)
        node.add(
            "joint",
            name=name,
            type_="ball",
            pos=place.p,
            stiffness=[stiffness[0], *higher[0]] if stiffness[0] or any(higher[0]) else None,
            damping=[damping[0], *higher[1]] if damping[0] or any(higher[1]) else None,
            armature=armature[0] or None,
        )
        if stiffness[0] and not np.array_equal(d.number(a.rest), [1.0, 0.0, 0.0, 0.0]):
            d.note(f"joint '{a.name}'", "the spring of a ball joint rests at the reference position in MJCF")
        if len(set(stiffness)) > 1 or len(set(damping)) > 1:
            d.note(f"joint '{a.name}'", "has one stiffness and damping for all axes in MJCF: those of the first")
        return
    R = place.R @ d.number(a.joint.orientation)
    names = [*a.coordinates, *([f"{a.name}_advance"] if kind == "screw" else [])]
    rest = d.number(a.rest)
    for n, (type_, axis) in enumerate(AXES[kind]):
        own = d.name("joint", names[n].replace(".", "_"))
        if own != names[n]:
            d.note(f"coordinate '{names[n]}'", f"is written as joint '{own}'")
        d.coordinates[names[n]] = own
        dof = n < len(a.coordinates)
        limits = a.limits[n] if dof else np.array([-np.inf, np.inf])
        k = stiffness[n] if dof else 0.0
        node.add(
            "joint",
            name=own,
            type_=type_,
            pos=place.p,
            axis=R[:, axis],
            stiffness=[k, *higher[0]] if k or any(higher[0]) else None,
            springref=higher[2] if any(higher[0]) else rest[n] if k else None,
            damping=[damping[n], *higher[1]] if dof and (damping[n] or any(higher[1])) else None,
            armature=armature[n] if dof and armature[n] else None,
            range=limits if np.all(np.isfinite(limits)) else None,
        )
        if np.any(np.isfinite(limits)) and not np.all(np.isfinite(limits)):
            d.note(f"joint '{a.name}'", "has a limit on one side only, which MJCF does not have")
    if kind == "screw":
        pitch = float(d.number([a.joint.pitch])[0])  # type: ignore[attr-defined]
        d.note(f"joint '{a.name}'", "a screw is written as a hinge and a slide that an equality ties")
        tied = (d.coordinates[f"{a.name}_advance"], d.coordinates[a.name])
        equality = d.section("equality")
        equality.add("joint", name=d.name("equality", a.name), joint1=tied[0], joint2=tied[1], polycoef=[0, pitch, 0, 0, 0])


def _free(d: Document, node: Node, a: Attachment) -> None:
    name = d.coordinates[a.name] = d.name("joint", a.name)
    damping = d.number(a.damping)
    node.add("joint", name=name, type_="free", damping=damping[0] if damping[0] else None)
    parent = d.numeric(a.parent.T)
    if a.parent.body is not d.m.ground or not (np.array_equal(parent.R, np.eye(3)) and not np.any(parent.p)):
        d.note(f"joint '{a.name}'", "a free joint starts from the world's frame in MJCF: its coordinates change")
    if len(set(damping)) > 1 or np.any(d.number(a.stiffness)):
        d.note(f"joint '{a.name}'", "springs, and damping that differs, of a free joint are not written")


def _higher(d: Document, a: Attachment) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Quadratic and cubic stiffness and damping, and the rest, that the reader put beside a joint."""
    for force in d.m.forces.values():
        if isinstance(force, JointForce) and force.joint is a and isinstance(force.value, (HigherOrder, BallHigherOrder)):
            rest = force.value.rest
            return force.value.stiffness, force.value.damping, rest if isinstance(rest, float) else 0.0
    return (0.0, 0.0), (0.0, 0.0), 0.0


# --- shapes and states ------------------------------------------------------------------------------------------------


def _shapes(d: Document, folder: Path) -> None:
    """Geoms for display; a mesh only where its file is beside the text, since MuJoCo opens it."""
    for body in d.m.bodies.values():
        for shape in body.shapes:
            half: Any = {"box": 0.5, "cylinder": [1.0, 0.5], "capsule": [1.0, 0.5]}.get(shape.kind, 1.0)
            size: Any = np.array(shape.size) * half if shape.size else None
            mesh = None
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


def _states(d: Document) -> None:
    """Named states as keyframes; joints in the order of the written tree."""
    if not d.m.states or any(a.joint.kind == "screw" for a in d.m.joints.values()):
        return
    order = {name: n for n, name in enumerate(_written_joints(d))}
    joints = sorted((a for a in d.m.joints.values() if a.joint.nq), key=lambda a: order[_first(d, a)])
    for state in d.m.states.values():
        qpos: list[float] = []
        qvel: list[float] = []
        for a in joints:
            q = _given(a.name, a.coordinates, state.q, a.joint.neutral())
            v = _given(a.name, a.velocities, state.v, np.zeros(a.joint.nv))
            if a.joint.kind == "free":
                R = np.array(a.joint.transform(q).R, dtype=float)
                q, v = np.concatenate([q[4:], q[:4]]), np.concatenate([R @ v[3:], v[:3]])
            qpos.extend(q)
            qvel.extend(v)
        key = d.section("keyframe").add("key", name=d.name("key", state.name), time=state.t or None, qpos=qpos)
        if any(qvel):
            key.attributes["qvel"] = Node("", x=qvel).attributes["x"]
        controls = [child.attributes["name"] for child in d.sections["actuator"].children] if "actuator" in d.sections else []
        values = [state.u[name][0] if len(state.u.get(name, ())) == 1 else 0.0 for name in controls]
        if any(values):
            key.attributes["ctrl"] = Node("", x=values).attributes["x"]


def _written_joints(d: Document) -> list[str]:
    out, waiting = [], [d.section("worldbody")]
    while waiting:
        node = waiting.pop()
        out.extend(c.attributes["name"] for c in node.children if c.tag == "joint")
        waiting.extend(reversed([c for c in node.children if c.tag == "body"]))
    return out


def _first(d: Document, a: Attachment) -> str:
    return d.coordinates.get(a.name) or d.coordinates[a.coordinates[0]]


def _given(name: str, parts: list[str], given: dict[str, tuple[float, ...]], default: np.ndarray) -> np.ndarray:
    """The numbers of a joint in a state, given for the joint or for its parts."""
    x = np.array(given.get(name, default), dtype=float)
    for n, part in enumerate(parts):
        if part in given and part != name:
            x[n] = given[part][0]
    return x


def _identity() -> Transform:
    return Transform(np.eye(3), np.zeros(3))
