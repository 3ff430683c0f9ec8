"""A sphere outside another: where balls leave a dome, by hand; what holds one between two others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

R, r, g = 1.0, 0.2, 9.81


def newton(t: float, y: np.ndarray, friction: float) -> np.ndarray:
    """Newton's and Euler's equations of a homogeneous ball on a fixed sphere: y its centre, velocity, angular velocity.

    Rolling (friction = ∞): v = r ω × n gives 7/5 v̇ₜ = gₜ + 2/5 r ωₙ n × ṅ, and ωₙ is constant. Sliding: a force μN
    against the slip v − r ω × n.
    """
    c, v, w = y.reshape(3, 3)
    n = c / np.linalg.norm(c)
    rate, down = v / (R + r), np.array([0, 0, -g])
    across = down - n * (down @ n)
    if np.isinf(friction):
        tangential = (across + 0.4 * r * (w @ n) * np.cross(n, rate)) / 1.4
    else:
        slip = v - r * np.cross(w, n)
        tangential = across - friction * (-down @ n - v @ v / (R + r)) * slip / np.linalg.norm(slip)
    turning = np.cross(-r * n, tangential - across) / (0.4 * r**2)
    return np.concatenate([v, tangential - n * (v @ v) / (R + r), turning])


@pytest.mark.parametrize("turn", [0.0, 1.0, 2.2])
@pytest.mark.parametrize("friction", [np.inf, 0.15])
def test_a_ball_that_spins_and_goes_sideways_moves_as_newton_says_whatever_the_frame(turn, friction):
    """Rolling and sliding off any vertical plane, with axes of the sphere turned by `turn`: tangents far from them."""
    n = np.array([np.sin(0.4), 0, np.cos(0.4)])
    v = np.array([0.3 * np.cos(0.4), 0.8, -0.3 * np.sin(0.4)])
    w = np.cross(n, v) / r + 6.0 * n
    if np.isfinite(friction):
        w = 30.0 * n + np.array([0.0, 10.0, 0.0])
    m = da.Mechanism("dome", gravity=(0, 0, -g))
    ball = m.add_body("ball", mass=2.0, inertia=da.sphere_inertia(2.0, r))
    m.add_joint("ball", da.Free(), m.ground, ball)
    frame = m.ground.at(0, 0, 0, rotation=da.rotation((1.0, -2.0, 1.5), turn))
    coefficient = 50.0 if np.isinf(friction) else friction
    m.add_contact("dome", ball, radius=r, on=frame, on_radius=R, friction=coefficient)
    system = m.compile(backend="casadi")
    pose = np.eye(4)
    pose[:3, 3] = (R + r) * n
    start = system.state({"ball": pose}, {"ball": np.concatenate([w, v])})
    np.testing.assert_allclose(start.velocity("ball"), v, atol=1e-12)
    run = da.simulate(system, start, 0.3, rtol=1e-10, atol=1e-11)
    assert run.success
    told = solve_ivp(
        newton, (0, 0.3), np.concatenate([pose[:3, 3], v, w]), "DOP853", args=(friction,), rtol=1e-11, atol=1e-12
    )
    end = run.state(-1)
    np.testing.assert_allclose(end.position("ball"), told.y[:3, -1], atol=1e-7)
    np.testing.assert_allclose(end.velocity("ball"), told.y[3:6, -1], atol=1e-6)


def leaving_angle(start: float, friction: float, tilt: float) -> float:
    """The angle from the vertical at which a ball leaves a dome, from rest at `start`; all of it turned by `tilt`."""
    T = da.rotation((1.0, 2.0, -1.0), tilt)
    m = da.Mechanism("dome", gravity=T @ [0, 0, -g])
    ball = m.add_body("ball", mass=2.0, inertia=da.sphere_inertia(2.0, r))
    m.add_joint("ball", da.Free(), m.ground, ball)
    m.add_contact("dome", ball, radius=r, on=m.ground.at(0, 0, 0, rotation=T), on_radius=R, friction=friction)
    x = (R + r) * (T @ [np.sin(start), 0, np.cos(start)])
    system = m.compile(backend="casadi")
    pose = np.eye(4)
    pose[:3, 3] = x
    run = da.simulate(system, system.state({"ball": pose}), 3.0, rtol=1e-9, atol=1e-10)
    assert run.success
    left = [s for s in run.switches if s.what == "dome left"]
    up = run(left[0].t).position("ball") @ (T @ [0, 0, 1.0])
    assert np.abs(run.position("ball") @ T[:, 1]).max() < 1e-6  # it stays in its plane
    return float(np.arccos(up / (R + r)))


@pytest.mark.parametrize("tilt", [0.0, 0.9])
def test_a_ball_that_slides_leaves_a_dome_at_two_thirds(tilt):
    """½ v² = g (R + r)(cos a − cos θ) and v² = g (R + r) cos θ: cos θ = ⅔ cos a."""
    assert np.cos(leaving_angle(0.3, 0.0, tilt)) == pytest.approx(2 / 3 * np.cos(0.3), rel=1e-6)


def test_a_ball_that_rolls_leaves_a_dome_at_ten_seventeenths():
    """With 7/10 v² in the place of ½ v²: cos θ = 10/17 cos a. It slips only where the load is all but gone."""
    assert np.cos(leaving_angle(0.3, 1e5, 0.9)) == pytest.approx(10 / 17 * np.cos(0.3), rel=2e-4)


@pytest.mark.parametrize("friction", [0.65, 0.55])
def test_a_ball_between_two_fists_needs_enough_friction(friction):
    """Pressed with 8 N from both sides, 1 kg is held where 2 · 8 N · μ > 9.81 N, else it falls with what is missing."""
    m = da.Mechanism("fists", gravity=(0, 0, -g))
    ball = m.add_body("ball", mass=1.0, inertia=da.sphere_inertia(1.0, r))
    m.add_joint("ball", da.Free(), m.ground, ball)
    for side, name in ((-1, "left"), (1, "right")):
        fist = m.add_body(name, mass=0.5)
        m.add_joint(name, da.Prismatic("x"), m.ground.at(side * (r + 0.1), 0, 0), fist)
        m.add_joint_force(f"{name} push", name, -8.0 * side)
        turned = ball.at(0, 0, 0, rotation=da.rotation("y", side * np.pi / 2))  # z of the frame towards the fist
        m.add_contact(f"{name} contact", fist, radius=0.1, on=turned, on_radius=r, friction=friction)
    run = da.simulate(m.compile(backend="casadi"), {}, 0.01)
    assert run.success
    missing = max(0.0, g - 2 * 8.0 * friction)
    assert -run.position("ball")[-1, 2] == pytest.approx(0.5 * missing * 0.01**2, rel=1e-3, abs=1e-9)
