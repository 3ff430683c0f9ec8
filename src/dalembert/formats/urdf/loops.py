"""Closed loops of a URDF, in the ways people write them; each becomes a cut joint of the graph.

<loop>, <coupling>        URDF+ (Chignoli and others 2024)
<loop_joint>              Isaac Sim
<constraint>              the proposal to urdfdom
<gazebo><joint>           a joint of SDF
closing_NAME_1, …_2       pairs of links by onshape-to-robot
a link with two parents   a graph where URDF has a tree
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from dalembert.formats.graph import WORLD, Coupling, Edge, pose
from dalembert.formats.urdf.joints import AXIAL, TYPES, direction, joint_of
from dalembert.formats.urdf.links import origin, placed
from dalembert.formats.urdf.robot import Robot
from dalembert.formats.xml import Element
from dalembert.mechanism.joints import Joint, Universal
from dalembert.mechanism.joints.joint import orient_z
from dalembert.spatial import Transform

_CLOSING = re.compile(r"closing_(.+)_([12])")


def read_loops(root: Element, robot: Robot) -> None:
    """Add the loops and couplings of a robot to its graph."""
    for e in root.findall("loop"):
        a, b = (e.child(end) for end in ("predecessor", "successor"))
        joint = joint_of(e, e.get("type", "revolute") or "revolute", direction(e.only("axis"), default=(0.0, 0.0, 1.0)))
        _close(robot, e, joint, a.required("link"), origin(a), b.required("link"), origin(b))
    for e in root.findall("coupling"):
        _couple(e, robot)
    for e in root.findall("loop_joint"):
        _loop_joint(e, robot)
    for e in root.findall("constraint"):
        _constraint(e, robot)
    for g in root.findall("gazebo"):
        for e in g.findall("joint"):
            _gazebo_joint(e, robot)


def _close(robot: Robot, e: Element, joint: Joint, a: str, at_a: Transform, b: str, at_b: Transform) -> None:
    """Add a loop that a joint closes between places of two links."""
    a, b = (robot.link(name, e) for name in (a, b))
    if a == b:
        raise e.error(f"joins link '{a}' to itself; needed: two links.")
    robot.close(Edge(e.name or f"{e.tag}_{len(robot.graph.edges)}", e, joint, a, b, at_a, at_b, cut=True))


def _couple(e: Element, robot: Robot) -> None:
    """URDF+: ratio · Σ q from the common ancestor to the predecessor = Σ q to the successor."""
    ends = [robot.link(e.child(end).required("link"), e) for end in ("predecessor", "successor")]
    paths = [robot.path(end) for end in ends]
    while all(paths) and paths[0][0] is paths[1][0]:
        for p in paths:
            p.pop(0)
    terms: dict[str, float] = {}
    for path, factor in zip(paths, (e.child("ratio").number("value"), -1.0)):
        for edge in path:
            if edge.joint.nv > 1:
                raise e.error(f"couples joint '{edge.name}', which is {edge.joint.kind}; needed: one coordinate.")
            if edge.joint.nv:
                terms[edge.name] = terms.get(edge.name, 0.0) + factor
    if not terms:
        raise e.error("couples links that no joint moves against each other.")
    robot.graph.couplings.append(Coupling(e.name or f"coupling_{len(robot.graph.couplings)}", e, terms))


def _loop_joint(e: Element, robot: Robot) -> None:
    """Isaac Sim: two elements <link1> (or <link1>, <link2>) with attributes link, xyz, rpy; or parent and child."""
    kind = e.get("type", "spherical") or "spherical"
    axis = e.only("axis")
    if e.find("parent") is not None:
        a, b = e.child("parent").required("link"), e.child("child").required("link")
        Ta, Tb = origin(e, "parent_origin"), origin(e, "child_origin")
    else:
        ends = [c for c in e.children if c.tag in ("link1", "link2")]
        if len(ends) != 2:
            raise e.error(f"has {len(ends)} ends; needed: <link1 link xyz rpy/> and <link2 link xyz rpy/>.")
        (a, b), (Ta, Tb) = (end.required("link") for end in ends), (placed(end) for end in ends)
    _close(robot, e, joint_of(e, kind, direction(axis)), a, Ta, b, Tb)


def _constraint(e: Element, robot: Robot) -> None:
    """A cut joint with an axis on each side: they agree, or are the two axes of a universal joint."""
    kind = e.required("type")
    first, second = (direction(e.only(f"{end}_axis")) for end in ("parent", "child"))
    a, b = e.child("parent").required("link"), e.child("child").required("link")
    Ta, Tb = origin(e, "parent_origin"), origin(e, "child_origin")
    if kind == "universal":
        _close(robot, e, Universal("x", "y"), a, _turned(Ta, first, "x"), b, _turned(Tb, second, "y"))
    elif kind in AXIAL:
        _close(robot, e, AXIAL[kind]("z"), a, _turned(Ta, first, "z"), b, _turned(Tb, second, "z"))
    else:
        _close(robot, e, joint_of(e, kind, first), a, Ta, b, Tb)


def _turned(T: Transform, axis: np.ndarray, letter: str) -> Transform:
    """T turned so that its axis of that letter is where `axis` was."""
    R = orient_z(axis, "an axis").astype(float) @ orient_z(letter, "an axis").astype(float).T
    return T @ Transform(R, np.zeros(3))


def _gazebo_joint(e: Element, robot: Robot) -> None:
    """A joint of SDF: its pose is in the child link, its axes are in its own frame; it is closed as drawn."""
    kind = {"revolute2": "universal"}.get(e.required("type"), e.required("type"))
    a, b = (robot.link(e.child(end).text, e) for end in ("parent", "child"))
    place = e.only("pose")
    numbers = np.zeros(6) if place is None or not place.text else place.numbers(None, 6)
    at_b = pose(numbers[:3], numbers[3:])
    axes = [direction(x.only("xyz"), None) if x is not None else None for x in (e.only("axis"), e.only("axis2"))]
    joint = joint_of(e, kind, np.array([0.0, 0.0, 1.0]) if axes[0] is None else axes[0], axes[1])
    at_a = robot.neutral(a).inverse() @ robot.neutral(b) @ at_b
    _close(robot, e, joint, a, at_a, b, at_b)


def close_frames(robot: Robot, names: Iterable[str]) -> None:
    """onshape-to-robot: links closing_NAME_1 and closing_NAME_2 are one place.

    Nothing says by which joint: a ball, unless NAME begins or ends with the name of a type (closing_knee_revolute_1),
    whose axis is then z.
    """
    pairs: dict[str, dict[str, str]] = {}
    for name in names:
        found = _CLOSING.fullmatch(name)
        if found:
            pairs.setdefault(found[1], {})[found[2]] = name
    for name, ends in pairs.items():
        origin_of = robot.links[next(iter(ends.values()))].origin
        if len(ends) == 1:
            missing = f"closing_{name}_{'2' if '1' in ends else '1'}"
            robot.notes.add(origin_of, f"there is no link '{missing}' for it; no loop is closed")
            continue
        words = name.lower().split("_")
        kind = next((w for w in (words[-1], words[0]) if w in TYPES and w not in ("floating", "screw")), "ball")
        if kind == "ball" and "ball" not in words:
            robot.notes.add(
                origin_of, f"closes a loop with '{ends['2']}'; nothing says by which joint, a ball is taken"
            )
        joint = joint_of(origin_of, kind, np.array([0.0, 0.0, 1.0]))
        edge = Edge(f"closing_{name}", origin_of, joint, ends["1"], ends["2"], cut=True)
        robot.close(edge)


def second_parents(robot: Robot) -> None:
    """A link that is the child of two joints: the first carries it, the others close loops."""
    carried: dict[str, Edge] = {}
    for edge in robot.graph.edges:
        if edge.cut or edge.child == WORLD:
            continue
        first = carried.setdefault(edge.child, edge)
        if first is not edge:
            edge.cut = True
            robot.notes.add(
                edge.origin,
                f"link '{edge.child}' hangs on joint '{first.name}' (line {first.origin.line}); this one closes a loop",
            )
