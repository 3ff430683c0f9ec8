"""Paths as tendons of MJCF, each written once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.mjcf.document import Document, XmlNode
from dalembert.formats.mjcf.laws import Polynomial
from dalembert.formats.mjcf.paths import JointPath, SpatialPath
from dalembert.formats.mjcf.wrapping import Wrap
from dalembert.mechanism.constraints import Expressions
from dalembert.mechanism.joints.attachment import Attachment


def write_tendon(d: Document, name: str, path: Any) -> str | None:
    """The name of a tendon along a path; None where MJCF has none."""
    node = tendon_node(d, name, path)
    return None if node is None else node.attributes["name"]


def tendon_node(d: Document, name: str, path: Any) -> XmlNode | None:
    """A tendon along a path."""
    if isinstance(path, JointPath):
        if any(joint not in d.coordinates for joint, _ in path.terms):
            return None
        tendon = d.section("tendon").add("fixed", name=d.name("tendon", name))
        for joint, c in path.terms:
            tendon.add("joint", joint=d.coordinates[joint], coef=c)
        return tendon
    if not isinstance(path, SpatialPath):
        return None
    tendon = d.section("tendon").add("spatial", name=d.name("tendon", name))
    for branch in path.branches:
        if branch.divisor != 1.0 or branch is not path.branches[0]:
            tendon.add("pulley", divisor=branch.divisor)
        for point in branch.points:
            if isinstance(point, Wrap):
                side = {} if point.side is None else {"sidesite": point.side}
                tendon.add("geom", geom=_geom(d, point), **side)
            else:
                tendon.add("site", site=point)
    return tendon


def find_armatures(d: Document) -> None:
    """Note in `d.left_out` the slides that are the armature of a tendon, as the reader makes them."""
    parents = [a.parent.body.name for a in d.m.joints.values()]
    frames = [frame.body.name for frame in d.m.frames.values()]
    for c in d.m.constraints.values():
        law = c.holonomic[0][1] if isinstance(c, Expressions) and len(c.holonomic) == 1 else None
        if not isinstance(law, Polynomial) or not isinstance(law.y, JointPath) or law.x is None:
            continue
        a = d.m.joints.get(law.y.terms[0][0])
        told = (*law.coefficients, law.y0, law.x0, *(k for _, k in law.y.terms)) == (0.0, 1.0, 0.0, 0.0, 1.0)
        if not told or a is None or a.joint.kind != "prismatic" or a.parent.body is not d.m.ground:
            continue
        body, path = a.child.body, law.x
        alone = body.name not in parents and body.name not in frames and not body.shapes and not a.stiffness.any()
        known = isinstance(path, SpatialPath) or all(
            joint in d.m.joints for joint, _ in getattr(path, "terms", [("", 0)])
        )
        if alone and known and not np.any(d.number(a.damping)) and abs(_weight(d, a)) == 0.0:
            mass = float(d.number([body.mass])[0] + d.number(a.armature)[0])
            d.left_out[body.name] = d.left_out[c.name] = (c.name, path, mass)


def _weight(d: Document, a: Attachment) -> float:
    """How gravity pulls along a slide, of its size; 0 where that is rounding."""
    g, axis = d.number(d.m.gravity), d.number(a.parent.T.R) @ d.number(a.joint.orientation)[:, 2]
    pull = float(g @ axis) / float(np.linalg.norm(g) or 1.0)
    return pull if abs(pull) > 1e-12 else 0.0


def write_armatures(d: Document) -> None:
    """Tendons with an armature."""
    for name, path, mass in dict.fromkeys(d.left_out.values()):
        tendon = tendon_node(d, name, path)
        assert tendon is not None, "its joints are written"
        tendon.attributes |= XmlNode("", armature=mass).attributes


def _geom(d: Document, wrap: Wrap) -> str:
    """A sphere or cylinder for a tendon to go around; it weighs nothing and touches nothing."""
    node, p, q = d.place(d.m.frames[wrap.frame])
    own = f"{wrap.frame}_geom"
    if own not in d.names.get("geom", ()):
        size = [wrap.radius, 0.1] if wrap.cylinder else [wrap.radius]
        kind = "cylinder" if wrap.cylinder else "sphere"
        name = d.name("geom", own)
        node.add("geom", name=name, type_=kind, size=size, pos=p, quat=q, mass=0, contype=0, conaffinity=0, group=4)
    return own
