"""A mechanism built a second time in Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import dalembert as da
from random_mechanisms import GRAVITY


class Peer:
    """The same tree in Pinocchio, and the maps between the two orders of coordinates."""

    def __init__(self, m: da.Mechanism, system: da.System):
        self.system, self.model = system, pin.Model()
        self.model.gravity = pin.Motion(np.array(GRAVITY), np.zeros(3))
        self.place = {"ground": (0, pin.SE3.Identity())}
        self.joint_of: dict[str, int] = {}
        for name, a in _depth_first(system):
            parent, T_parent = self.place[a.parent.body.name]
            placement, child = T_parent * se3(a.parent.T), se3(a.child.T).inverse()
            if isinstance(a.joint, da.Fixed):
                joint, here = parent, placement * child
            else:
                joint = self.model.addJoint(parent, _pinocchio_joint(a.joint), placement, name)
                here = child
                self.joint_of[name] = joint
            body = a.child.body
            I = pin.Inertia(float(body.mass), body.com.astype(float), body.inertia.astype(float))
            if joint != 0:  # what is fixed to the ground does not move and is not counted
                self.model.appendBodyToJoint(joint, I, here)
            self.place[body.name] = joint, here
        probe = m.frames["probe"]
        joint, T = self.place[probe.body.name]
        self.frame = self.model.addFrame(pin.Frame("probe", joint, 0, T * se3(probe.T), pin.FrameType.OP_FRAME))
        for name, joint in self.joint_of.items():
            start, n = self.model.idx_vs[joint], self.model.nvs[joint]
            ours = system.layout.joints[name].armature.astype(float)
            self.model.armature[start : start + n] = ours
        self.data = self.model.createData()
        self.v_order = self._v_order()

    def _v_order(self) -> np.ndarray:
        """v_pin = v_ours[order]: Pinocchio puts the linear part of a free joint first."""
        order = np.zeros(self.system.nv, dtype=int)
        for name, joint in self.joint_of.items():
            ours = np.arange(self.system.nv)[self.system.layout.v_slice(name)]
            if len(ours) == 6:
                ours = np.roll(ours, 3)
            start = self.model.idx_vs[joint]
            order[start : start + len(ours)] = ours
        return order

    def q(self, q: np.ndarray) -> np.ndarray:
        out = np.zeros(self.model.nq)
        for name, joint in self.joint_of.items():
            x = q[self.system.layout.q_slice(name)]
            if len(x) == 4:
                x = x[[1, 2, 3, 0]]
            elif len(x) == 7:
                x = x[[4, 5, 6, 1, 2, 3, 0]]
            start = self.model.idx_qs[joint]
            out[start : start + len(x)] = x
        return out


def _depth_first(system: da.System):
    """Pinocchio's crba is right only for trees numbered so."""

    def below(body):
        for name, a in system.layout.joints.items():
            if a.parent.body.name == body:
                yield name, a
                yield from below(a.child.body.name)

    return below("ground")


def se3(T) -> pin.SE3:
    return pin.SE3(T.R.astype(float), T.p.astype(float))


def _pinocchio_joint(joint):
    if isinstance(joint, da.Free):
        return pin.JointModelFreeFlyer()
    if isinstance(joint, da.Spherical):
        return pin.JointModelSpherical()
    if isinstance(joint, da.Universal):
        return pin.JointModelUniversal(*joint.axes)
    if isinstance(joint, da.Revolute):
        return pin.JointModelRevoluteUnaligned(joint.axis)
    if isinstance(joint, da.Prismatic):
        return pin.JointModelPrismaticUnaligned(joint.axis)
    if isinstance(joint, da.Screw):
        return pin.JointModelHelicalUnaligned(joint.axis, joint.pitch)
    x, y, z = joint.orientation.T.astype(float)
    composite = pin.JointModelComposite()
    if isinstance(joint, da.Cylindrical):
        parts = [pin.JointModelRevoluteUnaligned(z), pin.JointModelPrismaticUnaligned(z)]
    else:
        parts = [
            pin.JointModelPrismaticUnaligned(x),
            pin.JointModelPrismaticUnaligned(y),
            pin.JointModelRevoluteUnaligned(z),
        ]
    for part in parts:
        composite.addJoint(part)
    return composite
