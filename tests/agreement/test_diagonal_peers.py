"""The diagonal equations agree with Pinocchio, with ordinary simulation, and with the mass metric by Cholesky."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert import zoo
from dalembert.formulations import FORMULATIONS
from dalembert.recursions import elimination
from pinocchio_peer import Peer
from random_loops import parallelogram, random_closed
from random_mechanisms import random_state, random_tree

INDEPENDENT = [0, 1, 8, 9, 11]  # seeds whose loops are so, unless they are doubled on purpose


@pytest.mark.parametrize(("seed", "bodies"), list(enumerate([1, 1, 2, 3, 4, 5, 7, 9, 12, 20, 30])))
def test_accelerations_of_total_rates_are_those_of_pinocchio(seed, bodies):
    """ν̇ = mᵀ v̇ + ṁᵀ v with Pinocchio's v̇, m by a reverse Cholesky factor of Pinocchio's M; ṁᵀ v by AD of ours."""
    m = random_tree(seed, bodies, floating=seed % 3 == 0)
    system = m.compile(backend="casadi")
    peer, x = Peer(m, system), random_state(system, seed)
    tau, order = np.random.default_rng(seed).normal(size=system.nv), peer.v_order
    q, back = peer.q(x.q), np.argsort(order)
    vdot = pin.aba(peer.model, peer.data, q, x.v[order], tau[order])[back]
    M = pin.crba(peer.model, peer.data, q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(back, back)]
    factor = np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]
    s = ca.SX.sym("s")
    moved = system.function("total_rates")(system.function("plus")(x.q, s * ca.DM(x.v)), ca.DM(x.v))
    turning = np.array(ca.Function("d", [s], [ca.jacobian(moved, s)])(0)).ravel()
    expected = factor.T @ vdot + turning
    found = system.diagonal.acceleration(x, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * max(np.abs(expected).max(), 1e-3))
    np.testing.assert_allclose(system.diagonal.total_rates(x), factor.T @ x.v, rtol=0, atol=1e-10 * np.abs(x.v).max())


def buoy() -> da.System:
    """A floating body with a ball joint and a hinge: quaternions, a joint of six and one of three velocities."""
    m = da.Mechanism("buoy", gravity=(0, 0, -9.81))
    hull = m.add_body("hull", mass=3.0, com=(0.05, 0, 0), inertia=(0.2, 0.3, 0.15))
    mast = m.add_body("mast", mass=0.7, com=(0, 0, 0.5), inertia=(0.06, 0.05, 0.01))
    boom = m.add_body("boom", mass=0.4, com=(0.3, 0, 0), inertia=(0.001, 0.02, 0.02))
    m.add_joint("sea", da.Free(), m.ground, hull)
    m.add_joint("ball", da.Spherical(), hull.at(0, 0, 0.2), mast)
    m.add_joint("hinge", da.Revolute("y"), mast.at(0, 0, 0.8), boom)
    m.add_spring("stay", hull.at(0.4, 0, 0), mast.at(0, 0, 0.8), stiffness=40.0, rest_length=0.7)
    return m.compile()


@pytest.mark.parametrize("make", [buoy, lambda: zoo.chain(4, axes=("y", "x"), bobs=False).compile()])
def test_motion_in_total_rates_is_the_ordinary_motion(make):
    system = make()
    x = system.state(v=np.linspace(-1.0, 1.5, system.nv))
    if "J1" in system.q_names:
        x = x.replace(q={"J1": 0.5, "J2": -0.4})
    end = da.simulate(system, x, 1.5, rtol=1e-11, atol=1e-11)
    d, ordinary = system.diagonal, system.kernel("ode")
    for name, normalized in (("diagonal_ode", True), ("diagonal_ode_xi", False)):
        kernel = system.kernel(name)  # laid out as "ode" is, so that an integrator can take it instead
        assert (kernel.names_in, kernel.n_in, kernel.y_size) == (ordinary.names_in, ordinary.n_in, ordinary.y_size)
        f, y = d.right_hand_side(normalized=normalized), d.pack(x, normalized=normalized)
        run = solve_ivp(f, (0.0, 1.5), y, method="DOP853", rtol=1e-11, atol=1e-11)
        reached = d.unpack(run.y[:, -1], t=1.5, normalized=normalized)
        np.testing.assert_allclose(system.minus(reached.q, end.q[-1]), 0.0, atol=1e-8)
        np.testing.assert_allclose(reached.v, end.v[-1], atol=1e-8 * np.abs(end.v[-1]).max())


@pytest.mark.parametrize("seed", range(6))
def test_whitened_constraints_are_those_of_the_mass_metric_turned(seed):
    """Ã = A m^−ᵀ and A L^−ᵀ have the same singular values, and Ã Ãᵀ = A M⁻¹ Aᵀ."""
    system, x = random_closed(seed)
    A, M = system.constraint_matrix(x), system.mass_matrix(x)
    white, S = system.diagonal.whitened(x), A @ np.linalg.solve(M, A.T)
    np.testing.assert_allclose(system.diagonal.delassus(x), S, atol=1e-10 * np.abs(S).max())
    cholesky = np.linalg.solve(np.linalg.cholesky(M), A.T).T
    sigma = [np.linalg.svd(a, compute_uv=False) for a in (white, cholesky)]
    np.testing.assert_allclose(sigma[0], sigma[1], atol=1e-11 * sigma[1][0])


@pytest.mark.parametrize("formulation", [name for name in FORMULATIONS if name != "partition"])
@pytest.mark.parametrize("seed", INDEPENDENT)
def test_accelerations_in_the_innovations_metric_are_those_in_the_mass_metric(formulation, seed):
    redundant = formulation in ("nullspace", "admissible", "projection")
    system, x = random_closed(seed, redundant=redundant)
    tau = np.random.default_rng(seed).normal(size=system.nv)
    a, b = (system.acceleration(x, tau, formulation=formulation, metric=k) for k in ("innovations", "mass"))
    assert a.success
    assert a.rank == b.rank
    scale = np.abs(b.vdot).max() * b.condition
    np.testing.assert_allclose(a.vdot, b.vdot, atol=1e-11 * scale)
    np.testing.assert_allclose(a.force, b.force, atol=1e-11 * np.abs(b.force).max() * b.condition)
    size = np.abs(b.multipliers).max() * b.condition
    np.testing.assert_allclose(a.multipliers, b.multipliers, atol=1e-10 * size)
    assert a.residual < 1e-9 * scale


def driven_and_rolling() -> tuple[da.System, da.State]:
    """A disc that rolls, and a pendulum on it that a motor of given angle drives: Pfaffian and rheonomic rows."""
    m = zoo.rolling_disc()
    bob = m.add_body("bob", mass=0.3, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))
    disc = next(iter(m.bodies.values()))
    m.add_joint("swing", da.Spherical(), disc, bob)
    arm = m.add_body("arm", mass=0.2, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.add_joint("hinge", da.Revolute("y"), bob, arm)
    m.add_driver("drive", "hinge", lambda t: 0.3 * ca.sin(2 * t))
    system = m.compile(backend="casadi")
    return system, system.assemble(*zoo.rolling_disc_start(), t=0.4)


def flat_parallelogram() -> tuple[da.System, da.State]:
    """All bars in line: the constraints lose rank."""
    system = parallelogram()
    return system, system.state({"A": 0.0, "B": 0.0, "C": 0.0})


def unconstrained() -> tuple[da.System, da.State]:
    system = zoo.chain(3).compile(backend="casadi")
    return system, system.state({"J1": 0.4}, v={"J2": 1.0})


@pytest.mark.parametrize("make", [driven_and_rolling, flat_parallelogram, unconstrained])
@pytest.mark.parametrize("formulation", ["nullspace", "admissible"])
def test_innovations_serve_nonholonomic_driven_singular_and_no_constraints(make, formulation):
    system, x = make()
    a, b = (system.acceleration(x, formulation=formulation, metric=k) for k in ("innovations", "mass"))
    assert a.success
    assert a.rank == b.rank
    np.testing.assert_allclose(a.vdot, b.vdot, atol=1e-10 * np.abs(b.vdot).max())
    np.testing.assert_allclose(a.multipliers, b.multipliers, atol=1e-9 * np.abs(b.multipliers).max(initial=1.0))


@pytest.mark.parametrize("seed", INDEPENDENT)
def test_elimination_by_innovations_is_elimination_from_the_mass_matrix(seed, monkeypatch):
    answers = []
    for long in (0, 1000):
        monkeypatch.setattr(elimination, "LONG", long)
        system, x = random_closed(seed, redundant=False)
        tau = np.random.default_rng(seed).normal(size=system.nv)
        answers.append(np.concatenate([np.ravel(y) for y in system.evaluate("answer", x, tau=tau)]))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-9 * np.abs(answers[1]).max())


def closed_chain(links: int) -> tuple[da.System, da.State]:
    m = zoo.chain(links, axes=("y", "x"), bobs=False)
    m.close_loop("end", da.Spherical(), m.frames["tip"], m.ground.at(0.3 * links, 0, -0.4 * links))
    system = m.compile()
    return system, system.assemble(guess={f"J{k + 1}": 0.2 * (-1) ** (k // 2) for k in range(links)})


def test_long_closed_chains_are_eliminated_by_innovations_in_linear_cost():
    """Beyond 14 velocities; the answer is that of the null space."""
    cost = []
    for links in (20, 30, 40):
        m = zoo.chain(links, axes=("y", "x"), bobs=False)
        m.close_loop("end", da.Spherical(), m.frames["tip"], m.ground.at(0.3 * links, 0, -0.4 * links))
        cost.append(m.compile(backend="casadi").function("accelerate").n_instructions())
    assert abs((cost[2] - cost[1]) / (cost[1] - cost[0]) - 1) < 0.02
    system, x = closed_chain(20)
    a, b = system.acceleration(x), system.acceleration(x, formulation="nullspace")
    assert a.rank == b.rank == 3
    np.testing.assert_allclose(a.vdot, b.vdot, atol=1e-10 * np.abs(b.vdot).max())
    np.testing.assert_allclose(a.multipliers, b.multipliers, atol=1e-9 * np.abs(b.multipliers).max())
