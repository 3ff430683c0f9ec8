"""Compiled sparse elimination agrees with the rank-revealing formulations, and steps aside where it must."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.formulations import FORMULATIONS
from dalembert.outcome import Outcome
from dalembert.recursions.elimination import TreeFactor, eliminate
from random_loops import parallelogram, random_closed


@pytest.mark.parametrize("seed", range(10))
def test_elimination_agrees_with_the_null_space_on_random_closed_mechanisms(seed):
    system, x = random_closed(seed, redundant=False)
    tau = np.random.default_rng(seed).normal(size=system.nv)
    vdot, multipliers, (margin, _) = system.evaluate("accelerate", x, tau=tau)
    expected = system.acceleration(x, tau, formulation="nullspace")
    if expected.rank < len(multipliers):
        assert margin < 1e-8 or not np.isfinite(vdot).all()
        return
    scale = max(1.0, np.abs(expected.vdot).max()) / np.sqrt(margin)
    np.testing.assert_allclose(vdot, expected.vdot, atol=1e-10 * scale)
    np.testing.assert_allclose(multipliers, expected.multipliers, atol=1e-9 * scale * max(1, np.abs(multipliers).max()))


def test_a_tree_fills_in_nothing():
    """L of M = Lᵀ D L has entries only where a link is an ancestor of another."""
    m = da.Mechanism()
    root = m.add_body("root", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("root", da.Revolute("z"), m.ground, root)
    for k in range(4):
        leaf = m.add_body(f"leaf{k}", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
        m.add_joint(f"leaf{k}", da.Revolute("z"), root.at(k, 0, 0), leaf)
    M = m.compile(backend="casadi").mass_matrix(np.linspace(0, 1, 5)).astype(object)
    factor = TreeFactor(M)
    assert [[i for i, _ in row] for row in factor.L] == [[], [0], [0], [0], [0]]
    x = np.arange(1.0, 6.0).astype(object)
    y = factor.lower_transposed(x)
    solved = factor.lower(np.array([a * d for a, d in zip(y, factor.inverse)], dtype=object))
    np.testing.assert_allclose(solved.astype(float), np.linalg.solve(M.astype(float), x.astype(float)), rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_elimination_solves_dense_equations_too(seed):
    rng = np.random.default_rng(seed)
    n, m = 6, 3
    B = rng.normal(size=(n, n))
    M, A, f, gamma = B @ B.T + np.eye(n), rng.normal(size=(m, n)), rng.normal(size=n), rng.normal(size=m)
    vdot, lam, (margin, shortest) = eliminate(TreeFactor(M.astype(object)), *(x.astype(object) for x in (f, A, gamma)))
    K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    expected = np.linalg.solve(K, np.concatenate([f, -gamma]))
    np.testing.assert_allclose(np.concatenate([vdot, lam]).astype(float), expected, atol=1e-10)
    S = A @ np.linalg.solve(M, A.T)
    sines = [np.linalg.det(S) / (np.linalg.det(np.delete(np.delete(S, k, 0), k, 1)) * S[k, k]) for k in range(m)]
    assert min(sines) * (1 - 1e-9) <= margin <= 1
    assert shortest == pytest.approx(np.diag(S).min())


def test_cost_grows_as_the_number_of_loops():
    """Instructions of a ladder of N loops: linear, since no loop touches links far away."""

    def ladder(loops):
        m = da.Mechanism(gravity=(0, -9.81, 0))
        cranks = [
            m.add_body(f"crank{i}", mass=1.0, com=(0, -0.5, 0), inertia=da.rod_inertia(1.0, 1.0, "y"))
            for i in range(loops + 1)
        ]
        for i, crank in enumerate(cranks):
            m.add_joint(f"C{i}", da.Revolute("z"), m.ground.at(i, 0, 0), crank)
        for i in range(loops):
            bar = m.add_body(f"bar{i}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
            m.add_joint(f"B{i}", da.Revolute("z"), cranks[i].at(0, -1, 0), bar)
            m.close_loop(f"L{i}", da.Revolute("z"), bar.at(1, 0, 0), cranks[i + 1].at(0, -1, 0))
        return m.compile(backend="casadi").function("accelerate").n_instructions()

    counts = np.array([ladder(n) for n in (4, 8, 16)])
    assert (counts[2] - counts[1]) == pytest.approx(2 * (counts[1] - counts[0]), rel=0.02)


def test_auto_takes_the_null_space_where_rows_depend_and_elimination_elsewhere():
    system = parallelogram()
    flat = system.acceleration(system.state())
    assert flat.success
    assert flat.rank == 1
    leaning = system.acceleration(x := system.assemble({"A": 0.4}))
    assert leaning.rank == 2
    np.testing.assert_allclose(leaning.vdot, system.acceleration(x, formulation="nullspace").vdot, rtol=1e-11)
    assert leaning.residual < 1e-12


def test_a_row_that_vanishes_alone_is_seen():
    """Equal links (Aghili 8): at q₁ = π/2 the only row of A is zero, and the constraint says nothing."""
    m = da.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    one, two = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in ("crank", "rod"))
    m.add_joint("q1", da.Revolute("z"), m.ground, one)
    m.add_joint("q2", da.Revolute("z"), one.at(0.5, 0, 0), two)
    m.add_point_in_plane("rail", two.at(0.5, 0, 0), m.ground, "y")
    system = m.compile(backend="casadi")
    x = system.state([np.pi / 2, np.pi])
    a = system.acceleration(x)
    assert a.success
    assert a.rank == 0
    np.testing.assert_allclose(a.vdot, system.forward_dynamics(x), rtol=1e-9)
    assert system.acceleration(system.state([0.5, -1.0])).rank == 1


@pytest.mark.parametrize("seed", range(6))
def test_redundant_rows_are_left_to_the_null_space(seed):
    system, x = random_closed(seed)
    auto, careful = system.acceleration(x), system.acceleration(x, formulation="nullspace")
    assert auto.rank == careful.rank < len(system.row_names)
    scale = max(1.0, np.abs(careful.vdot).max())
    np.testing.assert_allclose(auto.vdot, careful.vdot, atol=1e-8 * scale)
    size = max(1.0, np.abs(careful.multipliers).max())
    np.testing.assert_allclose(auto.multipliers, careful.multipliers, atol=1e-7 * size)
    assert auto.residual < 1e-8 * scale


@pytest.mark.parametrize("redundant", [False, True])
def test_threads_and_history_change_no_bit_of_an_acceleration(redundant):
    """Sixteen threads on one system, each at a state of its own, and states asked for in another order."""
    system, x = random_closed(2, redundant=redundant)
    rng = np.random.default_rng(0)
    states = [x.replace(v=x.v * s) for s in rng.uniform(0.5, 2.0, 16)]
    taus = rng.normal(size=(16, system.nv))
    alone = [np.concatenate(system.acceleration(s, t)[:3]) for s, t in zip(states, taus)]

    def again(k):
        found = [np.concatenate(system.acceleration(states[k], taus[k])[:3]) for _ in range(100)]
        return all((f == alone[k]).all() for f in found)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(again, reversed(range(16))))


def test_other_parameters_and_other_rows_have_limits_and_kernels_of_their_own():
    m = da.Mechanism("slider", gravity=(0, -9.81, 0))
    mass = m.add_parameter("mass", 2.0)
    m.add_joint("x", da.Prismatic("y"), m.ground, m.add_body("b", mass=mass, inertia=(1, 1, 1)))
    m.add_driver("hold", "x", lambda t: 0.1)
    system = m.compile()
    x = system.state({"x": 0.1})
    assert system.acceleration(x).multipliers[0] == pytest.approx(2.0 * 9.81)
    assert system.with_parameters(mass=5.0).acceleration(x).multipliers[0] == pytest.approx(5.0 * 9.81)
    assert system.without("hold").acceleration(x).vdot[0] == pytest.approx(-9.81)
    assert system.acceleration(x, p={"mass": 3.0}).multipliers[0] == pytest.approx(3.0 * 9.81)


@pytest.mark.parametrize("formulation", ["auto", *FORMULATIONS])
def test_a_force_that_is_no_number_gives_no_acceleration(formulation):
    """A law that is finite at rest in the neutral position and NaN elsewhere."""
    m = zoo.four_bar()
    m.add_joint_force("odd", "A", lambda s: ca.sqrt(0.5 - s["A"]))
    system = m.compile()
    good, bad = (system.assemble({"A": angle}) for angle in (0.4, 0.6))
    assert system.acceleration(good, formulation=formulation).success
    a = system.acceleration(bad, formulation=formulation)
    assert a.status == Outcome.NOT_FINITE
    assert np.isnan(a.vdot).all()
