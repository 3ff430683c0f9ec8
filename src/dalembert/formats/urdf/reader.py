"""Reading URDF: the robot of a file as a mechanism."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dalembert import checks
from dalembert.errors import DescriptionError, ModelFileError
from dalembert.formats.at_limits import checked_stops, stop_at_limits
from dalembert.formats.graph import WORLD, Edge, build
from dalembert.formats.notes import Notes
from dalembert.formats.urdf import actuators, drake, joints, links, loops, sidecar, xacro
from dalembert.formats.urdf.known import survey
from dalembert.formats.urdf.robot import Robot
from dalembert.formats.xml import Element, parse, shown
from dalembert.mechanism.mechanism import Mechanism


def read_urdf(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    base: str | None = None,
    merge_fixed: bool = True,
    loops: str | os.PathLike[str] | None = None,
    xacro: bool = False,
    stops: Any = None,
) -> Mechanism:
    """The mechanism of a URDF file (a path, or the text itself).

    Loops are read from `<loop>` and `<coupling>` (URDF+), `<loop_joint>` (Isaac Sim), `<constraint>` (the proposal to
    urdfdom), Drake's constraint tags, `<gazebo><joint>`, links `closing_*` of onshape-to-robot, `<mimic>`, and a YAML
    file beside the URDF (Gepetto). They are not assembled: `system.assemble()` closes them.

    strict: refuse a file with anything that has no meaning here; it is otherwise listed in `notes` of the mechanism.
    base: how the root link stands, "fixed" to the ground (as where it is None) or "free". merge_fixed: make one body
    of links that fixed joints hold together, whose names then stay as frames. loops: the path of a YAML file of loops;
    by default it is the one that the file names, or robot.loops.yaml, robot.yaml or robot.yml beside it. xacro: expand
    the file by the package `xacro` first, which runs expressions of the file. stops: what stops joints at
    their limits, "rigid" or a `da.Stops`; None keeps limits as data.

    >>> import dalembert as da
    >>> m = da.read_urdf('''<robot name="pendulum">
    ...   <link name="stand"/>
    ...   <link name="rod"><inertial>
    ...     <origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0" iyy="0.083" izz="0.083"/>
    ...   </inertial></link>
    ...   <joint name="pivot" type="continuous">
    ...     <parent link="stand"/><child link="rod"/><axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>''')
    >>> m
    <mechanism 'pendulum': 1 bodies, 1 joints>
    """
    for flag, what in ((strict, "strict"), (merge_fixed, "merge_fixed"), (xacro, "xacro")):
        checks.flag(flag, what)
    if base is not None:
        checks.choice(base, ("fixed", "free"), "base")
    stops = checked_stops(stops)
    notes = Notes(strict)
    root, where = _root(path, xacro)
    beside = checks.path(loops, "loops") if loops is not None else _loops_file(root, where)
    robot = _robot(root, notes, base, sidecar.Sidecar(beside) if beside is not None else None)
    try:
        m = build(robot.graph, notes, base=base or robot.base, merge_fixed=merge_fixed)
        _finish(m, robot)
    except ModelFileError:
        raise
    except DescriptionError as error:
        raise ModelFileError(str(error), root.file) from error
    m.notes.extend(notes.done())
    return stop_at_limits(m, stops)


def _root(source: Any, expand: bool) -> tuple[Element, Path | None]:
    """The element <robot> of a file, and the file's path where there is one."""
    is_text = isinstance(source, (str, bytes)) and source[:500].lstrip()[:1] in ("<", b"<")
    path = None if is_text else checks.path(source, "path", error=ModelFileError)
    if path is not None and expand:
        root = xacro.expand(path)
    else:
        if path is not None and path.suffix.lower() == ".xacro":
            raise xacro.refusal(str(path), 1)
        root = parse(source)
        found = xacro.needed(root)
        if found is not None:
            raise xacro.refusal(root.file, found.line)
    if root.tag != "robot":
        raise root.error("is the first element; needed: <robot>, the root of a URDF.")
    return root, path


def _loops_file(root: Element, path: Path | None) -> Path | None:
    """The YAML file of loops: the one that a URDF of ours names, else what stands beside the file."""
    named = root.only("dalembert:loops")
    if named is not None:
        return sidecar.named(named, path)
    return sidecar.find(path) if path is not None else None


def _robot(root: Element, notes: Notes, base: str | None, beside: sidecar.Sidecar | None) -> Robot:
    survey(root, notes)
    robot = Robot(root.name or "robot", notes)
    _read_links(root, robot, base)
    _read_joints(root, robot, beside)
    _check_roots(root, robot, base)
    for e in root.children:
        if e.tag in ("joint", "drake:joint"):
            coupling = joints.mimic(e, robot.joints, notes)
            if coupling is not None:
                robot.graph.couplings.append(coupling)
    loops.read_loops(root, robot)
    drake.read_constraints(root, robot)
    if beside is not None:
        beside.close(robot)
    closed = {end for edge in robot.graph.edges if edge.cut for end in (edge.parent, edge.child)}
    loops.close_frames(robot, [name for name in robot.links if name not in closed])
    motors = actuators.motors(root, robot.joints, notes)
    for edge in beside.motors(robot) if beside is not None else []:
        if edge.joint.nv and edge.name not in motors and all(on != edge.name for on, _ in motors.values()):
            motors[edge.name] = edge.name, edge.origin
    for motor, (joint, e) in motors.items():
        robot.later.append(lambda m, motor=motor, joint=joint, e=e: _motor(m, robot, motor, joint, e))  # type: ignore[misc]
    for name, link in robot.links.items():
        frame = link.origin.only("dalembert:frame")
        if frame is not None:
            robot.move(name, links.placed(frame))
    return robot


def _read_links(root: Element, robot: Robot, base: str | None) -> None:
    children = {c.get("link") for e in root.children for c in e.findall("child") if e.tag.endswith("joint")}
    known, gazebo = links.materials(root), links.gazebo_friction(root, robot.notes)
    for e in root.findall("link"):
        link = links.read_link(e, known, robot.notes, gazebo)
        if link.name in robot.links or (link.name in robot.aliases and any(x is not e for x in _same(root, e))):
            raise e.error("is the second link of this name; names must differ.")
        if link.name == WORLD or (link.name == "ground" and link.name not in children and base != "free"):
            robot.aliases[link.name] = WORLD
            robot.has_world = True
            if link.mass:
                robot.notes.add(e, "is the ground, which does not move; its mass is left out")
            robot.later.append(lambda m, shapes=link.shapes: m.ground.shapes.extend(shapes))  # type: ignore[misc]
            robot.later.append(lambda m, given=link.colliders: m.ground.colliders.extend(given))  # type: ignore[misc]
            continue
        robot.links[link.name] = link
        robot.graph.links.append(link)
    if not root.findall("link"):
        raise root.error("has no <link>; needed: at least one.")
    for e in (*root.findall("frame"), *root.findall("fixed_frame")):
        if e.tag == "frame":
            end, place = robot.link(e.required("link"), e), links.placed(e)
        else:
            end, place = robot.link(e.child("parent").required("link"), e), links.origin(e)
        name = e.required("name")
        if end == WORLD:
            robot.later.append(lambda m, name=name, T=place: m.add_frame(name, m.ground.at(T.p, rotation=T.R)))  # type: ignore[misc]
        else:
            if name in robot.links[end].frames:
                raise e.error("is the second frame of this name on its link; names must differ.")
            robot.links[end].frames[name] = place


def _same(root: Element, e: Element) -> list[Element]:
    return [x for x in root.findall("link") if x.name == e.name]


def _read_joints(root: Element, robot: Robot, beside: sidecar.Sidecar | None) -> None:
    taken: set[str] = set()
    for e in root.children:
        if e.tag not in ("joint", "drake:joint"):
            continue
        name = e.required("name")
        if name in robot.joints:
            first = robot.joints[name].origin
            raise e.error(f"is the second joint of this name, after line {first.line}; names must differ.")
        edge = joints.read_joint(e, _plain(name, taken, e, robot), robot.notes)
        edge.parent, edge.child = (robot.link(end, e) for end in (edge.parent, edge.child))
        if edge.child == WORLD:
            raise e.error(f"has the ground ('{e.child('child').get('link')}') as its child; swap parent and child.")
        if edge.parent == edge.child:
            raise e.error(f"joins link '{edge.child}' to itself; parent and child must differ.")
        robot.joints[name] = edge
        robot.graph.edges.append(edge)
    if beside is not None:
        beside.replace(robot)
    loops.second_parents(robot)


def _plain(name: str, taken: set[str], e: Element, robot: Robot) -> str:
    """The name of a joint without dots, which set off coordinates here."""
    new = robot.fresh(name.replace(".", "_"), taken)
    if new != name:
        robot.notes.add(e, f"the name {shown(name)} has dots, or is taken without them; it is called '{new}' here")
    taken.add(new)
    return new


def _check_roots(root: Element, robot: Robot, base: str | None) -> None:
    """One link without a parent, unless the caller says how several stand; no circle of parents."""
    tops = [name for name in robot.links if name not in robot.carrier]
    grounded = robot.has_world or any(e.parent == WORLD for e in robot.graph.edges)
    if not tops and not grounded:
        raise root.error("has no link without a parent: its joints form a circle. Turn one of them round.")
    if grounded and base is None:
        robot.base = "free"
        for name in tops:
            robot.notes.add(
                robot.links[name].origin, "no joint holds it to the world, which the file names: it is free"
            )
    elif len(tops) > 1 and base is None:
        names = ", ".join(shown(n) for n in tops[:6]) + (" …" if len(tops) > 6 else "")
        raise robot.links[tops[-1]].origin.error(
            f"is one of {len(tops)} links without a parent ({names}); a URDF is one tree. Join them by joints, or say "
            "by base='fixed' or base='free' how each stands."
        )
    reached = {WORLD, *tops}
    below: dict[str, list[Edge]] = {}
    for edge in robot.carrier.values():
        below.setdefault(edge.parent, []).append(edge)
    waiting = list(reached)
    while waiting:
        for edge in below.get(waiting.pop(), ()):
            reached.add(edge.child)
            waiting.append(edge.child)
    lost = next((e for e in robot.carrier.values() if e.child not in reached), None)
    if lost is not None:
        raise lost.origin.error(f"hangs link '{lost.child}' in a circle of parents; turn one of its joints round.")
    robot.graph.roots.extend(tops)


def _motor(m: Mechanism, robot: Robot, motor: str, joint: str, e: Element) -> None:
    if joint not in m.joints:
        robot.notes.add(e, f"joint '{joint}' has no coordinate here; it gets no motor")
    else:
        m.add_motor(robot.fresh(motor, {*m.inputs, *m.forces}, e), joint)


def _finish(m: Mechanism, robot: Robot) -> None:
    """Add the elements that need the finished mechanism: motors, rods, springs, shapes of the ground."""
    for add in robot.later:
        add(m)
