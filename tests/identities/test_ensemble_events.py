"""Events of runs side by side are those of the runs one by one, in closed form where there is one."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.ensembles.lanes import ROOM

TOLERANCES = {"rtol": 1e-9, "atol": 1e-10}


def oscillator() -> da.System:
    """ẍ = −x."""
    m = da.Mechanism("oscillator")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("mass", mass=1.0))
    m.add_spring("k", m.ground.at(), m.bodies["mass"].at(), stiffness=1.0)
    return m.compile()


def test_zeros_of_an_oscillation_are_where_they_are_known_to_be():
    system, far = oscillator(), np.linspace(0.5, 2.0, 21)
    events = {
        "zero": da.expression(lambda t, s: s["x"]),
        "down": da.Event(da.expression(lambda t, s: s["x"]), direction=-1),
        "never": da.Event(da.expression(lambda t, s: s["x"] - 3.0)),
        "clock": da.Event(da.expression(lambda t, s: t - 1.0)),
    }
    runs = da.ensemble(system, {"x": far}, 10.0, events=events, **TOLERANCES)
    assert not runs.alone.any()
    assert runs.success.all()
    assert not runs.events["never"]
    for k in range(len(far)):
        np.testing.assert_allclose(runs.events["zero"][k], np.pi * (0.5 + np.arange(3)), atol=2e-8)
        np.testing.assert_allclose(runs.events["down"][k], np.pi * np.array([0.5, 2.5]), atol=2e-8)
        np.testing.assert_allclose(runs.events["clock"][k], [1.0], atol=1e-14)


def test_a_terminal_event_ends_its_run_and_no_other():
    system, goal = oscillator(), np.array([0.25, 0.5, 2.0])
    hit = da.Event(da.expression(lambda t, s: s["x"] - 0.3), terminal=True)
    early = da.Event(da.expression(lambda t, s: s["x"] - 0.31))
    late = da.Event(da.expression(lambda t, s: s["x"] - 0.29))
    times = np.linspace(0.0, 3.0, 61)
    runs = da.ensemble(
        system, {"x": goal}, 3.0, events={"late": late, "hit": hit, "early": early}, t_eval=times, **TOLERANCES
    )
    assert runs.status.tolist() == [da.Status.DONE, da.Status.EVENT, da.Status.EVENT]
    assert not runs.alone.any()
    for k in (1, 2):
        when = np.arccos(0.3 / goal[k])
        assert runs.events["hit"][k] == pytest.approx([when], abs=1e-8)
        assert runs.events["early"][k] == pytest.approx([np.arccos(0.31 / goal[k])], abs=1e-8)
        assert k not in runs.events["late"]
        assert runs.t_end[k] == runs.events["hit"][k][0]
        assert runs.q_end[k, 0] == pytest.approx(0.3, abs=1e-12)
        before = times <= when
        np.testing.assert_allclose(runs["x"][k, before], goal[k] * np.cos(times[before]), atol=1e-8)
        assert np.isnan(runs["x"][k, ~before]).all()


@pytest.mark.parametrize("order", [1, -1])
def test_the_earlier_of_two_terminal_events_in_one_step_ends_the_run(order):
    levels = {"first": 0.31, "second": 0.30}
    events = {name: da.Event(da.expression(lambda t, s, x=x: s["x"] - x), terminal=True) for name, x in levels.items()}
    runs = da.ensemble(
        oscillator(), {"x": [0.5, 2.0]}, 3.0, events=dict(list(events.items())[::order]), max_step=0.5, **TOLERANCES
    )
    np.testing.assert_allclose(runs.t_end, np.arccos(0.31 / np.array([0.5, 2.0])), atol=1e-8)
    np.testing.assert_allclose(runs["x"], 0.31, atol=1e-12)
    assert not runs.events["second"]


def machines() -> dict[str, tuple[da.System, list[da.State], dict[str, da.Event]]]:
    """A closed chain, quaternions, a driven one, a rolling one."""
    five = zoo.five_bar().compile()
    top = zoo.heavy_top().compile()
    disc = zoo.rolling_disc().compile()
    x, y, z = (
        top.state(*zoo.heavy_top_start()),
        disc.state(*zoo.rolling_disc_start()),
        five.state(*zoo.five_bar_start()),
    )
    rng = np.random.default_rng(0)
    first, spin, turn = five.q_names[0], top.q_names[-1], disc.q_names[-1]
    return {
        "five-bar": (
            five,
            [five.project(five.plus(z, 0.01 * rng.standard_normal(4))) for _ in range(9)],
            {"turns": da.Event(da.expression(lambda t, s: ca.sin(20 * t) + 0.1 * s[first]))},
        ),
        "top": (
            top,
            [top.state(x.q, x.v * (1 + 0.01 * rng.normal())) for _ in range(5)],
            {"spin": da.Event(da.expression(lambda t, s: s[spin] - 0.1 * ca.sin(30 * t)))},
        ),
        "disc": (
            disc,
            [disc.project(disc.state(y.q, y.v * (1 + 0.01 * rng.normal()))) for _ in range(5)],
            {"turn": da.Event(da.expression(lambda t, s: ca.sin(40 * t) + 0.01 * s[turn]), direction=1)},
        ),
    }


@pytest.mark.parametrize("name", ["five-bar", "top", "disc"])
def test_events_side_by_side_are_those_of_runs_one_by_one(name):
    system, starts, events = machines()[name]
    runs = da.ensemble(system, starts, 0.8, events=events, **TOLERANCES)
    (label,) = events
    assert runs.success.all()
    assert any(len(hits) for hits in runs.events[label].values())
    for k, x in enumerate(starts):
        run = da.simulate(system, x, 0.8, events=events, **TOLERANCES)
        np.testing.assert_allclose(runs.events[label].get(k, []), run.t_events[label], atol=1e-7)
    again = da.ensemble(system, starts[::-1], 0.8, events=events, workers=2, lanes=8, **TOLERANCES)
    for k, hits in again.events[label].items():
        np.testing.assert_array_equal(hits, runs.events[label][len(starts) - 1 - k])


def test_a_run_with_more_events_than_there_is_room_for_is_made_alone():
    system = oscillator()
    fast = da.expression(lambda t, s: ca.sin(2 * np.pi * (ROOM / 2 + 20) * t + 0.1))
    runs = da.ensemble(system, {"x": [1.0, 2.0]}, 1.0, events={"tick": fast}, max_step=1e-3, **TOLERANCES)
    assert runs.alone.all()
    assert [len(runs.events["tick"][k]) for k in (0, 1)] == [ROOM + 40] * 2


def test_an_event_that_is_no_number_ends_its_run_as_simulate_does():
    system = oscillator()
    bad = da.expression(lambda t, s: ca.sqrt(s["x"] - 0.5))
    runs = da.ensemble(system, {"x": [1.0, 2.0]}, 3.0, events={"root": bad}, **TOLERANCES)
    run = da.simulate(system, {"x": 1.0}, 3.0, events={"root": bad}, **TOLERANCES)
    assert runs.status.tolist() == [run.status] * 2
    assert not runs.success.any()
    assert runs.messages[0] == run.message
