"""Closed loops obey their error equations: ë + G_D ė + G_P e = 0, and the one of forces, on known mechanisms."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import dalembert as da
from dalembert import control, zoo


def motion(system, law, x, times, active=None):
    """States at times under a law that is asked at every instant: SciPy's DOP853, nothing corrected."""

    def rhs(t, y):
        state = system.state(y[: system.nq], y[system.nq :], t)
        a = system.acceleration(state, u=law(t, state), active=active(t, state) if active else None)
        return np.concatenate([system.rates(state), a.vdot])

    start = np.concatenate([x.q, x.v])
    run = solve_ivp(rhs, (times[0], times[-1]), start, method="DOP853", t_eval=times, rtol=1e-10, atol=1e-11)
    return [system.state(y[: system.nq], y[system.nq :], t) for t, y in zip(times, run.y.T)]


def decay(GP, GD, e, de, t):
    """(e, ė) at t by the error equation, gains as matrices."""
    n = len(e)
    F = np.block([[np.zeros((n, n)), np.eye(n)], [-np.asarray(GP), -np.asarray(GD)]])
    both = expm(F * t) @ np.concatenate([e, de])
    return both[:n], both[n:]


def follows_its_error_equation(system, law, x, end, tolerance):
    times = np.linspace(0.0, end, 5)
    states = motion(system, law, x, times)
    e0, de0 = law.error(0.0, x)
    assert np.abs(e0).max() > 1e-2  # there is something to see
    GP, GD = law.gains
    for t, state in zip(times[1:], states[1:]):
        e, de = law.error(t, state)
        want, dwant = decay(GP, GD, e0, de0, t)
        np.testing.assert_allclose(e, want, atol=tolerance)
        np.testing.assert_allclose(de, dwant, atol=10 * tolerance)
    return states


def test_a_slider_crank_turns_past_its_dead_points():
    """One motor at the crank, three passive joints, through both dead points of the slider."""
    system = zoo.slider_crank().compile()
    x = system.state(*zoo.slider_crank_start(-0.3, 1.0))
    turn = control.Trajectory(lambda t: [-0.2 + 6.0 * t + 0.3 * ca.sin(5 * t)], ["A"])
    law = control.motion_control(system, control.coordinates("A"), turn, rate=8.0, actuated=["torque"])
    states = follows_its_error_equation(system, law, x, 1.0, 1e-8)
    assert states[-1]["A"] > 5.0


def test_a_five_bar_follows_its_pin_with_two_motors():
    """The task is a point: the middle pin, moved by the two motors on the ground; joints B and C are passive."""
    mechanism = zoo.five_bar()
    mechanism.add_frame("pin", mechanism.bodies["link 2"].at(1.5))
    system = mechanism.compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    at = system.pose(x, "pin")[:2, 3]
    path = control.Trajectory(lambda t: [at[0] + 0.1 + 0.2 * ca.sin(2 * t), at[1] - 0.05 + 0.1 * ca.cos(3 * t)])
    gains = ([40.0, 60.0], [[12.0, 2.0], [-1.0, 14.0]])  # one a row, and a matrix that couples the rows
    law = control.motion_control(system, control.position("pin", "xy"), path, gains=gains)
    follows_its_error_equation(system, law, x, 0.8, 1e-8)


def test_a_3rrr_robot_draws_a_circle_and_turns():
    """Three motors, six passive joints, two loops."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start(0.0, 0.0, 0.1))
    circle = control.Trajectory(lambda t: [0.04 * ca.cos(6 * t), 0.04 * ca.sin(6 * t), 0.2 * ca.sin(3 * t)])
    task = control.position("platform", "xy") + control.Task({"turn": lambda s: s["A1"] + s["B1"] + s["C1"]})
    law = control.motion_control(system, task, circle, rate=15.0)
    follows_its_error_equation(system, law, x, 0.6, 1e-8)


def test_a_stewart_platform_draws_a_circle_with_eighteen_passive_joints():
    """Six motors, six degrees of freedom; position and rotation vector of the platform, quaternions in the state."""
    system = zoo.stewart().compile()
    x = system.state(*zoo.stewart_start([0.05, 0.0, 2.0], da.rotation("x", 0.1)))
    circle = control.Trajectory(
        lambda t: [0.2 * ca.cos(3 * t), 0.2 * ca.sin(3 * t), 2.0 + 0.05 * t, 0.1, 0.15 * ca.sin(2 * t), 0.1 * t]
    )
    law = control.motion_control(system, control.pose("platform"), circle, rate=6.0)
    follows_its_error_equation(system, law, x, 0.6, 1e-7)
    found = law.explain(0.0, x)
    assert found.task_rank == found.mobility == found.reach == 6


def test_a_sleigh_on_a_skate_is_steered_by_a_point_ahead_of_it():
    """A push along the blade and a turning moment move a point before the blade anywhere; heading follows."""
    mechanism = zoo.chaplygin_sleigh()
    body = mechanism.bodies["sleigh"]
    mechanism.add_wrench("push", body, force=(mechanism.add_input("push"), 0, 0), axes="body")
    mechanism.add_wrench("steer", body, moment=(0, 0, mechanism.add_input("steer")))
    mechanism.add_frame("nose", body.at(0.4))
    system = mechanism.compile()
    x = system.state(*zoo.chaplygin_sleigh_start(0.5, 0.2))
    path = control.Trajectory(lambda t: [0.5 + 0.6 * t, 0.3 * ca.sin(2 * t)])
    law = control.motion_control(system, control.position("nose", "xy"), path, rate=4.0)
    follows_its_error_equation(system, law, x, 1.5, 1e-8)


def test_a_tree_under_computed_torque_obeys_the_same_equation():
    system = zoo.cart_pole().compile()  # one input only: the pole is left to itself
    law = control.computed_torque(system, {"cart": 0.3}, rate=5.0, coordinates=["cart"])
    follows_its_error_equation(system, law, system.state({"cart": 0.1}), 0.5, 1e-8)


def test_one_motor_moves_the_link_it_does_not_drive():
    """Task first, the rest as it comes: the pole obeys its error equation, moved by the cart's motor alone."""
    system = zoo.cart_pole().compile()
    cart, pole = system.q_names
    x = system.state({pole: 0.2})
    law = control.motion_control(system, control.coordinates(pole), {pole: 0.0}, rate=4.0)
    follows_its_error_equation(system, law, x, 0.8, 1e-8)
    verdict = law.explain(0.0, x)
    assert (verdict.mobility, verdict.reach, verdict.task_rank) == (2, 1, 1)
    assert verdict.success
    assert len(verdict.undriven) == 1
    both = control.motion_control(system, control.coordinates(cart, pole), {cart: 0.5, pole: 0.0})
    assert both.explain(0.0, x).status == control.Verdict.UNREACHED


def hands(**options):
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.05, 0.6, 0.1))
    task = control.position("object", "xy") + control.Task({"angle": lambda s: s["L1"] + s["L2"] + s["L3"]})
    path = control.Trajectory(lambda t: [0.1 * ca.sin(2 * t), 0.62 + 0.05 * ca.cos(3 * t), 0.1 * t])
    forces = {"grip.x": lambda t: -30.0 + 5.0 * np.sin(4 * t), "grip.y": 0.0, "grip.rz": 0.5}
    return system, x, control.hybrid_control(system, task, path, forces, rate=6.0, **options)


def test_two_arms_carry_an_object_and_squeeze_it_as_told():
    """Motion and internal force at once; the motion does not see the force (52)."""
    system, x, law = hands()
    states = follows_its_error_equation(system, law, x, 0.6, 1e-8)
    for state in states:
        a = system.acceleration(state, u=law(state.t, state))
        np.testing.assert_allclose(a.multipliers, [-30.0 + 5.0 * np.sin(4 * state.t), 0.0, 0.5], atol=1e-7)


def test_the_force_error_dies_as_its_equation_says_whatever_the_motion_does():
    """(1 + G_F) ė + G_I e = 0 at the samples, from an integral that starts wrong, while the motion errs too."""
    GF, GI, h = 2.0, 9.0, 0.01
    system, x, law = hands(force_gains=(GF, GI))
    law.integral[:] = [1.0, -2.0, 0.1]
    errors = []
    for k in range(20):
        a = system.acceleration(x, u=law(k * h, x))
        wanted = [-30.0 + 5.0 * np.sin(4 * k * h), 0.0, 0.5]
        errors.append(wanted - a.multipliers)
        v = x.v + h * a.vdot
        x = system.state(system.plus(x, h * v), v, (k + 1) * h)  # any motion will do
    np.testing.assert_allclose(errors[0], -GI * np.array([1.0, -2.0, 0.1]) / (1 + GF), rtol=1e-6)
    for k, e in enumerate(errors):
        np.testing.assert_allclose(e, errors[0] * (1 - h * GI / (1 + GF)) ** k, atol=1e-6)


@pytest.mark.parametrize(("gains", "left"), [((0.0, 0.0), 1.0), ((4.0, 0.0), 0.2), ((4.0, 20.0), 0.0)])
def test_feedback_of_measured_forces_removes_what_the_model_does_not_know(gains, left):
    """The object is heavier than the model says: P action divides the error by 1 + G_F, PI action removes it."""
    model, x, _ = hands()
    plant = zoo.two_arms(mass=4.0).compile()
    task = control.coordinates("L1", "L2", "L3")
    at = {name: x[name] for name in ("L1", "L2", "L3")}
    law = control.hybrid_control(
        model, task, at, {"grip.x": -20.0}, rate=20.0, force_gains=gains, sensor=control.force_sensor(plant)
    )
    run = da.simulate(plant, plant.state(x.q), 2.0, u=law, period=0.005)
    end = run.state(-1)
    unaided = control.hybrid_control(model, task, at, {"grip.x": -20.0}, rate=20.0)
    rest = -20.0 - plant.acceleration(end, u=unaided(2.0, end)).multipliers[0]
    e = -20.0 - plant.acceleration(end, u=run.u[-1]).multipliers[0]  # the run has the memory, the law has none
    np.testing.assert_array_equal(law.integral, 0.0)
    assert abs(rest) > 0.3
    np.testing.assert_allclose(e, left * rest, atol=0.01 * abs(rest))


def test_force_control_alone_leaves_the_motion_as_it_is():
    """A force of the six motors that moves nothing sets the squeeze; the fall is that without inputs (Remark 2)."""
    system, x, _ = hands()
    law = control.force_control(system, {"grip.x": -40.0})
    a, free = system.acceleration(x, u=law(0.0, x)), system.acceleration(x)
    np.testing.assert_allclose(a.vdot, free.vdot, atol=1e-9)
    assert a.multipliers[0] == pytest.approx(-40.0)


def test_forces_are_decoupled_from_motion_just_where_the_inertia_allows():
    """Proposition 3: a force along the motion changes the constraint force unless M keeps the admissible motions."""
    for build, start, decoupled in (
        (zoo.particle_on_circle, zoo.particle_start, True),
        (zoo.equal_slider_crank, zoo.equal_slider_crank_start, False),
    ):
        system = build().compile()
        x = system.state(*start(0.7))
        s = system.subspaces(x, metric="euclidean")
        push = s.P @ np.array([3.0, 1.0])
        moved = system.acceleration(x, push).force - system.acceleration(x).force
        assert s.decoupled == decoupled
        assert (np.abs(moved).max() < 1e-10) == decoupled
        np.testing.assert_allclose(moved, s.cross_coupling @ push, atol=1e-9)  # −𝓕 = Aᵀλ in (32)


def five_bar_with_four_motors():
    mechanism = zoo.five_bar()
    for joint in "BCD":
        mechanism.add_motor(f"motor {joint}", joint)
    return mechanism.compile()


def five_bar_path():
    """The symmetric motion a = −1 + 0.4 sin² t of the closed linkage, as expressions."""

    def angles(t):
        a = -1.0 + 0.4 * ca.sin(t) ** 2
        b = ca.acos((1.0 + 2 * ca.cos(a)) / 3.0)
        heads = [np.pi + a, b, -b, np.pi - a]
        return [heads[0], *(heads[k] - heads[k - 1] for k in range(1, 4))]

    return control.Trajectory(angles, list("ABCD"))


def test_a_loop_opens_and_closes_in_mid_run_and_the_controller_stays_the_same():
    """Four motors; from 0.5 s to 1.0 s the last pin is out. The law has one structure and no jump in the motion."""
    system = five_bar_with_four_motors()
    x = system.state(*zoo.five_bar_start(-1.0))
    motors = ["left", "motor B", "motor C", "motor D"]

    def open_for_a_while(t, state):
        return {"E": not 0.5 <= t < 1.0}

    law = control.motion_control(
        system, control.coordinates(*"ABCD"), five_bar_path(), actuated=motors, active=open_for_a_while
    )
    costs, mobility = [], []
    for begin, end in ((0.0, 0.5), (0.5, 1.0), (1.0, 1.5)):
        times = np.linspace(begin, end - 1e-12, 4)
        for state in motion(system, law, x, times, open_for_a_while):
            e, de = law.error(state.t, state)
            assert np.abs(e).max() < 1e-6
            assert np.abs(de).max() < 1e-5
            assert np.abs(system.residuals(state)).max() < 1e-6  # the gap stays closed, pin or no pin
        found = law.explain(times[2], state)
        mobility.append(found.mobility)
        costs.append(found.cost)
        x = state
    assert mobility == [2, 4, 2]
    assert costs[1] > max(costs[0], costs[2])  # no pin helps to carry


def test_a_slider_crank_of_equal_links_is_driven_through_its_singularity():
    """Aghili section 8: at q₁ = π/2 the constraint vanishes for an instant; both motors, sampled at 1 kHz."""
    system = zoo.equal_slider_crank(length=0.5).compile()
    x = system.state(*zoo.equal_slider_crank_start(0.8))
    move = control.quintic({"q1": 0.8}, {"q1": 2.3}, 1.0)
    law = control.motion_control(system, control.coordinates("q1"), move, rate=20.0)
    run = da.simulate(system, x, 1.0, u=law, period=0.001)
    assert run.success
    end = run.state(-1)
    assert end["q1"] == pytest.approx(2.3, abs=2e-3)
    assert end["q2"] == pytest.approx(-4.6, abs=4e-3)  # still the branch that slides


def test_pd_control_comes_to_rest_at_its_reference_and_loses_energy_all_the_way():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    goal = {"A": x["A"] + 0.3, "B": x["B"] - 0.2}
    KP, KD = 400.0, 80.0
    law = control.PDControl(system, control.coordinates("A", "B"), goal, gains=(KP, KD))
    states = motion(system, law, x, np.linspace(0, 4.0, 30))
    energy = [system.kinetic_energy(s) + 0.5 * KP * sum((goal[name] - s[name]) ** 2 for name in goal) for s in states]
    assert np.all(np.diff(energy) < 1e-9)
    assert energy[-1] < 1e-4 * energy[0]


def test_samples_held_longer_err_more_in_proportion():
    """Sampling and period is a method of first order: half the period, half the error."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    swing = control.Trajectory(lambda t: [x["A"] + 0.3 * (1 - ca.cos(3 * t)), x["B"]], ["A", "B"])
    errors = []
    for hold in (0.01, 0.005, 0.0025):
        law = control.motion_control(system, control.coordinates("A", "B"), swing, rate=10.0)
        run = da.simulate(system, x, 0.5, u=law, period=hold)
        errors.append(np.abs(law.error(0.5, run.state(-1))[0]).max())
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(slopes, 1.0, atol=0.15)


def test_motions_the_task_leaves_free_are_damped_where_asked():
    """A 3-RRR robot told its position only: its turning dies like exp(−d t), in the mass metric, or goes on."""
    system = zoo.planar_3rrr().compile()
    q, _ = zoo.planar_3rrr_start()
    K = system.subspaces(q).K
    task = control.position("platform", "xy")
    J = system.jacobian(q, "platform", axes="world")[3:5]
    v = K @ np.linalg.svd(J @ K)[2][-1] * 0.2  # a motion that leaves the task alone
    x = system.state(q, v)
    at = system.pose(x, "platform")[:2, 3]
    speeds = []
    for damping in (0.0, 5.0):
        law = control.motion_control(system, task, at, free_damping=damping)
        end = motion(system, law, x, np.array([0.0, 0.2]))[-1]
        speeds.append(np.sqrt(end.v @ system.mass_matrix(end) @ end.v / (v @ system.mass_matrix(x) @ v)))
        assert np.abs(law.error(0.2, end)[0]).max() < 1e-9
    np.testing.assert_allclose(speeds[1] / speeds[0], np.exp(-1.0), rtol=0.02)


def test_limits_are_kept_by_the_other_motors_where_there_are_some():
    """A limited motor of six is relieved by the others: the error equation holds. Cut off instead, it does not."""
    system, x, _ = hands()
    task = control.coordinates("L1", "L2", "L3")
    move = control.Trajectory(lambda t: [x[n] + 0.03 + 0.1 * ca.sin(3 * t) for n in ("L1", "L2", "L3")])
    free = control.motion_control(system, task, move, rate=6.0)
    bound = 0.7 * abs(free(0.0, x)).max()
    worst = system.u_names[int(np.argmax(abs(free(0.0, x))))]
    law = control.motion_control(system, task, move, rate=6.0, limits={worst: bound})
    states = follows_its_error_equation(system, law, x, 0.3, 1e-6)
    k = system.u_names.index(worst)
    assert all(abs(law(s.t, s)[k]) <= bound * (1 + 1e-9) for s in states)
    assert max(abs(free(s.t, s)[k]) for s in states) > bound
    cut = motion(system, control.Saturated(free, {worst: bound}, system), x, np.array([0.0, 0.3]))[-1]
    assert np.abs(cut.q - states[-1].q).max() > 1e-3
