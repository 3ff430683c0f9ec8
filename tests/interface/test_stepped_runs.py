"""Runs by time stepping as results: controllers, samples, events, threads, ensembles, forces, and what is refused."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

H = {"method": "moreau", "step": 1e-3}


@pytest.fixture(scope="module")
def hopper():
    """A mass on a leg with a motor, whose foot falls on a floor."""
    m = da.Mechanism("hopper", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=2.0)
    foot = m.add_body("foot", mass=0.5)
    m.add_joint("z", da.Prismatic("z"), m.ground, body)
    m.add_joint("leg", da.Prismatic("-z"), body, foot, stiffness=200.0, rest=0.5, damping=3.0)
    m.add_motor("push", "leg")
    m.add_contact("floor", foot)
    return m.compile()


START = {"z": 0.8, "leg": 0.5}


def law(t, s):
    return [20.0 * np.sin(9.0 * t) - 2.0 * s["leg"]]


def traced(t, s):
    return [20.0 * ca.sin(9.0 * t) - 2.0 * s["leg"]]


def test_controllers_of_all_kinds_agree(hopper):
    python = da.simulate(hopper, START, 1.0, u=law, **H)
    machine = da.simulate(hopper, START, 1.0, u=da.expression(traced), **H)
    assert python.success
    assert machine.success
    np.testing.assert_allclose(machine.q, python.q, atol=1e-9)
    held = da.simulate(hopper, START, 1.0, u=law, period=0.01, **H)
    assert np.abs(held.q - python.q).max() < 0.05
    assert len(np.unique(held.u[:, 0])) == 100


def test_samples_dense_output_and_resampling_are_one_motion(hopper):
    run = da.simulate(hopper, START, 1.0, **H)
    times = np.linspace(0.0, 1.0, 37)
    sampled = da.simulate(hopper, START, 1.0, t_eval=times, **H)
    again = run.resampled(times)
    np.testing.assert_array_equal(sampled.q, again.q)
    np.testing.assert_array_equal(sampled.contact_forces, again.contact_forces)
    np.testing.assert_array_equal(run(float(run.t[300])).q, run.q[300])
    assert run(0.30005).q == pytest.approx(run.q[300], abs=1e-3)


def test_runs_are_the_same_bits_again_and_in_threads(hopper):
    first = da.simulate(hopper, START, 1.0, **H)
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda _: da.simulate(hopper, START, 1.0, **H), range(8)))
    for run in runs:
        np.testing.assert_array_equal(run.q, first.q)
        np.testing.assert_array_equal(run.contact_forces, first.contact_forces)


def test_a_run_goes_on_where_another_ended(hopper):
    whole = da.simulate(hopper, START, 1.0, **H)
    first = da.simulate(hopper, START, 0.5, **H)
    second = da.simulate(hopper, first.state(), 0.5, **H)
    np.testing.assert_allclose(second.q[-1], whole.q[-1], atol=1e-9)


def test_events_end_a_run(hopper):
    low = da.Event(lambda t, s: s["z"] - 0.6, terminal=True)
    run = da.simulate(hopper, START, 1.0, events={"low": low}, **H)
    assert run.status == da.Status.EVENT
    assert run["z"][-1] == pytest.approx(0.6, abs=1e-9)


def test_ensembles_make_the_same_runs(hopper):
    starts = [{"z": z, "leg": 0.5} for z in (0.7, 0.8, 0.9)]
    runs = da.ensemble(hopper, [hopper.state(x) for x in starts], 0.5, t_eval=[0.25, 0.5], **H)
    for k, start in enumerate(starts):
        alone = da.simulate(hopper, start, 0.5, t_eval=[0.25, 0.5], **H)
        np.testing.assert_array_equal(runs.q[k], alone.q)


def test_forces_balance_and_energy_is_accounted_for(hopper):
    run = da.simulate(hopper, START, 12.0, **H)
    assert run.multiplier("floor")[-1] == pytest.approx(2.5 * 9.81, rel=1e-3)
    assert run.work["contacts"][-1] < 0.0
    assert np.abs(run.energy_error).max() < 2e-2
    assert run.penetration.max() < 1e-12
    assert "contact" in run.summary()
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.multiplier("floor"), run.multiplier("floor"))


def test_loop_forces_include_those_of_contacts():
    """A four-bar that rests on a floor: multipliers of the loop and of the contact carry its weight."""
    m = da.Mechanism("linkage", gravity=(0, -9.81, 0))
    a, b, c = (
        m.add_body(n, mass=1.0, com=(s / 2, 0, 0), inertia=da.rod_inertia(1.0, s))
        for n, s in zip("abc", (0.3, 0.8, 0.6))
    )
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), a.at(0.3), b)
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.7), c)
    m.close_loop("C", da.Revolute("z"), b.at(0.8), c.at(0.6))
    floor = m.ground.at(0, -0.1, 0, rotation=da.rotation("x", -np.pi / 2))
    m.add_contact("floor", a.at(0.3), on=floor)
    system = m.compile()
    start = system.assemble({"A": 0.5})
    stepped = da.simulate(system, start, 3.0, **H)
    exact = da.simulate(system, start, 3.0)
    assert np.abs(stepped.v[-1]).max() < 1e-9
    np.testing.assert_allclose(stepped.multiplier("C")[-1], exact.multiplier("C")[-1], rtol=1e-6, atol=1e-6)
    assert stepped.multiplier("floor")[-1] == pytest.approx(exact.multiplier("floor")[-1], rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coordinates": "z"}, "its own equations: leave coordinates, formulation and options as they are"),
        ({"formulation": "nullspace"}, "leave coordinates, formulation and options as they are"),
        ({"stabilization": "none"}, "projects every step: leave stabilization as it is"),
        ({"switches": da.Switch(open="x", at=0.1)}, "follows no switches; needed: method='dop853' for switches="),
        ({"record": "run.arrow"}, "is not recorded; leave record= out"),
    ],
)
def test_what_time_stepping_has_not_is_refused(hopper, options, message):
    with pytest.raises(da.ArgumentError, match=message):
        da.simulate(hopper, START, 1.0, **H, **options)


def test_messages(hopper):
    with pytest.raises(da.ArgumentError, match=r"method 'moreau' has a fixed step; give it as step=0.001"):
        da.simulate(hopper, START, 1.0, method="moreau")
    with pytest.raises(da.ArgumentError, match=r"the start is beyond 'floor' by 0.2 m"):
        da.simulate(hopper, {"z": 0.3, "leg": 0.5}, 1.0, **H)
    run = da.simulate(hopper, START, 0.1, **H)
    with pytest.raises(da.UnknownName, match="no row or constraint 'ceiling'"):
        run.multiplier("ceiling")
    with pytest.raises(da.ArgumentError, match="reactions in joint 'z' are not known of a run by time stepping"):
        run.reactions("z")
    with pytest.raises(da.ArgumentError, match="a run by time stepping is not written to files"):
        run.save("run.arrow")


def test_trouble_returns_what_was_computed(hopper):
    def fails(t, s):
        if t > 0.1:
            raise ValueError("no")
        return [0.0]

    run = da.simulate(hopper, START, 1.0, u=fails, **H)
    assert run.status == da.Status.CALLBACK
    assert 0.09 < run.t[-1] < 0.11
    pinched = da.Mechanism("press")
    pinched.add_joint("x", da.Prismatic("x"), pinched.ground, pinched.add_body("a", mass=1.0))
    pinched.add_driver("drive", "x", lambda t: 0.5 - t)
    side = pinched.ground.at(rotation=da.rotation("y", np.pi / 2))
    pinched.add_contact("wall", "a", on=side)
    system = pinched.compile()
    run = da.simulate(system, system.assemble(v={"x": -1.0}), 1.0, **H)  # driven through a wall
    assert run.status == da.Status.STEP_UNSOLVED
    assert run.t[-1] == pytest.approx(0.5, abs=2e-3)


def test_smooth_mechanisms_take_such_steps_too():
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    exact, errors = da.simulate(system, x, 1.0).q[-1], []
    for h in (4e-3, 1e-3):
        run = da.simulate(system, x, 1.0, method="moreau", step=h)
        assert run.residuals.max() < 1e-13
        assert run.speed_residuals.max() < 1e-12
        errors.append(np.abs(run.q[-1] - exact).max())
    assert np.log(errors[0] / errors[1]) / np.log(4.0) == pytest.approx(2.0, abs=0.2)
