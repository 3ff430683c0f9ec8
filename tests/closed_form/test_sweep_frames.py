"""Frames led and held by sweeps and by assembly, against closed forms."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def poses(count):
    phase, out = np.linspace(0, 2 * np.pi, count), np.tile(np.eye(4), (count, 1, 1))
    out[:, :3, 3] = np.column_stack([0.3 * np.cos(phase), 0.3 * np.sin(phase), 2 + 0.1 * np.sin(2 * phase)])
    for k, a in enumerate(phase):
        out[k, :3, :3] = da.rotation("x", 0.2 * np.sin(a)) @ da.rotation("z", 0.3 * np.cos(a))
    return out


@pytest.fixture(scope="module")
def stewart():
    return zoo.stewart().compile()


def test_a_stewart_platform_follows_poses_and_legs(stewart):
    wanted = poses(9)
    led = stewart.sweep(frames={"platform": wanted})
    assert led.success
    exact = [zoo.stewart_start(T[:3, 3], T[:3, :3])[0] for T in wanted]
    for k in range(1, 7):
        np.testing.assert_allclose(led[f"P{k}"], [q[f"P{k}"] for q in exact], atol=1e-9)
        np.testing.assert_allclose(led[f"U{k}"], [q[f"U{k}"] for q in exact], atol=1e-9)
    np.testing.assert_allclose(
        led.driving_force("platform")[:, 2], led.driving_force("platform")[0, 2], rtol=0.01
    )  # the weight, nearly
    again = stewart.sweep({f"P{k}": led[f"P{k}"] for k in range(1, 7)}, led.state(0))  # forward kinematics
    np.testing.assert_allclose(again.position("platform"), wanted[:, :3, 3], atol=1e-9)


def test_a_platform_that_moves_at_a_twist_has_the_legs_rates(stewart):
    """Ṗ_k = unit vector of the leg · velocity of its upper end; the frame's forces give its motion."""
    T = poses(9)[2]
    V, a = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]), np.array([0.1, 0.2, -0.4, 0.3, 0.1, 0.2])
    led = stewart.sweep(frames={"platform": [T]}, speed={"platform": V}, acceleration={"platform": a})
    base, top = zoo.StewartGeometry().points()
    h = 1e-4

    def lengths(t):
        w = V[:3] * t + 0.5 * a[:3] * t * t  # to second order; ω × of it is of third
        R = da.rotation(w / np.linalg.norm(w), np.linalg.norm(w)) if t else np.eye(3)
        p = T[:3, 3] + V[3:] * t + 0.5 * a[3:] * t * t
        return np.linalg.norm(top @ T[:3, :3].T @ R.T + p - base, axis=1)

    rates = (lengths(h) - lengths(-h)) / (2 * h)
    found = np.array([led.rate(f"P{k}")[0] for k in range(1, 7)])
    np.testing.assert_allclose(found, rates, atol=1e-7)
    second = (lengths(h) - 2 * lengths(0.0) + lengths(-h)) / h**2
    np.testing.assert_allclose([led.joint_acceleration(f"P{k}")[0] for k in range(1, 7)], second, atol=1e-5)
    # power: what the frame is driven with is what the energy gains
    x = led.state(0)
    tau = stewart.jacobian(x, "platform", axes="world").T @ np.concatenate(
        [led.driving_force("platform")[0][3:], led.driving_force("platform")[0][:3]]
    )
    np.testing.assert_allclose(stewart.acceleration(x, tau).vdot, led.vdot[0], atol=1e-8)


def arm(limits=(None, None, None)):
    m = da.Mechanism("arm")
    before = m.ground.at()
    for k, limit in enumerate(limits):
        link = m.add_body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
        m.add_joint(f"J{k}", da.Revolute("z"), before, link, limits=limit)
        before = link.at(1.0)
    m.add_frame("tool", before)
    return m.compile()


def test_assembly_reaches_points_axes_and_poses(stewart):
    system = arm()
    x = system.assemble(frames={"tool": (1.2, 0.9, 0.0)}, guess={"J0": 0.1, "J1": 0.5, "J2": 0.5})
    np.testing.assert_allclose(x.position("tool"), [1.2, 0.9, 0], atol=1e-10)
    x = system.assemble(frames={"tool": {"position": (1.2, 0.9, 0.0), "x": (0.0, 3.0, 0.0)}}, guess={"J1": 0.5})
    np.testing.assert_allclose(x.rotation("tool")[:, 0], [0, 1, 0], atol=1e-10)
    found = system.assemble(frames={"tool": {"position": (1.2, 0.9, 0.0), "x": (0.0, 1.0, 0.0)}}, branches=4)
    assert len(found) == 2  # elbow up and down
    wrist = np.array([1.2, -0.1])  # a two-link arm to the wrist: cos J1 = (r² − 2)/2
    assert np.cos([y["J1"] for y in found]) == pytest.approx([(wrist @ wrist - 2) / 2] * 2, abs=1e-9)
    T = poses(9)[3]
    y = stewart.assemble(frames={"platform": T})
    exact = zoo.stewart_start(T[:3, 3], T[:3, :3])[0]
    for k in range(1, 7):
        assert y[f"P{k}"] == pytest.approx(exact[f"P{k}"], abs=1e-10)


def test_limits_choose_the_solution_inside_them():
    free = arm((None, (0.1, 3.0), (-0.2, 0.2)))
    x = free.assemble(frames={"tool": (1.2, 0.9, 0.0)}, guess={"J1": -0.5, "J2": 1.0}, limits=True)
    np.testing.assert_allclose(x.position("tool"), [1.2, 0.9, 0], atol=1e-10)
    assert 0.1 <= x["J1"] <= 3.0
    assert -0.2 - 1e-9 <= x["J2"] <= 0.2 + 1e-9
    tight = arm((None, (0.0, 0.1), (0.0, 0.1)))
    with pytest.raises(da.AssemblyError, match="only outside the limits of its joints: J"):
        tight.assemble(frames={"tool": (0.5, 0.0, 0.0)}, limits=True)
    with pytest.raises(da.AssemblyError, match=r"limits=False"):
        tight.assemble(frames={"tool": (0.5, 0.0, 0.0)}, guess={"J1": 1.0})
    loose = tight.assemble(frames={"tool": (0.5, 0.0, 0.0)}, guess={"J1": 1.0}, limits=False)
    assert loose.position("tool")[0] == pytest.approx(0.5)
    assert tight.assemble({"J1": 1.0})["J1"] == 1.0  # coordinates that are held, without frames, have no limits


def test_the_edge_of_the_workspace_is_a_dead_point_of_a_point_that_is_led():
    system = arm((None, None))
    out = system.sweep(frames={"tool": [(1.2, 0.0, 0), (1.8, 0.0, 0.0), (2.4, 0, 0)]}, state={"J0": 0.5, "J1": -1.0})
    assert not out.success
    assert len(out) == 2
    assert out.points[0].kind == "dead point"
    assert out.points[0].state.position("tool")[0] == pytest.approx(2.0, abs=1e-9)


def two_links(upper=1.0, lower=0.6):
    m = da.Mechanism("2R", gravity=(0, -9.81, 0))
    a = m.add_body("upper", mass=1.0, com=(upper / 2, 0, 0), inertia=da.rod_inertia(1.0, upper))
    b = m.add_body("lower", mass=1.0, com=(lower / 2, 0, 0), inertia=da.rod_inertia(1.0, lower))
    m.add_joint("shoulder", da.Revolute("z"), m.ground, a)
    m.add_joint("elbow", da.Revolute("z"), a.at(upper), b)
    m.add_frame("tool", b.at((lower, 0.0)))
    return m.compile()


def test_a_height_alone_can_be_held_and_swept():
    """y = sin s + 0.6 sin(s + e): the elbow by arcsine, its rate ẏ / (0.6 cos(s + e)), the force by virtual work."""
    arm, s, y = two_links(), 0.3, np.linspace(0.3, 0.7, 9)
    held = arm.assemble({"shoulder": s}, guess={"elbow": 0.2}, frames={"tool": (None, 0.5, None)})
    assert held["elbow"] == pytest.approx(np.arcsin((0.5 - np.sin(s)) / 0.6) - s, abs=1e-11)
    for frames in (
        {"tool": [(None, one, None) for one in y]},
        {"tool": {"position": [(None, one, None) for one in y]}},
    ):
        rise = arm.sweep(frames=frames, state=held, held={"shoulder": s}, speed={"tool": (0, 0.25, 0)})
        angle = np.arcsin((y - np.sin(s)) / 0.6)
        np.testing.assert_allclose(rise["elbow"], angle - s, atol=1e-11)
        np.testing.assert_allclose(rise.rate("elbow"), 0.25 / (0.6 * np.cos(angle)), rtol=1e-10)
        np.testing.assert_allclose(rise.t, (y - y[0]) / 0.25, atol=1e-12)
    still = arm.sweep(frames=frames, state=held, held={"shoulder": s})
    np.testing.assert_allclose(
        still.driving_force("tool")[:, 0], 0.5 * 9.81, rtol=1e-10
    )  # half the weight at twice the lever
    np.testing.assert_allclose(still.rotation("lower")[:, 1, 0], np.sin(s + still["elbow"]), atol=1e-12)
    with pytest.raises(da.ArgumentError, match="None in x, y and z"):
        arm.assemble(frames={"tool": (None, None, None)})


def test_a_path_at_constant_velocity_has_its_times():
    arm = two_links()
    x = arm.assemble(frames={"tool": (1.2, 0.1, 0.0)}, guess={"elbow": 0.5})
    line = [(1.2, y, 0.0) for y in (0.1, 0.2, 0.5)]
    path = arm.sweep(frames={"tool": line}, state=x, speed={"tool": (0, 0.5, 0)})
    np.testing.assert_allclose(path.t, [0.0, 0.2, 0.8], atol=1e-12)
    forces = da.control.actuator_forces_along(arm, path)
    np.testing.assert_allclose(forces.t, path.t)
    aside = arm.sweep(frames={"tool": line}, state=x, speed={"tool": (0.1, 0.5, 0)})  # leads elsewhere: no times
    assert not aside.t.any()
    both = arm.sweep({"shoulder": [0.0, 0.1, 0.3], "elbow": [0.5, 0.4, 0.2]}, speed={"shoulder": 2.0, "elbow": -2.0})
    np.testing.assert_allclose(both.t, [0.0, 0.05, 0.15], atol=1e-12)
