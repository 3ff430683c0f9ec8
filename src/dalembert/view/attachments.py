"""Where things are attached to the bodies of a system: the points that automatic shapes are drawn through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import Expressions, LoopJoint, PointOn, Rod
from dalembert.mechanism.contacts import Contact, Rope, Strut
from dalembert.mechanism.contacts.nearest import Core
from dalembert.mechanism.forces import Bushing
from dalembert.mechanism.forces.cable import Line as Taut
from dalembert.mechanism.joints.joint import Joint
from dalembert.protocols import Parameters
from dalembert.spatial import Transform
from dalembert.symbols import Scalar
from dalembert.system.system import System
from dalembert.view.poses import place_on_body
from dalembert.view.scene import DrawnLink, Place, SceneJoint

LOOSE = ("free", "planar")  # joints whose parent frame is no place of the body
GLYPHS = {
    "revolute": "pin", "prismatic": "slider", "cylindrical": "sleeve", "screw": "sleeve", "spherical": "ball",
    "universal": "cross",
}  # fmt: skip


LOOKS = {"damper": "actuator"}  # kinds of lines that look like another
LINES = ("cable", "muscle")  # along whose way a body has no bar


@dataclass(eq=False)
class Attachments:
    """Ends of each body (its index: places (3,), equal ones once), joints, links, wheels and blades."""

    system: System
    p: Parameters
    index: dict[str, int]
    ends: list[list[np.ndarray]] = field(default_factory=list)
    joints: list[SceneJoint] = field(default_factory=list)
    links: list[DrawnLink] = field(default_factory=list)
    wheels: list[tuple[Place, float, int | None]] = field(default_factory=list)
    guides: list[tuple[Place, str]] = field(default_factory=list)  # lines that points stay on
    slid: list[SceneJoint] = field(default_factory=list)  # the points that stay on them
    floors: list[tuple[Place, Place, float]] = field(default_factory=list)  # planes, what touches them, its radius
    frames: list[Place] = field(default_factory=list)
    rubber: list[Place] = field(default_factory=list)  # bushings

    def place(self, frame: Frame, name: str = "", turn: np.ndarray | None = None) -> Place:
        """A frame in numbers, turned to the axes of a joint."""
        if turn is not None:
            frame = Frame(frame.body, frame.T @ Transform(turn, np.zeros(3)))
        R, x = place_on_body(self.system, frame, self.p)
        return Place(name, self.index[frame.body.name], Transform(R, x))

    def attach(self, place: Place) -> None:
        """Make a place one of its body's ends."""
        near = 1e-9 * self.system.layout.length
        if not any(np.allclose(x, place.T.p, rtol=1e-9, atol=near) for x in self.ends[place.body]):
            self.ends[place.body].append(place.T.p)


def attachments(system: System, p: Parameters = None) -> Attachments:
    """All attachments of a system; points of cables count for bodies with fewer than two others."""
    index = {name: k for k, name in enumerate(system.layout.bodies)}
    s = Attachments(system, p, index, [[] for _ in index])
    for a in system.layout.joints.values():
        _join(s, a.name, a.joint, *((a.child, a.parent) if a.flipped else (a.parent, a.child)), False)
    for c in system.description.constraints:
        if isinstance(c, LoopJoint):
            _join(s, c.name, c.joint, c.a, c.b, True)
        elif isinstance(c, (Rod, PointOn)):
            ends = s.place(c.a), s.place(c.b)
            if isinstance(c, Rod):
                s.links.append(DrawnLink("rod", c.name, ends))
            elif c.kind == "point on line":
                s.guides.append((s.place(c.a, turn=c.orientation), c.name))
                s.slid.append(SceneJoint(c.name, c.kind, True, *ends, "none"))
            for end in ends if isinstance(c, Rod) else ends[1:]:
                s.attach(end)
        elif isinstance(c, Expressions):
            for frame, radius, axis in c.wheels:
                if not isinstance(radius, ca.SX) or radius.is_constant():
                    _wheel(s, s.place(frame), float(radius), axis)
    for touch in system.layout.mechanism.contacts.values():
        _touch(s, touch)
    for force in system.description.forces:
        for frame, radius, axis in getattr(force, "wheels", ()):
            if not isinstance(radius, Scalar):
                _wheel(s, s.place(frame), float(radius), axis)
        if isinstance(force, Bushing):
            for frame in (force.a, force.b):
                s.attach(s.place(frame))
            s.rubber.append(s.place(force.b))
    lines = [force for force in system.description.forces if isinstance(force, Taut)]
    for force in lines:
        s.links.append(
            DrawnLink(LOOKS.get(force.kind, force.kind), force.name, tuple(s.place(f) for f in force.points))
        )
        for place in s.links[-1].points if force.kind not in LINES else ():
            s.attach(place)
    for name, frame in system.layout.frames.items():
        s.frames.append(s.place(frame, name))
        if frame.body.name != "ground":
            s.attach(s.frames[-1])
    for link in s.links:
        for place in link.points if link.kind in LINES else ():
            if len(s.ends[place.body]) < 2:
                s.attach(place)
    return s


def _touch(s: Attachments, touch: Any) -> None:
    """A contact: a ball, disc or point, above a floor or beside another. A rope: a line."""
    if isinstance(touch, Rope):
        if touch.name.rpartition(" ")[0] in s.system.layout.mechanism.forces:  # the end of a cylinder's stroke
            return
        look = "rod" if isinstance(touch, Strut) else "cable"
        s.links.append(DrawnLink(look, touch.name, tuple(s.place(f) for f in touch.points)))
    elif isinstance(touch, Contact):
        place = s.place(touch.frame, touch.name)
        r = _touching(s, place, touch.core, touch.size, touch.radius)
        on = s.place(touch.on, touch.name)
        if touch.on_plane:
            s.floors.append((on, place, r))
        else:
            _touching(s, on, touch.on_core, touch.on_size, touch.on_radius)


def _touching(s: Attachments, place: Place, core: Core, size: Sequence[Any], radius: Any) -> float:
    """A ball or a disc that touches, and how far it reaches; of others, which have shapes of their own, the place."""
    if core is not Core.DISC:
        return _ball(s, place, radius if core is Core.POINT else 0.0)
    r = ca.SX(size[0])
    if r.is_constant():
        _wheel(s, place, float(r), 2)
    return float(r) if r.is_constant() else 0.0


def _wheel(s: Attachments, place: Place, radius: float, axis: int | None) -> None:
    """A wheel, once where several elements share it."""
    s.attach(place)
    if not any(
        at.body == place.body and known == axis and abs(r - radius) <= 1e-9 * radius and np.allclose(at.T.p, place.T.p)
        for at, r, known in s.wheels
    ):
        s.wheels.append((place, radius, axis))


def _ball(s: Attachments, place: Place, size: Any) -> float:
    """A ball of its radius, where that is a number above zero; returns it, else 0."""
    radius = ca.SX(size)
    r = float(radius) if radius.is_constant() else 0.0
    s.attach(place)
    if r > 0 and not any(
        at.body == place.body and known == r and all(at.T.p == place.T.p) for at, known, _ in s.wheels
    ):
        s.wheels.append((place, r, None))
    return r


def _join(s: Attachments, name: str, joint: Joint, parent: Frame, child: Frame, closes: bool) -> None:
    a, b = s.place(parent, turn=joint.orientation), s.place(child, turn=joint.orientation)
    s.joints.append(SceneJoint(name, joint.kind, closes, a, b, GLYPHS.get(joint.kind, "none")))
    if joint.kind not in LOOSE:
        s.attach(a)
        s.attach(b)


def turn_to(z: Any, x: Any = None) -> np.ndarray:
    """A rotation (3, 3) whose third column is along z, and whose first is as near to x as that allows."""
    z = np.asarray(z, dtype=float)
    z = z / np.linalg.norm(z)
    tries = [x] if x is not None else []
    for t in [*tries, np.eye(3)[int(np.argmin(np.abs(z)))]]:
        t = np.asarray(t, dtype=float)
        t = t - (t @ z) * z
        if np.linalg.norm(t) > 1e-9:
            break
    t = t / np.linalg.norm(t)
    return np.column_stack([t, np.cross(z, t), z])
