"""Planned motions: optimal ones that are known, equations and limits on a fine grid, and simulation as the proof."""

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.errors import ArgumentError, UnknownName


def parallelogram():
    """Two cranks and a coupler, without weight: about the crank its inertia is constant, 2/3 + 1 kg m²."""
    system = zoo.ladder(1, gravity=0.0).compile()
    return system, system.state(*zoo.ladder_start(1, 0.7, 0.0)), 2 / 3 + 1


def test_least_effort_of_a_constant_inertia_is_a_falling_line():
    """u = 6 I d/T² (1 − 2t/T), ∫u² dt = 12 I² d²/T³, on a closed loop."""
    system, x, inertia = parallelogram()
    crank, d, T = system.q_names[0], 0.8, 1.3
    plan = control.plan_motion(system, x, {crank: x[crank] + d}, T, intervals=12)
    assert plan.success
    assert plan.cost == pytest.approx(12 * inertia**2 * d**2 / T**3, rel=1e-4)
    exact = 6 * inertia * d / T**2 * (1 - 2 * plan.t / T)
    np.testing.assert_allclose(plan.u[:, 0], exact, atol=0.02 * np.abs(exact).max())


def test_least_time_of_a_constant_inertia_is_full_thrust_and_full_brake():
    """T = 2 √(I d/u_max), on a closed loop."""
    system, x, inertia = parallelogram()
    crank, d, most = system.q_names[0], 0.8, 5.0
    plan = control.plan_motion(system, x, {crank: x[crank] + d}, (0.2, 3.0), minimize="time", limits=most, intervals=24)
    assert plan.success
    assert plan.duration == pytest.approx(2 * np.sqrt(inertia * d / most), rel=3e-3)
    assert np.abs(plan.u).max() <= most * (1 + 1e-7)
    np.testing.assert_allclose(plan.u[[2, -3], 0], [most, -most], rtol=1e-3)


def five_bar():
    mechanism = zoo.five_bar()
    mechanism.add_frame("pin", mechanism.bodies["link 2"].at(1.5))
    system = mechanism.compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    return system, x, {"A": x["A"] + 0.6, "B": x["B"] - 0.3}


def test_a_plan_obeys_its_equations_between_the_knots_and_beats_the_plain_motion():
    """On a fine grid: constraints, forward dynamics with the planned inputs; and the end by simulation."""
    system, x, goal = five_bar()
    plan = control.plan_motion(system, x, goal, 1.0, intervals=24)
    plain = control.straight_motion(system, x, goal, 1.0, 400)
    assert plan.success
    assert plan.cost < 0.95 * plain.cost
    names = list("ABCD")
    path = plan.reference(*names)
    fine = np.linspace(0, 1, 301)[:-1]
    Q, V, A = path.sampled(fine)
    for t, q, v, a in zip(fine, Q, V, A):
        state = system.state(q, v, t)
        assert np.abs(system.residuals(state)).max() < 2e-5
        np.testing.assert_allclose(system.acceleration(state, u=plan(t)).vdot, a, atol=0.02 * np.abs(A).max())
    run = plan.simulate()
    assert run.success
    np.testing.assert_allclose([run.state(-1)[n] for n in goal], list(goal.values()), atol=3e-5)
    assert np.abs(run.state(-1).v).max() < 3e-4
    for k in (6, 12, 18):
        at = run.state(int(np.argmin(np.abs(run.t - plan.t[k]))))
        np.testing.assert_allclose(at.q, plan.q[k], atol=3e-3)


def test_the_end_of_a_simulated_plan_comes_nearer_with_the_fourth_power_of_the_interval():
    """Hermite-Simpson is of fourth order; third at least is asked here, since the inputs change with the intervals."""
    system, x, goal = five_bar()
    errors = []
    for intervals in (6, 12):
        plan = control.plan_motion(system, x, goal, 1.0, intervals=intervals)
        end = plan.simulate(period=1 / 3000).state(-1)
        errors.append(np.abs([end[n] - value for n, value in goal.items()]).max())
    assert np.log2(errors[0] / errors[1]) > 3.0


def test_limits_of_joints_inputs_and_path_are_kept_where_the_plain_motion_breaks_them():
    system, x, goal = five_bar()
    free = control.plan_motion(system, x, goal, 1.0, intervals=16)
    height = lambda s: s.position("pin")[1]  # noqa: E731
    heights = [system.pose(free.state(k), "pin")[1, 3] for k in range(17)]
    top = 0.5 * (max(heights) + heights[0])
    assert top < max(heights)
    fast = 0.9 * np.abs(free.v[:, 0]).max()
    strong = 0.97 * np.abs(free.u).max()
    plan = control.plan_motion(
        system, x, goal, 1.0, intervals=16, bounds=[(height, -np.inf, top)], speeds={"A": fast}, limits=strong
    )
    assert plan.success
    path = plan.reference(*"ABCD")
    for t in np.linspace(0, 1, 200):
        q, v, _ = path(t)
        assert system.pose(q, "pin")[1, 3] < top + 2e-4
        assert abs(v[0]) < fast * 1.002
        assert np.abs(plan(t)).max() <= strong * (1 + 1e-6)
    assert plan.cost > free.cost


def test_a_plan_is_fed_forward_and_corrected_on_the_way():
    """On the plan the law is the plan's inputs; 0.05 rad beside it, it ends where the plan ends, open loop does not."""
    system, x, goal = five_bar()
    plan = control.plan_motion(system, x, goal, 1.0, intervals=16)
    planned = plan.simulate(t_eval=np.linspace(0.0, 1.0, 101))
    track = da.lqr_along(da.linearize_along(system, planned, independent=["A", "B"]), {"A": 1e4, "B": 1e4}, 0.01)
    for t in (0.1, 0.52, 0.9):
        np.testing.assert_allclose(track(t, planned.state(round(100 * t))), plan(t), rtol=5e-3)  # held between samples
    beside = system.assemble({"A": x["A"] + 0.05, "B": x["B"] - 0.05}, guess=x)
    runs = [da.simulate(system, beside, 1.0, u=u, period=0.01) for u in (track, plan)]
    off = [max(abs(r.state()[n] - goal[n]) for n in ("A", "B")) for r in runs]
    assert off[0] < 5e-3 < 0.05 < off[1]


def test_a_free_body_is_turned_and_moved_with_unit_quaternions():
    system = zoo.stewart(massless=True).compile()
    x = system.state(*zoo.stewart_start(massless=True))
    goal = np.eye(4)
    goal[:3, :3], goal[:3, 3] = da.rotation((0, 1, 1), 0.4), (0.2, 0.1, 2.1)
    plan = control.plan_motion(system, x, {"platform": goal}, 1.0, intervals=10)
    assert plan.success
    np.testing.assert_allclose(np.linalg.norm(plan.q[:, :4], axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(system.pose(plan.simulate().state(-1), "platform"), goal, atol=1e-3)


def test_a_sleigh_parks_sideways():
    """Its skate forbids the straight way; the plan goes there and back, and a simulation ends where it should."""
    mechanism = zoo.chaplygin_sleigh()
    body = mechanism.bodies["sleigh"]
    mechanism.add_wrench("push", body, force=(mechanism.add_input("push"), 0, 0), axes="body")
    mechanism.add_wrench("steer", body, moment=(0, 0, mechanism.add_input("steer")))
    system = mechanism.compile()
    plan = control.plan_motion(system, {}, {"float": [0.0, 0.5, 0.0]}, 3.0, intervals=24)
    assert plan.success
    np.testing.assert_allclose(plan.simulate().state(-1).q, [0.0, 0.5, 0.0], atol=1e-3)


def test_an_impossible_plan_says_so():
    system, x, goal = five_bar()
    plan = control.plan_motion(system, x, goal, 0.2, intervals=8, limits=1.0, max_iterations=60)
    assert not plan.success
    assert "loosen limits" in plan.message or "did not finish" in plan.message


def test_mistakes_are_named():
    system, x, goal = five_bar()
    with pytest.raises(ArgumentError, match="Did you mean 'effort'"):
        control.plan_motion(system, x, goal, 1.0, minimize="efort")
    with pytest.raises(UnknownName, match="coordinate or joint 'F'"):
        control.plan_motion(system, x, {"F": 1.0}, 1.0)
    with pytest.raises(ArgumentError, match="least, most"):
        control.plan_motion(system, x, goal, -1.0)
    with pytest.raises(ArgumentError, match="no inputs"):
        control.plan_motion(zoo.chaplygin_sleigh().compile(), {}, {"float.x": 1.0}, 1.0)
