"""References near and beyond the edge of a workspace: the nearest position is exact, and kept inside continuously."""

import numpy as np
import pytest
from scipy.optimize import minimize

import dalembert as da
from dalembert import control, zoo
from dalembert.control.plant import Plant
from dalembert.control.reachability import PositionSearch

ANGLES = np.random.default_rng(16).uniform(-np.pi, np.pi, 12)


def arm():
    """Two links of 1 m: the tip reaches a disc of 2 m."""
    m = da.Mechanism("arm", gravity=(0, 0, 0))
    one, two = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", da.Revolute("z"), m.ground, one)
    m.add_joint("B", da.Revolute("z"), one.at(1.0, 0, 0), two)
    m.add_motor("a", "A")
    m.add_motor("b", "B")
    m.add_frame("tip", two.at(1.0, 0, 0))
    return m.compile()


def follow(workspace, start, targets, margin=True):
    """The nearest positions to a reference that moves, each searched from the one before."""
    active = np.ones(len(workspace.system.rows.of), dtype=np.int64)
    found, guess = [], None
    for target in targets:
        found.append(workspace.nearest(start, guess, 0.0, np.asarray(target, dtype=float), active, margin))
        guess = found[-1].q
    return found


def longest_step(workspace, found, targets):
    """The largest ratio of a step of the task to the step of the reference, in sizes of the rows."""
    steps = [np.diff(x, axis=0) / workspace.sizes for x in (np.array([f.theta for f in found]), np.array(targets))]
    return float((np.linalg.norm(steps[0], axis=1) / np.linalg.norm(steps[1], axis=1)).max())


@pytest.mark.parametrize("angle", ANGLES)
def test_an_arm_is_kept_inside_its_disc_without_a_jump(angle):
    """Well inside the reference itself, beyond 2 m a circle 16 mm smaller, and one goes over into the other."""
    system = arm()
    workspace = PositionSearch(Plant(system, None, control.position("tip", "xy")))
    d = np.array([np.cos(angle), np.sin(angle)])
    radii = np.linspace(1.8, 2.8, 51)
    found = follow(workspace, system.state({"A": angle - 0.6, "B": 1.2}), radii[:, None] * d)
    theta = np.array([f.theta for f in found])
    length = theta @ d
    np.testing.assert_allclose(theta, length[:, None] * d, atol=1e-9)  # in the direction of the reference
    np.testing.assert_allclose(length[radii < 1.9], radii[radii < 1.9], atol=1e-9)
    assert longest_step(workspace, found, radii[:, None] * d) < 1.0 + 1e-6
    assert 1.98 < length[radii > 2.1].min() <= length.max() < 1.99
    edge = follow(workspace, system.state({"A": angle - 0.6, "B": 1.2}), [2.7 * d], margin=False)[0]
    np.testing.assert_allclose(edge.theta, 2.0 * d, atol=1e-8)
    assert not edge.reached
    assert "tip." in edge.message


@pytest.mark.parametrize("angle", ANGLES)
def test_an_arm_taken_around_beyond_its_disc_follows_the_edge(angle):
    """A reference on a circle of 2.5 m: the tip goes round on one of nearly 2 m, by 2/2.5 of its speed."""
    system = arm()
    workspace = PositionSearch(Plant(system, None, control.position("tip", "xy")))
    angles = angle + np.linspace(0.0, 0.5, 11)
    d = np.column_stack([np.cos(angles), np.sin(angles)])
    found = follow(workspace, system.state({"A": angle - 0.3, "B": 0.6}), 2.5 * d)
    radius = np.array([np.linalg.norm(f.theta) for f in found])
    np.testing.assert_allclose(radius, radius[0], atol=1e-9)
    np.testing.assert_allclose(np.array([f.theta for f in found]), radius[0] * d, atol=1e-8)


def in_two_discs(point, span, radius):
    """The nearest point to one above, in two discs about (0, 0) and (span, 0): on one of them, or in their corner."""
    for k in (0, 1):
        centre, other = np.array([k * span, 0.0]), np.array([(1 - k) * span, 0.0])
        on = centre + radius * (point - centre) / np.linalg.norm(point - centre)
        if np.linalg.norm(on - other) <= radius:
            return on
    return np.array([0.5 * span, np.sqrt(radius**2 - 0.25 * span**2)])


@pytest.mark.parametrize("angle", np.random.default_rng(17).uniform(0.3, np.pi - 0.3, 10))
def test_a_five_bar_is_kept_in_the_lens_of_its_legs(angle):
    """Legs of 2.5 m on supports 1 m apart: the tip reaches what is in both discs, their corner included."""
    system = zoo.five_bar().compile()
    tip = system.mechanism.bodies["link 2"].at(1.5, 0, 0)
    workspace = PositionSearch(Plant(system, None, control.position(tip, "xy", name="tip")))
    start = system.state(*zoo.five_bar_start(-1.0))
    middle, d = workspace.plant.task_values(0.0, start)[0], np.array([np.cos(angle), np.sin(angle)])
    targets = middle + np.linspace(0.0, 3.0, 31)[:, None] * d
    found = follow(workspace, start, targets)
    assert found[0].reached
    assert longest_step(workspace, found, targets) < 1.0 + 1e-6
    nearest = in_two_discs(targets[-1], 1.0, 2.5)
    missed, least = (np.linalg.norm(x - targets[-1]) for x in (found[-1].theta, nearest))
    assert least < missed < least + 0.05
    edge = follow(workspace, start, targets, margin=False)[-1]
    assert np.linalg.norm(edge.theta - nearest) < 2e-4  # next to the corner, by way of a flat valley


@pytest.mark.parametrize("angle", ANGLES[:6])
def test_a_platform_comes_as_near_as_a_search_of_another_kind(angle):
    """3-RRR, position and orientation at once, against SLSQP on the closed loops."""
    system = zoo.planar_3rrr().compile()
    task = control.position("platform", "xy") + control.orientation("platform", "z")
    workspace = PositionSearch(Plant(system, None, task))
    start = system.state(*zoo.planar_3rrr_start())
    targets = np.linspace(0.0, 0.6, 31)[:, None] * np.array([np.cos(angle), np.sin(angle), 0.0])
    found = follow(workspace, start, targets)
    assert longest_step(workspace, found, targets) < 1.0 + 1e-4
    edge = follow(workspace, start, targets[-1:], margin=False)[0]

    def off(q):
        e = (workspace.plant.task_values(0.0, system.state(q))[0] - targets[-1]) / workspace.sizes
        return float(e @ e)

    best = minimize(
        off, edge.q + 0.01, constraints=[{"type": "eq", "fun": lambda q: system.residuals(system.state(q))}],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 400},
    )  # fmt: skip
    assert edge.distance == pytest.approx(np.sqrt(best.fun), rel=1e-5)
    assert edge.distance <= found[-1].distance < edge.distance + 0.03


def test_a_stewart_platform_within_reach_is_not_led_elsewhere():
    """Poses up to 1.5 m and 0.8 rad from home, in the middle of the workspace: reached exactly, margin or not."""
    system = zoo.stewart().compile()
    workspace = PositionSearch(Plant(system, None, control.pose("platform")))
    start = system.state(*zoo.stewart_start())
    home, rng = workspace.plant.task_values(0.0, start)[0], np.random.default_rng(18)
    for _ in range(12):
        d = rng.normal(size=6)
        targets = home + np.outer([0.5, 1.0], np.concatenate([1.5 * d[:3], 0.8 * d[3:]]) / np.linalg.norm(d))
        for found, target in zip(follow(workspace, start, targets), targets):
            assert found.reached
            np.testing.assert_allclose(found.theta, target, atol=1e-7)


def test_the_run_and_the_law_say_that_a_reference_is_out_of_reach():
    """The verdict of `explain`, which gives the law's own inputs, and a sentence of the run, saved with it."""
    system = arm()
    path = control.quintic([1.5, 0.0], [2.6, 0.0], 1.0)
    law = control.motion_control(system, control.position("tip", "xy"), path, rate=20.0, out_of_reach="approach")
    start = system.state({"A": -np.arccos(0.75), "B": 2 * np.arccos(0.75)})
    run = da.simulate(system, start, 1.5, u=law, period=0.01)
    assert run.success
    assert run.position("tip")[-1, 0] == pytest.approx(1.984, abs=2e-3)
    assert "beyond the workspace" in run.summary()
    assert "was not followed" in run.summary()
    assert "tip.x comes to 1.98" in run.remarks[0]
    assert law.remarks == ()  # memory belongs to the run
    x = run.state()
    found = law.explain(1.5, x)
    assert found.status == control.Verdict.OUT_OF_REACH
    np.testing.assert_array_equal(found.u, law.fresh()(1.5, x))
    inside = control.motion_control(system, control.position("tip", "xy"), [1.5, 0.2], out_of_reach="approach")
    assert da.simulate(system, start, 0.1, u=inside, period=0.01).remarks == ()
    assert inside.explain(0.0, start).success
