"""What a user gives is checked where it enters: with the argument's name, before CasADi or machine code sees it."""

import math

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo


@pytest.fixture
def m():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)))
    return m


@pytest.mark.parametrize("mass", ["1", True, 1j, np.longdouble(1), b"1", [1.0, 2.0], 10**400, {}, np.array([True])])
def test_a_mass_is_one_real_number(m, mass):
    with pytest.raises(da.DescriptionError, match="the mass of body 'x'"):
        m.add_body("x", mass=mass)


@pytest.mark.parametrize("mass", [np.float32(2), np.int8(2), 2, np.array(2.0), [2.0]])
def test_numbers_of_every_kind_are_taken(m, mass):
    assert m.add_body("x", mass=mass).mass == 2.0


def test_a_frame_takes_three_numbers_or_one_list_of_three_or_two(m):
    expected = m.ground.at(1, 2, 3).T.p
    for place in ((1, 2, 3), [1, 2, 3], np.array([1, 2, 3]), ca.DM([1, 2, 3])):
        assert np.array_equal(m.ground.at(place).T.p, expected)
        assert np.array_equal(m.bodies["rod"].frame.at(place).T.p, expected)
    with pytest.raises(da.DescriptionError, match="the position of a frame"):
        m.ground.at((1, 2, 3), 1.0)
    assert np.array_equal(m.ground.at((1, 2)).T.p, m.ground.at(1, 2, 0).T.p)
    for wrong in ((1,), (1, 2, 3, 4)):
        with pytest.raises(da.DescriptionError, match="the position of a frame"):
            m.ground.at(wrong)


LAWS = {
    "math.sin alone": lambda m: m.add_joint_force("f", "A", lambda s: -math.sin(s["A"])),
    "math.sin in a sum": lambda m: m.add_joint_force("f", "A", lambda s: -s.rate("A") - math.sin(s["A"])),
    "math.sin of time": lambda m: m.add_joint_force("f", "A", lambda s: s["A"] * math.cos(s.t)),
    "a wrench": lambda m: m.add_wrench("f", "rod", force=lambda s: [math.exp(s["A"]), 0, s.t]),
    "a tension": lambda m: m.add_cable("f", ["rod", m.ground.at(1, 1, 0)], tension=lambda s: 1 + math.sin(s["A"])),
    "a driver": lambda m: m.add_driver("f", "A", lambda t: math.sin(t)),
    "a driver in a sum": lambda m: m.add_driver("f", "A", lambda t: t + math.sin(t)),
    "a spline": lambda m: m.add_driver("f", "A", lambda t: np.interp(float(t), [0.0, 1.0], [0.0, 1.0])),
    "a point": lambda m: m.add_point_driver("f", "rod", lambda t: [t, math.sin(t), 0]),
    "a row": lambda m: m.add_constraint("f", holonomic=lambda s: s["A"] - math.sin(s["A"])),
    "an expression": lambda m: m.add_joint_force("f", "A", m.add_input("u") + float("nan")),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_that_turns_symbols_into_floats_is_refused_when_compiled(m, law):
    """math.sin of a CasADi symbol is NaN: all results would be."""
    LAWS[law](m)
    with pytest.raises(da.DescriptionError, match=r"'f'.*(NaN|nan|on expressions)"):
        m.compile()


def test_a_law_may_be_infinite_where_it_is_not_used(m):
    m.add_joint_force("f", "A", lambda s: ca.if_else(s["A"] > 10, ca.inf, -s["A"]))
    assert np.isfinite(m.compile("casadi").applied_forces({"A": 0.3})).all()


def test_the_motion_of_a_driver_is_a_function_of_time_a_table_or_a_number(m):
    with pytest.raises(da.DescriptionError, match=r"the motion of driver 'm' is 'fast' \(str\); needed: a function"):
        m.add_driver("m", "A", "fast")
    m.add_driver("m", "A", 0.5)
    assert m.compile("casadi").assemble()["A"] == pytest.approx(0.5)


def test_a_driver_that_uses_an_input_is_refused_when_compiled(m):
    u = m.add_input("u")
    m.add_driver("m", "A", lambda t: t * u)
    with pytest.raises(da.DescriptionError, match="row 'drive' of driver 'm' uses u, which is an input"):
        m.compile()


def test_a_law_that_uses_an_unknown_symbol_is_refused_when_compiled(m):
    m.add_joint_force("f", "A", lambda s: ca.SX.sym("k") * s["A"])
    with pytest.raises(da.DescriptionError, match="joint force 'f' uses k, which is neither"):
        m.compile()


def test_a_trajectory_can_be_a_driver(m):
    move = control.quintic({"A": 0.2}, {"A": 1.0}, duration=2.0)
    m.add_driver("m", "A", move)
    system = m.compile("casadi")
    value, rate, acceleration = move(0.7)
    x = system.state({"A": value[0]}, v={"A": rate[0]}, t=0.7)
    assert abs(system.residuals(x)).max() < 1e-15
    assert abs(system.speed_residuals(x)).max() < 1e-15
    np.testing.assert_allclose(system.acceleration(x).vdot, acceleration, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-308, 1e200, 1e308])
def test_axes_of_any_length_are_directions(scale):
    np.testing.assert_allclose(da.Revolute((scale, scale, 0)).axis, [0.5**0.5, 0.5**0.5, 0], rtol=1e-12)


def test_parameters_can_be_set_by_the_names_that_are_listed():
    m = da.Mechanism("p")
    g = m.add_parameter("g", [1.0, 2.0])
    m.add_joint("A", da.Prismatic("x"), m.ground, m.add_body("b", mass=g[1]))
    system = m.compile("casadi")
    assert system.p_names == ["g[0]", "g[1]"]
    assert system.mass_matrix({}, p={"g[1]": 5.0}) == 5.0
    assert system.with_parameters({"g[1]": 5.0}).mass_matrix({}) == 5.0
    assert system.mass_matrix({}) == 2.0
    for name in ("g[2]", "g[-1]", "g[x]", "g[1", "h[0]"):
        with pytest.raises(da.UnknownName, match="no parameter"):
            system.mass_matrix({}, p={name: 5.0})


@pytest.mark.parametrize("bad", [[np.nan], {"torque": np.inf}, "1", [1j], [True], 3.0, {"torque": None}])
def test_inputs_are_finite_numbers(bad):
    system = zoo.four_bar().compile("casadi")
    with pytest.raises(da.ArgumentError, match="input"):
        system.applied_forces({"A": 0.6}, u=bad)


def test_a_rotation_that_is_none_is_refused_as_a_position():
    m = da.Mechanism("ball")
    m.add_joint("S", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    system = m.compile("casadi")
    with pytest.raises(da.ArgumentError, match=r"joint 'S'.*not a rotation"):
        system.state({"S": 2 * np.eye(3)})


def test_long_chains_are_checked_without_recursion():
    """1000 point masses: the check of the mass matrix follows the chain in a loop."""
    from dalembert.mechanism.checks import check_masses
    from dalembert.mechanism.layout import TreeLayout

    m = zoo.chain(1000)
    check_masses(TreeLayout(m.snapshot()), m.parameters)


def test_taking_constraints_away_takes_them_out_of_the_print():
    system = zoo.four_bar().compile("casadi")
    assert "C (" in str(system)
    assert "C (" not in str(system.without("C"))
