"""What is conserved and what is exchanged: energy, work, momentum, the direction of time; by closed forms."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import zoo

TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def test_a_damped_oscillator_loses_what_its_damper_takes():
    """m = 1, k = 4, c = 1: x = e^(−t/2)(cos Ωt + sin Ωt/(2Ω)), Ω² = 15/4; dissipated is what is missing of 2 J."""
    m = da.Mechanism("oscillator", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0), stiffness=4.0, damping=1.0)
    run = da.simulate(m.compile(), [1.0], (0, 6), t_eval=np.linspace(0, 6, 25), **TIGHT)
    w, t = np.sqrt(15) / 2, run.t
    x = np.exp(-t / 2) * (np.cos(w * t) + np.sin(w * t) / (2 * w))
    v = -np.exp(-t / 2) * np.sin(w * t) * (w + 1 / (4 * w))
    np.testing.assert_allclose(run["x"], x, rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.dissipated, 2.0 - v**2 / 2 - 2 * x**2, rtol=0, atol=1e-9)
    assert np.all(np.diff(run.dissipated) > 0)
    assert np.abs(run.energy_error).max() < 1e-9


@pytest.mark.parametrize(
    "options",
    [{}, {"formulation": "nullspace"}, {"stabilization": "energy"}, {"coordinates": ["B"]}, {"method": "variational"}],
    ids=str,
)
def test_a_driver_does_the_work_that_its_arm_takes_up(options):
    """An arm driven as θ = sin 2t: its energy is ½ J θ̇² + m g l/2 sin θ; what hangs on it is in the balance."""
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    arm, tip = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in ("arm", "tip"))
    m.add_joint("A", da.Revolute("z"), m.ground, arm)
    m.add_joint("B", da.Revolute("z"), m.ground.at(3, 0), tip)  # a pendulum of its own
    m.add_driver("motor", "A", lambda t: ca.sin(2 * t))
    system = m.compile()
    x = system.assemble({"B": 0.3})
    if options.get("method") == "variational":
        options = {**options, "step": 1e-3}
    run = da.simulate(system, x, (0, 2), t_eval=np.linspace(0, 2, 9), **options)
    theta, rate = np.sin(2 * run.t), 2 * np.cos(2 * run.t)
    arm_energy = rate**2 / 6 + 9.81 / 2 * np.sin(theta)
    tolerance = 1e-4 if "method" in options else 1e-7
    np.testing.assert_allclose(run.work["drivers"], arm_energy - arm_energy[0], rtol=0, atol=tolerance)
    assert np.abs(run.energy_error).max() < tolerance


@pytest.mark.parametrize("formulation", ["auto", "projection"])
def test_the_balance_closes_with_dampers_inputs_and_drivers_on_a_closed_chain(formulation):
    m = zoo.five_bar(span=zoo.PEER_SPAN)
    m.add_joint_force("friction", "C", lambda s: -0.5 * s.rate("C"))
    m.add_driver("steer", "A", lambda t: -np.pi + np.pi + 0.4 * ca.sin(3 * t))
    system = m.compile()
    start = system.state(*zoo.five_bar_start(-np.pi, span=zoo.PEER_SPAN, branch=-1))
    x = system.assemble(guess=start)
    u = da.expression(lambda t, s: {"right": 2.0 * ca.cos(t)})
    run = da.simulate(system, x, 2.0, u=u, formulation=formulation, **TIGHT)
    assert run.success
    assert set(run.work) == {"inputs", "forces", "drivers"}
    assert min(np.ptp(w) for w in run.work.values()) > 0.01
    assert np.abs(run.energy_error).max() < 1e-8
    assert np.all(np.diff(run.dissipated) >= 0)


def floating_chain(gravity=(0, 0, 0)):
    """A four-bar on a free base."""
    m = da.Mechanism("floating", gravity=gravity)
    base = m.add_body("base", mass=2.0, com=(0.2, 0.1, 0.05), inertia=(0.3, 0.4, 0.5))
    m.add_joint("float", da.Free(), m.ground, base)
    a, b, c = (
        m.add_body(n, mass=1.0, com=(x / 2, 0, 0), inertia=da.rod_inertia(1.0, x))
        for n, x in zip("abc", (0.3, 0.7, 0.5))
    )
    m.add_joint("A", da.Revolute("z"), base, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.3), b)
    m.add_joint("D", da.Revolute("z"), base.at(0.6), c)
    m.close_loop("C", da.Revolute("z"), b.at(0.7), c.at(0.5))
    return m.compile()


def chain_start(system, base):
    guess = system.state({"A": 1.0, "B": -0.7, "D": 1.2})
    return system.assemble({"A": 1.0}, v={"A": 3.0, "float": base}, guess=guess)


@pytest.mark.parametrize(
    "options",
    [{}, {"coordinates": "tangent"}, {"method": "variational", "step": 2e-3}, {"formulation": "nullspace"}],
    ids=str,
)
def test_a_free_floating_closed_chain_keeps_its_momentum(options):
    system = floating_chain()
    x = chain_start(system, [0.1, -0.2, 0.3, 0.05, 0.1, -0.1])
    if "method" not in options:
        options = {**options, **TIGHT}
    run = da.simulate(system, x, 2.0, **options)
    assert run.success
    if "formulation" in options:  # rows that are redundant on the manifold only do not disturb the stages
        assert run.steps < 200
    before = system.momentum(x)
    for k in (len(run.t) // 2, -1):
        # the variational method keeps it to rounding, whatever its step
        np.testing.assert_allclose(
            system.momentum(run.state(k)), before, rtol=0, atol=1e-12 if "method" in options else 1e-9
        )
    assert np.ptp(run["A"]) > 1.0
    assert run.residuals.max() < 1e-13


def test_weight_changes_the_momentum_of_a_floating_chain_as_newton_says():
    system = floating_chain((0, 0, -2.0))
    x = chain_start(system, np.zeros(6))
    run = da.simulate(system, x, 1.5, **TIGHT)
    change = system.momentum(run.state())[3:] - system.momentum(x)[3:]
    np.testing.assert_allclose(change, [0, 0, -2.0 * 5.0 * 1.5], rtol=0, atol=1e-9)


@pytest.mark.parametrize("options", [{"method": "variational", "step": 0.02}, {"method": "dop853", **TIGHT}])
def test_time_runs_back(options):
    """The variational method is symmetric: it returns to rounding, though a step this long errs by a hundredth."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    there = da.simulate(system, x, 1.0, **options).state()
    back = da.simulate(system, there.replace(v=-there.v, t=0.0), 1.0, **options).state()
    tolerance = 1e-9 if options["method"] == "variational" else 1e-8
    np.testing.assert_allclose(back.q, x.q, rtol=0, atol=tolerance)
    np.testing.assert_allclose(back.v, -x.v, rtol=0, atol=100 * tolerance)


@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-3}, {"method": "sdirk4"}], ids=str)
def test_a_disc_rolls_steadily(options):
    """Lean 0.3, yaw rate 1.7, the spin of `exact.disc_spin`: height, lean and energy stay, the axle turns."""
    system = zoo.rolling_disc().compile()
    spin = zoo.exact.disc_spin(lean=0.3, yaw_rate=1.7, radius=0.4)
    x = system.state(*zoo.rolling_disc_start(lean=0.3, yaw_rate=1.7, spin=spin))
    times = np.linspace(0, 3, 7)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, **options)
    pose = [system.pose(run.state(k), "disc") for k in range(7)]
    height = np.array([T[2, 3] for T in pose])
    np.testing.assert_allclose(height, 0.4 * np.cos(0.3), rtol=0, atol=1e-7)
    axle = np.array([T[:3, 1] for T in pose])  # turns about z at the yaw rate
    turned = np.column_stack([-np.sin(1.7 * times), np.cos(1.7 * times)]) * np.cos(0.3)
    np.testing.assert_allclose(axle[:, :2], turned, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=0, atol=1e-6)
    assert run.speed_residuals.max() < 1e-10


def test_a_particle_goes_round_its_circle():
    """Without a force at constant speed; with one along the path, ρ θ̈ = f/m, and the force's work is f ρ θ."""
    system = zoo.particle_on_circle(mass=2.0, radius=0.5).compile()
    x = system.state(*zoo.particle_start(0.3, speed=4.0, radius=0.5))
    times = np.linspace(0, 3, 13)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, **TIGHT)
    angle = 0.3 + 4.0 * times
    np.testing.assert_allclose(run.q, 0.5 * np.column_stack([np.cos(angle), np.sin(angle)]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.multipliers[:, 0], -2.0 * 0.5 * 16, rtol=0, atol=1e-7)
    push = da.expression(lambda t, s: {"fx": -6.0 * s["y"], "fy": 6.0 * s["x"]})  # 3 N along the path
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, u=push, **TIGHT)
    turned = 4.0 * times + 0.5 * (3.0 / 2.0 / 0.5) * times**2
    np.testing.assert_allclose(run["x"], 0.5 * np.cos(0.3 + turned), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.work["inputs"], 3.0 * 0.5 * turned, rtol=0, atol=1e-8)


def test_the_variational_method_keeps_a_tops_momentum_and_bounds_its_energy_for_ever():
    """20,000 long steps of a free asymmetric body: no trend in the energy, where rk4 with the same step has one."""
    m = da.Mechanism("top", gravity=(0, 0, 0))
    m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(0.3, 0.5, 0.6)))
    system = m.compile()
    x = system.state(v={"ball": [0.4, 2.0, 0.5]})
    run = da.simulate(system, x, 2000.0, method="variational", step=0.1)
    before = system.momentum(x)[:3]
    for k in (1, 10_000, 20_000):
        np.testing.assert_allclose(system.momentum(run.state(k))[:3], before, rtol=0, atol=2e-12)
    first, last = (np.abs(run.energy_error[part]).max() for part in (slice(0, 2000), slice(-2000, None)))
    assert last < 1.2 * first
    assert last < 0.05 * run.energy[0]
    other = da.simulate(system, x, 2000.0, method="rk4", step=0.1).energy_error
    assert abs(other[-1]) > 5 * abs(other[2000])


def test_the_variational_method_bounds_the_energy_of_a_closed_chain():
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    run = da.simulate(system, x, 200.0, method="variational", step=0.01)
    first, last = (np.abs(run.energy_error[part]).max() for part in (slice(0, 2000), slice(-2000, None)))
    assert last < 1.5 * first
    assert run.residuals.max() < 1e-13
    assert run.speed_residuals.max() < 1e-11


def _five_bar_by_hand(span):
    """Pins and data of the five-bar by the absolute angles of its first and last link."""
    l, masses, inertias = (1.0, 1.5, 1.5, 1.0), (2.0, 3.0, 3.0, 2.0), (1.0, 2.0, 2.0, 1.0)
    q, w = ca.SX.sym("q", 2), ca.SX.sym("w", 2)
    e = lambda a: ca.vertcat(ca.cos(a), ca.sin(a))  # noqa: E731
    E = ca.DM([span, 0])
    P1, P3 = l[0] * e(q[0]), E - l[3] * e(q[1])
    d = P3 - P1
    half = ca.sqrt(l[1] ** 2 - ca.sumsqr(d) / 4) / ca.norm_2(d)  # isosceles: equal middle links
    return q, w, P1, P3, E, d, half, masses, inertias


def test_five_bar_agrees_with_scipy_on_a_hand_written_minimal_model():
    """Two angles, the middle pin by an isosceles triangle; a motion without symmetry, away from singular positions."""
    span = zoo.PEER_SPAN
    q, w, P1, P3, E, d, half, masses, inertias = _five_bar_by_hand(span)
    system = zoo.five_bar(span=span).compile()
    x = system.state(*zoo.five_bar_start(-np.pi, span=span, branch=-1))
    x = system.assemble(guess=x, v={"A": 0.5, "D": -0.2})
    absolute = np.cumsum(x.q)
    start, rates = absolute[[0, 3]], np.cumsum(x.v)[[0, 3]]
    pin = np.array(system.pose(x, "link 3")[:2, 3])
    for side in (1.0, -1.0):
        P2 = (P1 + P3) / 2 + side * half * ca.vertcat(-d[1], d[0])
        if np.allclose(ca.Function("P", [q], [P2])(start).full().ravel(), pin):
            break
    centres = [P1 / 2, (P1 + P2) / 2, (P2 + P3) / 2, (P3 + E) / 2]
    angles = [q[0], ca.atan2(P2[1] - P1[1], P2[0] - P1[0]), ca.atan2(P3[1] - P2[1], P3[0] - P2[0]), q[1]]
    T = sum(
        m * ca.sumsqr(ca.jtimes(c, q, w)) / 2 + J * ca.jtimes(a, q, w) ** 2 / 2
        for m, J, c, a in zip(masses, inertias, centres, angles)
    )
    U = 9.81 * sum(m * c[1] for m, c in zip(masses, centres))
    p = ca.gradient(T, w)
    force = ca.gradient(T - U, q) - ca.jtimes(p, q, w)
    f = ca.Function("f", [q, w], [ca.solve(ca.jacobian(p, w), force), T, U])
    assert system.kinetic_energy(x) == pytest.approx(float(f(start, rates)[1]), rel=1e-12)
    assert system.potential_energy(x) == pytest.approx(float(f(start, rates)[2]), rel=1e-12)
    times = np.linspace(0, 0.6, 5)
    rhs = lambda t, y: np.concatenate([y[2:], f(y[:2], y[2:])[0].full().ravel()])  # noqa: E731
    for method, tolerance in (("DOP853", 1e-10), ("Radau", 1e-8)):
        reference = solve_ivp(rhs, (0, 0.6), [*start, *rates], method, t_eval=times, rtol=tolerance, atol=tolerance)
        run = da.simulate(system, x, times[[0, -1]], t_eval=times, **TIGHT)
        angles_ = np.cumsum(run.q, axis=1)[:, [0, 3]]
        np.testing.assert_allclose(angles_, reference.y[:2].T, rtol=0, atol=1e3 * tolerance)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "sdirk4"])
def test_work_is_error_controlled_where_the_motion_alone_would_allow_any_step(method):
    """A slide led by x = t against −100 sin²(30 x) ẋ: W = 100 (5 − sin(600)/120) J in ten seconds."""
    m = da.Mechanism("slide", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=1.0))
    m.add_joint_force("drag", "x", lambda s: -100 * ca.sin(30 * s["x"]) ** 2 * s.rate("x"))
    m.add_driver("lead", "x", lambda t: t)
    system = m.compile()
    run = da.simulate(system, system.assemble({}, v={}), 10.0, method=method)
    assert run.work["drivers"][-1] == pytest.approx(100 * (5 - np.sin(600) / 120), rel=1e-6)
    assert run.work["forces"][-1] == pytest.approx(-run.work["drivers"][-1], rel=1e-9)


def test_the_balance_counts_from_the_first_state_that_is_wanted():
    """A slider that is driven by x = t² has done work before that."""
    m = da.Mechanism("driven", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_driver("d", "x", lambda t: t**2)
    run = da.simulate(m.compile(), {"x": 0.0}, 1.0, t_eval=[0.5, 1.0])
    assert run.success
    np.testing.assert_allclose(run.work["drivers"], [1.0, 4.0], rtol=1e-8)
    np.testing.assert_allclose(run.energy_error, 0.0, atol=1e-7)


def test_the_variational_method_keeps_symmetries_and_energy_for_20000_steps():
    """A top with a rotor on a hinge: turning about the vertical changes nothing (Noether); the energy does not drift.

    Its error is that of the step, and no larger in the last quarter than in the first; that of rk4 grows steadily.
    """
    m = da.Mechanism("top", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=1.0, com=(0, 0, 0.3), inertia=(0.03, 0.05, 0.02))
    rotor = m.add_body("rotor", mass=0.5, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.add_joint("ball", da.Spherical(), m.ground, body)
    m.add_joint("hinge", da.Revolute("x"), body.at(0, 0, 0.6), rotor)
    system = m.compile()
    x = system.state({"ball": da.rotation("y", 0.5), "hinge": 0.3}, {"ball.wz": 8.0, "hinge": 2.0})
    drift, turning = {}, {}
    for method in ("variational", "rk4"):
        run = da.simulate(system, x, 200.0, method=method, step=0.01, t_eval=np.linspace(0, 200, 2001))
        first, *_, last = np.array_split(run.energy - run.energy[0], 4)
        drift[method] = abs(last.mean() - first.mean())
        turning[method] = max(abs((system.momentum(run.state(k)) - system.momentum(x))[2]) for k in range(0, 2001, 40))
        if method == "variational":
            assert np.abs(last).max() < 1.1 * np.abs(first).max() < 0.02
    assert turning["variational"] < 1e-11
    assert turning["rk4"] > 1e-5
    assert drift["variational"] < 0.1 * drift["rk4"]


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_what_is_held_at_rest_succeeds_alone_and_in_ensembles(size):
    """Mobility 0: what moves is rounding, of which no balance is right."""
    m = da.Mechanism("held", gravity=(0, 0, -9.81))
    b = m.add_body("b", mass=2.0, com=(0.1 * size, 0, 0), inertia=np.array([0.1, 0.2, 0.3]) * size**2)
    m.add_joint("f", da.Free(), m.ground, b)
    m.close_loop("w", da.Fixed(), b.at(0.3 * size, 0, 0), m.ground)
    system = m.compile()
    x = system.assemble()
    run = da.simulate(system, x, 5.0)
    assert run.success, run.message
    assert np.abs(run.q - run.q[0]).max() < 1e-12 * size
    many = da.ensemble(system, x, 5.0, n=3)
    assert many.success.all()


@pytest.mark.parametrize("angle", [0.3, 0.9, 1.5])
def test_a_mechanism_at_rest_without_loads_keeps_its_balance(angle):
    """Feedback on loops that are closed to rounding moves it by 1e-15 rad/s: no success is lost."""
    m = da.Mechanism("four-bar", gravity=(0, 0, 0))
    a, b, c = (
        m.add_body(n, mass=1.0, com=(l / 2, 0, 0), inertia=da.rod_inertia(1.0, l)) for n, l in zip("abc", (0.3, 1, 0.8))
    )
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.3), b)
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.0), c)
    m.close_loop("C", da.Revolute("z"), b.at(1.0), c.at(0.8))
    system = m.compile()
    x = system.assemble({"A": angle})
    for options in ({}, {"method": "rk4", "step": 0.02}):
        run = da.simulate(system, x, 10.0, stabilization="baumgarte", **options)
        assert run.success, run.message
    assert da.ensemble(system, x, 10.0, vary={"A": np.full(3, angle)}, stabilization="baumgarte").success.all()


@pytest.mark.parametrize("speed", [0.0, 1e-15, 1e-13])
def test_a_loaded_structure_at_rest_keeps_its_balance(speed):
    """A triangle of bars under 104 N: what its pins give way by is rounding."""
    m = da.Mechanism("frame", gravity=(0, 0, 0))
    b, c = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "bc")
    m.add_joint("A", da.Revolute("z"), m.ground, b)
    m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), c)
    m.close_loop("C", da.Revolute("z"), b.at(1, 0, 0), c.at(1, 0, 0))
    m.add_wrench("load", b.at(1, 0, 0), force=(100.0, 30.0, 0))
    system = m.compile()
    x = system.assemble(guess={"A": 1.0, "B": 2.0})
    run = da.simulate(system, x.replace(v=np.full(2, speed)), 1.0)
    assert run.success, run.message


def test_energy_that_is_made_up_is_still_said():
    """A pendulum by steps much too long for it."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0), inertia=(0.1,) * 3))
    run = da.simulate(m.compile(), {"A": 0.5}, 20.0, method="rk4", step=0.4)
    assert not run.success
    assert "energy balance" in run.message
