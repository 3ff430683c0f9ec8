"""Runs with their records at other times: histories against those of runs that were recorded there."""

import numpy as np
import pytest

import dalembert as da
from dalembert import view, zoo


def bouncing():
    """A ball that falls on a floor and bounces."""
    m = da.Mechanism("ball", gravity=(0, 0, -9.81))
    ball = m.add_body("ball", mass=2.0)
    m.add_joint("z", da.Prismatic("z"), m.ground, ball)
    m.add_contact("floor", ball, restitution=0.5)
    return m.compile()


def test_histories_are_those_of_a_run_recorded_there():
    system = zoo.four_bar().compile()
    x, times = system.assemble({"A": 0.6}, v={"A": 2.0}), np.linspace(0.1, 1.7, 33)
    run = da.simulate(system, x, 2.0, u={"torque": 0.4})
    got, expected = run.resampled(times), da.simulate(system, x, 2.0, u={"torque": 0.4}, t_eval=times)
    assert got.success
    assert got.t.tolist() == times.tolist()
    for name in ("kinetic_energy", "potential_energy", "u", "multipliers", "vdot"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(got.reactions("C"), expected.reactions("C"), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(got.work["inputs"], expected.work["inputs"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(got.position("rocker"), expected.position("rocker"), rtol=0, atol=1e-8)
    with pytest.raises(da.ArgumentError, match="only the recorded times"):
        got(0.3)
    with pytest.raises(da.ArgumentError, match=r"goes from 0 to 2 s"):
        run.resampled([0.0, 2.1])


def test_changes_of_structure_keep_their_two_records():
    """z = 1 − g t²/2 until it hits the floor, then v falls to −v/2."""
    g, run = 9.81, da.simulate(bouncing(), {"z": 1.0}, 0.8)
    hit = np.sqrt(2.0 / g)
    got = run.resampled(np.linspace(0.0, 0.8, 81), changes=True)
    assert len(got.switches) == len(run.switches) == 1
    assert np.sum(np.abs(got.t - hit) < 1e-9) == 2
    t = got.t - hit
    behind = (t > 0) | (np.arange(len(t)) > np.flatnonzero(np.abs(t) < 1e-9)[0])
    up = 0.5 * g * hit
    np.testing.assert_allclose(got["z"], np.where(behind, up * t - g * t**2 / 2, 1 - g * got.t**2 / 2), atol=1e-8)
    np.testing.assert_allclose(got.rate("z"), np.where(behind, up - g * t, -g * got.t), atol=1e-8)
    np.testing.assert_allclose(run.inputs([0.1, hit, 0.7]), np.zeros((3, 0)))
    with pytest.raises(da.ArgumentError, match=r"goes from 0 to 0\.8 s"):
        run.resampled([0.0, 0.9])


def test_records_of_a_run_with_contacts_are_at_the_times_asked_for():
    """Before, between and after impacts, and at one of them: there the state after it; energies and works follow."""
    run = da.simulate(bouncing(), {"z": 1.0}, 1.5)
    hit = run.switches[0].t
    times = np.array([0.1, 0.2, hit, 0.5, 0.9, 1.1])
    got = run.resampled(times)
    assert got.t.tolist() == times.tolist()
    np.testing.assert_allclose(got.q, run(times)[0], atol=1e-12)
    np.testing.assert_allclose(got.v, run(times)[1], atol=1e-12)
    assert got.rate("z")[2] > 0.0
    whole = got.kinetic_energy + got.potential_energy
    np.testing.assert_allclose(whole - got.work["impacts"], whole[0], rtol=1e-8)
    assert run.resampled([0.3]).t.tolist() == [0.3]
    assert got.success


def test_plots_are_smooth_and_ask_no_controller_again():
    asked = []

    def law(t, state):
        asked.append(t)
        return [0.1]

    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    free, steered = da.simulate(system, x, 0.3), da.simulate(system, x, 0.3, u=law)
    assert (free.is_known_between, steered.is_known_between) == (True, False)
    line = view.plot(free, "A", panels=["positions"]).axes[0].lines[0]
    assert len(free.t) < 30 < 400 <= len(line.get_xdata())
    np.testing.assert_allclose(line.get_ydata(), free(line.get_xdata())[0][:, 0], rtol=0, atol=1e-12)
    count = len(asked)
    view.plot(steered, "A")
    assert len(asked) == count
    sampled = da.simulate(system, x, 0.3, u=law, period=0.1)
    count = len(asked)
    assert sampled.is_known_between
    view.plot(sampled, "A")
    assert len(asked) == count
