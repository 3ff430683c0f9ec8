"""Ladders through their flat positions, on bases of every kind, against the same motion by gears."""

from dataclasses import replace

import numpy as np
import pytest
from geared_ladders import ladder, start

import dalembert as da
from dalembert.rank import rank_policy
from dalembert.ruler import make_ruler
from dalembert.simulation.singular.collocation import Collocation
from dalembert.simulation.singular.crossing import Crosser

CASES = [
    ("ground", (True,)),
    ("turntable", (False, False, True)),
    ("free", (True, False, True)),
    ("driven", (False, True)),
    ("led", (True, False)),
    ("ball", (False,)),
]


def difference(run, truth):
    """Of states: positions, and velocities over the largest of them."""
    return max(np.abs(run.q - truth.q).max(), np.abs(run.v - truth.v).max() / np.abs(truth.v).max())


def through(base, crossed, angle, speed, time, **options):
    """A ladder, its start, and the true motion."""
    system, geared = ladder(base, crossed, **options), ladder(base, crossed, geared=True)
    x, y = start(system, geared, crossed, angle, speed, base_speed=min(0.3, speed))
    truth = da.simulate(geared, y, time, rtol=1e-13, atol=1e-14, events={"flat": lambda t, s: s["A0"]})
    assert truth.success, truth.message
    return system, x, truth


@pytest.mark.parametrize(("base", "crossed"), CASES, ids=str)
def test_each_branch_is_followed_through_the_flat_position_to_the_tolerance(base, crossed):
    system, x, truth = through(base, crossed, -0.05, 1.0, 0.15)
    for rtol in (1e-6, 1e-9, 1e-12):
        run = da.simulate(system, x, 0.15, rtol=rtol, atol=0.1 * rtol)
        assert run.success, run.message
        assert [(p.met, p.determined) for p in run.passages] == [(True, True)]
        assert run.passages[0].nearest == pytest.approx(truth.t_events["flat"][0], abs=1e-8)
        assert difference(run(0.15), truth(0.15)) < rtol + 1e-11


@pytest.mark.parametrize(("angle", "speed"), [(-1e-3, 0.03), (-2e-3, 0.05), (-5e-3, 0.1)])
def test_loops_that_open_slowly_are_crossed_as_exactly(angle, speed):
    """Their rows are nearly dependent on the whole way: the last crank turns 17 times as far as the others."""
    crossed, time = (False, False, False, True), -3.0 * angle / speed
    system, x, truth = through("turntable", crossed, angle, speed, time)
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        run = da.simulate(system, x, time, rtol=rtol, atol=0.1 * rtol)
        assert run.success, run.message
        error = difference(run(time), truth(time))
        assert len(run.passages) == 1
        assert error < rtol + 2e-9 or (rtol == 1e-6 and not run.passages[0].determined)


@pytest.mark.parametrize("angle", [-3e-8, -2e-7, -5e-7, -1e-6, -3e-6])
@pytest.mark.parametrize(("base", "crossed"), CASES, ids=str)
def test_a_start_next_to_the_position_that_is_on_its_branch_determines_the_motion(base, crossed, angle):
    """At σ < 1e-6 rounding may turn a velocity by 1e-15 / σ²: where it does, the passage says so."""
    system, x, truth = through(base, crossed, angle, 1.0, 0.15)
    for rtol in (1e-7, 1e-9, 1e-11):
        run = da.simulate(system, x, 0.15, rtol=rtol, atol=0.1 * rtol)
        assert run.success, run.message
        determined = all(p.determined for p in run.passages)
        assert difference(run.state(-1), truth.state(-1)) < 300 * rtol or not determined
        assert determined or base not in ("ground", "ball")


def test_states_between_the_steps_of_a_loop_that_is_closed_twice():
    """Next to the position too, where steps are careful: as exact as the steps themselves."""
    crossed = (True, False)
    system, x, truth = through("slide", crossed, -0.01, 0.3, 0.06, twice=True)
    run = da.simulate(system, x, 0.06, rtol=1e-12, atol=1e-13)
    assert all(p.determined for p in run.passages)
    flat = truth.t_events["flat"][0]
    for t in np.linspace(0.0, 0.06, 41):
        distance = abs(t - flat) * 0.3
        assert np.abs(run(t).q - truth(t).q).max() < 1e-10
        assert np.abs(run(t).v - truth(t).v).max() < 1e-10 + 4e-15 / max(distance, 1e-7) ** 2


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_a_run_that_begins_in_the_position_crosses_the_next_one(rtol):
    """It has made no usual step yet, by which others are measured."""
    system, x, truth = through("driven", (False, True), 0.0, 0.4, 0.9)
    run = da.simulate(system, x, 0.9, rtol=rtol, atol=0.1 * rtol)
    assert run.success, run.message
    assert [(p.met, p.determined) for p in run.passages] == [(True, True)] * 2
    assert difference(run(0.9), truth(0.9)) < 1e2 * rtol + 1e-9


@pytest.mark.parametrize("base", ["ground", "slide"])
def test_no_motion_leaves_a_chain_that_is_stretched(base):
    """Its position is isolated: only what carries it may move."""
    m = da.Mechanism("stretched", gravity=(0, -9.81, 0))
    stand = m.ground
    if base != "ground":
        stand = m.add_body("base", mass=4.0, inertia=(1, 1, 1))
        m.add_joint("base", da.Prismatic("x"), m.ground, stand)
        m.add_driver("drive", "base", lambda t: 0.5 * t)
    last = stand.at()
    for name in "ABC":
        link = m.add_body(f"link {name}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
        m.add_joint(name, da.Revolute("z"), last, link)
        last = link.at(1.0)
    m.close_loop("D", da.Revolute("z"), last, stand.at(3.0))
    system = m.compile()
    carried = {"base": 0.5} if base != "ground" else {}
    for speed in (1.0, 1e-3):
        x = system.state(v=carried | {"A": speed, "B": -2.0 * speed, "C": speed})
        run = da.simulate(system, x, 0.1)
        assert not run.success
        assert "no motion" in run.message
        assert "'D'" in run.message
    rides = da.simulate(system, system.state(v=carried), 0.1)
    assert rides.success, rides.message


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_a_run_that_stops_next_to_the_position_is_continued_on_its_branch(rtol):
    """Or says that the state there does not determine it: nearer than lengths are known."""
    system, x, truth = through("slide", (True, False), -0.05, 1.0, 0.12)
    flat = float(truth.t_events["flat"][0])
    for beside in (-1e-3, -1e-5, -1e-7, -1e-9, 0.0, 1e-9, 1e-7, 1e-5, 1e-3):
        first = da.simulate(system, x, flat + beside, rtol=rtol, atol=0.1 * rtol)
        second = da.simulate(system, first.state(), 0.12 - first.t[-1], rtol=rtol, atol=0.1 * rtol)
        assert second.success, second.message
        passages = (*first.passages, *second.passages)
        assert passages
        if all(p.determined for p in passages):
            assert difference(second.state(), truth(0.12)) < max(1e2 * rtol, 1e-6)
        else:
            assert abs(beside) < 1e-4 if rtol == 1e-6 else abs(beside) < 1e-6


def test_runs_side_by_side_pass_the_position_as_they_do_alone():
    crossed, rng = (True, False), np.random.default_rng(3)
    system, geared = ladder("slide", crossed), ladder("slide", crossed, geared=True)
    angles, speeds = -rng.choice([1e-4, 1e-3, 1e-2, 0.05], 8), rng.choice([0.2, 1.0, 3.0], 8)
    pairs = [start(system, geared, crossed, a, w) for a, w in zip(angles, speeds)]
    for rtol in (1e-6, 1e-9):
        many = da.ensemble(system, [x for x, _ in pairs], 0.12, rtol=rtol, atol=0.1 * rtol)
        for k, (x, y) in enumerate(pairs):
            alone = da.simulate(system, x, 0.12, rtol=rtol, atol=0.1 * rtol)
            truth = da.simulate(geared, y, 0.12, rtol=1e-13, atol=1e-14)
            assert many.success[k]
            assert many.passages[k] == len(alone.passages)
            assert many.determined[k] == all(p.determined for p in alone.passages)
            assert difference(many.state(k), truth.state()) < rtol


@pytest.mark.parametrize(("scale", "mass"), [(1e-6, 1.0), (1e6, 1e-6), (1.0, 1e6)])
def test_a_ladder_of_any_size_and_mass_passes_at_the_same_time(scale, mass):
    """Gravity grows with lengths, so all motions take the same time."""
    crossed = (False, True)
    system, x, truth = through("turntable", crossed, -0.02, 0.4, 0.12, scale=scale, mass=mass)
    usual = ladder("turntable", crossed)
    one, other = (da.simulate(s, s.state(x.q, x.v), 0.12, rtol=1e-9, atol=1e-10) for s in (usual, system))
    assert one.success
    assert other.success
    assert [p.determined for p in other.passages] == [p.determined for p in one.passages] == [True]
    assert other.passages[0].nearest == pytest.approx(one.passages[0].nearest, abs=1e-8)
    assert other.passages[0].nearest == pytest.approx(truth.t_events["flat"][0], abs=1e-8)
    assert difference(other.state(), one.state()) < 1e-8


@pytest.mark.parametrize("branch", [False, True], ids=["parallel", "crossed"])
def test_a_crossing_converges_with_order_five(branch):
    """One step across, from three distances: its error against gears falls like their fifth power."""
    loop, geared = (ladder("ground", (branch,), geared=gears) for gears in (False, True))

    def rates(t, numbers):
        x = loop.state(numbers[: loop.nq], numbers[loop.nq : loop.nq + loop.nv], t)
        return np.concatenate([loop.rates(x), loop.acceleration(x).vdot])

    # from far away, where the error is not rounding
    ruler = replace(make_ruler(1e-12, rank_policy(loop)), passed=1e12, turning=1e12, coarse=1e12)
    errors, sizes = [], np.array([0.08, 0.04, 0.02]) / (4.0 if branch else 1.0)
    for angle in sizes:
        x, same = start(loop, geared, (branch,), angle, -2.0)
        way = Collocation(loop, loop.arguments.parameter_vector(None), rates, lambda s, least: loop.project(s), ruler)
        found = Crosser(way, np.zeros(0), usual=len(loop.row_names), hit=1e-7, left=10.0, room=10.0, stay=1.0).cross(x)
        assert found.position.t < found.after.t
        truth = da.simulate(geared, same, found.after.t, rtol=1e-12, atol=1e-13).state(-1)
        errors.append(np.abs(found.after.v - truth.v).max())
    slopes = np.diff(np.log(errors)) / np.diff(np.log(sizes))
    assert (slopes > 4.5).all()
