"""Joints of a URDF: types, places, limits, dampers, and what mimics what."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.graph import Coupling, Edge
from dalembert.formats.notes import Notes
from dalembert.formats.urdf.links import origin
from dalembert.formats.xml import Element, shown
from dalembert.mechanism.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from dalembert.spatial import Transform

ENDLESS = 1e16  # limits from here on are none, as in SDF

#: names of joint types: URDF's own, Drake's, and those of the loop conventions
AXIAL: dict[str, Any] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "planar": Planar,
    "cylindrical": Cylindrical,
}
OTHERS: dict[str, Any] = {
    "fixed": Fixed,
    "floating": Free,
    "ball": Spherical,
    "spherical": Spherical,
    "universal": Universal,
    "screw": Screw,
}
TYPES = (*AXIAL, *OTHERS)


def direction(e: Element | None, name: str | None = "xyz", default: Any = (1.0, 0.0, 0.0)) -> np.ndarray:
    """A unit vector from an attribute (name None: the text) of an element that may be absent."""
    if e is None:
        return np.array(default)
    n = e.numbers(name, 3, default)
    length = float(np.linalg.norm(n))
    if length < 1e-9:
        raise e.error("has an axis of length 0; needed: a direction.")
    return n / length


def joint_of(e: Element, kind: str, axis: np.ndarray, second: np.ndarray | None = None) -> Joint:
    """A joint of the type named `kind` about or along `axis`; e is where it stands."""
    if kind in AXIAL:
        return AXIAL[kind](_tidy(axis))
    if kind == "screw":
        pitch = e.only("drake:screw_thread_pitch")
        if pitch is None:
            raise e.error("is a screw without <drake:screw_thread_pitch value>, its advance in metres per turn.")
        return Screw(_tidy(axis), pitch=pitch.number("value") / (2 * np.pi))
    if kind == "universal" and second is not None:
        if abs(float(axis @ second)) > 1e-6:
            raise e.error("has axes that are not at right angles; needed for a universal joint.")
        return Universal(_tidy(axis), _tidy(second - (axis @ second) * axis))
    if kind in OTHERS:
        return OTHERS[kind]()
    hint = " (a joint that runs along a curve is not modelled)" if kind == "curvilinear" else ""
    raise e.error(f"has type {shown(kind)}{hint}; needed: one of {', '.join(TYPES)}.")


def read_joint(e: Element, name: str, notes: Notes) -> Edge:
    """A joint between its parent and child links; its frame is the child's."""
    kind = e.required("type")
    axis = e.only("axis") if kind in AXIAL or kind == "screw" else None  # others may hold any: 0 0 0 is common
    joint = joint_of(e, kind, direction(axis))
    edge = Edge(name, e, joint, e.child("parent").required("link"), e.child("child").required("link"), origin(e))
    if isinstance(joint, Planar):  # its axes are Drake's, on which URDF itself is silent
        turn = Transform(shortest_turn(joint.axis) @ joint.orientation.astype(float).T, np.zeros(3))
        if not np.array_equal(turn.R, np.eye(3)):
            edge.at_parent, edge.at_child = edge.at_parent @ turn, turn
    _limits(e, kind, edge, notes)
    _dynamics(e, edge, notes)
    return edge


def mimic(e: Element, edges: dict[str, Edge], notes: Notes) -> Coupling | None:
    """The coupling q = multiplier · q_other + offset of a joint with <mimic>, by names of the file."""
    m = e.only("mimic") or e.only("drake:mimic")
    if m is None:
        return None
    name, other = e.name, m.required("joint")
    if other not in edges:
        raise m.error(f"asks for joint {shown(other)}, which is not there.")
    if not edges[name].joint.nv:
        notes.add(m, f"joint {shown(name)} is fixed and has no coordinate that could follow; the coupling is left out")
        return None
    for which in (name, other):
        if edges[which].joint.nv != 1:
            raise m.error(f"couples joint {shown(which)}, which is {edges[which].joint.kind}; needed: one coordinate.")
    if name == other:
        raise m.error("lets a joint mimic itself.")
    terms = {edges[name].name: 1.0, edges[other].name: -m.number("multiplier", 1.0)}
    return Coupling(m.name or f"{edges[name].name}_mimic", m, terms, m.number("offset", 0.0))


def _limits(e: Element, kind: str, edge: Edge, notes: Notes) -> None:
    limit = e.only("limit")
    if kind in ("revolute", "prismatic"):
        if limit is None:
            notes.add(e, "has no <limit>; it is taken as unlimited")
        elif "lower" in limit.attrib or "upper" in limit.attrib:
            low, high = (limit.number(k, 0.0, finite=False) for k in ("lower", "upper"))
            if low > high:
                raise limit.error(f"has lower {low:g} above upper {high:g}; swap them.")
            edge.limits = tuple(x if abs(x) < ENDLESS else np.copysign(np.inf, x) for x in (low, high))
        else:
            notes.add(limit, "has neither lower nor upper; the joint is taken as unlimited")
    if limit is None:
        return
    for name in ("effort", "velocity"):
        limit.number(name, None, finite=False)
    kept = [k for k in limit.attrib if k not in ("lower", "upper")]
    if kept:
        notes.add(limit, f"only positions are kept as limits; {', '.join(kept)} are not")


def _dynamics(e: Element, edge: Edge, notes: Notes) -> None:
    d = e.only("dalembert:dynamics") or e.only("dynamics")
    if d is None:
        return
    nv = edge.joint.nv
    damping = d.numbers("damping", None, (0.0,))
    if len(damping) not in (1, nv) and d.tag == "dynamics":  # of ours, the file of loops may say another type
        raise d.error(f"has {len(damping)} numbers in its attribute 'damping'; needed: 1 or {nv}.")
    if not nv:
        return
    edge.damping = float(damping[0]) if len(damping) == 1 else damping
    edge.friction = 0.0 if isinstance(edge.joint, Free) else d.number("friction", 0.0)
    if edge.friction < 0.0:
        raise d.error(f"has the friction {edge.friction:g}; needed: no negative one.")
    edge.armature = d.number("armature", 0.0)
    if nv == 1:
        edge.stiffness, edge.rest = d.number("spring_stiffness", 0.0), d.number("spring_reference", None)
    if edge.armature and isinstance(edge.joint, Free):
        raise d.error("has an armature on a floating joint, which has no rotor.")
    if edge.armature < 0.0:
        raise d.error(f"has the armature {edge.armature:g}; needed: no negative one.")


def shortest_turn(axis: np.ndarray) -> np.ndarray:
    """(3, 3) the shortest turn of z onto a unit vector, about x for −z: the axes of a planar joint in Drake."""
    x, y, z = (float(n) for n in axis)
    if x == y == 0.0:
        return np.diag([1.0, z, z])
    K = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])  # of z × n
    return np.eye(3) + K + K @ K * ((1.0 - z) / (x * x + y * y))


def _tidy(axis: np.ndarray) -> Any:
    """'x', '-y', … for coordinate axes, so that they are exact."""
    for k, letter in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return letter if axis[k] > 0 else "-" + letter
    return axis
