"""Runs that end, or begin, within a millisecond or a microradian of a singular position that they meet."""

import numpy as np
import parallel_cranks as cranks
import pytest
from change_point_bars import Bars

import dalembert as da

COORDINATES = (None, "tangent", "partition")
TIMES = 300.0  # rtol


def options(coordinates):
    return {} if coordinates is None else {"coordinates": coordinates}


def free(t, y, v, J):
    return np.zeros(len(y))


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
def test_parallel_cranks_are_the_pendulum_that_they_are(rtol, coordinates):
    for case in cranks.motions():
        run, error = cranks.ran(case, rtol, **options(coordinates))
        assert error <= TIMES * rtol, case
        assert all(p.determined for p in run.passages), case


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize(("kind", "branch"), [("change", 1), ("change", -1), ("kite", 1)])
def test_the_last_velocity_is_that_of_the_branch(kind, branch, rtol, coordinates):
    """At rtol 1e-6 it was off by 1e-5 where run(t) was right: rounding turns velocities beside the position."""
    bars = Bars(kind, 1, branch)
    start = np.array([-0.6, 2.5])
    there, time = bars.moved(start, 3.0, free, stop=lambda t, z: z[0])
    x = bars.state(start[:1], start[1:])
    for late in (-1e-4, -1e-6, 0.0, 1e-7, 1e-6, 1e-5):
        end = there if late == 0.0 else bars.moved(there, late, free)
        run = da.simulate(bars.system, x, time + late, rtol=rtol, atol=0.1 * rtol, **options(coordinates))
        assert run.success
        assert run.t[-1] == time + late
        assert bars.error(run, end[:1], end[1:]) <= 10 * rtol
        assert len(run.passages) == (late >= 0.0) or abs(late) <= 1e-6
        assert all(p.nearest <= run.t[-1] and p.end <= run.t[-1] for p in run.passages)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(("kind", "branch"), [("change", -1), ("kite", 1)])
def test_velocities_of_ordinary_steps_beside_a_position_are_as_exact_as_others(kind, branch, coordinates):
    """At σ = 1.1e-4 elimination turned the last velocity by 68 rtol, and that of run(t) by 38 rtol."""
    bars, start, rtol = Bars(kind, 2, branch), np.array([-0.6, 2.5]), 1e-9
    there, time = bars.moved(start, 3.0, free, stop=lambda t, z: z[0])
    x = bars.state(start[:1], start[1:])
    whole = da.simulate(bars.system, x, time + 0.01, rtol=rtol, atol=0.1 * rtol, **options(coordinates))
    for late in (-2e-4, -1e-4, -6.46e-5, -3.5556e-5, -3.56e-5, 3.352924149249553e-05, 3.34e-5, 4.08e-5, 1.5e-4):
        expected = bars.state(*bars.moved(there, late, free)[:, None])
        run = da.simulate(bars.system, x, time + late, rtol=rtol, atol=0.1 * rtol, **options(coordinates))
        np.testing.assert_allclose(run.v[-1], expected.v, rtol=0, atol=0.1 * rtol)
        np.testing.assert_allclose(run.v[-1], run.state().v, rtol=0, atol=0)
        np.testing.assert_allclose(whole(time + late).v, expected.v, rtol=0, atol=0.1 * rtol)


def test_ends_beside_a_position_in_ensembles_and_at_sample_times_are_those_of_single_runs():
    bars = Bars("change", 1, 1)
    start = np.array([-0.6, 2.5])
    there, time = bars.moved(start, 3.0, free, stop=lambda t, z: z[0])
    x = bars.state(start[:1], start[1:])
    end = bars.state(*there[:, None])
    sampled = da.simulate(bars.system, x, time, rtol=1e-6, atol=1e-7, t_eval=[0.0, 0.5 * time, time])
    np.testing.assert_allclose(sampled.v[-1], end.v, atol=1e-7)
    many = da.ensemble(bars.system, x, time, vary={"A": np.full(9, x["A"])}, rtol=1e-6, atol=1e-7)
    assert many.success.all()
    np.testing.assert_allclose(many.v_end, np.tile(end.v, (9, 1)), atol=1e-7)


def test_a_controller_that_ends_with_the_run_may_end_it_beside_a_position():
    """Beyond the end it raises; then the last step ends there after all."""
    m = da.Mechanism("parallelogram", gravity=(0, -9, 0))
    bodies = [m.add_body(n, mass=1.0, com=(0.3, 0, 0), inertia=(0.1,) * 3) for n in "abc"]
    z = da.Revolute("z")
    m.add_joint("A", z, m.ground, bodies[0])
    m.add_joint("C", z, bodies[0].at(0.7), bodies[1])
    m.add_joint("B", z, m.ground.at(1.3), bodies[2])
    m.close_loop("D", z, bodies[1].at(1.3), bodies[2].at(0.7))
    m.add_motor("motor", "A")
    system = m.compile()
    x = system.state([0.5, -0.5, 0.5], [-4.0, 4.0, -4.0])
    whole = da.simulate(system, x, 1.0, rtol=1e-8, atol=1e-9)
    time = whole.passages[0].nearest

    def law(t, state):
        if t > time:
            raise ValueError("no reference beyond the end")
        return [0.0]

    run = da.simulate(system, x, time, u=law, rtol=1e-8, atol=1e-9)
    assert run.success, run.message
    assert run.error is None
    assert run.t[-1] == time
    np.testing.assert_allclose(run.q[-1], whole(time).q, atol=1e-7)


@pytest.mark.parametrize("coordinates", ["tangent", "partition"])
def test_charts_are_left_where_rows_come_close_and_taken_again(coordinates):
    """No step in a chart leads past a position: it is passed as without charts, to the same accuracy."""
    system = cranks.built("parallelogram")[0]
    for rtol in (1e-8, 1e-9, 1e-10):
        run = da.simulate(
            system, cranks.state("parallelogram", 0.5, -4.0), 1.2, rtol=rtol, atol=0.1 * rtol, coordinates=coordinates
        )
        assert len(run.passages) == 2
        assert np.abs(run.energy_error).max() < 3 * rtol
        for passage in run.passages:
            assert run.chart(int(np.searchsorted(run.t, passage.nearest)) - 1) is None
        assert run.chart(-1) is not None


def test_a_start_in_a_position_has_no_chart_until_behind_it():
    system = cranks.built("two loops")[0]
    run = da.simulate(system, cranks.state("two loops", 0.0, -2.0), 0.35, coordinates=["B"])
    assert run.charts[0][0] > 0.0
    assert run.charts[0][1].names == ("B",)
    with pytest.raises(da.UnknownName, match="nothing"):
        da.simulate(system, cranks.state("two loops", 0.0, -2.0), 0.35, coordinates=["nothing"])
