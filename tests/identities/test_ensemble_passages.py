"""Runs in lanes that come to singular positions: passed there, or on an excursion from which the run comes back."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.ensembles import excursions as passing
from dalembert.ensembles import lanes
from dalembert.simulation.run import singularities
from parameterized import sized_linkage

LAW = da.expression(lambda t, s: {"left": ca.fmax(t - 0.9, 0.0) * s["A"], "right": 0.0})  # behind the position
TURNS = {"turn": da.Event(da.expression(lambda t, s: s.rate("A")))}
LATE = {"late": da.Event(da.expression(lambda t, s: s["A"] + 1.3), terminal=True)}


@pytest.fixture
def excursions(monkeypatch):
    """How often a run was carried past a singular position alone: a list that grows."""
    made, usual = [], passing.past_singularity
    monkeypatch.setattr(passing, "past_singularity", lambda ctx: made.append(ctx.record.clock.t) or usual(ctx))
    return made


@cache
def five_bar() -> tuple[da.System, list[da.State]]:
    """Starts from which the motion meets the position, misses it by 1e-9 … 1e-2, or passes far from it."""
    system = zoo.five_bar().compile()
    starts = [system.state(*zoo.five_bar_start(-np.pi / 3 + d)) for d in (0.0, 1e-6, 1e-3, 0.03)]
    x, aside = system.state(*zoo.five_bar_start()), np.array([1.0, -1.0, 0.5, 1.0])
    starts += [system.project(system.plus(x, d * aside)) for d in (1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)]
    return system, starts


def compared(system: da.System, starts: list[da.State], t: float, close: float, **options) -> da.Ensemble:
    """The runs, compared with those of `simulate` and with themselves in other company."""
    runs = da.ensemble(system, starts, t, workers=1, **options)
    assert runs.success.all(), runs.messages
    assert not runs.alone.any()
    for k, x in enumerate(starts):
        run = da.simulate(system, x, t, **options)
        assert runs.status[k] == run.status
        assert runs.passages[k] == len(run.passages)
        assert runs.determined[k] == all(p.determined for p in run.passages)
        if runs.q is None:
            assert abs(runs.t_end[k] - run.t[-1]) < close
        if not runs.determined[k]:
            continue
        if runs.q is None:
            np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=close)
        else:
            np.testing.assert_allclose(runs.q[k], run.q, atol=close)
        for name, hits in run.t_events.items():
            np.testing.assert_allclose(runs.events[name].get(k, []), hits, atol=close)
    for rows in (slice(None, None, -1), slice(1, 2), slice(0, None, 3)):
        part = da.ensemble(system, starts[rows], t, workers=1, **options)
        np.testing.assert_array_equal(part.q_end, runs.q_end[rows])
        np.testing.assert_array_equal(part.evaluations, runs.evaluations[rows])
        np.testing.assert_array_equal(part.passages, runs.passages[rows])
    return runs


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"t_eval": np.concatenate([np.linspace(0.0, 0.6, 7), np.linspace(0.64, 0.66, 161), [1.0, 1.5]])},
        {"events": TURNS, "t_eval": [0.2, 0.55, 0.6, 1.4]},
        {"u": LAW},
        {"u": LAW, "period": 0.04, "t_eval": np.linspace(0.0, 1.5, 16)},
        {"events": LATE},
    ],
    ids=["plain", "times", "events", "controller", "hold", "terminal"],
)
def test_an_excursion_is_that_of_a_run_alone_in_any_company(more, excursions):
    system, starts = five_bar()
    runs = compared(system, starts, 1.5, 2e-8, rtol=1e-9, atol=1e-9, **more)
    assert runs.passages.all()
    assert excursions


@pytest.mark.parametrize("steps", [200, 650.8151444027744])
def test_given_steps_end_in_a_singular_position_or_beside_it(steps, excursions):
    """The position is met after 0.6508151444027744 s, at the end of a step or within one."""
    system, starts = five_bar()
    compared(system, starts[:7], 1.5, 1e-9, method="rk4", step=0.6508151444027744 / steps)
    assert bool(excursions) == (steps == 200)


def test_given_steps_that_end_too_near_to_a_position_are_not_made_shorter(excursions):
    """Ladders that leave their lanes for the flat position, the first four after a step that was taken."""
    system = zoo.ladder(2).compile()
    starts = [system.state(*zoo.ladder_start(2, angle=a, speed=-3.0)) for a in (0.55, 1.05, 1.17, 1.21, 0.71, 0.9)]
    runs = compared(system, starts, 0.6, 1e-9, method="rk4", step=1e-3)
    assert excursions
    for k, x in enumerate(starts):
        run = da.simulate(system, x, 0.6, method="rk4", step=1e-3)
        assert (runs.steps[k], runs.rejected[k]) == (run.steps, run.rejected)


def test_given_steps_are_asked_whether_they_tell_the_side_as_those_of_a_run_alone(monkeypatch):
    """What decides about `determined` of a passage at a distance: the same numbers in a lane and alone."""
    system, asked = zoo.five_bar().compile(), {lanes: [], singularities: []}
    usual = singularities.resolved_by_given_steps
    for place, calls in asked.items():
        monkeypatch.setattr(
            place, "resolved_by_given_steps", lambda *given, calls=calls: calls.append(given) or usual(*given)
        )
    x, aside = system.state(*zoo.five_bar_start()), np.array([1.0, -1.0, 0.5, 1.0])
    start = system.project(system.plus(x, 0.01 * aside))
    da.ensemble(system, [start], 0.8, method="rk4", step=3e-4)
    da.simulate(system, start, 0.8, method="rk4", step=3e-4)
    (beside,), (alone,) = asked.values()
    np.testing.assert_allclose(beside[1].q, alone[1].q, atol=1e-9)
    np.testing.assert_allclose(beside[1].v, alone[1].v, atol=1e-6)
    np.testing.assert_allclose(beside[2:5], alone[2:5], rtol=1e-6)  # σ, rank, rate of the motion


def test_a_run_leaves_and_comes_back_as_often_as_it_has_to(excursions):
    """Four seconds of five-bars; behind a cone that was met others follow, and any of them must keep the energy."""
    system = zoo.five_bar().compile()
    starts = [system.state(*zoo.five_bar_start(a)) for a in np.linspace(-1.06, -1.0, 9)]
    runs = da.ensemble(system, starts, 4.0, rtol=1e-8, atol=1e-8)
    assert len(excursions) > len(starts)
    assert runs.success.all()
    assert not runs.alone.any()
    assert runs.passages.max() > 1
    assert abs(runs.energy_error).max() < 1e-4
    for k, x in enumerate(starts):
        first = da.simulate(system, x, 4.0, rtol=1e-8, atol=1e-8).passages[0]
        assert runs.determined[k] <= first.determined


@pytest.mark.parametrize("hold", [None, 0.03])
def test_ladders_pass_their_flat_position_under_any_torque(hold, excursions):
    """One degree of freedom: all motions meet the position, whatever the controller does next to it."""
    system = zoo.ladder(2).compile()
    law = da.expression(lambda t, s: {"torque": 30.0 * ca.sin(9.0 * t) - 3.0 * s.rate("A0")})
    starts = [system.state(*zoo.ladder_start(2, angle=a, speed=-3.0)) for a in (0.7, 0.9, 1.1, 1.3)]
    runs = compared(system, starts, 1.0, 1e-6, u=law, period=hold, max_step=1e-3)
    assert runs.passages.all()
    assert excursions
    times = np.linspace(0.0, 1.0, 300)
    compared(system, starts, 1.0, 1e-6, u=law, period=hold, max_step=1e-3, t_eval=times)


def test_passages_of_runs_with_parameters_of_their_own(excursions):
    """A parallelogram that swings through its flat position, of lengths 1e-5 … 1e5: the same angles in scaled time."""
    system, sizes = sized_linkage((1.0, 2.0, 1.0), 2.0), np.array([1.0, 1e-5, 1e-2, 3.0, 1e5])
    guess = {"A": 1.0, "B": -1.0, "C": -np.pi + 1.0}
    options = {"v": {"A": -2.0}, "guess": guess, "rtol": 1e-9, "atol": 1e-9}
    runs = da.ensemble(system, {"A": 1.0}, 1.0, p={"size": sizes}, workers=1, **options)
    assert runs.success.all(), runs.messages
    assert not runs.alone.any()
    assert (runs.passages == 1).all()
    np.testing.assert_allclose(runs.q_end, runs.q_end[:1].repeat(5, axis=0), atol=1e-6)
    run = da.simulate(system, system.assemble({"A": 1.0}, v={"A": -2.0}, guess=guess), 1.0, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(runs.q_end[0], run.q[-1], atol=1e-6)


def test_a_start_next_to_a_singular_position_comes_back_to_its_lane(excursions):
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 2.0, rtol=1e-10, atol=1e-10)
    meeting = run.passages[0].nearest
    starts = [run(meeting + d) for d in (-1e-4, -1e-6, 1e-6, 1e-5)]
    starts = [system.project(system.state(x.q, x.v)) for x in starts]
    runs = da.ensemble(system, starts, 0.5)
    assert excursions
    for k, x in enumerate(starts):
        alone = da.simulate(system, x, 0.5)
        assert runs.status[k] == alone.status
        np.testing.assert_allclose(runs.q_end[k], alone.q[-1], atol=1e-6)


def test_unequal_rows_are_looked_at_in_every_step():
    """Rows of very different lengths: the shortest one tells nothing of the others, in lanes as in `simulate`."""
    m = da.Mechanism("two loops", gravity=(0, -9.81, 0))
    for name, scale, mass in (("large", 1.0, 1.0), ("small", 1e-3, 1e3)):
        before = m.ground.at()
        for joint, part in zip("ABC", (1.0, 2.0, 1.0)):
            length, I = part * scale, 0.1 * mass * scale**2
            link = m.add_body(f"{name} {joint}", mass=mass, com=(length / 2, 0, 0), inertia=(I, I, I))
            m.add_joint(f"{name} {joint}", da.Revolute("z"), before, link)
            before = link.at(length, 0, 0)
        m.close_loop(f"{name} D", da.Revolute("z"), before, m.ground.at(2.0 * scale, 0, 0))
    system = m.compile()
    guess = {f"{n} {j}": a for n in ("large", "small") for j, a in zip("ABC", (1.0, -1.0, -np.pi + 1.0))}
    starts = [
        system.assemble({"large A": a, "small A": 1.2}, v={"large A": -2.0, "small A": 0.1}, guess=guess)
        for a in (0.9, 1.0, 1.1)
    ]
    runs = compared(system, starts, 0.7, 1e-6, rtol=1e-8, atol=1e-8)
    assert runs.passages.all()
