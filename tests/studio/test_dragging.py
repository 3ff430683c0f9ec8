"""Dragging on a branch: loops closed, goals reached where they can be, branches never changed in silence."""

import numpy as np
import pytest

from dalembert import Mechanism, Revolute, rod_inertia, zoo
from dalembert.errors import UnknownName
from dalembert.studio.dragging import Dragging, Pull, Slide


def started(name, **how):
    entry = zoo.CATALOG[name]
    system = entry.build(**how).compile()
    x = system.state(*entry.start(**how))
    return system, x, Dragging(system)


@pytest.mark.parametrize("name", ["stewart", "delta", "four_bar", "five_bar", "bennett", "planar_3rrr", "loader"])
def test_loops_stay_closed_while_a_body_is_dragged_about(name):
    """At every step the residual is below 1e-6 of the mechanism, and no step is longer than the pull explains."""
    system, x, drag = started(name)
    body = list(system.layout.bodies)[-1] if name != "stewart" else "platform"
    q = drag.begin(x.q)
    T = system.pose(system.state(q), body)
    point = np.array([0.02, -0.01, 0.03]) * drag.length
    first = T[:3, :3] @ point + T[:3, 3]
    for k in range(30):
        a = 2 * np.pi * k / 30
        to = first + 0.15 * drag.length * np.array([np.sin(a), 1 - np.cos(a), 0.5 * np.sin(a)])
        moved = drag.drag(q, [Pull(body, tuple(point), tuple(to))], seconds=60.0)
        gaps = np.abs(system.residuals(system.state(moved.q))) / drag.units
        assert gaps.max() < 1e-6
        assert abs(moved.residual - gaps.max()) < 1e-9
        q = moved.q


def test_a_platform_follows_the_hand_exactly():
    system, x, drag = started("stewart")
    q = drag.begin(x.q)
    to = system.pose(x, "platform")[:3, 3] + [0.1, -0.2, 0.15]
    moved = drag.drag(q, [Pull("platform", (0.0, 0.0, 0.0), tuple(to))], seconds=60.0)
    assert moved.met
    np.testing.assert_allclose(system.pose(system.state(moved.q), "platform")[:3, 3], to, atol=1e-4)


def test_one_slider_moves_and_the_other_motors_stay():
    system, x, drag = started("stewart")
    legs = [f"P{k}" for k in range(1, 7)]
    moved = drag.drag(drag.begin(x.q), [Slide("P2", x["P2"] + 0.15)], hold=legs, seconds=60.0)
    there = system.state(moved.q)
    change = np.array([there[n] - x[n] for n in legs])
    np.testing.assert_allclose(change, 0.15 * np.eye(6)[1], atol=1e-7)


def test_a_slider_stops_at_the_dead_point_and_says_so():
    """The crank of a rocking four-bar turns back where crank and coupler are in line: by the law of cosines."""
    crank, coupler, rocker, ground = 0.5, 0.6, 0.4, 0.55
    dead = np.arccos((ground**2 + crank**2 - (rocker + coupler) ** 2) / (2 * ground * crank))
    _, x, drag = started("four_bar", crank=crank)
    q = drag.begin(drag.drag(x.q, [Slide("A", 1.0)], seconds=60.0).q)
    for to in np.linspace(1.0, 3.0, 21):
        moved = drag.drag(q, [Slide("A", to)], seconds=60.0)
        q = moved.q
    assert abs(q[0] - dead) < 1e-3
    assert "dead point: A" in moved.note
    assert not moved.met


def test_a_parallelogram_keeps_its_branch_through_the_flat_position():
    """Crank and rocker stay parallel, B = −A, and the passing of the branch point is said."""
    how = {"ground": 1.0, "crank": 0.4, "coupler": 1.0, "rocker": 0.4}
    system = zoo.four_bar(**how).compile()
    drag = Dragging(system)
    q, notes = drag.begin(np.array([0.5, -0.5, 0.5])), []
    for to in np.linspace(0.5, -2.6, 40):
        moved = drag.drag(q, [Slide("A", to)], seconds=60.0)
        q = moved.q
        notes.append(moved.note)
        np.testing.assert_allclose(q, [to, -to, to], atol=1e-6)
    assert any("passed a singular position" in n for n in notes)


def test_limits_stop_a_slider_and_a_pull():
    m = Mechanism("arm", gravity=(0, 0, -9.81))
    upper = m.add_body("upper", mass=1.0, com=(0.5, 0, 0), inertia=rod_inertia(1.0, 1.0))
    lower = m.add_body("lower", mass=1.0, com=(0.5, 0, 0), inertia=rod_inertia(1.0, 1.0))
    m.add_joint("A", Revolute("y"), m.ground, upper, limits=(-0.5, 0.7))
    m.add_joint("B", Revolute("y"), upper.at(1, 0, 0), lower)
    system = m.compile()
    drag, q, name = Dragging(system), np.array([0.1, 0.3]), "A"
    v, i = drag.places[name]
    moved = drag.drag(q, [Slide(name, drag.high[v] + 0.5)], seconds=60.0)
    assert abs(moved.q[i] - drag.high[v]) < 1e-9
    assert moved.limits == (name,)
    assert "limit" in moved.note
    pulled = drag.drag(q, [Pull("lower", (1.0, 0.0, 0.0), (0.0, 0.0, -2.0))], seconds=60.0)  # straight down: A = π/2
    assert abs(pulled.q[0] - 0.7) < 1e-9
    assert pulled.limits == ("A",)
    down = np.arctan2(2.0 - np.sin(0.7), -np.cos(0.7)) - 0.7  # B turns the lower bar towards the goal
    assert abs(pulled.q[1] - down) < 1e-2
    free = drag.drag(q, [Slide(name, drag.high[v] + 0.1)], limits=False, seconds=60.0)
    assert free.q[i] > drag.high[v] + 0.05


def test_what_cannot_move_says_so():
    """Two bars on two pins that are a bar's length apart have mobility 0."""
    m = Mechanism("triangle", gravity=(0, -9.81, 0))
    a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=rod_inertia(1.0, 1.0)) for n in "ab")
    m.add_joint("A", Revolute("z"), m.ground, a)
    m.add_joint("B", Revolute("z"), m.ground.at(1, 0, 0), b)
    m.close_loop("C", Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
    system = m.compile()
    x, drag = system.assemble(guess={"A": 0.9, "B": 2.0}), Dragging(system)
    moved = drag.drag(x.q, [Slide("A", 1.5)])
    assert "mobility is 0" in moved.note
    np.testing.assert_allclose(moved.q, x.q, atol=1e-12)
    with pytest.raises(UnknownName, match="coordinate with a slider"):
        drag.drag(x.q, [Slide("nobody", 1.0)])


def test_a_point_far_outside_its_body_is_no_trouble():
    """A lever of 1e12 m asks for no more than the rest: the step is found, and nothing leaves the constraints."""
    for name in ("rolling_disc", "four_bar"):
        system, x, drag = started(name)
        body = list(system.layout.bodies)[-1]
        for point in ((1e12, -1e12, 1e12), (0.0, 1e-300, 0.0)):
            moved = drag.drag(drag.begin(x.q), [Pull(body, point, (0.3, 1e12, -0.2))])
            assert np.isfinite(moved.q).all()
            assert moved.residual < 1e-9


@pytest.mark.parametrize("rocker", [0.41, 0.4003])
def test_long_drags_past_branches_that_nearly_meet_end_where_a_walk_does(rocker):
    """A crank a little shorter than the rocker: near the flat position the other branch is close, and not taken."""
    system = zoo.four_bar(ground=1.0, crank=0.4, coupler=1.0, rocker=rocker).compile()
    drag = Dragging(system)
    start = system.assemble({"A": 0.5}, guess={"B": -0.5, "D": 0.5})
    for to in (-0.6, -1.5):
        q = start.q
        for _ in range(20):
            moved = drag.drag(q, [Slide("A", to)], seconds=5.0)
            q = moved.q
            if moved.met:
                break
        assert moved.met
        truth = system.walk(start, to={"A": to})
        np.testing.assert_allclose(q, truth.q, atol=1e-6)
