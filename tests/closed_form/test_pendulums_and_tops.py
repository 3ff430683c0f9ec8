"""Accelerations of mechanisms whose equations of motion fit on a line."""

import numpy as np
import pytest

import dalembert as da

G = 9.81


def pendulum(n: int, mass=1.3, length=0.7) -> da.System:
    """n point masses on massless links, hanging along −y at q = 0, angles relative."""
    m = da.Mechanism("pendulum", gravity=(0, -G, 0))
    parent = m.ground
    for k in range(n):
        link = m.add_body(f"link{k}", mass=mass, com=(0, -length, 0))
        m.add_joint(f"q{k}", da.Revolute("z"), parent.at(0, -length if k else 0, 0), link)
        parent = link
    return m.compile(backend="casadi")


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, np.pi, -2.0, 40.0])
def test_pendulum_accelerates_by_minus_g_over_l_sine(angle):
    system = pendulum(1)
    assert system.forward_dynamics([angle]) == pytest.approx([-G / 0.7 * np.sin(angle)], abs=1e-13)
    assert system.potential_energy([angle]) == pytest.approx(-1.3 * G * 0.7 * np.cos(angle), rel=1e-14)


def test_double_pendulum_obeys_lagranges_equations():
    """In absolute angles, Δ = θ₁ − θ₂, equal masses and lengths:

    2 l θ̈₁ + l θ̈₂ cos Δ + l θ̇₂² sin Δ + 2 g sin θ₁ = 0,  l θ̈₂ + l θ̈₁ cos Δ − l θ̇₁² sin Δ + g sin θ₂ = 0.
    """
    system, l = pendulum(2), 0.7
    rng = np.random.default_rng(0)
    for _ in range(10):
        (t1, t2), (w1, w2) = rng.uniform(-3, 3, 2), rng.normal(size=2)
        a = system.forward_dynamics(system.state([t1, t2 - t1], [w1, w2 - w1]))
        a1, a2, d = a[0], a[0] + a[1], t1 - t2
        assert 2 * l * a1 + l * a2 * np.cos(d) + l * w2**2 * np.sin(d) + 2 * G * np.sin(t1) == pytest.approx(
            0, abs=1e-11
        )
        assert l * a2 + l * a1 * np.cos(d) - l * w1**2 * np.sin(d) + G * np.sin(t2) == pytest.approx(0, abs=1e-11)


@pytest.mark.parametrize(
    ("n", "roots"),
    [
        (2, [0.585786437626905, 3.414213562373095]),
        (3, [0.4157745567834791, 2.294280360279042, 6.289945082937479]),
        (5, [0.26356031971814, 1.41340305910652, 3.59642577104072, 7.08581000585884, 12.6408008442758]),
    ],
)
def test_hanging_chain_vibrates_at_the_roots_of_laguerres_polynomial(n, roots):
    """ω² = (g/l) × roots of L_n, from M and a central difference of g(q)."""
    system, h = pendulum(n), 1e-5
    K = np.column_stack([(system.gravity_vector(h * e) - system.gravity_vector(-h * e)) / (2 * h) for e in np.eye(n)])
    values = np.sort(np.linalg.eigvals(np.linalg.solve(system.mass_matrix(np.zeros(n)), K)).real)
    np.testing.assert_allclose(values * 0.7 / G, roots, rtol=1e-8)


@pytest.mark.parametrize("precession", [66.7359661557, 2.5460661471])
def test_heavy_top_precesses_steadily(precession):
    """I₁ cos θ Ω² − I₃ ω₃ Ω + m g l = 0 has two roots; at both the nutation does not accelerate."""
    I1, I3, mgl, theta, w3 = 0.002, 0.001, 0.2943, np.pi / 6, 120.0
    mass, l = 3.0, mgl / (3.0 * G)
    m = da.Mechanism("top", gravity=(0, 0, -G))
    Jc = I1 - mass * l**2
    top = m.add_body("top", mass=mass, com=(0, 0, l), inertia=(Jc, Jc, I3))
    m.add_joint("tip", da.Spherical(), m.ground, top)
    system = m.compile(backend="casadi")
    # leaning about x by θ: Ω about world z is Ω (0, sin θ, cos θ) in body axes; the spin fills ω₃
    w = np.array([0, precession * np.sin(theta), w3])
    a = system.forward_dynamics(system.state({"tip": da.rotation("x", theta)}, v={"tip": w}))
    spin = np.array([0, 0, w3 - precession * np.cos(theta)])
    np.testing.assert_allclose(a, -np.cross(spin, w), atol=1e-6 * np.abs(w).max() * precession)


def test_free_body_precesses_without_torque():
    """Euler: J ω̇ = −ω × J ω, and the momentum stays; a force-free centre of mass moves straight."""
    m = da.Mechanism("body", gravity=(0, 0, 0))
    J, c = np.diag([0.3, 0.5, 0.6]), np.array([0.2, -0.1, 0.4])
    m.add_joint("float", da.Free(), m.ground, m.add_body("b", mass=2.0, com=c, inertia=J))
    system = m.compile(backend="casadi")
    w, v = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])
    x = system.state({"float": [0.5, 0.5, -0.5, 0.5, 1, 2, 3]}, v={"float": np.concatenate([w, v])})
    a = system.forward_dynamics(x)
    wdot = np.linalg.solve(J, -np.cross(w, J @ w))
    np.testing.assert_allclose(a[:3], wdot, atol=1e-13)
    np.testing.assert_allclose(a[3:] + np.cross(w, v), -np.cross(wdot, c) - np.cross(w, np.cross(w, c)), atol=1e-13)


def test_screw_on_an_incline_runs_down_it():
    """q̈ = −m g h sin α / (J + m h²) for a nut of inertia J about an axis that climbs at α."""
    alpha, h, mass, J = 0.4, 0.03, 1.7, 0.002
    m = da.Mechanism("screw", gravity=(0, 0, -G))
    nut = m.add_body("nut", mass=mass, inertia=(J, J, J))
    m.add_joint("thread", da.Screw((np.cos(alpha), 0, np.sin(alpha)), pitch=h), m.ground, nut)
    a = m.compile(backend="casadi").forward_dynamics([0.3])
    assert a == pytest.approx([-mass * G * h * np.sin(alpha) / (J + mass * h**2)], rel=1e-13)


def test_cart_and_pole_match_the_published_linear_model():
    """The Michigan tutorial's cart (0.5 kg), pole (0.2 kg, 0.006 kg m², 0.3 m), friction 0.1: ẍ and φ̈ about upright."""
    m = da.Mechanism("cart-pole", gravity=(0, 0, -9.8))
    cart = m.add_body("cart", mass=0.5)
    pole = m.add_body("pole", mass=0.2, com=(0, 0, 0.3), inertia=(0.006, 0.006, 0.006))
    m.add_joint("x", da.Prismatic("x"), m.ground, cart, damping=0.1)
    m.add_joint("phi", da.Revolute("y"), cart, pole)
    m.add_motor("push", "x")
    system = m.compile(backend="casadi")
    h = 1e-6
    dphi = (system.forward_dynamics([0, h]) - system.forward_dynamics([0, -h])) / (2 * h)
    speed = system.forward_dynamics(system.state(v={"x": 1.0}))
    push = system.forward_dynamics([0, 0], u={"push": 1.0})
    np.testing.assert_allclose(-dphi[0], 2.6727272727, rtol=1e-9)  # their φ turns the other way than ours about y
    np.testing.assert_allclose(dphi[1], 31.1818181818, rtol=1e-9)
    np.testing.assert_allclose(speed, [-0.1818181818, 0.4545454545], rtol=1e-9)
    np.testing.assert_allclose(push, [1.8181818182, -4.5454545455], rtol=1e-9)
