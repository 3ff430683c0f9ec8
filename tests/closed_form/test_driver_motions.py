"""What drivers take: numbers, tables, trajectories, functions of time."""

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import dalembert as da

TIMES, VALUES = np.array([0.5, 1.0, 1.8, 2.0, 3.5]), np.array([0.2, 0.9, -0.4, 0.1, 0.6])


def slider(motion, **more) -> da.System:
    m = da.Mechanism("slider", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_driver("drive", "x", motion, **more)
    return m.compile("casadi")


def motion_at(system, t):
    """Position, speed and acceleration that a driver asks for, and its force on 2 kg."""
    x = system.assemble(t=t)
    a = system.acceleration(x)
    assert a.multipliers[0] == pytest.approx(2.0 * a.vdot[0])
    return x["x"], x.rate("x"), a.vdot[0]


@pytest.mark.parametrize("ends", ["natural", "clamped", "cyclic"])
def test_a_table_is_the_cubic_spline_through_its_points(ends):
    values = VALUES if ends != "cyclic" else np.append(VALUES[:-1], VALUES[0])
    spline = CubicSpline(TIMES, values, bc_type="periodic" if ends == "cyclic" else ends)
    system = slider(da.Table(TIMES, values, ends=ends))
    for t in (0.5, 0.7, 1.0, 1.9, 2.7, 3.49):
        np.testing.assert_allclose(motion_at(system, t), [spline(t, k) for k in range(3)], atol=1e-11)


def test_a_table_goes_on_as_its_ends_say():
    natural, clamped = (slider(da.Table(TIMES, VALUES, ends=e)) for e in ("natural", "clamped"))
    spline = CubicSpline(TIMES, VALUES, bc_type="natural")
    np.testing.assert_allclose(motion_at(natural, 0.0), [0.2 - 0.5 * spline(0.5, 1), spline(0.5, 1), 0], atol=1e-12)
    np.testing.assert_allclose(motion_at(natural, 5.5), [0.6 + 2 * spline(3.5, 1), spline(3.5, 1), 0], atol=1e-12)
    np.testing.assert_allclose(motion_at(clamped, 0.1), [0.2, 0, 0], atol=1e-12)
    np.testing.assert_allclose(motion_at(clamped, 9.0), [0.6, 0, 0], atol=1e-12)


def test_a_cyclic_table_repeats_and_advances_by_what_a_turn_brings():
    """A shaft that turns once in 3 s, unevenly: angle, speed and acceleration of every turn are those of the first."""
    angle = np.array([0.2, 0.9, 3.4, 4.1, 0.2 + 2 * np.pi])
    system = slider(da.Table(TIMES, angle, ends="cyclic"))
    for t in (0.5, 0.8, 2.4):
        first, third, before = (np.array(motion_at(system, t + 3.0 * k)) for k in (0, 2, -1))
        np.testing.assert_allclose(third - first, [4 * np.pi, 0, 0], atol=1e-11)
        np.testing.assert_allclose(before - first, [-2 * np.pi, 0, 0], atol=1e-11)
    late, early = (np.array(motion_at(system, 3.5 + s * 1e-9)) for s in (1, -1))
    np.testing.assert_allclose(late, early, atol=1e-6)


def test_a_pair_of_times_and_values_is_a_table_and_two_points_make_a_line():
    system = slider(([0, 2], [1.0, 5.0]))
    np.testing.assert_allclose(motion_at(system, 0.5), [2, 2, 0], atol=1e-14)
    np.testing.assert_allclose(motion_at(system, 3.0), [7, 2, 0], atol=1e-14)


def test_a_number_holds_and_an_expression_of_parameters_too():
    assert motion_at(slider(0.4), 1.0) == pytest.approx((0.4, 0, 0))
    m = da.Mechanism()
    joint = m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    L = m.add_parameter("L", 0.3)
    m.add_driver("hold", joint, 2 * L)
    assert m.compile("casadi").assemble(p={"L": 0.5})["x"] == pytest.approx(1.0)


def test_a_trajectory_drives_with_its_rates():
    move = da.control.quintic([0.0], [1.0], 2.0)
    np.testing.assert_allclose(motion_at(slider(move), 0.7), np.ravel(move(0.7)), atol=1e-13)


def test_points_are_driven_by_tables_points_and_trajectories():
    path = np.array([[0, 0, 0], [1, 2, 3], [1, 1, 1.0], [0, 1, 0]])
    spline = CubicSpline([0, 1, 3, 4], path, bc_type="natural")
    for motion, truth in (
        (([0, 1, 3, 4], path), [spline(2.2, k) for k in range(3)]),
        ((1.0, 2.0, 3.0), [[1, 2, 3], [0, 0, 0], [0, 0, 0]]),
        (
            da.control.Trajectory(lambda t: [t, t**2, ca.sin(t)]),
            [[2.2, 2.2**2, np.sin(2.2)], [1, 4.4, np.cos(2.2)], [0, 2, -np.sin(2.2)]],
        ),
    ):
        m = da.Mechanism(gravity=(0, 0, 0))
        m.add_joint("F", da.Free(), m.ground, m.add_body("b", mass=2.0, inertia=(1, 1, 1)))
        m.add_point_driver("carry", "b", motion)
        system = m.compile("casadi")
        x = system.assemble(t=2.2)
        found = x.position("b"), x.velocity("b"), system.acceleration(x).vdot[3:]
        np.testing.assert_allclose(found, truth, atol=1e-11)


@pytest.mark.parametrize(
    ("motion", "message"),
    [
        (lambda m: ([0, 1], [1, 2, 3]), "2 times and values of shape \\(3,\\)"),
        (lambda m: ([0, 0], [1, 2]), "the times increasing"),
        (lambda m: ([0, 1], [[1, 2], [3, 4]]), "has 2 values a time; needed: 1"),
        (lambda m: ([0, np.nan], [1, 2]), "the times of the table of a motion"),
        (lambda m: da.Table([0, 1], [1, 2], ends="periodic"), "needed: 'natural', 'clamped' or 'cyclic'"),
        (lambda m: "fast", "needed: a function of time"),
        (lambda m: None, "needed: a function of time"),
        (lambda m: np.inf, "every number must be finite"),
        (lambda m: ca.SX.sym("k"), "uses the symbol k"),
        (lambda m: [1.0, 2.0], "has shape"),
    ],
)
def test_motions_that_make_no_sense_are_refused(motion, message):
    m = da.Mechanism()
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    with pytest.raises(da.DescriptionError, match=message):
        m.add_driver("drive", "x", motion(m))
    assert not m.constraints
