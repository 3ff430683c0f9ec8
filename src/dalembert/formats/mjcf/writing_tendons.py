"""Paths as tendons of MJCF, each written once."""

from __future__ import annotations

from typing import Any

from dalembert.formats.mjcf.document import Document, Node
from dalembert.formats.mjcf.paths import JointPath, SpatialPath
from dalembert.formats.mjcf.wrapping import Wrap


def write_tendon(d: Document, name: str, path: Any) -> str | None:
    """The name of a tendon along a path; None where MJCF has none."""
    node = tendon_node(d, name, path)
    return None if node is None else node.attributes["name"]


def tendon_node(d: Document, name: str, path: Any) -> Node | None:
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
