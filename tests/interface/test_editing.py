"""Copies of mechanisms, and elements that are removed, renamed and replaced: the equations are those of one made so."""

import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from random_mechanisms import random_state

sys.path.append(str(Path(__file__).parents[1] / "formats"))
from test_model_roundtrip import assert_same, everything


def machine(arm="arm", hinge="A", spring="spring", mass=2.0, damping=0.1) -> da.Mechanism:
    """A closed chain in which everything refers to one body, one joint and one spring, functions included."""
    m = da.Mechanism("machine", gravity=(0, -9.81, 0))
    k = m.add_parameter("k", 30.0)
    a = m.add_body(arm, mass=mass, com=(0.3, 0, 0), inertia=da.rod_inertia(2.0, 0.6))
    m.add_joint(hinge, da.Revolute("z"), m.ground, a, damping=damping, limits=(-3, 3), friction=da.Friction(0.1))
    b = m.add_body("b", mass=1.0, com=(0.2, 0, 0), inertia=da.rod_inertia(1.0, 0.4))
    m.add_joint("B", da.Planar("z"), a.at(0.6), b)
    tip = m.add_frame("tip", a.at(0.5, 0.1))
    m.close_loop("C", da.Revolute("z"), b.at(0.4), m.ground.at(0.7))
    m.add_spring(spring, a.at(0.2), m.ground.at(1, 1), stiffness=k, rest_length=0.1)
    m.add_joint_force("law", "B", lambda s: ca.vertcat(-s[hinge], s.length(spring), s.velocity(tip)[1] + s.rate(hinge)))
    m.add_wrench("drag", arm, force=lambda s: -s.velocity(arm) - s.velocity(a.at(0.1)))
    m.add_coupling("gear", {hinge: 2.0, "B.angle": -1.0})
    m.add_torsion_spring("coil", hinge, stiffness=3.0)
    m.add_motor("motor", hinge)
    m.add_constraint("own", holonomic=lambda s: s["B.x"] * s[hinge])
    m.add_cut_joint_spring("bearing", "C", damping=0.2)
    m.add_state("home", q={hinge: 0.3}, v={"B.x": 0.1})
    return m


def test_a_copy_of_everything_says_the_same_and_is_its_own():
    m = everything()
    other = m.copy()
    assert_same(m, other)
    other.add_parameter("another", 1.0)
    assert "another" not in m.parameters.symbols
    assert all(other.bodies[n] is not m.bodies[n] for n in m.bodies)


def test_hard_points_are_copied_with_their_parameters():
    m = da.Mechanism("drawn", gravity=(0, -9.81, 0))
    m.add_points({"O": (0, 0, 0), "P": (0.3, 0.1, 0)}, parameters=True)
    m.add_joint(
        "J", da.Revolute("z"), m.ground, m.add_body("bar", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1)), at="O"
    )
    m.add_joint("K", da.Revolute("z"), "bar", m.add_body("end", mass=1.0, inertia=(1, 1, 1)), at="P")
    other = m.copy()
    other.add_joint("L", da.Revolute("z"), "end", other.add_body("last", mass=1.0, inertia=(1, 1, 1)), at="P")
    assert list(other.points) == ["O", "P"]
    other.remove("last", dependents=True)
    other.replace("bar", mass=1.0)
    assert_same(m, other)


@pytest.mark.parametrize(
    ("old", "new", "kind", "made"),
    [
        ("arm", "lever", "body", {"arm": "lever"}),
        ("A", "pivot", None, {"hinge": "pivot"}),
        ("spring", "coil spring", None, {"spring": "coil spring"}),
    ],
)
def test_a_renamed_element_is_the_one_described_under_that_name(old, new, kind, made):
    m = machine()
    before = m.compile("casadi")
    m.rename(old, new, kind=kind)
    assert_same(machine(**made), m)
    x = random_state(before, 1)
    after = m.compile("casadi")
    np.testing.assert_array_equal(before.applied_forces(x), after.applied_forces(after.state(x.q, x.v)))


def test_replaced_bodies_and_joints_are_those_described_with_other_values():
    m = machine()
    m.replace("arm", mass=5.0)
    m.replace("A", damping=0.7)
    assert_same(machine(mass=5.0, damping=0.7), m)
    m.replace("A", a=m.ground.at(0.1), tree=True)
    assert float(m.joints["A"].parent.T.p[0]) == 0.1
    m.replace("A", joint=da.Prismatic("x"))
    assert m.joints["A"].joint.kind == "prismatic"
    assert m.compile("casadi").nv == 4


def test_renaming_a_motor_a_frame_a_constraint_and_a_state():
    m = machine()
    m.rename("motor", "drive")
    m.rename("tip", "end")
    m.rename("C", "closure")
    m.rename("home", "start")
    system = m.compile("casadi")
    assert system.u_names == ["drive"]
    assert any(name.startswith("closure.") for name in system.row_names)
    assert system.named_state("start")["A"] == 0.3
    assert "end" in m.frames


def test_what_others_are_made_with_is_removed_with_them_or_not_at_all():
    m = machine()
    with pytest.raises(da.DescriptionError, match=r"joint 'A' is part of .*'gear'.*'motor'.*; remove these before"):
        m.remove("A")
    assert m.remove("motor") == ["force 'motor'"]
    assert m.compile("casadi").u_names == []
    gone = m.remove("C", dependents=True)
    assert gone == ["constraint 'C'", "force 'bearing'"]
    gone = set(m.remove("arm", dependents=True))
    assert {"body 'arm'", "joint 'A'", "joint 'B'", "frame 'tip'", "constraint 'gear'", "force 'coil'"} <= gone
    assert set(m.carriers) == set()


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.remove("arn"), "there is no element 'arn'; known: "),
        (lambda m: m.remove("ground"), "the ground belongs to every mechanism"),
        (lambda m: m.rename("A", "B"), "there is a joint 'B' already"),
        (lambda m: m.rename("A", "a.b"), "joint 'a.b' has a dot in its name"),
        (lambda m: m.replace("spring", stiffness=2.0), "force 'spring' cannot be replaced; m.remove('spring')"),
        (lambda m: m.replace("arm", mass=-1.0), "the mass of body 'arm' is -1; it must be at least 0"),
        (lambda m: (m.add_motor("b", "A"), m.remove("b")), "'b' is a body and a force; pass kind='body', or 'force'."),
    ],
)
def test_edits_that_cannot_be_made_are_refused_and_change_nothing(act, message):
    m = machine()
    with pytest.raises(da.DescriptionError) as caught:
        act(m)
    assert message in str(caught.value)
    if "b" not in m.forces:
        assert_same(machine(), m)
