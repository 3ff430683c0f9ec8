"""The hand feels contacts, ropes and limits: a drag ends on their boundary, slides along it, and never passes it."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert.studio.dragging import Dragging, Pull, Slide
from studio_desk import Desk

G = 9.81


def ball(loops=False):
    """A ball of radius 0.1 m above a floor at z = 0, on two slides; beside a closed four-bar, if asked for."""
    m = da.Mechanism("ball", gravity=(0, 0, -G))
    slide = m.add_body("slide")
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("z", da.Prismatic("z"), slide, m.add_body("ball", mass=2.0))
    m.add_contact("floor", "ball", radius=0.1)
    if loops:
        m.merge(da.zoo.four_bar(), prefix="other ")
    return m.compile()


def pendulum(length=0.8):
    """A bob on two slides and a rope from the origin."""
    m = da.Mechanism("pendulum", gravity=(0, -G, 0))
    cart, bob = m.add_body("cart"), m.add_body("bob", mass=3.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bob)
    m.add_rope("rope", [m.ground, bob], length=length)
    return m.compile()


def four_bar_over_a_shelf(height):
    """A four-bar, the middle of whose coupler must stay above a height."""
    m = da.zoo.four_bar()
    shelf = m.ground.at(0, height, 0, rotation=Rotation.from_euler("x", -np.pi / 2))  # its z is up, y here
    m.add_contact("shelf", m.bodies["coupler"].at(0.3, 0, 0), on=shelf)
    return m.compile()


def test_a_ball_stops_on_its_floor_and_slides_along_it():
    """Drawn below the floor it comes to rest at z = radius, below the hand."""
    system = ball()
    drag = Dragging(system)
    moved = drag.drag(np.array([0.0, 1.0]), [Pull("ball", (0, 0, 0), (0.7, 0.0, -0.5))], seconds=5.0)
    np.testing.assert_allclose(moved.q, [0.7, 0.1], atol=1e-6)
    assert moved.touching == ("floor",)
    assert moved.note == "stopped by contact 'floor'"
    again = drag.drag(moved.q, [Pull("ball", (0, 0, 0), (-0.4, 0.0, -0.5))], seconds=5.0)
    np.testing.assert_allclose(again.q, [-0.4, 0.1], atol=1e-6)
    up = drag.drag(again.q, [Pull("ball", (0, 0, 0), (-0.4, 0.0, 0.3))], seconds=5.0)
    np.testing.assert_allclose(up.q, [-0.4, 0.3], atol=1e-4)
    assert up.touching == ()
    free = drag.drag(moved.q, [Slide("z", -0.2)], limits=False, seconds=5.0)
    assert abs(free.q[1] + 0.2) < 1e-6


def test_a_rope_holds_the_bob_on_a_circle():
    """Drawn beyond its rope a bob comes to the point of the circle nearest to the hand; inside it is free."""
    system = pendulum()
    drag = Dragging(system)
    for angle in np.linspace(0, 2 * np.pi, 9):
        way = np.array([np.cos(angle), np.sin(angle)])
        q = np.array([0.1, -0.2])
        for _ in range(5):
            moved = drag.drag(q, [Pull("bob", (0, 0, 0), (*(1.5 * way), 0.0))], seconds=5.0)
            q = moved.q
        assert np.hypot(*q) <= 0.8 * (1 + 1e-9)
        np.testing.assert_allclose(q, 0.8 * way, atol=2e-3)
        assert moved.touching == ("rope",)
    moved = drag.drag(q, [Pull("bob", (0, 0, 0), (0.2, 0.3, 0.0))], seconds=5.0)
    np.testing.assert_allclose(moved.q, [0.2, 0.3], atol=1e-4)


def test_a_crank_stops_where_the_coupler_meets_a_shelf():
    """Inside a loop the slider ends at the angle that plane trigonometry gives, with the loop closed."""
    crank, coupler, rocker, ground, height = 0.2, 0.6, 0.4, 0.55, 0.17
    system = four_bar_over_a_shelf(height)

    def middle(angle):
        pin, away = crank * np.exp(1j * angle), ground - crank * np.exp(1j * angle)
        inner = np.arccos((coupler**2 + abs(away) ** 2 - rocker**2) / (2 * coupler * abs(away)))
        return (pin + coupler / 2 * np.exp(1j * (np.angle(away) + inner))).imag - height

    truth = brentq(middle, -1.5, 0.6)
    drag = Dragging(system)
    q = drag.begin(system.state(*da.zoo.four_bar_start(0.6)).q)
    for _ in range(3):
        moved = drag.drag(q, [Slide("A", -1.5)], seconds=5.0)
        q = moved.q
    assert moved.touching == ("shelf",)
    assert moved.residual < 1e-9
    assert abs(q[0] - truth) < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_no_hand_pulls_it_through(seed):
    """Whatever is drawn where, contacts stay open to 1e-6 of the mechanism and loops closed to 1e-9."""
    rng = np.random.default_rng(seed)
    for system in (ball(), pendulum(), ball(loops=True)):
        drag = Dragging(system)
        bodies = [b for b in system.layout.bodies if b != "ground"]
        start = {"z": 0.4} if "z" in system.q_names else {}
        guess = {f"other {n}": x for n, x in (("A", 0.6), ("B", -0.1), ("D", 1.4))} if system.rows.of else {}
        x = system.assemble(guess={**start, **guess}) if system.rows.of else system.state(start)
        q = drag.begin(x.q)
        for _ in range(60):
            to = rng.uniform(-1.5, 1.5, 3)
            moved = drag.drag(q, [Pull(str(rng.choice(bodies)), tuple(rng.uniform(-0.2, 0.2, 3)), tuple(to))])
            q = moved.q
            assert drag.slack(q)[0].min() > -1e-6
            assert moved.residual < 1e-9


def test_what_begins_below_the_floor_may_leave_it_but_goes_no_deeper():
    system = ball()
    drag = Dragging(system)
    q = np.array([0.0, -0.3])
    down = drag.drag(q, [Slide("z", -1.0)], seconds=5.0)
    assert abs(down.q[1] + 0.3) < 1e-6
    assert drag.drag(q, [Slide("z", 0.5)], seconds=5.0).met


def test_the_page_is_told_and_a_run_begins_where_the_hand_set_it_down():
    """Set on the floor by hand, a ball stays there in a run; with bounds off the page is told that it is below it."""
    system = ball()
    desk = Desk(system, system.state({"z": 0.5}))
    desk.do("slide", name="z", to=-0.4)
    assert desk.last("pose")[0]["touching"] == ["floor"]
    desk.do("simulate", time=0.3)
    assert not desk.errors()
    run = desk.session.runs.kept["A"].run
    np.testing.assert_allclose(run["z"], 0.1, atol=1e-7)
    desk.do("limits", on=False).do("slide", name="z", to=-0.4)
    assert desk.last("pose")[0]["through"] == ["floor"]
    assert desk.last("pose")[0]["q"][1] == pytest.approx(-0.4, abs=1e-6)
    desk.session.close()
