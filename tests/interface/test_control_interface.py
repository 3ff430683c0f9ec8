"""Trajectories, tasks, and what stands between a law and a machine."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.control.projected import ProjectedControl
from dalembert.errors import ArgumentError, DalembertError, UnknownName
from dalembert.simulation.status import Status

TRAJECTORIES = {
    "expression": control.Trajectory(lambda t: [ca.sin(3 * t), ca.exp(-t) * t]),
    "quintic": control.quintic([0.0, 1.0], [2.0, -1.0], 1.5, at=0.2),
    "cubic spline": control.waypoints([0.0, 0.4, 1.0, 1.3], [[0, 1], [1, 1], [0.5, 2], [2, 0]], degree=3),
    "quintic spline": control.waypoints([0.0, 0.4, 1.0, 1.3], [[0, 1], [1, 1], [0.5, 2], [2, 0]]),
    "trapezoid": control.trapezoid([0.0, 1.0], [2.0, -1.0], speed=[2.0, 3.0], acceleration=8.0),
}


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_rates_and_accelerations_are_the_derivatives(name):
    """By central differences, at times that are no breaks."""
    path, h = TRAJECTORIES[name], 1e-5
    for t in (0.111, 0.523, 0.913, 1.217):
        (_, v, a), (x0, v0, _), (x1, v1, _) = path(t), path(t - h), path(t + h)
        np.testing.assert_allclose(v, (x1 - x0) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(a, (v1 - v0) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("name", ["quintic", "cubic spline", "quintic spline", "trapezoid"])
def test_motions_begin_and_end_at_rest_and_stay_there(name):
    path = TRAJECTORIES[name]
    begin, end = path.span
    for t in (begin - 1.0, begin - 1e-9, end + 1e-9, end + 7.0):
        x, v, a = path(t)
        np.testing.assert_allclose(x, path(begin)[0] if t < begin else path(end)[0], atol=1e-9)
        np.testing.assert_array_equal([v, a], 0.0)
    for t in (begin + 1e-7, end - 1e-7):
        np.testing.assert_allclose(path(t)[1], 0.0, atol=1e-4)


def test_waypoints_are_passed_smoothly():
    for name, order in (("cubic spline", 3), ("quintic spline", 3)):
        path = TRAJECTORIES[name]
        for t, point in zip((0.4, 1.0), ([1, 1], [0.5, 2])):
            before, after = path(t - 1e-9), path(t + 1e-9)
            np.testing.assert_allclose(after[0], point, atol=1e-7)
            for k in range(order):
                np.testing.assert_allclose(before[k], after[k], atol=1e-5)


def test_a_trapezoid_keeps_its_limits_and_uses_them():
    path = TRAJECTORIES["trapezoid"]
    _, V, A = path.sampled(np.linspace(*path.span, 500))
    assert np.all(np.abs(V).max(axis=0) <= [2 + 1e-9, 3 + 1e-9])
    assert np.abs(V).max(axis=0) == pytest.approx([2.0, 2.0], rel=1e-6)
    assert np.abs(A).max() == pytest.approx(8.0, rel=1e-6)
    short = control.trapezoid([0.0], [0.1], speed=10.0, acceleration=1.0)  # never cruises
    assert short.span[1] == pytest.approx(2 * np.sqrt(0.1))


def test_trajectories_find_their_rows_by_name():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5))
    one = control.motion_control(system, control.coordinates("A", "B"), control.constant({"B": 2.0, "A": 1.0}))
    np.testing.assert_allclose(one.error(0.0, x)[0], [1.0 - x["A"], 2.0 - x["B"]])
    with pytest.raises(UnknownName, match="asks for row 'C'"):
        control.motion_control(system, control.coordinates("A", "B"), {"A": 1.0, "C": 2.0})
    with pytest.raises(ArgumentError, match="says nothing of 'B'"):
        control.motion_control(system, control.coordinates("A", "B"), {"A": 1.0})
    with pytest.raises(ArgumentError, match="1 values; needed: 2"):
        control.motion_control(system, control.coordinates("A", "B"), [1.0])


def test_mistakes_in_tasks_and_trajectories_are_named():
    system = zoo.stewart(massless=True).compile()
    with pytest.raises(ArgumentError, match=r"part of a quaternion; use control\.orientation"):
        control.motion_control(system, control.coordinates("platform.qx"), [0.0])
    with pytest.raises(UnknownName, match="coordinate 'elbow'"):
        control.motion_control(system, control.coordinates("elbow"), [0.0])
    with pytest.raises(ArgumentError, match="some of 'x', 'y', 'z'"):
        control.position("platform", "xw")
    with pytest.raises(ArgumentError, match="different names"):
        control.coordinates("A") + control.coordinates("A")
    with pytest.raises(ArgumentError, match="rotation matrix"):
        control.orientation("platform", about=np.ones((3, 3)))
    with pytest.raises(ArgumentError, match="found only one"):
        control.ProjectedControl(system, control.position("platform"))
    with pytest.raises(ArgumentError, match="the duration is -1; needed: a number above 0"):
        control.quintic([0.0], [1.0], -1.0)
    with pytest.raises(ArgumentError, match="needed: alike"):
        control.quintic({"A": 0.0}, {"B": 1.0}, 1.0)
    with pytest.raises(ArgumentError, match="as many, increasing"):
        control.waypoints([0, 1, 1], [0, 1, 2])
    with pytest.raises(ArgumentError, match="a gain has shape"):
        control.motion_control(system, control.position("platform"), [0, 0, 2], gains=(np.ones(2), 1.0))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("abc", "the reference gives 'abc'"),
        (([0.0], [0.0]), "needed: value, rate and acceleration"),
        (([0.0, 1.0], [0.0], [0.0]), r"the reference at t = 0.5 s has shape \(2,\); needed: one number"),
        (([np.nan], [0.0], [0.0]), "the reference at t = 0.5 s"),
    ],
)
def test_the_answers_of_a_reference_function_are_checked(answer, message):
    system = zoo.four_bar().compile()
    law = control.motion_control(system, control.coordinates("A"), lambda t: answer)
    with pytest.raises(ArgumentError, match=message):
        law(0.5, system.state(*zoo.four_bar_start()))


def test_the_answers_of_a_sensor_are_checked():
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.1, 0.55))
    for answer, message in (
        ([1.0], "the multipliers that the sensor gives has shape"),
        ({"grip.y": 1.0}, "have no 'grip.x'"),
        ({"grip.x": np.nan}, "'grip.x' of the multipliers that the sensor gives is nan"),
    ):
        law = control.force_control(system, {"grip.x": -30.0}, sensor=lambda t, state, u, a=answer: a)
        law(0.0, x)
        with pytest.raises(ArgumentError, match=message):
            law(0.1, x)


def test_a_state_of_another_mechanism_and_unknown_options_are_refused():
    system = zoo.four_bar().compile()
    law = control.motion_control(system, control.coordinates("A"), [0.5])
    with pytest.raises(ArgumentError, match="another system than 'four-bar'"):
        law(0.0, zoo.chain(2).compile("casadi").state())
    with pytest.raises(ArgumentError, match="Did you mean 'free_damping'"):
        control.motion_control(system, control.coordinates("A"), [0.5], free_dampin=1.0)
    with pytest.raises(DalembertError, match="no forces were found at t = 0 s"):
        law(0.0, system.state({"A": 1e308}))


def test_a_controller_drives_inputs_only():
    system = zoo.five_bar().compile()
    with pytest.raises(ArgumentError, match=r"no input of 'five-bar'; inputs are: left, right\. Add one"):
        control.motion_control(system, control.coordinates("A"), [0.0], actuated=["B"])
    with pytest.raises(UnknownName, match=r"row 'E\.z'"):
        control.force_control(system, {"E.z": 1.0})


def test_an_orientation_is_the_rotation_vector_from_where_it_counts_as_zero():
    system = zoo.stewart(massless=True).compile()
    R0, turn = da.rotation("x", 0.7), 0.4
    pose = np.eye(4)
    pose[:3, :3] = R0 @ da.rotation((0, 0, 1), turn)
    law = control.motion_control(system, control.orientation("platform", about=R0), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(law.error(0.0, system.state({"platform": pose}))[0], [0, 0, -turn], atol=1e-12)


def seen(law, system, times):
    return [law(t, system.state()) for t in times]


@pytest.mark.parametrize("turned", [0.0, 2.0])
def test_the_turn_of_a_planar_body_is_its_angle(turned):
    """Against the sum of the angles of a leg: the same forces, at and away from the angle that counts as zero."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start(0.02, 0.03)).replace(v=np.zeros(system.nv))
    angle = control.Task({"angle": lambda s: s["A1"] + s["B1"] + s["C1"]})
    place, at = control.position("platform", "xy"), [0.03, 0.01]
    now = x["A1"] + x["B1"] + x["C1"]
    turn = control.orientation("platform", "z", about=da.rotation("z", turned))
    assert turn.names == ("platform.rz",)
    one = control.motion_control(system, place + angle, [*at, now + 0.1])
    two = control.motion_control(system, place + turn, [*at, now + 0.1 - turned])
    np.testing.assert_allclose(two(0.0, x), one(0.0, x), rtol=1e-8)
    found = two.explain(0.0, x)
    assert (found.task_rank, found.mobility) == (3, 3)
    with pytest.raises(ArgumentError, match="components are 'zz'"):
        control.orientation("platform", "zz")


def test_a_planar_body_turns_as_often_as_its_reference():
    """Two and a half turns of a link: errors go the shorter way, natively, in Python and in PD control."""
    m = da.Mechanism("arm", gravity=(0, -9.81, 0))
    link = m.add_body("link", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 0.1, 0.1))
    m.add_joint("A", da.Revolute("z"), m.ground, link)
    m.add_motor("u", "A")
    system, turning = m.compile(), control.Trajectory(lambda t: [8.0 * t])
    task = control.orientation("link", "z", about=da.rotation("z", 0.5))
    start = system.state({"A": 0.5}, {"A": 8.0})
    law = control.motion_control(system, task, turning, rate=20.0)
    assert law.is_native
    for way in (law, lambda t, s: law(t, s), control.motion_control(system, task, turning, rate=20.0, integral=10.0)):
        run = da.simulate(system, start, 2.0, u=way, period=0.002)
        assert run["A"][-1] == pytest.approx(16.5, abs=1e-4)
    end = run.state(-1)
    assert law.explain(2.0, end).success
    assert np.abs(law.error(2.0, end)[0]).max() < 1e-3
    turned = end.replace(q=end.q - 6 * np.pi)
    np.testing.assert_allclose(law(2.0, turned), law(2.0, end), rtol=1e-9)
    pd = control.PDControl(system, task, turning, gains=(40.0, 5.0))
    np.testing.assert_allclose(pd(2.0, turned), pd(2.0, end), rtol=1e-9)


def test_noise_is_seeded_and_of_the_size_asked():
    system = zoo.stewart(massless=True).compile()
    measured = []

    def record(t, state):
        measured.append((system.minus(state, system.state()), state.v))
        return np.zeros(6)

    law = control.Noisy(record, system, position=0.01, velocity=0.1, seed=3)
    seen(law, system, np.arange(400.0))
    q, v = (np.array(x) for x in zip(*measured))
    assert q.std() == pytest.approx(0.01, rel=0.1)
    assert v.std() == pytest.approx(0.1, rel=0.1)
    first = measured[0]
    law.reset()
    law(0.0, system.state())
    np.testing.assert_array_equal(first[0], measured[-1][0])


def test_wrappers_compose_and_reset_what_they_wrap():
    calls = []

    class Law:
        def __call__(self, t, state):
            calls.append(t)
            return np.array([10.0 * t, -10.0 * t])

        def reset(self):
            calls.clear()

    law = control.Saturated(control.Delayed(control.Sampled(Law(), 0.2), 0.1), {"a": 3.0, "b": (-1.0, 0.0)}, ["a", "b"])
    times = np.arange(0.0, 0.75, 0.1)
    out = np.array([law(t, None) for t in times])
    np.testing.assert_allclose(calls, [0.0, 0.2, 0.4, 0.6], atol=1e-12)
    np.testing.assert_allclose(out[:, 0], [0, 0, 0, 2, 2, 3, 3, 3], atol=1e-12)
    np.testing.assert_allclose(out[:, 1], [0, 0, 0, -1, -1, -1, -1, -1], atol=1e-12)
    law.reset()
    assert calls == []
    with pytest.raises(UnknownName, match="input 'c'"):
        control.Saturated(Law(), {"c": 1.0}, ["a", "b"])
    with pytest.raises(ArgumentError, match="at least 0"):
        control.Delayed(Law(), -1.0)


def test_delay_in_the_loop_is_felt_by_a_fast_law_and_not_by_a_slow_one():
    """A loop with poles at −ω and a delay of 20 ms: harmless for ω = 4/s, unstable for ω = 60/s."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    hold = control.actuator_forces(system, x).u  # stands still until the first answer comes
    goal = {"A": x["A"] + 0.01, "B": x["B"]}
    ends = []
    for rate in (4.0, 60.0):
        law = control.motion_control(system, control.coordinates("A", "B"), goal, rate=rate)
        late = control.Saturated(control.Delayed(law, 0.02, before=hold), 150.0, system)
        run = da.simulate(system, x, 0.4, u=late, period=0.004)
        ends.append(np.abs(run.state(-1).v).max())
    assert ends[0] < 0.05
    assert ends[1] > 0.5


def test_a_controller_that_raises_ends_the_run_with_what_was_computed():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(-1.0))

    def broken(t):
        if t > 0.05:
            raise ZeroDivisionError("reference lost")
        return np.array([x["A"], x["B"]]), np.zeros(2), np.zeros(2)

    law = control.motion_control(system, control.coordinates("A", "B"), broken)
    run = da.simulate(system, x, 0.2, u=law, period=0.01)
    assert not run.success
    assert "reference lost" in run.message
    assert run.t[-1] >= 0.05


def test_a_controller_answers_the_same_from_compiled_code():
    """The kernel that compiled loops call, along a motion; the answers are those of Python."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    path = control.quintic({"A1": x["A1"], "A2": x["A2"], "A3": x["A3"]}, {"A1": 1.9, "A2": 4.1, "A3": 0.0}, 1.0)
    law = control.computed_torque(system, path)
    rng = np.random.default_rng(0)
    times = np.linspace(0, 1, 5)
    q, v = x.q + 0.01 * rng.normal(size=(5, system.nq)), rng.normal(size=(5, system.nv))
    u = np.zeros((5, 3))
    native = law.native_controller()
    for k in range(5):
        u[k] = native.at(times[k], np.concatenate([q[k], v[k]]))
    for t, qk, vk, uk in zip(times, q, v, u):
        np.testing.assert_allclose(uk, law(t, system.state(qk, vk)), rtol=1e-12)
    with pytest.raises(ArgumentError, match="call the controller from Python"):
        control.motion_control(system, control.coordinates("A1"), [0.0], integral=1.0).native_controller()


class Counted(ProjectedControl):
    """Counts how often Python is asked."""

    calls = 0

    def __call__(self, t, state):
        self.calls += 1
        return super().__call__(t, state)


@pytest.mark.parametrize("hold", [None, 0.01])
@pytest.mark.parametrize("case", ["planar_3rrr", "stewart"])
def test_a_run_asks_a_native_law_without_python_and_gets_the_same_inputs(case, hold):
    system = getattr(zoo, case)().compile()
    x = system.project(system.state(*getattr(zoo, f"{case}_start")()))
    moved = ["A1", "A2", "A3"] if case == "planar_3rrr" else [f"P{k}" for k in range(1, 7)]
    path = control.quintic({n: x[n] for n in moved}, {n: x[n] + 0.05 for n in moved}, 0.3)
    law = Counted(system, control.coordinates(*moved), path, rate=20.0)
    assert law.is_native
    run = da.simulate(system, x, 0.3, u=law, period=hold)
    assert run.success
    assert law.calls == 0
    other = da.simulate(system, x, 0.3, u=lambda t, state: law(t, state), period=hold)
    assert law.calls > 0
    assert run.steps == other.steps
    np.testing.assert_allclose(run.q[-1], other.q[-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.u, other.u, rtol=1e-10, atol=1e-10 * np.abs(other.u).max())


def test_runs_in_threads_can_share_a_native_law():
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    moved = ["A1", "A2", "A3"]
    path = control.quintic({n: x[n] for n in moved}, {n: x[n] + 0.05 for n in moved}, 0.3)
    law = control.computed_torque(system, path)
    starts = [system.project(x.replace(v=x.v + 0.02 * k)) for k in range(6)]
    alone = [da.simulate(system, start, 0.3, u=law) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda start: da.simulate(system, start, 0.3, u=law), starts))
    for one, other in zip(alone, together):
        np.testing.assert_array_equal(one.q, other.q)
        np.testing.assert_array_equal(one.u, other.u)


def test_a_run_that_its_controller_drives_to_infinity_ends():
    """The cranks are led to where they no longer hold the platform: forces of 1e20 N m, and no end of tiny steps."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    path = control.quintic({n: x[n] for n in ("A1", "A2", "A3")}, {"A1": 1.9, "A2": 4.1, "A3": 0.0}, 1.0)
    run = da.simulate(system, x, 1.0, u=control.computed_torque(system, path), max_steps=100_000)
    assert run.status == Status.STEP_TOO_SMALL
    assert 0.19 < run.t[-1] < 0.2


def test_integral_action_and_other_systems_go_through_python():
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    task, goal = control.coordinates("A1", "A2", "A3"), [x["A1"], x["A2"], x["A3"]]
    assert Counted(system, task, control.constant(goal), limits=1e3).is_native
    patient = Counted(system, task, control.constant(goal), integral=1.0)
    assert not patient.is_native
    asked = []
    Counted.__call__, plain = lambda self, t, x: asked.append(t) or plain(self, t, x), Counted.__call__
    assert da.simulate(system, x, 0.02, u=patient, period=0.01).success  # a copy of it: memory belongs to the run
    Counted.__call__ = plain
    assert len(asked) == 2
    slow = Counted(zoo.planar_3rrr().compile(backend="casadi"), task, control.constant(goal))
    assert not slow.is_native
    assert da.simulate(system, x, 0.02, u=slow, period=0.01).success
    assert slow.calls == 2


def test_a_run_ends_where_a_native_law_has_no_answer():
    """Two motors on one joint: the mass metric cannot tell them apart."""
    mechanism = zoo.five_bar()
    mechanism.add_motor("again", "A")
    system = mechanism.compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    law = control.motion_control(system, control.coordinates("A"), control.constant([0.0]), metric="mass")
    assert law.is_native
    run = da.simulate(system, x, 1.0, u=law)
    assert run.status == Status.CALLBACK
    assert "controller" in run.message


def test_a_law_explains_itself_to_a_run_of_another_system_and_is_not_changed_by_it():
    """The plant is heavier than the model: the run is the same if the law is asked for its verdict on the way."""
    model, plant = zoo.two_arms().compile(), zoo.two_arms(mass=4.0).compile()
    start = plant.state(*zoo.two_arms_start(0.0, 0.6))
    task = control.position("object", "xy") + control.orientation("object", "z")
    feedback = {"force_gains": (0.5, 30.0), "sensor": control.force_sensor(plant), "integral": 50.0}
    runs = []
    for asked in (False, True):
        law = control.hybrid_control(model, task, [0.0, 0.6, 0.0], {"grip.x": -30.0}, **feedback)

        def controller(t, state, law=law, asked=asked):
            u = law(t, state)
            if asked:
                law.error(t, state)
                assert not law.explain(t, state).task_missing
                law.explain(t + 1.0, state)
            return u

        runs.append(da.simulate(plant, start, 0.1, u=controller, period=0.002))
        assert runs[-1].success, runs[-1].message
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].u, runs[1].u)


def test_a_law_without_an_answer_says_so():
    """Two motors on one joint: the mass metric cannot tell them apart."""
    mechanism = zoo.five_bar()
    mechanism.add_motor("again", "A")
    system = mechanism.compile()
    x = system.state(*zoo.five_bar_start(-1.0))
    law = control.motion_control(system, control.coordinates("A"), [0.0], metric="mass")
    with pytest.raises(DalembertError, match="the cost of forces not definite"):
        law(0.0, x)


def test_every_public_name_of_control_has_a_docstring():
    assert not [name for name in control.__all__ if not getattr(control, name).__doc__]


def test_waypoints_of_nothing_are_refused():
    with pytest.raises(da.ArgumentError, match="at least two"):
        control.waypoints([0.0, 1.0], {})
