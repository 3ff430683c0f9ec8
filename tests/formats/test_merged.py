"""A mechanism that became a part of another moves as it did alone."""

import copy

import casadi as ca
import numpy as np
import pytest
from test_model_roundtrip import assert_same, bits, everything

import dalembert as da
from dalembert.formats.model import read_text, text_of
from random_loops import random_closed
from random_mechanisms import random_state, random_tree


def same(alone, part, seeds=2):
    """Equal equations at random states, the part's states having the part's names in the same order."""
    for seed in range(seeds):
        x = random_state(alone, seed)
        x = alone.state(x.q, x.v, 0.37 + seed)
        u = np.random.default_rng(seed).normal(size=len(alone.u_names))
        for a, b in zip(bits(alone, x, u), bits(part, part.state(x.q, x.v, x.t), u)):
            np.testing.assert_allclose(b, a, atol=1e-12 * max(1.0, np.abs(a).max(initial=0.0)))


def test_every_kind_of_element_can_be_merged_saved_and_copied():
    """Springs, laws, drivers, loops, frames, parameters, inputs, states: prefixed, and the equations are the same."""
    one = everything()
    m = da.Mechanism("whole", gravity=(0, 0, 0))
    m.merge(one, "part ")
    L, g = m.parameters.symbols["part L"], m.parameters.symbols["part t"]
    m.gravity = (0, -0.1 * g[1] * ca.sqrt(L), -9.81)
    for kind in ("joints", "constraints", "forces", "frames", "inputs", "states"):
        assert list(getattr(m, kind)) == ["part " + n for n in getattr(one, kind)]
    alone, part = one.compile("casadi"), m.compile("casadi")
    assert part.row_names == ["part " + n for n in alone.row_names]
    p = {"L": 0.61, "spring rate": 55.0, "t": [0.3, -0.2]}
    same(alone.with_parameters(p), part.with_parameters({"part " + n: x for n, x in p.items()}), 1)
    again = read_text(text_of(m))
    assert text_of(again) == text_of(m)


def test_a_merged_mechanism_with_functions_of_its_parameters_can_be_copied():
    text = """
dalembert: 1
parameters: {k: 3.0}
bodies: {rod: {mass: 1, com: [0.5, 0, 0]}}
joints: {A: {type: revolute, axis: z, parent: ground, child: rod}}
forces: {law: {type: joint force, joint: A, value: -k*sin(q(A))}, motor: {type: motor, joint: A}}
"""
    one = read_text(text)
    m = da.Mechanism("whole")
    for prefix in "ab":
        m.merge(one, prefix)
    assert_same(m, copy.deepcopy(m), 1)


@pytest.mark.parametrize("seed", [1])
def test_a_mechanism_mounted_elsewhere_moves_the_same_where_gravity_turns_with_it(seed):
    m, one = da.Mechanism("whole"), random_closed(seed, bodies=4)[0].layout.mechanism
    R = da.rotation(np.random.default_rng(seed).normal(size=3), 0.3 + seed)
    m.gravity = R @ np.array(one.gravity, dtype=float)
    m.merge(one, at=m.ground.at(1, -2, 3, rotation=R))
    same(one.compile("casadi"), m.compile("casadi"))


def test_a_part_on_a_moving_body_is_the_tree_built_there():
    """Two legs on a floating trunk: mass matrix and forces of the same tree described by hand."""

    def leg(m, base, prefix, L):
        thigh = m.add_body(prefix + "thigh", mass=2.0, com=(0, 0, -L / 2), inertia=da.rod_inertia(2.0, L, axis="z"))
        m.add_joint(prefix + "hip", da.Revolute("y"), base, thigh, damping=0.1)
        shank = m.add_body(prefix + "shank", mass=1.0 + L, com=(0, 0, -0.2))
        m.add_joint(prefix + "knee", da.Revolute("y"), thigh.at(0, 0, -L), shank)
        m.add_spring(prefix + "tendon", base, shank.at(0, 0, -0.3), stiffness=100.0 * L, rest_length=0.2)
        m.add_joint_force(prefix + "law", prefix + "knee", lambda s: -3.0 * ca.sin(s[prefix + "knee"]) * L)
        m.add_motor(prefix + "motor", prefix + "hip")

    def trunk(m):
        m.add_joint("float", da.Free(), m.ground, m.add_body("trunk", mass=10.0, inertia=(1, 2, 2.5)))
        places = [m.bodies["trunk"].at(0, y, 0, rotation=da.rotation("x", 0.2)) for y in (0.1, -0.1)]
        return places, m.add_parameter("L", 0.4)

    by_hand, merged, alone = da.Mechanism("legs"), da.Mechanism("legs"), da.Mechanism("leg")
    leg(alone, alone.ground, "", alone.add_parameter("L", 0.7))
    places, L = trunk(by_hand)
    for at, prefix in zip(places, ("left ", "right ")):
        leg(by_hand, at, prefix, L)
    places, L = trunk(merged)
    parts = [merged.merge(alone, prefix, at=at, parameters={"L": L}) for at, prefix in zip(places, ("left ", "right "))]
    assert parts[1]["shank"] is merged.bodies["right shank"]
    assert alone.joints.keys() == {"hip", "knee"}
    one, two = by_hand.compile("casadi"), merged.compile("casadi")
    assert (one.q_names, one.u_names, one.p_names) == (two.q_names, two.u_names, two.p_names)
    same(one, two)
    same(one.with_parameters({"L": 0.55}), two.with_parameters({"L": 0.55}))


def test_merging_twice_into_parts_of_parts_keeps_names_apart():
    one = random_tree(3, 3)
    two, three = da.Mechanism("two"), da.Mechanism("three")
    two.merge(one, "a")
    two.merge(one, "b")
    three.merge(two, "x")
    three.merge(three, "y")
    system = three.compile("casadi")
    assert system.nv == 4 * one.compile("casadi").nv
    M = system.mass_matrix(system.state())
    n = system.nv // 4
    np.testing.assert_array_equal(M[:n, :n], M[-n:, -n:])


def test_what_cannot_be_merged_is_refused_before_anything_is_added():
    one = random_tree(1, 3)
    m = da.Mechanism("whole")
    m.merge(one, "a")
    before = str(m)
    with pytest.raises(da.DescriptionError, match="there is a body 'a"):
        m.merge(one, "a")
    with pytest.raises(da.DescriptionError, match="without dots"):
        m.merge(one, "a.")
    with pytest.raises(da.DescriptionError, match="needed: a Mechanism"):
        m.merge("leg")
    with pytest.raises(da.UnknownName, match="asks for parameter 'length'"):
        m.merge(one, "b", parameters={"length": 1.0})
    with pytest.raises(da.DescriptionError, match="belongs to another mechanism"):
        m.merge(one, "b", at=one.ground)
    assert str(m) == before
