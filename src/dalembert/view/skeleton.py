"""The drawing of a mechanism: points fixed to bodies, lines through them, and marks on them.

A body is a line between the two points where something is attached to it, a polygon through three or more in a plane,
the edges of their convex hull if they are in no plane, a stick to its centre of mass if there is one point only, a
small solid if that is the same point. Points of cables count for bodies with fewer than two others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial import ConvexHull

from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints import Expressions, Loop, PointOn, Rod
from dalembert.mechanism.forces.cable import Line as Taut
from dalembert.mechanism.joints.joint import Joint
from dalembert.protocols import Parameters
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers
from dalembert.system.system import System
from dalembert.view.poses import place_on_body

SOLID = 0.06  # size of a body that is one point, of the mechanism's length
LOOSE = ("free", "planar")  # joints whose parent frame is no place of the body
ROUND = 32  # points of a circle


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points.

    kind: "body", "solid", "rod", "spring", "cable", "actuator", "guide", "blade" (of a skate), "gap" (of a cut joint).
    """

    kind: str
    points: tuple[int, ...]
    closed: bool = False
    body: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on a point. kind: "pin", "cut" (a joint that closes a loop), "support", "mass", "frame"."""

    kind: str
    point: int
    name: str = ""


@dataclass
class Skeleton:
    """Points (body, place on it), lines and marks; `traces` are points whose paths are shown."""

    system: System
    p: Parameters = None
    bodies: list[str] = field(default_factory=list)  # body of each point
    places: list[np.ndarray] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    traces: list[int] = field(default_factory=list)

    def point(self, body: Body, place: np.ndarray) -> int:
        """The index of the point at a place on a body, (3,); equal points have one index."""
        x = np.asarray(place, dtype=float)
        for k, (name, old) in enumerate(zip(self.bodies, self.places)):
            if name == body.name and np.allclose(old, x, atol=1e-9 * self.size):
                return k
        self.bodies.append(body.name)
        self.places.append(x)
        return len(self.places) - 1

    def at(self, frame: Frame) -> int:
        """The point at the origin of a frame."""
        return self.point(frame.body, place_on_body(self.system, frame, self.p)[1])

    @property
    def size(self) -> float:
        """A length of the mechanism's size."""
        return self.system.layout.length

    def positions(self, poses: dict[str, np.ndarray]) -> np.ndarray:
        """(N, points, 3) in the ground."""
        n = max((len(T) for T in poses.values()), default=1)
        out = np.empty((n, len(self.places), 3))
        for k, (body, x) in enumerate(zip(self.bodies, self.places)):
            T = poses[body]
            out[:, k] = T[:, :3, :3] @ x + T[:, :3, 3]
        return out


def skeleton(
    system: System, q: np.ndarray, traces: Iterable[str | Body | Frame] = (), p: Parameters = None
) -> Skeleton:
    """The skeleton of a system; guides reach as far as the positions q, (N, nq)."""
    s = Skeleton(system, p)
    ends: dict[str, list[int]] = {name: [] for name in system.layout.bodies}  # points where something is attached

    round_bodies: set[str] = set()
    sliding = {a.child.body.name for a in system.layout.joints.values() if a.joint.kind == "prismatic"}

    def attach(frame: Frame) -> int:
        k = s.at(frame)
        if k not in ends[frame.body.name]:
            ends[frame.body.name].append(k)
        return k

    for a in system.layout.joints.values():
        if a.joint.kind not in LOOSE:
            parent, child = attach(a.parent), attach(a.child)
            if a.joint.kind in ("prismatic", "cylindrical") and a.parent.body.name != "ground":
                s.lines.append(Line("guide", (parent, child)))
            elif a.joint.kind in ("prismatic", "cylindrical"):
                _guide(s, a.parent, a.joint, q[:, system.layout.q_slice(a.name)][:, -1])
            else:
                s.marks.append(Mark("pin", child, a.name))
            if a.parent.body.name == "ground" and a.joint.kind != "prismatic":
                s.marks.append(Mark("support", parent))
    for c in system.description.constraints:
        if isinstance(c, (Loop, Rod, PointOn)):
            one, other = attach(c.a), attach(c.b)
            if isinstance(c, PointOn):
                if c.kind == "point on line":
                    _guide(s, c.a, c, np.array([-1.0, 1.0]) * 2 * s.size)
            else:
                s.lines.append(Line("rod" if isinstance(c, Rod) else "gap", (one, other)))
            s.marks.append(Mark("pin" if isinstance(c, Rod) else "cut", other, c.name))
            for frame, k in ((c.a, one), (c.b, other)):
                if frame.body.name == "ground" and not isinstance(c, PointOn):
                    s.marks.append(Mark("support", k))
        elif isinstance(c, Expressions):
            for frame, radius, axis in c.wheels:
                attach(frame)
                if isinstance(radius, float) and radius == 0.0:
                    _draw_blade(s, frame, axis)
                else:
                    _draw_wheel(s, frame, radius, axis)
                    round_bodies.add(frame.body.name)
    for force in system.description.forces:
        if isinstance(force, Taut):
            place = s.at if force.kind == "cable" else attach
            s.lines.append(Line(force.kind, tuple(place(f) for f in force.points)))
    for name, frame in system.layout.frames.items():
        s.marks.append(Mark("frame", attach(frame), name))
    for force in system.description.forces:
        for frame in force.points if isinstance(force, Taut) and force.kind == "cable" else ():
            if len(ends[frame.body.name]) < 2:
                attach(frame)
    for body in system.layout.bodies.values():
        if body.name != "ground" and (body.name not in round_bodies or len(ends[body.name]) > 1):
            _draw_body(s, body, ends[body.name], body.name in sliding)
    s.traces = [s.at(system.layout.frame(f)) for f in traces]
    return s


def _guide(s: Skeleton, frame: Frame, joint: Joint | PointOn, reach: np.ndarray) -> None:
    """The line along which something slides."""
    R, x = place_on_body(s.system, Frame(frame.body, frame.T @ Transform(joint.orientation, np.zeros(3))), s.p)
    axis = R[:, 2]
    more = 2 * SOLID * s.size
    low, high = min(0.0, reach.min()) - more, max(0.0, reach.max()) + more
    s.lines.append(Line("guide", (s.point(frame.body, x + low * axis), s.point(frame.body, x + high * axis))))


def _draw_body(s: Skeleton, body: Body, ends: Sequence[int], slides: bool) -> None:
    """slides: the rod of a cylinder, say, which needs no mark at its centre of mass."""
    com = body.com.astype(float) if all_numbers(body.com) else None
    if not ends:
        ends = [s.point(body, np.zeros(3))]
    if len(ends) == 1 and com is not None:
        mass = s.point(body, com)
        if mass != ends[0]:
            if not slides:
                s.marks.append(Mark("mass", mass, body.name))
            ends = [ends[0], mass]
    if len(ends) == 1:
        _draw_solid(s, body, s.places[ends[0]])
        return
    places = np.array([s.places[k] for k in ends])
    edges = _hull_edges(places)
    if edges:
        s.lines.extend(Line("body", (ends[a], ends[b]), False, body.name) for a, b in edges)
        return
    order, closed = _around(places)
    s.lines.append(Line("body", tuple(ends[k] for k in order), closed, body.name))


def _draw_solid(s: Skeleton, body: Body, x: np.ndarray) -> None:
    """An octahedron, as three squares."""
    r = SOLID * s.size
    for k in range(3):
        e, f = np.delete(np.eye(3), k, axis=0) * r
        corners = tuple(s.point(body, x + d) for d in (e, f, -e, -f))
        s.lines.append(Line("solid", corners, True, body.name))


def _draw_wheel(s: Skeleton, frame: Frame, radius: Any, axis: int | None) -> None:
    """A circle with a spoke about the axis; for a sphere one about each axis."""
    if isinstance(radius, ca.SX) and not radius.is_constant():
        return
    R, x = place_on_body(s.system, frame, s.p)
    turn = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    for k in range(3) if axis is None else [axis]:
        e, f = R[:, (k + 1) % 3] * float(radius), R[:, (k + 2) % 3] * float(radius)
        rim = [s.point(frame.body, x + np.cos(c) * e + np.sin(c) * f) for c in turn]
        s.lines.append(Line("solid", tuple(rim), True, frame.body.name))
        if axis is not None:
            s.lines.append(Line("body", (s.point(frame.body, x), rim[0]), False, frame.body.name))


def _draw_blade(s: Skeleton, frame: Frame, sideways: int | None) -> None:
    """A short line along the first axis of the frame that is not sideways."""
    R, x = place_on_body(s.system, frame, s.p)
    forward = 2 * SOLID * s.size * R[:, 0 if sideways else 1]
    s.lines.append(Line("blade", (s.point(frame.body, x - forward), s.point(frame.body, x + forward))))


def _hull_edges(places: np.ndarray) -> list[tuple[int, int]]:
    """Edges of the convex hull of points (n, 3), as pairs of their indices; none if a plane holds them."""
    size = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    if len(places) < 4 or size[2] < 1e-6 * size[0]:
        return []
    hull = ConvexHull(places)
    sides: dict[tuple[int, int], list[np.ndarray]] = {}
    for corners, equation in zip(hull.simplices, hull.equations):
        for a, b in ((0, 1), (1, 2), (0, 2)):
            i, j = sorted((int(corners[a]), int(corners[b])))
            sides.setdefault((i, j), []).append(equation[:3])
    return [edge for edge, (n, m) in sides.items() if n @ m < 1 - 1e-9]  # not a diagonal of a flat face


def _around(places: Sequence[np.ndarray] | np.ndarray) -> tuple[list[int], bool]:
    """The order in which a line through points does not cross itself, and whether it closes."""
    x = np.array(places) - np.mean(places, axis=0)
    _, size, Vt = np.linalg.svd(x)
    if len(x) == 2 or size[1] < 1e-6 * size[0]:
        return np.argsort(x @ Vt[0]).tolist(), False
    return np.argsort(np.arctan2(x @ Vt[1], x @ Vt[0])).tolist(), True
