"""Poses, Jacobians, M, h, ABA and energy agree with Pinocchio on random trees of all joint types."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import dalembert as da
from random_mechanisms import GRAVITY, random_state, random_tree

TOLERANCE = 1e-10


class Peer:
    """The same tree in Pinocchio, and the maps between the two orders of coordinates."""

    def __init__(self, m: da.Mechanism, system: da.System):
        self.system, self.model = system, pin.Model()
        self.model.gravity = pin.Motion(np.array(GRAVITY), np.zeros(3))
        self.place = {"ground": (0, pin.SE3.Identity())}
        self.joint_of: dict[str, int] = {}
        for name, a in _depth_first(system):
            parent, T_parent = self.place[a.parent.body.name]
            placement, child = T_parent * _se3(a.parent.T), _se3(a.child.T).inverse()
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
        self.frame = self.model.addFrame(pin.Frame("probe", joint, 0, T * _se3(probe.T), pin.FrameType.OP_FRAME))
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


def _se3(T) -> pin.SE3:
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


def close(a, b) -> None:
    scale = max(np.abs(b).max(), 1e-3)
    np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE * scale)


CASES = [(seed, n) for seed, n in enumerate([1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 40])]


@pytest.fixture(scope="module", params=CASES, ids=lambda c: f"{c[1]} bodies, seed {c[0]}")
def pair(request):
    seed, n = request.param
    m = random_tree(seed, n, floating=seed % 3 == 0)
    system = m.compile(backend="native" if n <= 5 else "casadi")
    peer = Peer(m, system)
    return system, peer, random_state(system, seed), seed


def test_poses_twists_and_jacobians_agree(pair):
    system, peer, x, _ = pair
    model, data, q, v = peer.model, peer.data, peer.q(x.q), x.v[peer.v_order]
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    close(system.pose(x, "probe"), data.oMf[peer.frame].homogeneous)
    for axes, reference in (("body", pin.LOCAL), ("world", pin.LOCAL_WORLD_ALIGNED)):
        J = np.roll(pin.getFrameJacobian(model, data, peer.frame, reference), 3, axis=0)
        close(system.jacobian(x, "probe", axes=axes)[:, peer.v_order], J)
        V = pin.getFrameVelocity(model, data, peer.frame, reference)
        close(system.twist(x, "probe", axes=axes), np.concatenate([V.angular, V.linear]))
    A = pin.getFrameAcceleration(model, data, peer.frame, pin.LOCAL)
    close(system.jacobian_rate(x, "probe"), np.concatenate([A.angular, A.linear]))
    A = pin.getFrameClassicalAcceleration(model, data, peer.frame, pin.LOCAL_WORLD_ALIGNED)
    close(system.jacobian_rate(x, "probe", axes="world"), np.concatenate([A.angular, A.linear]))


def test_mass_matrix_and_bias_agree(pair):
    system, peer, x, _ = pair
    q, v, o = peer.q(x.q), x.v[peer.v_order], peer.v_order
    M = pin.crba(peer.model, peer.data, q)
    M = np.triu(M) + np.triu(M, 1).T
    close(system.mass_matrix(x)[np.ix_(o, o)], M)
    close(system.bias(x)[o], pin.nonLinearEffects(peer.model, peer.data, q, v))
    close(system.gravity_vector(x)[o], pin.computeGeneralizedGravity(peer.model, peer.data, q))


def test_inverse_and_forward_dynamics_agree(pair):
    system, peer, x, seed = pair
    rng = np.random.default_rng([seed, 11])
    a = rng.normal(size=system.nv)
    q, v, o = peer.q(x.q), x.v[peer.v_order], peer.v_order
    tau = pin.rnea(peer.model, peer.data, q, v, a[o])
    close(system.inverse_dynamics(x, a)[o], tau)
    ours = system.forward_dynamics(x, system.inverse_dynamics(x, a))
    theirs = pin.aba(peer.model, peer.data, q, v, tau)
    condition = np.linalg.cond(system.mass_matrix(x))
    np.testing.assert_allclose(ours[o], theirs, rtol=0, atol=max(TOLERANCE, 1e-15 * condition) * np.abs(theirs).max())


def test_energy_momentum_and_center_of_mass_agree(pair):
    system, peer, x, _ = pair
    q, v = peer.q(x.q), x.v[peer.v_order]
    rotors = 0.5 * peer.model.armature @ v**2
    bare = peer.model.copy()
    bare.armature[:] = 0.0  # Pinocchio counts the energy of some rotors and not of others
    close(system.kinetic_energy(x), pin.computeKineticEnergy(bare, peer.data, q, v) + rotors)
    close(system.potential_energy(x), pin.computePotentialEnergy(peer.model, peer.data, q))
    L = pin.computeCentroidalMomentum(peer.model, peer.data, q, v)
    close(system.momentum(x, about="center"), np.concatenate([L.angular, L.linear]))
    close(system.center_of_mass(x), pin.centerOfMass(peer.model, peer.data, q))
