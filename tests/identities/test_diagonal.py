"""The innovations factor and the diagonal equations of motion, on seeded random trees of all joint types."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.recursions.elimination import TreeFactor
from dalembert.recursions.innovations import Innovations
from random_loops import random_closed
from random_mechanisms import random_state, random_tree

SIZES = [1, 2, 3, 4, 5, 6, 9, 14]


@pytest.fixture(scope="module", params=range(8))
def case(request):
    seed = request.param
    m = random_tree(100 + seed, SIZES[seed], floating=seed % 2 == 1)
    system = m.compile(backend="casadi")
    return system, random_state(system, seed), np.random.default_rng([seed, 5])


def small(error, scale, tolerance=1e-10):
    assert np.abs(error).max(initial=0.0) <= tolerance * max(np.abs(scale).max(initial=0.0), 1e-3)


def factor(system, x) -> np.ndarray:
    """m, column by column."""
    return np.array([system.diagonal.joint_forces(x, e) for e in np.eye(system.nv)]).reshape(system.nv, -1).T


def along(system, x, name) -> np.ndarray:
    """d/dt of a function f(q, v) with v held, by AD: q moves at the velocity x.v."""
    s = ca.SX.sym("s")
    value = system.function(name)(system.function("plus")(x.q, s * ca.DM(x.v)), ca.DM(x.v))
    return np.array(ca.Function("d", [s], [ca.jacobian(value, s)])(0)).ravel()


def test_factor_times_its_transpose_is_the_mass_matrix_and_it_is_the_reverse_cholesky_factor(case):
    system, x, _ = case
    m, M = factor(system, x), system.mass_matrix(x)
    small(m @ m.T - M, M)
    small(m - np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1], m)
    assert system.diagonal.log_determinant(x) == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-9)


def test_it_is_the_factor_of_sparse_elimination_never_formed(case):
    system, x, rng = case
    at = system.layout.tree.at(x.q)
    ours, formed = Innovations(at), TreeFactor(system.mass_matrix(x).astype(object))
    small(np.array(ours.inverse, float) - np.array(formed.inverse, float), np.array(formed.inverse, float))
    y = rng.normal(size=system.nv).astype(object)
    for which in ("lower", "lower_transposed"):
        a, b = (getattr(f, which)(y).astype(float) for f in (ours, formed))
        small(a - b, b)


@pytest.mark.parametrize("normalized", [True, False])
def test_velocities_and_forces_go_there_and_back(case, normalized):
    system, x, rng = case
    d, tau = system.diagonal, rng.normal(size=system.nv)
    rates, forces = d.total_rates(x, normalized=normalized), d.working_forces(x, tau, normalized=normalized)
    small(d.joint_rates(x, rates, normalized=normalized) - x.v, x.v)
    small(d.joint_forces(x, forces, normalized=normalized) - tau, tau)
    assert rates @ forces == pytest.approx(x.v @ tau, rel=1e-9, abs=1e-9)  # power is the same in all variables


def test_mass_matrix_is_solved_without_being_formed(case):
    system, x, rng = case
    b, M = rng.normal(size=system.nv), system.mass_matrix(x)
    small(M @ system.diagonal.solve(x, b) - b, b, max(1e-10, 1e-15 * np.linalg.cond(M)))


@pytest.mark.parametrize("axes", ["body", "world"])
def test_mobility_of_a_frame_is_found_without_its_jacobian_or_the_mass_matrix(case, axes):
    """J M⁻¹ Jᵀ by an outward recursion."""
    system, x, _ = case
    J, M = system.jacobian(x, "probe", axes=axes), system.mass_matrix(x)
    expected = J @ np.linalg.solve(M, J.T) if system.nv else np.zeros((6, 6))
    small(system.diagonal.mobility(x, "probe", axes=axes) - expected, expected, max(1e-10, 1e-14 * np.linalg.cond(M)))


def test_kinetic_energy_is_half_the_square_of_the_total_rates(case):
    system, x, _ = case
    nu = system.diagonal.total_rates(x)
    assert 0.5 * nu @ nu == pytest.approx(system.kinetic_energy(x), rel=1e-12)


def test_coriolis_term_is_what_differentiating_the_factor_gives(case):
    """C(q, ν) = ℓ h − ṁᵀv, which for coordinate velocities is ℓ (ṁν − ½ vᵀ M_q v); ṁᵀ by AD."""
    system, x, _ = case
    m = factor(system, x)
    expected = np.linalg.solve(m, system.coriolis_vector(x)) - along(system, x, "total_rates")
    small(system.diagonal.coriolis(x) - expected, expected)


def test_coriolis_term_is_that_of_lemma_3_1_where_velocities_are_rates_of_coordinates():
    """C = ℓ (ṁν − ½ vᵀ M_q v), both derivatives by AD and nothing of the recursions of h."""
    joints = (da.Revolute, da.Prismatic, da.Screw, da.Cylindrical, da.Universal, da.Planar)
    system = random_tree(31, 4, joints).compile(backend="casadi")
    x = random_state(system, 31)
    q, v, s = ca.SX.sym("q", system.nq), ca.DM(x.v), ca.SX.sym("s")
    M, forces = system.function("mass_matrix"), system.function("joint_forces")
    nu = system.diagonal.total_rates(x)
    energy = 0.5 * ca.dot(v, M(q) @ v)
    gradient = np.array(ca.Function("g", [q], [ca.gradient(energy, q)])(x.q)).ravel()
    m_nu = ca.Function("m", [s], [ca.jacobian(forces(ca.DM(x.q) + s * v, ca.DM(nu)), s)])
    expected = np.linalg.solve(factor(system, x), np.array(m_nu(0)).ravel() - gradient)
    small(system.diagonal.coriolis(x) - expected, expected)


def test_coriolis_term_does_no_work(case):
    """Lemma 7.1."""
    system, x, _ = case
    nu, C = system.diagonal.total_rates(x), system.diagonal.coriolis(x)
    assert abs(nu @ C) <= 1e-12 * max(np.abs(nu) @ np.abs(C), 1e-3)


def test_kinetic_energy_grows_by_the_power_of_the_working_forces(case):
    """Lemma 7.2, gravity among the forces."""
    system, x, rng = case
    d, tau = system.diagonal, rng.normal(size=system.nv)
    nu = d.total_rates(x)
    power = nu @ d.working_forces(x, tau - system.gravity_vector(x) + system.applied_forces(x))
    assert nu @ d.acceleration(x, tau) == pytest.approx(power, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("normalized", [True, False])
def test_two_sweeps_agree_with_the_articulated_body_recursion(case, normalized):
    """Algorithm 8.1: ν̇ = mᵀ v̇ + ṁᵀ v, v̇ by ABA and ṁᵀ by AD."""
    system, x, rng = case
    tau = rng.normal(size=system.nv)
    vdot = system.forward_dynamics(x, tau)
    d, name = system.diagonal, "total_rates" if normalized else "total_rates_xi"
    expected = d.total_rates(x.replace(v=vdot), normalized=normalized) + along(system, x, name)
    small(d.acceleration(x, tau, normalized=normalized) - expected, expected)


@pytest.mark.parametrize("normalized", [True, False])
def test_right_hand_side_is_that_of_the_dynamics(case, normalized):
    system, x, _ = case
    d = system.diagonal
    y = d.pack(x, normalized=normalized)
    change = d.right_hand_side(normalized=normalized)(0.0, y)
    expected = np.concatenate([system.rates(x), d.acceleration(x, normalized=normalized)])
    small(change - expected, expected)
    small(d.unpack(y, normalized=normalized).v - x.v, x.v)


def test_unnormalized_equation_is_diagonal_in_the_joint_inertias(case):
    """D ξ̇ + C(q, ξ) = κ (7.9), D from ξᵀDξ = vᵀMv."""
    system, x, rng = case
    d, tau = system.diagonal, rng.normal(size=system.nv)
    unit = np.array([d.joint_rates(x, e, normalized=False) for e in np.eye(system.nv)]).reshape(system.nv, -1)
    D = unit @ system.mass_matrix(x) @ unit.T
    for link in system.layout.tree.links:
        off = np.delete(D[link.v], np.arange(link.v.start, link.v.stop), axis=1)
        small(off, D)
    loads = tau + system.applied_forces(x) - system.gravity_vector(x)
    kappa = d.working_forces(x, loads, normalized=False)
    left = D @ d.acceleration(x, tau, normalized=False) + d.coriolis(x, normalized=False)
    small(left - kappa, kappa)


def test_gravity_is_a_working_force_of_each_joint_alone():
    """κ of gravity is Uᵀ(0; g): what the recursion uses in place of an inward sweep."""
    system = random_tree(7, 6, floating=True).compile(backend="casadi")
    x = random_state(system, 7)
    rest = x.replace(v=np.zeros(system.nv))
    kappa = system.diagonal.working_forces(x, -system.gravity_vector(x), normalized=False)
    unit = np.array([system.diagonal.joint_rates(x, e, normalized=False) for e in np.eye(system.nv)])
    D = unit @ system.mass_matrix(x) @ unit.T
    small(D @ system.diagonal.acceleration(rest, normalized=False) - kappa, kappa)


def test_described_forces_wrenches_inputs_and_time_enter():
    m = random_tree(3, 5)
    joint = next(name for name, a in m.joints.items() if len(a.joint.velocity_names) == 1)
    u = m.add_motor("motor", joint)
    m.add_wrench("wind", m.frames["probe"], force=lambda s: ca.vertcat(ca.sin(s.t), 0.1, -0.2) * u)
    m.add_wrench("drag", m.bodies["body0"], force=lambda s: -0.3 * s.velocity("body0"))
    system = m.compile(backend="casadi")
    x = random_state(system, 3).replace(t=0.7)
    W = {"probe": (0.1, 0.2, -0.3, 1.0, -2.0, 0.5)}
    vdot = system.forward_dynamics(x, u={"motor": 1.3}, wrenches=W)
    expected = system.diagonal.total_rates(x.replace(v=vdot)) + along(system, x, "total_rates")
    small(system.diagonal.acceleration(x, u={"motor": 1.3}, wrenches=W) - expected, expected)
    f = system.diagonal.right_hand_side(u={"motor": 1.3})
    there = system.diagonal.acceleration(x, u={"motor": 1.3})
    small(f(0.7, system.diagonal.pack(x))[system.nq :] - there, there)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_constraint_forces_enter_the_accelerations_of_total_rates(seed, normalized):
    """ν̇ = mᵀv̇ + ṁᵀv with the constrained v̇, redundant loops and quaternions included."""
    system, x = random_closed(seed)
    tau = np.random.default_rng(seed).normal(size=system.nv)
    name = "total_rates" if normalized else "total_rates_xi"
    vdot = system.acceleration(x, tau).vdot
    expected = system.diagonal.total_rates(x.replace(v=vdot), normalized=normalized) + along(system, x, name)
    small(system.diagonal.acceleration(x, tau, normalized=normalized) - expected, expected)


def test_machine_code_agrees_and_parameters_reach_it():
    m = da.Mechanism("arm", gravity=(0, -9.81, 0))
    mass = m.add_parameter("mass", 2.0)
    a = m.add_body("a", mass=mass, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    b = m.add_body("b", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Universal(), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b, armature=0.2)
    for p in (None, {"mass": 3.5}):
        values = []
        for backend in ("native", "casadi"):
            system = m.compile(backend=backend)
            x = system.state([0.3, -0.8, 1.1], v=[1.0, 2.0, -0.5])
            d = system.diagonal
            values.append(np.concatenate([d.total_rates(x, p=p), d.coriolis(x, p=p), d.acceleration(x, p=p)]))
            values[-1] = np.append(values[-1], d.log_determinant(x, p=p))
            assert values[-1][-1] == pytest.approx(np.linalg.slogdet(system.mass_matrix(x, p=p))[1], rel=1e-12)
            nu = d.total_rates(x, p=p)
            assert 0.5 * nu @ nu == pytest.approx(system.kinetic_energy(x, p=p), rel=1e-12)
        small(values[0] - values[1], values[1], 1e-13)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_tiny_and_huge_mechanisms_have_the_same_total_rates_in_their_own_units(scale):
    """Lengths ×s and masses ×s³: M ×s⁵, so ν ×s^2.5."""

    def arm(s):
        m = da.Mechanism("arm", gravity=(0, 0, 0))
        before = m.ground.at()
        for k in range(4):
            link = m.add_body(f"l{k}", mass=s**3, com=(0.5 * s, 0, 0), inertia=np.diag([0.1, 0.1, 0.15]) * s**5)
            m.add_joint(f"J{k}", da.Revolute("yz"[k % 2]), before, link)
            before = link.at(s, 0.1 * s, 0)
        return m.compile(backend="casadi")

    q, v = [0.2, -0.5, 0.9, 1.4], [1.0, -2.0, 0.5, 0.7]
    one, other = (s.diagonal.total_rates(s.state(q, v)) for s in (arm(1.0), arm(scale)))
    np.testing.assert_allclose(other / scale**2.5, one, rtol=1e-11)
