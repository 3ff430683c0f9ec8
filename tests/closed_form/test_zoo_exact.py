"""Closed-form motions of zoo.exact, their own published numbers, and the mechanisms that follow them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert import zoo
from dalembert.zoo import exact


def motion(system, x, times, u=None, **options):
    """(q, v) at the times by DOP853, for systems whose q̇ = v."""
    n = system.nv

    def rate(t, y):
        return np.concatenate([y[n:], system.acceleration(system.state(y[:n], y[n:], t), u=u, **options).vdot])

    run = solve_ivp(rate, (0.0, times[-1]), [*x.q, *x.v], "DOP853", times, rtol=1e-11, atol=1e-12)
    return run.y[:n].T, run.y[n:].T


def test_cartesian_pendulum_follows_elliptic_functions():
    amplitude, length, gravity = 2.0, 0.7, 9.81
    system = zoo.cartesian_pendulum(length=length, gravity=gravity).compile(backend="casadi")
    q, v = zoo.particle_start(amplitude - np.pi / 2, radius=length)
    times = np.linspace(0.2, 1.4, 5)
    positions, velocities = motion(system, system.state(q, v), times)
    theta, rate = exact.pendulum(times, amplitude=amplitude, length=length, gravity=gravity)
    expected = length * np.column_stack([np.sin(theta), -np.cos(theta)])
    np.testing.assert_allclose(positions, expected, atol=1e-9)
    np.testing.assert_allclose(
        velocities, length * rate[:, None] * np.column_stack([np.cos(theta), np.sin(theta)]), atol=1e-8
    )


def test_a_pendulum_that_goes_over_the_top():
    system = zoo.chain(1, length=0.5).compile(backend="casadi")
    x = system.state(v={"J1": 10.0})
    times = np.array([0.3, 0.7, 1.1])
    positions, velocities = motion(system, x, times)
    theta, rate = exact.spinning_pendulum(times, speed=10.0, length=0.5)
    np.testing.assert_allclose(positions[:, 0], theta, atol=1e-9)
    np.testing.assert_allclose(velocities[:, 0], rate, atol=1e-9)


def test_period_of_a_pendulum():
    """1.1803405990 × the small-swing period at 90°."""
    assert exact.pendulum_period(amplitude=np.pi / 2, gravity=4 * np.pi**2) == pytest.approx(
        1.18034059901609, rel=1e-13
    )


def test_torque_free_top():
    moments = {"transverse": 0.0005, "axial": 0.001}
    system = zoo.heavy_top(mass=0.0, height=0.0, gravity=0.0, **moments).compile(backend="casadi")
    start, h = np.array([3.0, -1.0, 20.0]), 1e-5
    for t in (0.0, 0.13):
        now = exact.free_top(t, start, **moments)
        rate = (exact.free_top(t + h, start, **moments) - exact.free_top(t - h, start, **moments)) / (2 * h)
        np.testing.assert_allclose(system.forward_dynamics(system.state(v={"tip": now})), rate, atol=1e-5)


def test_steady_precession_of_a_heavy_top():
    """Ω = 66.7359661557 and 2.5460661471 rad/s; the axis keeps its tilt: ω̇ is the body's spin against the cone."""
    rates = exact.precession_rates(I1=0.002, I3=0.001, mgl=0.2943, tilt=np.radians(30), spin=120.0)
    np.testing.assert_allclose(rates, [66.7359661557, 2.5460661471], rtol=1e-10)
    system = zoo.heavy_top().compile(backend="casadi")
    for precession in rates:
        x = system.state(*zoo.heavy_top_start(np.radians(30), 120.0, precession))
        relative = 120.0 - precession * np.cos(np.radians(30))
        np.testing.assert_allclose(system.forward_dynamics(x), np.cross(x.v, [0, 0, relative]), atol=1e-8)


SLEIGH = {"mass": 1.3, "inertia": 0.4, "ahead": 0.25}


def test_numbers_of_the_chaplygin_sleigh():
    v, w, turn = exact.sleigh(3.0, final=2.0, **SLEIGH)
    before = exact.sleigh(-1.0, final=2.0, **SLEIGH)[2]
    far = exact.sleigh(1e3, final=2.0, **SLEIGH)[2] - exact.sleigh(-1e3, final=2.0, **SLEIGH)[2]
    np.testing.assert_allclose(
        [v, w, turn - before, far], [1.998790930297, 0.114281602971, 6.32728364773, 7.645811014405], rtol=1e-11
    )


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.4, 3.0])
def test_the_sleigh_accelerates_as_its_closed_form(t):
    system = zoo.chaplygin_sleigh(**SLEIGH).compile(backend="casadi")
    h = 1e-5

    def velocity(s):
        v, w, heading = exact.sleigh(s, final=2.0, **SLEIGH)
        return np.array([v * np.cos(heading), v * np.sin(heading), w]), heading

    now, heading = velocity(t)
    x = system.state({"float.angle": heading}, {"float": now})
    assert abs(system.speed_residuals(x)[0]) < 1e-13
    rate = (velocity(t + h)[0] - velocity(t - h)[0]) / (2 * h)
    np.testing.assert_allclose(system.acceleration(x).vdot, rate, atol=1e-7)


def test_the_sleigh_goes_round():
    system = zoo.chaplygin_sleigh(**SLEIGH).compile(backend="casadi")
    v, w, _ = exact.sleigh(-1.0, final=2.0, **SLEIGH)
    x = system.state(*zoo.chaplygin_sleigh_start(v, w))
    positions, velocities = motion(system, x, [4.0])
    assert positions[0, 2] == pytest.approx(6.32728364773, abs=1e-9)
    assert np.hypot(*velocities[0, :2]) == pytest.approx(1.998790930297, abs=1e-9)


def turning(system, lean, lean_rate, yaw_rate, spin, radius=0.4):
    """(ψ̈, φ̈, ṡ) from ω̇ = ψ̈ z + φ̈ x′ + φ̇ψ̇ z × x′ + ṡ y″ + s (ψ̇ z + φ̇ x′) × y″."""
    given = {"lean": lean, "lean_rate": lean_rate, "yaw_rate": yaw_rate, "spin": spin, "radius": radius}
    x = system.state(*zoo.rolling_disc_start(**given))
    assert np.abs(system.speed_residuals(x)).max() < 1e-12
    alpha = system.frame_acceleration(x, "disc", system.acceleration(x).vdot, axes="world")[:3]
    ex, ez, axle = np.array([1.0, 0, 0]), np.array([0, 0, 1.0]), np.array([0, np.cos(lean), np.sin(lean)])
    known = lean_rate * yaw_rate * np.cross(ez, ex) + spin * np.cross(yaw_rate * ez + lean_rate * ex, axle)
    return np.linalg.solve(np.column_stack([ez, ex, axle]), alpha - known)


def test_steady_turn_of_a_rolling_disc():
    spin = exact.disc_spin(lean=0.3, yaw_rate=1.7, radius=0.4)
    assert spin == pytest.approx(-3.393740497349, rel=1e-12)
    system = zoo.rolling_disc(mass=2.0, radius=0.4).compile(backend="casadi")
    np.testing.assert_allclose(turning(system, 0.3, 0.0, 1.7, spin), 0.0, atol=1e-12)
    x = system.state(*zoo.rolling_disc_start(lean=0.3, yaw_rate=1.7, spin=spin))
    assert np.linalg.norm(x.v[3:]) == pytest.approx(1.15654245841, rel=1e-11)
    assert np.abs(turning(system, 0.3, 0.0, 1.7, spin + 0.1)).max() > 0.1


@pytest.mark.parametrize("spin", [1.0, 3.5])
def test_upright_rolling_grows_or_swings_as_its_closed_form(spin):
    """φ̈ = c₁φ + c₂ψ̇ and ψ̈ = c₃φ̇, so λ² = c₁ + c₂c₃ = 4g/(5r) − (12/5) s²."""
    system = zoo.rolling_disc(radius=0.4).compile(backend="casadi")
    h = 1e-4

    def slope(which):
        a = turning(system, *(h * which), spin)
        b = turning(system, *(-h * which), spin)
        return (a - b) / (2 * h)

    lean, lean_rate, yaw_rate = (slope(e) for e in np.eye(3))
    assert lean[1] + yaw_rate[1] * lean_rate[0] == pytest.approx(exact.disc_growth(spin=spin, radius=0.4), rel=1e-6)
