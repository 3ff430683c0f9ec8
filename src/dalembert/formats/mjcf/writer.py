"""Writing MJCF: bodies, joints, sites, geoms, keyframes; constraints and forces in files of their own.

Names are kept; a coordinate `joint.part` becomes the joint `joint_part`. All joints have ref 0, so coordinates are
those of the mechanism. Bodies without mass that carry one other are written as further joints of that one, as MuJoCo
has them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import numpy as np

from dalembert import checks
from dalembert.errors import ModelFileError
from dalembert.formats.mjcf.document import Document, XmlNode, quaternion
from dalembert.formats.mjcf.writing_constraints import write_constraints
from dalembert.formats.mjcf.writing_forces import write_forces
from dalembert.formats.mjcf.writing_joints import write_joint
from dalembert.formats.mjcf.writing_shapes import write_shapes
from dalembert.formats.mjcf.writing_states import write_states
from dalembert.formats.mjcf.writing_tendons import find_armatures, write_armatures
from dalembert.formats.saving import save
from dalembert.mechanism.body import Body
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
    save(where, written)
    return notes


def text_of(d: Document, folder: Path) -> str:
    """The MJCF text of a document's mechanism."""
    m = d.m
    for name, contact in m.contacts.items():
        d.note(f"{contact.kind} '{name}'", "is not written: contacts of MuJoCo are between geoms")
    if any(body.colliders for body in m.bodies.values()):
        d.note("colliders", "shapes that may touch are not written")
    d.section("compiler").attributes |= {"angle": "radian", "inertiafromgeom": "false", "autolimits": "true"}
    d.section("option").attributes["gravity"] = XmlNode("", x=d.number(m.gravity)).attributes["x"]
    for name in m.parameters.symbols:
        d.note(f"parameter '{name}'", "is written with its default value")
    find_armatures(d)
    _bodies(d)
    for name, frame in m.frames.items():
        if frame.body is not m.ground or name != "world" or np.any(d.number(frame.T.p)):
            d.site(name, frame)
    write_shapes(d, folder)
    write_constraints(d)
    write_forces(d)
    write_armatures(d)
    write_states(d)
    return d.written()


# --- bodies -----------------------------------------------------------------------------------------------------------


def _bodies(d: Document) -> None:
    """The tree, parents first."""
    m = d.m
    d.nodes["ground"], d.frames["ground"] = d.section("worldbody"), _identity()
    hanging: dict[str, list[Attachment]] = defaultdict(list)
    for joint in m.joints.values():
        if joint.child.body.name in d.left_out:
            continue
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
    if kind == "free" and parent.body is not d.m.ground:  # MuJoCo has free joints on bodies of the world only
        parent = d.m.ground.frame
    T = d.frames[parent.body.name].inverse() @ d.numeric(parent.T)
    places = []  # each joint's frame in the parent's, at the neutral position
    for n, joint in enumerate(chain):
        places.append(T)
        T = T @ d.numeric(joint.child.T).inverse()
        T = T @ d.numeric(chain[n + 1].parent.T) if n + 1 < len(chain) else T @ W
    node = d.nodes[parent.body.name].add("body", name=d.name("body", body.name), pos=T.p, quat=quaternion(T.R))
    d.nodes[body.name], d.frames[body.name] = node, W
    for joint, place in zip(chain, places):
        write_joint(d, node, joint, T.inverse() @ place)
    _inertia(d, node, body, W)


def _inertia(d: Document, node: XmlNode, body: Body, W: Transform) -> None:
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


def _identity() -> Transform:
    return Transform(np.eye(3), np.zeros(3))
