"""Curvature of the mass metric against hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.analysis import curvature
from random_mechanisms import random_state, random_tree


def gantry() -> da.System:
    m = da.Mechanism("gantry")
    before = m.ground
    for axis in "xyz":
        body = m.add_body(axis, mass=2.0, com=(0.1, 0.2, 0.3))
        m.add_joint(axis, da.Prismatic(axis), before, body)
        before = body
    return m.compile(backend="casadi")


def test_a_prismatic_gantry_is_flat():
    found = curvature(gantry())
    assert found.flat
    assert found.largest == found.terms == 0.0
    assert "flat" in str(found)


def test_one_revolute_joint_is_flat():
    assert curvature(zoo.chain(1).compile(backend="casadi")).flat


@pytest.mark.parametrize(("m1", "m2", "l1", "l2", "angle"), [(1, 1, 1, 1, 1.0), (2.0, 0.7, 0.5, 0.8, -2.1)])
def test_curvature_of_a_two_link_arm_is_that_of_brioschis_formula(m1, m2, l1, l2, angle):
    """In absolute angles E, G are constant and F = F₀ cos θ₂: K = F₀ c (EG − F₀²) / (EG − F₀² c²)²."""
    m = da.Mechanism("arm")
    a, b = m.add_body("a", mass=m1, com=(l1, 0, 0)), m.add_body("b", mass=m2, com=(l2, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(l1, 0, 0), b)
    found = curvature(m.compile(backend="casadi"), {"A": 0.4, "B": angle})
    E, G, F0, c = (m1 + m2) * l1**2, m2 * l2**2, m2 * l1 * l2, np.cos(angle)
    K = F0 * c * (E * G - F0**2) / (E * G - F0**2 * c**2) ** 2
    assert found.sectional([1, 0], [0, 1]) == pytest.approx(K, rel=1e-12)
    assert found.sectional([1, 2], [-1, 1]) == pytest.approx(K, rel=1e-12)  # the plane is the same
    assert found.scalar == pytest.approx(2 * K, rel=1e-12)
    assert not found.flat


def test_an_arm_is_curved_though_its_curvature_vanishes_in_one_position():
    found = curvature(zoo.chain(2).compile(backend="casadi"), {"J2": np.pi / 2})
    assert abs(found.sectional([1, 0], [0, 1])) < 1e-12
    assert not found.flat


def test_an_arm_whose_second_link_is_balanced_on_its_joint_is_flat():
    m = da.Mechanism("balanced")
    a, b = m.add_body("a", mass=1.0, com=(0.5, 0, 0)), m.add_body("b", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    assert curvature(m.compile(backend="casadi")).flat


def test_motion_in_a_plane_is_flat_though_its_mass_matrix_varies():
    m = da.Mechanism("disc on a table")
    m.add_joint("P", da.Planar("z"), m.ground, m.add_body("disc", mass=2.0, com=(0.3, -0.2, 0), inertia=(1, 1, 1)))
    system = m.compile(backend="casadi")
    assert np.abs(system.mass_matrix([0, 0, 0.3]) - system.mass_matrix([0, 0, 1.0])).max() > 0.1
    found = curvature(system, [0, 0, 0.3])
    assert found.flat
    assert found.terms > 0.01
    assert found.largest < 1e-14 * found.terms


@pytest.mark.parametrize("joint", [da.Spherical, da.Free])
def test_curvature_of_a_spinning_body_is_milnors(joint):
    """Left-invariant metrics (Milnor 1976): λ_i = I_i/√(ABC), μ_i = ½ Σλ − λ_i, K(e₁, e₂) = λ₃μ₃ − μ₁μ₂."""
    I = np.array([0.3, 0.5, 0.7])
    m = da.Mechanism("body")
    m.add_joint("J", joint(), m.ground, m.add_body("b", mass=2.0, inertia=I))
    system = m.compile(backend="casadi")
    q = da.rotation((1, 2, 3), 0.8) if joint is da.Spherical else None
    found = curvature(system, {} if q is None else {"J": q})
    lam = I / np.sqrt(I.prod())
    mu = 0.5 * lam.sum() - lam
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        K = lam[c] * mu[c] - mu[a] * mu[b]
        assert found.sectional(np.eye(system.nv)[a], np.eye(system.nv)[b]) == pytest.approx(K, rel=1e-12)
    assert not found.flat
    if joint is da.Free:  # translations take no part
        assert np.abs(found.riemann[3:]).max() < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_curvature_has_the_symmetries_of_riemanns_tensor(seed):
    """Of quaternion joints, too: R_hijk = −R_ihjk = R_jkhi, and Bianchi's sum is zero."""
    system = random_tree(seed + 40, 2, (da.Revolute, da.Spherical, da.Universal, da.Cylindrical)).compile("casadi")
    found = curvature(system, random_state(system, seed), samples=0)
    R = found.orthonormal
    tiny = 1e-12 * found.terms
    assert np.abs(R).max() > 1e-3 * found.terms
    assert np.abs(R + R.transpose(1, 0, 2, 3)).max() < tiny
    assert np.abs(R - R.transpose(2, 3, 0, 1)).max() < tiny
    assert np.abs(R + R.transpose(0, 2, 3, 1) + R.transpose(0, 3, 1, 2)).max() < tiny


def test_curvature_is_the_same_in_other_coordinates():
    """Two hinges that cross are a universal joint: the same metric, described twice."""
    q, I = [0.4, -0.9], (0.3, 0.5, 0.7)
    one, two = da.Mechanism("universal"), da.Mechanism("hinges")
    one.add_joint("U", da.Universal("x", "y"), one.ground, one.add_body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=I))
    cross, body = two.add_body("cross", mass=0.0), two.add_body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=I)
    two.add_joint("A", da.Revolute("x"), two.ground, cross)
    two.add_joint("B", da.Revolute("y"), cross, body)
    K = [curvature(m.compile(backend="casadi"), q).sectional([1, 0], [0, 1]) for m in (one, two)]
    assert K[0] == pytest.approx(K[1], rel=1e-12)


def test_constraints_are_refused():
    with pytest.raises(da.ArgumentError, match="change the metric"):
        curvature(zoo.ladder(1).compile(backend="casadi"))


def test_a_singular_mass_matrix_is_refused_by_name():
    """Two arms, mass at the tip only: stretched, a motion along them moves no mass."""
    m = da.Mechanism("stretched", gravity=(0, 0, 0))
    a, b = m.add_body("a", mass=0.0), m.add_body("b", mass=1.0, com=(1.0, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    system = m.compile(backend="casadi")
    with pytest.raises(da.ArgumentError, match="mass matrix of 'stretched' is singular in this configuration"):
        curvature(system, {"B": 0.0})
    assert curvature(system, {"B": 1.0}).flat  # the plane, in other coordinates
