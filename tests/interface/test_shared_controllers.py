"""One controller for any number of threads; looking at it changes nothing; its machine code is made once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.errors import ArgumentError

SYSTEM = zoo.two_arms().compile()
START = SYSTEM.state(*zoo.two_arms_start(0.05, 0.6, 0.1))
TASK = control.coordinates("L1", "L2", "L3")
GOAL = {name: START[name] + 0.1 for name in ("L1", "L2", "L3")}
FORCES = {"grip.x": -30.0, "grip.rz": 0.5}


def opened(t, state):
    return {"grip": state.rate("L1") < 0.5}


CONTROLLERS = {
    "plain": lambda: control.motion_control(SYSTEM, TASK, GOAL),
    "limited": lambda: control.motion_control(SYSTEM, TASK, GOAL, limits=20.0),
    "hybrid": lambda: control.hybrid_control(SYSTEM, TASK, GOAL, FORCES),
    "fed back": lambda: control.hybrid_control(
        SYSTEM, TASK, GOAL, FORCES, force_gains=(2.0, 9.0), sensor=control.force_sensor(SYSTEM)
    ),
    "bounded": lambda: control.hybrid_control(
        SYSTEM,
        TASK,
        GOAL,
        FORCES,
        limits=20.0,
        reactions={"grip.x": (None, 0.0)},
        speeds=0.4,
        accelerations=3.0,
        cones=[control.Cone({"grip.x": -1.0}, ["grip.y"], 0.3)],
        positions={"L1": (-2.0, 2.0)},
        priorities={"L3": 2},
    ),
    "approaching": lambda: control.motion_control(
        SYSTEM, control.position("object", "xy"), [3.0, 0.5], out_of_reach="approach", limits=60.0, free_damping=5.0
    ),
    "integrating": lambda: control.motion_control(SYSTEM, TASK, GOAL, integral=30.0, limits=60.0),
    "switched": lambda: control.motion_control(SYSTEM, TASK, GOAL, active=opened),
    "proportional": lambda: control.PDControl(SYSTEM, TASK, GOAL, gains=(50.0, 5.0)),
    "total rates": lambda: control.TotalRateFeedback(SYSTEM, damping=2.0),
}


def visits(k):
    """Times and states of one run, as a simulation would ask for them."""
    rng = np.random.default_rng(k)
    return [(0.01 * i, START.replace(v=rng.normal(size=SYSTEM.nv))) for i in range(12)]


@pytest.mark.parametrize("name", CONTROLLERS)
def test_sixteen_threads_share_a_controller_and_get_the_bits_of_one(name):
    make, asked = CONTROLLERS[name], 2 if name == "approaching" else 12
    alone = []
    for k in range(16):
        law = make()
        alone.append([law(t, x) for t, x in visits(k)[:asked]])
    shared, together = make(), Barrier(16)

    def run(k):
        together.wait()  # a run for each thread, since force feedback goes on where a thread left it
        repeats = 1 if name in ("fed back", "approaching", "integrating") else 5
        return all(np.array_equal([shared(t, x) for t, x in visits(k)[:asked]], alone[k]) for _ in range(repeats))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(run, range(16)))


def numbers(found):
    return np.hstack([np.ravel(x) for x in vars(found).values() if isinstance(x, np.ndarray)])


def test_inverse_dynamics_keeps_no_memory_of_earlier_calls_or_of_other_threads():
    """Calls that share a workspace: other motions, constraints switched off, another tolerance, sixteen threads."""
    rng = np.random.default_rng(3)
    states = [START.replace(v=rng.normal(size=SYSTEM.nv)) for _ in range(16)]
    calls = [
        {"vdot": {"L1": 1.0, "L2": -2.0}},
        {"vdot": rng.normal(size=SYSTEM.nv), "active": {"grip": False}},
        {"vdot": None, "tolerance": 1e-6},
        {"vdot": {"L1": 0.3}, "metric": "mass"},
        {"vdot": rng.normal(size=SYSTEM.nv)},
    ]

    def answers(system, k):
        return np.concatenate([numbers(control.actuator_forces(system, states[k], **c)) for c in calls])

    alone = [answers(zoo.two_arms().compile(), k) for k in range(2)]
    alone += [answers(SYSTEM, k) for k in range(2, 16)]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda k: answers(SYSTEM, k), [*range(16)] * 3))
    assert all(np.array_equal(x, alone[k % 16]) for k, x in enumerate(found))


def test_native_controllers_of_one_law_have_memory_of_their_own():
    law = CONTROLLERS["plain"]()
    alone = [[law(t, x) for t, x in visits(k)] for k in range(16)]
    first = law.native_controller()

    def run(k):
        mine = first.copy() if k % 2 else law.native_controller()
        for _ in range(50):
            found = [mine.at(t, np.concatenate([x.q, x.v])).copy() for t, x in visits(k)]
            if not np.allclose(found, alone[k], rtol=1e-12, atol=1e-12):
                return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(run, range(16)))


@pytest.mark.parametrize("name", ["bounded", "approaching", "integrating", "limited", "switched"])
def test_asking_for_reasons_changes_nothing_of_what_follows(name):
    """`explain` gives the law's own inputs, and neither it nor `error` changes the next ones, bit for bit."""
    quiet, watched = CONTROLLERS[name](), CONTROLLERS[name]()
    for t, x in visits(0):
        for _ in range(2):
            found = watched.explain(t, x)
            watched.error(t + 0.5, x)
        u = watched(t, x)
        np.testing.assert_allclose(found.u, u, atol=1e-9 * np.abs(u).max())
        np.testing.assert_array_equal(u, quiet(t, x))


def test_a_bounded_law_gives_four_runs_in_threads_the_bits_of_one():
    """One law, in machine code and sampled from Python, serves runs from four starts at once."""
    law = CONTROLLERS["bounded"]()
    starts = [START.replace(v=0.2 * np.random.default_rng(k).normal(size=SYSTEM.nv)) for k in range(4)]
    starts = [SYSTEM.project(x) for x in starts]
    for u in (law, control.Sampled(law, 0.005)):

        def run(x, u=u):
            return da.simulate(SYSTEM, x, 0.1, u=u, period=0.005)

        alone = [run(x) for x in starts]
        with ThreadPoolExecutor(4) as pool:
            for one, other in zip(alone, pool.map(run, starts)):
                np.testing.assert_array_equal(one.u, other.u)
                np.testing.assert_array_equal(one.q, other.q)
        assert len({tuple(r.q[-1]) for r in alone}) == 4
    assert all(law.explain(0.0, x).active for x in starts)  # bounds matter


def test_looking_at_a_controller_does_not_change_it():
    """`explain` and `error` leave the integral of the force error and the next inputs as they are."""
    quiet, watched = CONTROLLERS["fed back"](), CONTROLLERS["fed back"]()
    for law in (quiet, watched):
        law.integral[:] = [1.0, -0.2]
    for t, x in visits(0):
        watched.explain(t, x)
        watched.error(t, x)
        np.testing.assert_allclose(watched.explain(t, x).u, watched(t, x), rtol=1e-9)
        quiet(t, x)
        np.testing.assert_array_equal(watched.integral, quiet.integral)
        np.testing.assert_array_equal(watched(t, x), quiet(t, x))


@pytest.mark.parametrize("name", ["fed back", "limited", "hybrid", "switched"])
def test_parts_of_the_forces_add_up_and_looking_twice_sees_the_same(name):
    """By cause, by wanted constraint forces and by limits; where a task has too few motors too."""
    law = CONTROLLERS[name]()
    for t, x in visits(1)[:3]:
        found, again = law.explain(t, x), law.explain(t, x)
        np.testing.assert_array_equal(numbers(found), numbers(again))
        parts = found.inertia + found.coriolis + found.gravity + found.passive
        np.testing.assert_allclose(parts + found.internal + found.limited, found.u, atol=1e-9 * np.abs(found.u).max())
        np.testing.assert_allclose(found.u, law(t, x), atol=1e-9 * np.abs(found.u).max())
        if law.force_names:  # forces inside move nothing
            moved = SYSTEM.acceleration(x, u=parts + found.limited).vdot - SYSTEM.acceleration(x, u=found.u).vdot
            assert np.abs(moved).max() < 1e-7 * np.abs(found.vdot).max()
            assert np.abs(found.internal).max() > 1e-2 * np.abs(found.u).max()
        if name == "limited":
            np.testing.assert_allclose(found.internal, 0.0, atol=1e-9 * np.abs(found.u).max())


def test_parts_add_up_where_motors_are_too_few():
    few = control.motion_control(SYSTEM, control.coordinates("R1"), {"R1": 1.0}, actuated=["ML1", "ML2"])
    found = few.explain(0.0, START.replace(v=np.full(SYSTEM.nv, 0.3)))
    assert found.reach < found.mobility
    parts = found.inertia + found.coriolis + found.gravity + found.passive
    np.testing.assert_allclose(parts, found.u, atol=1e-9 * np.abs(found.u).max())
    assert np.abs(found.internal).max() < 1e-9 * np.abs(found.u).max()


HEAVY = zoo.two_arms(mass=4.0).compile()  # what the model does not know
LAWS = {
    "measuring": lambda: measuring(),
    "noisy": lambda: control.Noisy(CONTROLLERS["plain"](), HEAVY, velocity=0.05, seed=4),
    "all": lambda: control.Saturated(
        control.Delayed(control.Sampled(control.Noisy(measuring(), HEAVY, velocity=0.01), 0.02), 0.01), 90.0, SYSTEM
    ),
}


def measuring():
    sensor = control.force_sensor(HEAVY)
    return control.hybrid_control(SYSTEM, TASK, GOAL, FORCES, force_gains=(2.0, 9.0), sensor=sensor)


@pytest.mark.parametrize("name", LAWS)
def test_every_run_of_a_law_begins_with_an_empty_memory(name):
    """One law in two runs, in threads and between calls by hand: each run is that of a new law."""
    start, law = HEAVY.state(START.q), LAWS[name]()
    alone = da.simulate(HEAVY, start, 0.06, u=LAWS[name](), period=0.01)
    law(0.0, start)
    law(0.3, start)

    def run(_):
        return da.simulate(HEAVY, start, 0.06, u=law, period=0.01)

    with ThreadPoolExecutor(4) as pool:
        runs = [run(0), run(1), *pool.map(run, range(4))]
    for one in runs:
        np.testing.assert_array_equal(one.u, alone.u)
        np.testing.assert_array_equal(one.q, alone.q)
    assert alone.success
    assert np.abs(np.diff(alone.u, axis=0)).max() > 0


@pytest.mark.parametrize("make", [LAWS["all"], LAWS["noisy"], measuring, lambda: control.Sampled(len, 0.1)])
def test_a_law_that_remembers_is_refused_without_a_sampling_period(make):
    with pytest.raises(ArgumentError, match=r"remembers its last call, and period is None; needed: a sampling period"):
        da.simulate(SYSTEM, START, 0.1, u=make())


def test_a_law_without_memory_needs_no_sampling_period():
    law = control.Saturated(CONTROLLERS["hybrid"](), 200.0, SYSTEM)
    assert da.simulate(SYSTEM, START, 0.01, u=law).success


def test_force_feedback_knows_which_constraints_are_switched_off():
    """A wall in the model that is not there: with an exact model the force is what was asked for."""
    m = zoo.two_arms()
    m.add_point_in_plane("wall", m.bodies["object"], m.ground.at(0.05, 0.0, 0.0), "x")
    model, off = m.compile(), {"wall": False}
    plant = model.without("wall")

    def sensor(t, state, u):
        measured = plant.acceleration(plant.state(state.q, state.v, t), u=u).multipliers
        return dict(zip(plant.row_names, measured))

    law = control.hybrid_control(
        model, TASK, GOAL, {"grip.x": -30.0}, force_gains=(0.5, 4.0), sensor=sensor, active=off
    )
    for t in (0.0, 0.01, 0.02):
        x = model.state(START.q, START.v, t)
        a = plant.acceleration(x, u=law(t, x))
        assert a.multipliers[plant.row_names.index("grip.x")] == pytest.approx(-30.0, rel=1e-9)


def test_inverse_dynamics_and_equal_tasks_build_their_kernel_once():
    system = zoo.two_arms().compile()
    x = system.state(START.q)
    control.actuator_forces(system, x, {"L1": 1.0})
    known = len(system.kernels.compiled)
    control.actuator_forces(system, x, {"L2": 1.0}, limits=50.0)
    assert len(system.kernels.compiled) == known
    one = control.motion_control(system, control.coordinates("L1") + control.position("object", "xy"), [0.5, 0.0, 0.5])
    two = control.motion_control(system, control.coordinates("L1") + control.position("object", "xy"), [0.4, 0.1, 0.6])
    assert one.plant.kernel is two.plant.kernel
    other = control.motion_control(system, control.coordinates("L2"), [0.5])
    assert other.plant.kernel is not one.plant.kernel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": float("nan")}, "rate is nan"),
        ({"rate": "fast"}, "rate is 'fast'"),
        ({"gains": (1.0, float("inf"))}, r"gains\[1\] is inf"),
        ({"gains": 3.0}, "needed: two"),
        ({"free_damping": -1.0}, "free_damping is -1"),
        ({"tolerance": 0.0}, "tolerance is 0"),
        ({"force_gains": (1.0,)}, "force_gains has shape"),
        ({"sensor": 3.0}, "sensor is 3.0"),
        ({"limits": {"ML1": float("nan")}}, "the limits of actuator 'ML1'"),
        ({"limits": {"ML1": (1.0, 2.0, 3.0)}}, "the limits of actuator 'ML1'"),
        ({"metric": {"ML1": float("nan")}}, "the scale of actuator 'ML1' is nan"),
        ({"active": 3}, "active is 3"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_at_the_door(options, message):
    with pytest.raises(ArgumentError, match=message):
        control.ProjectedControl(SYSTEM, TASK, GOAL, **options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: control.Sampled(lambda t, x: 0.0, float("nan")),
        lambda: control.Delayed(lambda t, x: 0.0, float("inf")),
        lambda: control.Noisy(lambda t, x: 0.0, SYSTEM, position=float("nan")),
        lambda: control.Saturated(lambda t, x: 0.0, float("nan"), ["a"]),
        lambda: control.Sampled(3.0, 0.1),
        lambda: control.quintic([0.0], [float("nan")], 1.0),
        lambda: control.quintic([0.0], [1.0], "long"),
        lambda: control.trapezoid([0.0], [1.0], speed=-1.0, acceleration=1.0),
        lambda: control.constant(float("nan")),
        lambda: control.actuator_forces(SYSTEM, START, np.full(SYSTEM.nv, np.nan)),
        lambda: control.actuator_forces(SYSTEM, START, {"L1": float("nan")}),
        lambda: control.actuator_forces(SYSTEM, START, np.zeros(2)),
        lambda: control.PoseRegulation(zoo.chain(2).compile(), "link 1", [0.0, float("nan"), 0.0]),
    ],
)
def test_wrappers_trajectories_and_goals_take_finite_numbers_only(make):
    with pytest.raises(ArgumentError):
        make()
