"""Decisions about rank: units, parameters and rounding must not change them."""

import threading

import numpy as np
import pytest

import dalembert as da
from dalembert import blas
from dalembert.rank import angular_velocities, earliest_independent, independent, rank_policy

Z = da.Revolute("z")


def rod_on_a_hinge(size: float) -> da.System:
    """A free rod held by a hinge: three rows in metres, two in radians."""
    m = da.Mechanism("rod", gravity=(0, -9.81, 0))
    rod = m.add_body(
        "rod", mass=1.0, com=(size / 2, 0, 0), inertia=da.cylinder_inertia(1.0, radius=size / 20, length=size, axis="x")
    )
    m.add_joint("float", da.Free(), m.ground, rod)
    m.close_loop("hinge", Z, m.ground, rod)
    return m.compile(backend="casadi")


def four_bar(size: float = 1.0, mass: float = 1.0, backend: str = "casadi") -> da.System:
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    lengths = {"a": 0.2 * size, "b": 0.6 * size, "c": 0.4 * size}
    a, b, c = (m.add_body(n, mass=mass, com=(l / 2, 0, 0), inertia=da.rod_inertia(mass, l)) for n, l in lengths.items())
    m.add_joint("A", Z, m.ground, a)
    m.add_joint("B", Z, a.at(lengths["a"], 0, 0), b)
    m.add_joint("D", Z, m.ground.at(0.55 * size, 0, 0), c)
    m.close_loop("C", Z, b.at(lengths["b"], 0, 0), c.at(lengths["c"], 0, 0))
    return m.compile(backend=backend)


def planar_loops_on_a_turning_body(seed: int) -> tuple[da.System, da.State]:
    """Parallelograms side by side on a body that turns in space: rows of rounding, and redundant ones."""
    rng = np.random.default_rng(seed)
    size, bars = 10.0 ** rng.uniform(-2, 2), int(rng.integers(2, 5))
    m = da.Mechanism("m", gravity=(0, -9.81, 0))
    base = m.add_body("base", mass=1.0, com=(0.1 * size, 0, 0), inertia=0.1 * size**2 * np.ones(3))
    m.add_joint("s", da.Revolute(tuple(rng.normal(size=3))), m.ground, base)
    bar = m.add_body("bar", mass=1.0, com=(size, 0, 0), inertia=da.rod_inertia(1.0, 2 * size))
    for i in range(bars):
        k = m.add_body(f"k{i}", mass=1.0, com=(size / 4, 0, 0), inertia=da.rod_inertia(1.0, size / 2))
        m.add_joint(f"P{i}", Z, base.at(i * size, 0, 0), k)
        if i == 0:
            m.add_joint("Q0", Z, k.at(size / 2, 0, 0), bar)
        else:
            m.close_loop(f"Q{i}", Z, k.at(size / 2, 0, 0), bar.at(i * size, 0, 0))
    system = m.compile(backend="casadi")
    angle = rng.uniform(0.5, 1.2)
    guess = {**{f"P{i}": angle for i in range(1, bars)}, "Q0": -angle}
    return system, system.assemble({"P0": angle, "s": rng.uniform(-2, 2)}, guess=guess)


@pytest.mark.parametrize("seed", range(8))
def test_only_multipliers_outside_every_dependency_of_rows_are_determinate(seed):
    """λ_k is determinate exactly where no w with wᵀA = 0 contains row k; rows of rounding are zero rows (C1)."""
    system, x = planar_loops_on_a_turning_body(seed)
    A = system.constraint_matrix(x) / np.where(system.rows.angular, 1.0, system.layout.length)[:, None]
    A[np.abs(A).max(axis=1) < 1e-12] = 0.0
    U, sigma, _ = np.linalg.svd(A)
    null = U[:, int((sigma > 1e-9 * sigma[0]).sum()) :]
    expected = dict(zip(system.row_names, (np.abs(null).max(axis=1, initial=0.0) < 1e-8).tolist()))
    void = {f"{constraint}.{row}": False for constraint, row in system.rows.left_out}
    r = system.constraint_forces(x)
    assert r.determinate_rows == expected | void
    assert system.report(x).determinate == expected
    assert "Q1.z" in void
    for loop, known in r.determinate.items():  # nothing out of the plane of the loops is known of their joints
        if loop != "s":
            assert not known[[0, 1, 5]].any(), loop


@pytest.mark.parametrize("size", [1e-10, 1e-5, 1e-3, 1.0, 1e3, 1e5, 1e10])
def test_ranks_do_not_depend_on_the_unit_of_length(size):
    """Rows in m and in rad stand side by side in the hinge; the rod has one motion left at any size (F4, F9)."""
    system = rod_on_a_hinge(size)
    r = system.report(system.state())
    assert (r.rank, r.generic_rank, r.mobility) == (5, 5, 1)
    assert all(r.determinate.values())
    assert rank_policy(system).length == pytest.approx(size, rel=1.0)
    turned = system.project(system.state({"float.x": 1e-3 * size}))
    assert np.abs(system.residuals(turned) / rank_policy(system).units).max() < 1e-11


@pytest.mark.parametrize("size", [1e-5, 1e-2, 1e5])
@pytest.mark.parametrize("mass", [1e-3, 1e6])
def test_mechanisms_of_odd_sizes_are_assembled_as_others_are(size, mass):
    usual, odd = four_bar(), four_bar(size, mass)
    x, y = (s.assemble({"A": 0.6}, v={"A": 2.0}) for s in (usual, odd))
    np.testing.assert_allclose(y.q, x.q, atol=1e-10)
    np.testing.assert_allclose(y.v, x.v, atol=1e-9)
    one, two = usual.report(x), odd.report(y)
    assert (two.rank, two.mobility, two.closed) == (one.rank, one.mobility, True)
    assert two.to_singularity[0] == pytest.approx(one.to_singularity[0], rel=1e-6)
    with pytest.raises(da.AssemblyError, match="no velocity satisfies"):
        odd.assemble({"A": 0.6}, v={"A": 1.0, "D": 5.0})


def random_loop(seed: int, L: float, mass: float) -> tuple[da.System, da.State]:
    """A chain of random joints that closes where it is, twice in half of the cases, with lengths L and masses."""
    rng = np.random.default_rng([seed, 1])
    m = da.Mechanism("loop", gravity=(0, -9.81, 0))
    body = m.ground
    for i in range(int(rng.integers(2, 5))):
        where = body.at(*(L * rng.normal(size=3) / 2))
        com, turn, heavy = L * rng.normal(size=3) * 0.3, rng.uniform(0.05, 0.2), mass * rng.uniform(0.5, 2)
        body = m.add_body(f"b{i}", mass=heavy, com=com, inertia=mass * L**2 * turn * np.ones(3))
        axis = tuple(rng.normal(size=3))
        m.add_joint(f"j{i}", [da.Revolute(axis), da.Prismatic(axis), da.Spherical()][rng.integers(3)], where, body)
    tree = m.compile(backend="casadi")
    reach = np.where(angular_velocities(tree), 1.0, L)
    x = tree.state(tree.plus(tree.state(), rng.uniform(-1, 1, tree.nv) * reach))
    tip = body.at(*(L * rng.normal(size=3) * 0.3))
    T = tree.pose(x, tip)
    post = m.ground.at(*T[:3, 3], rotation=T[:3, :3])
    cut = [da.Revolute("z"), da.Spherical(), da.Universal("x", "y"), da.Cylindrical("z")][rng.integers(4)]
    m.close_loop("loop", cut, tip, post)
    if rng.integers(2):
        m.close_loop("again", da.Spherical(), tip, post)
    system = m.compile(backend="casadi")
    return system, system.project(system.state(x.q))


@pytest.mark.parametrize("seed", range(15))
def test_verdicts_do_not_depend_on_the_size_of_a_mechanism(seed):
    """Rank, redundant rows and determinate forces of a random loop, and of its copy 1e-5 to 1e5 times as large."""
    rng = np.random.default_rng(seed)
    size, mass = 10.0 ** rng.uniform(-5, 5), 10.0 ** rng.uniform(-3, 6)
    (one, x), (other, y) = random_loop(seed, 1.0, 1.0), random_loop(seed, size, mass)
    a, b = one.report(x), other.report(y)
    assert (a.rank, a.generic_rank, a.determinate, list(a.redundant)) == (
        b.rank, b.generic_rank, b.determinate, list(b.redundant),
    )  # fmt: skip
    p, q = one.constraint_forces(x), other.constraint_forces(y)
    assert p.determinate_rows == q.determinate_rows
    assert {**a.determinate, **dict.fromkeys(a.trivial, False)} == p.determinate_rows
    for name, known in p.determinate.items():
        np.testing.assert_array_equal(known, q.determinate[name], name)
    model = da.linearize(other, y)
    assert model.velocities == da.linearize(other, y, independent=model.velocities).velocities


def with_parameters() -> da.System:
    m = da.Mechanism("slider", gravity=(0, -9.81, 0))
    M, L = m.add_parameter("M", 1.0), m.add_parameter("L", 1.0)
    crank = m.add_body("crank", mass=M, com=(L / 2, 0, 0), inertia=(0, M * L * L / 12, M * L * L / 12))
    rod = m.add_body("rod", mass=M, com=(L, 0, 0), inertia=(0, M * L * L / 3, M * L * L / 3))
    m.add_joint("A", Z, m.ground, crank)
    m.add_joint("B", Z, crank.at(L, 0, 0), rod)
    m.add_point_in_plane("rail", rod.at(2 * L, 0, 0), m.ground, "y")
    return m.compile(backend="casadi")


@pytest.mark.parametrize(("name", "factor"), [("M", 1e9), ("M", 1e-9), ("L", 1e9), ("L", 1e-9)])
def test_parameters_far_from_their_defaults_change_no_rank(name, factor):
    """The usual length of a row goes with 1/√M at the parameters in use (B6); it does not depend on L."""
    system = with_parameters()
    p = {name: factor}
    x = system.assemble({"A": 0.6}, p=p)
    assert system.report(x, p=p).rank == 1
    assert np.abs(system.residuals(x, p=p)).max() <= 1e-11 * rank_policy(system, p).length
    change = factor**-0.5 if name == "M" else 1.0
    assert rank_policy(system, p).size / rank_policy(system).size == pytest.approx(change, rel=1e-6)
    assert rank_policy(system, p).length == pytest.approx((factor if name == "L" else 1.0) * 2.5, rel=0.5)
    other = system.with_parameters(p)
    assert rank_policy(other).size == rank_policy(system, p).size
    assert system.report(system.state({"A": 0.0, "B": 0.0}), p=p).rank == 1
    upright = system.state({"A": np.pi / 2, "B": 0.0})  # the tip moves sideways only: its row is rounding
    assert system.report(upright, p=p).rank == 0


def test_policies_are_remembered_by_parameters_and_shared_between_threads():
    system = with_parameters()
    values = [1.0 + k for k in range(100)]  # more than are remembered
    found: dict[int, list[float]] = {}

    def ask(thread: int) -> None:
        found[thread] = [rank_policy(system, {"M": M}).size for M in values]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(sizes == found[0] for sizes in found.values())
    np.testing.assert_allclose(found[0], found[0][0] * np.array(values) ** -0.5, rtol=1e-9)
    assert rank_policy(system, {"M": 3.0}) is rank_policy(system, np.array([3.0, 1.0]))
    assert rank_policy(system) is rank_policy(system)


def test_thresholds_follow_the_accuracy_asked_for():
    usual, sharp = rank_policy(), rank_policy(accuracy=1e-11)
    assert sharp.tolerance < usual.tolerance
    assert sharp.near > usual.near  # elimination squares the sine: more accuracy needs more distance
    assert sharp.near**2 * 1e-11 == pytest.approx(usual.near**2 * 1e-8)
    assert usual.rank(np.array([1.0, 2e-9, 5e-10])) == 2
    assert sharp.rank(np.array([1.0, 2e-9, 5e-10])) == 3
    assert usual.rank(np.array([1e-12]), least=1.0) == 0
    assert usual.rank(np.zeros(0)) == usual.rank(np.zeros(2)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_decompositions_solve_and_name_dependencies(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 3)) @ rng.normal(size=(3, 5))
    found = rank_policy().reveal(X)
    assert found.rank == 3
    np.testing.assert_allclose(X @ found.null, 0, atol=1e-12)
    np.testing.assert_allclose(found.dependencies @ X, 0, atol=1e-12)
    right = rng.normal(size=(6, 2))
    np.testing.assert_allclose(found.solve(right), np.linalg.pinv(X, rcond=1e-9) @ right, atol=1e-10)
    np.testing.assert_allclose(found.solve(right[:, 0]), found.solve(right)[:, 0], atol=1e-12)
    best = independent(X, 3)
    assert np.linalg.matrix_rank(X[best]) == 3
    assert independent(X, 3, first=[4])[0] == 4
    assert np.linalg.matrix_rank(X[independent(X, 3, first=[4])]) == 3
    X[1] = 2 * X[0]
    assert earliest_independent(X, 3, 1e-9) == [0, 2, 3]


def flat_row_of_parallelograms(count: int) -> da.System:
    m = da.Mechanism("row", gravity=(0, -9.81, 0))
    posts = [m.add_body(f"p{i}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for i in range(count + 1)]
    for i, post in enumerate(posts):
        m.add_joint(f"P{i}", Z, m.ground.at(2 * i, 0, 0), post)
    for i in range(count):
        bar = m.add_body(f"b{i}", mass=1.0, com=(1.0, 0, 0), inertia=da.rod_inertia(1.0, 2.0))
        m.add_joint(f"B{i}", Z, posts[i].at(1, 0, 0), bar)
        m.close_loop(f"C{i}", Z, bar.at(2, 0, 0), posts[i + 1].at(1, 0, 0))
    return m.compile(backend="casadi")


@pytest.mark.parametrize("count", [1, 6, 25])
def test_a_flat_row_of_loops_has_one_motion_nearby_and_many_here(count):
    system = flat_row_of_parallelograms(count)
    r = system.report(system.state())
    assert (r.mobility, r.generic_mobility) == (count + 1, 1)


def test_decompositions_leave_the_threads_of_the_blas_as_they_were():
    """One thread inside, nested and shared by threads of Python; the number found before is there again after."""
    found = blas._functions()
    if found is None:
        pytest.skip("NumPy is not linked with OpenBLAS here")
    get, set_ = found
    before = get()
    try:
        set_(2)
        several = get()  # 1 on a machine with one processor
        with blas.one_thread(), blas.one_thread():
            assert get() == 1
        assert get() == several
        with pytest.raises(KeyError), blas.one_thread():
            raise KeyError
        X = np.random.default_rng(0).normal(size=(60, 60))
        threads = [threading.Thread(target=lambda: [rank_policy().reveal(X) for _ in range(5)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert get() == several
    finally:
        set_(before)


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_a_rod_on_a_hinge_stays_on_it_at_any_size(size):
    """Its rows in m and in rad differ by the size; the run keeps all five, and its time goes with √size (F9)."""
    runs = []
    for L in (1.0, size):
        system = rod_on_a_hinge(L)
        runs.append(da.simulate(system, system.state(), 3 * (L / 9.81) ** 0.5))
        assert runs[-1].success
        assert not runs[-1].passages
        assert np.abs(system.residuals(runs[-1].state(-1)) / rank_policy(system).units).max() < 1e-9
    usual, odd = (run.q[-1] for run in runs)
    np.testing.assert_allclose(odd[:4], usual[:4], atol=1e-5)  # the quaternion


@pytest.mark.parametrize("ratio", [1e-8, 1e-4, 1e4, 1e8])
def test_independent_loops_of_very_different_mass_do_not_disturb_each_other(ratio):
    """Two four-bars side by side: both stay closed, no singular position is seen, and each moves as it does alone."""
    m = da.Mechanism("two", gravity=(0, -9.81, 0))
    for prefix, mass, x in (("", 1.0, 0.0), ("x", ratio, 2.0)):
        lengths = {"a": 0.2, "b": 0.6, "c": 0.4}
        a, b, c = (
            m.add_body(prefix + n, mass=mass, com=(l / 2, 0, 0), inertia=da.rod_inertia(mass, l))
            for n, l in lengths.items()
        )
        m.add_joint(f"{prefix}A", Z, m.ground.at(x, 0, 0), a)
        m.add_joint(f"{prefix}B", Z, a.at(0.2, 0, 0), b)
        m.add_joint(f"{prefix}D", Z, m.ground.at(x + 0.55, 0, 0), c)
        m.close_loop(f"{prefix}C", Z, b.at(0.6, 0, 0), c.at(0.4, 0, 0))
    system, alone = m.compile(), four_bar(backend="native")
    x = system.assemble({"A": 0.6, "xA": 0.6}, v={"A": 2.0, "xA": 2.0})
    y = alone.assemble({"A": 0.6}, v={"A": 2.0})
    run, one = da.simulate(system, x, 2.0), da.simulate(alone, y, 2.0)
    assert run.success
    assert not run.passages
    assert np.abs(system.residuals(run.state(-1))).max() < 1e-10
    for prefix in ("", "x"):
        assert run.state(-1)[f"{prefix}A"] == pytest.approx(one.state(-1)["A"], abs=1e-4)
    assert system.report(x).condition > 1.0
    assert system.report(x).mobility == 2


@pytest.mark.parametrize("seed", range(12))
def test_the_shortest_multipliers_do_not_depend_on_units(seed):
    """At rest forces grow with the mass, moments with mass × size; those of redundant rows too."""
    rng = np.random.default_rng([seed, 3])
    size, mass = 10.0 ** rng.uniform(-4, 4), 10.0 ** rng.uniform(-3, 6)
    (one, x), (other, y) = random_loop(seed, 1.0, 1.0), random_loop(seed, size, mass)
    unit = mass * np.where(other.rows.angular, size, 1.0)
    for formulation in ("nullspace", "admissible", "projection", "partition"):
        a, b = (s.acceleration(z, formulation=formulation) for s, z in ((one, x), (other, y)))
        assert a.success
        assert b.success
        largest = np.abs(a.multipliers).max()
        np.testing.assert_allclose(b.multipliers / unit, a.multipliers, atol=1e-6 * largest)
