"""Laws that hold for every tree, found by two routes on seeded random mechanisms of all joint types."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from random_mechanisms import GRAVITY, random_state, random_tree


@pytest.fixture(scope="module", params=range(8))
def case(request):
    seed = request.param
    m = random_tree(100 + seed, [1, 2, 3, 4, 5, 6, 9, 14][seed], floating=seed % 2 == 1)
    system = m.compile(backend="casadi")
    return system, random_state(system, seed), np.random.default_rng([seed, 3])


COORDINATE_JOINTS = (da.Revolute, da.Prismatic, da.Screw, da.Cylindrical, da.Universal, da.Planar)


def small(error, scale, tolerance=1e-11):
    assert np.abs(error).max(initial=0.0) <= tolerance * max(np.abs(scale).max(initial=0.0), 1e-3)


def test_forward_dynamics_undoes_inverse_dynamics(case):
    system, x, rng = case
    a = rng.normal(size=system.nv)
    condition = np.linalg.cond(system.mass_matrix(x))
    small(system.forward_dynamics(x, system.inverse_dynamics(x, a)) - a, a, max(1e-11, 1e-15 * condition))


def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(case):
    system, x, rng = case
    a = rng.normal(size=system.nv)
    tau = system.inverse_dynamics(x, a)
    small(system.mass_matrix(x) @ a + system.bias(x) - tau, tau)
    small(system.gravity_vector(x) + system.coriolis_vector(x) - system.bias(x), system.bias(x))


def test_kinetic_energy_is_half_v_M_v_and_M_is_symmetric_positive_definite(case):
    system, x, _ = case
    M = system.mass_matrix(x)
    small(M - M.T, M, 0.0)
    assert np.linalg.eigvalsh(M)[0] > 0
    T = system.kinetic_energy(x)
    small(0.5 * x.v @ M @ x.v - T, T)


def _directional(function, q, system, direction, *rest):
    """d/ds f(q ⊕ s d) at s = 0, by AD through the traced functions."""
    s = ca.SX.sym("s")
    moved = system.function("plus")(q, s * ca.DM(direction))
    value = function(moved, *rest)
    return np.array(ca.Function("d", [s], [ca.jacobian(ca.vec(value), s)])(0)).reshape(value.shape, order="F")


def test_energy_rate_is_the_power_of_the_joint_forces(case):
    system, x, rng = case
    tau = rng.normal(size=system.nv)
    a = system.forward_dynamics(x, tau)
    M = system.mass_matrix(x)
    dT = 0.5 * x.v @ _directional(system.function("mass_matrix"), x.q, system, x.v) @ x.v + x.v @ M @ a
    dU = _directional(system.function("potential_energy"), x.q, system, x.v)
    small(dT + float(dU.squeeze()) - tau @ x.v, [abs(dT), 1.0])


def test_gravity_vector_is_the_gradient_of_potential_energy(case):
    system, x, _ = case
    f, g = system.function("potential_energy"), system.gravity_vector(x)
    gradient = [float(_directional(f, x.q, system, e).squeeze()) for e in np.eye(system.nv)]
    small(gradient - g, g)


def test_mass_matrix_rate_minus_twice_coriolis_matrix_does_no_work(case):
    """vᵀ (Ṁ − 2C) v = 0 where C v is the Coriolis vector."""
    system, x, _ = case
    dM = _directional(system.function("mass_matrix"), x.q, system, x.v)
    c = system.coriolis_vector(x)
    small(x.v @ dM @ x.v - 2 * x.v @ c, np.abs(x.v) @ np.abs(c) + 1)


def test_mass_matrix_rate_minus_twice_coriolis_matrix_is_skew(case):
    """With C from Christoffel's symbols of M (by AD), C v is the Coriolis vector and Ṁ − 2C is skew."""
    system = random_tree(int(case[2].integers(1000)), 4, COORDINATE_JOINTS).compile(backend="casadi")
    x = random_state(system, 0)
    n, M, q = system.nv, system.function("mass_matrix"), x.q
    dM = [_directional(M, q, system, e) for e in np.eye(n)]  # ∂M/∂q_k
    C = np.array(
        [
            [0.5 * sum((dM[k][i, j] + dM[j][i, k] - dM[i][j, k]) * x.v[k] for k in range(n)) for j in range(n)]
            for i in range(n)
        ]
    )
    c = system.coriolis_vector(x)
    small(C @ x.v - c, c)
    N = sum(dM[k] * x.v[k] for k in range(n)) - 2 * C
    small(N + N.T, N)


def test_momentum_rate_is_the_external_wrench(case):
    """Of a floating tree in one piece: weight is the only external force, joint forces change nothing."""
    seed = int(case[2].integers(1000))
    m = random_tree(seed, 5, floating=True, serial=1.0, rotors=False)
    system = m.compile(backend="casadi")
    x = random_state(system, seed)
    tau = np.random.default_rng(seed).normal(size=system.nv)
    tau[system.layout.v_slice("joint0")] = 0.0
    a = system.forward_dynamics(x, tau)
    P = system.function("momentum")
    dP = _directional(P, x.q, system, x.v, x.v).ravel() + np.array(P(x.q, a)).ravel()
    mass = sum(float(b.mass) for b in m.bodies.values())
    weight = mass * np.array(GRAVITY)
    small(dP - np.concatenate([np.cross(system.center_of_mass(x), weight), weight]), dP)


def test_jacobian_is_the_derivative_of_pose(case):
    """[ω] = Ṙ Rᵀ and v = ṗ by AD of the traced pose, against J v in world axes; J̇ v likewise one order up."""
    system, x, _ = case
    T = system.pose(x, "probe")
    dT = _directional(system.function("pose", frame="probe"), x.q, system, x.v)
    W = dT[:3, :3] @ T[:3, :3].T
    V = system.jacobian(x, "probe", axes="world") @ x.v
    small(np.array([W[2, 1], W[0, 2], W[1, 0], *dT[:3, 3]]) - V, V)
    small(W + W.T, W)
    for axes in ("world", "body"):
        J = _directional(system.function("jacobian", frame="probe", axes=axes), x.q, system, x.v)
        rate = system.jacobian_rate(x, "probe", axes=axes)
        small(J @ x.v - rate, np.abs(J) @ np.abs(x.v) + 1)


def test_wrenches_act_through_the_jacobian(case):
    system, x, rng = case
    W, a = rng.normal(size=6), rng.normal(size=system.nv)
    tau = system.inverse_dynamics(x, a, wrenches={"probe": W})
    small(system.inverse_dynamics(x, a) - system.jacobian(x, "probe").T @ W - tau, tau)
    small(
        system.forward_dynamics(x, tau, wrenches={"probe": W}) - a,
        a,
        1e-10 * np.linalg.cond(system.mass_matrix(x)),
    )


@pytest.mark.parametrize("seed", range(4))
def test_motion_is_invariant_under_a_change_of_root_frame(seed):
    """The same tree on a turned and moved base, with gravity turned along, has the same accelerations and energies."""
    R, p = Rotation.random(None, seed).as_matrix(), np.random.default_rng(seed).normal(size=3)
    results = []
    for moved in (False, True):
        m = random_tree(200 + seed, 5)
        turned = da.Mechanism("turned", gravity=tuple(R @ GRAVITY) if moved else GRAVITY)
        bodies = {"ground": turned.ground}
        for name, b in m.bodies.items():
            if name != "ground":
                bodies[name] = turned.add_body(name, b.mass, b.com, b.inertia)
        base = turned.ground.at(*p, rotation=R).T if moved else turned.ground.frame.T
        for name, a in m.joints.items():
            T = base @ a.parent.T if a.parent.body.name == "ground" else a.parent.T
            parent = bodies[a.parent.body.name].at(*T.p, rotation=T.R)
            child = bodies[a.child.body.name].at(*a.child.T.p, rotation=a.child.T.R)
            turned.add_joint(name, a.joint, parent, child, armature=a.armature)
        system = turned.compile(backend="casadi")
        x = random_state(system, seed)
        results.append((system.mass_matrix(x), system.bias(x), system.forward_dynamics(x), system.kinetic_energy(x)))
    for one, other in zip(*results):
        small(one - other, one, 1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_plus_and_minus_are_inverse_and_rates_is_their_derivative(seed):
    system = random_tree(300 + seed, 4, floating=True).compile(backend="casadi")
    x = random_state(system, seed)
    rng = np.random.default_rng(seed)
    for size in (1e-9, 1e-4, 1e-2, 1.0):
        d = rng.uniform(-1, 1, system.nv) * size
        small(system.minus(system.plus(x, d), x) - d, 1.0, 1e-13)
    s = ca.SX.sym("s")
    q = system.function("plus")(x.q, s * ca.DM(x.v))
    small(np.array(ca.Function("dq", [s], [ca.jacobian(q, s)])(0)).ravel() - system.rates(x), x.v, 1e-13)
    small(system.plus(system.plus(x, 0.3 * x.v), 0.5 * x.v) - system.plus(x, 0.8 * x.v), 1.0, 1e-13)


def test_parameters_as_inputs_equal_parameters_as_constants():
    def build(L, mass, k, pitch, symbolic):
        m = da.Mechanism(gravity=(0, 0, -9.81))
        if symbolic:
            L, mass, k, pitch = (m.add_parameter(n, 0.9) for n in ("L", "mass", "k", "pitch"))
        a = m.add_body("a", mass=mass, com=(L / 2, 0, 0.1), inertia=da.box_inertia(mass, (L, 0.1, 0.2)))
        b = m.add_body("b", mass=2 * mass, com=(0, L / 3, 0), inertia=da.cylinder_inertia(mass, 0.1, L, "y"))
        c = m.add_body("c", mass=1.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
        m.add_joint("A", da.Revolute("y"), m.ground, a, stiffness=k, rest=0.1)
        m.add_joint("B", da.Screw("z", pitch=pitch), a.at(L, 0, 0, rotation=da.rotation("x", L)), b)
        m.add_joint("C", da.Spherical(), b.at(0, L, 0), c.at(0, 0, -L / 5), stiffness=k)
        m.add_spring("s", m.ground.at(0, 0, L), c.at(L, 0, 0), stiffness=k, damping=0.3, rest_length=L / 2)
        return m.compile(backend="casadi")

    values = {"L": 0.6, "mass": 1.7, "k": 4.0, "pitch": 0.2}
    fixed, free = build(**values, symbolic=False), build(**values, symbolic=True)
    x = random_state(fixed, 5)
    y = free.state(x.q, x.v)
    assert free.with_parameters(**values).energy(y) == pytest.approx(fixed.energy(x), rel=1e-13)
    small(free.mass_matrix(y, p=values) - fixed.mass_matrix(x), fixed.mass_matrix(x), 1e-13)
    small(free.forward_dynamics(y, p=values) - fixed.forward_dynamics(x), fixed.forward_dynamics(x), 1e-12)
    small(free.applied_forces(y, p=values) - fixed.applied_forces(x), fixed.applied_forces(x), 1e-12)
    assert np.abs(free.mass_matrix(y) - fixed.mass_matrix(x)).max() > 0.1  # the defaults are other numbers


def test_lengths_and_masses_of_any_scale_give_the_same_motion():
    """A pendulum chain scaled by s in length has accelerations scaled by 1/s at the same angles, from 1e-6 to 1e6."""
    reference = None
    for s in (1e-6, 1.0, 1e6):
        m = da.Mechanism(gravity=(0, -9.81, 0))
        parent = m.ground
        for k in range(4):
            body = m.add_body(f"b{k}", mass=1e3 * s, com=(0.5 * s, 0, 0), inertia=da.rod_inertia(1e3 * s, s))
            m.add_joint(f"j{k}", da.Revolute("z"), parent.at(s if k else 0, 0, 0), body)
            parent = body
        system = m.compile(backend="casadi")
        a = s * system.forward_dynamics(system.state([0.3, -1.0, 2.0, 0.5]))
        reference = a if reference is None else reference
        small(a - reference, reference, 1e-12)


def test_a_state_and_a_system_place_frames_alike(case):
    """Pose and twist of every body, by the recursion on numbers and by the compiled kernels."""
    system, x, _ = case
    for name in system.layout.bodies:
        T, V = system.pose(x, name), system.twist(x, name)
        np.testing.assert_allclose(x.position(name), T[:3, 3], atol=1e-12 * (1 + np.abs(T).max()))
        np.testing.assert_allclose(x.rotation(name), T[:3, :3], atol=1e-12)
        np.testing.assert_allclose(x.twist(name), V, atol=1e-11 * (1 + np.abs(V).max()))
        np.testing.assert_allclose(x.velocity(name), T[:3, :3] @ V[3:], atol=1e-11 * (1 + np.abs(V).max()))


def test_a_state_places_frames_by_the_parameters_it_belongs_to():
    m = da.Mechanism("arm")
    L = m.add_parameter("L", 2.0)
    body = m.add_body("rod", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute("z"), m.ground, body)
    m.add_frame("tip", body.at(L, 0, 0))
    system = m.compile(backend="casadi")
    np.testing.assert_array_equal(system.state().position("rod"), np.zeros(3))
    np.testing.assert_array_equal(system.state().position("tip"), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(system.state(p={"L": 3.0}).position("tip"), [3.0, 0.0, 0.0])
