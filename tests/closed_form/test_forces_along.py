"""Inverse dynamics along motions: closed forms of driving torques, energy per cycle, and the way back by simulation."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo


def slider_crank_torque(angle, speed, rise, *, crank=0.15, rod=0.45, masses=(1.0, 1.5, 2.0), gravity=9.81):
    """Torque on the crank by Lagrange's equation in its angle: I(A) Ä + ½ I′(A) Ȧ² + V′(A), slopes in closed form."""
    s, c = np.sin(angle), np.cos(angle)
    r = crank / rod
    root = np.sqrt(1 - (r * s) ** 2)  # cos of the rod's angle b, sin b = −r s
    b1 = -r * c / root
    b2 = r * s / root - r * c * (r * r * s * c) / root**3
    x1 = -crank * s + rod * r * s * b1  # slider: crank c + rod cos b
    x2 = -crank * c + rod * r * (c * b1 + s * b2)
    # rod's centre: crank (c, s) + rod/2 (cos b, sin b)
    gx1, gy1 = -crank * s + rod / 2 * r * s * b1, crank * c + rod / 2 * root * b1
    gx2 = -crank * c + rod / 2 * r * (c * b1 + s * b2)
    gy2 = -crank * s + rod / 2 * (root * b2 + r * s * b1 * b1)
    m1, m2, m3 = masses
    inertia = m1 * crank**2 / 3 + m2 * (gx1**2 + gy1**2) + m2 * rod**2 / 12 * b1**2 + m3 * x1**2
    half_slope = m2 * (gx1 * gx2 + gy1 * gy2) + m2 * rod**2 / 12 * b1 * b2 + m3 * x1 * x2
    weight = gravity * (m1 * crank / 2 * c + m2 * gy1)
    return inertia * rise + half_slope * speed**2 + weight


MOTOR = {"actuated": ["torque"]}


def test_the_torque_of_a_slider_crank_is_that_of_lagranges_equation():
    system = zoo.slider_crank().compile()
    wave = control.Trajectory(lambda t: 0.4 + 5 * t + 0.3 * ca.sin(7 * t), ["A"])
    t = np.linspace(0, 1.2, 49)
    start = system.state(*zoo.slider_crank_start(0.4))
    forces = control.actuator_forces_along(system, wave, t, state=start, **MOTOR)
    truth = slider_crank_torque(0.4 + 5 * t + 0.3 * np.sin(7 * t), 5 + 2.1 * np.cos(7 * t), -14.7 * np.sin(7 * t))
    assert forces.success
    assert np.abs(forces["torque"] - truth).max() < 1e-9 * np.abs(truth).max()
    assert np.abs(forces.power[:, 0] - truth * (5 + 2.1 * np.cos(7 * t))).max() < 1e-8 * np.abs(truth).max()
    assert forces.peak["torque"] == pytest.approx(np.abs(truth).max())


def test_forces_bring_the_motion_back_in_a_simulation():
    """From the first state with the forces as controller: the slider-crank runs through the same positions."""
    system = zoo.slider_crank().compile()
    t = np.linspace(0, 0.5, 101)
    A = 0.4 + 2 * t + 4 * t**3
    forces = control.actuator_forces_along(
        system, {"A": A}, t, state=system.state(*zoo.slider_crank_start(0.4)), **MOTOR
    )
    run = da.simulate(system, forces.state(0), 0.5, u=forces, t_eval=t, rtol=1e-10)
    assert run.success
    assert np.abs(run["A"] - A).max() < 1e-6
    again = control.actuator_forces_along(system, run, **MOTOR)
    assert np.abs(again["torque"] - forces["torque"])[3:-3].max() < 1e-4 * forces.peak["torque"]


def test_energy_balances_over_the_motion_and_vanishes_over_a_cycle():
    """∫ P dt is the gain of energy; a cycle at rest-free steady speed has none, but spends and wins back."""
    system = zoo.slider_crank().compile()
    start = system.state(*zoo.slider_crank_start(0.2))
    part = control.quintic({"A": 0.2}, {"A": 2.0}, duration=0.8)
    forces = control.actuator_forces_along(system, part, state=start, **MOTOR)
    gain = system.potential_energy(forces.state(-1)) - system.potential_energy(forces.state(0))
    assert len(forces) == 201
    assert forces.energy["torque"] == pytest.approx(gain, rel=1e-7)
    t = np.linspace(0, 0.5, 121)
    turn = control.actuator_forces_along(system, {"A": 0.2 + 4 * np.pi * t}, t, state=start, cyclic=True, **MOTOR)
    assert abs(turn.energy["torque"]) < 1e-6 * turn.spent["torque"]
    assert turn(0.7) == pytest.approx(turn(0.2), rel=1e-9)


def test_a_cycle_in_few_points_takes_no_energy():
    """The power of a cycle is periodic and smooth, so that thirty-seven values of it integrate to rounding."""
    system, t = zoo.slider_crank().compile(), np.linspace(0, 0.5, 37)
    start = system.state(*zoo.slider_crank_start(0.2))
    turn = control.actuator_forces_along(system, {"A": 0.2 + 4 * np.pi * t}, t, state=start, cyclic=True, **MOTOR)
    (taken,), (spent,) = turn.energy.values(), turn.spent.values()
    assert abs(taken) < 1e-11 * spent


def test_two_motors_share_the_torque_of_a_driven_run():
    """Forces for the motion of a driven five-bar: the drivers' own, and with both motors no more in sum of squares."""
    m = zoo.five_bar()
    driven = zoo.five_bar()
    driven.add_driver("left drive", "A", lambda t: 2.0 + 0.5 * t * t)
    driven.add_driver("right drive", "D", lambda t: -1.2 + 0.3 * t)
    plain, led = m.compile(), driven.compile()
    start = led.assemble({"A": 2.0, "D": -1.2}, guess=zoo.five_bar_start()[0], v={"A": 0.0, "D": 0.3})
    run = da.simulate(led, start, 0.4, t_eval=np.linspace(0, 0.4, 9))
    forces = control.actuator_forces_along(plain, run)
    assert forces.success
    for k in range(len(forces)):
        a = plain.acceleration(forces.state(k), u=forces.u[k])
        assert np.abs(a.vdot - forces.vdot[k]).max() < 1e-8 * (1 + np.abs(a.vdot).max())
    one = control.actuator_forces_along(plain, run, actuated=["left"])
    assert not one.success
    assert "first at t = 0 s" in one.message
    ideal = control.actuator_forces_along(plain, run, actuated=["A", "D"])
    assert np.abs(ideal["A"] - run.multiplier("left drive")).max() < 1e-8
    assert np.abs(ideal["D"] - run.multiplier("right drive")).max() < 1e-8


def test_a_swept_motion_and_a_table_with_names():
    pandas = pytest.importorskip("pandas")
    system = zoo.slider_crank().compile()
    angles = np.linspace(0, 2 * np.pi, 37)
    turn = system.sweep({"A": angles}, system.state(*zoo.slider_crank_start(0.0)), speed=10.0)
    forces = control.actuator_forces_along(system, turn, **MOTOR)
    assert np.abs(forces["torque"] - turn.driving_force("A")).max() < 1e-9 * np.abs(turn.driving_force("A")).max()
    table = pandas.DataFrame({"A": angles}, index=angles / 10)
    same = control.actuator_forces_along(system, table, state=turn.state(0), **MOTOR)
    assert np.abs(same["torque"] - forces["torque"]).max() < 1e-6 * forces.peak["torque"]
    told = forces.to_pandas()
    assert told["force.torque"].to_numpy() == pytest.approx(forces["torque"])
    assert {"q.A", "v.guide", "power.torque", "lambda.C.x"} <= set(told.columns)
