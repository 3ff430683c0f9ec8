"""Impacts of contacts, stops, ropes and closing loops against closed forms and NumPy."""

import numpy as np
import pytest

import dalembert as da
from dalembert.simulation.hybrid.impact import collide
from dalembert.simulation.hybrid.instantaneous import Instant
from dalembert.simulation.hybrid.mode import Changeable

G = 10.0


def ball(restitution, gravity=G, mass=1.0):
    m = da.Mechanism("ball", gravity=(0, 0, -gravity))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=mass))
    m.add_contact("floor", "ball", restitution=restitution)
    return m.compile()


def test_a_ball_bounces_to_e_squared_of_its_height():
    """Hits at t₁ (1 + 2e + 2e² + …), heights e^2k h, energy lost ½ m v² (1 − e²)."""
    e, h = 0.8, 5.0
    run = da.simulate(ball(e), {"z": h}, 6.0)
    hits = [s for s in run.switches if s.kind == "hit"]
    first = np.sqrt(2 * h / G)
    exact = [first * (1 + 2 * sum(e**j for j in range(1, k + 1))) for k in range(len(hits))]
    assert np.allclose([s.t for s in hits], exact, rtol=1e-10)
    assert np.allclose([s.lost for s in hits], [G * h * e ** (2 * k) * (1 - e**2) for k in range(len(hits))], rtol=1e-9)
    assert all(s.impulse["floor.gap"] == pytest.approx((1 + e) * -s.v_before[0]) for s in hits)
    assert run.success
    assert abs(run.energy_error).max() < 1e-10 * G * h
    assert run["z"].min() > -1e-12


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_bounces_without_end_become_rest_with_a_sentence(size):
    """e = ½: infinitely many hits before 3 t₁; the ball rests from there, at any scale of length."""
    run = da.simulate(ball(0.5, gravity=G * size), {"z": 5.0 * size}, 4.0)
    rest = run.switches[-1]
    assert rest.kind == "rests"
    assert "too low" in rest.note
    assert rest.t == pytest.approx(3.0, abs=3e-4)
    assert abs(run["z"][-1]) < 1e-8 * size
    assert run.success
    assert run.multiplier("floor")[-1] == pytest.approx(G * size)


def test_an_elastic_ball_makes_a_hundred_hits_and_keeps_its_energy():
    run = da.simulate(ball(1.0), {"z": 5.0}, 200.5)
    hits = [s.t for s in run.switches]
    assert np.allclose(hits, 1.0 + 2.0 * np.arange(100), rtol=1e-9)
    assert abs(run.energy - 50.0).max() < 1e-8
    assert abs(run.work["impacts"]).max() < 1e-8


def test_a_moving_plate_throws_a_ball_as_seen_from_the_plate():
    """A plate driven up with w: the ball leaves with e (v + w) + w."""
    m = da.Mechanism("racket", gravity=(0, 0, 0))
    plate = m.add_body("plate", mass=1.0)
    m.add_joint("plate", da.Prismatic("z"), m.ground, plate)
    m.add_joint("ball", da.Prismatic("z"), m.ground, m.add_body("b", mass=0.1))
    m.add_driver("hand", "plate", lambda t: 2.0 * t)
    m.add_contact("hit", "b", on=plate, restitution=0.6)
    system = m.compile()
    x = system.assemble({"ball": 1.0}, v={"ball": -3.0})
    run = da.simulate(system, x, 1.0)
    assert run.rate("ball")[-1] == pytest.approx(0.6 * 5.0 + 2.0, rel=1e-12)
    assert run.switches[0].t == pytest.approx(0.2)
    assert run.success


def double_pendulum(stop):
    m = da.Mechanism("double", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=w, com=(0.3, 0, 0), inertia=da.rod_inertia(w, 0.6)) for n, w in (("a", 1.0), ("b", 0.7)))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.6, 0, 0), b, limits=(-0.2, 2.0), stops=stop)
    return m.compile()


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_a_double_pendulum_hits_a_stop_in_the_mass_metric(e):
    """v⁺ = v⁻ − (1 + e) M⁻¹aᵀ (a M⁻¹aᵀ)⁻¹ a v⁻: the loss is (1 − e²) ½ (a v⁻)²/(a M⁻¹aᵀ)."""
    system = double_pendulum(da.Stops(restitution=e))
    x = system.state({"A": 0.3, "B": 1.0}, v={"A": 1.0, "B": -9.0})
    run = da.simulate(system, x, 0.5)
    hit = run.switches[0]
    assert hit.what == "B lower stop hit"
    at = next(p for p in run.phases if p.t[-1] == hit.t).state()
    M, a = system.mass_matrix(at), np.array([0.0, 1.0])
    w = np.linalg.solve(M, a)
    expected = hit.v_before - (1 + e) * w * (a @ hit.v_before) / (a @ w)
    assert np.allclose(hit.v_after, expected, rtol=1e-11, atol=1e-12)
    assert hit.lost == pytest.approx((1 - e**2) * 0.5 * (a @ hit.v_before) ** 2 / (a @ w), rel=1e-9, abs=1e-12)
    assert abs(hit.jump[0]) > 1.0
    assert run["B"].min() > -0.2 - 1e-10
    assert abs(run.energy_error).max() < 1e-8
    if e == 0.0:
        assert (run.multiplier("B lower stop")[run.t > hit.t] >= 0.0).all()


def cradle(gap, n=4, e=1.0):
    m = da.Mechanism("cradle", gravity=(0, 0, 0))
    for k in range(n):
        m.add_joint(f"x{k}", da.Prismatic("x"), m.ground, m.add_body(f"b{k}", mass=1.0))
    face = da.rotation("y", np.pi / 2)
    for k in range(n - 1):
        m.add_contact(f"c{k}", f"b{k + 1}", on=m.bodies[f"b{k}"].at(1.0, 0, 0, rotation=face), restitution=e)
    q = {f"x{k}": k * (1.0 + gap) for k in range(n)}
    return m.compile(), q


def test_newtons_cradle_with_gaps_hands_the_speed_through():
    """Equal masses one after another: the last one leaves with all of it."""
    system, q = cradle(1e-3)
    run = da.simulate(system, system.state(q, v={"x0": 2.0}), 0.5)
    assert np.allclose(run.v[-1], [0, 0, 0, 2.0], atol=1e-11)
    assert [s.of for s in run.switches] == ["c0", "c1", "c2"]


def test_a_cradle_that_touches_keeps_momentum_and_energy_in_one_impact():
    """Newton's law for all contacts at once: two that touch go on together, with 2/3, the first back with 1/3."""
    system, q = cradle(0.0, n=3)
    q["x0"] -= 0.1
    run = da.simulate(system, system.state(q, v={"x0": 1.0}), 0.2)
    assert np.allclose(run.v[-1], [-1 / 3, 2 / 3, 2 / 3], atol=1e-12)
    assert run.switches[0].lost == pytest.approx(0.0, abs=1e-12)


def test_a_rope_becomes_taut_with_a_jerk_and_slack_at_the_top():
    """The fall from (0.6, 0) loses the speed along the rope; a swing with v² = 4 g l leaves the circle at 2/3 l."""
    m = da.Mechanism("rope", gravity=(0, -G, 0))
    slider = m.add_body("slider")
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("y", da.Prismatic("y"), slider, m.add_body("b", mass=1.0))
    m.add_rope("rope", ["ground", "b"], length=1.0)
    system = m.compile()
    fall = da.simulate(system, system.state({"x": 0.6}), 0.5)
    taut = fall.switches[0]
    assert taut.what == "rope taut"
    assert taut.t == pytest.approx(0.4, rel=1e-10)
    assert taut.lost == pytest.approx(0.5 * (4.0 * 0.8) ** 2, rel=1e-9)
    swing = da.simulate(system, system.state({"y": -1.0}, v={"x": np.sqrt(4 * G)}), 0.7)
    slack = next(s for s in swing.switches if s.kind == "left")
    assert slack.what == "rope slack"
    assert swing(slack.t)["y"] == pytest.approx(2 / 3, abs=1e-8)
    assert swing.success


def test_a_loop_closes_by_the_projection_of_its_velocity():
    """Two arms that meet: v⁺ is the orthogonal projection of v⁻ in the mass metric onto the closed loop."""
    system = da.zoo.four_bar().compile()
    x = system.assemble({"A": 0.9})
    start = system.state(x.q, v={"A": 1.0, "B": -2.0, "D": 0.5})
    run = da.simulate(system.without("C"), start, 0.1, switches={"latch": da.Switch(close="C", at=0.0)})
    M = system.mass_matrix(start)
    A = system.constraint_matrix(start)
    L = np.linalg.cholesky(M)
    R = np.linalg.solve(L, A.T).T
    nu = L.T @ start.v
    expected = np.linalg.solve(L.T, nu - np.linalg.pinv(R) @ (R @ nu))
    latch = run.switches[0]
    assert latch.what == "C closed"
    assert latch.of == "latch"
    assert np.allclose(latch.v_after, expected, rtol=1e-11)
    assert latch.lost == pytest.approx(0.5 * (start.v - expected) @ M @ (start.v - expected), rel=1e-11)
    assert run.residuals.max() < 1e-12
    assert run.success
    assert np.allclose(np.linalg.pinv(R.T) @ (L.T @ (expected - start.v)), [latch.impulse[n] for n in system.row_names])


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_a_latch_with_restitution_bounces_off_until_it_is_slow(e):
    """Two carts on a spring, of equal mass: the distance swings, its speed e times as fast after each meeting."""
    m = da.Mechanism("carts", gravity=(0, 0, 0))
    for name, mass in (("left", 1.0), ("right", 1.0)):
        m.add_joint(name, da.Prismatic("x"), m.ground, m.add_body(name, mass=mass))
    m.add_spring("spring", "left", "right", stiffness=50.0)
    m.add_coupling("latch", {"left": 1.0, "right": -1.0})
    system = m.compile()
    meet = da.Event(da.expression(lambda t, s: s["right"] - s["left"]), direction=-1)
    x = system.without("latch").state({"right": 1.0})
    run = da.simulate(system.without("latch"), x, 4.0, switches=da.Switch(close="latch", when=meet, restitution=e))
    hits, half = [s for s in run.switches if s.kind == "hit"], np.pi / 10.0  # ω² = 2 k / m = 100
    speeds = [s.v_after[1] - s.v_after[0] for s in hits]
    np.testing.assert_allclose(speeds, 10.0 * e ** np.arange(1, len(hits) + 1), rtol=1e-5)
    np.testing.assert_allclose([s.t for s in hits], half * (np.arange(len(hits)) + 0.5), rtol=1e-5)
    assert run.success
    if e < 1.0:
        assert run.switches[-1].what == "latch closed"
        assert run["right"][-1] - run["left"][-1] == pytest.approx(0.0, abs=1e-9)
    else:
        assert len(hits) == 13


def test_restitution_with_friction_makes_no_energy():
    """Kane's paradox: a rod that strikes with friction would gain energy by Newton's law; restitution is lowered."""
    m = da.Mechanism("kane", gravity=(0, 0, -9.81))
    a, b = (m.add_body(n, mass=1.0, com=(0, 0, -0.5), inertia=da.rod_inertia(1.0, 1.0, "z")) for n in "ab")
    m.add_joint("A", da.Revolute("y"), m.ground.at(0, 0, 1.6), a)
    m.add_joint("B", da.Revolute("y"), a.at(0, 0, -1.0), b)
    m.add_contact("ground", b.at(0, 0, -1.0), friction=0.7, restitution=0.7)
    system = m.compile()
    lowered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = system.state(rng.uniform(-1.5, 1.5, 2), rng.normal(size=2) * 3)
        instant = Instant(Changeable.of(system), x, np.zeros(0), np.zeros(0))
        if instant.speeds[0] > 0:
            continue
        impact = collide(instant, [], {}, {"ground": 0.7})
        assert impact is not None
        assert impact.lost > -1e-12 * float(instant.nu @ instant.nu)
        lowered += impact.kept < 1.0
    assert lowered >= 1
