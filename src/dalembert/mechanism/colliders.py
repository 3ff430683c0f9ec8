"""Contacts from the shapes of bodies: which shapes may touch, and the contacts that a pair of them needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import LoopJoint
from dalembert.mechanism.contacts.nearest import LOWEST, PAIRS, Core
from dalembert.mechanism.meshes import find_mesh, hull_corners, read_mesh
from dalembert.mechanism.notes import Note
from dalembert.mechanism.outlines import CORES, Outline, is_zero_length, outline, why_not
from dalembert.mechanism.shapes import Collider
from dalembert.mechanism.values import is_exact_zero

if TYPE_CHECKING:
    from dalembert.mechanism.touching import Touchable

RIM = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))  # points of a rim on which a cylinder stands


@dataclass(frozen=True, eq=False)
class NamedCollider:
    """A shape that may touch: of a body, with its name among all of them."""

    name: str
    body: Body
    given: Collider

    @property
    def has_outline(self) -> bool:
        """Whether it is of a kind that has one, and no length is 0 but the radius of a sphere."""
        shape = self.given.shape.simpler()
        return shape.kind in CORES and (shape.kind == "sphere" or not any(map(is_exact_zero, shape.size)))

    def outline(self) -> Outline:
        """Its core and skin."""
        return outline(self.body.defaults, self.body.frame, self.given.shape, None, self.name, "shape")


def on_plane(x: Outline) -> dict[str, Outline]:
    """What of a shape touches a plane, each at one point, by what it is called."""
    if x.core is Core.SEGMENT:
        return {f"end {k + 1}": end for k, end in enumerate(_ends(x))}
    if x.core is Core.BOX:
        corners = product((-1, 1), repeat=3)
        return {
            f"corner {k + 1}": Outline(x.frame.at(*(s * a / 2 for s, a in zip(signs, _plain(x)))), Core.POINT, (), 0.0)
            for k, signs in enumerate(corners)
        }
    if x.core is Core.CYLINDER:
        r, length = _plain(x)
        out = {}
        for k, sign in enumerate((-1, 1)):
            middle = x.frame.at(0, 0, sign * length / 2)
            out[f"rim {k + 1}"] = Outline(middle, Core.DISC, x.size[:1], 0.0)
            for j, (c, s) in enumerate(RIM):
                out[f"rim {k + 1} point {j + 1}"] = Outline(middle.at(c * r, s * r, 0), Core.POINT, (), 0.0)
        return out
    return {"": x} if x.core in LOWEST else {}


def between(a: Outline, b: Outline) -> dict[str, tuple[Outline, Outline]]:
    """The contacts of two shapes by what they are called; none where there is no formula.

    Capsules touch where they are nearest, and with their ends, which hold where they are parallel.
    """
    if (a.core, b.core) not in PAIRS or (is_zero_length(a.radius) and is_zero_length(b.radius)):
        return {}
    out = {"": (a, b)}
    if a.core is b.core is Core.SEGMENT:
        out |= {f"end {k + 1}": (end, b) for k, end in enumerate(_ends(a))}
        out |= {f"end {k + 3}": (end, a) for k, end in enumerate(_ends(b))}
    return out


def _ends(x: Outline) -> list[Outline]:
    (length,) = _plain(x)
    return [Outline(x.frame.at(0, 0, sign * length / 2), Core.POINT, (), x.radius) for sign in (-1, 1)]


def _plain(x: Outline) -> list[Any]:
    """Sizes that positions of frames can be made of."""
    return [x.frame.body.defaults.scalar(e, "a size") for e in x.size]


# --- which of them --------------------------------------------------------------------------------------------------


def solids_of(bodies: Sequence[Body], collision: bool) -> list[NamedCollider]:
    """The shapes of bodies that may touch: those of collision, or those of pictures."""
    out: list[NamedCollider] = []
    for body in bodies:
        found = body.colliders if collision else [Collider(shape) for shape in body.shapes]
        for k, given in enumerate(found):
            name = body.name if len(found) == 1 else f"{body.name} {given.shape.name or f'{given.shape.kind} {k + 1}'}"
            out.append(NamedCollider(_unused(name.replace(".", "_"), {x.name for x in out}), body, given))
    return out


def adjacent(m: Touchable) -> set[frozenset[str]]:
    """Pairs of bodies that a loop or a joint joins, but for a free or a planar one."""
    joined = [(a.parent, a.child) for a in m.joints.values() if a.joint.kind not in ("free", "planar")]
    joined += [(c.a, c.b) for c in m.constraints.values() if isinstance(c, LoopJoint)]
    return {frozenset((a.body.name, b.body.name)) for a, b in joined}


def may_touch(a: Collider, b: Collider) -> bool:
    """Whether groups and labels let two shapes touch."""
    if set(a.together) & set(b.together):
        return True
    return not set(a.apart) & set(b.apart) and bool(a.group & b.against or b.group & a.against)


def common(a: Collider, b: Collider | None, key: str) -> float | None:
    """The friction or restitution of two shapes: the greatest where one of them asks for it, else the least."""
    others = [] if b is None else [b]
    known = [x for x in (getattr(c, key) for c in (a, *others)) if x is not None]
    if not known:
        return None
    return max(known) if any(c.combine == "greatest" for c in (a, *others)) else min(known)


def pairs_of(m: Touchable, given: Any, excluded: Any) -> tuple[Any, set[frozenset[str]]]:
    """`between` and `exclude` as users give them: "all" or a set of pairs of bodies, and a set of such pairs."""
    apart = _named_pairs(m, excluded, "exclude of add_contacts")
    if isinstance(given, str):
        checks.choice(given, ("all",), "between of add_contacts", error=DescriptionError)
        return "all", apart
    return _named_pairs(m, given, "between of add_contacts"), apart


def _named_pairs(m: Touchable, given: Any, what: str) -> set[frozenset[str]]:
    out = set()
    for pair in checks.items(given, what, "pairs of bodies, as [('arm', 'table')]", error=DescriptionError):
        names = checks.items(pair, what, "pairs of bodies, as [('arm', 'table')]", error=DescriptionError)
        if len(names) != 2:
            raise DescriptionError(f"{what} has {checks.shown(pair)}; needed: pairs of bodies, as ('arm', 'table').")
        a, b = (body_of(m, x, what) for x in names)
        if a is b:
            raise DescriptionError(f"{what} pairs body '{a.name}' with itself; needed: two bodies.")
        out.add(frozenset((a.name, b.name)))
    return out


def body_of(m: Touchable, x: Any, what: str) -> Body:
    """A body, or that of a name."""
    x = x.name if isinstance(x, Body) else x
    if not isinstance(x, str) or x not in m.bodies:
        raise unknown("body", x, m.bodies, what)
    return m.bodies[x]


# --- all together ---------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Meetings:
    """Contacts to be added, with their names, and notes on shapes that can have none."""

    m: Touchable
    law: dict[str, Any]  # friction, restitution that count in place of those of shapes
    meshes: Any = None  # the folder of mesh files

    def __post_init__(self) -> None:
        self.found: list[Any] = []
        self.notes: list[Note] = []
        self.names = {*self.m.contacts, *self.m.constraints, *self.m.joints}

    def on_floor(self, x: NamedCollider, floor: Frame, own: Collider | None, name: str) -> None:
        """Contacts of a shape on a plane."""
        parts = on_plane(x.outline()) if x.has_outline else self._corners(x)
        if not parts:
            self._left_out(x.name, name, f"{x.given.shape.kind}: which of its points touch is not known")
        for part, a in parts.items():
            where = _joined("on", name, part) if name else part or "on floor"
            self._add(f"{x.name} {where}", a, floor, x.given, own)

    def _corners(self, x: NamedCollider) -> dict[str, Outline]:
        """The corners of the convex hull of a mesh, where it is found; a note where it has more than are taken."""
        shape = x.given.shape
        file = None if shape.file is None or self.meshes is None else find_mesh(shape.file, self.meshes)
        if file is None:
            return {}
        corners, count, beyond = hull_corners(read_mesh(file)[0] * np.array(shape.scale))
        if len(corners) < count:
            text = f"touches planes by {len(corners)} of {count} corners of its hull, "
            self.notes.append(Note(self.m.name, 0, f"'{x.name}'", text + f"which exceeds them by {beyond:.2g} m"))  # type: ignore[attr-defined]
        at = x.body.frame.at(shape.pose.p.tolist(), rotation=shape.pose.R.astype(float))
        return {f"corner {k + 1}": Outline(at.at(c.tolist()), Core.POINT, (), 0.0) for k, c in enumerate(corners)}

    def between(self, x: NamedCollider, y: NamedCollider) -> None:
        """Contacts of two shapes."""
        kinds = [z.given.shape.simpler().kind for z in (x, y)]
        if "plane" in kinds and kinds[0] != kinds[1]:
            if kinds[0] == "plane":
                x, y = y, x
            self.on_floor(x, plane_of(y), y.given, y.name)
            return
        parts: dict[str, tuple[Outline, Outline]] = {}
        why = f"{kinds[0]} and {kinds[1]}: there is no formula of the gap"
        if x.has_outline and y.has_outline:
            a, b = x.outline(), y.outline()
            parts = between(a, b)
            why = f"{a.kind} and {b.kind}: {why_not(a.core, b.core) or 'a radius above 0 is needed'}"
        if not parts:
            self._left_out(x.name, y.name, why)
        for part, (a, b) in parts.items():
            self._add(_joined(x.name, "on", y.name, part), a, b, x.given, y.given)

    def _add(self, name: str, a: Outline, b: Outline | Frame, x: Collider, y: Collider | None) -> None:
        mu, e = (common(x, y, key) if given is None else given for key, given in self.law.items())
        if mu is None:
            raise DescriptionError(
                f"contact '{name}' has no friction: its shapes say none. Give add_contacts a friction=, 0.0 for none."
            )
        name = _unused(name, self.names)
        self.names.add(name)
        self.found.append(self.m._contact(name, a, b, 0.0 if e is None else e, mu, None))

    def _left_out(self, one: str, other: str, text: str) -> None:
        what = f"'{one}' on '{other}'" if other else f"'{one}' on the floor"
        self.notes.append(Note(self.m.name, 0, what, f"no contact of {text}"))  # type: ignore[attr-defined]


def plane_of(x: NamedCollider) -> Frame:
    """The frame whose x-y plane a plane is."""
    pose = x.given.shape.pose
    return x.body.frame.at(pose.p.tolist(), rotation=pose.R.astype(float))


def meetings(
    m: Touchable, floor: Any, bodies: Any, among: Any, excluded: Any, law: dict[str, Any], shapes: Any, meshes: Any
) -> Meetings:
    """The contacts of the shapes of a mechanism; see `Touchable.add_contacts`."""
    what = "bodies of add_contacts"
    chosen = list(m.bodies.values())
    if bodies is not None:
        chosen = [
            body_of(m, x, what)
            for x in checks.items(bodies, what, "bodies or names, in a list", error=DescriptionError)
        ]
    have = any(body.colliders for body in m.bodies.values())
    kinds = ("collision", "drawn")
    kind = kinds[not have] if shapes is None else checks.choice(shapes, kinds, "shapes", error=DescriptionError)
    solids = solids_of(chosen, kind == "collision")
    if not solids:
        raise DescriptionError(
            f"add_contacts finds no {kind} shapes on {', '.join(b.name for b in chosen)}; give bodies some by "
            "add_shape."
        )
    out = Meetings(m, law, None if meshes is None else checks.path(meshes, "meshes", error=DescriptionError))
    wanted, apart = pairs_of(m, among, excluded)
    planes = [x for x in solids_of([m.ground], kind == "collision") if x.given.shape.kind == "plane"]
    for x, plane, name in _on_floors(m, floor, planes, solids):
        frame = plane if isinstance(plane, Frame) else plane_of(plane)
        if frame.body is not x.body and _pair(x.body, frame.body) not in apart:
            out.on_floor(x, frame, None if isinstance(plane, Frame) else plane.given, name)
    near = adjacent(m)
    solid = [x for x in solids if x.body is not m.ground or x.given.shape.kind != "plane"]
    for x, y in combinations(solid, 2):
        pair = _pair(x.body, y.body)
        if x.body is y.body or pair in apart:
            continue
        in_any_case = bool({*x.given.together} & {*y.given.together})
        if pair in wanted if wanted != "all" else may_touch(x.given, y.given) and (in_any_case or pair not in near):
            out.between(x, y)
    return out


def _on_floors(
    m: Touchable, floor: Any, planes: list[NamedCollider], solids: list[NamedCollider]
) -> Iterator[tuple[NamedCollider, NamedCollider | Frame, str]]:
    """Each shape that moves with each floor it may touch: a plane of the ground, or a frame; and the floor's name."""
    if floor is False:
        return
    given = m.ground.frame if floor is None else m._frame(floor, "floor of add_contacts")
    for x in solids:
        if x.body is m.ground or x.given.shape.kind == "plane":
            continue
        if floor is None and planes:
            names = [plane.name if len(planes) > 1 else "" for plane in planes]
            yield from ((x, y, name) for y, name in zip(planes, names) if may_touch(x.given, y.given))
        elif x.given.group or x.given.against:
            yield x, given, ""


def _pair(a: Body, b: Body) -> frozenset[str]:
    return frozenset((a.name, b.name))


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _unused(name: str, taken: Any) -> str:
    k, free = 2, name
    while free in taken:
        free, k = f"{name} {k}", k + 1
    return free
