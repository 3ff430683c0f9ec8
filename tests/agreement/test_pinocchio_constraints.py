"""Constrained accelerations agree with Pinocchio's constraint dynamics: welds and ball joints between moving bodies."""

import numpy as np
import pinocchio as pin
import pytest

import dalembert as da
from dalembert.spatial import Transform
from pinocchio_peer import Peer, se3
from random_mechanisms import random_state, random_tree

JOINTS = (da.Revolute, da.Prismatic, da.Screw, da.Spherical)


@pytest.mark.parametrize("joint", [da.Fixed(), da.Spherical()], ids=["weld", "ball"])
@pytest.mark.parametrize("seed", range(6))
def test_a_loop_accelerates_as_in_pinocchio(seed, joint):
    """The tree is posed at random and closed where it stands; both start from the same admissible velocity."""
    m = random_tree(600 + seed, 12, JOINTS, floating=seed % 2 == 0, serial=0.8)
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    a, b = m.bodies["body11"].at(0.1, 0.2, -0.1), m.bodies["body2"]
    Ta, Tb = (tree.pose(x, f) for f in (a, b))
    pose = Transform(Tb[:3, :3], Tb[:3, 3]).inverse() @ Transform(Ta[:3, :3], Ta[:3, 3])
    c = b.at(*pose.p, rotation=pose.R)
    m.close_loop("loop", joint, a, c)
    system = m.compile(backend="casadi")
    y = system.project(system.state(x.q, x.v))
    ours = system.acceleration(y)
    assert ours.success

    peer = Peer(m, system)
    places = []
    for frame in (a, c):
        index, T = peer.place[frame.body.name]
        places += [index, T * se3(frame.T)]
    kind = pin.ContactType.CONTACT_6D if isinstance(joint, da.Fixed) else pin.ContactType.CONTACT_3D
    model = pin.RigidConstraintModel(kind, peer.model, *places, pin.LOCAL)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(model)
    datas.append(model.createData())
    pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    o = peer.v_order
    zero = np.zeros(system.nv)
    settings = pin.ProximalSettings(1e-14, 1e-10, 20)
    theirs = pin.constraintDynamics(peer.model, peer.data, peer.q(y.q), y.v[o], zero, models, datas, settings)
    scale = max(1.0, np.abs(theirs).max())
    np.testing.assert_allclose(ours.vdot[o], theirs, atol=1e-7 * scale * max(1.0, ours.condition))
