"""Runs in total rates are runs in velocities, seen through another factor of the mass matrix."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_mechanisms import random_state, random_tree


@pytest.mark.parametrize("formulation", ["total_rates", "total_rates_xi"])
@pytest.mark.parametrize("seed", [1, 4])
def test_total_rates_give_the_same_motion(formulation, seed):
    """Random trees with quaternion joints, forces and dampers."""
    system = random_tree(seed, 5).compile()
    x = random_state(system, seed)
    times = np.linspace(0, 0.5, 6)
    a, b = (
        da.simulate(system, x, times[[0, -1]], t_eval=times, formulation=f, rtol=1e-11, atol=1e-12)
        for f in ("auto", formulation)
    )
    assert b.success
    size = 1 + np.abs(a.v).max()
    np.testing.assert_allclose(b.q, a.q, atol=1e-8 * size)
    np.testing.assert_allclose(b.v, a.v, atol=1e-7 * size)
    for name, work in a.work.items():
        np.testing.assert_allclose(b.work[name], work, atol=1e-6 * (1 + np.abs(work).max()))


LAWS = {
    "Python": lambda t, s: [2.0 * np.cos(3.0 * t) - 1.5 * s.v[0], -0.5 * s.v[1]],
    "expression": da.expression(lambda t, s: [2.0 * ca.cos(3.0 * t) - 1.5 * s.rate("J1"), -0.5 * s.rate("J2")]),
}


def arm():
    """A chain of two links, whose ν are not its v, with a motor at each joint."""
    m = zoo.chain(2)
    for k in (1, 2):
        m.add_motor(f"M{k}", f"J{k}")
    return m.compile()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("hold", [None, 0.05])
def test_controllers_and_events_see_velocities(law, hold):
    """The same law and events of rates in both runs: same motion, same inputs, same times and states of events."""
    system = arm()
    x = system.state({"J1": 0.5, "J2": -0.3}, v={"J1": 0.4, "J2": 2.0})
    events = {"stop": lambda t, s: s.v[1], "slow": da.Event(da.expression(lambda t, s: s.rate("J1") - 0.1))}
    times = np.linspace(0, 1.0, 6)
    options = {"u": LAWS[law], "period": hold, "events": events, "t_eval": times, "rtol": 1e-11, "atol": 1e-12}
    runs = [da.simulate(system, x, 1.0, formulation=f, **options) for f in ("auto", "total_rates", "total_rates_xi")]
    assert sum(map(len, runs[0].t_events.values())) > 1
    for run in runs[1:]:
        assert run.success
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-8)
        np.testing.assert_allclose(run.v, runs[0].v, atol=1e-7)
        np.testing.assert_allclose(run.u, runs[0].u, atol=1e-6)
        for name, at in runs[0].t_events.items():
            np.testing.assert_allclose(run.t_events[name], at, atol=1e-7)
            np.testing.assert_allclose(run.x_events[name], runs[0].x_events[name], atol=1e-6)


def test_an_event_that_ends_the_run_ends_it_in_velocities_too():
    system = arm()
    x = system.state({"J1": 0.5}, v={"J2": 2.0})
    end = da.Event(lambda t, s: s.v[1] - 1.0, terminal=True)
    options = {"events": {"end": end}, "rtol": 1e-10}
    a, b = (da.simulate(system, x, 3.0, formulation=f, **options) for f in ("auto", "total_rates"))
    assert b.t[-1] == pytest.approx(a.t[-1], abs=1e-7)
    assert b.v[-1][1] == pytest.approx(1.0, abs=1e-8)


def test_a_recording_of_a_run_in_total_rates_is_taken_up(tmp_path):
    """States on disk are in velocities; a run that was stopped goes on as if it had not been."""
    system = arm()
    x = system.state({"J1": 0.5}, v={"J2": 2.0})
    whole = da.simulate(system, x, 2.0, formulation="total_rates", record=tmp_path / "whole")
    np.testing.assert_array_equal(da.read_run(tmp_path / "whole", system).v, whole.v)
    part = da.simulate(system, x, 2.0, formulation="total_rates", record=tmp_path / "part", max_steps=whole.steps // 2)
    assert part.t[-1] < 2.0
    rest = da.simulate(
        system, x, 2.0, formulation="total_rates", record=tmp_path / "part", resume=True, max_steps=10_000
    )
    np.testing.assert_allclose(rest.q, whole.q, atol=1e-13)
    np.testing.assert_allclose(rest.v, whole.v, atol=1e-13)


def test_total_rates_of_closed_chains_are_refused():
    four = zoo.four_bar().compile()
    with pytest.raises(da.ArgumentError, match="formulation='auto', which is the same motion"):
        da.simulate(four, four.state(*zoo.four_bar_start(0.6)), 1.0, formulation="total_rates")
