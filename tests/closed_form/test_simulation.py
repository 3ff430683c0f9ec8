"""Runs against closed forms, published trajectories and SciPy on hand-written models."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import dalembert as da
from dalembert import zoo


def pendulum(length=1.0, gravity=9.81):
    m = da.Mechanism("pendulum", gravity=(0, -gravity, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    return m.compile()


@pytest.mark.parametrize("amplitude", [0.1, 1.5, 3.0])
def test_pendulum_swings_by_elliptic_functions(amplitude):
    """sin(θ/2) = k sn(K − ωt), k = sin(θ₀/2)."""
    times = np.linspace(0, 5, 23)
    run = da.simulate(pendulum(), {"A": amplitude}, times[[0, -1]], t_eval=times, rtol=1e-11, atol=1e-12)
    k, w = np.sin(amplitude / 2), np.sqrt(9.81)
    sn = ellipj(ellipk(k**2) - w * times, k**2)[0]
    np.testing.assert_allclose(run["A"], 2 * np.arcsin(k * sn), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(run.t, times)


def cartesian():
    """The same pendulum in Cartesian coordinates with a rod: a constraint to keep."""
    m = da.Mechanism("cartesian", gravity=(0, -9.81, 0))
    cart, bob = m.add_body("cart"), m.add_body("bob", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bob)
    m.add_rod("string", m.ground, bob, length=1.0)
    return m.compile()


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_the_same_pendulum_in_cartesian_coordinates_stays_on_its_circle(method):
    times = np.linspace(0, 5, 11)
    run = da.simulate(
        cartesian(), [np.sin(1.5), -np.cos(1.5)], times[[0, -1]], t_eval=times, method=method, rtol=1e-11, atol=1e-12
    )
    angle = da.simulate(pendulum(), {"A": 1.5}, times[[0, -1]], t_eval=times, rtol=1e-12, atol=1e-13)["A"]
    np.testing.assert_allclose(np.arctan2(run["x"], -run["y"]), angle, rtol=0, atol=1e-8)
    assert run.residuals.max() < 1e-14
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8


def test_torque_free_body_keeps_its_momentum_and_its_quaternion():
    m = da.Mechanism("body", gravity=(0, 0, 0))
    m.add_joint("float", da.Free(), m.ground, m.add_body("b", mass=2.0, com=(0.1, 0, 0.2), inertia=(0.3, 0.5, 0.6)))
    system = m.compile()
    x = system.state(v={"float": [1.0, -2.0, 0.5, 0.3, 0.1, -0.7]})
    run = da.simulate(system, x, 10.0, rtol=1e-11, atol=1e-12)
    assert run.success
    np.testing.assert_allclose(system.momentum(run.state()), system.momentum(x), rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(run["float"][:, :4], axis=1), 1.0, rtol=0, atol=1e-14)


def test_symmetric_top_precesses_as_euler_says():
    """ω₁ + i ω₂ turns at Ω = (I₃ − I₁)/I₁ ω₃ in body axes."""
    m = da.Mechanism("top", gravity=(0, 0, 0))
    m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(0.4, 0.4, 0.6)))
    run = da.simulate(m.compile(), {}, 1.0)  # at rest it stays
    assert np.abs(run.v).max() == 0.0
    times = np.linspace(0, 4, 9)
    system = m.compile()
    run = da.simulate(
        system, system.state(v={"ball": [0.3, 0.0, 2.0]}), times[[0, -1]], t_eval=times, rtol=1e-11, atol=1e-12
    )
    rate = (0.6 - 0.4) / 0.4 * 2.0
    expected = np.column_stack([0.3 * np.cos(rate * times), 0.3 * np.sin(rate * times), np.full(9, 2.0)])
    np.testing.assert_allclose(run.rate("ball"), expected, rtol=0, atol=1e-9)


def test_five_bar_of_the_peers_ends_where_it_should():
    """P1: −1.41885093 and 0.74891836 (absolute) at 10 s; energy −43.5276 J kept."""
    system = zoo.five_bar(span=zoo.PEER_SPAN).compile()
    x = system.state(*zoo.five_bar_start(-np.pi, span=zoo.PEER_SPAN, branch=-1))
    run = da.simulate(system, x, 10.0, rtol=1e-11, atol=1e-12)
    assert run["A"][-1] == pytest.approx(-1.41885093, abs=1e-8)
    assert run["A"][-1] + run["B"][-1] == pytest.approx(0.74891836, abs=1e-8)
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8
    assert run.residuals.max() < 1e-14
    assert not run.passages


def _four_bar_by_hand(theta):
    """J(θ) and U(θ) of `zoo.four_bar()`, T = ½ J θ̇²: angles by the law of cosines, rates by the loop."""
    a, b, c, d = 0.2, 0.6, 0.4, 0.55
    masses = (1.0, 1.5, 1.2)
    P = np.array([a * np.cos(theta), a * np.sin(theta)])
    l = np.hypot(P[0] - d, P[1])
    phi = np.arctan2(P[1], P[0] - d) - np.arccos((c**2 + l**2 - b**2) / (2 * c * l))
    Q = np.array([d + c * np.cos(phi), c * np.sin(phi)])
    beta = np.arctan2(*(Q - P)[::-1])
    # a e'(θ) + b e'(β) β' = c e'(φ) φ'
    turned = [np.array([-np.sin(x), np.cos(x)]) for x in (theta, beta, phi)]
    rates = np.linalg.solve(np.column_stack([b * turned[1], -c * turned[2]]), -a * turned[0])
    middle = a * turned[0] + 0.5 * b * turned[1] * rates[0]  # rate of the coupler's centre
    J = masses[0] * a**2 / 3 + masses[2] * c**2 / 3 * rates[1] ** 2
    J += masses[1] * (middle @ middle + b**2 / 12 * rates[0] ** 2)
    U = 9.81 * (masses[0] * P[1] / 2 + masses[1] * (P[1] + Q[1]) / 2 + masses[2] * Q[1] / 2)
    return J, U


def test_four_bar_agrees_with_scipy_on_a_hand_written_minimal_model():
    """J θ̈ + ½ J′ θ̇² + U′ = 0 in the crank angle alone."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    hand = _four_bar_by_hand(0.6)
    if not np.isclose(system.potential_energy(x), hand[1]):  # the other branch of the law of cosines
        x = system.assemble({"A": 0.6}, v={"A": 2.0}, guess={"A": 0.6, "B": -1.6, "D": -1.7})
    assert system.potential_energy(x) == pytest.approx(hand[1], rel=1e-12)
    assert system.kinetic_energy(x) == pytest.approx(2.0 * hand[0], rel=1e-12)

    def rhs(t, y):
        h = 1e-5
        (Jp, Up), (Jm, Um) = _four_bar_by_hand(y[0] + h), _four_bar_by_hand(y[0] - h)
        J = _four_bar_by_hand(y[0])[0]
        return [y[1], -((Jp - Jm) / (2 * h) * y[1] ** 2 / 2 + (Up - Um) / (2 * h)) / J]

    times = np.linspace(0, 2, 5)
    reference = solve_ivp(rhs, (0, 2), [0.6, 2.0], method="DOP853", t_eval=times, rtol=1e-9, atol=1e-10)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run["A"], reference.y[0], rtol=0, atol=1e-6)


def test_spencers_five_bar_passes_through_its_singular_positions():
    """Example 2: crossings of a = 0 and 2π at the published times, turning point at 2.8818 s, energy 100.869 J."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    crossings = 0.6508151444, 1.8537909737, 3.909780497
    times = np.array([0, 0.25, crossings[0], crossings[1], 2.8817857353, crossings[2], 4.5])
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, rtol=1e-11, atol=1e-12)
    assert run.success
    a = run["A"] - np.pi
    assert a[1] == pytest.approx(-0.8786659192376273, abs=1e-10)
    assert a[2] == pytest.approx(0.0, abs=1e-8)
    assert a[3] == pytest.approx(2 * np.pi, abs=1e-7)
    assert a[4] == pytest.approx(10.2389416884, abs=1e-6)
    assert a[5] == pytest.approx(2 * np.pi, abs=1e-5)
    assert np.abs(run.energy - 100.8694139779).max() < 1e-5
    for passage, t, error in zip(run.passages, crossings, (1e-8, 1e-7, 1e-6), strict=True):  # each passage adds to it
        assert passage.rank == 1
        assert passage.nearest == pytest.approx(t, abs=error)
        assert passage.start < passage.nearest < passage.end
        assert passage.rows == ("E.x",)
        assert passage.branches


def test_spencers_five_bar_starts_at_its_singular_position_and_returns():
    """Example 1: at rest in the collinear position, back there at 2.8253684586 s."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.0))
    run = da.simulate(system, x, 3.0)
    assert run.success
    first, second = run.passages[:2]
    assert first.start == 0.0
    assert second.start < 2.8253684586 < second.end
    assert np.abs(run.energy - run.energy[0]).max() < 0.05  # of some 100 J that are exchanged


def test_a_driven_crank_follows_its_function_of_time():
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    arm = m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    tip = m.add_body("tip", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    m.add_joint("B", da.Revolute("z"), arm.at(1, 0, 0), tip)
    m.add_driver("motor", "A", lambda t: 0.5 * ca.sin(3 * t))
    system = m.compile()
    run = da.simulate(system, system.assemble(), (0, 2), t_eval=np.linspace(0, 2, 9))
    np.testing.assert_allclose(run["A"], 0.5 * np.sin(3 * run.t), rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.rate("A"), 1.5 * np.cos(3 * run.t), rtol=0, atol=1e-11)


def test_chaplygins_sleigh_turns_by_the_closed_form():
    """v = v∞ tanh(a v∞ t/b²), ω = (v∞/b) sech(…), b² = (I + m a²)/m: a nonholonomic run, from v = 0."""
    system = zoo.chaplygin_sleigh().compile()
    times = np.linspace(0, 3, 7)
    shape = {"mass": 1.3, "inertia": 0.4, "ahead": 0.25, "final": 2.0}
    speed, turn, heading = zoo.exact.sleigh(times, **shape)
    x = system.state(*zoo.chaplygin_sleigh_start(0.0, turn[0]))
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run["float.angle"], heading, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.rate("float.angle"), turn, rtol=0, atol=1e-9)
    along = run.rate("float.x") * np.cos(heading) + run.rate("float.y") * np.sin(heading)
    np.testing.assert_allclose(along, speed, rtol=0, atol=1e-9)
    assert max(np.abs(system.speed_residuals(run.state(k))).max() for k in range(7)) < 1e-12


def test_a_force_in_time_acts_at_the_time_of_each_stage():
    """m ẍ = cos ωt from rest: x = (1 − cos ωt)/(m ω²)."""
    m = da.Mechanism("shaken", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_joint_force("shake", "x", lambda s: ca.cos(5 * s.t))
    times = np.linspace(0, 3, 7)
    for options in ({"rtol": 1e-11, "atol": 1e-12}, {"method": "rk4", "step": 1e-3}):
        run = da.simulate(m.compile(), [0.0], times[[0, -1]], t_eval=times, **options)
        np.testing.assert_allclose(run["x"], (1 - np.cos(5 * times)) / 50, rtol=0, atol=1e-11)


def test_energy_lost_to_a_damper_is_the_work_it_did():
    m = da.Mechanism("damped", gravity=(0, -9.81, 0))
    bob = m.add_body("bob", mass=1.0, com=(0, -1.0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, bob, damping=0.3)
    run = da.simulate(m.compile(), {"A": 1.0}, (0, 4), t_eval=np.linspace(0, 4, 4001), rtol=1e-11, atol=1e-12)
    lost = np.trapezoid(0.3 * run.rate("A") ** 2, run.t)
    assert run.energy[0] - run.energy[-1] == pytest.approx(lost, rel=1e-6)


def test_time_runs_back():
    """Reverse the velocity at the end and the motion returns to its start."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    there = da.simulate(system, x, 1.5, rtol=1e-12, atol=1e-13).state()
    back = da.simulate(system, there.replace(v=-there.v, t=0.0), 1.5, rtol=1e-12, atol=1e-13).state()
    np.testing.assert_allclose(back.q, x.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(back.v, -x.v, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["bennett", "sarrus", "bricard"])
def test_overconstrained_linkages_run_on_independent_rows(name):
    """Redundant for good, never singular on the way: no careful step is needed, all rows stay closed, energy stays."""
    entry = zoo.CATALOG[name]
    build, start, mobility = entry.build, entry.start, entry.mobility
    system = build().compile()
    x = system.state(*start())
    x = system.assemble(guess=x, v={system.v_names[0]: 0.3})
    run = da.simulate(system, x, 0.5)
    assert run.success
    assert mobility == 1
    assert not run.passages
    assert run.residuals.max() < 1e-9
    assert np.abs(run.energy - run.energy[0]).max() < 1e-6 * max(1.0, abs(run.energy[0]))
