"""Published inverse and forward dynamics of well-known arms."""

import numpy as np
import pytest

import dalembert as da
from dalembert.spatial import Transform, rotation

UNIT = (1.0, 1.0, 1.0)


def _tree(bodies):
    """(parent, offset, axis, com, inertia) of unit masses, as RBDL's tests and Featherstone's use them."""
    m = da.Mechanism(gravity=(0, -9.81, 0))
    made = []
    for k, (parent, offset, axis, com, inertia) in enumerate(bodies):
        body = m.add_body(f"b{k}", mass=1.0, com=com, inertia=inertia)
        on = m.ground if parent is None else made[parent]
        m.add_joint(f"q{k}", da.Revolute(axis), on.at(*offset), body)
        made.append(body)
    return m.compile(backend="casadi")


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
O = (0, 0, 0)
CASES = {
    "single": ([(None, O, "z", (1.5, 1, 1), (1, 2, 3))], [-2.3544]),
    "double": ([(None, O, "z", X, UNIT), (0, X, "z", X, UNIT)], [-5.886, 3.924]),
    "triple": (
        [(None, O, "z", X, UNIT), (0, X, "z", X, UNIT), (1, X, "z", X, UNIT)],
        [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    ),
    "double in space": ([(None, O, "z", X, UNIT), (0, X, "y", Y, UNIT)], [-3.924, 0]),
    "tree in space": (
        [
            (None, O, "z", X, UNIT),
            (0, X, "y", Y, UNIT),
            (1, Y, "x", Z, UNIT),
            (0, (-0.5, 0, 0), "y", Y, UNIT),
            (3, (0, -0.5, 0), "x", Z, UNIT),
        ],
        [-1.6031906614786, -0.534396887159533, 4.1034046692607, 0.267198443579767, 5.30579766536965],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_small_trees_fall_as_published(name):
    bodies, expected = CASES[name]
    system = _tree(bodies)
    np.testing.assert_allclose(system.forward_dynamics(np.zeros(len(expected))), expected, atol=1e-12)


def test_massless_links_carry_a_heavy_one():
    """Three crossed joints, the first two on massless bodies, q = (1, 0, 0)."""
    m = da.Mechanism(gravity=(0, -9.81, 0))
    a, b = m.add_body("a"), m.add_body("b")
    c = m.add_body("c", mass=1.0, com=(0, 0.5, 0), inertia=UNIT)
    for name, axis, parent, child in (("z", "z", m.ground, a), ("y", "y", a, b), ("x", "x", b, c)):
        m.add_joint(name, da.Revolute(axis), parent, child)
    np.testing.assert_allclose(
        m.compile(backend="casadi").forward_dynamics([1, 0, 0]), [3.301932144386186, 0, 0], atol=1e-12
    )


def puma560() -> da.System:
    """Corke's Puma 560 (standard Denavit-Hartenberg), with motor inertias as armature.

    Link 1 is massless with inertia about its own axis alone; that inertia is put into the armature.
    """
    d, a = [0.672, 0, 0.15005, 0.4318, 0, 0], [0, 0.4318, 0.0203, 0, 0, 0]
    alpha = np.array([1, 0, -1, 1, -1, 0]) * np.pi / 2
    mass = [0, 17.4, 4.8, 0.82, 0.34, 0.09]
    com = [O, (-0.3638, 0.006, 0.2275), (-0.0203, -0.0141, 0.07), (0, 0.019, 0), O, (0, 0, 0.032)]
    inertia = [O, (0.13, 0.524, 0.539), (0.066, 0.086, 0.0125), (0.0018, 0.0013, 0.0018)]
    inertia += [(0.0003, 0.0004, 0.0003), (0.00015, 0.00015, 0.00004)]
    gear = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])
    motor = gear**2 * [0.0002, 0.0002, 0.0002, 3.3e-5, 3.3e-5, 3.3e-5]
    friction = gear**2 * [0.00148, 0.000817, 0.00138, 7.12e-5, 8.26e-5, 3.67e-5]
    coulomb = np.array(
        [(0.395, -0.435), (0.126, -0.071), (0.132, -0.105), (0.0112, -0.0169), (0.00926, -0.0145), (0.00396, -0.0105)]
    )
    m = da.Mechanism("puma560", gravity=(0, 0, -9.81))
    parent = m.ground
    for k in range(6):
        body = m.add_body(f"link{k + 1}", mass=mass[k], com=com[k], inertia=inertia[k], physical=False)
        R = rotation("x", alpha[k])
        joint_in_body = Transform(R, np.array([a[k], 0, d[k]])).inverse()
        rotor = motor[k] + (0.35 if k == 0 else 0.0)
        child = body.at(*joint_in_body.p, rotation=joint_in_body.R)
        m.add_joint(f"q{k + 1}", da.Revolute("z"), parent, child, armature=rotor, damping=friction[k])
        up, down = abs(gear[k]) * coulomb[k]
        name = f"q{k + 1}"
        m.add_joint_force(
            f"coulomb{k + 1}", name, lambda s, n=name, up=up, down=down: -(s.rate(n) > 0) * up - (s.rate(n) < 0) * down
        )
        parent = body
    return m.compile(backend="casadi")


QN = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])


def test_puma_560_matches_the_robotics_toolbox():
    system, one, zero = puma560(), np.ones(6), np.zeros(6)
    x = system.state(QN)
    np.testing.assert_allclose(system.gravity_vector(x), [0, 31.6399, 6.0351, 0, 0.0283, 0], atol=5e-5)
    np.testing.assert_allclose(
        system.inverse_dynamics(x, one), [3.35311, 36.0025, 7.42596, 0.190043, 0.203441, 0.194133], rtol=5e-5
    )
    moving = system.state(QN, one)
    np.testing.assert_allclose(
        system.inverse_dynamics(moving, one), [32.4952, 60.867, 17.7436, 1.45452, 1.29911, 0.713781], rtol=5e-5
    )
    np.testing.assert_allclose(
        system.inverse_dynamics(moving, zero), [29.1421, 56.5044, 16.3528, 1.26448, 1.12392, 0.519648], rtol=5e-5
    )
    np.testing.assert_allclose(
        system.coriolis_vector(system.state(QN, [1, 2, 3, 1, 2, 3])),
        [
            -4.6344217633084615,
            8.7257112245806,
            -1.9268101608881574,
            0.0022557893147211734,
            0.01905243336827949,
            0.0003648528137423985,
        ],
        atol=1e-9,
    )
    fast = system.state(QN, [0.1, 0.2, 0.8, 0.2, 0.5, 1.0])
    np.testing.assert_allclose(
        system.forward_dynamics(fast, [1.0, 3.2, 1.8, 0.1, 0.7, 4.6]),
        [
            -7.410223163685557,
            -9.843224581568437,
            -10.969398445087412,
            -4.431428751376359,
            -0.9881410723986468,
            21.02278194928692,
        ],
        rtol=1e-9,
    )


def test_three_link_arm_matches_modern_robotics():
    """Lynch & Park's example; its first screw (1, 0, 1, 0, 1, 0) has length √2, so that joint is geared by √2."""
    m = da.Mechanism("arm", gravity=(0, 0, -9.8))
    M = [
        Transform(np.eye(3), np.array([0, 0, 0.089159])),
        Transform(np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0.0]]), np.array([0.28, 0.13585, 0])),
        Transform(np.eye(3), np.array([0, -0.1197, 0.395])),
        Transform(np.eye(3), np.array([0, 0, 0.14225])),
    ]
    G = [
        (0.010267, 0.010267, 0.00666, 3.7),
        (0.22689, 0.22689, 0.0151074, 8.393),
        (0.0494433, 0.0494433, 0.004095, 2.275),
    ]
    screws = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 0, -0.089, 0, 0], [0, 1, 0, -0.089, 0, 0.425]])
    parent, home = m.ground, Transform(np.eye(3), np.zeros(3))
    gear = []
    for k in range(3):
        *J, mass = G[k]
        body = m.add_body(f"link{k}", mass=mass, inertia=J)
        before, home = home, home @ M[k]
        w, v = screws[k, :3], screws[k, 3:]
        point = np.cross(w, v) / (w @ w)  # of the axis, in the ground at home
        gear.append(np.linalg.norm(w))
        p, c = before.inverse(), home.inverse()
        on = parent.at(*(p.R @ point + p.p), rotation=p.R)
        child = body.at(*(c.R @ point + c.p), rotation=c.R)
        m.add_joint(f"q{k}", da.Revolute(w), on, child)
        parent = body
    m.add_frame("tip", parent.at(*M[3].p, rotation=M[3].R))
    system = m.compile(backend="casadi")
    gear = np.array(gear)
    q, qd, qdd = gear * 0.1, gear * [0.1, 0.2, 0.3], gear * [2, 1.5, 1]
    x = system.state(q, qd)
    tip = np.ones(6)  # wrench the tip exerts on the outside
    np.testing.assert_allclose(
        gear * system.inverse_dynamics(x, qdd, wrenches={"tip": -tip}),
        [74.69616155, -33.06766016, -3.23057314],
        atol=1e-7,
    )
    np.testing.assert_allclose(
        system.mass_matrix(x) * np.outer(gear, gear),
        [
            [22.543338, -0.307146754, -0.00718426391],
            [-0.307146754, 1.96850717, 0.432157368],
            [-0.00718426391, 0.432157368, 0.191630858],
        ],
        atol=5e-7,
    )
    np.testing.assert_allclose(gear * system.coriolis_vector(x), [0.26453118, -0.05505157, -0.00689132], atol=1e-8)
    np.testing.assert_allclose(gear * system.gravity_vector(x), [28.40331262, -37.64094817, -5.4415892], atol=1e-7)
    vdot = system.forward_dynamics(x, np.array([0.5, 0.6, 0.7]) / gear, wrenches={"tip": -tip})
    np.testing.assert_allclose(vdot / gear, [-0.97392907, 25.58466784, -32.91499212], atol=1e-7)
