"""Mechanisms whose structure changes, or that time drives, in the studio: runs, forces, reports and rails."""

import ast
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as da
from dalembert import zoo
from studio_desk import Desk

G = 9.81


@pytest.fixture
def opened():
    made = []

    def open_(system, x):
        made.append(Desk(system, x))
        assert made[-1].session.idle(60)
        return made[-1]

    yield open_
    for desk in made:
        desk.session.close()


def arrow(desk, name, body):
    return next(a for a in desk.last("forces")[0]["arrows"] if (a["name"], a["body"]) == (name, body))


def ball(height=1.0):
    m = da.Mechanism("ball", gravity=(0, 0, -G))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=2.0))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.5)
    system = m.compile()
    return system, system.state({"z": height})


def block(slope=0.5, friction=0.3):
    m = da.Mechanism("block", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    slider = m.add_body("slider")
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("z", da.Prismatic("z"), slider, m.add_body("block", mass=2.0))
    m.add_contact("slope", "block", friction=friction)
    system = m.compile()
    return system, system.state()


def test_a_ball_bounces_in_the_studio_and_its_hits_are_marked(opened):
    """First hit after √(2 h / g), 2 e of it later the second; what rests presses with its weight, upwards."""
    desk = opened(*ball())
    desk.do("simulate", time=3.0)
    assert not desk.errors()
    fall = np.sqrt(2 * 0.9 / G)
    times = [m["t"] for m in desk.last("more")[0]["marks"] if "hit" in m["text"]]
    np.testing.assert_allclose(times[:3], [fall, 2 * fall, 2.5 * fall], rtol=1e-9)
    desk.do("seek", slot="A", t=0.1)
    assert desk.last("report")[0]["mobility"] == 1
    assert not [a for a in desk.last("forces")[0]["arrows"] if a["name"] == "floor"]
    desk.do("seek", slot="A", t=2.9)
    assert desk.last("report")[0]["mobility"] == 0
    pressed = arrow(desk, "floor", "ball")
    np.testing.assert_allclose(pressed["force"], [0, 0, 2.0 * G], atol=1e-9)
    np.testing.assert_allclose(pressed["at"], [0, 0, 0], atol=1e-9)
    desk.do("slide", name="z", to=0.5)  # in the hand again: nothing touches
    assert desk.last("report")[0]["mobility"] == 1


def test_a_block_that_slides_feels_friction_against_its_way(opened):
    """Normal force m g cos a along z, friction μ of it against x, and the motion of Coulomb's law."""
    slope, mu = 0.5, 0.3
    desk = opened(*block(slope, mu))
    desk.do("simulate", time=1.0)
    desk.do("seek", slot="A", t=0.6)
    weight = 2.0 * G * np.cos(slope)
    np.testing.assert_allclose(arrow(desk, "slope", "block")["force"], [-mu * weight, 0, weight], atol=1e-8)
    a = G * (np.sin(slope) - mu * np.cos(slope))
    assert desk.last("pose")[0]["q"][0] == pytest.approx(a * 0.6**2 / 2, rel=1e-8)


def test_a_ball_on_a_slide_is_held_by_a_sphere_where_they_touch(opened):
    """A ball that slides along an axis rests on a fixed one: the normal is the line of centres."""
    m, up = da.Mechanism("rest", gravity=(0, 0, -G)), np.array([np.sin(0.4), 0, np.cos(0.4)])
    m.add_joint("x", da.Prismatic(up), m.ground, m.add_body("ball", mass=2.0))
    m.add_contact("touch", "ball", radius=0.1, on_radius=0.3)
    system = m.compile()
    desk = opened(system, system.state({"x": 0.4}))
    desk.do("simulate", time=0.1)
    desk.do("seek", slot="A", t=0.05)
    assert not desk.errors()
    pressed = arrow(desk, "touch", "ball")
    np.testing.assert_allclose(pressed["force"], 2.0 * G * np.cos(0.4) * up, atol=1e-9)
    np.testing.assert_allclose(pressed["at"], 0.3 * up, atol=1e-9)


def test_rods_and_ropes_pull_at_both_ends(opened):
    """A pendulum at rest hangs with m g cos a in its rod; a taut rope does the same."""
    angle = 0.7
    m = da.Mechanism("pendulum", gravity=(0, -G, 0))
    cart, bob = m.add_body("cart"), m.add_body("bob", mass=3.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bob)
    m.add_rod("rod", m.ground, bob, length=1.0)
    system = m.compile()
    desk = opened(system, system.state({"x": np.sin(angle), "y": -np.cos(angle)}))
    pull = 3.0 * G * np.cos(angle) * np.array([-np.sin(angle), np.cos(angle), 0])
    np.testing.assert_allclose(arrow(desk, "rod", "bob")["force"], pull, atol=1e-9)
    np.testing.assert_allclose(arrow(desk, "rod", "ground")["force"], -pull, atol=1e-9)


def test_live_simulation_lands(opened):
    """Step by step in real time the ball comes to rest on its floor, and its weight is shown."""
    desk = opened(*ball(0.101))
    desk.session.do({"do": "live"}, 1)
    end = time.monotonic() + 60
    while desk.session.bench.x.t < 0.2 and time.monotonic() < end:
        time.sleep(0.02)
    desk.do("pause")
    desk.session.lanes["live"].idle(10)
    assert desk.last("pose")[0]["q"][0] == pytest.approx(0.1, abs=1e-7)
    assert not desk.errors()


def test_loops_of_driven_mechanisms_are_closed_at_their_own_time(opened):
    m = zoo.four_bar()
    m.add_driver("turning", "A", lambda t: 0.5 + 2 * t)
    system = m.compile()
    desk = opened(system, system.assemble(guess={"A": 0.5, "B": -0.1, "D": 1.4}))
    desk.do("simulate", time=1.0)
    desk.do("seek", slot="A", t=0.8)
    assert desk.last("pose")[0]["q"][0] == pytest.approx(2.1, abs=1e-8)
    assert desk.last("pose")[0]["residual"] < 1e-8
    desk.do("reset")
    assert desk.last("pose")[0]["q"][0] == pytest.approx(0.5, abs=1e-9)
    assert desk.last("pose")[0]["residual"] < 1e-9


def rails(scene):
    """{joint: (from, to)} along the axis of rails on the ground."""
    out = {}
    for shape in scene["bodies"][0]["shapes"]:
        if shape["kind"] == "cylinder" and "joint" in shape:
            w, x, y, z = shape["quaternion"]
            axis = Rotation.from_quat([x, y, z, w]).as_matrix()[:, 2]
            middle = np.dot(axis, shape["position"])
            ends = middle - shape["size"][1] / 2, middle + shape["size"][1] / 2
            out[shape["joint"]] = sorted(np.multiply(ends, np.sign(axis.sum())))
    return out


def test_rails_reach_as_far_as_the_hand_and_the_run_go(opened):
    """What slides stays on its rail: in a run, and where it is led by hand."""
    entry = zoo.CATALOG["cartesian_pendulum"]
    system = entry.build().compile()
    desk = opened(system, system.state(*entry.start()))
    start = rails(desk.last("model")[0]["scene"])["x"]
    desk.do("simulate", time=2.0)
    run = desk.session.runs.kept["A"].run
    low, high = rails(desk.last("shapes")[0]["scene"])["x"]
    assert start[0] > run["x"].min()  # it was too short
    assert low < run["x"].min()
    assert high > run["x"].max()
    before = len(desk.events("shapes"))
    desk.do("slide", name="x", to=0.95)
    assert len(desk.events("shapes")) == before  # not while the hand moves it
    desk.do("release")
    assert rails(desk.last("shapes")[0]["scene"])["x"][1] > 0.95


def test_the_script_holds_names_as_strings_whatever_they_are(opened):
    """A name from a file that would be code is quoted."""
    evil = 'A": 0}); print("done"); system["'
    m = da.Mechanism("evil", gravity=(0, -G, 0))
    m.add_joint(evil, da.Revolute("z"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0)))
    system = m.compile()
    desk = opened(system, system.state())
    desk.do("slide", name=evil, to=0.3)
    desk.do("script")
    tree = ast.parse(desk.last("script")[0]["text"])
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert "system.walk" in called
    assert "print" not in called
    assert evil in {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_a_slider_that_is_sent_very_far_does_not_hold_up_the_hand(opened):
    """A crank led to a million radians turns a while; the next wish is answered at once."""
    system = zoo.four_bar().compile()
    desk = opened(system, system.state(*zoo.four_bar_start()))
    desk.do("slide", name="A", to=1e6)
    assert desk.last("pose")[0]["more"]
    assert desk.last("pose")[0]["residual"] < 1e-9
    desk.do("slide", name="A", to=1e200)
    desk.do("reset")
    assert desk.last("pose")[0]["source"] == "reset"
