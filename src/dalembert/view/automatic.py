"""Shapes that a mechanism gets where its description gives none: bars between joints, plates, pins, rails, wheels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import Parameters
from dalembert.spatial import Transform
from dalembert.symbols import all_numbers, is_number
from dalembert.system.system import System
from dalembert.view.attachments import Attachments, attachments, turn_to
from dalembert.view.described_shapes import given_solids
from dalembert.view.machine_parts import machine_parts
from dalembert.view.outlines import rounded
from dalembert.view.plane import sight, turned
from dalembert.view.poses import body_poses, place_on_body
from dalembert.view.ropes import roads, ropes
from dalembert.view.scene import COLORS, GROUND, DrawnLink, DrawnSolid, Place, Scene, SceneBody, SceneJoint

STEEL, CLOSING, RAIL, FLOOR, RUBBER = "#d9dde2", "#c0392b", "#aeb4bd", "#9aa5b1", "#30363d"
EYES = ((35.0, 22.0), (-35.0, 22.0), (60.0, 22.0), (-60.0, 22.0))  # corners to look from
LAYER = 1.2  # distance of the layers of a planar mechanism, of the thickness


class Furniture:
    """The scene while it is made: r is the half width of bars; `height` of each body's layer, for planar ones."""

    def __init__(self, s: Attachments, scene: Scene, poses: list[np.ndarray], q: np.ndarray):
        self.s, self.scene, self.poses, self.q = s, scene, poses, q
        self.normal = scene.axes[:, 2]
        self.r = scene.thickness
        self.flat = scene.planar and self._level()
        self.given = [bool(b.solids) for b in scene.bodies]
        self.tubes = {j.name: t for j in s.joints if (t := tube(s, j, poses, 3 * self.r)) is not None}
        self.layer = self._layers() if self.flat else [0] * len(poses)
        self.grounded = [place.T.p for j in s.joints for place in (j.a, j.b)
                         if place.body == 0 and j.glyph not in ("slider", "none")]  # fmt: skip

    # --- places -------------------------------------------------------------------------------------------------

    def world(self, k: int, x: np.ndarray) -> np.ndarray:
        """A point of body k in the ground, in all positions, (N, 3)."""
        return self.poses[k][:, :3, :3] @ x + self.poses[k][:, :3, 3]

    def own(self, k: int, direction: np.ndarray) -> np.ndarray:
        """A direction of the ground in body k, in the first position."""
        return self.poses[k][0, :3, :3].T @ direction

    def lifted(self, k: int, x: np.ndarray, layer: float) -> np.ndarray:
        """A point of body k moved along the normal to the height of a layer."""
        height = self.world(k, x)[0] @ self.normal - self.level
        return x + self.own(k, self.normal) * (layer * LAYER * self.r - height)

    def _level(self) -> bool:
        """Whether all ends are at one height above the plane of the picture."""
        heights = [self.world(k, x)[0] @ self.normal for k, ends in enumerate(self.s.ends) for x in ends]
        self.level = float(np.mean(heights)) if heights else 0.0
        return not heights or float(np.ptp(heights)) < 1e-6 * self.scene.length

    def _layers(self) -> list[int]:
        """A layer for each body that no body joined to it has; the ground has none."""
        near: list[set[int]] = [set() for _ in self.poses]
        same = list(range(len(self.poses)))  # the two tubes of a cylinder are in one layer
        for j in self.s.joints:
            if j.name in self.tubes:
                same[j.b.body] = same[j.a.body]
        for j in self.s.joints:
            if j.kind not in ("free", "planar") and same[j.a.body] != same[j.b.body]:
                near[same[j.a.body]].add(same[j.b.body])
                near[same[j.b.body]].add(same[j.a.body])
        layers = [-1] + [0] * (len(self.poses) - 1)
        for k in range(1, len(self.poses)):
            taken = {layers[n] for n in near[k] if 0 < n < k}
            layers[k] = next(i for i in range(len(self.poses)) if i not in taken) if same[k] == k else layers[same[k]]
        return layers

    def add(self, k: int, solid: DrawnSolid) -> None:
        """Put a solid on body k."""
        self.scene.bodies[k].solids.append(solid)

    # --- bodies -------------------------------------------------------------------------------------------------

    def body(self, k: int) -> None:
        """A bar or a plate through the ends of a body."""
        b, ends = self.scene.bodies[k], list(self.s.ends[k])
        along = [x for t in self.tubes.values() if (x := t.own(k)) is not None]
        if along:  # what a tube shows already
            ends = [x for x in ends if not any(np.allclose(x, y, atol=1e-9 * self.scene.length) for y in along)]
        elif b.com is not None and len(ends) < 2:
            self._lonely(k, ends, b)
        if len(ends) > 1:
            self.add(k, self.hull(k, np.array(ends)))

    def hull(self, k: int, points: np.ndarray) -> DrawnSolid:
        """The bar, plate or rounded solid through points (n, 3) of body k."""
        middle = points.mean(axis=0)
        _, size, Vt = np.linalg.svd(points - middle, full_matrices=True)
        size = np.append(size, [0.0] * (3 - len(size)))
        if self.flat:
            middle = self.lifted(k, middle, self.layer[k])
            return self.plate(points, middle, self.own(k, self.normal))
        if size[1] < 1e-3 * size[0]:
            along = (points - middle) @ Vt[0]
            R = turn_to(Vt[0])
            x, length = middle + Vt[0] * (along.min() + along.max()) / 2, float(np.ptp(along))
            return DrawnSolid("capsule", (0.75 * self.r, length), Transform(R, x))
        if size[2] < 1e-2 * size[0]:
            return self.plate(points, middle, Vt[2])
        vertices, faces = round_hull(points - middle, 0.7 * self.r)
        return DrawnSolid("mesh", T=Transform(np.eye(3), middle), vertices=vertices, faces=faces)

    def plate(self, points: np.ndarray, middle: np.ndarray, normal: np.ndarray) -> DrawnSolid:
        """The plate with round corners through points (n, 3) near a plane."""
        R = turn_to(normal)
        return DrawnSolid(
            "plate", (self.r,), Transform(R, middle), outline=rounded((points - middle) @ R[:, :2], self.r)
        )

    def _lonely(self, k: int, ends: list[np.ndarray], b: SceneBody) -> None:
        """A body with one end or none: a bar to its centre of mass, and a solid of its inertia there."""
        assert b.com is not None
        at = self.lifted(k, b.com, self.layer[k]) if self.flat else b.com
        dims, R = self._dims(k)
        if ends:
            arm = b.com - ends[0]
            reach = float(np.linalg.norm(arm))
            if reach > 1e-6 * self.scene.length:
                slender = dims[0] > 3 * dims[1] and abs(R[:, 0] @ arm) > 0.999 * reach and dims[0] > 0.5 * reach
                ends.append(b.com + arm / reach * dims[0] / 2 if slender else b.com)
                if slender:
                    return
            elif any(place.body == k for place, *_ in self.s.wheels):
                return
        low, high = 1.5 * self.r, max(1.5 * self.r, 0.3 * self.scene.length)
        dims = np.clip(dims, low, high)
        if dims[2] > 0.8 * dims[0]:
            self.add(k, DrawnSolid("sphere", (float(dims.mean()) / 2 * 1.2,), Transform(np.eye(3), at)))
        elif dims[1] > 0.8 * dims[0] and dims[2] < 0.5 * dims[0]:
            self.add(k, DrawnSolid("cylinder", (dims[0] / 2, dims[2]), Transform(R, at)))
        else:
            self.add(k, DrawnSolid("box", tuple(dims.tolist()), Transform(R, at)))

    def _dims(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Edges (3,) of the box of body k's inertia, the longest first, and their directions (3, 3)."""
        body = list(self.s.system.layout.bodies.values())[k]
        if not all_numbers(np.append(body.inertia, body.mass)) or not float(body.mass) > 0:
            return np.zeros(3), np.eye(3)
        J, V = np.linalg.eigh(np.asarray(body.inertia, dtype=float))
        edges = np.sqrt(np.maximum(0.0, 6.0 * (J.sum() - 2 * J) / float(body.mass)))  # ascending J: longest first
        if np.linalg.det(V) < 0:
            V[:, 2] *= -1
        return edges, V

    # --- joints -------------------------------------------------------------------------------------------------

    def joint(self, j: SceneJoint) -> None:
        """The pin, ball, rail or sleeve of a joint, and its support on the ground."""
        if self.given[j.a.body] and self.given[j.b.body]:
            return
        if j.name in self.tubes:
            self._tube(j, self.tubes[j.name])
        elif j.glyph in ("slider", "sleeve"):
            self._slider(j)
        elif j.glyph == "ball":
            self.add(j.b.body, DrawnSolid("sphere", (1.25 * self.r,), j.b.T, STEEL, joint=j.name))
        elif j.glyph == "cross":
            for turn in (turn_to([1, 0, 0]), turn_to([0, 1, 0])):
                T = Transform(j.b.T.R @ turn, j.b.T.p)
                self.add(j.b.body, DrawnSolid("cylinder", (0.55 * self.r, 3.0 * self.r), T, STEEL, joint=j.name))
        elif j.glyph == "pin":
            self._pin(j)
        for own in (j.a, j.b):
            if own.body == 0 and j.glyph not in ("slider", "none"):
                self.support(own.T.p, j.name)

    def _pin(self, j: SceneJoint) -> None:
        color = CLOSING if j.closes else STEEL
        if self.flat:
            low, high = sorted((self.layer[j.a.body], self.layer[j.b.body]))
            x = self.lifted(j.b.body, j.b.T.p, (low + high) / 2)
            length = ((high - low) * LAYER + 1.5) * self.r
            T = Transform(turn_to(self.own(j.b.body, self.normal)), x)
            self.add(j.b.body, DrawnSolid("cylinder", (0.5 * self.r, length), T, color, joint=j.name))
            return
        self.add(j.a.body, DrawnSolid("cylinder", (1.1 * self.r, 2.2 * self.r), j.a.T, joint=j.name))
        self.add(j.b.body, DrawnSolid("cylinder", (0.6 * self.r, 3.2 * self.r), j.b.T, color, joint=j.name))

    def support(self, x: np.ndarray, name: str = "") -> None:
        """Support of a point on the ground: a foot behind a planar mechanism, a stand below a spatial one."""
        r, up = self.r, self.scene.axes[:, 1]
        if self.flat:
            R = np.column_stack([self.scene.axes[:, 0], up, self.normal])
            foot = np.array([[-1.6 * r, -3.2 * r], [1.6 * r, -3.2 * r], [0.0, 0.0]])
            T = Transform(R, self.lifted(0, x, -1.0))
            self.add(0, DrawnSolid("plate", (r,), T, joint=name, outline=rounded(foot, 0.8 * r)))
            return
        if len(self.grounded) > 2:  # they share a pane
            return
        self.add(0, DrawnSolid("cylinder", (1.9 * r, 0.8 * r), Transform(turn_to(up), x - 2.0 * r * up), joint=name))
        self.add(0, DrawnSolid("cylinder", (0.9 * r, 2.0 * r), Transform(turn_to(up), x - r * up), joint=name))

    def ground(self) -> None:
        """The ground of a spatial mechanism: a bar between two joints on it, a pane through more."""
        points = np.array(self.grounded)
        if self.flat or len(points) < 2 or float(np.ptp(points, axis=0).max()) < 4 * self.r:
            return
        solid = self.hull(0, points)
        self.add(0, replace(solid, opacity=1.0 if solid.kind == "capsule" else 0.3))

    def _slider(self, j: SceneJoint) -> None:
        """A rail on the parent as long as the way, a block on the child; a ball for a particle."""
        axis = j.a.T.R[:, 2]
        along = _way(j, self.poses) @ axis
        low, high = float(along.min()) - 5 * self.r, float(along.max()) + 5 * self.r
        block = j.b.T.p
        R = j.b.T.R
        if self.flat:
            block = self.lifted(j.b.body, block, self.layer[j.b.body])
            R = turn_to(R[:, 2], self.own(j.b.body, self.normal))
        self.rail(j.a, low, high, j.name)
        alone = sum(j.b.body in (other.a.body, other.b.body) for other in self.s.joints) == 1
        if alone and not self._dims(j.b.body)[0].any():
            self.add(j.b.body, DrawnSolid("sphere", (1.9 * self.r,), Transform(R, block), joint=j.name))
            return
        size = (1.8 * self.r, 2.6 * self.r, 4.0 * self.r) if self.flat else (2.6 * self.r, 2.6 * self.r, 4.0 * self.r)
        self.add(j.b.body, DrawnSolid("box", size, Transform(R, block), joint=j.name))

    def rail(self, place: Place, low: float, high: float, name: str) -> None:
        """A round bar along z of a place, from low to high."""
        x = place.T.p + place.T.R[:, 2] * (low + high) / 2
        if self.flat:
            x = self.lifted(place.body, x, -0.9 if place.body == 0 else self.layer[place.body])
        self.add(
            place.body, DrawnSolid("cylinder", (0.45 * self.r, high - low), Transform(place.T.R, x), RAIL, joint=name)
        )

    def _tube(self, j: SceneJoint, t: Tube) -> None:
        """A cylinder and its rod; a bar inside them stretches, and is seen where they are too short."""
        ends = [Place("", place.body, Transform(place.T.R, x)) for place, x in ((j.a, t.base), (j.b, t.tip))]
        if self.flat:
            ends = [Place("", e.body, Transform(e.T.R, self.lifted(e.body, e.T.p, self.layer[e.body]))) for e in ends]
        self.scene.links.append(DrawnLink("rod", j.name, tuple(ends)))
        for place, (low, high), radius in ((j.a, t.barrel, 1.0), (j.b, t.rod, 0.55)):
            x = (t.base if place is j.a else t.tip) + place.T.R[:, 2] * (low + high) / 2
            if self.flat:
                x = self.lifted(place.body, x, self.layer[place.body])
            T = Transform(place.T.R, x)
            self.add(place.body, DrawnSolid("cylinder", (radius * self.r, high - low), T))

    # --- wheels -------------------------------------------------------------------------------------------------

    def wheel(self, place: Place, radius: float, axis: int | None) -> None:
        """A wheel, a ball or a skate's blade."""
        if radius == 0.0:
            side = place.T.R[:, 0 if axis is None else axis]
            forward = place.T.R[:, 0 if axis else 1]
            R = turn_to(np.cross(forward, side), forward)
            x = self.lifted(place.body, place.T.p, self.layer[place.body] + 1) if self.flat else place.T.p
            size = (5.0 * self.r, 1.1 * self.r, 1.4 * self.r)
            self.add(place.body, DrawnSolid("box", size, Transform(R, x), "#30363d"))
        elif axis is None:
            self.add(place.body, DrawnSolid("sphere", (radius,), place.T))
        else:
            R = turn_to(place.T.R[:, axis])
            self.add(place.body, DrawnSolid("wheel", (radius, 0.16 * radius), Transform(R, place.T.p)))

    # --- floors -------------------------------------------------------------------------------------------------

    def floors(self) -> None:
        """A slab below every plane of a contact, as far as what may touch it goes."""
        done: list[Place] = []
        for plane, _, _ in self.s.floors:
            if any(same_plane(plane, other) for other in done) or self.given[plane.body]:
                continue
            done.append(plane)
            ends = [self._above(plane, place, r) for other, place, r in self.s.floors if same_plane(plane, other)]
            low, high = np.concatenate(ends).min(axis=0), np.concatenate(ends).max(axis=0)
            margin = max(0.35 * self.scene.length, 6 * self.r)
            edges, depth = high - low + 2 * margin, 0.8 * self.r
            if self.flat:  # seen from the side: one edge is along the picture's normal
                edges[int(np.argmax(np.abs(self.own(plane.body, self.normal) @ plane.T.R[:, :2])))] = 6 * self.r
            x = plane.T.p + plane.T.R @ np.append((low + high) / 2, -depth / 2)
            size = (float(edges[0]), float(edges[1]), depth)
            self.add(
                plane.body, DrawnSolid("box", size, Transform(plane.T.R, x), FLOOR, origin="floor", joint=plane.name)
            )

    def _above(self, plane: Place, place: Place, radius: float) -> np.ndarray:
        """Where a ball is over a plane, in x and y of the plane, in all positions: the ends of its shadow, (2 N, 2)."""
        T = np.linalg.inv(self.poses[plane.body]) @ self.poses[place.body]
        x = (T[:, :3, :3] @ place.T.p + T[:, :3, 3] - plane.T.p) @ plane.T.R[:, :2]
        return np.concatenate([x - radius, x + radius])


def same_plane(one: Place, other: Place) -> bool:
    """Whether two frames of a body have one x-y plane and the same axes in it."""
    if one.body != other.body or not np.allclose(one.T.R, other.T.R, atol=1e-9):
        return False
    apart = one.T.p - other.T.p
    return bool(abs(apart @ one.T.R[:, 2]) <= 1e-9 * max(np.abs(apart).max(), 1e-300))


def furnish(system: System, q: np.ndarray, traces: Sequence[Frame], p: Parameters, meshes: Any) -> Scene:
    """The scene of a system in positions q (N, nq), with all its shapes; mesh files are read from a folder."""
    bodies = list(system.layout.bodies.values())
    found = body_poses(system, q, p)
    poses = [found[body.name] for body in bodies]
    look = sight(system, found, lambda frame: place_on_body(system, frame, p))
    s = attachments(system, p)
    first = {name: T[0] for name, T in found.items()}
    s.links += [*ropes(system, s.index, first, p), *roads(system, s.index, first, p)]
    length, thickness = _sizes(s, poses)
    gravity = np.array([float(x) if is_number(x) else 0.0 for x in system.description.gravity])
    scene = Scene(
        system.name, look.planar, length, thickness, look.R, gravity,
        [_scene_body(b, k) for k, b in enumerate(bodies)], s.joints, s.links, s.frames,
        [s.place(f, str(getattr(f, "name", "") or f.body.name)) for f in traces],
    )  # fmt: skip
    values = system.arguments.parameter_vector(p)
    for k, body in enumerate(bodies):
        scene.bodies[k].solids.extend(given_solids(body, values, meshes))
    scene.eye = _eye(s, scene, poses)
    f = Furniture(s, scene, poses, q)
    round_bodies = {place.body for place, radius, _ in s.wheels if radius > 0}
    for k in range(1, len(bodies)):
        if not f.given[k] and (k not in round_bodies or len(s.ends[k]) > 1):
            f.body(k)
    for j in s.joints:
        f.joint(j)
    f.ground()
    for place in s.rubber:
        if not f.given[place.body]:
            f.add(place.body, DrawnSolid("sphere", (1.6 * f.r,), place.T, RUBBER))
    for wheel in s.wheels:
        if not f.given[wheel[0].body]:
            f.wheel(*wheel)
    machine_parts(f)
    f.floors()
    for place, name in s.guides:
        reach = [f.world(c.b.body, c.b.T.p) for c in s.slid if c.name == name]
        T = np.linalg.inv(poses[place.body])
        along = np.concatenate([(np.einsum("nij,nj->ni", T[:, :3, :3], x) + T[:, :3, 3] - place.T.p) for x in reach])
        along = along @ place.T.R[:, 2]
        f.rail(place, float(along.min()) - 6 * f.r, float(along.max()) + 6 * f.r, name)
    for link in s.links:
        for x in link.points:
            if x.body == 0 and link.kind in ("rod", "spring", "actuator", "gap"):
                f.support(x.T.p, link.name)
    return scene


def _eye(s: Attachments, scene: Scene, poses: list[np.ndarray]) -> tuple[float, float]:
    """Yaw and pitch (degrees) of the corner from which the bodies look longest, of some."""
    ways = []
    for ends, T in zip(s.ends, poses):
        if len(ends) > 1:
            x = np.array(ends) @ T[0, :3, :3].T
            ways += [x[k] - x[0] for k in range(1, len(x))]
    if scene.planar or not ways:
        return EYES[0]
    seen = [turned(np.array(ways) @ scene.axes, -np.radians(yaw), np.radians(pitch))[:, :2] for yaw, pitch in EYES]
    lengths = [float(np.linalg.norm(x, axis=1).sum()) * (1.05 if k == 0 else 1.0) for k, x in enumerate(seen)]
    return EYES[int(np.argmax(lengths))]


def _scene_body(body: Body, k: int) -> SceneBody:
    numbers = all_numbers(np.append(body.com, body.mass))
    color = GROUND if k == 0 else COLORS[(k - 1) % len(COLORS)]
    if k == 0 or not numbers:
        return SceneBody(body.name, color)
    return SceneBody(body.name, color, mass=float(body.mass), com=np.asarray(body.com, dtype=float))


def _sizes(s: Attachments, poses: list[np.ndarray]) -> tuple[float, float]:
    """The length of the mechanism in the first position, and the half width of its bars."""
    points, spans = [], []
    bodies = list(s.system.layout.bodies.values())
    for k, (ends, T) in enumerate(zip(s.ends, poses)):
        own = list(ends)
        if k and all_numbers(bodies[k].com):
            own.append(np.asarray(bodies[k].com, dtype=float))
        points += [T[0, :3, :3] @ x + T[0, :3, 3] for x in own]
        if k and len(own) > 1:
            spans.append(float(np.ptp(np.array(own), axis=0).max()))
    for place, radius, _ in s.wheels:
        x = poses[place.body][0, :3, :3] @ place.T.p + poses[place.body][0, :3, 3]
        points += [x - radius, x + radius]
    length = float(np.ptp(np.array(points), axis=0).max()) if points else 0.0
    length = length or s.system.layout.length
    typical = float(np.median([x for x in spans if x > 1e-6 * length] or [length]))
    return length, float(np.clip(0.07 * typical, 0.012 * length, 0.03 * length))


def round_hull(points: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and faces (m, 3), outwards, of the convex hull of balls about points (n, 3)."""
    from scipy.spatial import ConvexHull

    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 12, endpoint=False), np.linspace(-np.pi / 2, np.pi / 2, 7))
    flat = np.cos(rise)
    ball = np.column_stack([(flat * np.cos(turn)).ravel(), (flat * np.sin(turn)).ravel(), np.sin(rise).ravel()])
    cloud = (points[:, None] + radius * ball[None]).reshape(-1, 3)
    solid = ConvexHull(cloud)
    used, faces = np.unique(solid.simplices, return_inverse=True)
    vertices, faces = cloud[used], faces.reshape(-1, 3)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), solid.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return vertices, faces


@dataclass(frozen=True, slots=True, eq=False)
class Tube:
    """A sliding joint between two bodies as a cylinder and its rod.

    base and tip: the far ends on both bodies, (3,); barrel and rod: from where to where along the joint's axis, from
    base and tip. ends: the places of the joint on each body, by its index.
    """

    base: np.ndarray
    tip: np.ndarray
    barrel: tuple[float, float]
    rod: tuple[float, float]
    ends: dict[int, np.ndarray]

    def own(self, k: int) -> np.ndarray | None:
        """The place of the joint on body k, if the tube is part of it."""
        return self.ends.get(k)


def tube(s: Attachments, j: SceneJoint, poses: list[np.ndarray], least: float) -> Tube | None:
    """The tube of a sliding joint, if both bodies have another end on its axis and it is longer than `least`."""
    if j.kind not in ("prismatic", "cylindrical") or 0 in (j.a.body, j.b.body):
        return None
    far = []
    for place in (j.a, j.b):
        axis = place.T.R[:, 2]
        turning = [p.T.p for other in s.joints for p in (other.a, other.b)
                   if p.body == place.body and other.glyph in ("pin", "ball", "cross")]  # fmt: skip
        on = [x for x in turning if np.linalg.norm(np.cross(x - place.T.p, axis)) < least / 6]
        if not on:
            return None
        far.append(max(on, key=lambda x: float(np.linalg.norm(x - place.T.p))))
    base, tip = (float((x - place.T.p) @ place.T.R[:, 2]) for x, place in zip(far, (j.a, j.b)))
    reach = _way(j, poses) @ j.a.T.R[:, 2] + tip - base
    sign = 1.0 if reach.mean() > 0 else -1.0
    shortest, longest = float((sign * reach).min()), float((sign * reach).max())
    if shortest < least:
        return None
    barrel = 0.62 * shortest
    rod = min(longest - barrel + 0.12 * shortest, 0.98 * shortest)  # it does not come out behind the barrel
    low, high = sorted((0.0, sign * barrel))
    back, front = sorted((0.0, -sign * rod))
    places = {j.a.body: j.a.T.p, j.b.body: j.b.T.p}
    return Tube(far[0], far[1], (low, high), (back, front), places)


def _way(j: SceneJoint, poses: list[np.ndarray]) -> np.ndarray:
    """The places (N, 3) of the second frame's origin, from the first's, in the first body's axes."""
    T = np.linalg.inv(poses[j.a.body]) @ poses[j.b.body]
    return T[:, :3, :3] @ j.b.T.p + T[:, :3, 3] - j.a.T.p
