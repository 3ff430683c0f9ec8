"""Limits of the path in optimal motions: a quadratic program, a disc to go around, and the formula of their cost."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control
from dalembert.control.optimal_problem import OptimalProblem
from dalembert.control.optimal_search import search
from dalembert.control.path_costs import PathCosts

h, N = 0.1, 20
NEVER = np.array([-np.inf]), np.array([np.inf])


def axis(mass: float = 2.0) -> da.System:
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=mass))
    m.add_motor("push", "x")
    return m.compile(backend="casadi")


def line(x: float, v: float, mass: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """(N + 1, 1 + N) each: positions and speeds after midpoint steps of x″ = u / mass, affine in (1, u)."""
    X, V = np.zeros((N + 1, N + 1)), np.zeros((N + 1, N + 1))
    X[0, 0], V[0, 0] = x, v
    for k in range(N):
        V[k + 1] = V[k]
        V[k + 1, k + 1] += h / mass
        X[k + 1] = X[k] + h * (V[k] + V[k + 1]) / 2
    return X, V


@pytest.mark.parametrize("method", ["newton", "ilqr"])
def test_motions_and_multipliers_are_those_of_the_quadratic_program(method):
    """A cart follows sin 3t within limits of place and speed that bind on either side; it starts outside of one.

    Its motion is a quadratic program, solved here by qpOASES from matrices written down by hand.
    """
    system, x0 = axis(), 0.52
    cost = lambda s, u: 50 * (s["x"] - ca.sin(3 * s.t)) ** 2 + 0.01 * u["push"] ** 2  # noqa: E731
    final = lambda s: 5 * (s["x"] - 0.8) ** 2  # noqa: E731
    path = [(lambda s: s["x"], -0.45, 0.5), (lambda s: s.rate("x"), -1.1, 1.3)]
    problem = OptimalProblem(system, system.state({"x": x0}), h * N, N, cost, final, NEVER, path, np.zeros(0))
    first = problem.by_inputs(np.zeros((N, 1)))
    found = search(problem, first, method == "newton", 400, 1e-15, 1e-9)
    assert found.success

    X, V = line(x0, 0.0)
    u = ca.SX.sym("u", N)
    x, v = (ca.DM(A[:, 0]) + ca.DM(A[:, 1:]) @ u for A in (X, V))
    goal = np.sin(3 * h * np.arange(N))
    value = h * (50 * ca.sumsqr(x[:-1] - goal) + 0.01 * ca.sumsqr(u)) + 5 * (x[-1] - 0.8) ** 2
    quiet = {"printLevel": "none", "print_time": False}
    solver = ca.qpsol("qp", "qpoases", {"x": u, "f": value, "g": ca.vertcat(x[1:], v[1:])}, quiet)
    limits = np.repeat([[-0.45, 0.5], [-1.1, 1.3]], N, axis=0)
    answer = solver(lbg=limits[:, 0], ubg=limits[:, 1])
    wanted, pulls = np.array(answer["x"])[:, 0], np.array(answer["lam_g"])[:, 0].reshape(2, N)
    sides = np.stack([np.maximum(sign * row, 0) for row in pulls for sign in (1, -1)])
    assert (sides.max(axis=1) > 1e-3).all()  # each of the four binds

    np.testing.assert_allclose(found.motion.u[:, 0], wanted, atol=1e-5)
    assert found.motion.cost == pytest.approx(float(answer["f"]), rel=1e-8)
    np.testing.assert_allclose(h * problem.path.multipliers[:, 1:], sides, atol=1e-5 * sides.max())
    assert (problem.path.multipliers >= 0).all()


def test_a_disc_on_the_way_is_gone_around_as_ipopt_goes_around_it():
    """A point in a plane keeps 0.4 m from the origin, which its straight way would pass at 0.05 m."""
    m = da.Mechanism("point")
    slide = m.add_body("slide", mass=0.5)
    point = m.add_body("point", mass=1.5)
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("y", da.Prismatic("y"), slide, point)
    for name in ("x", "y"):
        m.add_motor(name, name)
    system = m.compile(backend="casadi")
    away = lambda s: ca.norm_2(s.position("point")[:2])  # noqa: E731
    end = lambda s: 50 * ((s["x"] - 1.0) ** 2 + s["y"] ** 2 + s.rate("x") ** 2 + s.rate("y") ** 2)  # noqa: E731
    motion = control.optimal_motion(
        system, {"x": -1.0, "y": 0.1}, h * N, lambda s, u: 0.1 * (u["x"] ** 2 + u["y"] ** 2), end, steps=N,
        bounds=[(away, 0.4, np.inf)], allowed=1e-9, tolerance=1e-14)  # fmt: skip
    assert motion.success
    *_, count, _ = motion.message.split()
    assert int(count) > 20  # iterations of all rounds: the last one takes a few

    u = ca.SX.sym("u", N, 2)
    (x, vx), (y, vy) = (
        [ca.DM(A[:, 0]) + ca.DM(A[:, 1:]) @ u[:, k] for A in line(start, 0.0, mass)]
        for k, (start, mass) in enumerate(((-1.0, 2.0), (0.1, 1.5)))
    )
    value = h * 0.1 * ca.sumsqr(u) + 50 * ((x[-1] - 1) ** 2 + y[-1] ** 2 + vx[-1] ** 2 + vy[-1] ** 2)
    near = x[1:] ** 2 + y[1:] ** 2
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-12}
    solver = ca.nlpsol("nlp", "ipopt", {"x": ca.vec(u), "f": value, "g": near}, quiet)
    answer = solver(x0=motion.u.T.ravel() * 0.5, lbg=0.4**2)
    assert motion.cost == pytest.approx(float(answer["f"]), rel=1e-7)
    np.testing.assert_allclose(motion.u.T.ravel(), np.array(answer["x"])[:, 0], atol=1e-5)
    assert np.sum(np.hypot(*motion.q.T) < 0.4 + 1e-6) >= 2  # it touches the disc


def test_the_cost_of_a_limit_and_its_derivatives_are_those_of_the_formula():
    """(max(0, λ + ρ c)² − λ²) / 2ρ of both sides of a curved limit, differentiated by CasADi; none at the start."""
    m = da.Mechanism("arm")
    upper, lower = (m.add_body(name, mass=1.0, inertia=da.sphere_inertia(1.0, 0.1)) for name in ("upper", "lower"))
    m.add_joint("A", da.Revolute("z"), m.ground, upper)
    m.add_joint("B", da.Revolute("z"), upper.at(0.7, 0, 0), lower)
    m.add_motor("torque", "B")
    m.add_frame("tip", lower.at(0.5, 0, 0))
    rng, count = np.random.default_rng(3), 12
    limit = (lambda s: s.position("tip")[0] + s.rate("A") ** 2, 0.2, 0.6)
    costs = PathCosts(m.compile(backend="casadi"), [limit], count)
    costs.multipliers[:], costs.weight = rng.uniform(0, 2, (2, count + 1)), 3.5
    q, v, u = (rng.uniform(-1.5, 1.5, (count + 1, n)) for n in (2, 2, 1))
    found = costs.at(q, v, u, np.zeros(0), np.zeros(count + 1))

    y, pair = ca.SX.sym("y", 5), ca.SX.sym("pair", 2)
    c = 0.7 * ca.cos(y[0]) + 0.5 * ca.cos(y[0] + y[1]) + y[2] ** 2
    both = [ca.fmax(0, pair[k] + 3.5 * e) ** 2 - pair[k] ** 2 for k, e in enumerate((c - 0.6, 0.2 - c))]
    value = (both[0] + both[1]) / (2 * 3.5)
    oracle = ca.Function("oracle", [y, pair], [value, *ca.hessian(value, y)[::-1]])
    for k in range(count + 1):
        at = np.concatenate([q[k], v[k], u[k]])
        wanted = [np.array(x) for x in oracle(at, costs.multipliers[:, k])]
        for got, want in zip((found.value[k], found.gradient[k], found.hessian[k]), wanted):
            np.testing.assert_allclose(got, (want * (k > 0)).reshape(np.shape(got)), atol=1e-12)
    assert (found.gradient[1:, 0] != 0).any()
