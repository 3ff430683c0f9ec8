"""Derivatives by recursion agree with automatic differentiation of the traced equations and with Pinocchio."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import dalembert as da
from dalembert import zoo
from oracle import close, differentiated, evaluated
from pinocchio_peer import Peer
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


def with_forces(m: da.Mechanism, seed: int) -> da.Mechanism:
    """Forces of every kind on a random tree: of the state, of inputs, of time, on links and in joints."""
    rng = np.random.default_rng([seed, 5])
    bodies = [b for b in m.bodies.values() if b is not m.ground]
    first, last = bodies[0], bodies[-1]
    here, there = (b.at(*rng.normal(size=3)) for b in (first, last))
    m.add_spring("spring", here, there, stiffness=30.0, damping=2.0, rest_length=0.2)
    m.add_spring("tie", m.ground.at(1, 2, 3), there, stiffness=10.0, damping=1.0, rest_length=0.1)
    pull = m.add_input("pull", 3)
    m.add_wrench("push", there, force=pull, moment=(0.1, 0.2, 0.3), axes="world")
    m.add_wrench("drag", here, force=lambda s: -0.3 * ca.norm_2(s.velocity(here)) * s.velocity(here), axes="world")
    m.add_wrench("swing", first, moment=lambda s: ca.vertcat(ca.sin(s.t), 0, s.position(there)[0]), axes="body")
    return m


@pytest.mark.parametrize("seed", range(10))
def test_inverse_dynamics_of_trees_of_every_joint(seed):
    system = random_tree(seed, 5, floating=seed % 2 == 0).compile(backend="casadi")
    x, a = random_state(system, seed), np.random.default_rng(seed).normal(size=system.nv)
    found = system.evaluate("inverse_dynamics_derivatives", x, a=a)
    expected = evaluated(differentiated(system, "inverse_dynamics", 0, ("q", "v", "a")), system, x, a=a)
    for mine, theirs in zip(found, expected):
        close(mine, theirs, 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_forces_that_depend_on_the_state(seed):
    system = with_forces(random_tree(seed, 4), seed).compile(backend="casadi")
    rng = np.random.default_rng(seed)
    x, a, u = random_state(system, seed).replace(t=0.7), rng.normal(size=system.nv), rng.normal(size=3)
    found = system.evaluate("inverse_dynamics_derivatives", x, a=a, u=u)
    expected = evaluated(differentiated(system, "inverse_dynamics", 0, ("q", "v", "a")), system, x, a=a, u=u)
    for mine, theirs in zip(found, expected):
        close(mine, theirs, 1e-12)


CONSTANT = (da.Revolute, da.Prismatic, da.Screw, da.Spherical, da.Cylindrical)


@pytest.mark.parametrize("seed", range(6))
def test_trees_agree_with_pinocchio(seed):
    """Its derivatives take screws as constant in the child: universal and planar joints come out wrong there."""
    m = random_tree(seed, 6, CONSTANT, floating=seed % 2 == 0)
    system = m.compile(backend="casadi")
    peer = Peer(m, system)
    x, a = random_state(system, seed), np.random.default_rng(seed).normal(size=system.nv)
    order = peer.v_order
    by_q, by_v, by_a = pin.computeRNEADerivatives(peer.model, peer.data, peer.q(x.q), x.v[order], a[order])
    by_a = np.triu(by_a) + np.triu(by_a, 1).T
    found = system.evaluate("inverse_dynamics_derivatives", x, a=a)
    for mine, theirs in zip(found, (by_q, by_v, by_a)):
        close(mine[np.ix_(order, order)], theirs, 1e-10)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_accelerations_of_random_closed_mechanisms(seed):
    """Off the manifold in velocity, too: the field an integrator sees is differentiated there."""
    system, x = random_closed(seed, bodies=5, loops=1, redundant=False)
    x = x.replace(v=x.v + 0.1 * np.random.default_rng(seed).normal(size=system.nv))
    *found, margin = system.evaluate("ode_jacobian", x)
    expected = evaluated(differentiated(system, "ode", 1, ("q", "v")), system, x)
    assert margin[0] > 1e-3
    for mine, theirs in zip(found, expected):
        close(mine, theirs, 1e-12)


@pytest.mark.parametrize("name", ["car", "rolling_disc", "chaplygin_sleigh", "five_bar", "loader", "slider_crank"])
def test_accelerations_of_the_zoo(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile(backend="casadi")
    rng = np.random.default_rng(3)
    x = system.state(*entry.start())
    x = system.project(x.replace(v=x.v + 0.3 * rng.normal(size=system.nv)))
    u = rng.normal(size=len(system.u_names))
    *found, _ = system.evaluate("ode_jacobian", x, u=u)
    expected = evaluated(differentiated(system, "ode", 1, ("q", "v")), system, x, u=u)
    for mine, theirs in zip(found, expected):
        close(mine, theirs, 1e-11)


def test_driven_and_coupled_mechanisms_differentiate_too():
    m = zoo.five_bar()
    names = list(m.joints)
    m.add_driver("drive", names[0], lambda t: 0.1 + 0.3 * ca.sin(2 * t))
    system = m.compile(backend="casadi")
    x = system.assemble(t=0.4, guess=zoo.five_bar_start()[0])
    *found, _ = system.evaluate("ode_jacobian", x)
    for mine, theirs in zip(found, evaluated(differentiated(system, "ode", 1, ("q", "v")), system, x)):
        close(mine, theirs, 1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_columns_and_pairs_of_long_chains_are_the_closed_forms(seed):
    """The other route for large trees, here on small ones: every joint type, branches, forces of the state."""
    system = with_forces(random_tree(seed, 6, floating=seed % 2 == 0), seed).compile(backend="casadi")
    rng = np.random.default_rng(seed)
    x, a, u = random_state(system, seed).replace(t=0.7), rng.normal(size=system.nv), rng.normal(size=3)
    expected = system.inverse_dynamics_derivatives(x, a, u=u)
    *columns, force_q, force_v = system.evaluate("long_chain_columns", x, a=a, u=u)
    by_q, by_v, by_a = system.kernels.pairs.product(*columns)
    for mine, theirs in zip((by_q - force_q, by_v - force_v, by_a), expected):
        close(mine, theirs, 1e-12)


@pytest.mark.parametrize("long", [40, 0], ids=["at once", "along each"])
@pytest.mark.parametrize("seed", range(5))
def test_body_jacobians_differentiate(seed, long, monkeypatch):
    """∂J/∂q, J̇ and J̈ (Spencer 4.4.1) against automatic and finite differences, every joint type."""
    monkeypatch.setattr("dalembert.system.frames.LONG", long)  # large trees are differentiated along one velocity each
    system = random_tree(seed, 5, floating=seed % 2 == 0).compile(backend="casadi")
    x, a = random_state(system, seed), np.random.default_rng(seed).normal(size=system.nv)
    by_q, rate, second = system.jacobian_derivatives(x, "probe", a)
    n, J = system.nv, system.function("jacobian", frame="probe")
    delta = ca.SX.sym("delta", n)
    moved = J(system.function("plus")(ca.DM(x.q), delta))
    slopes = ca.substitute(ca.jacobian(ca.vec(moved.T), delta), delta, ca.SX.zeros(n))  # row by row
    close(by_q.reshape(6 * n, n), np.array(ca.DM(slopes)), 1e-12)
    np.testing.assert_allclose(rate, by_q @ x.v, atol=1e-12 * max(1.0, np.abs(rate).max()))
    h = 1e-3

    def at(s):
        y = x.replace(q=system.plus(x, s * x.v + 0.5 * s * s * a), v=x.v + s * a)
        return system.jacobian_derivatives(y, "probe", a)[1]

    close(second, (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h), 1e-7)
