"""Discrete optimal control: conditions of optimality, limits, feedback, and another planner."""

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo


def keep(s, u):
    return s["cart"] ** 2 + 10 * s["phi1"] ** 2 + 0.1 * u["push"] ** 2


def end(s):
    return 10 * (s["cart"] ** 2 + s["phi1"] ** 2 + s.rate("cart") ** 2 + s.rate("phi1") ** 2)


@pytest.fixture(scope="module")
def pole():
    return zoo.cart_pole().compile()


def cost_of(system, start, u, h):
    """Σ h keep + end of inputs u, by `simulate`, which shares no code with the sweeps."""
    run = da.simulate(system, start, h * len(u), u=lambda t, x: u[min(int(t / h + 1e-6), len(u) - 1)], period=h,
                      method="variational", step=h)  # fmt: skip
    total = sum(h * keep(run.state(k), {"push": u[k, 0]}) for k in range(len(u)))
    return float(total + end(run.state(-1)))


def test_no_input_changes_the_cost_to_first_order(pole):
    """Differences of the cost of whole runs by each input vanish, and the second ones do not."""
    start = pole.state({"cart": 0.3, "phi1": 0.2})
    motion = control.optimal_motion(pole, start, 1.0, keep, end, steps=20, tolerance=1e-14)
    assert motion.success
    assert cost_of(pole, start, motion.u, 0.05) == pytest.approx(motion.cost, rel=1e-12)
    d = 1e-5  # the pole falls: a disturbance grows 150 times
    for k in (0, 7, 19):
        u = [motion.u + s * d * (np.arange(20) == k)[:, None] for s in (1, -1)]
        up, down = (cost_of(pole, start, x, 0.05) for x in u)
        assert abs(up - down) / (2 * d) < 1e-6
        wrong = cost_of(pole, start, motion.u + 0.1 * (np.arange(20) == k)[:, None], 0.05)
        assert wrong > motion.cost + 1e-4


def test_newtons_method_and_ilqr_find_the_same_motion(pole):
    start = pole.state({"cart": 0.3, "phi1": 0.2})
    newton, ilqr = (control.optimal_motion(pole, start, 2.0, keep, end, steps=40, method=m) for m in ("newton", "ilqr"))
    assert newton.success
    assert ilqr.success
    np.testing.assert_allclose(ilqr.u, newton.u, atol=1e-4 * np.abs(newton.u).max())


def test_of_a_linear_mechanism_the_gains_are_those_of_riccati():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0))
    m.add_motor("push", "x")
    system = m.compile(backend="casadi")
    h, N = 0.1, 30
    motion = control.optimal_motion(
        system, {"x": 1.0}, h * N, lambda s, u: 3 * s["x"] ** 2 + 0.5 * s.rate("x") ** 2 + 0.2 * u["push"] ** 2,
        lambda s: 4 * s["x"] ** 2, steps=N)  # fmt: skip
    A, B = np.array([[1, h], [0, 1]]), np.array([[h * h / 4], [h / 2]])  # midpoint rule of x″ = u/2
    Q, R, S = h * np.diag([3.0, 0.5]), h * np.array([[0.2]]), np.diag([4.0, 0.0])
    for k in reversed(range(N)):
        K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        np.testing.assert_allclose(motion.gains[k], -K, atol=1e-9)
        S = Q + A.T @ S @ (A - B @ K)
    assert motion.cost == pytest.approx(S[0, 0], rel=1e-12)  # xᵀSx at x = (1, 0)
    assert len(motion.costs) <= 3


def test_limits_are_kept_and_bind_where_the_multiplier_says(pole):
    start = pole.state({"cart": 0.3, "phi1": 0.2})
    motion = control.optimal_motion(
        pole, start, 1.0, keep, end, steps=20, limits={"push": (-1.5, 2.0)}, tolerance=1e-14
    )
    assert motion.success
    assert motion.u.min() == -1.5
    at = motion.u[:, 0]
    d, h = 1e-5, motion.step
    for k in range(0, 20, 2):
        up, down = (cost_of(pole, start, motion.u + s * d * (np.arange(20) == k)[:, None], h) for s in (1, -1))
        slope = (up - down) / (2 * d)
        assert slope > 1e-3 if at[k] == -1.5 else slope < -1e-3 if at[k] == 2.0 else abs(slope) < 1e-5


def test_the_regulator_of_the_motion_brings_a_disturbed_swing_up_back(pole):
    start = pole.state({"cart": 0.0, "phi1": np.pi})
    plan = control.plan_motion(pole, start, {"cart": 0.0, "phi1": 0.0}, 2.0, intervals=40)
    motion = control.optimal_motion(
        pole, start, 2.0, lambda s, u: u["push"] ** 2,
        lambda s: 1e4 * (s["cart"] ** 2 + s["phi1"] ** 2) + 1e3 * (s.rate("cart") ** 2 + s.rate("phi1") ** 2),
        steps=100, guess=plan)  # fmt: skip
    assert motion.success
    assert len(motion.costs) < 12
    assert motion.cost == pytest.approx(plan.effort, rel=0.01)  # collocation, exact ends
    disturbed = start.replace(v=[0.05, 0.2])
    free, kept = (motion.simulate(feedback=f, start=disturbed, method="dopri5") for f in (False, True))
    assert abs(kept.state(-1)["phi1"]) < 0.03 < 0.3 < abs(free.state(-1)["phi1"])
    assert np.abs(motion.simulate().q[-1] - motion.q[-1]).max() < 1e-9


def test_the_acrobot_swings_up_as_cheaply_as_collocation_does():
    """Spong's acrobot in 4 s: within 1 % of collocation that starts from it, and stabilized by its own regulator."""
    m = da.Mechanism("acrobot", gravity=(0, -9.81, 0))
    upper = m.add_body("upper", mass=1.0, com=(0, -0.5, 0), inertia=(0.083, 0.083, 0.083))
    lower = m.add_body("lower", mass=1.0, com=(0, -1.0, 0), inertia=(0.33, 0.33, 0.33))
    m.add_joint("shoulder", da.Revolute("z"), m.ground, upper)
    m.add_joint("elbow", da.Revolute("z"), upper.at(0, -1.0, 0), lower)
    m.add_motor("torque", "elbow")
    system = m.compile()
    goal = {"shoulder": np.pi, "elbow": 0.0}

    def upright(s):
        off = (s["shoulder"] - np.pi) ** 2 + s["elbow"] ** 2
        return 1e5 * off + 1e4 * (s.rate("shoulder") ** 2 + s.rate("elbow") ** 2)

    options = {"steps": 100, "tolerance": 1e-6}
    motion = control.optimal_motion(system, system.state({}), 4.0, lambda s, u: u["torque"] ** 2, upright, **options)
    plan = control.plan_motion(system, system.state({}), goal, 4.0, intervals=50, guess=motion)
    assert motion.success
    assert plan.success
    assert motion.cost == pytest.approx(plan.cost, rel=0.01)
    disturbed = system.state({}, v={"shoulder": 0.02, "elbow": -0.02})
    ends = [motion.simulate(feedback=f, start=disturbed).state(-1) for f in (False, True)]
    free, kept = (abs(x["shoulder"] - np.pi) + abs(x["elbow"]) for x in ends)
    assert kept < 0.1 < free


def test_a_closed_chain_with_constraints_is_controlled_in_all_its_coordinates():
    """A four-bar is led to another position against its weight; loops stay closed to rounding, momenta are M v."""
    system = zoo.four_bar().compile()
    start = system.state(*zoo.four_bar_start(0.7))
    torque = system.u_names[0]
    motion = control.optimal_motion(
        system, start, 0.5, lambda s, u: u[torque] ** 2,
        lambda s: 1e4 * (s["A"] - 1.2) ** 2 + 1e2 * s.rate("A") ** 2, steps=25)  # fmt: skip
    assert motion.success
    assert motion.state(-1)["A"] == pytest.approx(1.2, abs=2e-2)
    for k in (5, 25):
        x = motion.state(k)
        assert np.abs(system.residuals(x)).max() < 1e-12
        np.testing.assert_allclose(motion.momentum[k], system.mass_matrix(x) @ x.v, atol=1e-9)
    again = motion.simulate()
    np.testing.assert_allclose(again.q[-1], motion.q[-1], atol=1e-9)


def test_what_cannot_be_asked_for_is_told(pole):
    start = pole.state({"phi1": 0.1})
    with pytest.raises(da.ArgumentError, match='needed with limits: method="ilqr"'):
        control.optimal_motion(pole, start, 1.0, keep, end, method="newton", limits=1.0)
    with pytest.raises(da.ArgumentError, match="cost gives"):
        control.optimal_motion(pole, start, 1.0, lambda s, u: None, end)
    with pytest.raises(da.DalembertError, match="no joint 'nothing'"):
        control.optimal_motion(pole, start, 1.0, lambda s, u: s["nothing"], end)
    with pytest.raises(da.ArgumentError, match="needs cost="):
        control.plan_motion(pole, start, {"phi1": 0.0}, 1.0, minimize="cost")


def test_collocation_takes_the_same_cost(pole):
    """Of state and inputs, with a limit of an expression on the way."""
    start = pole.state({"cart": 0.3, "phi1": 0.1})
    goal, options = {"cart": 0.0, "phi1": 0.0}, {"minimize": "cost", "cost": keep, "intervals": 25}
    plan = control.plan_motion(pole, start, goal, 2.0, **options)
    motion = control.optimal_motion(
        pole, start, 2.0, keep,
        lambda s: 1e4 * (s["cart"] ** 2 + s["phi1"] ** 2 + s.rate("cart") ** 2 + s.rate("phi1") ** 2),
        steps=200, guess=plan)  # fmt: skip
    assert plan.success
    assert motion.cost == pytest.approx(plan.cost, rel=0.03)  # left sums of the cost: first order in the step
    kept = control.plan_motion(pole, start, goal, 2.0, bounds=[(lambda s: s.rate("cart"), -0.25, 9.0)], **options)
    assert kept.success
    assert kept.v[:, 0].min() > -0.25 - 1e-6 > plan.v[:, 0].min()
    assert kept.cost > plan.cost


@pytest.mark.parametrize("method", ["newton", "ilqr"])
def test_limits_of_the_path_are_kept_and_are_those_of_collocation(pole, method):
    """A cart that must not go faster than 0.25 m/s: kept to 1e-6, active, and as dear as collocation finds."""
    start, limit = pole.state({"cart": 0.3, "phi1": 0.1}), [(lambda s: s.rate("cart"), -0.25, 9.0)]

    def stop(s):
        return 1e4 * (s["cart"] ** 2 + s["phi1"] ** 2 + s.rate("cart") ** 2 + s.rate("phi1") ** 2)

    free = control.optimal_motion(pole, start, 2.0, keep, stop, steps=100, method=method)
    motion = control.optimal_motion(pole, start, 2.0, keep, stop, steps=100, method=method, bounds=limit)
    assert motion.success
    assert motion.violation <= 1e-6
    assert free.v[:, 0].min() < -0.29
    assert motion.v[:, 0].min() == pytest.approx(-0.25, abs=1e-5)
    assert (motion.v[:, 0] < -0.2499).sum() > 5  # it leans on the limit
    goal = {"cart": 0.0, "phi1": 0.0}
    plans = [
        control.plan_motion(pole, start, goal, 2.0, minimize="cost", cost=keep, intervals=40, bounds=way)
        for way in ((), limit)
    ]
    assert motion.cost - free.cost == pytest.approx(plans[1].cost - plans[0].cost, rel=0.05)
    assert motion.cost > free.cost


def test_limits_that_no_motion_keeps_are_told(pole):
    start = pole.state({"cart": 0.3, "phi1": 0.1})
    motion = control.optimal_motion(
        pole, start, 0.5, keep, end, steps=10, bounds=[(lambda s: s["cart"], 0.5, 1.0)], max_iterations=60
    )
    assert not motion.success
    assert "limits of the path are exceeded by" in motion.message
    with pytest.raises(da.ArgumentError, match="lower ≤ upper"):
        control.optimal_motion(pole, start, 0.5, keep, end, bounds=[(lambda s: s["cart"], 1.0, 0.5)])
