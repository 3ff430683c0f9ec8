"""Events that change their signs more than once in a step: all of them are found, at their times."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def slide():
    m = da.Mechanism("slide")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("box", mass=1.0))
    return m.compile()


EVENTS = {
    "waves": (lambda t, s: ca.sin(s["x"]), np.pi * np.arange(1, 32)),
    "a dip": (lambda t, s: (s["x"] - 50.0) * (s["x"] - 51.0), [50.0, 51.0]),
    "a narrow dip": (lambda t, s: (s["x"] - 50.0) * (s["x"] - 50.01), [50.0, 50.01]),
    "three": (lambda t, s: (s["x"] - 60.0) * (s["x"] - 61.0) * (s["x"] - 64.0), [60.0, 61.0, 64.0]),
    "of time": (lambda t, s: (t - 70.0) ** 2 - 4.0, [68.0, 72.0]),
}


@pytest.mark.parametrize("kind", ["expression", "python"])
@pytest.mark.parametrize("name", EVENTS)
def test_a_box_that_slides_without_force_takes_steps_of_tens_of_metres(name, kind):
    """x = t, which the method integrates exactly: eleven steps lead to 100 m."""
    g, due = EVENTS[name]
    system = slide()
    event = da.expression(g) if kind == "expression" else lambda t, s: float(g(t, s))
    x = system.state(v={"x": 1.0})
    assert len(da.simulate(system, x, 100.0).t) < 15
    run = da.simulate(system, x, 100.0, events={"e": event})
    np.testing.assert_allclose(run.t_events["e"], due, rtol=0, atol=1e-8)
    for direction in (1, -1):
        one_way = da.simulate(system, x, 100.0, events={"e": da.Event(event, direction=direction)})
        up = g(due[0] + 1e-4, {"x": due[0] + 1e-4}) > 0
        first = 0 if bool(up) == (direction > 0) else 1
        np.testing.assert_allclose(one_way.t_events["e"], due[first::2], rtol=0, atol=1e-8)
    last = da.simulate(system, x, 100.0, events={"e": da.Event(event, terminal=True)})
    assert last.t[-1] == pytest.approx(due[0], abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_events_of_a_four_bar_are_those_of_short_steps(seed):
    """Heights of its coupler over a level that it passes twice in some steps, and a product of two such."""
    rng = np.random.default_rng(seed)
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": float(rng.uniform(-3, 3))})
    free = da.simulate(system, x, 3.0)
    level = np.quantile(free["D"], rng.uniform(0.02, 0.98, 2))
    events = {
        "level": da.expression(lambda t, s: s["D"] - level[0]),
        "both": da.expression(lambda t, s: (s["D"] - level[0]) * (s["D"] - level[1])),
        "fast": da.expression(lambda t, s: ca.cos(7.0 * s["A"])),
    }
    found = da.simulate(system, x, 3.0, events=events).t_events
    expected = da.simulate(system, x, 3.0, events=events, max_step=2e-4).t_events
    for name in events:
        assert len(found[name]) == len(expected[name])
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-5)


def test_runs_side_by_side_and_runs_of_phases_find_them_too():
    system, starts = slide(), [0.0, 0.25, 0.5, 0.75]
    events = {"e": da.expression(EVENTS["waves"][0])}
    runs = da.ensemble(system, {"x": starts}, 40.0, v={"x": 1.0}, events=events)
    for k, start in enumerate(starts):
        due = np.pi * np.arange(1 if start >= 0 else 0, 13) - start
        np.testing.assert_allclose(runs.events["e"][k], due[(due > 0) & (due <= 40.0)], rtol=0, atol=1e-8)
    m = da.Mechanism("ball", gravity=(0, 0, -1e-3))
    ball = m.add_body("ball", mass=1.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, ball)
    m.add_contact("floor", ball, restitution=1.0)
    run = da.simulate(m.compile(), {"z": 1.0}, 100.0, events={"e": da.expression(lambda t, s: (t - 20.0) * (t - 21.0))})
    np.testing.assert_allclose(run.t_events["e"], [20.0, 21.0], rtol=0, atol=1e-8)


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("phase", [0.0, 0.3])
def test_sizes_do_not_matter_nor_a_zero_at_the_start(size, phase):
    """x = size t; the smallest motions take a single step, and an event that begins at zero shows its later zeros."""
    system = slide()
    run = da.simulate(
        system,
        system.state(v={"x": size}),
        30.3,
        events={"e": da.expression(lambda t, s: ca.sin(s["x"] / size + phase))},
    )
    np.testing.assert_allclose(run.t_events["e"], np.pi * np.arange(1, 10) - phase, rtol=0, atol=1e-6)
