"""Dragging on a branch: loops closed, goals reached where they can be, branches never changed in silence."""

import numpy as np
import pytest

from dalembert import zoo
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
        moved = drag.drag(q, [Pull(body, tuple(point), tuple(to))], seconds=1.0)
        gaps = np.abs(system.residuals(system.state(moved.q))) / drag.units
        assert gaps.max() < 1e-6
        assert abs(moved.residual - gaps.max()) < 1e-9
        q = moved.q


def test_a_platform_follows_the_hand_exactly():
    system, x, drag = started("stewart")
    q = drag.begin(x.q)
    to = system.pose(x, "platform")[:3, 3] + [0.1, -0.2, 0.15]
    moved = drag.drag(q, [Pull("platform", (0.0, 0.0, 0.0), tuple(to))], seconds=1.0)
    assert moved.met
    np.testing.assert_allclose(system.pose(system.state(moved.q), "platform")[:3, 3], to, atol=1e-4)


def test_one_slider_moves_and_the_other_motors_stay():
    system, x, drag = started("stewart")
    legs = [f"P{k}" for k in range(1, 7)]
    moved = drag.drag(drag.begin(x.q), [Slide("P2", x["P2"] + 0.15)], hold=legs, seconds=1.0)
    there = system.state(moved.q)
    change = np.array([there[n] - x[n] for n in legs])
    np.testing.assert_allclose(change, 0.15 * np.eye(6)[1], atol=1e-7)


def test_a_slider_stops_at_the_dead_point_and_says_so():
    """The crank of a rocking four-bar turns back where crank and coupler are in line: by the law of cosines."""
    crank, coupler, rocker, ground = 0.5, 0.6, 0.4, 0.55
    dead = np.arccos((ground**2 + crank**2 - (rocker + coupler) ** 2) / (2 * ground * crank))
    system, x, drag = started("four_bar", crank=crank)
    q = drag.begin(drag.drag(x.q, [Slide("A", 1.0)], seconds=1.0).q)
    for to in np.linspace(1.0, 3.0, 21):
        moved = drag.drag(q, [Slide("A", to)], seconds=1.0)
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
        moved = drag.drag(q, [Slide("A", to)], seconds=1.0)
        q = moved.q
        notes.append(moved.note)
        np.testing.assert_allclose(q, [to, -to, to], atol=1e-6)
    assert any("passed a singular position" in n for n in notes)


def test_limits_stop_a_slider_and_a_pull():
    system = zoo.CATALOG["loader"].build().compile()
    entry = zoo.CATALOG["loader"]
    drag = Dragging(system)
    limited = [n for n, (v, _) in drag.places.items() if np.isfinite(drag.high[v])]
    if not limited:
        from dalembert import Mechanism, Revolute, rod

        m = Mechanism("arm", gravity=(0, 0, -9.81))
        body = m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=rod(1.0, 1.0))
        m.add_joint("A", Revolute("y"), m.ground, body, limits=(-0.5, 0.7))
        system, limited = m.compile(), ["A"]
        drag, q = Dragging(system), np.zeros(1)
    else:
        q = drag.begin(system.state(*entry.start()).q)
    name = limited[0]
    v, i = drag.places[name]
    moved = drag.drag(q, [Slide(name, drag.high[v] + 0.5)], seconds=1.0)
    assert abs(moved.q[i] - drag.high[v]) < 1e-9
    assert moved.limits == (name,)
    assert "limit" in moved.note
    free = drag.drag(q, [Slide(name, drag.high[v] + 0.1)], limits=False, seconds=1.0)
    assert free.q[i] > drag.high[v] + 0.05


def test_what_cannot_move_says_so():
    system, x, drag = started("four_bar")
    locked = Dragging(system.without())
    with pytest.raises(Exception, match="no coordinate|coordinate with a slider"):
        locked.drag(x.q, [Slide("nobody", 1.0)])
