"""Bodies and joints: several joints on a body, anchors away from its origin, welded bodies, sites, shapes.

MuJoCo turns (or shifts) a body by its joints one after another, each about an anchor a and along an axis n that are
fixed in the body, by q − q₀ where q₀ is the joint's `ref`. With X the place of the body in its parent before that,

    X Π_k [ Trans(a_k) exp(n_k (q_k − q₀_k)) Trans(−a_k) ].

So the parent frame of joint k is at a_k of the body as the joints before left it, turned by −q₀ about n, and
coordinates are those of the file. Joints before the last carry bodies without mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.formats.mjcf.reading import Reading, dampers, rotation, rotors, unused
from dalembert.formats.mjcf.touching import touching
from dalembert.mechanism.body import Frame
from dalembert.mechanism.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from dalembert.spatial import Transform
from dalembert.symbols import snap

FREE, BALL, SLIDE, HINGE = range(4)


@dataclass(slots=True, eq=False)
class Mass:
    """Masses that move as one: (mass, centre, inertia about it) of each, in the frame of the body."""

    parts: list[tuple[float, np.ndarray, np.ndarray]]

    def central(self) -> tuple[Any, Any, Any]:
        """Mass, centre and inertia about it of all together."""
        m = sum(part[0] for part in self.parts)
        c = sum((m_k * c_k for m_k, c_k, _ in self.parts), np.zeros(3)) / (m or 1.0)
        J = np.zeros((3, 3))
        for m_k, c_k, J_k in self.parts:
            d = c_k - c
            J = J + J_k + m_k * (d @ d * np.eye(3) - np.outer(d, d))
        return m, c, J


def read_bodies(r: Reading) -> None:
    """Add bodies, joints, frames of bodies and sites, and shapes."""
    model = r.model
    r.m.add_frame("world", r.m.ground.frame)
    r.places.append(r.m.ground.frame)
    roots = _roots(r)
    masses = _masses(r, roots)
    for b in range(1, model.nbody):
        parent = r.places[model.body_parentid[b]]
        place = parent.at(model.body_pos[b].tolist(), rotation=rotation(model.body_quat[b]))
        name = r.label("body", b, r.m.bodies, r.m.frames)
        if model.body_jntnum[b]:
            _moving(r, b, name, place, masses[b])
        elif roots[b] == b:  # kept apart
            body = r.m.add_body(name, *masses[b].central(), physical=False)
            r.m.add_joint(unused(name.replace(".", "_"), r.m.joints), Fixed(), place, body)
            r.places.append(body.frame)
        else:
            r.places.append(r.m.add_frame(name, place))
        if model.body_mocapid[b] >= 0:
            r.note("body", b, "is moved by the user in MuJoCo (mocap); here it stays where it is")
    _sites(r)
    _shapes(r)


def _roots(r: Reading) -> list[int]:
    """For each MuJoCo body, the one whose dalembert body it is part of; 0 is the ground."""
    model, roots = r.model, [0]
    for b in range(1, model.nbody):
        apart = model.body_jntnum[b] > 0 or not r.merge_fixed
        roots.append(b if apart else roots[model.body_parentid[b]])
    return roots


def _masses(r: Reading, roots: list[int]) -> list[Mass]:
    """The mass of each body with all that is welded to it, in its own frame."""
    model = r.model
    masses = [Mass([]) for _ in roots]
    inside = [Transform(np.eye(3), np.zeros(3))]  # place of each body in its root
    for b in range(1, model.nbody):
        T = Transform(np.eye(3), np.zeros(3))
        if roots[b] != b:
            T = inside[model.body_parentid[b]] @ Transform(rotation(model.body_quat[b]), model.body_pos[b])
        inside.append(T)
        R = T.R @ rotation(model.body_iquat[b])
        J = R @ np.diag(model.body_inertia[b]) @ R.T
        masses[roots[b]].parts.append((float(model.body_mass[b]), T.R @ model.body_ipos[b] + T.p, (J + J.T) / 2))
    return masses


def _moving(r: Reading, b: int, name: str, place: Frame, mass: Mass) -> None:
    """A body with its joints; all but the last carry bodies without mass."""
    model = r.model
    first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
    names: list[str] = []
    for k in range(first, first + count):
        default = name if count == 1 else f"{name}_{k - first + 1}"
        names.append(r.label("joint", k, r.m.joints, names, r.m.constraints, default=default, dots=False))
    armature = _armature(r, first)
    if model.jnt_type[first] == FREE and armature > 0.0:  # ½ a (|v|² + |ω|²): a mass at the origin, without weight
        mass.parts.append((armature, np.zeros(3), armature * np.eye(3)))
    before = place
    for k, joint in zip(range(first, first + count), names):
        last = k == first + count - 1
        if last:
            body = r.m.add_body(name, *mass.central(), physical=False)
        else:
            body = r.m.add_body(unused(f"{name}_{joint}", r.m.bodies, r.m.frames))
        _joint(r, k, joint, before, body.frame)
        before = body.frame
        r.joints.append(joint)
    r.places.append(before)
    if model.jnt_type[first] == FREE and armature > 0.0:
        r.gravity_off.append((before, armature))


def _joint(r: Reading, k: int, name: str, before: Frame, after: Frame) -> None:
    """One joint between the body as the joints before left it and the body behind it."""
    model, kind = r.model, int(r.model.jnt_type[k])
    anchor, axis = model.jnt_pos[k].tolist(), snap(model.jnt_axis[k].astype(object), scale=1.0).astype(float)
    d, q = int(model.jnt_dofadr[k]), int(model.jnt_qposadr[k])
    how: dict[str, Any] = {"damping": float(model.dof_damping[d] + dampers(model, k)[0])}
    stiffness = float(model.jnt_stiffness[k])
    if kind == FREE:
        r.m.add_joint(name, Free(), r.m.ground, after, **how)
        return
    how["armature"] = _armature(r, k)
    if kind == BALL:
        rest = model.qpos_spring[q : q + 4].tolist()
        how |= {"stiffness": stiffness, "rest": rest} if stiffness else {}
        r.m.add_joint(name, Spherical(), before.at(anchor), after.at(anchor), **how)
        return
    ref = float(model.qpos0[q])
    if stiffness:
        how |= {"stiffness": stiffness, "rest": float(model.qpos_spring[q])}
    if model.dof_frictionloss[d] > 0.0:
        how["friction"] = float(model.dof_frictionloss[d])
    if model.jnt_limited[k]:
        how["limits"] = tuple(model.jnt_range[k].tolist())
    joint: Joint
    if kind == SLIDE:
        joint = Prismatic(axis.tolist())
        start = before.at((model.jnt_pos[k] - ref * axis).tolist())
    else:
        joint = Revolute(axis.tolist())
        start = before.at(anchor, rotation=_about(axis, -ref)) if ref else before.at(anchor)
    r.m.add_joint(name, joint, start, after.at(anchor), **how)


def _armature(r: Reading, k: int) -> float:
    """Inertia along joint k: its own, of its actuators' rotors, and of tendons that are a multiple of it."""
    model = r.model
    total = float(model.dof_armature[model.jnt_dofadr[k]]) + rotors(model, k)
    for t in range(model.ntendon):
        w = int(model.tendon_adr[t])
        if model.tendon_num[t] == 1 and model.wrap_type[w] == 1 and model.wrap_objid[w] == k:
            total += (model.tendon_armature[t] + rotors(model, t, on_tendon=True)) * float(model.wrap_prm[w]) ** 2
    return float(total)


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about an axis: Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def _sites(r: Reading) -> None:
    model = r.model
    for k in range(model.nsite):
        body = r.places[model.site_bodyid[k]]
        name = r.label("site", k, r.m.bodies, r.m.frames)
        r.m.add_frame(name, body.at(model.site_pos[k].tolist(), rotation=rotation(model.site_quat[k])))
        r.sites.append(name)


#: MuJoCo's number of a kind of geom: (kind here, how its size is counted)
KINDS: dict[int, tuple[str, Any]] = {
    0: ("plane", lambda s: (2 * s[0], 2 * s[1]) if s[0] > 0 and s[1] > 0 else ()),
    2: ("sphere", lambda s: (s[0],)),
    3: ("capsule", lambda s: (s[0], 2 * s[1])),
    4: ("ellipsoid", lambda s: (s[0], s[1], s[2])),
    5: ("cylinder", lambda s: (s[0], 2 * s[1])),
    6: ("box", lambda s: (2 * s[0], 2 * s[1], 2 * s[2])),
}


def _shapes(r: Reading) -> None:
    """Geoms as shapes of bodies; a mesh by the name of its file."""
    model = r.model
    for g in range(model.ngeom):
        kind, size = KINDS.get(int(model.geom_type[g]), ("", None))
        file, scale = r.of.meshes.get(g, (None, (1.0, 1.0, 1.0)))
        if file is None and not kind:
            r.note("geom", g, "its mesh is written in the file and is not kept as a shape")
            continue
        frame = r.places[model.geom_bodyid[g]].at(model.geom_pos[g].tolist(), rotation=rotation(model.geom_quat[g]))
        T = Transform(frame.T.R.astype(float), frame.T.p.astype(float))
        mesh = int(model.geom_dataid[g])
        if not kind and mesh >= 0:  # MuJoCo moved the mesh to its centre and principal axes
            T = T @ Transform(rotation(model.mesh_quat[mesh]), model.mesh_pos[mesh]).inverse()
        material = int(model.geom_matid[g])
        colour = model.mat_rgba[material] if material >= 0 else model.geom_rgba[g]
        shape = frame.body.add_shape(
            "mesh" if file else kind,
            () if file else size(model.geom_size[g].tolist()),
            at=T.p,
            rotation=T.R,
            colour=np.clip(colour.astype(float), 0.0, 1.0).tolist(),
            file=file,
            scale=scale,
            name=r.of.name("geom", g),
        )
        if (law := touching(r, g)) is not None:
            frame.body.add_collider(shape, **law)
