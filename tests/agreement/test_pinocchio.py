"""Poses, Jacobians, M, h, ABA and energy agree with Pinocchio on random trees of all joint types."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from pinocchio_peer import Peer
from random_mechanisms import random_state, random_tree

TOLERANCE = 1e-10


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
