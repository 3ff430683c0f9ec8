"""Loops eliminated within what carries them: on random moving trees the answer is that of dense algebra."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.recursions.elimination import SaddleFactor, TreeFactor, mass_factor
from dalembert.spatial import Transform
from dalembert.system.functions import Trace
from random_loops import CUT_JOINTS, TREE_JOINTS
from random_mechanisms import random_frame, random_inertia, random_joint, random_state

SHORT = (da.Revolute, da.Prismatic, da.Universal, da.Screw)  # joints of paths along which the mass matrix is formed


def clustered(seed: int, kinds=SHORT, loops: int = 6, length: int = 3) -> tuple[da.System, da.State]:
    """Local loops of random joints on a free body and on each other, closed where they stand."""
    rng = np.random.default_rng([seed, 5])
    m = da.Mechanism(f"clusters {seed}", gravity=(0.4, -0.7, -9.6))
    bases = [m.add_body("base", mass=5.0, com=rng.normal(size=3) * 0.1, inertia=random_inertia(rng))]
    m.add_joint("float", da.Free(), m.ground, bases[0])
    ends = []
    for k in range(loops):
        base = before = bases[rng.integers(len(bases))] if k % 3 == 2 and kinds is not SHORT else bases[0]
        for i in range(length):
            body = m.add_body(
                f"b{k}{i}", mass=rng.uniform(1, 2), com=rng.normal(size=3) * 0.2, inertia=random_inertia(rng)
            )
            kind = kinds[rng.integers(len(kinds))]
            m.add_joint(f"j{k}{i}", random_joint(rng, kind), random_frame(rng, before), body)
            before = body
        bases.append(before)
        ends.append(
            (base, before, random_joint(rng, CUT_JOINTS[rng.integers(1, 3)] if kinds is not SHORT else da.Spherical))
        )
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    for k, (base, tip, joint) in enumerate(ends):
        at = tip.at(*rng.normal(size=3) * 0.3)
        T, B = (tree.pose(x, f) for f in (at, base))
        seen = Transform(B[:3, :3], B[:3, 3]).inverse() @ Transform(T[:3, :3], T[:3, 3])
        m.close_loop(f"loop{k}", joint, at, base.at(*seen.p, rotation=seen.R))
    system = m.compile(backend="casadi")
    return system, system.project(system.state(x.q, x.v))


@pytest.mark.parametrize("kinds", [SHORT, TREE_JOINTS], ids=["formed", "innovations"])
@pytest.mark.parametrize("seed", range(2))
def test_accelerations_of_clusters_are_those_of_dense_algebra(seed, kinds):
    system, x = clustered(seed, kinds)
    M, f, A, gamma = system.evaluate("constrained", x)
    vdot, lam, margin = system.evaluate("accelerate", x, tau=np.zeros(system.nv))
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    if np.linalg.matrix_rank(A) < len(A):
        assert margin[0] < 1e-8 or not np.isfinite(vdot).all()
        return
    expected = np.linalg.solve(K, np.concatenate([f, -gamma]))
    scale = np.abs(expected).max() * min(np.linalg.cond(K), 1e6) ** 0.5
    np.testing.assert_allclose(np.concatenate([vdot, lam]), expected, rtol=0, atol=1e-12 * scale)
    found = system.acceleration(x)
    assert found.success
    np.testing.assert_allclose(found.vdot, expected[: system.nv], rtol=0, atol=1e-11 * scale)


def test_a_row_goes_as_soon_as_its_own_velocities_are_gone_where_that_is_cheaper():
    """Six loops on one body: their rows do not meet, and the body's six velocities come last or nearly so."""
    system, _ = clustered(1)
    s = Trace(system.description)
    factor = mass_factor(s.at)
    assert isinstance(factor, TreeFactor)
    order = SaddleFactor(factor.M, s.rows.A).order
    assert order.index(system.nv) < order.index(0)


def test_loops_in_a_ring_keep_the_usual_order():
    """One loop has nothing to gain: velocities first, then rows, and the margin is the angle in the mass metric."""
    system = zoo.four_bar().compile(backend="casadi")
    s = Trace(system.description)
    factor = mass_factor(s.at)
    assert isinstance(factor, TreeFactor)
    assert SaddleFactor(factor.M, s.rows.A).order[:3] == [2, 1, 0]


@pytest.mark.parametrize("seed", range(6))
def test_both_orders_solve_the_same_equations(seed, monkeypatch):
    """Random sparse M and A, each order in turn; a dependent row gives no margin in either."""
    rng = np.random.default_rng(seed)
    carrier, count = 3, 5
    n = carrier + 3 * count
    M, A = np.zeros((n, n)), np.zeros((2 * count, n))
    for k in range(count):
        own = list(range(carrier + 3 * k, carrier + 3 * k + 3))
        X = rng.normal(size=(8, carrier + 3))
        M[np.ix_([*range(carrier), *own], [*range(carrier), *own])] += X.T @ X
        A[2 * k : 2 * k + 2, own] = rng.normal(size=(2, 3))
    f, gamma = rng.normal(size=n), rng.normal(size=2 * count)
    expected = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]]), np.concatenate([f, -gamma]))
    orders = []
    for clearly in (0.0, 10.0):
        monkeypatch.setattr("dalembert.recursions.elimination.CLEARLY", clearly)
        factor = SaddleFactor(M.astype(object), A.astype(object))
        found = np.concatenate(factor.solve(f.astype(object), gamma.astype(object))).astype(float)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        orders.append(factor.order)
        twice = A.copy()
        twice[1] = 2.0 * twice[0]
        assert not float(SaddleFactor(M.astype(object), twice.astype(object)).margin) > 1e-12
    assert orders[0] != orders[1]
    assert orders[0][:n] == list(reversed(range(n)))
