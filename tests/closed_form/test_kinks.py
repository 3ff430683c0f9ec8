"""Forces that begin and cease to act: steps end there, and runs are as exact as their tolerances."""

import numpy as np
import pytest

import dalembert as da

MASS, K = 2.0, 800.0


def buffer(damping, slack=False):
    """A cart that runs against a spring with a damper at x = 1: a compliant stop, or a slack line behind it."""
    m = da.Mechanism("buffer", gravity=(0, 0, 0))
    given = {} if slack else {"limits": (-50.0, 1.0), "stops": da.Stops(stiffness=K, damping=damping)}
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=MASS), **given)
    m.add_motor("push", "x")
    if slack:
        m.add_cable("line", [m.ground, "cart"], stiffness=K, damping=damping, rest_length=1.0)
    return m.compile()


def after(damping, speed, t):
    """Position and speed of the cart at t, which starts at 0; it leaves where k δ + d δ̇ = 0."""
    decay, w = damping / (2 * MASS), np.sqrt(K / MASS - (damping / (2 * MASS)) ** 2)

    def inside(s):
        e = speed / w * np.exp(-decay * s)
        return e * np.sin(w * s), e * (w * np.cos(w * s) - decay * np.sin(w * s))

    # k sin + d (w cos − decay sin) = 0
    leaves = (np.pi - np.arctan2(damping * w, K - damping * decay)) / w
    depth, back = inside(leaves)
    s = t - 1.0 / speed
    assert s > leaves
    return 1.0 + depth + back * (s - leaves), back


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("damping", [0.0, 10.0, 60.0])
@pytest.mark.parametrize("slack", [False, True])
def test_a_buffer_gives_back_what_its_equation_says(damping, rtol, slack):
    system = buffer(damping, slack)
    run = da.simulate(system, system.state({"x": 0.0}, v={"x": 3.0}), 1.0, rtol=rtol, atol=rtol)
    position, speed = after(damping, 3.0, 1.0)
    assert run["x"][-1] == pytest.approx(position, abs=20 * rtol)
    assert run.rate("x")[-1] == pytest.approx(speed, abs=100 * rtol)
    assert abs(run.energy_error).max() < 100 * rtol
    assert run.success


@pytest.mark.parametrize("how", [{"method": "dopri5"}, {"coordinates": ["x"]}, {"method": "sdirk4"}, {"period": True}])
def test_other_methods_charts_and_sampled_laws_end_their_steps_there_too(how):
    system = buffer(10.0)
    if how.pop("period", False):
        how = {"u": lambda t, s: [0.0], "period": 0.01}
    run = da.simulate(system, system.state({"x": 0.0}, v={"x": 3.0}), 1.0, rtol=1e-9, atol=1e-9, **how)
    assert run.rate("x")[-1] == pytest.approx(after(10.0, 3.0, 1.0)[1], abs=1e-7)
    assert abs(run.energy_error).max() < 1e-7


def pendulum(k, damping):
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    bob = m.add_body("bob", mass=1.0, com=(0, -1, 0))
    stops = da.Stops(stiffness=k, damping=damping)
    m.add_joint("A", da.Revolute("z"), m.ground, bob, limits=(-0.5, 0.7), stops=stops)
    return m.compile()


@pytest.mark.parametrize("k", [1e3, 1e6])
@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_energy_is_balanced_to_the_tolerance_across_many_contacts(k, damping):
    """It was 5e-5 J of 5 J at 1e-9: steps went over the kink, and the damper's power is under no error control."""
    system = pendulum(k, damping)
    run = da.simulate(system, system.state({"A": 0.3}, v={"A": 3.0}), 5.0, rtol=1e-9, atol=1e-9)
    assert abs(run.energy_error).max() < 1e-8
    outside = (run["A"] > 0.7) | (run["A"] < -0.5)
    assert np.count_nonzero(np.diff(outside.astype(int)) == 1) >= (4 if damping else 8)
    middle = np.linspace(0.0, 5.0, 400)
    q, v = run(middle)
    fine = da.simulate(system, system.state({"A": 0.3}, v={"A": 3.0}), 5.0, rtol=1e-12, atol=1e-12, t_eval=middle)
    assert np.allclose(q, fine.q, atol=1e-6)
    assert np.allclose(v, fine.v, atol=1e-4)


def test_stops_that_are_asked_for_in_the_run_are_those_of_the_joint():
    system = pendulum(1e4, 5.0)
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1, 0)), limits=(-0.5, 0.7))
    plain = m.compile()
    start = {"A": 0.3}
    one = da.simulate(system, system.state(start, v={"A": 3.0}), 2.0)
    other = da.simulate(plain, plain.state(start, v={"A": 3.0}), 2.0, stops=da.Stops(stiffness=1e4, damping=5.0))
    assert np.allclose(one.q[-1], other.q[-1], atol=1e-9)
    assert abs(other.energy_error).max() < 1e-7


def test_a_start_at_the_kink_goes_either_way():
    """From the stop itself, inward it is free; outward it is pushed back at once."""
    system = buffer(10.0)
    free = da.simulate(system, system.state({"x": 1.0}, v={"x": -2.0}), 1.0)
    assert free["x"][-1] == pytest.approx(-1.0, abs=1e-9)
    back = da.simulate(system, system.state({"x": 1.0}, v={"x": 3.0}), 1.0)
    assert back.rate("x")[-1] == pytest.approx(after(10.0, 3.0, 2.0)[1], abs=1e-7)


def test_ensembles_make_such_runs_as_simulate_makes_them():
    system = buffer(10.0)
    speeds = np.linspace(2.0, 4.0, 5)
    many = da.ensemble(system, {"x": 0.0}, 1.0, v={"x": speeds}, rtol=1e-9, atol=1e-9)
    for k, speed in enumerate(speeds):
        assert many.run(k).rate("x")[-1] == pytest.approx(after(10.0, speed, 1.0)[1], abs=1e-7)
