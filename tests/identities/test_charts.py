"""Charts on random mechanisms: Ψ, its inverse and its derivatives against differences on the manifold.

Quaternion joints, moving bases, drivers, nonholonomic rows and redundant ones are among them.
"""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.charts.newton import newton
from dalembert.spatial import Transform
from random_loops import random_closed
from random_mechanisms import random_state, random_tree

SPATIAL = (da.Revolute, da.Spherical, da.Universal, da.Cylindrical)


def random_driven(seed: int) -> tuple[da.System, da.State]:
    """A floating tree with a loop said twice, a driven coordinate, and a Pfaffian row, at some time."""
    rng = np.random.default_rng([seed, 5])
    m = random_tree(seed, 6, SPATIAL, floating=seed % 2 == 0, rotors=False)
    hinge = m.add_body("hinged", mass=1.0, com=(0.1, 0.2, 0), inertia=(0.3, 0.4, 0.5))
    m.add_joint("hinge", da.Revolute((1, 2, 1)), m.bodies["body2"], hinge)
    m.add_driver("motor", "hinge", lambda t: 0.4 + 0.9 * ca.sin(2 * t))
    tree = m.compile(backend="casadi")
    x = random_state(tree, seed)
    x = x.replace(q=tree.state({**dict(zip(tree.q_names, x.q)), "hinge": 0.4 + 0.9 * np.sin(0.6)}).q, t=0.3)
    a, b = m.bodies["body5"], m.bodies["body1"]
    in_a = a.at(*rng.normal(size=3) * 0.3)
    T_a, T_b = (tree.pose(x, f) for f in (in_a, b))
    pose = Transform(T_b[:3, :3], T_b[:3, 3]).inverse() @ Transform(T_a[:3, :3], T_a[:3, 3])
    in_b = b.at(*pose.p, rotation=pose.R)
    m.close_loop("loop", da.Spherical(), in_a, in_b)
    m.add_point_in_plane("again", in_b, in_a, rng.normal(size=3))
    wheel = m.bodies["body4"].at(*rng.normal(size=3) * 0.2)
    m.add_constraint("blade", pfaffian=lambda s: s.twist(wheel)[3] + 0.3 * s.twist(wheel)[1])
    system = m.compile(backend="casadi")
    return system, system.project(system.state(x.q, x.v, x.t))


def by_differences(chart, x, h=1e-5):
    """DΨ by central differences, in small motions from x."""
    system, y, w = chart.system, chart.coordinates(x), chart.rate(x)
    columns = []
    for e in h * np.eye(chart.dof + chart.speeds):
        ahead, behind = (chart.state(y + s * e[: chart.dof], rate=w + s * e[chart.dof :], guess=x) for s in (1, -1))
        small = system.minus(ahead, x) - system.minus(behind, x)
        columns.append(np.concatenate([small, ahead.v - behind.v]) / (2 * h))
    return np.transpose(columns)


def along(chart, x, value, h=1e-5):
    """d/dt of a value along the motion of x with ẇ = 0, by a central difference on the manifold."""
    system, vdot = chart.system, chart.bias(x)

    def at(s):
        q = system.plus(x, s * x.v + 0.5 * s * s * vdot)
        return system.project(x.replace(q=q, v=x.v + s * vdot, t=x.t + s))

    return (value(at(h)) - value(at(-h))) / (2 * h)


CASES = {
    "closed, spatial": lambda seed: random_closed(seed),
    "driven, nonholonomic, redundant": random_driven,
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_the_derivative_of_a_chart_is_that_of_differences(case, seed):
    """DΨ = [K 0; ∂v/∂y K_speed] (2.40), and Ψ⁻¹(Ψ(y, w)) = (y, w)."""
    system, x = CASES[case](seed)
    chart = system.chart(x, "tangent")
    assert chart.dof > 0
    assert chart.speeds == (chart.dof if case == "closed, spatial" else chart.dof - 1)
    rng = np.random.default_rng(seed)
    y, w = 0.02 * rng.normal(size=chart.dof), rng.normal(size=chart.speeds)
    at = chart.state(y, rate=w)
    scale = max(1.0, np.abs(at.v).max())
    assert np.abs(system.residuals(at)).max() < 1e-10
    assert np.abs(system.speed_residuals(at)).max() < 1e-9 * scale
    np.testing.assert_allclose(chart.coordinates(at), y, atol=1e-11)
    np.testing.assert_allclose(chart.rate(at), w, atol=1e-9 * scale)
    D = chart.derivative(at)
    np.testing.assert_allclose(by_differences(chart, at), D, atol=2e-6 * max(1.0, np.abs(D).max()))
    np.testing.assert_allclose(D[: system.nv, : chart.dof], chart.K(at))
    np.testing.assert_allclose(D[system.nv :, chart.dof :], chart.K_speed(at))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_rate_and_the_bias_of_a_chart_are_those_along_a_motion(case, seed):
    """K̇ (2.40) by differences along the motion, and v̇ = K ẇ + bias (2.45) against the equations of motion."""
    system, x = CASES[case](seed)
    chart = system.chart(x, "tangent")
    K_rate = chart.K_rate(x)
    found = along(chart, x, chart.K_speed)
    np.testing.assert_allclose(found, K_rate, atol=1e-5 * max(1.0, np.abs(K_rate).max()))
    a = system.acceleration(x, formulation="nullspace").vdot
    wdot = np.linalg.lstsq(chart.K_speed(x), a - chart.bias(x), rcond=None)[0]
    left = a - chart.bias(x) - chart.K_speed(x) @ wdot
    np.testing.assert_allclose(left, 0, atol=1e-8 * max(1.0, np.abs(a).max()))

    def later(s):
        return system.project(x.replace(q=system.plus(x, s * x.v + 0.5 * s * s * a), v=x.v + s * a, t=x.t + s))

    slope = (chart.rate(later(1e-5)) - chart.rate(later(-1e-5))) / 2e-5
    np.testing.assert_allclose(slope, wdot, atol=1e-5 * max(1.0, np.abs(wdot).max()))
    y = np.concatenate([chart.coordinates(x), chart.rate(x)])
    rates = chart.right_hand_side(x.t, y, guess=x)  # the local state-space form (2.16)
    moved = [chart.coordinates(later(s)) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(rates[: chart.dof], (moved[0] - moved[1]) / 2e-5, atol=1e-6)
    np.testing.assert_allclose(rates[chart.dof :], wdot, atol=1e-8 * max(1.0, np.abs(wdot).max()))


def test_solvers_of_others_integrate_the_local_state_space_form():
    """SciPy on f̂ (2.16) gives the motion of `simulate`, and closes the loops at every step (2.17)."""
    from scipy.integrate import solve_ivp

    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    chart = system.chart(x, ["A", "B"])
    found = solve_ivp(chart.right_hand_side, (0.0, 0.3), chart.carried(x), "DOP853", rtol=1e-10, atol=1e-10)
    state = chart.state(found.y[:2, -1], found.y[2:, -1])
    run = da.simulate(system, x, 0.3, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(state.q, run.state(-1).q, atol=1e-8)
    np.testing.assert_allclose(state.v, run.state(-1).v, atol=1e-7)
    assert np.abs(system.residuals(state)).max() < 1e-12


@pytest.mark.parametrize("seed", [7, 19, 20, 25])
def test_named_charts_with_cut_joints_and_functions_are_exact(seed):
    """A function of the state leads in place of a coordinate; DΨ against differences."""
    system, x = random_closed(seed)
    names = list(system.chart(x, "partition").names)
    first = names[0]
    chart = system.chart(x, [("mixed", lambda s: 2.0 * s[first] + 0.3 * ca.sin(s[first])), *names[1:]])
    assert chart.names == ("mixed", *names[1:])
    D = chart.derivative(x)
    np.testing.assert_allclose(by_differences(chart, x, 1e-6), D, atol=1e-5 * max(1.0, np.abs(D).max()))


# --- against CasADi's own derivatives -------------------------------------------------------------------------------


def test_derivatives_of_a_chart_are_those_of_casadi():
    """Ψ as CasADi's root finder of [R; Φ], differentiated by CasADi: K, and K̇ w = ∂(K w)/∂y w."""
    system = zoo.five_bar().compile(backend="casadi")
    x = system.assemble({"A": 0.6, "B": 1.5}, v={"A": 0.7, "B": -0.4}, guess=zoo.five_bar_start()[0])
    R = lambda q, y: ca.vertcat(q[0] + 0.2 * q[1] ** 2 - y[0] ** 3, q[1] - y[1])  # noqa: E731
    chart = system.chart(x, da.Chart(R, [1.0, 1.5]))
    q, y = ca.SX.sym("q", 4), ca.SX.sym("y", 2)
    phi = system.function("constraints")(q)[0]
    moving = [k for k, row in enumerate(system.constraint_matrix(x)) if np.abs(row).max() > 1e-9]
    equations = ca.Function("g", [q, y], [ca.vertcat(R(q, y), phi[moving])])
    psi = ca.rootfinder("psi", "newton", equations, {"abstol": 1e-13})
    Y, W = ca.MX.sym("y", 2), ca.MX.sym("w", 2)
    Q = psi(ca.MX(x.q), Y)
    K = ca.jacobian(Q, Y)
    turning = ca.jacobian(K @ W, Y)
    at = ca.Function("at", [Y, W], [Q, K, turning])
    y0, w0 = chart.coordinates(x), chart.rate(x)
    found, K_found, K_rate_w = (np.array(z) for z in at(y0, w0))
    np.testing.assert_allclose(found.ravel(), x.q, atol=1e-10)
    np.testing.assert_allclose(chart.K(x), K_found, atol=1e-9)
    np.testing.assert_allclose(chart.derivative(x)[4:, :2], K_rate_w, atol=1e-9)
    np.testing.assert_allclose(chart.K_rate(x), K_rate_w, atol=1e-9)
    np.testing.assert_allclose(chart.bias(x), K_rate_w @ w0, atol=1e-9)


# --- how far Newton's method reaches ---------------------------------------------------------------------------------


def pendulum() -> da.System:
    """A particle at distance 1 of the origin, in x and y (Spencer 2.3)."""
    m = da.Mechanism("pendulum", gravity=(0, 0, 0))
    cart, bead = m.add_body("cart"), m.add_body("bead", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bead)
    m.add_constraint("circle", holonomic=lambda s: s["x"] ** 2 + s["y"] ** 2 - 1.0)
    return m.compile(backend="casadi")


def test_newtons_method_reaches_the_ends_of_the_pendulums_chart():
    """y = q₁ around (0.6, −0.8): the square root has its branch point at y = ±1, and Newton contracts up to it."""
    system = pendulum()
    chart = system.chart(system.state([0.6, -0.8]), ["x"])
    assert chart.reach([1.0]) == pytest.approx(0.4, rel=2e-3)
    assert chart.reach([-1.0]) == pytest.approx(1.6, rel=2e-3)
    np.testing.assert_allclose(chart.reach(), [0.4], rtol=2e-3)
    assert chart.reach([2.0]) == pytest.approx(0.2, rel=2e-3)
    x = system.state(chart.reference)
    assert newton(chart, np.array([0.6 + 0.399]), x, 1e-12).reached
    assert not newton(chart, np.array([0.6 + 0.401]), x, 1e-12).reached
    steep = system.chart(system.state([0.96, -0.28]), ["x"])
    assert steep.reach([1.0]) == pytest.approx(0.04, rel=5e-3)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_charts_do_not_see_the_size_of_a_mechanism(length):
    """The pendulum scaled by a length: states, velocities and reach scale with it."""
    m = da.Mechanism("pendulum", gravity=(0, 0, 0))
    cart, bead = m.add_body("cart"), m.add_body("bead", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bead)
    m.add_rod("rod", m.ground, bead, length=length)
    system = m.compile(backend="casadi")
    chart = system.chart(system.state([0.6 * length, -0.8 * length]), ["x"])
    at = chart.state([0.8 * length], rate=[length])
    np.testing.assert_allclose(at.q / length, [0.8, -0.6], atol=1e-12)
    np.testing.assert_allclose(at.v / length, [1.0, 0.8 / 0.6], atol=1e-11)
    assert chart.reach()[0] / length == pytest.approx(0.4, rel=3e-3)


@pytest.mark.parametrize("seed", [0, 1, 7, 19])
def test_newtons_method_converges_within_the_reach_and_contracts(seed):
    system, x = random_closed(seed)
    chart = system.chart(x, "tangent")
    rng = np.random.default_rng(seed)
    for _ in range(3):
        d = rng.normal(size=chart.dof)
        far = chart.reach(d)
        assert far > 0.0
        for part in (0.3, 0.7, 0.98):
            attempt = newton(chart, part * min(far, 1.0) * d, system.state(chart.reference), 1e-12)
            assert attempt.reached
            assert attempt.contraction < 1.0
            assert np.abs(system.residuals(attempt.state)).max() < 1e-10


def test_coordinates_out_of_newtons_reach_are_followed_on_the_branch():
    """A crank turned once around from where Newton's method would not go at one go: Ψ comes back to where it was."""
    system = zoo.four_bar().compile(backend="casadi")
    x = system.state(*zoo.four_bar_start(0.6))
    chart = system.chart(x, ["A"])
    assert chart.reach()[0] < 2 * np.pi
    back = chart.state(chart.start + 2 * np.pi)
    turns = (back.q - x.q) / (2 * np.pi)
    np.testing.assert_allclose(turns, [1, round(turns[1]), 0], atol=1e-9)
    half = system.assemble({"A": 0.6 + np.pi}, guess=chart.state(chart.start + np.pi))
    np.testing.assert_allclose(half.q, chart.state(chart.start + np.pi).q, atol=1e-9)


def test_where_a_chart_ends_the_message_says_how_far_and_why():
    system = pendulum()
    x = system.state([0.6, -0.8])
    chart = system.chart(x, ["x"])
    with pytest.raises(da.AssemblyError, match=r"x = 1\.2 on the branch .* the chart ends before, 66\.\d % of the way"):
        chart.state([1.2])
    with pytest.raises(
        da.ArgumentError, match=r"\(2\.28\): \[∂R/∂q; A\] has rank 1 of 2, its smallest singular value is"
    ):
        chart.K(system.state([1.0, 0.0]))
    with pytest.raises(da.ArgumentError, match=r"\(2\.28\).*the best choice here is y"):
        system.chart(system.state([1.0, 0.0]), ["x"])
    assert chart.condition(system.state([1.0, 0.0])) > 1e12
    square = system.chart(x, da.Chart(lambda q, y: q[0] - y**2, [0.7]))
    with pytest.raises(da.ArgumentError, match=r"∂R/∂y is singular \(2\.27\): its rank is 0 of 1"):
        square.K(system.state([0.0, -1.0]), y=[0.0])


# --- velocities of their own -----------------------------------------------------------------------------------------


def forward_and_turn(q):
    """Quasi-velocities of a body in the plane: along its own x axis, and about z."""
    return ca.vertcat(ca.horzcat(ca.cos(q[2]), ca.sin(q[2]), 0), ca.horzcat(0, 0, 1))


def test_quasi_velocities_of_the_sleigh_have_their_closed_form():
    """u̇ = a ω², ω̇ = −m a u ω/(I + m a²); K = [cos θ 0; sin θ 0; 0 1]."""
    mass, inertia, a = 1.3, 0.4, 0.25
    system = zoo.chaplygin_sleigh(mass=mass, inertia=inertia, ahead=a).compile()
    theta, u, omega = 0.7, 1.2, -0.9
    v = [u * np.cos(theta), u * np.sin(theta), omega]
    x = system.state([0.3, -0.2, theta], v)
    names = ["float.x", "float.y", "float.angle"]
    sleigh = da.Chart(names, velocities=forward_and_turn)
    chart = system.chart(x, sleigh)
    np.testing.assert_allclose(chart.rate(x), [u, omega], atol=1e-12)
    K = np.array([[np.cos(theta), 0], [np.sin(theta), 0], [0, 1]])
    np.testing.assert_allclose(chart.K_speed(x), K, atol=1e-12)
    np.testing.assert_allclose(chart.K(x), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(chart.K_rate(x), omega * np.array([[-K[1][0], 0], [K[0][0], 0], [0, 0]]), atol=1e-12)
    lower = np.zeros((3, 3))
    lower[:, 2] = [-v[1], v[0], 0]  # ∂v/∂θ at u and ω held
    np.testing.assert_allclose(chart.derivative(x), np.block([[np.eye(3), np.zeros((3, 2))], [lower, K]]), atol=1e-12)
    run = da.simulate(system, x, 3.0, coordinates=sleigh, rtol=1e-10, atol=1e-12)
    assert run.success
    assert run.chart(0).speed_names == ("w0", "w1")
    # a closed orbit of the energy: (u, √((I + m a²)/m) ω) turns on a circle, u = r tanh(…)
    k2 = (inertia + mass * a * a) / mass
    r = np.sqrt(u * u + k2 * omega * omega)
    phase = np.arctanh(u / r) + a * r / k2 * run.t
    np.testing.assert_allclose(run.y_rate[:, 0], r * np.tanh(phase), atol=1e-8)
    np.testing.assert_allclose(run.y_rate[:, 1], -r / np.sqrt(k2) / np.cosh(phase), atol=1e-8)
    np.testing.assert_allclose(run.y, run.q, atol=1e-11)


@pytest.mark.parametrize("coordinates", ["tangent", "partition"])
def test_nonholonomic_mechanisms_run_in_independent_coordinates(coordinates):
    """The sleigh and, by the tangent space, the rolling disc: positions freer than velocities."""
    builds = [(zoo.chaplygin_sleigh, zoo.chaplygin_sleigh_start)]
    builds += [(zoo.rolling_disc, zoo.rolling_disc_start)] if coordinates == "tangent" else []
    for build, start in builds:
        system = build().compile()
        x = system.state(*start())
        run = da.simulate(system, x, 2.0, coordinates=coordinates, rtol=1e-10)
        exact = da.simulate(system, x, 2.0, rtol=1e-11)
        assert run.success
        np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-7)
        chart = run.chart(0)
        assert (chart.dof, chart.speeds) == (run.y.shape[1], run.y_rate.shape[1])
        assert chart.speeds == chart.dof - len(system.rows.holonomic) + system.rows.holonomic.sum()


@pytest.mark.parametrize(
    ("velocities", "message"),
    [
        (["A"], r"1 independent velocities \(A rate\) for 'five-bar', whose velocities have 2"),
        (lambda q: np.ones((2, 4)), r"not independent here \(2\.22\): \[∂S/∂v; A\] has rank 3 of 4"),
        (lambda q: np.ones((2, 3)), r"velocities\(q\) has shape \(2, 3\); needed: a matrix of 4 columns"),
        (lambda q: ca.SX.sym("z") * np.ones((2, 4)), r"other symbols than q"),
        (["A", "Z"], "velocities asks for velocity 'Z'"),
    ],
)
def test_velocities_that_do_not_lead_are_refused(velocities, message):
    system = zoo.five_bar().compile(backend="casadi")
    x = system.assemble({"A": 0.6, "B": 1.5}, guess=zoo.five_bar_start()[0])
    with pytest.raises(da.DalembertError, match=message):
        system.chart(x, da.Chart(["A", "B"], velocities=velocities))
