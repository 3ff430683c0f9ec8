"""Options of controllers against formulas: priorities, weights, measures, motion bounds, impedance, ε, reach."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize

import dalembert as da
from dalembert import control, zoo
from dalembert.control import Verdict
from dalembert.errors import ArgumentError, DalembertError, UnknownName


@cache
def arms():
    system = zoo.two_arms().compile()
    return system, system.state(*zoo.two_arms_start(0.1, 0.55, 0.2))


@cache
def arm():
    """A planar arm of three links with three motors, in zero gravity."""
    m = da.Mechanism("arm", gravity=(0, 0, 0))
    last = m.ground
    for k in range(3):
        body = m.add_body(f"b{k}", mass=1.0 + k, com=(0.2, 0, 0), inertia=da.rod_inertia(1.0 + k, 0.4))
        m.add_joint(f"q{k}", da.Revolute("z"), last, body)
        m.add_motor(f"u{k}", f"q{k}")
        last = body.at(0.4, 0, 0)
    m.add_frame("tip", last)
    return m.compile()


TASK = control.position("tip", "xy") + control.orientation("tip", "z") + control.coordinates("q0")  # 4 rows, 3 freedoms


def asked(system, x, rate=10.0):
    """M, J and θ̈ − J̇v that the task asks for, by differences of the task's own values."""
    law = control.motion_control(system, TASK, np.array([0.3, 0.5, 0.2, 0.1]), rate=rate)
    e, de = law.error(0.0, x)
    J = law.plant.values(0.0, x)[7]
    bias = law.plant.values(0.0, x)[8]
    return system.mass_matrix(x), J, rate**2 * e + 2 * rate * de - bias


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_lower_priority_yield_in_the_null_space_of_those_before(seed):
    """v̇ = J₁⁺a₁ + N₁(J₂N₁)⁺(a₂ − J₂J₁⁺a₁), of v̇ in the mass metric, of rows in their sizes (Siciliano & Slotine)."""
    system, rng = arm(), np.random.default_rng(seed)
    x = system.state(rng.uniform(-1, 1, 3), rng.normal(size=3))
    M, J, a = asked(system, x)
    first, second = rng.permutation(4)[:2], None
    second = [k for k in range(4) if k not in first]
    priorities = {TASK.names[k]: 1 for k in first} | {TASK.names[k]: 2 for k in second}
    law = control.motion_control(system, TASK, np.array([0.3, 0.5, 0.2, 0.1]), priorities=priorities)
    L = np.linalg.inv(np.linalg.cholesky(M)).T  # v̇ = L y
    T1, T2 = J[first] @ L, J[second] @ L
    y1 = np.linalg.pinv(T1) @ a[first]
    N1 = np.eye(3) - np.linalg.pinv(T1) @ T1
    W = np.diag(1 / law.workspace.sizes[second])
    y = y1 + N1 @ np.linalg.pinv(W @ T2 @ N1, rcond=1e-9) @ W @ (a[second] - T2 @ y1)
    found = law.explain(0.0, x)
    np.testing.assert_allclose(found.vdot, L @ y, atol=1e-9 * np.abs(found.vdot).max())
    assert found.status == Verdict.YIELDED
    assert set(found.task_missing) <= {TASK.names[k] for k in second}
    assert law.is_native
    native = law.native_controller().at(0.0, np.concatenate([x.q, x.v]))
    np.testing.assert_allclose(native, law(0.0, x), rtol=1e-12)


def test_weights_of_rows_give_weighted_least_squares():
    system = arm()
    x = system.state([0.3, 0.7, -0.4], [0.5, -0.2, 0.3])
    _, J, a = asked(system, x)
    w = np.array([1.0, 3.0, 0.2, 0.05])
    law = control.motion_control(
        system, TASK, np.array([0.3, 0.5, 0.2, 0.1]), weights=dict(zip(TASK.names, w)), limits=1e6
    )
    expected = np.linalg.lstsq(w[:, None] * J, w * a, rcond=None)[0]
    np.testing.assert_allclose(law.explain(0.0, x).vdot, expected, rtol=1e-8)


def test_bounds_of_motors_take_from_the_last_priority_first():
    """The tip is held in place by what is left of the motors, while the orientation waits."""
    system = arm()
    x = system.state([0.3, 0.7, -0.4])
    task = control.position("tip", "xy") + control.orientation("tip", "z")
    goal = [*x.position("tip")[:2], 2.0]
    free = control.motion_control(system, task, goal).explain(0.0, x)
    limit = 0.5 * np.abs(free.u).max()
    both = control.motion_control(system, task, goal, limits=limit).explain(0.0, x)
    first = control.motion_control(system, task, goal, limits=limit, priorities={"tip.rz": 2}).explain(0.0, x)
    assert both.status == first.status == Verdict.LIMITED
    assert set(first.task_missing) == {"tip.rz"}
    assert {"tip.x", "tip.y"} & set(both.task_missing)


@pytest.mark.parametrize("axes", ["ground", "object"])
def test_measures_are_the_wrench_of_the_loop_along_any_axis(axes):
    """Against the loop's wrench of `constraint_forces`, which acts on frame b in b's axes."""
    system, x = arms()
    axis = np.array([0.6, -0.8, 0.0])
    measures = {
        "along": control.force_along("grip", axis, frame=axes),
        "turn": control.force_along("grip", "z", kind="moment"),
    }
    found = control.actuator_forces(system, x, {"L1": 1.0}, measures=measures)
    wrench = system.constraint_forces(x, u=found.u).loops["grip"]
    b = next(c for c in system.description.constraints if c.name == "grip").b
    R = x.rotation(b)
    about = np.eye(3) if axes == "ground" else x.rotation("object")
    assert found.measures["along"] == pytest.approx((about @ axis) @ (R @ wrench[3:]), rel=1e-9)
    assert found.measures["turn"] == pytest.approx((R @ wrench[:3])[2], rel=1e-9)


def test_a_combination_of_forces_is_set_and_bounded():
    """(λ_x − λ_y)/2 is brought to 12, then kept below 5 against a wish for 12; the rest of the law does not see it."""
    system, x = arms()
    task, at = control.coordinates("L1", "L2", "L3"), {n: x[n] for n in ("L1", "L2", "L3")}
    squeeze = 0.5 * (control.combination({"grip.x": 1.0}) - control.combination({"grip.y": 1.0}))
    law = control.hybrid_control(system, task, at, {"squeeze": 12.0}, measures={"squeeze": squeeze})
    lam = system.acceleration(x, u=law(0.0, x)).multipliers
    assert 0.5 * (lam[0] - lam[1]) == pytest.approx(12.0, rel=1e-10)
    assert law.is_native
    held = control.hybrid_control(
        system, task, at, {"squeeze": 12.0}, measures={"squeeze": squeeze}, reactions={"squeeze": (None, 5.0)}
    )
    found = held.explain(0.0, x)
    assert found.measures["squeeze"] == pytest.approx(5.0, rel=1e-9)
    assert found.status == Verdict.FORCES_MISSED
    assert "squeeze is 5, asked 12" in found.message
    assert np.abs(found.vdot).max() < 1e-9


@cache
def cart():
    m = da.Mechanism("cart", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0), limits=(-0.5, 0.5))
    m.add_motor("drive", "x")
    m.add_motor("wind", "x")
    return m.compile()


def test_a_cart_stops_before_its_limit_at_the_rate_that_is_asked():
    """From v ≤ ω (x_u − x) on: ẍ = −2ωẋ − ω²(x − x_u), never beyond; the goal lies outside."""
    system, w = cart(), 8.0
    law = control.motion_control(
        system, control.coordinates("x"), [1.0], rate=20.0, actuated=["drive"], positions=True, limit_rate=w
    )
    run = da.simulate(system, {"x": 0.0}, 3.0, u=law, rtol=1e-10)
    assert run["x"].max() <= 0.5 + 1e-9
    assert run["x"][-1] == pytest.approx(0.5, abs=1e-6)
    late = run.t > 0.3
    t = run.t[late] - run.t[late][0]
    e, v = run["x"][late][0] - 0.5, run.rate("x")[late][0]
    np.testing.assert_allclose(run["x"][late] - 0.5, (e + (v + w * e) * t) * np.exp(-w * t), atol=1e-7)
    here = law.explain(0.3, run.state(-1))
    assert here.status == Verdict.LIMITED
    assert here.active == ("x ≤ 0.5",)


def test_speeds_and_accelerations_are_bounded():
    system = cart()
    law = control.motion_control(
        system, control.coordinates("x"), [5.0], actuated=["drive"], speeds=0.7, accelerations={"x": (-1.0, 2.0)}
    )
    run = da.simulate(system, {"x": 0.0}, 2.0, u=law)
    assert run.rate("x").max() == pytest.approx(0.7, abs=1e-6)
    assert law(0.0, system.state())[0] == pytest.approx(2.0 * 2.0)
    assert (run.rate("x") <= 2.0 * run.t + 1e-9).all()


def test_stiffness_yields_to_an_outside_force_like_a_spring_with_the_own_inertia():
    """M ẍ + D ẋ + K x = F: the step response of a cart pushed by a force that the law does not know."""
    system, k, d, force = cart(), 50.0, 4.0, 3.0
    law = control.motion_control(system, control.coordinates("x"), [0.0], stiffness=(k, d), actuated=["drive"])

    def pushed(t, state):
        return law(t, state) + np.array([0.0, force])

    run = da.simulate(system, {"x": 0.0}, 1.5, u=pushed, rtol=1e-9)
    A = np.array([[0.0, 1.0], [-k / 2.0, -d / 2.0]])
    still = np.array([force / k, 0.0])
    exact = still - expm(A * 1.5) @ still
    assert run["x"][-1] == pytest.approx(exact[0], rel=1e-6)
    assert run.rate("x")[-1] == pytest.approx(exact[1], rel=1e-5)


def test_integral_action_takes_away_the_error_of_an_unknown_force():
    """ë + 2ω ė + ω² e + G ∫e = −F/m; without the integral F/(m ω²) is left. Bounds do not wind it up."""
    system, force = cart(), 3.0
    for gain, left in ((0.0, force / 2.0 / 25.0), (60.0, 0.0)):
        options = {"rate": 5.0, "integral": gain, "actuated": ["drive"]}
        law, wind = control.motion_control(system, control.coordinates("x"), [0.2], **options), np.array([0.0, force])
        run = da.simulate(system, {"x": 0.0}, 12.0, u=lambda t, s, law=law, wind=wind: law(t, s) + wind, period=4e-3)
        assert abs(run["x"][-1] - 0.2) == pytest.approx(left, abs=1e-4)
    law = control.motion_control(system, control.coordinates("x"), [0.2], rate=5.0, integral=60.0, limits=0.1)
    with pytest.raises(ArgumentError, match="period"):
        da.simulate(system, {"x": 0.0}, 0.1, u=law)
    for k in range(50):
        law(0.01 * k, system.state())
    assert not law._memory.task_integral.any()  # held back by the limit all the time


@pytest.mark.parametrize(("epsilon", "ignored"), [(0.0, False), (0.05, False), (0.2, True)])
def test_epsilon_ignores_the_constraint_next_to_a_singular_position(epsilon, ignored):
    """Aghili (68): A = l c₁ (2, 1), σ = √5 l |c₁| = 0.112 at q₁ = π/2 − 0.1, l = ½; P = 1 where σ ≤ ε."""
    system = zoo.equal_slider_crank(length=0.5).compile()
    x = system.state(*zoo.equal_slider_crank_start(np.pi / 2 - 0.1, 0.3))
    P = system.subspaces(x, metric="euclidean", epsilon=epsilon).P
    exact = np.eye(2) if ignored else np.array([[0.2, -0.4], [-0.4, 0.8]])
    np.testing.assert_allclose(P, exact, atol=1e-12)
    found = control.actuator_forces(system, x, {"q1": 2.0}, epsilon=epsilon)
    assert found.mobility == (2 if ignored else 1)
    law = control.motion_control(system, control.coordinates("q1"), [1.0], epsilon=epsilon)
    assert law.explain(0.0, x).mobility == found.mobility
    if ignored:  # inverse dynamics of the open chain
        M, h = system.mass_matrix(x), system.bias(x)
        np.testing.assert_allclose(found.u, M @ found.vdot + h, rtol=1e-10)
        np.testing.assert_allclose(
            found.vdot, [2.0, -M[1, 0] / M[1, 1] * 2.0], rtol=1e-9
        )  # shortest in the mass metric


def test_damping_bounds_the_forces_where_a_task_becomes_singular():
    """A stretched arm asked to move along itself: θ̈ = J v̇ damped, ‖v̇‖ ≤ ‖a‖/(2λ) in the mass metric."""
    m = da.Mechanism("two links", gravity=(0, 0, 0))
    one, two = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in ("one", "two"))
    m.add_joint("A", da.Revolute("z"), m.ground, one)
    m.add_joint("B", da.Revolute("z"), one.at(1.0, 0, 0), two)
    m.add_motor("a", "A")
    m.add_motor("b", "B")
    m.add_frame("tip", two.at(1.0, 0, 0))
    system = m.compile()
    x = system.state({"A": 0.0, "B": 1e-5})
    task, goal = control.position("tip", "xy"), [1.9, 0.0]
    stiff = control.motion_control(system, task, goal).explain(0.0, x)
    soft = control.motion_control(system, task, goal, damping=0.1).explain(0.0, x)
    assert stiff.success
    assert np.abs(stiff.u).max() > 1e4
    assert np.abs(soft.u).max() < 100.0
    assert soft.status == Verdict.DAMPED
    away = x.replace(q=np.array([0.3, 1.5]))
    plain, damped = (control.motion_control(system, task, goal, damping=d)(0.0, away) for d in (0.0, 0.1))
    np.testing.assert_array_equal(plain, damped)


def test_a_reference_beyond_the_workspace_is_refused_or_approached():
    """3-RRR asked to 0.6 m: the nearest pose by SLSQP on the closed loops; the platform goes there and stays."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    task = control.position("platform", "xy") + control.orientation("platform", "z")
    goal = np.array([0.0, -0.6, 0.0])
    path = control.quintic([0.0, 0.0, 0.0], goal, 2.0)
    refused = control.motion_control(system, task, path, rate=30.0, out_of_reach="refuse")
    run = da.simulate(system, x, 3.0, u=refused, period=0.01)
    assert not run.success
    assert "out of reach" in run.message
    assert 0.4 < run.t[-1] < 2.0
    law = control.motion_control(system, task, path, rate=30.0, out_of_reach="approach")
    run = da.simulate(system, x, 3.0, u=law, period=0.005)
    assert run.success, run.message
    theta = law.plant.task_values(3.0, run.state(-1))[0]
    start = run.state(-1)

    def off(q):
        return np.sum((law.plant.task_values(0.0, system.state(q))[0] - goal) ** 2 / np.array([1.0, 1.0, 1.0]))

    best = minimize(
        off, start.q + 0.01, constraints=[{"type": "eq", "fun": lambda q: system.residuals(system.state(q))}],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 400},
    )  # fmt: skip
    assert np.hypot(*theta[:2]) > 0.2
    assert off(start.q) < best.fun + 0.02
    assert np.abs(run.u[-1]).max() < 100.0


def test_mistakes_in_the_options_are_named():
    system, x = arms()
    task, at = control.coordinates("L1", "L2"), {"L1": x["L1"], "L2": x["L2"]}
    for options, error, words in [
        ({"priorities": {"L3": 1}}, UnknownName, "priorities"),
        ({"priorities": {"L1": 0}}, ArgumentError, "the priority of 'L1'"),
        ({"weights": {"L1": -1.0}}, ArgumentError, "the weight of 'L1'"),
        ({"measures": {"s": 3.0}}, ArgumentError, "measure 's' is 3.0"),
        ({"measures": {"grip.x": control.combination({"grip.x": 1.0})}}, ArgumentError, "the name of a row"),
        ({"measures": {"s": control.combination({"nothing": 1.0})}}, UnknownName, "measure 's'"),
        ({"positions": True}, ArgumentError, "has limits"),
        ({"positions": {"L9": 1.0}}, UnknownName, "L9"),
        ({"gains": (1.0, 1.0), "stiffness": (1.0, 1.0)}, ArgumentError, "gains and stiffness"),
        ({"out_of_reach": "maybe"}, ArgumentError, "out_of_reach"),
        ({"epsilon": -1.0}, ArgumentError, "epsilon"),
        ({"damping": 2.0}, ArgumentError, "damping"),
    ]:
        with pytest.raises(error, match=words):
            control.motion_control(system, task, at, **options)
    with pytest.raises(DalembertError):
        control.force_along("grip", [0, 0, 0])


@pytest.mark.parametrize("seed", range(3))
def test_bounded_laws_run_natively_as_from_python(seed):
    """The same run with the law in machine code and called from Python, with bounds, cones and wanted forces."""
    system, x = arms()
    task = control.position("object", "xy") + control.orientation("object", "z")
    lift = control.quintic([*x.position("object")[:2], 0.2], [0.0, 0.6, 0.0], 0.5)
    options = [
        {"limits": 12.0},
        {"limits": 12.0, "cones": [control.Cone({"grip.x": -1.0}, ["grip.y"], 0.4)], "accelerations": 60.0},
        {"limits": 9.0, "reactions": {"grip.x": (None, -5.0)}, "priorities": {"object.rz": 2}},
    ][seed]
    forces = {"grip.x": control.Trajectory(lambda t: -20.0 - 10 * ca.sin(3 * t))}
    law = control.hybrid_control(system, task, lift, forces, rate=15.0, **options)
    assert law.is_native
    fast = da.simulate(system, x, 0.2, u=law, period=0.01)
    slow = da.simulate(system, x, 0.2, u=lambda t, s: law(t, s), period=0.01)
    np.testing.assert_allclose(fast.u, slow.u, atol=1e-7 * np.abs(fast.u).max())
    assert np.abs(fast.u).max() <= options["limits"] * (1 + 1e-9)


def two_links():
    m = da.Mechanism("two links", gravity=(0, 0, 0))
    upper, lower = (
        m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in ("upper", "lower")
    )
    m.add_joint("A", da.Revolute("z"), m.ground, upper)
    m.add_joint("B", da.Revolute("z"), upper.at(1.0), lower)
    m.add_motor("a", "A")
    m.add_motor("b", "B")
    system = m.compile()
    return system, system.state({"A": 0.0, "B": 0.5}), 0.2


def five_bar():
    system = zoo.five_bar().compile()
    return system, system.state(*zoo.five_bar_start(-1.0)), 0.1


@pytest.mark.parametrize("make", [two_links, five_bar])
@pytest.mark.parametrize("bound", ["speeds", "accelerations"])
def test_a_bound_of_one_coordinate_leaves_another_on_its_reference(make, bound):
    """Only A is held back: B can keep its place beside it, whatever the masses."""
    system, x, fastest = make()
    law = control.motion_control(
        system, control.coordinates("A", "B"), {"A": x["A"] + 0.5, "B": x["B"]}, rate=8.0, **{bound: {"A": fastest}}
    )
    run = da.simulate(system, x, 0.3, u=law, period=0.002)
    assert law.explain(0.0, x).status == Verdict.LIMITED
    assert abs(run["B"] - x["B"]).max() < 2e-5
    if bound == "speeds":
        assert abs(run.rate("A")).max() < 1.001 * fastest


@pytest.mark.parametrize("limits", [None, 1e6])
def test_more_rows_than_freedoms_are_met_by_least_squares_of_the_rows(limits):
    """All four angles of a five-bar of two freedoms, with and without bounds that matter to none."""
    system, x, _ = five_bar()
    x = system.project(x.replace(v=np.array([0.3, -0.2, 0.1, 0.4])))
    off, rate = np.array([0.05, -0.02, 0.03, 0.04]), 15.0
    goal = {name: x[name] + e for name, e in zip("ABCD", off)}
    priorities = dict.fromkeys("ABCD", 1)
    law = control.motion_control(
        system, control.coordinates(*"ABCD"), goal, rate=rate, limits=limits, priorities=priorities
    )
    A = system.constraint_matrix(x)
    wanted = rate**2 * off - 2 * rate * x.v
    K = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :].T
    c = -np.linalg.pinv(A) @ system.constraint_gamma(x)
    best = c + K @ np.linalg.lstsq(K, wanted - c, rcond=None)[0]
    np.testing.assert_allclose(law.explain(0.0, x).vdot, best, atol=1e-7 * np.abs(best).max())
