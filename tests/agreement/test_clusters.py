"""Loops eliminated within what carries them: on random moving trees the answer is that of dense algebra."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.recursions import elimination
from dalembert.recursions.clusters import ClusterFactor
from dalembert.recursions.elimination import Elimination, TreeFactor, mass_factor
from dalembert.recursions.saddle import SaddleFactor
from dalembert.spatial import Transform
from dalembert.system.trace import Trace
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


def arm(seed: int, cells: int, free: bool = True, redundant: bool = False, loops: bool = True) -> da.Mechanism:
    """Four-bars one on another, planes turned at random, with a screw, a universal or a ball joint between some."""
    rng = np.random.default_rng([seed, 9])
    m = da.Mechanism(f"arm {seed}", gravity=(0.4, -0.7, -9.6))
    before = m.ground.at()
    if free:
        base = m.add_body("base", mass=5.0, com=(0.1, 0, 0), inertia=random_inertia(rng))
        m.add_joint("float", da.Free(), m.ground, base)
        before = base.at()
    between = (da.Screw, da.Universal, da.Spherical, da.Prismatic)
    for k in range(cells):
        crank, coupler, rocker, wrist = (
            m.add_body(f"{n}{k}", mass=rng.uniform(1, 2), com=(size, 0, 0), inertia=random_inertia(rng))
            for n, size in (("crank", 0.1), ("coupler", 0.3), ("rocker", 0.2), ("wrist", 0.1))
        )
        at = before.at(0.1, 0, 0, rotation=da.rotation("x", rng.normal()))
        m.add_joint(f"A{k}", da.Revolute("z"), at, crank)
        m.add_joint(f"B{k}", da.Revolute("z"), crank.at(0.2), coupler)
        m.add_joint(f"D{k}", da.Revolute("z"), at.at(0.55), rocker)
        if loops:
            m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(0.6), rocker.at(0.4))
        if redundant and k == 1:
            m.close_loop(f"twice{k}", da.Spherical(), coupler.at(0.6), rocker.at(0.4))
        m.add_joint(f"W{k}", random_joint(rng, between[k % len(between)]), rocker.at(0.4), wrist)
        before = wrist.at(0.1, 0.05, 0.02)
    return m


def closing(crank: float) -> tuple[float, float]:
    """Angles of coupler and rocker at which the four-bar of `arm` is closed."""
    P, D = 0.2 * np.array([np.cos(crank), np.sin(crank)]), np.array([0.55, 0.0])
    d = np.linalg.norm(D - P)
    coupler = np.arctan2(*(D - P)[::-1]) + np.arccos((0.6**2 + d**2 - 0.4**2) / (2 * 0.6 * d))
    Q = P + 0.6 * np.array([np.cos(coupler), np.sin(coupler)])
    return coupler - crank, np.arctan2(*(Q - D)[::-1])


def assembled(m: da.Mechanism, seed: int, cells: int) -> tuple[da.System, da.State]:
    system = m.compile(backend="casadi")
    q = {}
    for k in range(cells):
        crank = 0.6 + 0.1 * k
        q |= dict(zip((f"A{k}", f"B{k}", f"D{k}"), (crank, *closing(crank))))
    return system, system.project(system.state(q).replace(v=np.random.default_rng(seed).normal(size=system.nv)))


@pytest.fixture
def always(monkeypatch):
    """No path is too short for the recursion by clusters."""
    monkeypatch.setattr(elimination, "LONG", 0)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_long_arms_of_local_loops_are_eliminated_by_clusters_as_dense_algebra_does(seed, free, always):
    """With screws, universal, ball and sliding joints between the loops."""
    system, x = assembled(arm(seed, 4, free), seed, 4)
    s = Trace(system.description)
    assert isinstance(Elimination(mass_factor(s.at), s.rows.sparse).whole, ClusterFactor)
    M, f, A, gamma = system.evaluate("constrained", x)
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    tau = np.random.default_rng(seed).normal(size=system.nv)
    expected = np.linalg.solve(K, np.concatenate([f + tau, -gamma]))
    vdot, lam, margin = system.evaluate("accelerate", x, tau=tau)
    np.testing.assert_allclose(np.concatenate([vdot, lam]), expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert margin.min() > 1e-6
    found = system.acceleration(x, tau=tau)
    general = system.acceleration(x, tau=tau, formulation="nullspace")
    np.testing.assert_allclose(found.vdot, general.vdot, rtol=0, atol=1e-9 * np.abs(general.vdot).max())


def test_the_work_of_an_arm_of_local_loops_grows_as_that_of_an_open_arm():
    """Operations a cell: the same for the fifth and sixth as for the seventh and eighth, at most 2.5 open ones."""
    count = {n: arm(0, n).compile(backend="casadi").function("ode").n_instructions() for n in (4, 6, 8)}
    free = {n: arm(0, n, loops=False).compile(backend="casadi").function("ode").n_instructions() for n in (4, 8)}
    assert abs((count[8] - count[6]) - (count[6] - count[4])) < 0.1 * (count[6] - count[4])
    assert count[8] - count[4] < 2.5 * (free[8] - free[4])


def flat_arm(offset: float) -> tuple[da.System, da.State]:
    """Parallelograms one on another, the third `offset` rad from its flat position, where its rows lose rank."""
    m = da.Mechanism("parallelograms", gravity=(0, -9.81, 0))
    base = m.add_body("base", mass=5.0, inertia=(1.0, 1.1, 1.2))
    m.add_joint("float", da.Free(), m.ground, base)
    before, q = base.at(), {}
    for k in range(4):
        crank, coupler, rocker = (
            m.add_body(f"{n}{k}", mass=1.0, com=(0.2, 0, 0), inertia=(0.02, 0.03, 0.04)) for n in ("c", "l", "r")
        )
        m.add_joint(f"A{k}", da.Revolute("z"), before, crank)
        m.add_joint(f"B{k}", da.Revolute("z"), crank.at(0.4), coupler)
        m.add_joint(f"D{k}", da.Revolute("z"), before.at(0.5), rocker)
        m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(0.5), rocker.at(0.4))
        angle = offset if k == 2 else 0.7 + 0.1 * k
        q |= {f"A{k}": angle, f"B{k}": -angle, f"D{k}": angle}
        before = rocker.at(0.4, rotation=da.rotation("x", 0.4))
    system = m.compile(backend="casadi")
    return system, system.state(q)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.3])
def test_a_local_loop_beside_its_singular_position_is_left_to_the_general_route(offset, always):
    """In the position the answer says that rank is lost; beside it both routes agree as far as the margin allows."""
    system, x = flat_arm(offset)
    s = Trace(system.description)
    assert isinstance(Elimination(mass_factor(s.at), s.rows.sparse).whole, ClusterFactor)
    found = system.acceleration(x)
    general = system.acceleration(x, formulation="nullspace")
    assert found.rank == general.rank
    assert (found.rank < len(system.row_names)) == (offset == 0.0)
    scale = np.abs(general.vdot).max() / max(offset, 1e-9) if offset else np.abs(general.vdot).max()
    np.testing.assert_allclose(found.vdot, general.vdot, rtol=0, atol=1e-12 * scale)
    angle, length = system.evaluate("accelerate", x, tau=np.zeros(system.nv))[2]  # squares
    assert not min(angle, length) > 100 * offset**2 + 1e-12


def test_redundant_rows_of_a_local_loop_have_no_margin_and_the_general_route_answers(always):
    system, x = assembled(arm(3, 3, redundant=True), 3, 3)
    M, f, A, gamma = system.evaluate("constrained", x)
    rank = np.linalg.matrix_rank(A, tol=1e-9)
    assert rank < len(A)
    assert not system.evaluate("accelerate", x, tau=np.zeros(system.nv))[2][0] > 1e-8
    found = system.acceleration(x)
    assert found.rank == rank
    R = np.linalg.svd(A)[0][:, :rank].T
    K = np.block([[M, -(R @ A).T], [R @ A, np.zeros((rank, rank))]])
    expected = np.linalg.solve(K, np.concatenate([f, -R @ gamma]))[: system.nv]
    np.testing.assert_allclose(found.vdot, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


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
        monkeypatch.setattr("dalembert.recursions.saddle.CLEARLY", clearly)
        factor = SaddleFactor(M.astype(object), A.astype(object))
        found = np.concatenate(factor.solve(f.astype(object), gamma.astype(object))).astype(float)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        orders.append(factor.order)
        twice = A.copy()
        twice[1] = 2.0 * twice[0]
        assert not float(SaddleFactor(M.astype(object), twice.astype(object)).margin) > 1e-12
    assert orders[0] != orders[1]
    assert orders[0][:n] == list(reversed(range(n)))
