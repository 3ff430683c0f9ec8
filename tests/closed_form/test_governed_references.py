"""A reference that leaves the workspace fast: the task brakes before the edge, and follows a motion that is one."""

import numpy as np
import pytest
from test_edges_of_workspaces import arm

import dalembert as da
from dalembert import control, zoo
from dalembert.control.governor import Governor
from dalembert.control.plant import Plant
from dalembert.control.reachability import PositionSearch


def platform():
    system = zoo.planar_3rrr().compile()
    task = control.position("platform", "xy") + control.orientation("platform", "z")
    return system, system.state(*zoo.planar_3rrr_start()), task


def fastest(reference, duration, rows=2):
    return max(np.linalg.norm(reference(t)[1][:rows]) for t in np.linspace(0, duration, 400))


@pytest.mark.parametrize("hold", [0.005, 0.001])
@pytest.mark.parametrize("duration", [0.5, 1.0, 1.5, 2.0, 5.0])
def test_a_platform_is_not_thrown_off_the_edge_of_its_workspace(duration, hold):
    """3-RRR led 0.8 m away, of which it reaches 0.25: no faster than the reference, at rest in the nearest pose."""
    system, x, task = platform()
    reference = control.quintic([0, 0, 0], [0.7, 0.4, 0.0], duration)
    law = control.motion_control(system, task, reference, rate=30.0, out_of_reach="approach")
    run = da.simulate(system, x, duration + 0.3, u=law, period=hold)
    assert run.success, run.message
    speed = np.linalg.norm(run.velocity("platform"), axis=1)
    assert speed.max() < fastest(reference, duration)
    assert np.abs(run.v).max() < 8 * fastest(reference, duration) + 4.0  # rad/s; arms of 0.3 m
    assert np.abs(run.u).max() < 30.0
    assert speed[-1] < 1e-6
    active = np.ones(len(system.rows.of), dtype=np.int64)
    nearest = law.workspace.nearest(run.state(), None, run.t[-1], reference(run.t[-1])[0], active, margin=True)
    np.testing.assert_allclose(run.position("platform")[-1, :2], nearest.theta[:2], atol=1e-6)
    assert "was not followed" in run.remarks[0]


@pytest.mark.parametrize("angle", np.random.default_rng(30).uniform(-np.pi, np.pi, 2))
@pytest.mark.parametrize(("duration", "hold"), [(0.3, 0.002), (1.0, 0.002), (3.0, 0.002), (0.3, None)])
def test_an_arm_brakes_before_the_edge_of_its_disc(angle, duration, hold):
    """The tip stays on the ray and within 2 m, and its radius never shrinks; cos B = r²/2 − 1 is the elbow."""
    system, d = arm(), np.array([np.cos(angle), np.sin(angle)])
    reference = control.quintic(1.5 * d, 3.0 * d, duration)
    law = control.motion_control(
        system, control.position("tip", "xy"), reference, rate=30.0, out_of_reach="approach", limits=1e4
    )
    start = system.state({"A": angle - np.arccos(0.75), "B": 2 * np.arccos(0.75)})
    run = da.simulate(system, start, duration + 0.3, u=law, period=hold, rtol=1e-6, atol=1e-7)
    assert run.success, run.message
    tip = run.position("tip")[:, :2]
    radius = tip @ d
    off = 2e-3 if hold else 1e-5
    np.testing.assert_allclose(tip, radius[:, None] * d, atol=off * fastest(reference, duration))
    assert radius.max() < 1.99
    assert radius[-1] == pytest.approx(1.984, abs=2e-3)
    assert np.diff(radius).min() > -off
    assert np.linalg.norm(run.velocity("tip"), axis=1).max() < 1.01 * fastest(reference, duration)
    np.testing.assert_allclose(np.cos(run["B"]), 0.5 * np.linalg.norm(tip, axis=1) ** 2 - 1, atol=1e-9)
    assert run["B"].min() > 0.2  # never stretched, never through


def governed(system, task, reference, start, times, rate=40.0):
    """Values, rates and accelerations that a governor passes on, (n, 3, nt), and whether they are the reference's."""
    governor = Governor(PositionSearch(Plant(system, None, task)), reference, 1.0 / rate)
    active, nodes, found, same = np.ones(len(system.rows.of), dtype=np.int64), {}, [], []
    for t in times:
        g = governor(t, start, active, nodes)
        nodes = g.nodes
        found.append(np.array(g.reference))
        same.append(g.farthest is None)
    return np.array(found), np.array(same)


@pytest.mark.parametrize("rate", [10.0, 40.0, 100.0])
def test_what_is_passed_on_is_a_motion(rate):
    """Rates and accelerations are differences of values, on the way out, along the edge and back."""
    system, x, task = platform()
    there = control.quintic([0, 0, 0], [0.5, 0.3, 0.4], 1.0)

    def reference(t):  # there and back
        value, v, a = there(t if t < 1.0 else 2.0 - t)
        return value, v if t < 1.0 else -v, a

    h = 1e-5
    for t in np.linspace(0.0513, 1.9471, 39):
        f, _ = governed(system, task, reference, x, [t - h, t, t + h], rate)
        np.testing.assert_allclose(f[1, 1], (f[2, 0] - f[0, 0]) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(f[1, 2], (f[2, 1] - f[0, 1]) / (2 * h), atol=1e-4 * rate)
    times = np.linspace(-0.2, 2.2, 481)
    f, same = governed(system, task, reference, x, times, rate)
    own = np.array([reference(t) for t in times])
    assert same[0]
    assert same[-1]
    assert not same.all()
    np.testing.assert_array_equal(f[same], own[same])
    speed = np.linalg.norm(f[:, 1], axis=1)
    assert speed.max() < 1.01 * np.linalg.norm(own[:, 1], axis=1).max()
    assert np.abs(f[:, 2]).max() < np.abs(own[:, 2]).max() + 1.5 * rate * speed.max()


def test_a_jump_of_the_reference_beyond_the_edge_is_governed_too():
    """A step from 1.5 m to 3 m: never beyond the disc, and the way takes the time of the splines."""
    system = arm()

    def reference(t):
        return np.array([1.5 if t < 1.0 else 3.0, 0.0]), np.zeros(2), np.zeros(2)

    start = system.state({"A": -np.arccos(0.75), "B": 2 * np.arccos(0.75)})
    times = np.linspace(0.8, 1.2, 401)
    f, _ = governed(system, control.position("tip", "xy"), reference, start, times)
    assert (np.diff(f[:, 0, 0]) > -1e-12).all()
    assert f[0, 0, 0] == 1.5
    assert 1.98 < f[-1, 0, 0] < 1.99
    assert np.abs(f[:, 1]).max() < 0.76 * 0.49 * 40.0  # a step of 0.49 m as a mean over time


def test_angles_of_a_reference_may_jump_by_whole_turns():
    """A platform turned on the way over the edge: the same motion as with an angle that goes on."""
    system, x, task = platform()
    smooth = control.quintic([0, 0, -0.3], [0.5, 0.3, 0.3], 1.0)

    def jumping(t):
        value, rate, acceleration = smooth(t)
        return value + np.array([0.0, 0.0, 2 * np.pi if t > 0.5 else 0.0]), rate, acceleration

    times = np.linspace(0.0, 1.0, 41)
    f, same = governed(system, task, jumping, x, times)
    g, _ = governed(system, task, smooth, x, times)
    assert not same[19:23].any()
    np.testing.assert_allclose(f[:, 0, 2] - g[:, 0, 2], np.where(times > 0.5, 2 * np.pi, 0.0), atol=1e-7)
    np.testing.assert_allclose(f[:, 1], g[:, 1], atol=1e-5)  # positions are found to 1e-8
    np.testing.assert_allclose(f[:, 2], g[:, 2], atol=1e-3)


@pytest.mark.parametrize("hold", [0.005, None])
def test_inside_the_workspace_nothing_changes_to_the_last_digit(hold):
    """Laws that follow and that approach, with the same damping, give the same run bit for bit."""
    system, x, task = platform()
    reference = control.quintic([0, 0, 0], [0.05, -0.08, 0.1], 1.0)
    runs = [
        da.simulate(
            system, x, 1.2, period=hold, rtol=1e-6, atol=1e-7,
            u=control.motion_control(system, task, reference, rate=30.0, out_of_reach=kind, damping=0.02),
        )
        for kind in ("approach", "refuse")
    ]  # fmt: skip
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    np.testing.assert_array_equal(runs[0].u, runs[1].u)
    assert runs[0].remarks == ()


def test_a_first_step_that_is_much_too_long_is_shortened():
    """At rest, and with a reference that starts smoothly, the first step is the whole run: its stages lead nowhere."""
    system = arm()
    start = system.state({"A": -0.7, "B": 1.4})
    reference = control.quintic({"A": -0.7, "B": 1.4}, {"A": 0.3, "B": 1.0}, 1.0)
    law = control.computed_torque(system, reference, rate=30.0)
    for u in (law, lambda t, x: law(t, x)):
        run = da.simulate(system, start, 1.3, u=u)
        assert run.success, run.message
        assert run["A"][-1] == pytest.approx(0.3, abs=1e-6)
