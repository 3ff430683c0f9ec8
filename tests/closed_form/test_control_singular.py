"""Control at dead points and beyond the workspace: ranks that rounding does not make, and verdicts that are true."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo
from dalembert.control import Verdict

NOTHING = (0.0, 1e-15, -1e-14, 1e-12, -1e-11)  # rad from a dead point: rounding, or as good as that
SOMETHING = (1e-7, -1e-6, 1e-5, -1e-4, 1e-3)


def slider_crank(seed):
    """A slider-crank of random size: at A = 0 and π its slider stands still while the crank turns."""
    rng = np.random.default_rng(seed)
    crank, mass = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-3, 3)
    lengths = {"crank": crank, "rod": crank * rng.uniform(1.5, 4)}
    masses = {f"{name}_mass": mass * rng.uniform(0.5, 2) for name in ("crank", "rod", "slider")}
    return zoo.slider_crank(**lengths, **masses).compile(), lambda a: zoo.slider_crank_start(a, **lengths), (0.0, np.pi)


def four_bar(seed):
    """A crank-rocker of random size: its rocker stands still where crank and coupler are in line."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-3, 3)
    ground, crank, coupler, rocker = size * np.array([0.55, 0.20, 0.60, 0.40]) * rng.uniform(0.95, 1.05, 4)
    bars = {"ground": ground, "crank": crank, "coupler": coupler, "rocker": rocker}

    def in_line(reach):
        return np.arccos((ground**2 + reach**2 - rocker**2) / (2 * ground * reach))

    def start(angle):
        return zoo.four_bar_start(angle, **bars)

    return zoo.four_bar(**bars).compile(), start, (in_line(coupler + crank), np.pi + in_line(coupler - crank))


CASES = {"slider-crank": (slider_crank, ["gas"]), "four-bar": (four_bar, ["D"])}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", CASES)
def test_at_a_dead_point_an_actuator_drives_nothing_and_the_verdict_says_so(case, seed):
    make, actuated = CASES[case]
    system, start, dead_points = make(seed)
    for dead in dead_points:
        for delta in NOTHING:
            found = control.actuator_forces(system, system.state(*start(dead + delta)), {"A": 5.0}, actuated=actuated)
            assert (found.reach, found.mobility, found.status) == (0, 1, Verdict.UNREACHED)
            assert np.abs(found.u).max() == 0.0
            assert found.condition == np.inf
            assert {"A", "B"} <= set(found.undriven[0])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", CASES)
def test_beside_a_dead_point_forces_grow_like_the_distance_falls(case, seed):
    """Virtual work: u dx = τ dA, and dx/dA is linear in the distance; the condition number tells the same."""
    make, actuated = CASES[case]
    system, start, dead_points = make(seed)
    for dead in dead_points:
        forces, conditions = [], []
        for delta in SOMETHING:
            x = system.state(*start(dead + delta))
            found = control.actuator_forces(system, x, {"A": 5.0}, actuated=actuated)
            by_hand = control.actuator_forces(system, x, {"A": 5.0}, actuated=["A"])["A"]
            lever = system.subspaces(x).K[:, 0]
            lever = lever[system.v_names.index("guide" if case == "slider-crank" else "D")] / lever[0]
            assert found.success
            assert found.u[0] == pytest.approx(by_hand / lever, rel=1e-6)
            forces.append(found.u[0] * delta)
            conditions.append(found.condition * abs(delta))
        np.testing.assert_allclose(forces[:-1], forces[0], rtol=1e-2)
        np.testing.assert_allclose(conditions[:-1], conditions[0], rtol=1e-2)


@pytest.mark.parametrize("seed", range(6))
def test_a_controller_gives_no_force_at_a_dead_point(seed):
    system, start, dead_points = slider_crank(seed)
    for dead in dead_points:
        law = control.motion_control(system, control.coordinates("A"), {"A": dead + 0.1}, actuated=["gas"])
        x = system.state(*start(dead))
        assert np.abs(law(0.0, x)).max() == 0.0
        found = law.explain(0.0, x)
        assert found.status == Verdict.UNREACHED
        assert (found.reach, found.mobility) == (0, 1)


@pytest.mark.parametrize("seed", range(6))
def test_a_task_that_stands_still_at_a_dead_point_is_not_driven_there(seed):
    """The slider is the task and the crank has the motor: J K = 0 there, and in the neighbourhood it is not."""
    system, start, dead_points = slider_crank(seed)
    for dead in dead_points:
        x = system.state(*start(dead))
        law = control.motion_control(
            system, control.coordinates("guide"), {"guide": x["guide"] * 0.9}, actuated=["torque"]
        )
        rest = control.actuator_forces(system, x, actuated=["torque"])["torque"]
        assert law(0.0, x)[0] == pytest.approx(rest, rel=1e-6)
        found = law.explain(0.0, x)
        assert (found.status, found.task_rank, found.task_condition) == (Verdict.UNREACHED, 0, np.inf)
        near = law.explain(0.0, system.state(*start(dead + 1e-5)))
        assert 1e3 < near.task_condition < 1e8


def test_constraint_forces_that_are_missed_are_told():
    """A grip within limits of its motors; the pin of a five-bar, whose motors have no forces to spare."""
    system = zoo.two_arms().compile()
    x = system.state(*zoo.two_arms_start(0.1, 0.55))
    task, at = control.position("object", "xy"), system.pose(x, "object")[:2, 3]
    law = control.hybrid_control(system, task, at, {"grip.x": -30.0})
    assert law.explain(0.0, x).success
    held = control.hybrid_control(system, task, at, {"grip.x": -30.0}, limits=8.0)
    found = held.explain(0.0, x)
    assert found.status == Verdict.FORCES_MISSED
    assert found.missing_forces["grip.x"] == pytest.approx(-30.0 - found.multipliers[0])
    given = found.multipliers[system.row_names.index("grip.x")]
    assert f"grip.x is {given:.4g}, asked -30 (" in found.message
    assert found.active
    assert found.message.endswith(f"({', '.join(found.active)} hold it there)")
    five = zoo.five_bar().compile()
    x = five.state(*zoo.five_bar_start(0.5))
    wish = control.force_control(five, {"E.x": 500.0}).explain(0.0, x)
    assert wish.status == Verdict.FORCES_MISSED
    assert wish.missing_forces["E.x"] == pytest.approx(500.0 - wish.multipliers[five.row_names.index("E.x")])
    assert wish.message.endswith("asked 500 (no forces to spare change it)")
    weak = control.hybrid_control(system, task, at, {"grip.x": -30.0}, limits=4.0)
    both = weak.explain(0.0, system.state(*zoo.two_arms_start(0.1, 0.55)))  # neither the motion nor the force
    assert both.status == Verdict.LIMITED
    assert "contradict it; grip.x is" in both.message


def test_a_reference_beyond_the_workspace_is_not_called_reached():
    """A 3-RRR asked for a circle of 0.6 m, which its legs do not reach; one of 0.05 m they do."""
    system = zoo.planar_3rrr().compile()
    x = system.state(*zoo.planar_3rrr_start())
    turn = control.Task({"turn": lambda s: s["A1"] + s["B1"] + s["C1"]})
    angle = x["A1"] + x["B1"] + x["C1"]
    for radius, verdict in ((0.05, Verdict.DONE), (0.6, Verdict.OUT_OF_REACH)):
        circle = control.Trajectory(lambda t, r=radius: [r * ca.sin(t), r * (1 - ca.cos(t)), angle])
        law = control.motion_control(system, control.position("platform", "xy") + turn, circle)
        for t in (1.0, 2.0, 3.0):
            found = law.explain(t, x)
            assert found.status == verdict
            assert found.success == (radius < 0.1)
    run = da.simulate(system, x, 1.0, u=law, period=0.002, max_steps=2000)
    assert law.explain(run.t[-1], run.state(-1)).status == Verdict.OUT_OF_REACH
    assert "the task is not reached" in law.explain(run.t[-1], run.state(-1)).message
    assert run.message.endswith("of its controller: " + law.explain(run.t[-1], run.state(-1)).message)


def arms(size, mass, time):
    """Two arms, larger, heavier and slower than usual by these factors; and a force that has grown with them."""
    lengths = [0.5 * size, 0.45 * size, 0.1 * size]
    shape = {"span": 1.2 * size, "lengths": lengths, "width": 0.3 * size}
    weights = {"masses": [2.0 * mass, 1.5 * mass, 0.5 * mass], "mass": 3.0 * mass}
    system = zoo.two_arms(**shape, **weights, gravity=9.81 * size / time**2).compile(backend="casadi")
    start = zoo.two_arms_start(0.1 * size, 0.55 * size, **shape)
    return system, system.state(*start), mass * size / time**2


SCALES = [(1.0, 1.0, 1.0), (1e-6, 1.0, 1.0), (1e6, 1.0, 1.0), (1.0, 1e-6, 1.0), (1e-3, 1e6, 1e-3), (1e3, 1e3, 1e6)]


@pytest.mark.parametrize(("size", "mass", "time"), SCALES)
def test_verdicts_on_forces_do_not_depend_on_units(size, mass, time):
    """Forces and moments grow with mass × size / time² (× size); every verdict stays, and so do the bounds that act."""
    one, x, _ = arms(1.0, 1.0, 1.0)
    other, y, force = arms(size, mass, time)
    moment = force * size
    cases = [
        ({}, {}, Verdict.DONE),
        ({"limits": 5.0}, {}, Verdict.LIMITED),
        ({"limits": 20.0}, {"grip.x": (-np.inf, -20.0)}, Verdict.DONE),
        ({"limits": 5.0}, {"grip.x": (-np.inf, -20.0)}, Verdict.LIMITED),
        ({"actuated": ["ML1", "ML2"]}, {}, Verdict.UNREACHED),
    ]
    for options, reactions, verdict in cases:
        usual = control.actuator_forces(one, x, {"L1": 0.7}, **options, reactions=reactions)
        scaled = {row: (low * force, high * force) for row, (low, high) in reactions.items()}
        more = {**options, "limits": options["limits"] * moment} if "limits" in options else options
        found = control.actuator_forces(other, y, {"L1": 0.7 / time**2}, **more, reactions=scaled)
        assert usual.status == found.status == verdict
        assert (found.reach, found.mobility) == (usual.reach, usual.mobility)
        assert found.condition == pytest.approx(usual.condition, rel=1e-6)
        np.testing.assert_allclose(found.u / moment, usual.u, atol=1e-5 * np.abs(usual.u).max())
    wrong = np.ones(other.nv) / time**2
    assert control.actuator_forces(other, y, wrong).status == Verdict.INADMISSIBLE


def laws(system, size, mass, time):
    """Laws that ask for more than there is, in the units of a mechanism that is larger, heavier and slower."""
    force, rate = mass * size / time**2, 8.0 / time
    moment, task = force * size, control.position("object", "xy") + control.orientation("object", "z")
    goal = [0.3 * size, 0.57 * size, 0.05]
    slow = {"speeds": 0.3 / time, "accelerations": 2.0 / time**2, "limit_rate": 40.0 / time}
    return {
        "too few motors": control.motion_control(system, task, goal, rate=rate, actuated=["ML1", "ML2"]),
        "damped": control.motion_control(system, task, goal, rate=rate, damping=0.5),
        "bounded": control.motion_control(system, task, goal, rate=rate, limits=30 * moment, **slow),
        "forces": control.force_control(
            system, {"grip.x": -20 * force, "grip.rz": moment}, actuated=["ML1", "ML2", "ML3", "MR1"]
        ),
        "bounded forces": control.force_control(system, {"grip.x": -20 * force, "grip.rz": moment}, limits=5 * moment),
    }


@pytest.mark.parametrize(("size", "mass", "time"), [*SCALES[1:], (1e6, 1e9, 1e6)])
def test_what_a_law_gives_up_does_not_depend_on_units(size, mass, time):
    """Errors of rows in m and rad, or N and N m, are compared by the mass metric or a length of the mechanism."""
    one, x, _ = arms(1.0, 1.0, 1.0)
    other, y, force = arms(size, mass, time)
    found = laws(other, size, mass, time)
    for name, law in laws(one, 1.0, 1.0, 1.0).items():
        usual, scaled = law.explain(0.0, x), found[name].explain(0.0, y)
        assert not usual.success
        assert scaled.status == usual.status
        assert len(scaled.active) == len(usual.active)
        near = 1e-3 if name == "damped" else 1e-5  # damping begins at an estimate of the smallest singular value
        np.testing.assert_allclose(scaled.u / (force * size), usual.u, atol=near * np.abs(usual.u).max())


@pytest.mark.parametrize("limit", [5.0, 6.0, 6.5])
def test_where_the_motion_is_given_up_bounds_of_constraint_forces_are_kept(limit):
    """The nearest motion with motors and grip within their bounds, against SciPy's SLSQP (C3)."""
    from scipy.optimize import minimize

    system = zoo.two_arms().compile(backend="casadi")
    x = system.state(*zoo.two_arms_start())
    found = control.actuator_forces(system, x, limits=limit, reactions={"grip.x": (-np.inf, -20.0)})
    assert found.status == Verdict.LIMITED
    assert np.abs(found.u).max() <= limit * (1 + 1e-9)
    assert found.multipliers[system.row_names.index("grip.x")] <= -20.0 * (1 - 1e-6)
    M = system.mass_matrix(x)

    def resulting(u):
        return system.acceleration(x, u=u)

    def missed(u):  # kinetic energy per s² of what is missing of v̇ = 0
        vdot = resulting(u).vdot
        return vdot @ M @ vdot

    best = minimize(
        missed,
        found.u + 0.05 * np.random.default_rng(0).normal(size=6),
        bounds=[(-limit, limit)] * 6,
        constraints=[{"type": "ineq", "fun": lambda u: -20.0 - resulting(u).multipliers[0]}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    assert best.success or best.status == 8  # where its line search ends at rounding
    assert missed(found.u) == pytest.approx(best.fun, rel=1e-4)
