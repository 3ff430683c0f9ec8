"""What `simulate` accepts, refuses and says; times, parameters, limits, awkward mechanisms."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


@pytest.fixture(scope="module")
def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 2.0})


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    return m.compile()


def test_samples_are_the_states_a_span_gives_between_its_records(four_bar):
    system, x = four_bar
    times = np.sort(np.random.default_rng(3).uniform(0, 1, 40))
    times[0], times[-1] = 0.0, 1.0
    samples, span = da.simulate(system, x, times[[0, -1]], t_eval=times), da.simulate(system, x, 1.0)
    np.testing.assert_array_equal(samples.t, times)
    q, v = span(times)
    np.testing.assert_allclose(samples.q, q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(samples.v, v, rtol=0, atol=1e-12)
    assert samples.steps == span.steps  # samples do not shorten steps
    q, _ = span(times[::-1])  # in any order
    np.testing.assert_array_equal(q[::-1], span(times)[0])
    np.testing.assert_array_equal(span(span.t)[0], span.q)
    assert span(0.5).t == 0.5


def test_parameters_reach_every_part_of_a_run():
    """A pendulum four times as long swings half as fast; events, controllers and energies know it too."""
    system = pendulum()
    event = da.expression(lambda t, s: s["A"])
    runs = [da.simulate(system, {"A": 1.0}, 4.0, p=p, events={"down": event}) for p in (None, {"length": 4.0})]
    np.testing.assert_allclose(runs[1].t_events["down"][0], 2 * runs[0].t_events["down"][0], rtol=1e-9)
    assert all(np.abs(run.energy_error).max() < 1e-7 for run in runs)
    np.testing.assert_array_equal(
        runs[1](1.3).q, da.simulate(system, {"A": 1.0}, 4.0, t_eval=[0, 1.3, 4], p=[4.0]).q[1]
    )


def test_steps_keep_to_their_limits(four_bar):
    system, x = four_bar
    run = da.simulate(system, x, 1.0, max_step=0.01)
    assert np.diff(run.t).max() <= 0.01 * (1 + 1e-12)
    for method in ("dop853", "rk4"):
        run = da.simulate(system, x, 1.0, method=method, step=0.001, max_step=0.001, max_steps=100)
        assert run.steps == 100
        assert len(run.t) == 101
        assert run.status.name == "STEPS"
        assert run.message == f"at t = {run.t[-1]:.6g} s the largest number of steps was reached; raise max_steps"


def test_fixed_steps_divide_the_span_and_the_last_is_shorter(four_bar):
    system, x = four_bar
    run = da.simulate(system, x, (3.0, 3.1), method="rk4", step=0.03)
    np.testing.assert_allclose(run.t, [3.0, 3.03, 3.06, 3.09, 3.1], rtol=1e-14)


def test_no_time_is_no_motion(four_bar):
    system, x = four_bar
    run = da.simulate(system, x, 0.0)
    assert run.success
    np.testing.assert_array_equal(run.q, [x.q])
    assert "0 steps" in repr(run)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stabilization": "magic"}, "stabilization is 'magic'; needed: one of 'projection', 'energy', 'baumgarte'"),
        ({"formulation": "newton"}, "formulation is 'newton'; needed: 'auto', 'nullspace'"),
        ({"options": {"metric": "mass"}}, "options of formulation 'auto' have no 'metric'; known: tolerance, floor"),
        (
            {"formulation": "nullspace", "options": {"metrik": "mass"}},
            "options of formulation 'nullspace' have no 'metrik'; known: metric",
        ),
        ({"coordinates": "E"}, "coordinates asks for coordinate 'E'; known: A, B, D, C."),
        ({"coordinates": ["A", "B"]}, "2 coordinates (A, B) for 'four-bar', which has 1 degrees of freedom here"),
        ({"coordinates": "A", "stabilization": "none"}, "coordinates= keeps to the manifold by itself"),
        ({"coordinates": "A", "formulation": "nullspace"}, "coordinates= keeps to the manifold by itself"),
        ({"method": "variational", "step": 0.01, "coordinates": "A"}, "'variational' has its own equations"),
        ({"method": "variational", "step": 0.01, "formulation": "nullspace"}, "'variational' has its own equations"),
        ({"method": "variational"}, "method 'variational' has a fixed step; give it as step=0.001 (s)."),
        ({"coordinates": da.Chart(lambda q, y: ca.vertcat(q[0], y), [1.0])}, "R has 2 rows for 1 coordinates y"),
        ({"coordinates": da.Chart(lambda q, y: q[0] + 0 * y, [1.0])}, "∂R/∂y is singular (2.27)"),
        ({"t": [0, 1, 0.5]}, "t has 3 numbers; needed: a duration (s) or (start, end). Times at which you want states"),
        ({"t": [1.0, 0.5]}, "t is (1, 0.5); needed: an end that is not before the start."),
        ({"t": -1.0}, "t is -1; needed: a number of at least 0."),
        ({"t": np.nan}, "t is nan; needed: a number of at least 0."),
        ({"t_eval": [0, 0, 0.1]}, "t_eval do not increase: 0 is there twice"),
        ({"t_eval": [0.15080925, 0.15080924]}, "do not increase: 0.15080924 comes after 0.15080925"),
        ({"t_eval": [0.5, 1.5]}, "t_eval goes from 0.5 to 1.5 s; needed: times between 0 and 1 s"),
        ({"rtol": 0.0, "atol": 0.0}, "rtol is 0 and atol 0; needed: one of them at least 1e-16."),
        ({"step": np.nan}, "step is nan; needed: a number above 0."),
        ({"max_step": np.nan}, "max_step is nan; needed: a number above 0."),
        ({"max_steps": 0}, "max_steps is 0 (int); needed: a whole number of at least 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_a_repair(four_bar, options, message):
    system, x = four_bar
    with pytest.raises(da.DalembertError) as caught:
        da.simulate(system, x, **{"t": 1.0, **options})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Projection(directions="old"), "directions is 'old'; needed: 'updated' or 'frozen'."),
        (lambda: da.Projection(every=0), "every is 0 (int); needed: a whole number of at least 1"),
        (lambda: da.Projection(metric="manhattan"), "metric is 'manhattan'; needed: 'mass' or 'euclidean'"),
        (lambda: da.Projection(energy=True, every=2), "energy=True restores positions, velocities and energy together"),
    ],
)
def test_projections_that_make_no_sense_are_refused(make, message):
    with pytest.raises(da.ArgumentError) as caught:
        make()
    assert message in str(caught.value)


def test_weights_of_the_wrong_number_are_refused(four_bar):
    system, x = four_bar
    with pytest.raises(da.ArgumentError, match=r"the metric has shape \(2,\); needed: \(3,\) positive weights"):
        da.simulate(system, x, 1.0, stabilization=da.Projection(metric=[1.0, 2.0]))


def test_nonholonomic_systems_have_no_variational_method():
    system = zoo.chaplygin_sleigh().compile()
    x = system.state(*zoo.chaplygin_sleigh_start())
    with pytest.raises(
        da.ArgumentError, match="'blade' binds velocities; method 'variational' needs constraints that bind positions"
    ):
        da.simulate(system, x, 1.0, method="variational", step=0.01)


def test_quaternions_do_not_lead():
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1)))
    with pytest.raises(da.ArgumentError, match="3 degrees of freedom here and 0 coordinates that could lead"):
        da.simulate(m.compile(), {}, 1.0, coordinates="partition")
    with pytest.raises(
        da.UnknownName, match=r"'ball\.wx', the speed of a quaternion.*coordinates=\"tangent\" needs no"
    ):
        da.simulate(m.compile(), {}, 1.0, coordinates=["ball.wx"])
    assert da.simulate(m.compile(), {}, 1.0, coordinates="tangent").success


def test_times_outside_a_run_are_refused(four_bar):
    system, x = four_bar
    run = da.simulate(system, x, 1.0)
    with pytest.raises(da.ArgumentError, match=r"t is 1\.5; the run goes from 0 to 1 s"):
        run(1.5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "rk4", "step": 1e-3},
        {"method": "sdirk4"},
        {"method": "variational", "step": 1e-4},
        {"coordinates": "tangent"},
        {"formulation": "projection"},
        {"stabilization": "energy"},
    ],
    ids=str,
)
def test_bodies_without_mass_run(options):
    """The carriage of the Cartesian pendulum weighs nothing."""
    system = zoo.cartesian_pendulum().compile()
    x = system.state(*zoo.particle_start(-np.pi / 2 + 1.0))
    times = np.linspace(0, 1, 5)
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, **options)
    assert run.success
    angle = np.arctan2(run["x"], -run["y"])
    np.testing.assert_allclose(angle, zoo.exact.pendulum(times, amplitude=1.0)[0], rtol=0, atol=1e-6)
    assert run.residuals.max() < 1e-12


def test_a_mechanism_that_cannot_move_stays():
    """A triangle of bars: no degree of freedom, in all coordinates and in none."""
    m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0), b)
    m.close_loop("C", da.Revolute("z"), a.at(1, 0), b.at(1, 0))
    system = m.compile()
    x = system.assemble({}, guess={"A": 1.0, "B": 2.1})
    for options in ({}, {"coordinates": "partition"}, {"formulation": "nullspace"}):
        run = da.simulate(system, x, 1.0, **options)
        assert run.success
        np.testing.assert_allclose(run.q, np.broadcast_to(x.q, run.q.shape), rtol=0, atol=1e-12)


def test_runs_in_threads_are_the_runs_one_after_another():
    """The lock is released in machine code; every run has memory of its own, at singular positions too."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    starts = [system.project(x.replace(v=x.v + 0.01 * k)) for k in range(8)]
    alone = [da.simulate(system, start, 3.0) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda start: da.simulate(system, start, 3.0), starts))
    assert any([p for p in run.passages if p.steps] for run in alone)
    for one, other in zip(alone, together):
        np.testing.assert_array_equal(one.q, other.q)
        assert one.passages == other.passages


def test_a_run_says_which_coordinates_went_beyond_their_limits():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    rod = m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, rod, limits=(-0.5, 2.0))
    m.add_joint("B", da.Prismatic("x"), rod, m.add_body("bead", mass=0.1), limits=(-9.0, 9.0), stiffness=100.0)
    system = m.compile()
    assert da.simulate(system, {"A": 0.1}, 0.05).warnings == ()
    run = da.simulate(system, {"A": 0.1}, 0.5)
    (sentence,) = run.warnings
    first = run.t[run["A"] < -0.5][0]
    assert f"at t = {first:.6g} s 'A' is at" in sentence
    assert "beyond its limit of -0.5: limits" in sentence
    assert run.success


@pytest.mark.parametrize("angle", [1e308, -3e12, 1.1e7])
def test_angles_that_rounding_leaves_no_digits_of_are_refused_in_loops(four_bar, angle):
    """One of 1e8 rad is known to 1e-8 rad: steps would shrink for ever against a loop that rounding opens."""
    system, _ = four_bar
    x = system.assemble({"A": angle})
    with pytest.raises(da.ArgumentError, match=r"coordinate 'A' starts at .* Take whole turns out of angles"):
        da.simulate(system, x, 0.1)
    runs = da.ensemble(system, [x, system.assemble({"A": 0.6})], 0.1)
    assert runs.success.tolist() == [False, True]
    assert "whole turns" in runs.messages[0]


def test_a_crank_that_has_turned_for_long_goes_on(four_bar):
    """A million radians on, the same motion, to what rounding of the angle leaves."""
    system, x = four_bar
    turns = 2 * np.pi * 16_000
    far = system.project(x.replace(q=x.q + np.array([turns, 0.0, 0.0])))
    run, near = da.simulate(system, far, 0.2), da.simulate(system, x, 0.2)
    assert run.success
    np.testing.assert_allclose(run.q[-1] - [turns, 0, 0], near.q[-1], atol=1e-7)


def stiff_pendulum(damping):
    m = da.Mechanism("stiff", gravity=(0, -9.81, 0))
    rod = m.add_body("rod", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, rod, damping=damping)
    return m.compile()


def test_a_run_that_max_steps_would_end_long_before_its_end_says_so_soon():
    """φ̇ decays in I/c = 3e-9 s, and explicit steps stay shorter than six of that: 5e8 of them for ten seconds."""
    system = stiff_pendulum(1e8)
    run = da.simulate(system, {"A": 0.0}, 10.0)
    assert run.status.name == "TOO_MANY_STEPS"
    assert 15_000 <= run.steps < 30_000
    assert "try method='sdirk4'" in run.message
    assert f"{run.steps} are taken" in run.message
    assert run["A"][-1] == pytest.approx(-9.81 * 0.5 * run.t[-1] / 1e8, rel=1e-3)  # what was computed is kept
    assert da.simulate(system, {"A": 0.0}, 10.0, method="sdirk4").success


def test_short_steps_at_first_or_a_run_of_many_steps_are_waited_for():
    assert da.simulate(stiff_pendulum(1e4), {"A": 0.0}, 3.0).success  # 1e5 steps, the first of 1e-9 s
    fixed = da.simulate(stiff_pendulum(0.0), {"A": 0.0}, 1.0, method="rk4", step=2e-5, max_steps=30_000)
    assert fixed.status.name == "STEPS"  # 50,000 are not twice as many


@pytest.mark.parametrize("t", [[[0.0, 1.0], [2.0]], "1", [0.0, 1.0, 2.0]])
def test_durations_that_are_none_are_refused(four_bar, t):
    system, x = four_bar
    with pytest.raises(da.ArgumentError, match=r"^t "):
        da.simulate(system, x, t)


def test_steps_that_the_clock_does_not_resolve_are_refused():
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6})
    for options in ({"max_step": 5e-324}, {"method": "rk4", "step": 1e-17}, {"max_step": 1e-16, "rtol": 1e-6}):
        with pytest.raises(da.ArgumentError, match=r"step is \S+ s; needed: at least .* neighbouring times"):
            da.simulate(system, x, 1.0, **options)
    with pytest.raises(da.ArgumentError, match="neighbouring times"):
        da.ensemble(system, [x], 1.0, max_step=5e-324)
    assert da.simulate(system, x, 1e-3, step=1e-20).success  # the first of adaptive ones: time starts at zero
