"""Spatial operators as matrices: the identities of the paper, and its sensitivities against AD."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.analysis import curvature, operators
from dalembert.spatial import ad
from random_mechanisms import random_state, random_tree


@pytest.fixture(scope="module", params=range(5))
def case(request):
    seed = request.param
    system = random_tree(60 + seed, [2, 2, 3, 4, 6][seed], floating=seed % 2 == 1).compile(backend="casadi")
    x = random_state(system, seed)
    return system, x, operators(system, x)


def close(a, b, tolerance=1e-11):
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert np.abs(a - b).max(initial=0.0) <= tolerance * max(np.abs(b).max(initial=0.0), 1e-3)


def test_factorizations_of_the_mass_matrix(case):
    """Identity 4.1, with the armature."""
    system, x, o = case
    M, one = system.mass_matrix(x), o.D.identity()
    inner, outer = one + o.H @ o.phi @ o.K, one - o.H @ o.psi @ o.K
    close(o.mass_matrix, M)  # (4.1a)
    close(inner @ o.D @ inner.T, M)  # (4.1b)
    close(inner @ outer, one)  # (4.1c)
    close(outer.T @ o.D.inverse() @ outer @ M, one, 1e-15 * np.linalg.cond(M) + 1e-11)  # (4.1d)
    close(o.m @ o.m.T, M)
    close(o.l @ o.m, one)


def test_riccati_equation_in_operators(case):
    """(4.9): M = P − E_ψ P E_φ*, and with E_ψ twice where there is no armature."""
    _, _, o = case
    close(o.M, o.P - o.E_psi @ o.P @ o.E_phi.T)
    rigid = o.H @ o.P @ o.H.T
    if np.abs((o.D - rigid).matrix).max(initial=0.0) == 0.0:
        close(o.M, o.P - o.E_psi @ o.P @ o.E_psi.T)


def test_operators_are_what_the_recursions_apply(case):
    system, x, o = case
    d, tau = system.diagonal, np.arange(1.0, 1.0 + system.nv)
    close(o.m.T @ x.v, d.total_rates(x))
    close(o.l @ tau, d.working_forces(x, tau))
    joints = [system.layout.joints[link.name] for link in system.layout.tree.links]
    twists = np.concatenate([system.twist(x, a.child.body.at(*a.child.T.p)) for a in joints])
    close((o.phi.T @ o.H.T) @ x.v, twists)  # (4.4)


def test_sensitivities_are_those_of_ad(case):
    """M_θ, m_θ, λ and Ṗ in closed form (6.4, 6.12, 6.7), along a velocity; the oracle moves q."""
    system, x, o = case
    s, f, mass = ca.SX.sym("s"), system.function("spatial_operators"), system.function("mass_matrix")
    moved = system.function("plus")(x.q, s * ca.DM(x.v))
    zero = ca.DM.zeros(system.nv)
    P, D = f(moved, zero)[3], f(moved, zero)[4]
    m = ca.horzcat(*(system.function("joint_forces")(moved, ca.DM(e)) for e in np.eye(system.nv)))
    found = o.along(x.v)
    R = ca.DM(o._turned())
    P = R @ P @ R.T
    for value, ours in ((mass(moved), found.mass_matrix), (m, found.m), (P, found.P), (D, found.D)):
        rate = ca.Function("rate", [s], [ca.jacobian(ca.vec(value), s)])(0)
        close(ours, np.array(rate).reshape(value.shape, order="F"))
    # λ̇ is the rate of P seen from the parent: d/dt (Xᵀ P X) = Xᵀ λ̇ X
    X = R @ f(moved, zero)[1] @ R.T
    seen = ca.Function("seen", [s], [ca.jacobian(ca.vec(X @ P @ X.T), s)])(0)
    close(o.E_phi @ found.lam @ o.E_phi.T, np.array(seen).reshape(X.shape, order="F"))


def test_sensitivity_to_one_velocity_by_name_and_coriolis_terms_from_them():
    """½ θ̇ᵀ M_θi θ̇ and ṁ ν make up C(θ, ν) (3.2)."""
    system = random_tree(5, 4, (da.Revolute, da.Prismatic, da.Universal)).compile(backend="casadi")
    x = random_state(system, 5)
    o, nu = operators(system, x), system.diagonal.total_rates(x)
    slopes = [np.asarray(o.along({name: 1.0}).mass_matrix) for name in system.v_names]
    C = o.l @ (o.along(x.v).m @ nu - 0.5 * np.array([x.v @ M_i @ x.v for M_i in slopes]))
    close(system.diagonal.coriolis(x), C)


def test_operators_print_their_blocks():
    m = da.Mechanism("y")
    a, b, c = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in "abc")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    m.add_joint("C", da.Revolute("z"), a.at(1, 0, 0), c)
    o = operators(m.compile(backend="casadi"), {})
    lines = str(o.psi).splitlines()
    assert lines[0].split() == ["A", "B", "C"]
    assert lines[2].split() == ["B", ".", "1", "."]  # B and C are on different branches
    assert o.m.block("B", "C") == 0.0
    assert o.H.block("A", "A").shape == (1, 6)


def test_operators_see_parameters_and_refuse_what_does_not_move():
    m = da.Mechanism("rod")
    mass = m.add_parameter("mass", 2.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("a", mass=mass, com=(1, 0, 0)))
    system = m.compile(backend="casadi")
    assert operators(system, {}).D.matrix.item() == 2.0
    assert operators(system, {}, p={"mass": 3.0}).D.matrix.item() == 3.0
    fixed = da.Mechanism("post")
    fixed.add_joint("foot", da.Fixed(), fixed.ground, fixed.add_body("b", mass=1.0))
    with pytest.raises(da.ArgumentError, match="nothing moves"):
        operators(fixed.compile(backend="casadi"), {})
    with pytest.raises(da.ArgumentError, match="nothing moves"):
        curvature(fixed.compile(backend="casadi"))


def test_closed_forms_of_the_paper_hold_for_chains_of_revolute_joints():
    """(6.7), (6.8), (7.1), (7.9), (A.13), (A.14), (A.16), letter by letter; Ω̃ of wrenches is −ad(Ω)ᵀ."""
    system = zoo.chain(4, axes=("y", "x"), bobs=False).compile(backend="casadi")
    x = system.state([0.3, -0.7, 1.1, 0.4], v=[1.0, -2.0, 0.5, 1.5])
    o, d = operators(system, x), system.diagonal
    names = (o.H, o.phi, o.psi, o.M, o.P, o.D, o.K, o.E_psi, o.tau_bar, o.l)
    H, phi, psi, M, P, D, K, E_psi, tau_bar, ell = (np.asarray(y) for y in names)
    rates, one, root = o.along(x.v), np.eye(len(P)), np.diag(np.diag(D) ** -0.5)
    lam, dm = np.asarray(rates.lam), np.asarray(rates.m)
    V, nu, xi = phi.T @ H.T @ x.v, d.total_rates(x), d.total_rates(x, normalized=False)

    def blocks(twists):
        out = np.zeros_like(P)
        for k in range(len(twists) // 6):
            out[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = ad(twists[6 * k : 6 * k + 6])
        return out

    O, Vt = blocks(H.T @ x.v), blocks(V)
    Om = -O.T
    close(lam - E_psi @ lam @ E_psi.T, Om @ P - P @ O)  # (A.27)
    close(dm, H @ phi @ (Om @ (phi - one) @ P + 0.5 * (one + tau_bar) @ lam) @ H.T @ root)  # (6.7), with τ̄ for τ
    bracket = E_psi @ lam - lam @ E_psi.T
    close(dm @ nu, H @ phi @ (Om @ phi @ K @ H @ P + 0.5 * (Om @ P - P @ O + bracket)) @ V)  # (6.8)
    slopes = [np.asarray(o.along(e).mass_matrix) for e in np.eye(4)]
    square = np.array([x.v @ M_i @ x.v for M_i in slopes])
    close(2 * H @ Vt.T @ phi @ M @ V, square)  # (A.14a)
    close(2 * H @ phi @ (Om @ (one + phi @ K @ H) @ P + Vt.T @ M) @ V, square)  # (A.14c)
    close(0.5 * root @ H @ psi @ (bracket - Om @ P - P @ O - 2 * Vt.T @ M) @ V, d.coriolis(x))  # (7.1)
    close(H @ psi @ (lam @ H.T @ xi - (Om @ P + Vt.T @ M) @ V), d.coriolis(x, normalized=False))  # (7.9)
    close(ell @ (dm @ nu - 0.5 * square), d.coriolis(x))  # (3.2)
    for i, M_i in enumerate(slopes):
        S = np.zeros(4)
        S[i] = 1.0
        Hi = -blocks(H.T @ S).T
        close(H @ phi @ (Hi @ phi @ M + M @ phi.T @ Hi.T) @ phi.T @ H.T, M_i)  # (A.13), −ℍ of twists being ℍᵀ
        own = np.asarray(o.along(S).lam)
        close(own - E_psi @ own @ E_psi.T, Hi @ P + P @ Hi.T)  # (A.17)


def test_operators_are_in_the_axes_of_the_bodies():
    """The mass of a link is the body's inertia as it was given, whatever the joint's axis; H* is the twist it makes."""
    m = da.Mechanism()
    n = m.add_parameter("n", (1.0, 2.0, 2.0))
    a, b = (m.add_body(name, mass=2.0, inertia=(1, 2, 2.5)) for name in "ab")
    m.add_joint("A", da.Revolute("x"), m.ground, a)
    m.add_joint("B", da.Revolute(n), a.at(0.5, 0, 0), b.at(0, 0, 0, rotation=da.rotation("y", 0.3)))
    system = m.compile(backend="casadi")
    o = operators(system, {"A": 0.3, "B": 0.4}, p={"n": (0.0, 3.0, 4.0)})
    for name in "AB":
        np.testing.assert_allclose(o.M.block(name, name), np.diag([1, 2, 2.5, 2, 2, 2]), atol=1e-14)
    np.testing.assert_allclose(o.H.block("A", "A"), [[1, 0, 0, 0, 0, 0]], atol=1e-14)
    axis = da.rotation("y", 0.3) @ [0, 0.6, 0.8]
    np.testing.assert_allclose(o.H.block("B", "B"), [[*axis, 0, 0, 0]], atol=1e-14)
    M = system.mass_matrix({"A": 0.3, "B": 0.4}, p={"n": (0.0, 3.0, 4.0)})
    np.testing.assert_allclose(np.array(o.mass_matrix), M, atol=1e-13)
