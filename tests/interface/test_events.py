"""Events: found in the right direction, located to rounding, of every kind of function, and harmless when they fail."""

import casadi as ca
import numba
import numpy as np
import pytest
from scipy.special import ellipk

import dalembert as da
from dalembert import zoo


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    return m.compile()


def thrown():
    """A stone thrown upwards at 10 m/s: height 10 t − ½ g t²."""
    m = da.Mechanism("stone", gravity=(0, -10.0, 0))
    m.add_joint("y", da.Prismatic("y"), m.ground, m.add_body("stone", mass=1.0))
    system = m.compile()
    return system, system.state(v=[10.0])


TIGHT = {"rtol": 1e-12, "atol": 1e-13}


@numba.njit
def angle(t, state):
    return state.q[0]


KINDS = {
    "python": lambda t, s: s["A"],
    "numba": angle,
    "expression": da.expression(lambda t, s: s["A"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pendulum_passes_its_lowest_point_at_odd_quarters_of_its_period(kind):
    """T = 4 K(sin²(θ₀/2)) / ω, whatever kind of function watches."""
    quarter = ellipk(np.sin(0.75) ** 2) / np.sqrt(9.81)
    g = KINDS[kind]
    events = {"any": g, "up": da.Event(g, direction=1), "down": da.Event(g, direction=-1)}
    run = da.simulate(pendulum(), {"A": 1.5}, 9 * quarter, events=events, **TIGHT)
    np.testing.assert_allclose(run.t_events["any"], quarter * np.arange(1, 9, 2), rtol=2e-11)
    np.testing.assert_array_equal(run.t_events["down"], run.t_events["any"][0::2])
    np.testing.assert_array_equal(run.t_events["up"], run.t_events["any"][1::2])
    assert np.abs(run.x_events["any"][:, 0]).max() < 1e-13


def test_events_are_located_to_the_last_digits():
    """Three heights in one step, up and down: t = 1 ∓ √(1 − h/5). The polynomial motion has no other error."""
    system, x = thrown()
    heights = 1.0, 2.0, 3.0
    events = {f"{h}": da.expression(lambda t, s, h=h: s["y"] - h) for h in heights}
    run = da.simulate(system, x, 2.0, events=events, method="rk4", step=0.9)
    for h in heights:
        root = np.sqrt(1 - h / 5)
        np.testing.assert_allclose(run.t_events[f"{h}"], [1 - root, 1 + root], rtol=0, atol=1e-14)
    assert run.steps == 3


def test_a_terminal_event_ends_the_run_there_and_what_comes_later_in_its_step_did_not_happen():
    system, x = thrown()
    events = {
        "high": da.Event(lambda t, s: s["y"] - 3.0, terminal=True),
        "low": lambda t, s: s["y"] - 1.0,
        "higher": lambda t, s: s["y"] - 4.0,
    }
    run = da.simulate(system, x, 2.0, events=events, method="rk4", step=0.9)
    end = 1 - np.sqrt(0.4)
    assert run.status.name == "EVENT"
    assert run.success
    assert run.message == f"at t = {end:.6g} s event 'high' ended the run"
    assert run.t[-1] == run.t_events["high"][0] == pytest.approx(end, abs=1e-14)
    assert run["y"][-1] == pytest.approx(3.0, abs=1e-13)
    assert (len(run.t_events["low"]), len(run.t_events["higher"])) == (1, 0)
    assert run(end / 2)["y"] == pytest.approx(10 * end / 2 - 5 * (end / 2) ** 2, abs=1e-13)


def test_a_terminal_event_ends_a_sampled_run_before_the_samples_that_come_later():
    system, x = thrown()
    high = da.Event(lambda t, s: s["y"] - 3.0, terminal=True)
    run = da.simulate(system, x, (0, 2), t_eval=np.linspace(0, 2, 21), events={"high": high}, method="rk4", step=0.9)
    np.testing.assert_allclose(run.t, [0, 0.1, 0.2, 0.3], rtol=0, atol=1e-15)
    assert run.t_events["high"][0] == pytest.approx(1 - np.sqrt(0.4), abs=1e-14)
    assert run.status.name == "EVENT"


def test_the_first_of_two_terminal_events_in_a_step_ends_the_run():
    system, x = thrown()
    events = {f"{h}": da.Event(lambda t, s, h=h: s["y"] - h, terminal=True) for h in (4.0, 2.0)}
    run = da.simulate(system, x, 2.0, events=events, method="rk4", step=0.9)
    assert "event '2.0'" in run.message
    assert len(run.t_events["4.0"]) == 0


def test_an_event_that_holds_at_the_start_is_met_when_it_comes_again():
    system, x = thrown()
    ground = da.Event(lambda t, s: s["y"], terminal=True)
    run = da.simulate(system, x, 5.0, events={"ground": ground})
    assert run.t[-1] == pytest.approx(2.0, abs=1e-13)


def test_events_of_time_alone_happen_at_that_time():
    run = da.simulate(pendulum(), {"A": 0.1}, (3.0, 5.0), events=lambda t, s: np.sin(np.pi * t + 0.5))
    np.testing.assert_allclose(run.t_events["event0"], [4 - 0.5 / np.pi, 5 - 0.5 / np.pi], rtol=0, atol=1e-14)


def test_functions_may_carry_scipys_attributes():
    system, x = thrown()

    def falls(t, s):
        return s["y"] - 1.0

    falls.direction, falls.terminal = -1, True
    run = da.simulate(system, x, 5.0, events=[falls])
    assert run.t[-1] == pytest.approx(1 + np.sqrt(0.8), abs=1e-13)


@pytest.mark.parametrize("coordinates", ["A", "partition", "tangent"])
def test_charts_do_not_move_events(coordinates):
    """The crank's turns are at the same times in all coordinates and in few, whatever chart is in use."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 12.0})
    events = {"turn": da.expression(lambda t, s: ca.sin(s["A"] / 2))}
    full = da.simulate(system, x, 2.0, events=events, **TIGHT)
    run = da.simulate(system, x, 2.0, events=events, coordinates=coordinates, **TIGHT)
    assert len(full.t_events["turn"]) == 3
    np.testing.assert_allclose(run.t_events["turn"], full.t_events["turn"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.sin(run.x_events["turn"][:, 0] / 2), 0.0, rtol=0, atol=1e-13)


def test_events_inside_a_singular_passage_are_located_too():
    """Spencer's example 2: the collinear position itself, a = 0 at 0.6508151444 s."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    events = {"flat": da.Event(lambda t, s: s["A"] - np.pi, terminal=True)}
    run = da.simulate(system, x, 3.0, events=events, rtol=1e-11, atol=1e-12)
    assert run.t_events["flat"][0] == pytest.approx(0.6508151444, abs=1e-9)
    assert run.t[-1] == run.t_events["flat"][0]
    assert len(run.passages) == 1


def test_an_event_that_raises_ends_the_run_with_everything_so_far():
    def broken(t, s):
        if t > 0.5:
            raise RuntimeError("no signal")
        return 1.0

    run = da.simulate(pendulum(), {"A": 0.5}, 2.0, events=broken)
    assert run.status.name == "CALLBACK"
    assert "the event raised RuntimeError: no signal" in run.message
    assert 0.5 < run.t[-1] < 1.0
    assert np.isfinite(run.q).all()


def test_an_event_that_raises_while_it_is_located_ends_the_run():
    calls = []

    def broken(t, s):
        calls.append(t)
        if len(calls) > 1 and t < max(calls):  # a look back between the records
            raise RuntimeError("only forwards")
        return s["A"]

    run = da.simulate(pendulum(), {"A": 0.5}, 2.0, events=broken)
    assert run.status.name == "CALLBACK"
    assert "only forwards" in run.message


def test_an_event_that_is_no_number_ends_the_run():
    events = {"on": lambda t, s: 1.0, "off": da.expression(lambda t, s: ca.sqrt(0.5 - t))}
    run = da.simulate(pendulum(), {"A": 0.5}, 2.0, events=events)
    assert run.status.name == "CALLBACK"
    assert "s the event returned nan for 'off', which is no finite number (asked at t = " in run.message
    assert isinstance(run.error, da.ArgumentError)
    assert run.t[-1] < 1.0


@pytest.mark.parametrize(
    ("events", "message"),
    [
        (3.0, "events is 3.0 (float); needed: functions g(t, state), a list or a mapping of them."),
        ({"hit": 3.0}, "event 'hit' is 3.0; needed: a function g(t, state)."),
        ({"hit": da.expression(lambda t, s: ca.vertcat(t, t))}, "event 'hit' gives 2 numbers; needed: one."),
    ],
)
def test_what_is_no_event_is_refused(events, message):
    with pytest.raises(da.ArgumentError) as caught:
        da.simulate(pendulum(), {"A": 0.5}, 2.0, events=events)
    assert message in str(caught.value)
