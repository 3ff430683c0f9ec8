"""Dry friction in joints and at contacts against closed forms."""

import numpy as np
import pytest

import dalembert as da

G, SLOPE = 9.81, 0.5


def in_joint(mu):
    m = da.Mechanism("block", gravity=(G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0), friction=mu * 2.0 * G * np.cos(SLOPE))
    return m.compile()


def at_contact(mu):
    m = da.Mechanism("block", gravity=(G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    slider = m.add_body("slider")
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("z", da.Prismatic("z"), slider, m.add_body("b", mass=2.0))
    m.add_contact("floor", "b", friction=mu)
    return m.compile()


def by_load(mu):
    m = da.Mechanism("block", gravity=(G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0), friction=da.Friction(load=mu))
    return m.compile()


@pytest.mark.parametrize("make", [in_joint, at_contact, by_load])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_a_block_on_a_slope_sticks_above_tan_and_slides_below(make, mu):
    """Pushed up it stops after v/a, a = g (sin + μ cos); then it holds, or goes down with g (sin − μ cos)."""
    system = make(mu)
    run = da.simulate(system, system.state(v={"x": -1.0}), 2.0)
    up, down = G * (np.sin(SLOPE) + mu * np.cos(SLOPE)), G * (np.sin(SLOPE) - mu * np.cos(SLOPE))
    rest = -0.5 / up
    assert run["x"][-1] == pytest.approx(rest + (0.5 * max(down, 0.0) * (2.0 - 1.0 / up) ** 2), abs=1e-11)
    sticks = [s for s in run.switches if s.kind == "sticks"]
    assert len(sticks) == (mu > np.tan(SLOPE))
    assert all(s.t == pytest.approx(1.0 / up) for s in sticks)
    assert run.success
    assert (np.diff(run.dissipated) >= -1e-14).all()
    assert run.dissipated[-1] > 0.0
    assert abs(run.energy_error).max() < 1e-11


def test_a_block_on_a_belt_sticks_and_slips_in_its_period():
    """Slip lasts (2/ω)(π − atan(a ω/V)), stick 2a/V, with a = (F_s − F_k)/k."""
    k, mass, V, Fs, Fk = 40.0, 1.0, 0.3, 6.0, 4.0
    m = da.Mechanism("belt", gravity=(0, 0, 0))
    belt, block = m.add_body("belt", mass=1.0), m.add_body("block", mass=mass)
    m.add_joint("belt", da.Prismatic("x"), m.ground, belt)
    m.add_joint("slip", da.Prismatic("x"), belt, block, friction=da.Friction(Fk, static=Fs))
    m.add_driver("motor", "belt", lambda t: V * t)
    m.add_potential("spring", lambda s: 0.5 * k * s.position(block)[0] ** 2)
    system = m.compile()
    run = da.simulate(system, system.assemble(v={"slip": 0.0}), 8.0)
    w, a = np.sqrt(k / mass), (Fs - Fk) / k
    slips = np.array([s.t for s in run.switches if s.kind == "slides"])
    sticks = np.array([s.t for s in run.switches if s.kind == "sticks"])
    assert slips[0] == pytest.approx(Fs / k / V, rel=1e-9)
    n = min(len(slips), len(sticks))
    assert n >= 4
    assert np.allclose(sticks[:n] - slips[:n], 2 / w * (np.pi - np.arctan(a * w / V)), rtol=1e-7)
    assert np.allclose(np.diff(slips), 2 / w * (np.pi - np.arctan(a * w / V)) + 2 * a / V, rtol=1e-7)
    assert run.success


def test_a_sticking_joint_bears_what_is_asked_of_it_and_breaks_away_at_its_bound():
    """A motor that pushes with 2t on a crate: it moves from t = F_s/2 on, then with the lower force of sliding."""
    m = da.Mechanism("crate", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("crate", mass=1.0), friction=da.Friction(3.0, static=5.0))
    m.add_motor("push", "x")
    system = m.compile()
    for law in (da.expression(lambda t, s: 2.0 * t), lambda t, s: [2.0 * t]):
        run = da.simulate(system, {"x": 0.0}, 4.0, u=law)
        (off,) = [s for s in run.switches if s.kind == "slides"]
        assert off.t == pytest.approx(2.5, abs=1e-9)
        s = 4.0 - off.t
        assert run["x"][-1] == pytest.approx(s**3 / 3 + s**2, rel=1e-8)  # ẍ = 2 + 2 s
        held = run.t < 2.4
        assert np.allclose(run.multiplier("friction of x")[held], -2.0 * run.t[held], atol=1e-9)


@pytest.mark.parametrize("exponent", [2.0, 1.0, 0.5])
def test_stribecks_law_slides_at_the_force_of_its_speed(exponent):
    """Pulled at constant speed through a stiff driver the friction is F(v); the driver's multiplier tells it."""
    law = da.Friction(2.0, static=3.0, stribeck=0.5, exponent=exponent)
    m = da.Mechanism("slide", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0), friction=law)
    m.add_driver("pull", "x", lambda t: 0.4 * t)
    system = m.compile()
    run = da.simulate(system, system.assemble(), 1.0)
    assert np.allclose(run.multiplier("pull"), 2.0 + np.exp(-((0.4 / 0.5) ** exponent)), rtol=1e-12)


def test_a_ball_slides_until_it_rolls_with_five_sevenths_of_its_speed():
    r, mu, v = 0.1, 0.2, (1.0, 0.5)
    m = da.Mechanism("bowl", gravity=(0, 0, -G))
    m.add_joint("f", da.Free(), m.ground, m.add_body("ball", mass=1.0, inertia=da.sphere_inertia(1.0, r)))
    m.add_contact("lane", "ball", radius=r, friction=mu)
    system = m.compile()
    run = da.simulate(system, system.state({"f": [1, 0, 0, 0, 0, 0, r]}, v={"f.vx": v[0], "f.vy": v[1]}), 1.0)
    speed = np.hypot(*v)
    (rolls,) = [s for s in run.switches if s.kind == "sticks"]
    assert rolls.t == pytest.approx(2 / 7 * speed / (mu * G), rel=1e-7)
    x = run.velocity("ball")[-1]
    assert np.allclose(x[:2], 5 / 7 * np.array(v), rtol=1e-7)
    assert abs(x[2]) < 1e-12
    assert run.success


def test_a_ladder_of_two_contacts_slips_above_its_angle():
    """A ladder against floor and wall (both μ) slips where tan(angle from the floor) < (1 − μ²)/(2μ)."""
    mu, length = 0.4, 2.0
    critical = np.arctan((1 - mu**2) / (2 * mu))
    m = da.Mechanism("ladder", gravity=(0, 0, -G))
    rod = m.add_body("rod", mass=5.0, com=(length / 2, 0, 0), inertia=da.rod_inertia(5.0, length))
    slide, lift = m.add_body("slide"), m.add_body("lift")
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("z", da.Prismatic("z"), slide, lift)
    m.add_joint("turn", da.Revolute((0, -1, 0)), lift, rod)
    m.add_contact("floor", rod, friction=mu)
    wall = m.ground.at(rotation=da.rotation("y", np.pi / 2))  # +z of the wall is +x
    m.add_contact("wall", rod.at(length, 0, 0), on=wall, friction=mu)
    system = m.compile()
    for angle, slips in ((critical + 0.02, False), (critical - 0.02, True)):
        turn = np.pi - angle
        run = da.simulate(system, system.state({"x": length * np.cos(angle), "turn": turn}), 0.05)
        assert (abs(run.v[-1]).max() > 1e-3) == slips
        assert run.success


def test_a_hinge_presses_harder_the_faster_it_turns():
    """A bob on a hinge without weight: friction c m l ω² slows it.

    The reaction has a tangential part too, m l ω̇: m l² ω̇ = −c m l √(ω⁴ + ω̇²), so ω̇ = −ω² c / √(l² − c²).
    """
    c, length, w0 = 0.05, 0.4, 20.0
    m = da.Mechanism("hinge", gravity=(0, 0, 0))
    bob = m.add_body("bob", mass=2.0, com=(length, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob, friction=da.Friction(load=c))
    system = m.compile()
    run = da.simulate(system, system.state(v={"A": w0}), 2.0)
    kappa = c / np.sqrt(length**2 - c**2)
    assert run.rate("A")[-1] == pytest.approx(w0 / (1 + kappa * w0 * 2.0), rel=1e-9)
    assert run.success


def test_a_screw_jack_locks_itself_by_the_load_on_its_slide():
    """Two slides tied by a wedge: under the load alone it moves only where it is steeper than the friction."""
    for slope, moves in ((0.05, False), (0.6, True)):
        m = da.Mechanism("wedge", gravity=(0, 0, -G))
        wedge, load = m.add_body("wedge", mass=1.0), m.add_body("load", mass=50.0)
        m.add_joint("x", da.Prismatic("x"), m.ground, wedge, friction=da.Friction(load=0.2))
        m.add_joint("z", da.Prismatic("z"), m.ground, load)
        face = wedge.at(rotation=da.rotation("y", np.arctan(slope)))
        m.add_point_in_plane("face", load, face)
        system = m.compile()
        run = da.simulate(system, {}, 0.3)
        assert (abs(run.v[-1]).max() > 1e-3) == moves
        assert run.success


@pytest.mark.parametrize("speed", [-2.0, 2.0])
def test_a_rod_that_can_neither_stick_nor_slide_ends_the_run_at_its_start_with_a_sentence(speed):
    """Painlevé: a rod at angle θ that slides forward has no forces where μ > (1 + 3cos²θ)/(3 sinθ cosθ)."""
    angle, length = 1.0, 1.0
    critical = (1 + 3 * np.cos(angle) ** 2) / (3 * np.sin(angle) * np.cos(angle))
    for mu, paradox in ((0.98 * critical, False), (1.02 * critical, True)):
        m = da.Mechanism("rod", gravity=(0, 0, -G))
        rod = m.add_body("rod", mass=1.0, com=(length / 2, 0, 0), inertia=da.rod_inertia(1.0, length))
        slide, lift = m.add_body("slide"), m.add_body("lift")
        m.add_joint("x", da.Prismatic("x"), m.ground, slide)
        m.add_joint("z", da.Prismatic("z"), slide, lift)
        m.add_joint("turn", da.Revolute((0, -1, 0)), lift, rod)
        m.add_contact("tip", rod, friction=mu)
        system = m.compile()
        run = da.simulate(system, system.state({"turn": angle}, v={"x": speed}), 0.01)
        stuck = paradox and run.status.name == "NO_FORCES"
        assert stuck == (paradox and speed == -2.0)
        if stuck:
            assert "Painlevé" in run.message
            assert not run.success
            assert run.t.tolist() == [0.0]
        else:
            assert run.success


@pytest.mark.parametrize("event", [None, lambda t, s: s["x"] - 1.0, da.expression(lambda t, s: s["x"] - 1.0)])
@pytest.mark.parametrize("push", [lambda t, s: [2.0 * t], da.expression(lambda t, s: [2.0 * t])])
def test_a_block_slips_where_the_push_of_a_controller_exceeds_friction(event, push):
    """2 t = 4 at t = 2 s, whatever events are watched besides; then a = (2 t − 4) / m and x = (t − 2)³ / 6."""
    m = da.Mechanism("block", gravity=(0, 0, -G))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0), friction=4.0)
    m.add_motor("push", "x")
    run = da.simulate(m.compile(), {}, 3.0, u=push, events=event)
    (slip,) = run.switches
    assert slip.t == pytest.approx(2.0, abs=1e-9)
    assert run["x"][-1] == pytest.approx(1.0 / 6.0, abs=1e-9)
