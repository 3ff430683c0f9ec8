"""Constraints of a model file."""

from __future__ import annotations

from typing import Any

from dalembert.formats.model import vocabulary as words
from dalembert.formats.model.cursor import FileNode
from dalembert.formats.model.forces import coefficients, given, kind_of, local, places
from dalembert.formats.model.places import axis_or_points, drawn, joint_of, pictured, place, point_on_axis, stations
from dalembert.formats.model.scope import MOTION, NUMBERS, POSITION, STATE, Scope
from dalembert.mechanism.mechanism import Mechanism
from dalembert.mechanism.motions import ENDS, Table
from dalembert.mechanism.wheels import picture


def add_constraint(m: Mechanism, name: str, node: FileNode, outer: Scope) -> None:
    """Add the constraint that a node describes."""
    kind = kind_of(node, words.CONSTRAINTS, "constraint")
    own: dict[str, str] = {}
    if kind == "loop" and (joint := node.get("joint")) is not None:
        own = words.JOINTS[joint.choice(words.JOINTS)]
    node.keys({"type!": "", **words.CONSTRAINTS[kind], **own, **words.LOCAL}, f"a {kind}")
    may: Any = {"expression": STATE, "driver": MOTION, "point driver": MOTION}.get(kind, NUMBERS)
    scope = local(m, node, outer, may)
    with node.here():
        _ADD[kind](m, name, node, scope)


def _loop(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    joint = joint_of(node.child("joint").text(), node, scope)
    m.close_loop(
        name, joint, *places(node.child("between"), scope, 2), at=drawn(node, scope) or point_on_axis(node, scope)
    )


def _rod(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    length = node.get("length")
    m.add_rod(
        name,
        *places(node.child("between"), scope, 2),
        length=None if length is None else scope.value(length),
        at=drawn(node, scope, several=True),
    )


def _point_on_line(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    along = node.get("axis")
    point, line = (place(node.child(key), scope) for key in ("point", "line"))
    n = "x" if along is None else axis_or_points(along, scope)[0]
    m.add_point_on_line(name, point, line, n, at=drawn(node, scope))


def _point_in_plane(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    normal = node.get("normal")
    point, plane = (place(node.child(key), scope) for key in ("point", "plane"))
    n = "z" if normal is None else axis_or_points(normal, scope)[0]
    m.add_point_in_plane(name, point, plane, n, at=drawn(node, scope))


def _coupling(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    offset = node.get("offset")
    m.add_coupling(name, coefficients(node, scope), 0.0 if offset is None else scope.value(offset))
    picture(m.constraints, name, *pictured(node, scope))


def _geared(method: str, *coordinates: str) -> Any:
    """Gears, belts and the like, by the coordinates they tie."""

    def add(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
        more = given(node, scope, ("ratio", "radius", "offset"))
        for key in ("teeth", "radii"):
            if (pair := node.get(key)) is not None:
                more[key] = scope.values(pair.items(2))
        for key in ("inside", "crossed"):
            if (flag := node.get(key)) is not None:
                more[key] = flag.flag()
        if method == "add_gear" and (carrier := node.get("carrier")) is not None:
            more["carrier"] = carrier.text()
        getattr(m, method)(name, *(node.child(q).text() for q in coordinates), **more)

    return add


def _driver(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    motion = node.child("motion")
    law = _table(motion) if isinstance(motion.value, dict) else scope.law([motion], MOTION)
    m.add_driver(name, node.child("coordinate").text(), law)


def _point_driver(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    motion = node.child("motion")
    law = _table(motion) if isinstance(motion.value, dict) else scope.law(motion.items(3), MOTION)
    m.add_point_driver(name, place(node.child("frame"), scope), law, at=drawn(node, scope))


def _table(node: FileNode) -> Table:
    """A motion through points."""
    node.keys(words.TABLE, "the table of a motion")
    rows, ends = node.child("values").items(), node.get("ends")
    values = [row.numbers() if isinstance(row.value, list) else row.number() for row in rows]
    with node.here():
        return Table(node.child("times").numbers(), values, "natural" if ends is None else ends.choice(ENDS))


def _rolling(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    on, about = node.get("plane"), node.get("axis")
    m.add_rolling(
        name,
        place(node.child("wheel"), scope),
        radius=scope.value(node.child("radius")),
        on=None if on is None else place(on, scope),
        axis=None if about is None else about.choice("xyz"),
        at=drawn(node, scope),
    )


def _rolling_discs(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    about, inside = node.get("axis"), node.get("inside")
    m.add_rolling_discs(
        name,
        place(node.child("a"), scope),
        scope.value(node.child("radius_a")),
        place(node.child("b"), scope),
        scope.value(node.child("radius_b")),
        axis="z" if about is None else about.choice("xyz"),
        inside=False if inside is None else inside.flag(),
        at=drawn(node, scope, several=True),
    )


def _pulley_rope(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    path = stations(node.child("path"), scope)
    m.add_pulley_rope(name, path, at=drawn(node, scope, several=True))


def _skate(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    sideways = node.get("sideways")
    letter = "y" if sideways is None else sideways.choice("xyz")
    m.add_skate(name, place(node.child("frame"), scope), sideways=letter, at=drawn(node, scope))


def _expression(m: Mechanism, name: str, node: FileNode, scope: Scope) -> None:
    rows: dict[str, Any] = {}
    for key, may in (("holonomic", POSITION), ("pfaffian", STATE)):
        if (written := node.get(key)) is not None:
            rows[key] = {row: scope.law([value], may) for row, value in written.named()}
    m.add_constraint(name, **rows)


_ADD = {
    "loop": _loop,
    "rod": _rod,
    "point on line": _point_on_line,
    "point in plane": _point_in_plane,
    "coupling": _coupling,
    "gear": _geared("add_gear", "a", "b"),
    "rack": _geared("add_rack", "pinion", "rack"),
    "planetary": _geared("add_planetary", "sun", "ring", "carrier"),
    "differential": _geared("add_differential", "case", "left", "right"),
    "belt": _geared("add_belt", "a", "b"),
    "driver": _driver,
    "point driver": _point_driver,
    "rolling": _rolling,
    "rolling discs": _rolling_discs,
    "pulley rope": _pulley_rope,
    "skate": _skate,
    "expression": _expression,
}
