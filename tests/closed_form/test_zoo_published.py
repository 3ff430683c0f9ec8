"""Numbers known of particular machines: loader, Stewart platform, SSRMS, Bennett's linkage, Sarrus' linkage."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError

# --- Z-bar loader: absolute rotations from the drawn position -------------------------------------------------------

LOADER = {
    (0.10, 0.0): {"boom": 0.2278399309, "rocker": 0.3142739034, "link": 0.2944177193, "bucket": -0.075498477},
    (0.30, 0.0): {"boom": 0.7090843938, "rocker": 1.0632903519, "link": 0.7439477907, "bucket": -0.510451357},
    (0.0, -0.10): {"boom": 0.0, "rocker": 0.1927278868, "link": 0.0971409655, "bucket": -0.6459700055},
    (0.0, 0.05): {"boom": 0.0, "rocker": -0.093733409, "link": -0.1739966658, "bucket": 0.5445566481},
}


@pytest.mark.parametrize("extensions", LOADER)
def test_loader_kinematics(extensions):
    system = zoo.loader().compile(backend="casadi")
    x = system.state(*zoo.loader_start(*extensions))
    assert np.abs(system.residuals(x)).max() < 1e-12
    for body, angle in LOADER[extensions].items():
        R = system.pose(x, body)[:3, :3]
        assert np.arctan2(R[2, 0], R[0, 0]) == pytest.approx(angle, abs=2e-9)


@pytest.mark.parametrize(("lift", "G"), [(0.10, [2.49138994, 1.37563192]), (0.30, [2.55065745, 2.61283085])])
def test_loader_lifts_its_bucket_pin(lift, G):
    system = zoo.loader().compile(backend="casadi")
    x = system.state(*zoo.loader_start(lift))
    np.testing.assert_allclose(system.pose(x, "bucket")[[0, 2], 3], G, atol=1e-8)


def test_loader_bucket_linkage_stretches():
    """H-L-G in line at tilt + 0.0532571619 m: with both cylinders held the rest can move, and no pose is beyond."""
    system = zoo.loader().compile(backend="casadi")
    held = [k for k, name in enumerate(system.v_names) if name not in ("lift", "tilt")]

    def smallest(tilt):
        A = system.constraint_matrix(zoo.loader_start(0.0, tilt)[0])[:, held]
        return np.linalg.svd(A)[1][-1]

    assert smallest(0.0532571618) < 1e-4 < 1e-2 < smallest(0.04)
    with pytest.raises(ArgumentError, match="do not meet"):
        zoo.loader_start(0.0, 0.0532571621)


def test_loader_has_eight_bodies_and_three_loops():
    m = zoo.loader()
    assert len(m.bodies) - 1 == 8
    assert len(m.constraints) == 3


# --- Stewart platform -----------------------------------------------------------------------------------------------

HOME = 257.8232059158
POSE = {"position": [0.1, -0.05, 2.1], "rotation": da.rotation("z", 0.1) @ da.rotation("x", 0.2)}
FORCES = [345.5400329953, 197.6326507161, 283.2470078143, 272.3231472201, 279.4450073555, 287.1264149534]
LENGTHS = [2.9866661376, 3.3030797295, 3.3665735849, 3.3709338563, 3.1181001637, 3.2134681555]


def platform_motion():
    """Twist and its rate in the platform's axes: ω and accelerations given in the ground's, centre at rest."""
    R = POSE["rotation"]
    turn = lambda *world: np.concatenate([R.T @ w for w in world])  # noqa: E731
    return turn([0.3, -0.2, 0.1], [0, 0, 0]), turn([0.2, 0.1, -0.4], [0.5, -0.3, 1.0])


def test_stewart_leg_lengths():
    home = zoo.StewartGeometry().legs()[0][2]
    assert home == pytest.approx(3.153800684, abs=1e-9)
    q, _ = zoo.stewart_start(**POSE)
    np.testing.assert_allclose([home + q[f"P{k}"] for k in range(1, 7)], LENGTHS, atol=1e-9)


def test_stewart_leg_forces_without_leg_mass():
    system = zoo.stewart(massless=True).compile(backend="casadi")
    home = system.state(*zoo.stewart_start(massless=True))
    np.testing.assert_allclose(system.inverse_dynamics(home, np.zeros(6), u=[HOME] * 6), 0.0, atol=1e-8)
    v, a = platform_motion()
    x = system.state(zoo.stewart_start(**POSE, massless=True)[0], {"platform": v})
    np.testing.assert_allclose(system.inverse_dynamics(x, a, u=FORCES), 0.0, atol=1e-7)


def test_stewart_leg_forces_with_legs_of_a_milligram():
    """The same through six universal, six prismatic and six ball joints: 24 velocities, 18 rows."""
    system = zoo.stewart(leg_mass=1e-6).compile(backend="casadi")
    v, a = platform_motion()
    x = system.state(zoo.stewart_start(**POSE)[0])
    A = system.constraint_matrix(x)
    x = x.replace(v=np.concatenate([v, np.linalg.lstsq(A[:, 6:], -A[:, :6] @ v, rcond=None)[0]]))
    assert np.abs(system.speed_residuals(x)).max() < 1e-12
    np.testing.assert_allclose(system.acceleration(x, u=FORCES).vdot[:6], a, atol=1e-5)


# --- SSRMS ----------------------------------------------------------------------------------------------------------


def test_ssrms_mass_matrix():
    arm = zoo.ssrms(floating=False, closed=False).compile(backend="casadi")
    known = [20329.93173721, 6120.67135866, 18339.4673743, 33056.6576961, 118.53072645, 158.4885875, 9.336]
    M = arm.mass_matrix(0.1 * np.arange(1, 8))
    np.testing.assert_allclose(np.diag(M), known, rtol=1e-9)


def test_ssrms_mass_and_station():
    system = zoo.ssrms().compile(backend="casadi")
    M = system.mass_matrix(system.state(*zoo.ssrms_start()))
    assert M[3, 3] - 400000.0 == pytest.approx(1505.32, abs=1e-8)
    assert M[3, 3] - 400000.0 - 243.66 == pytest.approx(1261.66, abs=1e-8)
    assert system.row_names == ["interface.x", "interface.y", "interface.z"]


def test_ssrms_floats_freely():
    """No outside force: momentum stays, whatever the joints and the interface do."""
    system = zoo.ssrms().compile(backend="casadi")
    x = system.state(*zoo.ssrms_start())
    torques = {"shoulder roll": 50.0, "elbow pitch": -200.0, "wrist yaw": 10.0}
    a = system.acceleration(x, u=torques)
    h = 1e-3
    L = system.momentum(x.replace(v=h * a.vdot)) / h
    assert np.abs(a.vdot).max() > 1e-4
    np.testing.assert_allclose(L, 0.0, atol=1e-8)


# --- spatial linkages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("degrees", "theta2"), [(30, 2.9726731624), (75, 2.6658826928), (140, 1.7117842826)])
def test_bennett_linkage(degrees, theta2):
    q, v = zoo.bennett_start(np.radians(degrees), 1.0)
    assert q["theta2"] == pytest.approx(theta2, abs=1e-10)
    assert np.tan(q["theta1"] / 2) * np.tan(q["theta2"] / 2) == pytest.approx(3.164960460945, rel=1e-12)
    system = zoo.bennett().compile(backend="casadi")
    x = system.state(q, v)
    assert np.abs(system.residuals(x)).max() < 1e-13
    (theta4,), _ = system.evaluate("cut_joint", x, frame="theta4")
    assert abs(abs(theta4) - q["theta2"]) < 1e-12


def test_bennett_second_length():
    m = zoo.bennett()
    assert m.joints["theta3"].parent.T.p[0] == pytest.approx(1.461902200082, rel=1e-12)


def test_sarrus_platform_moves_straight_up():
    system = zoo.sarrus().compile(backend="casadi")
    for angle in (0.3, 1.1):
        x = system.state(*zoo.sarrus_start(angle, 1.0))
        expected = np.eye(4)
        expected[2, 3] = 2 * np.sin(angle)
        np.testing.assert_allclose(system.pose(x, "platform"), expected, atol=1e-14)
        np.testing.assert_allclose(system.twist(x, "platform"), [0, 0, 0, 0, 0, 2 * np.cos(angle)], atol=1e-14)


# --- car ------------------------------------------------------------------------------------------------------------


def test_a_car_turns_about_the_point_where_its_axles_meet():
    system = zoo.car(wheelbase=2.5).compile(backend="casadi")
    speed, steer = 4.0, 0.3
    x = system.state(*zoo.car_start(speed, steer))
    a = system.acceleration(x, u={"drive": 0.0, "steering": 0.0})
    radius = 2.5 / np.tan(steer)
    assert x.rate("float.angle") == pytest.approx(speed / radius)
    assert a.vdot[1] == pytest.approx(speed**2 / radius, rel=1e-12)
    power = x.v @ (system.mass_matrix(x) @ a.vdot + system.bias(x))
    assert abs(power) < 1e-9
