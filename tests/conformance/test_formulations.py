"""Every registered formulation solves M v̇ = f + Aᵀλ, A v̇ + γ = 0 wherever v̇ is unique, redundant rows included."""

import numpy as np
import pytest

import dalembert as da
from dalembert.formulations import FORMULATIONS, make_problem
from dalembert.native.library import call
from dalembert.outcome import Outcome
from random_loops import random_closed

METRICS = {"euclidean": 0, "mass": 1, "weight": 2}
ALL = [(name, variant) for name, variants in FORMULATIONS.items() for variant in range(variants)]
ROBUST = [case for case in ALL if case[0] not in ("lagrange", "augmented")]


def problem(seed, n, m, rank, scale=1.0):
    rng = np.random.default_rng([seed, n, m])
    B = rng.normal(size=(n, n))
    M = (B @ B.T + 0.1 * np.eye(n)) * scale
    A = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    return M, rng.normal(size=n) * scale, A, A @ rng.normal(size=n)


def run(name, variant, metric, M, f, A, gamma, **choice):
    m, n = A.shape
    weight = np.diag(np.sqrt(np.linspace(0.5, 2.0, n)))
    work = make_problem(n, m, metric=METRICS[metric], variant=variant, M=M, f=f, A=A, gamma=gamma, **choice)
    work.weight[:] = weight
    call(name, work)
    return work, Outcome(work.status)


def reference(M, f, A, gamma):
    """v̇ by LAPACK: the least-squares solution of the augmented equations, unique in v̇."""
    m, n = A.shape
    K = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    return np.linalg.lstsq(K, np.concatenate([f, -gamma]), rcond=1e-13)[0][:n]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("name", "variant"), ALL)
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 2, 2), (7, 3, 3), (6, 6, 6), (14, 6, 6), (5, 0, 0), (40, 31, 31)])
def test_independent_constraints_are_solved_as_lapack_solves_them(name, variant, metric, shape):
    M, f, A, gamma = problem(1, *shape)
    work, outcome = run(name, variant, metric, M, f, A, gamma)
    expected = reference(M, f, A, gamma)
    assert outcome == Outcome.OK
    assert work.rank == shape[2]
    tolerance = 1e-9 * max(1, np.abs(expected).max())
    np.testing.assert_allclose(work.vdot, expected, atol=tolerance)
    np.testing.assert_allclose(A @ work.vdot, -gamma, atol=tolerance)
    np.testing.assert_allclose(A.T @ work.multipliers, work.force, atol=1e-8 * max(1, np.abs(work.force).max()))
    np.testing.assert_allclose(M @ work.vdot - f, work.force, atol=1e-8 * max(1, np.abs(work.force).max()))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("name", "variant"), ROBUST)
@pytest.mark.parametrize("shape", [(5, 6, 3), (9, 12, 5), (6, 4, 1), (4, 3, 0), (12, 20, 8)])
def test_redundant_constraints_change_nothing_in_the_motion(name, variant, metric, shape):
    M, f, A, gamma = problem(2, *shape)
    work, outcome = run(name, variant, metric, M, f, A, gamma)
    assert outcome == Outcome.OK
    assert work.rank == shape[2]
    expected = reference(M, f, A, gamma)
    np.testing.assert_allclose(work.vdot, expected, atol=1e-9 * max(1, np.abs(expected).max()))
    shortest = np.linalg.lstsq(A.T, M @ expected - f, rcond=1e-12)[0]
    np.testing.assert_allclose(work.multipliers, shortest, atol=1e-8 * max(1, np.abs(shortest).max()))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["lagrange", "augmented"])
def test_classical_formulations_say_that_constraints_depend(name, seed):
    """Redundant rows, and two that are proportional, of any ratio: rounding leaves 1e-16 of their angle."""
    M, f, A, gamma = problem(seed, 5, 6, 3)
    _, outcome = run(name, 0, "mass", M, f, A, gamma)
    assert outcome == Outcome.DEPENDENT
    assert "dependent" in outcome.sentence
    ratio = 10.0 ** np.random.default_rng(seed).uniform(-3, 3)
    twice = np.vstack([A[:2], ratio * A[1]])
    work, outcome = run(name, 0, "mass", M, f, twice, twice @ f)
    assert (outcome, work.rank) == (Outcome.DEPENDENT, 2)


@pytest.mark.parametrize(("name", "variant"), ALL)
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_tiny_and_huge_masses_are_as_good_as_others(name, variant, scale):
    M, f, A, gamma = problem(4, 6, 3, 3)
    a, b = run(name, variant, "mass", M, f, A, gamma)[0], run(name, variant, "mass", M * scale, f * scale, A, gamma)[0]
    np.testing.assert_allclose(a.vdot, b.vdot, rtol=1e-9)
    np.testing.assert_allclose(a.force, b.force / scale, rtol=1e-7, atol=1e-9 * np.abs(a.force).max())


@pytest.mark.parametrize(("name", "variant"), ALL)
def test_nan_is_reported_and_nothing_hangs(name, variant):
    M, f, A, gamma = problem(5, 4, 2, 2)
    _, outcome = run(name, variant, "mass", M * np.nan, f, A, gamma)
    assert outcome in (Outcome.MASS_SINGULAR, Outcome.NOT_FINITE)
    _, outcome = run(name, variant, "mass", M, f * np.nan, A, gamma)
    assert outcome == Outcome.NOT_FINITE
    A[0, 0] = np.nan
    _, outcome = run(name, variant, "mass", M, f, A, gamma)
    assert outcome != Outcome.OK


def test_damping_bounds_the_acceleration_beside_a_singularity():
    M, f, A, gamma = problem(6, 5, 2, 2)
    A[1] = A[0] + 1e-7 * A[1]
    gamma[:] = 1.0, -1.0
    hard, _ = run("nullspace", 0, "mass", M, f, A, gamma)
    soft, outcome = run("nullspace", 0, "mass", M, f, A, gamma, threshold=1e-2, damp=1e-2)
    assert outcome == Outcome.OK
    assert np.abs(hard.vdot).max() > 1e5
    assert np.abs(soft.vdot).max() < 1e3


def test_partitioning_takes_the_users_coordinates_and_refuses_dependent_ones():
    M, f, A, gamma = problem(7, 5, 2, 2)
    A[:, 0] = 0.0
    work = make_problem(5, 2, M=M, f=f, A=A, gamma=gamma)
    work.independent[[0, 1, 2]] = 1
    call("partition", work)
    assert work.status == Outcome.OK
    np.testing.assert_allclose(work.vdot, reference(M, f, A, gamma), atol=1e-10)
    work.independent[:] = 0
    work.independent[[2, 3, 4]] = 1  # leaves 0, which no constraint moves
    call("partition", work)
    assert work.status == Outcome.CHART_SINGULAR


@pytest.fixture(scope="module", params=range(8))
def closed(request):
    return random_closed(request.param)


def test_all_formulations_agree_on_random_closed_mechanisms(closed):
    system, x = closed
    rng = np.random.default_rng(0)
    tau = rng.normal(size=system.nv)
    expected = system.acceleration(x, tau)
    assert expected.success
    scale = max(1.0, np.abs(expected.vdot).max())
    assert expected.rank < len(system.row_names)
    for name, variant in ROBUST:
        metrics = ("mass",) if name == "admissible" else ("mass", "euclidean", np.linspace(1, 2, system.nv))
        for metric in metrics:
            a = system.acceleration(x, tau, formulation=name, variant=variant, metric=metric)
            assert a.success
            np.testing.assert_allclose(a.vdot, expected.vdot, atol=3e-8 * scale)
    M, f, A, gamma = system.evaluate("constrained", x)
    np.testing.assert_allclose(expected.vdot, reference(M, f + tau, A, gamma), atol=3e-8 * scale)


def test_constraint_forces_do_no_work(closed):
    """(Aᵀλ)·v = 0 for every velocity the constraints allow, redundant rows included."""
    system, x = closed
    a = system.acceleration(x)
    assert a.force @ x.v == pytest.approx(0, abs=1e-8 * (1 + np.abs(a.force) @ np.abs(x.v)))


def test_gauss_principle(closed):
    """No other admissible acceleration is nearer to the free one in the mass metric."""
    system, x = closed
    a, M = system.acceleration(x), system.mass_matrix(x)
    free = system.forward_dynamics(x)
    A = system.constraint_matrix(x)
    null = np.linalg.svd(A)[2][a.rank :]
    distance = (a.vdot - free) @ M @ (a.vdot - free)
    for n in null:
        assert abs(n @ M @ (a.vdot - free)) <= 1e-7 * np.sqrt(distance * (n @ M @ n) + 1e-12)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_change_nothing_physical_in_the_mass_metric_and_do_in_the_euclidean_one(unit):
    """The same slider-crank in metres and in millimetres, with a redundant rod beside it.

    v̇ is unique and the same in every metric. The shortest solution c of A c = −γ and the condition number are not:
    in the mass metric they do not change with the unit, in the Euclidean one they do.
    """
    conditions = {}
    for s in (1.0, unit):
        m = da.Mechanism("slider-crank", gravity=(0, -9.81 * s, 0))
        crank = m.add_body("crank", mass=1.0, com=(0.1 * s, 0, 0), inertia=da.rod_inertia(1.0, 0.2 * s))
        rod = m.add_body("rod", mass=1.0, com=(0.3 * s, 0, 0), inertia=da.rod_inertia(1.0, 0.6 * s))
        slider = m.add_body("slider", mass=2.0)
        m.add_joint("A", da.Revolute("z"), m.ground, crank)
        m.add_joint("B", da.Revolute("z"), crank.at(0.2 * s, 0, 0), rod)
        m.add_joint("S", da.Prismatic("x"), m.ground, slider)
        m.close_loop("C", da.Revolute("z"), rod.at(0.6 * s, 0, 0), slider)
        system = m.compile(backend="casadi")
        x = system.assemble({"A": 0.7}, v={"A": 3.0}, guess={"S": 0.7 * s, "B": -1.0}, tolerance=1e-11 * s)
        for metric in ("mass", "euclidean"):
            a = system.acceleration(x, formulation="nullspace", metric=metric)
            conditions[metric, s] = a.condition
        angles = a.vdot[:2]
        conditions["vdot", s] = angles
    np.testing.assert_allclose(conditions["vdot", unit], conditions["vdot", 1.0], rtol=1e-8)
    assert conditions["mass", unit] == pytest.approx(conditions["mass", 1.0], rel=1e-6)
    assert abs(conditions["euclidean", unit] / conditions["euclidean", 1.0] - 1) > 0.1


def test_switched_off_constraints_do_nothing(closed):
    system, x = closed
    names = dict.fromkeys(system.rows.of)
    off = system.acceleration(x, active=dict.fromkeys(names, False))
    np.testing.assert_allclose(off.vdot, system.forward_dynamics(x), atol=1e-8 * max(1, np.abs(off.vdot).max()))
    assert not off.multipliers.any()
    without = system.acceleration(x, active={"twice": False, "again": False})
    np.testing.assert_allclose(
        without.vdot, system.acceleration(x).vdot, atol=3e-8 * max(1, np.abs(without.vdot).max())
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "projection", "damping": (1e-2, 1e-2)}, "formulation 'projection' knows no damping"),
        ({"formulation": "lagrange", "metric": "euclidean"}, "takes no other metric than that of the mass"),
        ({"formulation": "nullspace", "independent": ["joint1"]}, "independent= "),
        ({"formulation": "nullspace", "variant": 3}, "formulation 'nullspace' has one variant, 0; found 3"),
        ({"formulation": "nulspace"}, "Did you mean 'nullspace'?"),
        ({"metric": "manhattan"}, "metric is 'manhattan'; needed: 'euclidean', 'mass' or 'innovations'"),
        ({"metric": -np.ones(3)}, "needed: "),
        ({"active": {"lop": False}}, "there is no constraint 'lop'"),
    ],
)
def test_options_that_would_be_ignored_or_misread_are_refused(closed, options, message):
    system, x = closed
    if "metric" in options and not isinstance(options["metric"], str):
        options = {"metric": -np.ones(system.nv)}
        message = "not positive definite"
    with pytest.raises(da.DalembertError) as caught:
        system.acceleration(x, **options)
    assert message in str(caught.value)


def test_a_refusal_returns_no_numbers():
    system, x = random_closed(1)
    a = system.acceleration(x, formulation="lagrange")
    assert not a.success
    assert np.isnan(a.vdot).all()
    assert "dependent" in a.message
