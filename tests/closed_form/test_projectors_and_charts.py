"""Projectors and charts against the closed forms of the papers."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import analysis, charts, zoo
from dalembert.charts.point import ChartPoint
from random_loops import random_closed


def circle(mass=2.0, radius=0.8, gravity=(0.0, 0.0, 0.0)) -> da.System:
    """A particle of coordinates x, y on a circle (Aghili 5.4)."""
    m = da.Mechanism("circle", gravity=gravity)
    cart, bead = m.add_body("cart"), m.add_body("bead", mass=mass)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bead)
    m.add_rod("circle", m.ground, bead, length=radius)
    return m.compile(backend="casadi")


@pytest.mark.parametrize("theta", [0.1, 1.0, 2.5, -1.2])
def test_particle_on_a_circle_has_aghilis_projector_and_centripetal_acceleration(theta):
    """(33): P = ε∥ε∥ᵀ; (34)-(35): C q̇ = −ρ θ̇² ε⊥; the tangential force alone accelerates."""
    system, rho, speed, mass = circle(), 0.8, 1.7, 2.0
    along, across = np.array([-np.sin(theta), np.cos(theta)]), np.array([np.cos(theta), np.sin(theta)])
    x = system.state(rho * across, rho * speed * along)
    s = system.subspaces(x, metric="euclidean")
    np.testing.assert_allclose(s.P, np.outer(along, along), atol=1e-12)
    np.testing.assert_allclose(s.bias, -rho * speed**2 * across, atol=1e-12)
    f = np.array([0.7, -1.9])
    for variant in range(3):
        a = system.acceleration(x, f, formulation="projection", metric="euclidean", variant=variant)
        np.testing.assert_allclose(a.vdot, along * (along @ f) / mass - rho * speed**2 * across, atol=1e-12)
        np.testing.assert_allclose(a.force, -across * (across @ f) - mass * rho * speed**2 * across, atol=1e-12)
    assert s.decoupled


def test_slider_crank_with_equal_links_has_aghilis_projector_and_inertia():
    """(67): A = l c₁ [2 1]; (68) P away from the singularity, 1 at it; (69) M_c″ with γ = m l².

    Two equal point-mass links m at their ends, angles q₁ and q₂ relative, the end kept on the x axis.
    """
    mass, l = 1.3, 0.5
    m = da.Mechanism("slider-crank", gravity=(0, 0, 0))
    one, two = (m.add_body(n, mass=mass, com=(l, 0, 0)) for n in ("crank", "rod"))
    m.add_joint("q1", da.Revolute("z"), m.ground, one)
    m.add_joint("q2", da.Revolute("z"), one.at(l, 0, 0), two)
    m.add_point_in_plane("rail", two.at(l, 0, 0), m.ground, "y")
    system = m.compile(backend="casadi")
    q1 = 0.6
    x = system.state([q1, 2 * np.pi - 2 * q1])
    np.testing.assert_allclose(system.constraint_matrix(x), l * np.cos(q1) * np.array([[2, 1]]), atol=1e-12)
    s = system.subspaces(x, metric="euclidean")
    np.testing.assert_allclose(s.P, [[0.2, -0.4], [-0.4, 0.8]], atol=1e-12)
    c2 = np.cos(2 * np.pi - 2 * q1)
    M = mass * l**2 * np.array([[3 + 2 * c2, 1 + c2], [1 + c2, 1]])
    np.testing.assert_allclose(s.M, M, atol=1e-12)
    expected = s.P @ M + mass * l**2 * (np.eye(2) - s.P)
    np.testing.assert_allclose(s.constraint_inertia(2, scale=mass * l**2), expected, atol=1e-12)
    np.testing.assert_allclose(expected[0, 0] / (mass * l**2), 0.2 * (3 + 2 * c2) - 0.4 * (1 + c2) + 0.8, atol=1e-12)
    at = system.subspaces(system.state([np.pi / 2, np.pi]), metric="euclidean")
    np.testing.assert_allclose(at.P, np.eye(2), atol=1e-12)
    assert at.rank == 0


@pytest.mark.parametrize("seed", range(5))
def test_projectors_split_motion_and_kinetic_energy(seed):
    """P² = P, A P = 0, W P = PᵀW; in the mass metric the energies add up (Kövecses & Piedboeuf 21)."""
    system, x = random_closed(seed)
    v = np.random.default_rng(seed).normal(size=system.nv)
    for metric in ("mass", "euclidean", np.linspace(0.5, 2, system.nv)):
        s = system.subspaces(x, metric=metric)
        scale = np.abs(s.P).max()
        np.testing.assert_allclose(s.P @ s.P, s.P, atol=1e-8 * scale)
        np.testing.assert_allclose(s.A @ s.P, 0, atol=1e-8 * scale * np.abs(s.A).max())
        W = s.tangent.R.T @ s.tangent.R
        np.testing.assert_allclose(W @ s.P, s.P.T @ W, atol=1e-8 * scale * np.abs(W).max())
        if isinstance(metric, str) and metric == "mass":
            assert sum(s.energies(v)) == pytest.approx(0.5 * v @ s.M @ v, rel=1e-9)


def test_weights_measure_slides_in_a_length_and_forces_by_their_limits():
    m = da.Mechanism()
    a = m.add_body("a", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("turn", da.Revolute("z"), m.ground, a)
    m.add_joint("slide", da.Prismatic("x"), a, m.add_body("b", mass=1.0, inertia=(1, 1, 1)))
    system = m.compile(backend="casadi")
    np.testing.assert_allclose(analysis.characteristic_length(system, 0.5), [1.0, 4.0])
    np.testing.assert_allclose(analysis.effort_limits(system, {"slide": 3.0}), [1.0, 9.0])


def test_the_pendulum_in_cartesian_coordinates_has_spencers_charts():
    """2.3: y = q₁ is a chart but for q₂ = 0, where (2.28) fails; K = (1, −q₁/q₂)."""
    system = circle(radius=1.0)
    x = system.state([0.6, -0.8])
    chart = charts.named(system, x, ["x"])
    np.testing.assert_allclose(chart.K(x).ravel(), [1, 0.75], atol=1e-12)
    y = chart.state([0.8], rate=[2.0])
    np.testing.assert_allclose(y.q, [0.8, -0.6], atol=1e-12)
    np.testing.assert_allclose(y.v, [2.0, 2.0 * 0.8 / 0.6], atol=1e-11)
    with pytest.raises(da.ArgumentError, match="not independent here"):
        charts.named(system, system.state([1.0, 0.0]), ["x"])
    with pytest.raises(da.AssemblyError, match="the chart ends before"):
        chart.state([1.2])
    assert chart.condition(system.state([0.999, -np.sqrt(1 - 0.999**2)])) > 10 * chart.condition(x)


def test_any_function_of_coordinates_can_lead():
    """The polar angle of the pendulum, R = x cos y₀ + … written as atan2, is a chart everywhere."""
    system = circle(radius=1.0)
    for angle in (0.0, 1.0, np.pi / 2, 3.0):
        x = system.state([np.cos(angle), np.sin(angle)])
        chart = charts.custom(system, x, lambda q, y: q[1] * ca.cos(y[0]) - q[0] * ca.sin(y[0]), [angle])
        np.testing.assert_allclose(chart.K(x).ravel(), [-np.sin(angle), np.cos(angle)], atol=1e-10)
        np.testing.assert_allclose(chart.state([angle + 0.3]).q, [np.cos(angle + 0.3), np.sin(angle + 0.3)], atol=1e-11)
    with pytest.raises(da.ArgumentError, match=r"∂R/∂y is singular \(2.27\)"):
        charts.custom(system, x, lambda q, y: q[0] - x.q[0] + 0 * y[0], [0.0])


def test_the_parallel_four_bar_has_spencers_constant_null_space():
    """2.4.1: y = (q₁, q₂), K = [[1, 0], [0, 1], [1, −1], [−1, 1]]."""
    L1, L2 = 0.7, 1.1
    m = da.Mechanism("parallel four-bar", gravity=(0, -9.81, 0))
    bodies = [m.add_body(f"b{k}", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)) for k in range(4)]
    m.add_joint("q1", da.Revolute("z"), m.ground, bodies[0])
    m.add_joint("q2", da.Revolute("z"), m.ground, bodies[1])
    m.add_joint("q3", da.Revolute("z"), bodies[1].at(L2, 0, 0), bodies[2])
    m.add_joint("q4", da.Revolute("z"), bodies[2].at(L1, 0, 0), bodies[3])
    m.close_loop("A", da.Revolute("z"), bodies[3].at(L2, 0, 0), bodies[0].at(L1, 0, 0))
    system = m.compile(backend="casadi")
    q1, q2 = 1.2, 0.3
    x = system.state([q1, q2, q1 - q2, q2 - q1 - np.pi])
    assert np.abs(system.residuals(x)).max() < 1e-14
    chart = charts.named(system, x, ["q1", "q2"])
    np.testing.assert_allclose(chart.K(x), [[1, 0], [0, 1], [1, -1], [-1, 1]], atol=1e-12)
    far = chart.state([1.0, -0.4])
    np.testing.assert_allclose(far.q, [1.0, -0.4, 1.4, -1.4 - np.pi], atol=1e-11)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_tangent_space_charts_are_exact_on_random_mechanisms_with_quaternions(seed):
    """Ψ lies on the manifold and DΨ is its derivative, by central differences."""
    system, x = random_closed(seed)
    assert not system.report(x).singular, "the random mechanism is singular; choose another seed"
    chart = charts.tangent(system, x)
    assert len(chart.start) > 0, "the random mechanism cannot move; choose another seed"
    rng = np.random.default_rng(seed)
    y = 0.02 * rng.normal(size=len(chart.start))
    at = chart.state(y)
    assert np.abs(system.residuals(at)).max() < 1e-9
    np.testing.assert_allclose(chart.coordinates(at), y, atol=1e-12)
    K, h = chart.K(at), 1e-5
    for k, e in enumerate(np.eye(len(y))):
        ahead, behind = (chart.state(y + s * h * e, guess=at) for s in (1, -1))
        slope = (system.minus(ahead, at) - system.minus(behind, at)) / (2 * h)
        np.testing.assert_allclose(slope, K[:, k], atol=1e-6 * max(1, np.abs(K).max()))


CUBE = [lambda q, y: ca.vertcat(q[0] + 0.2 * q[1] ** 2 - y[0] ** 3, q[1] - y[1]), [0.9, 1.2]]


def all_charts(system, x):
    """One of each kind for the five-bar."""
    return [charts.named(system, x, ["A", "B"]), charts.tangent(system, x), charts.custom(system, x, *CUBE)]


@pytest.fixture(scope="module")
def five_bar():
    system = zoo.five_bar().compile(backend="casadi")
    return system, system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])


@pytest.mark.parametrize("kind", range(3))
def test_a_chart_gives_the_coordinates_of_a_state_and_the_state_of_coordinates(five_bar, kind):
    """Ψ⁻¹(Ψ(y)) = y, v = K ẏ and back, far from the reference as at it (2.23), (2.44)."""
    system, x = five_bar
    chart = all_charts(system, x)[kind]
    np.testing.assert_allclose(chart.coordinates(x), chart.start, atol=1e-12)
    y = chart.start + np.array([0.05, -0.08])
    at = chart.state(y, rate=[0.3, 0.5])
    assert np.abs(system.residuals(at)).max() < 1e-11
    assert np.abs(system.speed_residuals(at)).max() < 1e-11
    np.testing.assert_allclose(chart.coordinates(at), y, atol=1e-11)
    np.testing.assert_allclose(chart.rate(at), [0.3, 0.5], atol=1e-11)
    np.testing.assert_allclose(chart.K(at) @ [0.3, 0.5], at.v, atol=1e-11)
    assert chart.condition(at) == chart.condition(at, y=chart.coordinates(at)) >= 1.0


@pytest.mark.parametrize("kind", range(3))
def test_the_slope_of_a_chart_and_its_rate_are_those_of_differences(five_bar, kind):
    """K = dq/dy where y is that of the state, not of the reference; K̇ along the motion (2.40)."""
    system, x = five_bar
    chart, h = all_charts(system, x)[kind], 1e-5
    y, rate = chart.start + np.array([0.06, -0.09]), np.array([0.8, -0.5])
    at = chart.state(y, rate=rate)
    slope = [(chart.state(y + h * e, guess=at).q - chart.state(y - h * e, guess=at).q) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(chart.K(at), np.transpose(slope), atol=1e-8)
    ahead, behind = (chart.state(y + s * h * rate, guess=at) for s in (1, -1))
    np.testing.assert_allclose(chart.K_rate(at), (chart.K(ahead) - chart.K(behind)) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_accelerations_follow_from_those_of_the_coordinates(seed):
    """v̇ = K ÿ + K̇ ẏ with ÿ of (2.45), quaternions included: K̇ against the equations a run integrates."""
    system, x = random_closed(seed)
    chart = charts.tangent(system, x)
    a = system.acceleration(x, formulation="nullspace")
    at = ChartPoint(chart, x, chart.start)
    second = -np.linalg.solve(at.still["S2"], at.still["S1"] @ a.vdot + at.moving["bias"])
    scale = max(1.0, np.abs(a.vdot).max())
    np.testing.assert_allclose(chart.K(x) @ second + chart.K_rate(x) @ chart.rate(x), a.vdot, atol=1e-8 * scale)
    np.testing.assert_allclose(chart.K(x) @ second + chart.bias(x), a.vdot, atol=1e-8 * scale)


def test_charts_know_the_velocity_a_driver_asks_for():
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(1, 0, 0), b)
    m.add_driver("motor", "A", lambda t: 3.0 * t)
    system = m.compile(backend="casadi")
    x = system.assemble({"B": 0.4}, v={"B": 0.5}, t=0.2)
    chart = charts.named(system, x, ["B"])
    at = chart.state([0.7], rate=[0.25])
    np.testing.assert_allclose(at.q, [0.6, 0.7], atol=1e-12)
    np.testing.assert_allclose(at.v, [3.0, 0.25], atol=1e-12)


def test_the_angle_of_a_cut_joint_can_lead():
    """As in `linearize`, also where it passes from π to −π."""
    system = zoo.five_bar().compile(backend="casadi")
    x = system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])
    (loop,) = {name.split(".")[0] for name in system.row_names}
    chart = charts.named(system, x, ["A", loop])
    angle, speed = system.evaluate("cut_joint", x, frame=loop)
    np.testing.assert_allclose(chart.coordinates(x), [0.6, angle[0]], atol=1e-12)
    np.testing.assert_allclose(chart.rate(x), [0.7, speed[0]], atol=1e-12)
    at = chart.state(chart.start + np.array([0.1, 0.05]))
    assert system.evaluate("cut_joint", at, frame=loop)[0][0] == pytest.approx(angle[0] + 0.05, abs=1e-11)
    run = da.simulate(system, x, 0.1, coordinates=["A", loop])
    other = da.simulate(system, x, 0.1)
    assert run.charts[0][1].names == ("A", loop)
    np.testing.assert_allclose(run.q[-1], other.q[-1], atol=1e-6)


@pytest.mark.parametrize(
    ("R", "start", "message"),
    [
        (lambda q, y: q[:1] - y, [0.6], r"1 coordinates \(y0\) for 'five-bar', which has 2 degrees of freedom"),
        (lambda q, y: q[:3] - y, [0.6, 1.5, 0.0], r"3 coordinates .* needed: 2"),
        (lambda q, y: ca.vertcat(q[0] - y[0], 2 * q[0] - y[1]), [0.6, 1.2], r"not independent here \(2\.28\)"),
        (lambda q, y: ca.vertcat(q[0] - y[0], q[1] - y[0] + 0 * y[1]), [0.6, 1.2], r"∂R/∂y is singular \(2\.27\)"),
    ],
)
def test_charts_that_are_none_are_refused_before_a_run(five_bar, R, start, message):
    """Wrong dimension, (2.28) broken, (2.27) broken: by `custom` and by `simulate` alike."""
    system, x = five_bar
    with pytest.raises(da.ArgumentError, match=message):
        charts.custom(system, x, R, start)
    with pytest.raises(da.ArgumentError, match=message):
        da.simulate(system, x, 0.01, coordinates=da.Chart(R, start))


@pytest.mark.parametrize("seed", [7, 19, 20, 25, 32, 34, 35, 38])
def test_coordinates_that_were_chosen_as_the_best_are_accepted(seed):
    """`named` without names on redundant loops, no quaternions among them (F6)."""
    system, x = random_closed(seed)
    assert system.nq == system.nv
    chart = charts.named(system, x)
    assert charts.named(system, x, chart.names).names == chart.names
    assert chart.condition(x) < 1e6


def test_where_only_quaternions_determine_the_motion_a_refusal_says_so():
    system, x = random_closed(0)
    with pytest.raises(da.ArgumentError, match=r"joints do not determine the motion here, a tangent chart does"):
        charts.named(system, x)


def test_decoupling_is_no_matter_of_the_mass_metric():
    """In the mass metric every projector commutes with M: the answer is that of the velocities as they are."""
    for build, start, expected in (
        (zoo.particle_on_circle, zoo.particle_start, True),
        (zoo.equal_slider_crank, zoo.equal_slider_crank_start, False),
    ):
        system = build().compile(backend="casadi")
        x = system.state(*start(0.7))
        assert system.subspaces(x).decoupled == system.subspaces(x, metric="euclidean").decoupled == expected


@pytest.mark.parametrize("seed", range(4))
def test_the_inverse_of_the_constraint_matrix_is_kovecses_and_piedboeufs(seed):
    """M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹ (18) where rows are independent; rows said twice share: A A⁺ A = A, and M A⁺ A is symmetric."""
    system, x = random_closed(seed)
    s = system.subspaces(x)
    kept = [k for k in range(len(s.A)) if np.linalg.matrix_rank(s.A[: k + 1]) > np.linalg.matrix_rank(s.A[:k])]
    A, back = s.A[kept], np.linalg.solve(s.M, s.A[kept].T)
    np.testing.assert_allclose(s.inverse @ s.A, back @ np.linalg.solve(A @ back, A), atol=1e-9)
    if len(kept) == len(s.A):
        np.testing.assert_allclose(s.inverse, back @ np.linalg.inv(A @ back), atol=1e-9 * np.abs(s.inverse).max())
    np.testing.assert_allclose(s.A @ s.inverse @ s.A, s.A, atol=1e-9)
    np.testing.assert_allclose(s.complement, s.inverse @ s.A, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_scale_of_aghilis_third_inertia_changes_its_condition_and_no_motion(seed):
    """M_c″ = PM + γ (1 − P) gives the same v̇ for every γ; `best_scale` has the least condition of a fine grid."""
    system, x = random_closed(seed)
    for metric in ("euclidean", "mass"):
        s = system.subspaces(x, metric=metric)
        best = s.best_scale
        least = np.linalg.cond(s.constraint_inertia(2, scale=best))
        grid = best * 10.0 ** np.linspace(-4, 4, 400)
        assert least <= min(np.linalg.cond(s.constraint_inertia(2, scale=g)) for g in grid) * (1 + 1e-9)
        options = {"formulation": "projection", "variant": 2, "metric": metric}
        usual = system.acceleration(x, **options).vdot
        for scale in (best, 0.1 * best, 30 * best):
            found = system.acceleration(x, **options, scale=scale).vdot
            np.testing.assert_allclose(found, usual, atol=1e-7 * np.abs(usual).max())
    with pytest.raises(da.ArgumentError, match="third variant of 'projection'"):
        system.acceleration(x, formulation="nullspace", scale=1.0)


def test_a_projector_that_keeps_too_little_is_refused():
    """P = 0 satisfies H P = 0 and P P = P, and so does every projector on a part of the motions."""
    system = zoo.five_bar().compile(backend="casadi")
    full = da.linearize_full(system, system.state(*zoo.five_bar_start(0.5)))
    P = full.projector
    np.testing.assert_allclose(full.underlying(), full.underlying(P), atol=1e-12)
    u = np.linalg.svd(P)[0][:, 0]
    for bad in (np.zeros_like(P), np.outer(u, u)):
        with pytest.raises(da.ArgumentError, match=r"keeps [01] of the 4 motions"):
            full.underlying(bad)
