"""Frames, rotations, axes and joints of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import repair
from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.scope import Scope
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import JOINT_TYPES, Joint
from dalembert.mechanism.joints.spherical import Spherical
from dalembert.mechanism.machinery import Pulley
from dalembert.mechanism.values import check_rotation
from dalembert.spatial import Transform, quaternion_matrix
from dalembert.spatial import rotation as turned
from dalembert.symbols import array

TYPES: dict[str, type[Joint]] = {joint.kind: joint for joint in JOINT_TYPES}


def place(node: FileNode, scope: Scope, keys: words.Keys = words.PLACE) -> Frame:
    """A frame: the name of a body or frame, or {body, at, rotation}."""
    if isinstance(node.value, str):
        with node.here():
            return scope.frame(node.text())
    if not isinstance(node.value, dict):
        raise node.wrong("the name of a body or frame, or {body: its name, at: [x, y, z], rotation: …}")
    node.keys(keys, "a place")
    on, at, turn = node.child("body"), node.get("at"), node.get("rotation")
    with on.here():
        base = scope.frame(on.text())
    p = array([0.0, 0.0, 0.0]) if at is None else point(at, scope)
    with node.here():
        frame = base.body.at(p)
        if turn is not None:
            R = rotation(turn, scope)
            check_rotation(scope.m.parameters.number(R, "the rotation"), "the rotation")
            frame = Frame(base.body, Transform(R, frame.T.p))
    return frame if _is_own(base) else Frame(base.body, base.T @ frame.T)


def point(node: FileNode, scope: Scope) -> Any:
    """The name of a point of the drawing, or two or three coordinates."""
    if isinstance(node.value, str):
        name = node.text()
        if name not in scope.m.points:
            text = f"is '{name}', which is no point; points are: {', '.join(scope.m.points) or 'none'}."
            raise node.error(text, repair(name, scope.m.points))
        return name
    return scope.vector(node, 2 if len(node.items()) == 2 else 3)


def drawn(node: FileNode, scope: Scope, *, several: bool = False) -> Any:
    """`at` of an element: a point of the drawing or, of one with several places, a list of them; None without it."""
    at = node.get("at")
    if at is None:
        return None
    return [point(item, scope) for item in at.items()] if several else point(at, scope)


def stations(node: FileNode, scope: Scope) -> list[Any]:
    """What a rope or belt runs around: places, and pulleys."""
    path: list[Any] = []
    for x in node.items():
        if not isinstance(x.value, dict) or "pulley" not in x.value:
            path.append(place(x, scope))
            continue
        x.keys(words.PULLEY, "a pulley")
        about, turn = x.get("axis"), x.get("turn")
        with x.here():
            path.append(
                Pulley(
                    place(x.child("pulley"), scope),
                    scope.value(x.child("radius")),
                    axis="z" if about is None else about.choice("xyz"),
                    turn=1 if turn is None else int(turn.number()),
                )
            )
    return path


def pictured(node: FileNode, scope: Scope) -> tuple[list[Any], list[Any]]:
    """The wheels of a coupling, and what a belt runs around, for its picture."""
    wheels, path = node.get("wheels"), node.get("path")
    turned = []
    for x in [] if wheels is None else wheels.items():
        x.keys(words.WHEEL, "a wheel")
        about = "z" if (axis_ := x.get("axis")) is None else axis_.choice("xyz")
        turned.append((place(x.child("wheel"), scope), x.child("radius").number(), "xyz".index(about)))
    around = [] if path is None else [x for x in stations(path, scope) if isinstance(x, Pulley)]
    return turned, [(x.frame, x.radius, "xyz".index(x.axis), x.turn) for x in around]


def _is_own(frame: Frame) -> bool:
    """Whether a frame is its body's own."""
    T = Transform.identity()
    return bool(np.array_equal(frame.T.R, T.R) and np.array_equal(frame.T.p, T.p))


def rotation(node: FileNode, scope: Scope) -> np.ndarray:
    """A (3, 3) matrix from one, from {axis, angle}, a list of such turns one after the other, or {quaternion}."""
    if isinstance(node.value, dict) and "quaternion" in node.value:
        node.keys(words.QUATERNION, "a rotation")
        at = node.child("quaternion")
        with at.here():
            return array(quaternion_matrix(Spherical().normalized(np.array(at.numbers(4)))))
    if isinstance(node.value, dict):
        return _turn(node, scope)
    rows = node.items()
    if rows and all(isinstance(row.value, dict) for row in rows):
        R = _turn(rows[0], scope)
        for row in rows[1:]:
            R = R @ _turn(row, scope)
        return R
    return scope.matrix(node.items(3))


def _turn(node: FileNode, scope: Scope) -> np.ndarray:
    node.keys(words.TURN, "a rotation")
    with node.here():
        return array(turned(axis(node.child("axis"), scope), scope.value(node.child("angle"))))


def axis(node: FileNode, scope: Scope) -> Any:
    """A letter, or three numbers or expressions of parameters."""
    if isinstance(node.value, str):
        return node.choice(["x", "y", "z", "-x", "-y", "-z"])
    return node.numbers(3) if not any(isinstance(n.value, str) for n in node.items(3)) else scope.vector(node)


def joint_of(kind: str, node: FileNode, scope: Scope) -> Joint:
    """The joint type of an element whose keys have its options."""
    given: dict[str, Any] = {}
    for key in words.names(words.JOINTS[kind]):
        if (value := node.get(key)) is not None:
            given[key] = scope.value(value) if key == "pitch" else axis_or_points(value, scope)[0]
    with node.here():
        return TYPES[kind](**given)


def point_on_axis(node: FileNode, scope: Scope) -> Any:
    """The first of the two points that give the axis of a joint, or None."""
    given = node.get("axis")
    return None if given is None else axis_or_points(given, scope)[1]


def axis_or_points(node: FileNode, scope: Scope) -> tuple[Any, Any]:
    """An axis and, where two points give it, the first of them."""
    if isinstance(node.value, list) and len(node.value) == 2:
        ends = tuple(point(item, scope) for item in node.items(2))
        with node.here():
            return scope.m.axis_between(ends, "the joint")
    return axis(node, scope), None
