"""The worked cases of the papers: null spaces, projectors, constraint inertia, energies and motions."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert import zoo


def end_of_motion(system, x, t):
    """(q, v) at the time t by DOP853."""
    n = system.nv

    def rate(_, y):
        return np.concatenate([y[n:], system.acceleration(system.state(y[:n], y[n:])).vdot])

    run = solve_ivp(rate, (0.0, t), [*x.q, *x.v], "DOP853", rtol=1e-11, atol=1e-12)
    return run.y[:n, -1], run.y[n:, -1]


# --- Spencer --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_null_space_of_the_parallel_four_bar_is_constant(seed):
    """Section 2.4.1: K = [1 0; 0 1; 1 −1; −1 1] everywhere on the parallelogram."""
    system = zoo.parallel_four_bar().compile(backend="casadi")
    q1, q2 = np.random.default_rng(seed).uniform(-3, 3, 2)
    A = system.constraint_matrix(zoo.parallel_four_bar_start(q1, q2)[0])
    K = np.array([[1, 0], [0, 1], [1, -1], [-1, 1]])
    np.testing.assert_allclose(A @ K, 0.0, atol=1e-14)
    assert np.linalg.matrix_rank(A) == 2


def test_five_bar_energies():
    """Both starts, both crossings of example 2, and every turning point have the energy of their motion."""
    system = zoo.five_bar().compile(backend="casadi")

    def energy(a, speed, branch=1):
        return system.energy(system.state(*zoo.five_bar_start(a, speed, branch=branch)))

    assert energy(0.0, 0.0) == pytest.approx(0.0, abs=1e-13)
    assert energy(3.7217733025, 0.0) == pytest.approx(0.0, abs=1e-8)
    assert energy(2.5614120047, 0.0, branch=-1) == pytest.approx(0.0, abs=1e-8)
    for a, speed in ((-np.pi / 3, 0.0), (0.0, 3.0800705586), (2 * np.pi, 5.542065409), (10.2389416884, 0.0)):
        assert energy(a, speed) == pytest.approx(100.8694139779, abs=2e-8)


FALL = [  # example: t, a, ȧ, and the same a quarter of a second later
    (0.1687295442186, 1.3567738932325855, 0.7030224478793159, 3.070638124279039),
    (1.8922113705013937, 6.09273613584294, 3.0298155245873346, 3.31080912397307),
    (-1.0471975511965976, 0.0, -0.8786659192376273, 1.318371593545941),
    (-0.8786659192376273, 1.318371593545941, -0.41043048643668667, 2.394406295144002),
    (3.3984903701665874, 5.420667898104346, 4.615638974939299, 4.408464432559718),
    (8.708485118199935, 5.440748656256048, 9.717236372293547, 2.785404623144572),
]


@pytest.mark.parametrize(("a0", "v0", "a1", "v1"), FALL)
def test_five_bar_falls_as_tabulated(a0, v0, a1, v1):
    """Example 1 from 0.25 and 0.75 s, example 2 from 0, 0.25, 1.25 and 2.25 s on, each for a quarter of a second."""
    system = zoo.five_bar().compile(backend="casadi")
    q, v = end_of_motion(system, system.state(*zoo.five_bar_start(a0, v0)), 0.25)
    known = system.state(*zoo.five_bar_start(a1, v1))
    turns = np.round((known.q - q) / (2 * np.pi)) * 2 * np.pi
    np.testing.assert_allclose(q + turns, known.q, atol=2e-10)
    np.testing.assert_allclose(v, known.v, atol=2e-10)


def test_speeds_the_five_bar_may_have_where_it_is_singular():
    """−ω₁ + 1.5ω₂ + 1.5ω₃ − ω₄ = 0 there, and −ω₁² + 1.5ω₂² + 1.5ω₃² − ω₄² = 0 for the acceleration to exist."""
    system = zoo.five_bar().compile(backend="casadi")
    x = system.state(*zoo.five_bar_start(0.0, 1.3))
    w = np.cumsum(x.v)
    assert abs(np.dot([-1, 1.5, 1.5, -1], w)) < 1e-14
    assert abs(np.dot([-1, 1.5, 1.5, -1], w**2)) < 1e-14
    assert np.abs(system.speed_residuals(x)).max() < 1e-14
    assert system.acceleration(x).residual < 1e-12
    wrong = x.replace(v={"A": 1.0, "B": -1.0, "C": 0.0, "D": -1.0})  # the absolute speeds (1, 0, 0, −1)
    assert np.abs(system.speed_residuals(wrong)).max() < 1e-14
    assert system.acceleration(wrong).residual > 0.1


def test_peers_five_bar():
    """E₀ = −43.5276 J; after 10 s the first two links point to −1.41885093 and 0.74891836."""
    system = zoo.five_bar(span=zoo.PEER_SPAN).compile(backend="casadi")
    x = system.state(*zoo.five_bar_start(-np.pi, span=zoo.PEER_SPAN, branch=-1))
    assert system.energy(x) == pytest.approx(-43.5276, abs=5e-5)
    q, _ = end_of_motion(system, x, 10.0)
    np.testing.assert_allclose([q[0], q[0] + q[1]], [-1.41885093, 0.74891836], atol=2e-8)


def test_peers_four_bar():
    """E₀ = 43.2147 J; the crank is at 51.61620934 after 10 s."""
    system = zoo.four_bar(**zoo.PEER_FOUR_BAR, masses=(1.0, 3.0, 2.4)).compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(np.pi / 2, 2.0, **zoo.PEER_FOUR_BAR))
    assert system.energy(x) == pytest.approx(43.2147, abs=5e-5)
    q, _ = end_of_motion(system, x, 10.0)
    assert q[0] == pytest.approx(51.61620934, abs=2e-8)


# --- Aghili ---------------------------------------------------------------------------------------------------------


def projector(system, x):
    """P = 1 − A⁺A."""
    A = system.constraint_matrix(x)
    return np.eye(system.nv) - np.linalg.pinv(A) @ A


@pytest.mark.parametrize("variant", [0, 1, 2])
def test_particle_on_a_circle(variant):
    """(33)-(35) and what follows. The paper's force 𝓕 is −Aᵀλ; its m q̈ = f∥ leaves out the centripetal part."""
    mass, radius, theta, rate, f = 2.0, 0.7, 0.9, 1.6, np.array([3.0, -1.0])
    system = zoo.particle_on_circle(mass=mass, radius=radius).compile(backend="casadi")
    x = system.state(*zoo.particle_start(theta, rate, radius=radius))
    s, c = np.sin(theta), np.cos(theta)
    along, across = np.array([-s, c]), np.array([c, s])
    P = projector(system, x)
    np.testing.assert_allclose(P, [[s**2, -s * c], [-s * c, c**2]], atol=1e-14)  # (33)
    Cq = -np.linalg.pinv(system.constraint_matrix(x)) @ system.constraint_gamma(x)
    np.testing.assert_allclose(Cq, -x.q * (x.v @ x.v) / radius**2, atol=1e-14)  # (34)
    np.testing.assert_allclose(Cq, -radius * rate**2 * across, atol=1e-14)  # (35)
    a = system.acceleration(x, u=f, formulation="projection", metric="euclidean", variant=variant)
    np.testing.assert_allclose(a.vdot, along * (along @ f) / mass + Cq, atol=1e-13)
    force = across * (across @ f) + mass * (x.v @ x.v) / radius * across
    np.testing.assert_allclose(-a.force, force, atol=1e-13)


@pytest.mark.parametrize(("q1", "rate"), [(0.4, 1.3), (2.2, -0.7), (-1.0, 2.0)])
def test_slider_crank_with_equal_links(q1, rate):
    """(66)-(69); in (68) and (69) the cases belong the other way round."""
    m, l, g = 1.7, 0.6, 9.81
    system = zoo.equal_slider_crank(mass=m, length=l, gravity=g).compile(backend="casadi")
    x = system.state(*zoo.equal_slider_crank_start(q1, rate))
    (c1, c2, c12), (s2,) = np.cos([q1, x.q[1], q1 + x.q[1]]), np.sin([x.q[1]])
    v1, v2 = x.v
    M, A, P = system.mass_matrix(x), system.constraint_matrix(x), projector(system, x)
    np.testing.assert_allclose(M, m * l**2 * np.array([[3 + 2 * c2, 1 + c2], [1 + c2, 1]]), atol=1e-13)
    h = [
        -m * l**2 * s2 * (v2**2 + 2 * v1 * v2) + m * l * g * (c12 + 2 * c1),
        m * l**2 * s2 * v1**2 + m * l * g * c12,
    ]
    np.testing.assert_allclose(system.bias(x), h, atol=1e-12)  # (66)
    np.testing.assert_allclose(A, [[l * (c1 + c12), l * c12]], atol=1e-14)  # (67)
    np.testing.assert_allclose(A, l * c1 * np.array([[2, 1]]), atol=1e-14)
    np.testing.assert_allclose(P, [[0.2, -0.4], [-0.4, 0.8]], atol=1e-14)  # (68)
    inertia = P @ M + m * l**2 * (np.eye(2) - P)
    np.testing.assert_allclose(inertia, m * l**2 * np.array([[1, (1 + c2) / 5], [0, (3 - 2 * c2) / 5]]), atol=1e-13)
    np.testing.assert_allclose(system.constraint_gamma(x), 0.0, atol=1e-13)  # C ≡ 0
    a = system.acceleration(x, formulation="projection", metric="euclidean")
    np.testing.assert_allclose(a.vdot, np.linalg.solve(inertia, -P @ h), rtol=1e-11, atol=1e-11)  # (29)


def test_slider_crank_is_let_go_where_it_is_singular():
    """q₁ = π/2: A = 0, P = 1, and the accelerations are those of the free double pendulum."""
    system = zoo.equal_slider_crank(length=0.6).compile(backend="casadi")
    x = system.state(*zoo.equal_slider_crank_start(np.pi / 2, 0.8))
    assert np.abs(system.constraint_matrix(x)).max() < 1e-15
    a = system.acceleration(x, formulation="projection", metric="euclidean")
    np.testing.assert_allclose(a.vdot, system.forward_dynamics(x), atol=1e-12)
