"""Kinematic inputs against drivers of the same motion, motors of the same force, and closed forms."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from manifold_differences import differences
from random_loops import random_closed

FORMULATIONS = ("auto", "nullspace", "lagrange", "projection", "augmented")


def led(m: da.Mechanism, coordinate: str) -> da.System:
    m.add_kinematic_input("lead", coordinate)
    return m.compile()


def wave(t):
    return 0.6 + 0.5 * t + 0.3 * ca.sin(2 * t)


def random_led(seed: int) -> tuple[da.System, da.System, da.State, np.ndarray]:
    """A closed mechanism with its freest coordinate led, the same with a motor there, and a state of both."""
    system, x = random_closed(seed, bodies=5, loops=1, redundant=seed % 2 == 0)
    free = np.abs(list(system.report(x).directions.values())).reshape(system.nv, -1)
    tied = [a.name for a in system.layout.joints.values() if a.joint.nq != a.joint.nv or a.joint.nv != 1]
    for name in tied:
        free[system.layout.v_slice(name)] = 0.0
    name = system.v_names[int(np.argmax(free.max(axis=1)))]
    both = []
    for add in ("add_kinematic_input", "add_motor"):
        m = system.layout.mechanism.snapshot()
        getattr(m, add)("lead", name)
        both.append(m.compile(backend="casadi"))
    rng = np.random.default_rng(seed)
    return both[0], both[1], both[0].state(x.q, x.v), rng.normal(size=1)


@pytest.mark.parametrize("seed", range(4))
def test_a_motor_with_the_force_of_the_drive_gives_the_same_motion(seed):
    """Closed chains with quaternions and redundant rows: v̇, reactions and powers of both are the same."""
    system, motored, x, u = random_led(seed)
    there = motored.state(x.q, x.v)
    by_input = system.constraint_forces(x, u=u)
    force = by_input.drives["lead"]
    by_motor = motored.constraint_forces(there, u=[force])
    a, b = by_input.acceleration, by_motor.acceleration
    assert a.success
    assert a.vdot[system.description.prescribed["lead"]] == pytest.approx(u[0], abs=1e-9)
    size = np.abs(b.vdot).max()
    np.testing.assert_allclose(a.vdot, b.vdot, atol=1e-8 * size)
    for name, wrench in by_motor.joints.items():
        if by_motor.determinate[name].all():
            np.testing.assert_allclose(by_input.joints[name], wrench, atol=1e-8 * max(1.0, np.abs(wrench).max()))
    found = control.actuator_forces(system, x, a.vdot)
    assert found.u[found.names.index("lead")] == pytest.approx(force, rel=1e-7, abs=1e-8)
    assert by_input.power["lead"] == pytest.approx(force * x.v[system.description.prescribed["lead"]])


@pytest.mark.parametrize("seed", range(2))
def test_linear_models_with_led_coordinates_are_those_of_differences(seed):
    """A and B, the input's column included, of closed chains in motion."""
    system, _, x, u = random_led(seed)
    model = da.linearize(system, x, u=u)
    A, B, _ = differences(model)
    for found, expected in ((model.A, A), (model.B, B)):
        np.testing.assert_allclose(found, expected, atol=3e-6 * max(1.0, np.abs(expected).max()))


def test_full_and_reduced_linear_models_agree_in_coordinates_that_are_functions():
    system = led(zoo.loader(), "B")
    x = system.project(system.state(zoo.loader_start()[0], {"B": 0.2, "G": -0.3}))
    model = da.linearize(system, x, u={"lead": 0.7}, independent=["lift", "tilt"])
    A, B, _ = differences(model)
    np.testing.assert_allclose(model.A, A, atol=1e-5 * np.abs(A).max())
    np.testing.assert_allclose(model.B, B, atol=1e-5 * np.abs(B).max())
    full = da.linearize_full(system, x, u={"lead": 0.7})
    k = system.description.prescribed["lead"]
    assert not full.vdot_q[k].any()
    assert not full.vdot_v[k].any()
    assert full.vdot_u[k, system.u_names.index("lead")] == 1.0


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_led_crank_moves_the_four_bar_as_a_driver_does(formulation):
    """Positions, multipliers of the loop, the force of the drive and its work."""
    driven = zoo.four_bar()
    driven.add_driver("lead", "A", wave)
    reference, system = driven.compile(), led(zoo.four_bar(), "A")
    leading = control.lead(system, {"lead": wave})
    times = np.linspace(0.0, 5.0, 11)
    options = {"rtol": 1e-10, "atol": 1e-12, "t_eval": times}
    expected = da.simulate(reference, reference.assemble(guess={"A": 0.6, "B": -0.3, "D": 1.0}), 5.0, **options)
    x = system.assemble(*leading.at(), guess=expected.state(0).q)
    run = da.simulate(system, x, 5.0, u=leading, formulation=formulation, **options)
    assert run.success
    assert expected.success
    np.testing.assert_allclose(run.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(run.v, expected.v, atol=1e-7)
    np.testing.assert_allclose(run.multiplier("C"), expected.multiplier("C"), atol=1e-5)
    np.testing.assert_allclose(run.driving_force("lead"), expected.multiplier("lead"), atol=1e-5)
    np.testing.assert_allclose(run.power("lead"), expected.power("lead"), atol=1e-5)
    np.testing.assert_allclose(run.work["drivers"], expected.work["drivers"], atol=1e-7)
    assert np.abs(run.energy_error).max() < 1e-7


def test_a_pendulum_on_an_accelerated_pivot_has_its_closed_form():
    """At constant ẍ = a gravity is turned by atan(a/g), and ½ l² φ̇² − l (g cos φ + a sin φ) stays."""
    l, g, a = 2.0, 9.81, 3.0
    m = da.Mechanism("crane", gravity=(0, 0, -g))
    trolley = m.add_body("trolley", mass=7.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("phi", da.Revolute("y"), trolley, m.add_body("hook", mass=5.0, com=(0, 0, -l)))
    system = led(m, "x")
    run = da.simulate(system, {"phi": 0.4}, 6.0, u=[a], rtol=1e-11, atol=1e-12)
    phi, rate = run["phi"], run.v[:, system.v_names.index("phi")]
    kept = 0.5 * l * l * rate**2 - l * (g * np.cos(phi) + a * np.sin(phi))
    np.testing.assert_allclose(kept, kept[0], atol=1e-8)
    np.testing.assert_allclose(run["x"], 0.5 * a * run.t**2, atol=1e-9)
    tension = 5.0 * (g * np.cos(phi) + a * np.sin(phi) + l * rate**2)
    np.testing.assert_allclose(run.driving_force("lead"), 7.0 * a + tension * np.sin(phi), atol=1e-7)
    rest = da.linearize(system, system.state({"phi": np.arctan(a / g)}), u=[a])
    assert sorted(rest.eigenvalues.imag)[-1] == pytest.approx(np.sqrt(np.hypot(g, a) / l))
    assert da.equilibrium(system, {"phi": 0.2, "x": 1.0}).state["x"] == 1.0


def test_a_led_joint_on_a_floating_base_leaves_the_momentum_as_it_is():
    """The drive acts between bodies: linear and angular momentum stay at zero, and the base turns back."""
    m = da.Mechanism("satellite", gravity=(0, 0, 0))
    base = m.add_body("base", mass=10.0, inertia=(2.0, 3.0, 4.0))
    arm = m.add_body("arm", mass=2.0, com=(0.3, 0.1, 0.2), inertia=(0.1, 0.2, 0.3))
    m.add_joint("base", da.Free(), m.ground, base)
    m.add_joint("arm", da.Revolute((1, 2, 3)), base.at(0.5, 0.2, -0.1), arm)
    system = led(m, "arm")
    move = control.lead(system, {"lead": control.quintic(0.0, 2.0, 3.0)})
    run = da.simulate(system, {}, 3.0, u=move, rtol=1e-10, atol=1e-12)
    assert run["arm"][-1] == pytest.approx(2.0, abs=1e-8)
    assert np.abs(system.minus(run.state(), run.state(0))[:6]).max() > 0.05
    assert max(np.abs(system.momentum(run.state(k))).max() for k in range(len(run.t))) < 1e-9
    assert np.abs(run.energy_error).max() < 1e-9


@pytest.mark.parametrize(
    "options", [{"method": "variational", "step": 2e-3}, {"method": "sdirk4"}, {"coordinates": ["A"]}]
)
def test_every_kind_of_method_leads(options):
    system = led(zoo.four_bar(), "A")
    x = system.assemble({"A": 0.6}, v={"A": 0.5})
    best = da.simulate(system, x, 1.5, u={"lead": 0.8}, rtol=1e-10, atol=1e-12)
    run = da.simulate(system, x, 1.5, u={"lead": 0.8}, **options)
    assert run.success
    assert run["A"][-1] == pytest.approx(0.6 + 0.75 + 0.4 * 1.5**2, abs=1e-8)
    np.testing.assert_allclose(run.q[-1], best.q[-1], atol=1e-5)
    assert np.abs(run.energy_error).max() < 1e-3


def test_sensitivities_to_a_kinematic_input_are_those_of_differences():
    system = led(zoo.four_bar(), "A")
    x = system.assemble({"A": 0.6}, v={"A": 0.5})

    def angle(u):
        return da.simulate(system, x, 1.0, u={"lead": u}, rtol=1e-11, atol=1e-12)["D"][-1]

    run = da.simulate(system, x, 1.0, u={"lead": 0.8}, rtol=1e-9)
    expected = (8 * (angle(0.81) - angle(0.79)) - (angle(0.82) - angle(0.78))) / 0.12
    for method in ("forward", "adjoint"):
        found = da.sensitivities(run, of={"D": lambda s: s["D"]}, wrt=["input:lead"], method=method)
        assert np.ravel(found.d("D", "input:lead"))[-1] == pytest.approx(expected, rel=1e-6), method


def test_parameter_slopes_of_a_led_crane_are_those_of_differences():
    """φ̈ = −(g sin φ − a cos φ) / l has slopes by l alone: the trolley's mass changes nothing."""
    m = da.Mechanism("crane", gravity=(0, 0, -10.0))
    l, mass = m.add_parameter("l", 2.0), m.add_parameter("mass", 7.0)
    trolley = m.add_body("trolley", mass=mass)
    m.add_joint("x", da.Prismatic("x"), m.ground, trolley)
    m.add_joint("phi", da.Revolute("y"), trolley, m.add_body("hook", mass=5.0, com=(0, 0, -l)))
    system = led(m, "x")
    model = da.linearize(system, system.state({"phi": 0.4}), u=[3.0])
    rate = (3.0 * np.cos(0.4) - 10.0 * np.sin(0.4)) / 2.0
    np.testing.assert_allclose(da.parameter_slopes(model), [[0, 0], [0, 0], [0, 0], [-rate / 2.0, 0]], atol=1e-12)


def test_a_led_slider_ends_its_run_where_the_crank_cannot_follow():
    """Past the dead point no crank angle has the slider there: the run ends with its records and a sentence."""
    system = led(zoo.slider_crank(), "guide")
    run = da.simulate(system, system.assemble({"A": 1.0}, v={"guide": 0.4}), 5.0)
    assert not run.success
    assert run["guide"][-1] == pytest.approx(0.6, abs=1e-9)
    assert "'lead' leads guide to 0.6, as far as 'C' can follow" in run.message


def test_led_mechanisms_are_copied_merged_and_described():
    m = zoo.four_bar()
    system = led(m, "A")
    x = system.assemble({"A": 0.6}, v={"A": 0.5})
    other = pickle.loads(pickle.dumps(system))
    np.testing.assert_allclose(
        other.acceleration(other.state(x.q, x.v), u={"lead": 2.0}).vdot, system.acceleration(x, u={"lead": 2.0}).vdot
    )
    whole = da.Mechanism("two", gravity=(0, -9.81, 0))
    for prefix in ("a ", "b "):
        whole.merge(m, prefix=prefix)
    both = whole.compile()
    assert set(both.description.prescribed) == {"a lead", "b lead"}
    vdot = both.acceleration(both.state(np.tile(x.q, 2), np.tile(x.v, 2)), u={"b lead": 2.0}).vdot
    np.testing.assert_allclose(vdot[system.nv :], system.acceleration(x, u={"lead": 2.0}).vdot, atol=1e-9)
    report = system.report(x)
    assert report.mobility == 1
    assert report.led == ("A",)
    assert "led by inputs" in str(report)


def test_what_cannot_be_led_is_refused():
    m = zoo.four_bar()
    m.add_kinematic_input("lead", "A")
    with pytest.raises(da.DescriptionError, match="'lead' leads already"):
        m.add_kinematic_input("again", "A")
    m.add_driver("motor", "A", lambda t: t)
    with pytest.raises(da.DescriptionError, match="constraint 'motor' ties A alone"):
        m.compile().acceleration({"A": 0.6})
    system = led(zoo.four_bar(), "A")
    with pytest.raises(da.ArgumentError, match="kinematic input"):
        control.computed_torque(system, control.constant({"A": 1.0}), coordinates=["A"])
    with pytest.raises(da.ArgumentError, match="kinematic inputs"):
        da.simulate(system.without("C"), {}, 1.0, formulation="total_rates")
    with pytest.raises(da.UnknownName, match="asks for kinematic input 'B'; known: lead"):
        control.lead(system, {"B": 1.0})
