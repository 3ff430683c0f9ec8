"""URDF files of the collection, against Pinocchio, MuJoCo and Drake."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from corpus import corpus, corpus_files, expected
from dalembert.errors import ModelFileError
from dalembert.linearization import plan
from urdf_texts import peer_position, peer_velocities, symmetric, texts

LARGE = "grbda_urdf_plus/variable_four_bar_urdf/four_bar_branch_6_10.urdf"  # 186 velocities: minutes with its loops
REFUSED = {
    "drake/multibody/parsing/test/urdf_parser_test/joint_parsing_test.urdf": "166: <drake:joint> 'curvilinear_periodic'"
    " has type 'curvilinear' .*not modelled.*; needed: one of revolute",
}


@pytest.mark.parametrize("name", corpus_files(".urdf"))
def test_files_of_the_collection_are_what_other_programs_say(name):
    """Velocities, masses, M, gravity; of loops the rank, the mobility, the closed position and the acceleration."""
    if name in REFUSED:
        with pytest.raises(ModelFileError, match=REFUSED[name]):
            da.read_urdf(corpus(name))
        return
    m = da.read_urdf(corpus(name))
    peer = expected("pinocchio").get(name, {})
    if "nv" not in peer or not m.joints:  # Pinocchio refuses it, or no link of it has mass
        assert m.joints or all(body.mass == 0.0 for body in m.bodies.values())
        return
    system = m.compile("casadi")
    assert system.nv == peer["nv"]
    assert {j["name"].replace(".", "_") for j in peer["joints"]} == set(m.joints)
    assert sum(b.mass for b in m.bodies.values()) == pytest.approx(peer["mass_moving"], rel=1e-12)
    at = peer_velocities(system, peer["joints"], system.nv)
    start = system.state(peer_position(system, peer["joints"], peer["q_neutral"]))
    M = system.mass_matrix(start)[np.ix_(at, at)]
    if peer["M_lower_rows"] is not None:
        np.testing.assert_allclose(M, symmetric(peer["M_lower_rows"], system.nv), rtol=0, atol=1e-12 * np.abs(M).max())
    weight = np.sqrt(np.diag(M) * np.diag(M).max()).max() * 9.81  # a torque of the size of this mechanism
    np.testing.assert_allclose(system.gravity_vector(start)[at], peer["gravity_torque"], rtol=0, atol=1e-12 * weight)
    mujoco = expected("mujoco_urdf").get(name, {})
    if "eig_M" in mujoco and "disney_robot" not in name:  # it knows no YAML file, and takes ball joints as revolute
        values = np.linalg.eigvalsh(M)
        np.testing.assert_allclose(values, mujoco["eig_M"], rtol=1e-8, atol=1e-12 * values.max())
    closed = peer.get("closed")
    if closed is None or closed["residual"] > 1e-9 or name == LARGE:  # the kangaroos do not close anywhere
        return
    x = system.state(peer_position(system, peer["joints"], closed["q"]))
    assert np.abs(system.residuals(x)).max() < 1e-12
    found = system.acceleration(x)
    assert (found.rank, system.nv - found.rank) == (closed["rank"], closed["mobility"])
    theirs = np.array(closed["acceleration_at_rest"])
    scale = max(1.0, np.abs(theirs).max())
    if "robot_delta" in name:  # theirs is off by 7e-7
        theirs = exact_acceleration(system, x, found.rank)[at]
    np.testing.assert_allclose(found.vdot[at], theirs, rtol=0, atol=1e-9 * scale)


def exact_acceleration(system, x, rank):
    """v̇ of M v̇ + h = Aᵀλ, A v̇ = 0 with independent rows of A, in 60 digits."""
    mp = pytest.importorskip("mpmath")
    from scipy.linalg import qr

    M, h, A = system.mass_matrix(x), system.bias(x), system.constraint_matrix(x)
    A = A[qr(A.T, pivoting=True)[2][:rank]]
    with mp.workdps(60):
        K = mp.matrix(np.block([[M, A.T], [A, np.zeros((rank, rank))]]).tolist())
        v = mp.lu_solve(K, mp.matrix([*(-h), *np.zeros(rank)]))
        return np.array([float(v[i]) for i in range(system.nv)])


def test_pinocchios_acceleration_of_the_delta_robot_is_off():
    """In 60 digits, with M and A to the last bit: ours is right to 1e-10, the stored one to 1e-6 only."""
    peer = expected("pinocchio")["gepetto_parallel/robot_delta/robot.urdf"]
    system = da.read_urdf(corpus("gepetto_parallel/robot_delta/robot.urdf")).compile("casadi")
    x = system.state(peer_position(system, peer["joints"], peer["closed"]["q"]))
    exact = exact_acceleration(system, x, 9)
    at = peer_velocities(system, peer["joints"], system.nv)
    assert np.abs(system.acceleration(x).vdot - exact).max() < 1e-10
    assert np.abs(np.array(peer["closed"]["acceleration_at_rest"]) - exact[at]).max() > 1e-7


def test_gepettos_linkage_is_open_as_drawn_and_assembles():
    m = da.read_urdf(corpus("gepetto_parallel/5bar_linkage_iso3d/robot.urdf"))
    assert any("open at the neutral position, by 0.00" in t for t in texts(m))
    assert list(m.inputs) == ["mot2", "mot1"]
    system = m.compile()
    assert np.abs(system.residuals(system.state())).max() > 1e-3
    assert np.abs(system.residuals(system.assemble())).max() < 1e-10


def test_drakes_strandbeest_has_its_36_loops():
    m = da.read_urdf(corpus("drake/examples/multibody/strandbeest/StrandbeestConstraints.expanded.urdf"))
    peer = expected("drake")["drake/examples/multibody/strandbeest/StrandbeestConstraints.expanded.urdf"]
    assert sum(a.joint.nv for a in m.joints.values()) == peer["nv"]
    assert len(m.constraints) == 36
    assert any("names: it is free" in t for t in texts(m))


def test_drakes_joints_are_read_but_for_the_curves():
    text = corpus("drake/multibody/parsing/test/urdf_parser_test/joint_parsing_test.urdf").read_text()
    start, end = text.index('<drake:joint name="curvilinear_periodic"'), text.index("<!-- Normal transmission")
    text = text[:start] + text[end:]
    for n in (13, 14):
        k = text.index(f'<link name="link{n}">')
        text = text[:k] + text[text.index("</link>", k) + 7 :]
    m = da.read_urdf(text)
    kinds = [a.joint.kind for a in m.joints.values()]
    assert kinds == [
        *("revolute", "prismatic", "spherical", "revolute", "universal", "planar", "revolute", "screw"),
        *("revolute",) * 3,
    ]
    assert m.joints["screw_joint"].joint.pitch == pytest.approx(0.04 / (2 * np.pi))
    assert m.joints["planar_joint"].damping.tolist() == [0.1, 0.1, 0.1]
    assert list(m.inputs) == ["revolute_actuator", "revolute_actuator_no_limits"]
    assert any("may exert no effort" in t for t in texts(m))
    first = m.constraints["revolute_joint_with_mimic_forward_reference_mimic"]
    assert first.recipe[1][1] == {"revolute_joint_with_mimic_forward_reference": 1.0, "revolute_joint_to_mimic": -1.23}
    assert first.recipe[1][2] == 4.56


def test_linear_models_of_a_robot_with_light_links_are_exact_by_both_routes(monkeypatch):
    """Inertias from 5e-8 to 0.5 kg m²: rows solved as they are lose nine digits."""
    system = da.read_urdf(corpus("gepetto_parallel/digit_like/robot.urdf")).compile("casadi")
    x = system.state(system.assemble().q)
    found = []
    for largest in (0, 100):
        monkeypatch.setattr(plan, "LARGE", largest)
        found.append(da.linearize(system.with_parameters({}), x).A)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-11 * np.abs(found[1]).max())
