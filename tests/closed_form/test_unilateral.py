"""Gaps of one's own: cams, flat and roller followers, gears with play, against formulas and contacts of spheres."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da

A, MASS, RATE, PRELOAD, G = 0.02, 0.4, 300.0, 5.0, 9.81  # m, kg, N/m, N, m/s²
#: where the least force on the cam, at the top of the lift, is zero: m a ω² = 2 k a + F + m g
LIFTS_OFF = np.sqrt((2 * RATE * A + PRELOAD + MASS * G) / (MASS * A))


def cam(gap=None):
    """A follower with a preloaded spring on a cam that turns at the speed ω, with the lift a (1 − cos θ)."""
    m = da.Mechanism("cam", gravity=(0, 0, -G))
    speed = m.add_parameter("ω", 10.0)
    m.add_joint("θ", da.Revolute("y"), m.ground, m.add_body("shaft", mass=1.0, inertia=(1, 1, 1)))
    m.add_joint("lift", da.Prismatic("z"), m.ground, m.add_body("follower", mass=MASS), stiffness=RATE,
                rest=-PRELOAD / RATE)  # fmt: skip
    m.add_driver("motor", "θ", lambda t: speed * t)
    m.add_unilateral("face", gap or (lambda s: s["lift"] - A * (1 - ca.cos(s["θ"]))))
    return m


@pytest.fixture(scope="module")
def system():
    return cam().compile()


def turn(system, speed, turns=1.0, **how):
    return da.simulate(system, system.assemble({"θ": 0.0}, p={"ω": speed}), turns * 2 * np.pi / speed, **how)


def test_a_follower_stays_on_its_cam_up_to_the_speed_of_its_spring(system):
    """N = m s̈ + k s + F + m g, all the way round; driven so fast it still just bears."""
    speed = 0.999 * LIFTS_OFF
    run = turn(system, speed)
    assert run.success
    assert not run.switches
    theta = speed * run.t
    s, accelerated = A * (1 - np.cos(theta)), A * speed**2 * np.cos(theta)
    force = MASS * (accelerated + G) + RATE * s + PRELOAD
    np.testing.assert_allclose(run.multiplier("face"), force, atol=1e-7 * force.max())
    np.testing.assert_allclose(run["lift"], s, atol=1e-9)


def test_beyond_it_the_follower_leaves_where_the_force_is_zero(system):
    speed = 1.05 * LIFTS_OFF
    first = turn(system, speed).switches[0]
    cosine = -(RATE * A + PRELOAD + MASS * G) / (MASS * A * speed**2 - RATE * A)
    assert first.what == "face left"
    assert speed * first.t == pytest.approx(np.arccos(cosine), abs=1e-7)


def test_time_stepping_comes_to_the_same_as_its_steps_shrink(system):
    speed = 1.2 * LIFTS_OFF
    exact = turn(system, speed, 1.5)
    errors = []
    for step in (4e-5, 2e-5, 1e-5):
        run = turn(system, speed, 1.5, method="moreau", step=step)
        errors.append(abs(run["lift"][-1] - exact["lift"][-1]))
    assert errors[2] < 1e-5
    assert errors[2] < 0.6 * errors[0]


@pytest.mark.parametrize("follower", ["flat", "roller"])
def test_lift_laws_of_an_eccentric_are_those_of_spheres_that_touch(follower):
    """A disc of radius R about a point e off the shaft: a flat face lifts by e sin θ + R, a roller of radius r by
    e sin θ + √((R + r)² − e² cos² θ). A sphere on a plane, and on a sphere, know nothing of these laws."""
    R, r, e = 0.05, 0.02, 0.015

    def machine(by_law):
        m = da.Mechanism("eccentric", gravity=(0, 0, -G))
        shaft = m.add_body("shaft", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
        tappet = m.add_body("follower", mass=MASS)
        m.add_joint("θ", da.Revolute("-y"), m.ground, shaft)
        m.add_joint("lift", da.Prismatic("z"), m.ground, tappet, stiffness=RATE)
        if by_law and follower == "flat":
            m.add_unilateral("cam", lambda s: s["lift"] - e * ca.sin(s["θ"]) - R)
        elif by_law:
            across = lambda s: e * ca.cos(s["θ"])  # noqa: E731
            m.add_unilateral("cam", lambda s: s["lift"] - e * ca.sin(s["θ"]) - ca.sqrt((R + r) ** 2 - across(s) ** 2))
        elif follower == "flat":
            m.add_contact("cam", shaft.at(e, 0, 0), radius=R, on=tappet.at(0, 0, 0, rotation=da.rotation("x", np.pi)))
        else:
            m.add_contact("cam", tappet, radius=r, on=shaft.at(e, 0, 0), on_radius=R)
        return m.compile()

    lift = R + (r if follower == "roller" else 0.0)
    start = {"θ": 0.0, "lift": lift if follower == "flat" else np.sqrt(lift**2 - e**2)}
    one, two = (
        da.simulate(s, s.state(start, v={"θ": 6.0, "lift": 6.0 * e}), 1.2, t_eval=np.linspace(0, 1.2, 13))
        for s in (machine(True), machine(False))
    )
    assert one.success
    assert np.ptp(one["lift"]) > 0.01
    np.testing.assert_allclose(one.q, two.q, atol=1e-7)
    np.testing.assert_allclose(one.v, two.v, atol=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_gear_with_play_strikes_its_flanks_as_two_rotors_do(restitution):
    """θ₁ − 2 θ₂ is free within the play; each impact turns the closing speed round, times e, and keeps the momentum."""
    J, ratio, play, omega = (0.02, 0.05), 2.0, 0.04, 3.0
    m = da.Mechanism("gears", gravity=(0, 0, 0))
    for k in (0, 1):
        m.add_joint(f"θ{k}", da.Revolute("z"), m.ground, m.add_body(f"wheel {k}", mass=1.0, inertia=(1, 1, J[k])))
    for flank, side in (("front", 1), ("back", -1)):
        m.add_unilateral(
            flank,
            lambda s, side=side: play / 2 - side * (s["θ0"] - ratio * s["θ1"]),
            restitution=restitution,
            angular=True,
        )
    run = da.simulate(m.compile(), m.compile().state(v={"θ0": omega}), 0.2)
    hits = [s for s in run.switches if s.kind == "hit"]
    assert hits[0].t == pytest.approx(play / 2 / omega, rel=1e-9)
    v, t, front = np.array([omega, 0.0]), play / 2 / omega, True
    mass = 1 / (1 / J[0] + ratio**2 / J[1])  # of what closes
    for hit in hits[:4]:
        assert hit.of == ("front" if front else "back")
        closing = v[0] - ratio * v[1]
        impulse = mass * (1 + restitution) * closing
        v = v + impulse * np.array([-1 / J[0], ratio / J[1]])
        assert hit.t == pytest.approx(t, rel=1e-8)
        np.testing.assert_allclose(hit.v_after, v, rtol=1e-8, atol=1e-12)
        if restitution:
            t, front = t + play / abs(v[0] - ratio * v[1]), not front
    assert len(hits) >= (4 if restitution else 1)
    assert run.rate("θ0")[-1] * J[0] + run.rate("θ1")[-1] * J[1] / ratio == pytest.approx(J[0] * omega, rel=1e-8)


def test_a_gap_follows_names_and_files(tmp_path, system):
    """Renamed, merged, saved and read, it is the same gap."""
    pytest.importorskip("yaml")
    speed = 1.2 * LIFTS_OFF
    expected = turn(system, speed).q[-1]
    m = cam()
    m.save(tmp_path / "cam.yaml")
    again = da.read(tmp_path / "cam.yaml").compile()
    np.testing.assert_array_equal(turn(again, speed).q[-1], expected)
    m.rename("lift", "tappet", kind="joint")
    whole = da.Mechanism("engine", gravity=(0, 0, -G))
    whole.merge(m, prefix="inlet ", parameters={"ω": speed})
    engine = whole.compile()
    run = da.simulate(engine, engine.assemble({"inlet θ": 0.0}), 2 * np.pi / speed)
    assert run.switches[0].what == "inlet face left"
    np.testing.assert_allclose(run.q[-1], expected, rtol=1e-12)


def test_what_is_no_gap_is_refused():
    for gap, why in (
        (lambda s: s.rate("lift"), "the gap of unilateral constraint 'face' depends on velocities"),
        (lambda s: [s["lift"], 1.0], "the gap of unilateral constraint 'face' has 2 values"),
        (lambda s: s["lft"], "lft"),
    ):
        with pytest.raises(da.DescriptionError, match=why):
            cam(gap).compile()
    with pytest.raises(da.DescriptionError, match="the gap of unilateral constraint 'face' is 3"):
        cam(3)
