"""Tendons: springs, dampers and inertia along a sum of coordinates or a line through points and around geoms."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formats.mjcf.laws import Polynomial, Scaled, TendonForce
from dalembert.formats.mjcf.paths import FramePath, JointPath, SpatialPath, TendonBranch
from dalembert.formats.mjcf.reading import Reading, dampers, rotation, rotors, unused
from dalembert.formats.mjcf.wrapping import Wrap
from dalembert.mechanism.joints import Prismatic
from dalembert.mechanism.traced import UserState

JOINT, PULLEY, SITE, SPHERE, CYLINDER = range(1, 6)


class Tendons:
    """The paths of the tendons of a model, by their numbers; None where a tendon is not modelled."""

    def __init__(self, r: Reading):
        self.r = r
        self.paths: list[JointPath | SpatialPath | None] = [self._path(k) for k in range(r.model.ntendon)]

    def _path(self, k: int) -> JointPath | SpatialPath | None:
        r, model = self.r, self.r.model
        first, count = int(model.tendon_adr[k]), int(model.tendon_num[k])
        wraps = range(first, first + count)
        if model.wrap_type[first] == JOINT:
            return JointPath(tuple((r.joints[model.wrap_objid[w]], float(model.wrap_prm[w])) for w in wraps))
        branches: list[TendonBranch] = []
        points: list[str | Wrap] = []
        divisor = 1.0
        for w in [*wraps, None]:
            if w is None or model.wrap_type[w] == PULLEY:
                if len(points) > 1:
                    branches.append(TendonBranch(divisor, tuple(points)))
                points = []
                divisor = 1.0 if w is None else float(model.wrap_prm[w])
            elif model.wrap_type[w] == SITE:
                points.append(r.sites[model.wrap_objid[w]])
            else:
                wrap = self._wrap(k, w)
                if wrap is None:
                    return None
                points.append(wrap)
        return SpatialPath(tuple(branches))

    def _wrap(self, k: int, w: int) -> Wrap | None:
        r, model = self.r, self.r.model
        geom, site = int(model.wrap_objid[w]), round(float(model.wrap_prm[w]))
        radius = float(model.geom_size[geom, 0])
        side = r.sites[site] if site >= 0 else None
        frame = r.places[model.geom_bodyid[geom]].at(
            model.geom_pos[geom].tolist(), rotation=rotation(model.geom_quat[geom])
        )
        if side is not None:
            other = r.m.frames[side]
            same = other.body is frame.body
            inside = np.linalg.norm((other.T.p - frame.T.p).astype(float)) < radius
            if inside or not same:
                r.note("tendon", k, "it wraps on the inside of a geom, which is not modelled: the tendon is left out")
                return None
        name = self._geom_frame(geom, frame)
        return Wrap(name, radius, int(model.wrap_type[w]) == CYLINDER, side)

    def _geom_frame(self, geom: int, frame: Any) -> str:
        """A named frame at a geom, made once."""
        r = self.r
        name = f"{r.of.name('geom', geom) or f'geom{geom}'}_wrap"
        if name not in r.m.frames:
            r.m.add_frame(unused(name, r.m.frames, r.m.bodies), frame)
        return name


def read_tendons(r: Reading) -> Tendons:
    """Add what tendons exert by themselves; gives their paths, for equalities and actuators."""
    model = r.model
    tendons = Tendons(r)
    for k, path in enumerate(tendons.paths):
        name = r.of.name("tendon", k) or f"tendon{k}"
        _notes(r, k)
        if path is None:
            continue
        stiffness = (float(model.tendon_stiffness[k]), *_poly(model, "tendon_stiffnesspoly", k))
        damping = np.array([float(model.tendon_damping[k]), *_poly(model, "tendon_dampingpoly", k)])
        armature = float(model.tendon_armature[k]) + rotors(model, k, on_tendon=True)
        damping += dampers(model, k, on_tendon=True)
        lower, upper = (float(x) for x in model.tendon_lengthspring[k])
        if any(stiffness) or any(damping):
            exert(r, name, path, TendonForce(path, stiffness, tuple(damping.tolist()), lower, upper))
        if armature > 0.0 and not (isinstance(path, JointPath) and len(path.terms) == 1):  # else the joint has it
            _slider(r, name, path, armature)
    return tendons


def exert(r: Reading, name: str, path: Any, law: Any) -> None:
    """Let a law act along a path: on joints, along cables, or on frames."""
    forces = r.m.forces
    if isinstance(path, JointPath):
        for joint, c in path.terms:
            own = unused(name if len(path.terms) == 1 else f"{name}_{joint}", forces)
            r.m.add_joint_force(own, joint, Scaled(law, c))
        return
    if isinstance(path, SpatialPath) and all(branch.straight for branch in path.branches):
        for n, branch in enumerate(path.branches):
            own = unused(name if len(path.branches) == 1 else f"{name}_{n + 1}", forces)
            if isinstance(law, TendonForce) and _plain_spring(r, own, path, law):
                return
            r.m.add_cable(own, list(branch.points), tension=Scaled(law, -1.0 / branch.divisor))
        return
    for frame in path.frames:
        own = unused(f"{name}_{frame}", forces)
        r.m.add_wrench(own, frame, force=Share(path, law, frame, 0), moment=Share(path, law, frame, 1))


def _plain_spring(r: Reading, name: str, path: SpatialPath, law: TendonForce) -> bool:
    """A spring between two points, or an elastic cable, has an energy: use those where they say the same."""
    if len(path.branches) != 1 or path.branches[0].divisor != 1.0 or any(law.stiffness[1:]) or any(law.damping[1:]):
        return False
    points = list(path.branches[0].points)
    k, c = law.stiffness[0], law.damping[0]
    if len(points) == 2 and law.lower == law.upper:
        r.m.add_spring(name, *points, stiffness=k, damping=c, rest_length=law.upper)
    elif law.lower == 0.0 and c == 0.0:
        r.m.add_cable(name, points, stiffness=k, rest_length=law.upper)
    else:
        return False
    return True


class Share:
    """The force (0) or moment (1) that a law along a path puts on one frame."""

    def __init__(self, path: FramePath, law: Any, frame: str, which: int):
        self.path, self.law, self.frame, self.which = path, law, frame, which

    def __call__(self, s: UserState) -> Any:
        return self.path.shares(s)[self.frame][self.which] * self.law(s)


def _slider(r: Reading, name: str, path: Any, armature: float) -> None:
    """Inertia along a tendon, ½ a L̇²: a mass on a slide that is tied to the length."""
    g = np.array(r.m.gravity, dtype=float)
    axis = np.eye(3)[int(np.argmin(np.abs(g)))]
    axis = axis - g * (axis @ g) / (g @ g or 1.0)  # where gravity does not pull
    own = unused(f"{name}_armature".replace(".", "_"), r.m.joints, r.m.bodies, r.m.frames, r.m.constraints)
    body = r.m.add_body(own, mass=armature, inertia=(armature,) * 3)  # it does not turn
    r.m.add_joint(own, Prismatic((axis / np.linalg.norm(axis)).tolist()), r.m.ground, body)
    tie = unused(f"{own}_tie", r.m.constraints, r.m.joints)
    r.m.add_constraint(tie, holonomic=Polynomial(JointPath(((own, 1.0),)), path, 0.0, 0.0, (0.0, 1.0)))


def _poly(model: Any, name: str, k: int) -> tuple[float, float]:
    values = getattr(model, name, None)
    return (0.0, 0.0) if values is None else (float(values[k, 0]), float(values[k, 1]))


def _notes(r: Reading, k: int) -> None:
    model = r.model
    if model.tendon_frictionloss[k] > 0.0:
        r.note("tendon", k, f"dry friction (frictionloss {model.tendon_frictionloss[k]:g}) is not modelled")
    if model.tendon_limited[k]:
        r.note("tendon", k, "its limits are not kept")
    if getattr(model, "tendon_springyield", np.zeros(model.ntendon))[k] > 0.0:
        r.note("tendon", k, "plastic springs (springyield) are not modelled: it stays elastic")
    if model.tendon_actfrclimited[k]:
        r.note("tendon", k, "the limit of its actuators' force (actuatorfrcrange) is not kept")
