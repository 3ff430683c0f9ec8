"""Shapes of bodies, states with names and notes of readers: what they refuse, and that they travel."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.spatial import Transform


def arm() -> da.Mechanism:
    m = da.Mechanism("arm")
    rod = m.add_body("rod", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    m.add_joint("ball", da.Spherical(), m.ground, rod)
    m.add_joint("slide", da.Prismatic("z"), rod, m.add_body("bead", mass=1.0))
    m.add_motor("push", "slide")
    rod.add_shape("box", (0.1, 0.2, 0.3), at=(0, 0, -0.5), rotation=da.rotation("x", 0.3), colour=(1, 0, 0, 0.5))
    m.ground.add_shape("mesh", file="base.stl", scale=(0.001, 0.001, 0.001), name="base")
    m.add_state("home", q={"ball": da.rotation("z", 0.4), "slide": 0.2}, v={"ball.wx": 3.0}, u={"push": 2.0}, t=0.5)
    m.notes.append(da.Note("arm.urdf", 12, "<sensor> 'imu'", "sensors are not modelled"))
    return m


COPIES = {
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "deepcopy": copy.deepcopy,
    "snapshot": lambda m: m.snapshot(),
}


@pytest.mark.parametrize("how", COPIES)
def test_shapes_states_and_notes_survive(how):
    m = arm()
    other = COPIES[how](m)
    (shape,) = other.bodies["rod"].shapes
    assert (shape.kind, shape.size, shape.colour) == ("box", (0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 0.5))
    assert np.array_equal(shape.pose.R, da.rotation("x", 0.3))
    assert np.array_equal(shape.pose.p, [0, 0, -0.5])
    (mesh,) = other.ground.shapes
    assert (mesh.file, mesh.scale, mesh.name) == ("base.stl", (0.001, 0.001, 0.001), "base")
    assert str(other.notes[0]) == "arm.urdf:12: <sensor> 'imu': sensors are not modelled"
    x, y = other.compile("casadi").named_state("home"), m.compile("casadi").named_state("home")
    assert np.array_equal(x.q, y.q)
    assert x.rate("ball")[0] == 3.0
    assert x.t == 0.5
    assert other.states["home"].u == {"push": (2.0,)}
    if how != "snapshot":
        m.ground.add_shape("sphere", 0.1)
        assert len(other.ground.shapes) == 1
    m.add_state("other")
    m.notes.clear()
    assert list(other.states) == ["home"]
    assert len(other.notes) == 1


def test_a_shape_moves_with_a_frame():
    T = Transform(da.rotation("z", np.pi / 2), np.array([1.0, 0.0, 0.0]))
    moved = da.Shape("sphere", 0.1, (np.eye(3), (1, 0, 0)), name="ball").moved(T)
    assert np.allclose(moved.pose.p, [1, 1, 0])
    assert moved.name == "ball"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "bix"}, "Did you mean 'box'"),
        ({"kind": "box", "size": (1, 2)}, r"size of a box has 2 number\(s\); needed: 3"),
        ({"kind": "sphere", "size": -1.0}, "no length may be negative"),
        ({"kind": "sphere", "size": float("nan")}, "finite"),
        ({"kind": "mesh"}, "a mesh needs one"),
        ({"kind": "sphere", "size": 1.0, "file": "a.stl"}, "others have none"),
        ({"kind": "sphere", "size": 1.0, "colour": (1, 0, 0)}, "colour"),
        ({"kind": "sphere", "size": 1.0, "colour": (2, 0, 0, 1)}, "from 0 to 1"),
        ({"kind": "sphere", "size": 1.0, "rotation": 2 * np.eye(3)}, "not a rotation"),
        ({"kind": "sphere", "size": 1.0, "at": (1, 2)}, "three numbers"),
    ],
)
def test_what_no_shape_has_is_refused(given, message):
    with pytest.raises(da.DescriptionError, match=message):
        da.Mechanism().ground.add_shape(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": {"slid": 1.0}}, "Did you mean 'slide'"),
        ({"q": {"ball": [1.0, 0.0]}}, r"2 number\(s\); needed: 4"),
        ({"v": {"ball": [1.0]}}, r"1 number\(s\); needed: 3"),
        ({"u": {"pull": 1.0}}, "asks for input 'pull'"),
        ({"u": {"push": [1.0, 2.0]}}, r"needed: 1"),
        ({"q": {"slide": float("inf")}}, "finite"),
        ({"t": "now"}, "time t of state 'x'"),
        ({"q": [1.0]}, "mapping"),
    ],
)
def test_what_no_state_has_is_refused(given, message):
    with pytest.raises(da.DescriptionError, match=message):
        arm().add_state("x", **given)


def test_states_are_known_by_name():
    with pytest.raises(da.DescriptionError, match="Did you mean 'home'"):
        arm().compile("casadi").named_state("hom")
    m = arm()
    with pytest.raises(da.DescriptionError, match="there is a state 'home' already"):
        m.add_state("home")
