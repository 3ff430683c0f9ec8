"""Curvature of the mass metric against hand calculations."""

from __future__ import annotations

import casadi as ca
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


def gauss_curvature(E, F, G, u, v):
    """Brioschi's formula for E du² + 2F du dv + G dv², by CasADi."""
    d = lambda f, *by: d(ca.jacobian(f, by[0]), *by[1:]) if by else f  # noqa: E731
    first = ca.blockcat([
        [-d(E, v, v) / 2 + d(F, u, v) - d(G, u, u) / 2, d(E, u) / 2, d(F, u) - d(E, v) / 2],
        [d(F, v) - d(G, u) / 2, E, F],
        [d(G, v) / 2, F, G],
    ])  # fmt: skip
    second = ca.blockcat([[0, d(E, v) / 2, d(G, u) / 2], [d(E, v) / 2, E, F], [d(G, u) / 2, F, G]])
    return (ca.det(first) - ca.det(second)) / (E * G - F**2) ** 2


def five_bar_curvature(a, c, span, lengths, masses, inertias):
    """Of the metric in the angles a and c of the two cranks; the pin between the couplers is where circles meet."""
    u, v = ca.SX.sym("u"), ca.SX.sym("v")
    l1, l2, l3, l4 = lengths
    B = ca.vertcat(l1 * ca.cos(u), l1 * ca.sin(u))
    D = ca.vertcat(span + l4 * ca.cos(v), l4 * ca.sin(v))
    w = D - B
    s = ca.norm_2(w)
    along = (l2**2 - l3**2 + s**2) / (2 * s)
    C = B + (along * w + ca.sqrt(l2**2 - along**2) * ca.vertcat(-w[1], w[0])) / s
    angle = lambda r: ca.atan2(r[1], r[0])  # noqa: E731
    places = [(B / 2, u), ((B + C) / 2, angle(C - B)), ((C + D) / 2, angle(D - C)), ((D + ca.vertcat(span, 0)) / 2, v)]
    h = ca.SX.zeros(2, 2)
    for (r, turned), m, I in zip(places, masses, inertias):
        J, k = ca.jacobian(r, ca.vertcat(u, v)), ca.jacobian(turned, ca.vertcat(u, v))
        h += m * J.T @ J + I * k.T @ k
    K = gauss_curvature(h[0, 0], h[0, 1], h[1, 1], u, v)
    pins = ca.Function("pins", [u, v], [B, C, D])(a, c)
    return float(ca.Function("K", [u, v], [K])(a, c)), [np.array(r).ravel() for r in pins]


@pytest.mark.parametrize(("a", "c"), [(2.2, 0.9), (1.9, 1.4)])
def test_curvature_of_a_five_bar_is_that_of_its_metric_in_the_cranks_angles(a, c):
    """Gauss' equation in four angles and five rows, three of them redundant, against Brioschi's formula in two."""
    span, lengths, masses, inertias = 1.0, (1.0, 1.5, 1.4, 0.9), (2.0, 3.0, 2.5, 1.0), (1.0, 2.0, 1.7, 0.4)
    K, (B, C, D) = five_bar_curvature(a, c, span, lengths, masses, inertias)
    E = np.array([span, 0.0])
    turned = [np.arctan2(r[1], r[0]) for r in (B, C - B, D - C, E - D)]
    system = zoo.five_bar(span=span, lengths=lengths, masses=masses, inertias=inertias).compile(backend="casadi")
    x = system.state(np.diff([0.0, *turned]))
    assert np.abs(system.residuals(x)).max() < 1e-12
    found = curvature(system, x)
    assert found.basis.shape == (4, 2)
    assert found.configurations == 4
    assert found.sectional(*found.basis.T) == pytest.approx(K, rel=1e-9)
    assert not found.flat
    with pytest.raises(da.ArgumentError, match="x is a velocity that the constraints forbid"):
        found.sectional([1, 0, 0, 0], [0, 1, 0, 0])


def particle(name: str, mass: float, m: da.Mechanism) -> da.Body:
    """A point that moves freely, on three slides."""
    before = m.ground
    for axis in "xyz":
        body = m.add_body(f"{name}{axis}", mass=mass if axis == "z" else 0.0)
        m.add_joint(f"{name}{axis}", da.Prismatic(axis), before, body)
        before = body
    return before


@pytest.mark.parametrize(("mass", "length"), [(1.0, 1.0), (2.5, 0.4), (1e-6, 1e3)])
def test_a_point_on_a_sphere_has_constant_curvature(mass, length):
    """m l² dΩ²: K = 1/(m l²), by Gauss' equation alone, since space is flat."""
    m = da.Mechanism("sphere")
    m.add_rod("rod", m.ground, particle("p", mass, m), length=length)
    system = m.compile(backend="casadi")
    for direction in ([1, 2, 2], [2, -1, 2]):
        found = curvature(system, np.array(direction) * length / 3)
        assert found.sectional(*found.basis.T) == pytest.approx(1 / (mass * length**2), rel=1e-10)
        assert found.scalar == pytest.approx(2 / (mass * length**2), rel=1e-10)


def test_a_closed_chain_and_its_tree_have_one_curvature():
    """A body pinned by a loop is a body on a spherical joint; quaternions on both sides."""
    closed, tree = da.Mechanism("closed"), da.Mechanism("tree")
    for m, joint in ((closed, da.Free()), (tree, da.Spherical())):
        a = m.add_body("a", mass=2.0, com=(0.2, 0.1, -0.1), inertia=(0.3, 0.5, 0.7))
        b = m.add_body("b", mass=1.0, com=(0.3, 0.0, 0.1), inertia=(0.1, 0.2, 0.25))
        m.add_joint("A", joint, m.ground, a)
        m.add_joint("B", da.Revolute((1, 2, 2)), a.at(0.5, 0, 0), b)
    closed.close_loop("pin", da.Spherical(), closed.ground, closed.bodies["a"])
    R = da.rotation((1, 2, 3), 0.8)
    T = np.eye(4)
    T[:3, :3] = R
    one = curvature(closed.compile(backend="casadi"), {"A": T, "B": 0.7}, samples=1)
    two = curvature(tree.compile(backend="casadi"), {"A": R, "B": 0.7}, samples=1)
    assert one.basis.shape == (7, 4)
    assert one.scalar == pytest.approx(two.scalar, rel=1e-10)
    rng = np.random.default_rng(3)
    for x, y in rng.normal(size=(3, 2, 4)):
        whole = [np.concatenate([z[:3], np.zeros(3), z[3:]]) for z in (x, y)]
        assert one.sectional(*whole) == pytest.approx(two.sectional(x, y), rel=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "loader"])
def test_one_degree_of_freedom_is_flat_and_two_need_not_be(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    found = curvature(system, entry.start()[0], samples=1)
    assert found.basis.shape == (system.nv, entry.mobility)
    assert found.flat == (entry.mobility == 1)


def test_states_without_a_manifold_are_refused():
    four = zoo.four_bar().compile(backend="casadi")
    with pytest.raises(da.ArgumentError, match="do not hold in this state"):
        curvature(four, {"A": 0.3})
    with pytest.raises(da.ArgumentError, match="in a singular position"):
        curvature(zoo.ladder(1).compile(backend="casadi"))
    with pytest.raises(da.ArgumentError, match="constrains velocities only"):
        curvature(zoo.chaplygin_sleigh().compile(backend="casadi"))
    m = zoo.chain(2)
    m.add_driver("turn", "J1", lambda t: 0.3 * t)
    with pytest.raises(da.ArgumentError, match=r"constraint 'turn' of .* moves with time"):
        curvature(m.compile(backend="casadi"))
    led = zoo.chain(2)
    led.add_kinematic_input("lead", "J1")
    with pytest.raises(da.ArgumentError, match="kinematic inputs"):
        curvature(led.compile(backend="casadi"))
    held = zoo.chain(1)
    held.add_driver("hold", "J1", 0.0)
    with pytest.raises(da.ArgumentError, match="leave no motion"):
        curvature(held.compile(backend="casadi"))


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
