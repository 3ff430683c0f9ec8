"""A model described once, built in dalembert, in Pinocchio and as MuJoCo's XML.

Joints are listed depth first, which Pinocchio's algorithms need and MuJoCo's nesting implies, so that the coordinates
of all three have one order; only a free joint writes its seven numbers differently (`Model.to_pinocchio_q`, `_v`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import dalembert as da

WORLD = -1
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def turned(axis: str, angle: float) -> np.ndarray:
    """Rotation matrix; multiples of a quarter turn are exact."""
    R = da.rotation(axis, angle)
    return np.where(np.abs(R - np.round(R)) < 1e-12, np.round(R), R)


@dataclass(frozen=True)
class Link:
    """A body and the joint it hangs on; the joint's frame is the body's."""

    name: str
    parent: int  # index of the parent link, or WORLD
    axis: str  # "x", "y", "z" of a revolute joint, or "free"
    at: tuple[float, float, float]  # of the joint in the parent
    mass: float
    com: tuple[float, float, float]
    inertia: np.ndarray  # (3, 3) about the centre of mass
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))  # of the joint in the parent


@dataclass(frozen=True)
class Load:
    """A body fixed to a link."""

    name: str
    link: int
    at: tuple[float, float, float]
    mass: float
    inertia: np.ndarray


@dataclass(frozen=True)
class Closure:
    """A loop closed by a revolute joint ("x", "y", "z") or rigidly ("fixed")."""

    name: str
    kind: str
    a: int
    at_a: tuple[float, float, float]
    b: int
    at_b: tuple[float, float, float]
    rotation_a: np.ndarray = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True)
class Model:
    """A mechanism and the state it is benchmarked in."""

    name: str
    links: tuple[Link, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    loads: tuple[Load, ...] = ()
    closures: tuple[Closure, ...] = ()
    q: np.ndarray | None = None  # a guess that satisfies the constraints nearly; random if None
    v: np.ndarray | None = None

    @property
    def floating(self) -> bool:
        """Whether the first joint is free."""
        return self.links[0].axis == "free"

    # --- dalembert ----------------------------------------------------------------------------------------------

    def mechanism(self) -> da.Mechanism:
        """The description in dalembert."""
        m = da.Mechanism(self.name, gravity=self.gravity)
        bodies = []
        for link in self.links:
            bodies.append(m.add_body(link.name, mass=link.mass, com=link.com, inertia=link.inertia))
            parent = m.ground if link.parent == WORLD else bodies[link.parent]
            joint = da.Free() if link.axis == "free" else da.Revolute(link.axis)
            m.add_joint(f"j_{link.name}", joint, parent.at(*link.at, rotation=link.rotation), bodies[-1])
        for load in self.loads:
            body = m.add_body(load.name, mass=load.mass, inertia=load.inertia)
            m.add_joint(f"j_{load.name}", da.Fixed(), bodies[load.link].at(*load.at), body)
        for c in self.closures:
            joint = da.Fixed() if c.kind == "fixed" else da.Revolute(c.kind)
            a, b = (m.ground if i == WORLD else bodies[i] for i in (c.a, c.b))
            m.close_loop(c.name, joint, a.at(*c.at_a, rotation=c.rotation_a), b.at(*c.at_b))
        return m

    # --- Pinocchio ----------------------------------------------------------------------------------------------

    def pinocchio(self):
        """The same as a pinocchio.Model."""
        import pinocchio as pin

        kinds = {
            "x": pin.JointModelRX,
            "y": pin.JointModelRY,
            "z": pin.JointModelRZ,
            "free": pin.JointModelFreeFlyer,
        }
        model = pin.Model()
        model.gravity = pin.Motion(np.array(self.gravity), np.zeros(3))
        for k, link in enumerate(self.links):
            place = pin.SE3(link.rotation, np.array(link.at))
            joint = model.addJoint(link.parent + 1, kinds[link.axis](), place, link.name)
            assert joint == k + 1
            body = pin.Inertia(link.mass, np.array(link.com), np.asarray(link.inertia))
            model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        for load in self.loads:
            body = pin.Inertia(load.mass, np.zeros(3), np.asarray(load.inertia))
            model.appendBodyToJoint(load.link + 1, body, pin.SE3(np.eye(3), np.array(load.at)))
        return model

    def pinocchio_closures(self, model):
        """Its rigid constraints: a planar loop is closed by a point (CONTACT_3D), a rigid grip by CONTACT_6D."""
        import pinocchio as pin

        out = pin.StdVec_RigidConstraintModel()
        for c in self.closures:
            kind = pin.ContactType.CONTACT_6D if c.kind == "fixed" else pin.ContactType.CONTACT_3D
            a, b = pin.SE3(c.rotation_a, np.array(c.at_a)), pin.SE3(np.eye(3), np.array(c.at_b))
            out.append(pin.RigidConstraintModel(kind, model, c.a + 1, a, c.b + 1, b, pin.ReferenceFrame.LOCAL))
        return out

    def to_pinocchio_q(self, q: np.ndarray) -> np.ndarray:
        """Ours (w, x, y, z, position) as Pinocchio's (position, x, y, z, w)."""
        return np.concatenate([q[4:7], q[1:4], q[:1], q[7:]]) if self.floating else q.copy()

    def to_pinocchio_v(self, v: np.ndarray) -> np.ndarray:
        """Ours (ω; v) as Pinocchio's (v; ω); its own inverse."""
        return np.concatenate([v[3:6], v[:3], v[6:]]) if self.floating else v.copy()

    # --- MuJoCo -------------------------------------------------------------------------------------------------

    def mujoco_xml(self, step: float = 1e-3, warm: bool = False) -> str:
        """The same for MuJoCo, as stiff as it goes; without warm starts where one state is evaluated repeatedly."""
        lines = [
            f'<mujoco model="{self.name}">',
            '<compiler angle="radian" balanceinertia="false"/>',
            f'<option gravity="{_text(self.gravity)}" timestep="{step!r}" integrator="RK4">',
            f'<flag contact="disable" warmstart="{"enable" if warm else "disable"}"/></option>',
            f'<default><equality solref="{2 * step!r} 1" solimp="0.9999 0.9999 0.001"/></default>',
            "<worldbody>",
            *self._sites(WORLD),
            *self._bodies(WORLD),
            "</worldbody>",
            "<equality>",
        ]
        for c in self.closures:
            kind = "weld" if c.kind == "fixed" else "connect"
            lines.append(f'<{kind} site1="{c.name}_a" site2="{c.name}_b"/>')
        return "\n".join([*lines, "</equality>", "</mujoco>"])

    def _bodies(self, parent: int) -> list[str]:
        lines = []
        for k, link in enumerate(self.links):
            if link.parent != parent:
                continue
            J = np.asarray(link.inertia)
            full = _text((J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]))
            place = f'pos="{_text(link.at)}" quat="{_text(_quaternion(link.rotation))}"'
            joint = "<freejoint/>" if link.axis == "free" else f'<joint type="hinge" axis="{_text(AXES[link.axis])}"/>'
            lines.append(f'<body name="{link.name}" {place}>{joint}')
            lines.append(f'<inertial pos="{_text(link.com)}" mass="{link.mass!r}" fullinertia="{full}"/>')
            for load in self.loads:
                if load.link == k:
                    diagonal = _text(np.diag(load.inertia))
                    lines.append(
                        f'<body name="{load.name}" pos="{_text(load.at)}"><inertial pos="0 0 0" mass="{load.mass!r}" '
                        f'diaginertia="{diagonal}"/></body>'
                    )
            lines += [*self._sites(k), *self._bodies(k), "</body>"]
        return lines

    def _sites(self, link: int) -> list[str]:
        """The two ends of each closure."""
        ends = [(f"{c.name}_a", c.a, c.at_a, c.rotation_a) for c in self.closures]
        ends += [(f"{c.name}_b", c.b, c.at_b, np.eye(3)) for c in self.closures]
        return [
            f'<site name="{name}" pos="{_text(at)}" quat="{_text(_quaternion(R))}"/>'
            for name, on, at, R in ends
            if on == link
        ]


def _text(x) -> str:
    return " ".join(repr(float(value)) for value in x)


def _quaternion(R: np.ndarray) -> np.ndarray:
    """(w, x, y, z)."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(R).as_quat(), 1)
