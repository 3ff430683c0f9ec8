"""Joints of a stage as edges of a graph: kinds, frames, limits, drives."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.links import IDENTITY, WORLD, Edge
from dalembert.formats.notes import Notes
from dalembert.formats.usd.stage import UsdStage
from dalembert.mechanism.joints import (
    Cylindrical,
    Fixed,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.spatial import Transform

KINDS = ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint", "PhysicsFixedJoint", "PhysicsJoint")
SLIDES, TURNS = ("transX", "transY", "transZ"), ("rotX", "rotY", "rotZ")
DEGREE = np.pi / 180
INPUT = "dalembert:input"  # of a joint with a drive: the name of its input, where it is not that of the joint


def edge_of(stage: UsdStage, prim: Any, name: str, links: dict[str, str], notes: Notes) -> Edge | None:
    """A joint; links: names of the rigid bodies by path. None where it forbids nothing."""
    origin, kind = stage.origin(prim), str(prim.GetTypeName())
    if kind not in KINDS:
        raise origin.error(f"is a joint of type {kind}; needed: one of {', '.join(KINDS)}.")
    axis = str(stage.value(prim, "physics:axis", "X"))
    if axis not in ("X", "Y", "Z"):
        raise origin.error(f"has the axis {axis[:20]}; needed: X, Y or Z.")
    joint = _simple(kind, axis.lower()) if kind != "PhysicsJoint" else _by_limits(stage, prim)
    if joint is None:
        notes.add(origin, "leaves all motions free, or limits some without forbidding one; it is left out")
        return None
    (parent, at_parent), (child, at_child) = (_end(stage, prim, k, links) for k in "01")
    edge = Edge(name, origin, joint, parent, child, at_parent, at_child)
    edge.cut = bool(stage.value(prim, "physics:excludeFromArticulation", False))
    if isinstance(joint, (Revolute, Prismatic)):
        _along(stage, prim, edge, joint, kind, axis, notes)
    elif kind == "PhysicsSphericalJoint" and any(
        stage.number(prim, f"physics:coneAngle{k}Limit", -1.0) >= 0.0 for k in "01"
    ):
        notes.add(origin, "has a cone of limits, which is not kept")
    elif joint.nv > 1 and kind == "PhysicsJoint":
        _not_kept(stage, prim, notes)
    return edge


def _simple(kind: str, axis: str) -> Joint:
    if kind == "PhysicsRevoluteJoint":
        return Revolute(axis)
    if kind == "PhysicsPrismaticJoint":
        return Prismatic(axis)
    return Spherical() if kind == "PhysicsSphericalJoint" else Fixed()


def _by_limits(stage: UsdStage, prim: Any) -> Joint | None:
    """The joint whose axes are locked where a lower limit exceeds the upper one."""
    locked = set()
    for schema in stage.applied(prim):
        if schema.startswith("PhysicsLimitAPI:"):
            which = schema.partition(":")[2]
            ends = ("low", -np.inf), ("high", np.inf)
            low, high = (stage.number(prim, f"limit:{which}:physics:{k}", far) for k, far in ends)
            if low > high:
                locked.add(which)
    slides = [n[-1].lower() for n in SLIDES if n not in locked]
    turns = [n[-1].lower() for n in TURNS if n not in locked]
    return _allowing(stage, prim, slides, turns)


def _allowing(stage: UsdStage, prim: Any, slides: list[str], turns: list[str]) -> Joint | None:
    """The joint that allows these translations and rotations; None where it allows all."""
    match len(slides), len(turns):
        case 3, 3:
            return None
        case 0, 0:
            return Fixed()
        case 0, 3:
            return Spherical()
        case 0, 2:
            return Universal(*turns)
        case 0, 1:
            return Revolute(turns[0])
        case 1, 0:
            return Prismatic(slides[0])
        case 1, 1 if slides == turns:
            return Cylindrical(turns[0])
        case 2, 1 if turns[0] not in slides:
            return Planar(turns[0])
    raise stage.origin(prim).error(
        f"leaves the translations {slides} and the rotations {turns} free, which no joint does; needed: those of a "
        "fixed, revolute, prismatic, cylindrical, planar, universal or ball joint."
    )


def _end(stage: UsdStage, prim: Any, k: str, links: dict[str, str]) -> tuple[str, Transform]:
    """The body at one end of a joint, and the joint's frame in it."""
    found = stage.target(prim, f"physics:body{k}")
    R = stage.rotation(prim, f"physics:localRot{k}")
    p = stage.numbers(prim, f"physics:localPos{k}", [0.0] * 3)
    if not np.isfinite(p).all():
        raise stage.origin(prim).error(f"has physics:localPos{k} that is not finite.")
    if found is None:
        return WORLD, Transform(R, p * stage.length)
    here, scale = stage.place(found)
    T = here @ Transform(R, p * scale)
    body = found
    while body and str(body.GetPath()) not in links:
        body = body.GetParent()
    if not body:
        return WORLD, T
    inside = stage.place(body)[0].inverse() @ T
    return links[str(body.GetPath())], IDENTITY if _is_identity(inside) else inside


def _is_identity(T: Transform) -> bool:
    return not T.p.any() and np.array_equal(T.R, np.eye(3))


def _along(
    stage: UsdStage, prim: Any, edge: Edge, joint: Revolute | Prismatic, kind: str, axis: str, notes: Notes
) -> None:
    """Limits, and the drive, along the one axis of a joint."""
    turning = isinstance(joint, Revolute)
    unit = DEGREE if turning else stage.length
    force = stage.mass * stage.length**2 / DEGREE if turning else stage.mass
    which = ("rot" if turning else "trans") + str(axis)
    if kind == "PhysicsJoint":
        which = next(n for n in (*SLIDES, *TURNS) if n[-1].lower() == _letter(joint) and (n in TURNS) == turning)
        names = f"limit:{which}:physics:low", f"limit:{which}:physics:high"
    else:
        names = "physics:lowerLimit", "physics:upperLimit"
    low, high = (stage.number(prim, n, x) for n, x in zip(names, (-np.inf, np.inf)))
    if low > high:
        raise edge.origin.error(f"has limits from {low:g} to {high:g}, which leave it no position. Use a fixed joint.")
    if np.isfinite([low, high]).any():
        edge.limits = (low * unit, high * unit)
    armature = stage.number(prim, "physxJoint:armature", 0.0)
    edge.armature = armature * stage.mass * (stage.length**2 if turning else 1.0)
    usual = "angular" if turning else "linear"
    drives = [s.partition(":")[2] for s in stage.applied(prim) if s.startswith("PhysicsDriveAPI:")]
    for drive in drives:
        if drive not in (usual, which):
            notes.add(edge.origin, f"has a drive '{drive}', along which it does not move")
            continue
        edge.driven = True
        if str(stage.value(prim, f"drive:{drive}:physics:type", "force")) != "force":
            notes.add(edge.origin, "has a drive of accelerations, which becomes an input without spring and damper")
            continue
        edge.stiffness = stage.number(prim, f"drive:{drive}:physics:stiffness", 0.0) * force
        edge.damping = stage.number(prim, f"drive:{drive}:physics:damping", 0.0) * force
        if edge.stiffness:
            edge.rest = stage.number(prim, f"drive:{drive}:physics:targetPosition", 0.0) * unit
        if edge.damping and stage.number(prim, f"drive:{drive}:physics:targetVelocity", 0.0):
            notes.add(edge.origin, "has a target velocity, which is not kept; set it by the input of the joint")
        if np.isfinite(stage.number(prim, f"drive:{drive}:physics:maxForce", np.inf)):
            notes.add(edge.origin, "has a greatest force of its drive, which is not kept")


def _not_kept(stage: UsdStage, prim: Any, notes: Notes) -> None:
    """Limits and drives of a joint with several freedoms."""
    for schema in stage.applied(prim):
        kind, _, which = schema.partition(":")
        low = stage.number(prim, f"limit:{which}:physics:low", -np.inf)
        high = stage.number(prim, f"limit:{which}:physics:high", np.inf)
        if kind == "PhysicsDriveAPI" or (kind == "PhysicsLimitAPI" and low <= high and np.isfinite([low, high]).any()):
            notes.add(stage.origin(prim), f"has several freedoms; its {schema} is not kept")


def _letter(joint: AxisJoint) -> str:
    """The letter of the axis of a joint with one."""
    return "xyz"[int(np.argmax(np.abs(np.array(joint.axis, dtype=float))))]
