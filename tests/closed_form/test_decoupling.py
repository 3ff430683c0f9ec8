"""Coordinates that decouple the equations of motion, against closed forms of flat mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipeinc

import dalembert as da
from dalembert import zoo
from dalembert.analysis import curvature, decoupling_coordinates

E, ML, G = 0.5 + 0.2, 0.2 * 0.3, 0.006 + 0.2 * 0.3**2  # of zoo.cart_pole: M + m, m l, I + m l²


def cart_pole(q):
    """E dx² − 2 ml cos φ dx dφ + G dφ²: complete the square, and an elliptic integral of the second kind is left."""
    x, phi = q
    # G − (ml)² cos²φ / E = (G − (ml)²/E) (1 + k sin²φ)
    least = G - ML**2 / E
    return np.array([np.sqrt(E) * (x - ML / E * np.sin(phi)), np.sqrt(least) * ellipeinc(phi, -(ML**2) / E / least)])


def polar(q):
    """A point of 2 kg at the distance r in the direction φ."""
    return np.sqrt(2.0) * q[1] * np.array([np.cos(q[0]), np.sin(q[0])])


def planar(q):
    """A body of 2 kg, its centre of mass beside the joint, 0.6 kg m² about it."""
    c, s = np.cos(q[2]), np.sin(q[2])
    com = np.array(q[:2]) + np.array([[c, -s], [s, c]]) @ [0.3, -0.2]
    return np.append(np.sqrt(2.0) * com, np.sqrt(0.6) * q[2])


def described(name: str) -> da.System:
    if name == "cart-pole":
        return zoo.cart_pole(damping=0.0).compile(backend="casadi")
    m = da.Mechanism(name, gravity=(0, -9.81, 0))
    if name == "polar arm":
        arm, slide = m.add_body("arm", mass=0.0), m.add_body("slide", mass=2.0)
        m.add_joint("turn", da.Revolute("z"), m.ground, arm)
        m.add_joint("reach", da.Prismatic("x"), arm, slide)
    else:
        body = m.add_body("disc", mass=2.0, com=(0.3, -0.2, 0), inertia=(0.4, 0.4, 0.6))
        m.add_joint("P", da.Planar("z"), m.ground, body)
    return m.compile(backend="casadi")


CASES = {
    "cart-pole": (cart_pole, [0.2, 0.3], [-0.5, 2.5]),
    "polar arm": (polar, [0.3, 0.8], [1.9, 0.5]),
    "planar body": (planar, [0.1, 0.2, 0.3], [-1.0, 0.4, 2.9]),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_the_closed_form_but_for_a_turn(name):
    """ϑ is unique up to a rigid motion: (closed form at q − at origin) = U ϑ(q) with one U for all q."""
    form, origin, q = CASES[name]
    system = described(name)
    assert curvature(system, origin).flat
    theta = decoupling_coordinates(system, origin)
    rng = np.random.default_rng(1)
    q = np.array(q) + np.vstack([np.zeros(len(q)), rng.uniform(-0.2, 0.2, (5, len(q)))])
    ours = np.array([theta.value(a) for a in q])
    closed = np.array([form(a) - form(origin) for a in q])
    U, _, Vt = np.linalg.svd(closed.T @ ours)
    np.testing.assert_allclose(ours @ (U @ Vt).T, closed, atol=1e-10)
    for a in q[:2]:
        W = theta.jacobian(a)
        np.testing.assert_allclose(W.T @ W, system.mass_matrix(a), atol=1e-10)
        np.testing.assert_allclose(theta.state(theta.value(a)).q, a, atol=1e-8)


def test_at_the_origin_their_rates_are_total_rates():
    system = described("planar body")
    x = system.state([0.1, 0.2, 0.3], [1.0, -2.0, 0.5])
    np.testing.assert_allclose(decoupling_coordinates(system, x).rates(x), system.diagonal.total_rates(x), rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_motion_without_forces_is_straight_and_forces_act_one_by_one(name):
    """ϑ̈ = W^−ᵀ τ: the second difference of ϑ along a run under gravity is that of the gravity vector alone."""
    _, origin, q = CASES[name]
    system, h = described(name), 1e-3
    theta = decoupling_coordinates(system, origin)
    x = system.state(q, np.linspace(0.4, -0.8, system.nv))
    run = da.simulate(system, x, (0.0, 2 * h), t_eval=[0.0, h, 2 * h], rtol=1e-12, atol=1e-14)
    values = np.array([theta.value(run.state(k)) for k in range(3)])
    pulled = theta.forces(run.state(1), -system.gravity_vector(run.state(1)))
    assert np.abs(pulled).max() > 0.1
    np.testing.assert_allclose((values[0] - 2 * values[1] + values[2]) / h**2, pulled, atol=1e-4)
    there = theta.state([0.02] * system.nv, rates=[0.3] * system.nv)
    np.testing.assert_allclose(theta.rates(there), [0.3] * system.nv, atol=1e-9)


def test_curved_mechanisms_are_refused_with_their_curvature():
    arm = zoo.chain(2).compile(backend="casadi")
    size = curvature(arm).largest
    with pytest.raises(da.ArgumentError, match=f"curvature {size:.3g} 1/.kg m²..: no coordinates decouple"):
        decoupling_coordinates(arm)
    with pytest.raises(da.ArgumentError, match="those of a tree"):
        decoupling_coordinates(zoo.four_bar().compile(backend="casadi"))
    m = da.Mechanism("stretched", gravity=(0, 0, 0))  # two arms, mass at the tip only
    a, b = m.add_body("a", mass=0.0), m.add_body("b", mass=1.0, com=(1.0, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    with pytest.raises(da.DalembertError, match="mass matrix is singular"):
        decoupling_coordinates(m.compile(backend="casadi"), [0.0, 1.0]).value([0.3, -1.0])
