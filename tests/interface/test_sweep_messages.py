"""Sweeps, walks and held frames: what is refused, and what is said where something cannot be reached."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


@pytest.fixture(scope="module")
def system():
    return zoo.four_bar().compile()


@pytest.fixture(scope="module")
def first(system):
    return system.state(*zoo.four_bar_start(0.6))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"along": {"a": [1.0]}}, "sweep asks for coordinate or parameter 'a'; known: A, B, D, t"),
        ({"along": {"C": [1.0]}}, "sweep asks for coordinate or parameter 'C'"),
        ({"along": {}}, "needs something to lead"),
        ({"along": {"A": []}}, "has no values"),
        ({"along": {"A": [0.0, np.nan]}}, "nan"),
        ({"along": {"A": [0.0], "B": [0.0, 1.0]}}, "differ in number"),
        ({"along": {"A": [0.6]}, "held": {"A": 0.6}}, "both swept and held"),
        ({"along": {"A": [0.6]}, "held": {"E": 0.6}}, "held asks for coordinate 'E'"),
        ({"along": {"A": [0.6]}, "speed": {"B": 1.0}}, "speed asks for coordinate or frame that is led 'B'"),
        ({"along": {"A": [0.6]}, "speed": [1.0, 2.0]}, "speed of 'A' has shape"),
        ({"along": {"A": [0.6], "D": [1.0]}, "speed": 1.0}, "speed is one value for A, D"),
        ({"along": {"t": [0.6]}, "speed": 1.0}, "which is no coordinate"),
        ({"frames": {"coupler": [0.6, 0.1]}}, "needed: a point"),
        ({"frames": {"copler": [(0.6, 0.1, 0)]}}, "Did you mean 'coupler'"),
        ({"frames": {"coupler": []}}, "a list of points or poses"),
        ({"frames": {"coupler": [(0.1, 0, 0), np.eye(4)]}}, "differ in kind"),
        ({"frames": {"coupler": {"position": (0.1, 0, 0)}}}, "given one goal"),
        ({"along": {"A": [0.6]}, "u": {"torqe": 1.0}}, "Did you mean 'torque'"),
    ],
)
def test_bad_sweeps_are_refused_by_name(system, first, arguments, message):
    with pytest.raises(da.DalembertError, match=message.replace("(", r"\(")):
        system.sweep(state=first, **arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"z": (0, 0, 0)}, "has no direction"),
        ({"w": (0, 0, 1)}, "have no 'w'"),
        ({"x": (1, 0, 0), "y": (0, 1, 0)}, "is given x, y"),
        ({}, "is given nothing"),
        (np.eye(4) * 2, "rotation"),
        ("here", "needed: a point"),
    ],
)
def test_bad_goals_of_frames_are_refused(system, given, message):
    with pytest.raises(da.ArgumentError, match=message):
        system.assemble(frames={"coupler": given})


def test_a_goal_out_of_reach_says_by_how_much(system):
    with pytest.raises(da.AssemblyError, match=r"does not bring frame 'crank' to its goal.*misses by 0\.\d+ rad"):
        system.assemble(frames={"crank": {"z": (0.0, 1.0, 1.0)}})


def test_rolling_is_refused_where_positions_depend_on_the_way():
    m = zoo.rolling_disc()
    with pytest.raises(da.ArgumentError, match="binds velocities"):
        m.compile().sweep({m.compile().q_names[0]: [0.0, 1.0]})


def test_a_sweep_that_cannot_begin_says_so_and_is_empty(first):
    system = zoo.four_bar(crank=0.5).compile()
    none = system.sweep({"A": [3.0, 3.1]})
    assert len(none) == 0
    assert not none.success
    assert none.message.startswith("the sweep cannot begin at A = 3:")
    assert none["B"].shape == (0,)
    assert none.rate("D").shape == (0,)
    assert none.position("coupler").shape == (0, 3)
    np.testing.assert_array_equal(none.missed["A"], [3.0, 3.1])


def test_names_of_a_sweep_that_do_not_exist_are_refused(system, first):
    turn = system.sweep({"A": [0.6, 0.7]}, first)
    for call in (lambda: turn["E"], lambda: turn.rate("E"), lambda: turn.joint_acceleration("E")):
        with pytest.raises(da.UnknownName, match="'E'"):
            call()
    for call in (lambda: turn.driving_force("D"), lambda: turn.multiplier("C.w"), lambda: turn.reactions("E")):
        with pytest.raises(da.UnknownName):
            call()
    with pytest.raises(da.ArgumentError):
        turn.state(2)
    assert "2 of 2 positions" in repr(turn)


def test_a_rod_that_spins_between_two_balls_is_named():
    """An RSSR linkage: its kinematics are determined, the forces of a led crank are not, for the coupler may spin."""
    m = da.Mechanism("RSSR", gravity=(0, 0, -9.81))
    crank = m.add_body("crank", mass=1.0, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
    coupler = m.add_body("coupler", mass=1.0, com=(0.3, 0, 0), inertia=(1e-3, 0.03, 0.03))
    rocker = m.add_body("rocker", mass=1.0, com=(0.2, 0, 0), inertia=da.rod_inertia(1.0, 0.4))
    turned = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    pivot = np.array([0.1, 0.5, 0.0])
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("S", da.Spherical(), crank.at(0.2), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(*pivot, rotation=turned), rocker)
    m.close_loop("C", da.Spherical(), coupler.at(0.6), rocker.at(0.4))
    system = m.compile()
    turn = system.sweep({"A": np.linspace(0.2, 6.4, 13)}, system.assemble({"A": 0.2}), speed=1.0)
    A, D = turn["A"], turn["D"]
    ends = 0.2 * np.stack([np.cos(A), np.sin(A), 0 * A]), 0.4 * turned @ np.stack([np.cos(D), np.sin(D), 0 * D])
    np.testing.assert_allclose(np.linalg.norm(pivot[:, None] + ends[1] - ends[0], axis=0), 0.6, atol=1e-11)
    with pytest.raises(da.ArgumentError, match=r"this moves S\.wx.*universal joint at one end"):
        turn.driving_force("A")
    slope = da.sensitivities(
        system, turn.state(0), of=["D"], wrt=["held:A"], held=["A", "S.wx"]
    )  # no parameters at all
    assert slope.d("D", "held:A") == pytest.approx(turn.rate("D")[0], abs=1e-9)


def test_forces_need_every_freedom_to_be_led_or_held():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    name, other = next((a, b) for a in system.q_names for b in system.q_names if a != b and system.nv == 4)
    half = system.sweep({name: x[name] + np.array([0.0, 0.05])}, x)
    assert half.success
    with pytest.raises(da.ArgumentError, match=r"1 freedom\(s\)"):
        half.driving_force(name)
    whole = system.sweep({name: x[name] + np.array([0.0, 0.05])}, x, held={other: x[other]})
    assert np.isfinite(whole.driving_force(name)).all()
    assert np.isfinite(whole.driving_force(other)).all()
    np.testing.assert_allclose(whole[other], x[other], atol=1e-12)


def test_a_walk_ends_with_a_sentence_where_the_branch_ends():
    system = zoo.four_bar(crank=0.5).compile()
    x = system.state(*zoo.four_bar_start(1.0, crank=0.5))
    with pytest.raises(da.AssemblyError, match=r"cannot be led to A = 3: dead point at A = 2\.52118"):
        system.walk(x, to={"A": 3.0})
    assert system.walk(x, to={"A": 1.0})["D"] == pytest.approx(x["D"], abs=1e-12)
    with pytest.raises(da.ArgumentError, match="does not close"):
        system.walk({"A": 0.1}, to={"A": 3.0})
