"""Servos: coordinates that go where an input wants them."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da


def slider(gravity=0.0, **options) -> da.System:
    m = da.Mechanism("slider", gravity=(-gravity, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_servo("wanted", "x", **options)
    return m.compile()


def test_the_linear_model_of_a_servo_is_a_mass_on_a_spring_that_the_input_pulls():
    """m ẍ = k (u₀ − x) + d (u₁ − ẋ): A and B in closed form, with one and with two inputs."""
    k, d, m = 50.0, 3.0, 2.0
    for rate, B in ((False, [[0], [k / m]]), (True, [[0, 0], [k / m, d / m]])):
        system = slider(stiffness=k, damping=d, rate=rate)
        model = da.linearize(system, system.state({"x": 0.1}), u=[0.1, 0.0][: 1 + rate], independent=["x"])
        np.testing.assert_allclose(model.A, [[0, 1], [-k / m, -d / m]], atol=1e-12)
        np.testing.assert_allclose(model.B, B, atol=1e-12)
        assert system.input_matrix(system.state()) == pytest.approx(np.array([[k, d]])[:, : 1 + rate])


def test_a_servo_gives_way_by_load_over_stiffness_and_stops_at_its_limit():
    system = slider(gravity=9.81, stiffness=500.0, damping=80.0, limits=(-40.0, 40.0))
    run = da.simulate(system, {}, 6.0, u=[0.3])
    assert run["x"][-1] == pytest.approx(0.3 - 2.0 * 9.81 / 500.0, abs=1e-6)
    rest = [system.forward_dynamics(system.state([0.0]), u=[u])[0] for u in (10.0, -10.0)]
    assert rest == pytest.approx([40.0 / 2 - 9.81, -40.0 / 2 - 9.81])


def test_stiff_servos_with_rates_approach_the_driver_of_the_same_motion():
    """A four-bar whose crank follows 0.6 + 0.3 sin 2t: the error falls as one over the stiffness, ten times each."""

    def four_bar(servo):
        m = da.zoo.four_bar()
        m.add_servo("servo", "A", stiffness=servo, damping=servo / 20.0, rate=True)
        return m.compile()

    def wanted(t, s):
        return {"servo": [0.6 + 0.3 * ca.sin(2 * t), 0.6 * ca.cos(2 * t)]}

    errors = []
    for k in (1e3, 1e4):
        system = four_bar(k)
        start = system.assemble({"A": 0.6}, v={"A": 0.6})
        run = da.simulate(system, start, 1.5, u=da.expression(wanted))
        errors.append(np.abs(run["A"] - 0.6 - 0.3 * np.sin(2 * run.t))[run.t > 0.5].max())
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.1)
    assert errors[1] < 2e-3


def test_servos_are_for_coordinates_and_drivers_are_not_for_inputs():
    m = da.Mechanism()
    m.add_joint("F", da.Free(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    P = m.add_joint("P", da.Planar("z"), m.ground, m.add_body("c", mass=1.0, inertia=da.planar_inertia(1.0)))
    with pytest.raises(da.DescriptionError, match="a quaternion"):
        m.add_servo("s", "F.qw", stiffness=1.0)
    with pytest.raises(da.UnknownName, match="coordinate 'P'"):
        m.add_servo("s", P, stiffness=1.0)
    with pytest.raises(da.DescriptionError, match="rate of servo 's'"):
        m.add_servo("s", "P.x", stiffness=1.0, rate=2)
    assert not m.inputs
    u = m.add_servo("s", "P.x", stiffness=1.0)
    m.add_driver("d", "P.y", lambda t: u)
    with pytest.raises(da.DescriptionError, match=r"s, which is an input; .* use add_kinematic_input or add_servo"):
        m.compile()
