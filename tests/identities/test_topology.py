"""A mechanism is the same however it is described: joints in any order, any tree, any side of a joint first."""

import numpy as np
import pytest
from orders import described, differences, joints_of

import dalembert as da
from dalembert.mechanism.joints import JOINT_TYPES, Fixed
from dalembert.mechanism.joints.inverse import inverse
from dalembert.mechanism.topology import with_tree
from dalembert.symbols import array
from random_loops import random_closed
from random_mechanisms import random_joint


@pytest.mark.parametrize("seed", [*range(12), 91238])  # the last one is singular where it stands
def test_answers_do_not_depend_on_the_order_of_description_or_on_the_tree(seed):
    """Accelerations, energies, mobility and reactions of closed mechanisms, of two other trees each."""
    assert not differences(seed)


@pytest.mark.parametrize("kind", JOINT_TYPES, ids=lambda k: k.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_an_inverse_joint_is_the_inverse_motion_of_the_same_coordinates(kind, seed):
    rng = np.random.default_rng([seed, 5])
    joint = random_joint(rng, kind)
    other = inverse(joint)
    q = joint.plus(array(joint.neutral()), array(rng.uniform(-2, 2, joint.nv)))
    there, back = (
        j.orientation.astype(float) @ j.transform(q).R.astype(float) @ j.orientation.T.astype(float)
        for j in (joint, other)
    )
    np.testing.assert_allclose(there @ back, np.eye(3), atol=1e-14)
    T, U = (j.transform(q).p.astype(float) @ j.orientation.T.astype(float) for j in (joint, other))
    np.testing.assert_allclose(there @ U, -T, atol=1e-14)
    again = inverse(other)
    assert type(again) is type(joint)
    np.testing.assert_array_equal(again.transform(q).matrix(), joint.transform(q).matrix())
    if not isinstance(joint, Fixed):
        assert repr(again) == repr(joint)


def four_bar(order="ABCD", **tree):
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    bar = {
        n: m.add_body(n, mass=1.0 + L, com=(L / 2, 0, 0), inertia=da.rod_inertia(1.0 + L, L))
        for n, L in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.4))
    }
    ends = {
        "A": (m.ground, bar["crank"]),
        "B": (bar["crank"].at(0.2), bar["coupler"]),
        "C": (bar["coupler"].at(0.6), bar["rocker"].at(0.4)),
        "D": (bar["rocker"], m.ground.at(0.55)),
    }
    for name in order:
        m.add_joint(name, da.Revolute("z"), *ends[name], tree=tree.get(name))
    return m


def test_the_tree_is_short_follows_names_and_is_printed():
    for order in ("ABCD", "DCBA", "CADB"):
        system = four_bar(order).compile()
        assert set(system.layout.joints) == {"A", "B", "D"}
        assert [c.name for c in system.description.constraints] == ["C"]
    assert "D: Revolute('z') ← rocker" in str(four_bar())
    assert "constraints: C (Revolute('z') between coupler and rocker)" in str(four_bar())
    assert set(four_bar(C=True).compile().layout.joints) == {"A", "C", "D"}
    assert set(four_bar(A=False).compile().layout.joints) == {"B", "C", "D"}


def test_joints_that_something_needs_are_in_the_tree():
    m = four_bar()
    m.add_motor("motor", "C")
    assert "C" in m.compile().layout.joints
    m.add_driver("lead", "B", 0.3)
    m.add_coupling("gear", {"A": 1.0, "D": 2.0})
    with pytest.raises(da.DescriptionError, match="closes a loop in which every other joint needs its coordinate too"):
        m.compile()
    n = four_bar(C=False)
    n.add_servo("hold", "C", stiffness=1.0)
    with pytest.raises(da.DescriptionError, match=r"joint 'C' is to close a loop \(tree=False\), but needs"):
        n.compile()


def test_a_new_branch_leaves_the_tree_as_it_was():
    m = four_bar()
    before = list(with_tree(m).joints)
    m.add_joint("AA", da.Revolute("z"), "coupler", m.add_body("bob", mass=1.0, com=(0, -0.1, 0)))
    assert [name for name in with_tree(m).joints if name != "AA"] == before


@pytest.mark.parametrize("chunk", range(4))
def test_edits_elsewhere_leave_the_tree_as_it_was(chunk):
    """Branches, springs, frames and wrenches added to random mechanisms; only what needs a coordinate changes it."""
    for seed in range(25 * chunk, 25 * chunk + 25):
        rng = np.random.default_rng([seed, 77])
        first, _ = random_closed(seed, int(rng.integers(2, 7)), int(rng.integers(1, 3)))
        joints = joints_of(first.layout.mechanism)
        m = described(first.layout.mechanism, joints, rng.permutation(list(joints)))
        before = list(with_tree(m).joints)
        for k in range(4):
            on = m.bodies[rng.choice([b.name for b in m.bodies.values() if b is m.ground or b.mass != 0.0])]
            bob = m.add_body(f"bob {k}", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
            m.add_joint(f"{'a' * k} new {k}", random_joint(rng, da.Revolute), *rng.permutation([on, bob]).tolist())
            m.add_spring(f"spring {k}", on.at(1, 0, 0), bob, stiffness=3.0)
            m.add_wrench(f"wrench {k}", bob, force=(1, 0, 0))
        assert [name for name in with_tree(m).joints if " new " not in name] == before, seed


def test_the_report_names_the_tree():
    report = four_bar().compile("casadi").report({})
    assert (report.tree, report.closing) == (("A", "B", "D"), ("C",))
    assert "tree:                 A, B, D; C closes a loop" in str(report)
    assert "tree:" not in str(da.zoo.chain(2).compile("casadi").report({}))


def test_massless_bodies_carry_others_whatever_the_costs():
    """A massless cardan cross between two bodies that other joints would reach first."""
    m = da.Mechanism("cross")
    cross = m.add_body("cross")
    one, two = (m.add_body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in ("one", "two"))
    m.add_joint("a", da.Revolute("x"), m.ground, one)
    m.add_joint("b", da.Revolute("y"), one, cross)
    m.add_joint("c", da.Revolute("x"), cross, two, stiffness=1.0)
    m.add_joint("d", da.Spherical(), two.at(0, 0, 1), m.ground.at(0, 0, 1))
    assert set(m.compile().layout.joints) == {"a", "b", "c"}


def test_springs_and_dampers_act_in_a_joint_that_closes_a_loop():
    """The same four-bar with a spring in C, in the tree and cut."""
    accelerations = []
    for cut in (None, False):
        m = four_bar(**({} if cut is None else {"C": False}))
        a = m.joints["C"]
        m.joints["C"] = type(a)(
            **{f: getattr(a, f) for f in a.__dataclass_fields__}
            | {"stiffness": np.array([3.0]), "damping": np.array([0.2]), "rest": np.array([0.4])}
        )
        system = m.compile("casadi")
        assert ("C" in system.layout.joints) == (cut is None)
        x = system.assemble({"A": 0.6} if "A" in system.layout.joints else {}, {"A": 1.0}, guess={"D": -1.1})
        accelerations.append(system.frame_acceleration(x, "rocker", system.acceleration(x).vdot))
    np.testing.assert_allclose(accelerations[0], accelerations[1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("cut", "ABCD")
def test_torsion_springs_on_every_joint_of_a_loop_act_whichever_is_cut(cut):
    """The four-bar with four springs, of parameters too: accelerations and energy as with another joint cut."""
    found = []
    for tree in ({}, {cut: False}):
        m = four_bar(**tree)
        k = m.add_parameter("k", 3.0)
        for n, joint in enumerate("ABCD"):
            m.add_torsion_spring(f"spring {joint}", joint, stiffness=k * (1 + n), damping=0.1 * n, rest=0.2 * n)
        m.add_torsion_spring("play", "D" if cut != "D" else "A", stiffness=da.Curve([-1, 0, 1], [-1, 0, 2]))
        system = m.compile("casadi")
        y = four_bar().compile("casadi").assemble({"A": 0.6}, v={"A": 2.0}, guess={"D": -1.1})
        x = system.state({n: y[n] for n in system.layout.joints}, {n: y.rate(n) for n in system.layout.joints})
        vdot = system.acceleration(x, p={"k": 2.0}).vdot
        found.append([*system.frame_acceleration(x, "rocker", vdot, p={"k": 2.0}), system.potential_energy(x)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-11)


def test_a_joint_that_closes_a_loop_has_a_position_and_a_history():
    system = four_bar().compile("casadi")
    x = system.assemble({"A": 0.6}, v={"A": 2.0}, guess={"D": -1.1})
    assert x["C"] == pytest.approx(-x["D"] - x["A"] - x["B"], abs=1e-12)
    assert x.rate("C") == pytest.approx(-x.rate("D") - x.rate("A") - x.rate("B"), abs=1e-12)
    run = da.simulate(system, x, 0.5)
    np.testing.assert_allclose(run["C"], -run["D"] - run["A"] - run["B"], atol=1e-9)
    np.testing.assert_allclose(run.rate("C"), -run.rate("D") - run.rate("A") - run.rate("B"), atol=1e-9)


def test_functions_of_the_state_may_use_a_joint_that_closes_a_loop():
    """A potential of C, which is cut, pulls as a spring in C does."""
    m = four_bar(C=False)
    m.add_potential("spring", lambda s: 1.5 * s["C"] ** 2)
    n = four_bar(C=True)
    n.add_potential("spring", lambda s: 1.5 * s["C"] ** 2)
    found = []
    for one in (m, n):
        s = one.compile("casadi")
        x = s.assemble({"A": 0.6}, guess={"D": -1.1})
        found.append((s.potential_energy(x), *s.frame_acceleration(x, "rocker", s.acceleration(x).vdot)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-11)


def test_reactions_are_found_by_the_name_of_the_joint_whichever_is_cut():
    wanted = None
    for tree in ({}, {"B": False}, {"A": False}, {"D": False}):
        system = four_bar(**tree).compile("casadi")
        held = "A" if "A" in system.layout.joints else "B"
        base = four_bar().compile("casadi")
        y = base.assemble({"A": 0.6}, guess={"D": -1.1})
        x = system.state({name: y[name] for name in system.layout.joints})
        assert held in system.layout.joints
        forces = system.constraint_forces(x)
        found = np.array([forces.joints[name] for name in "ABCD"])
        wanted = found if wanted is None else wanted
        np.testing.assert_allclose(found[:, [2, 3, 4]], wanted[:, [2, 3, 4]], atol=1e-12 * np.abs(wanted).max())
