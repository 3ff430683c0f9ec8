"""Random closed mechanisms as plain data, for two readers: `build` makes them with the library, `rigid` from nothing.

A plan has bodies, joints and constraints with numbers and letters only. Loops are closed where the tree stands, so a
plan is assembled; some are planar, some say the same twice, some stand on a moving base, and all are scaled at random.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from rigid import Pose, Rigid, rotation_vector

import dalembert as da

KINDS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "fixed")
CUTS = ("revolute", "spherical", "universal", "cylindrical", "planar", "prismatic", "fixed", "screw")
OTHERS = ("rod", "line", "plane", "coupling", "driver", "point driver", "skate", "sphere", "disc")


@dataclass
class Body:
    name: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray  # (3, 3) about the centre of mass


@dataclass
class Link:
    """A joint between frames of two bodies; also what closes a loop: then parent is a and child is b."""

    name: str
    kind: str
    parent: int  # body, −1 for the ground
    child: int
    at_parent: Pose
    at_child: Pose
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    second: np.ndarray = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    pitch: float = 0.0
    armature: float = 0.0


@dataclass
class Other:
    """Another constraint: between frames, or on coordinates, or in time."""

    name: str
    kind: str
    a: tuple[int, Pose] | None = None
    b: tuple[int, Pose] | None = None
    values: tuple[Any, ...] = ()


@dataclass
class Plan:
    seed: int
    size: float  # m
    mass: float  # kg
    pace: float  # s
    gravity: np.ndarray
    bodies: list[Body] = field(default_factory=list)
    joints: list[Link] = field(default_factory=list)
    loops: list[Link] = field(default_factory=list)
    others: list[Other] = field(default_factory=list)
    q: np.ndarray = field(default_factory=lambda: np.zeros(0))
    v: np.ndarray = field(default_factory=lambda: np.zeros(0))
    tau: np.ndarray = field(default_factory=lambda: np.zeros(0))


def random_plan(seed: int, small: bool = False) -> Plan:
    """The mechanism of a seed: two to five bodies, or one or two."""
    rng = np.random.default_rng([seed, 71])
    odd = rng.random() < 0.5
    size, mass, pace = (10.0 ** rng.uniform(-4, 4) if odd else 1.0 for _ in range(3))
    plan = Plan(seed, size, mass, pace, np.array([0.4, -9.0, -3.0]) * size / pace**2)
    flat = rng.random() < 0.3
    kinds = ("revolute", "revolute", "prismatic", "planar") if flat else KINDS[:7]
    for k in range(int(rng.integers(1, 3) if small else rng.integers(2, 6))):
        light = 10.0 ** rng.uniform(-3, 3) if odd and rng.random() < 0.3 else 1.0
        points = rng.normal(size=(6, 3)) * 0.3 * size
        points -= points.mean(axis=0)
        inertia = sum(np.dot(x, x) * np.eye(3) - np.outer(x, x) for x in points) * mass * light / 6
        plan.bodies.append(Body(f"b{k}", mass * light * rng.uniform(0.5, 2), rng.normal(size=3) * 0.3 * size, inertia))
        kind = kinds[rng.integers(len(kinds))]
        if k == 0 and rng.random() < 0.3:
            kind = "planar" if flat else "free"
        parent = k - 1 if rng.random() < 0.7 else int(rng.integers(-1, k))
        plan.joints.append(_link(rng, f"j{k}", kind, parent, k, size, flat))
        if rng.random() < 0.1 and kind not in ("free", "fixed"):
            angular = kind not in ("prismatic", "planar", "cylindrical")
            plan.joints[-1].armature = 0.1 * mass * (size**2 if angular else 0.0)
    rigid = Rigid(plan)
    plan.q, plan.v = rigid.random_position(rng), rng.normal(size=rigid.nv) * rigid.reach / pace
    plan.tau = rng.normal(size=rigid.nv) * mass * size * rigid.reach / pace**2
    poses = rigid.poses(plan.q)
    for k in range(1 if small else int(rng.integers(1, 3))):
        _close(plan, rng, rigid, poses, f"l{k}", flat)
    for k in range(int(rng.integers(0, 3))):
        _constrain(plan, rng, rigid, poses, f"c{k}", OTHERS[rng.integers(len(OTHERS))], flat)
    if rng.random() < 0.4:  # the same again
        again = plan.loops[0]
        kind = "spherical" if again.kind in ("revolute", "spherical", "universal", "fixed") else again.kind
        plan.loops.append(Link("again", kind, again.parent, again.child, again.at_parent, again.at_child, again.axis,
                               again.second, again.pitch))  # fmt: skip
    return plan


def _link(rng, name, kind, parent, child, size, flat) -> Link:
    if flat:
        axis = np.array([0.0, 0.0, 1.0]) if kind != "prismatic" else np.array([1.0, 0.0, 0.0])
        turns = [Pose(rotation_vector(np.array([0, 0, x])), np.zeros(3)) for x in rng.uniform(-2, 2, 2)]
        places = [Pose(t.R, np.append(rng.normal(size=2) * 0.5 * size, 0.0)) for t in turns]
        return Link(name, kind, parent, child, *places, axis)
    R = rotation_vector(rng.normal(size=3) * 2)
    axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else R[:, 0]
    second = R[:, 1] if np.array_equal(axis, R[:, 0]) else np.roll(axis, 1)
    places = [Pose(rotation_vector(rng.normal(size=3)), rng.normal(size=3) * 0.4 * size) for _ in range(2)]
    pitch = size * rng.uniform(0.1, 0.4) * (1 if rng.random() < 0.5 else -1)
    return Link(name, kind, parent, child, *places, axis, second, pitch)


def _close(plan, rng, rigid, poses, name, flat) -> None:
    """A loop between two bodies, or a body and the ground, where they stand."""
    b = int(rng.integers(len(plan.bodies)))
    a = int(rng.choice([k for k in range(-1, len(plan.bodies)) if k != b]))
    kind = ("revolute", "prismatic", "planar")[rng.integers(3)] if flat else CUTS[rng.integers(len(CUTS))]
    link = _link(rng, name, kind, a, b, plan.size, flat)
    at_b = (poses[b] @ link.at_child) if b >= 0 else link.at_child
    link.at_parent = poses[a].inverse() @ at_b if a >= 0 else at_b
    plan.loops.append(link)


def _constrain(plan, rng, rigid, poses, name, kind, flat) -> None:
    """Another constraint that holds where the tree stands, at t = 0."""
    size, pace = plan.size, plan.pace
    b = int(rng.integers(len(plan.bodies)))
    a = int(rng.choice([k for k in range(-1, len(plan.bodies)) if k != b]))
    depth = np.array([1.0, 1.0, 0.0]) if flat else np.ones(3)
    turn = (lambda: np.eye(3)) if flat else (lambda: rotation_vector(rng.normal(size=3)))
    on_b = Pose(turn(), rng.normal(size=3) * 0.4 * size * depth)
    world = poses[b] @ on_b
    plain = [k for k, joint in enumerate(plan.joints) if joint.kind not in ("spherical", "free", "fixed")]
    if kind == "rod":
        on_a = Pose(turn(), rng.normal(size=3) * 0.4 * size * depth)
        far = (poses[a] @ on_a if a >= 0 else on_a).p - world.p
        plan.others.append(Other(name, kind, (a, on_a), (b, on_b), (float(np.linalg.norm(far)),)))
    elif kind in ("line", "plane", "sphere", "disc"):
        R = turn()
        origin = world.p
        if kind in ("sphere", "disc"):
            if flat:
                return
            radius, n, d = 0.3 * size, R[:, 2], world.R[:, 1]
            reach = -n if kind == "sphere" else -(n - (n @ d) * d) / np.linalg.norm(n - (n @ d) * d)
            origin = world.p + radius * reach
            frame = Pose(R, np.asarray(origin, dtype=float))
            plan.others.append(Other(name, kind, (-1, frame), (b, on_b), (radius,)))
            return
        frame = Pose(R, np.asarray(origin, dtype=float))
        axis = rng.normal(size=3) * depth
        axis /= np.linalg.norm(axis)
        frame = poses[a].inverse() @ frame if a >= 0 else frame
        plan.others.append(Other(name, kind, (a, frame), (b, on_b), (axis,)))
    elif kind == "point driver":
        move = rng.normal(size=3) * size / pace * depth * 0.1
        plan.others.append(Other(name, kind, None, (b, on_b), (np.asarray(world.p, dtype=float), move, 1 / pace)))
    elif kind == "skate":
        plan.others.append(Other(name, kind, None, (b, on_b), (0 if flat else int(rng.integers(3)),)))
    elif plain and kind in ("coupling", "driver"):
        chosen = [rigid.first_velocity(k) for k in plain]
        if kind == "driver":
            k = int(rng.choice(chosen))
            rate = rng.normal() * rigid.reach[k] / pace * 0.2
            plan.others.append(Other(name, kind, values=(k, rigid.plain(plan.q, k), rate, 1 / pace)))
        elif len(chosen) > 1:
            pair = rng.choice(chosen, 2, replace=False).tolist()
            c = (rng.uniform(0.5, 2, 2) / rigid.reach[pair]).tolist()
            rest = float(sum(x * rigid.plain(plan.q, k) for x, k in zip(c, pair)))
            plan.others.append(Other(name, kind, values=(pair, c, rest)))


# --- with the library -----------------------------------------------------------------------------------------------


def build(plan: Plan) -> da.System:
    """The same mechanism, described to the library."""
    m = da.Mechanism(f"plan {plan.seed}", gravity=tuple(plan.gravity))
    bodies = [m.add_body(b.name, mass=b.mass, com=tuple(b.com), inertia=b.inertia) for b in plan.bodies]

    def frame(k: int, pose: Pose) -> Any:
        return (m.ground if k < 0 else bodies[k]).at(*map(float, pose.p), rotation=np.asarray(pose.R, dtype=float))

    for j in plan.joints:
        m.add_joint(j.name, _joint(j), frame(j.parent, j.at_parent), frame(j.child, j.at_child), armature=j.armature)
    for j in plan.loops:
        m.close_loop(j.name, _joint(j), frame(j.parent, j.at_parent), frame(j.child, j.at_child))
    names = Rigid(plan).velocity_names
    for c in plan.others:
        a, b = (None if x is None else frame(*x) for x in (c.a, c.b))
        if c.kind == "rod":
            m.add_rod(c.name, a, b, length=c.values[0])
        elif c.kind == "line":
            m.add_point_on_line(c.name, b, a, c.values[0])
        elif c.kind == "plane":
            m.add_point_in_plane(c.name, b, a, c.values[0])
        elif c.kind in ("sphere", "disc"):
            m.add_rolling(c.name, b, radius=c.values[0], on=a, axis="y" if c.kind == "disc" else None)
        elif c.kind == "skate":
            m.add_skate(c.name, b, sideways="xyz"[c.values[0]])
        elif c.kind == "point driver":
            p, move, w = c.values
            m.add_point_driver(c.name, b, lambda t, p=p, s=move, w=w: [x + y * ca.sin(w * t) / w for x, y in zip(p, s)])
        elif c.kind == "driver":
            k, at, rate, w = c.values
            m.add_driver(c.name, names[k], lambda t, at=at, s=rate, w=w: at + s * ca.sin(w * t) / w + s * w * t**2)
        else:
            pair, coefficients, rest = c.values
            m.add_coupling(c.name, {names[k]: x for k, x in zip(pair, coefficients)}, rest)
    return m.compile(backend="casadi")


def _joint(j: Link) -> Any:
    axis = tuple(map(float, j.axis))
    if j.kind in ("spherical", "free", "fixed"):
        return {"spherical": da.Spherical, "free": da.Free, "fixed": da.Fixed}[j.kind]()
    if j.kind == "screw":
        return da.Screw(axis, pitch=j.pitch)
    if j.kind == "universal":
        return da.Universal(axis, tuple(map(float, j.second)))
    return {"revolute": da.Revolute, "prismatic": da.Prismatic, "cylindrical": da.Cylindrical, "planar": da.Planar}[
        j.kind
    ](axis)
