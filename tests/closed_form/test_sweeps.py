"""Sweeps against closed forms: positions, speeds, accelerations, driving forces."""

import numpy as np
import pytest
from four_bar_truth import four_bar_motion, same_angle

import dalembert as da
from dalembert import zoo
from dalembert.zoo.planar import unit

TURN = np.linspace(0, 2 * np.pi, 97)


@pytest.mark.parametrize("branch", [1, -1])
@pytest.mark.parametrize(
    "bars",
    [
        {},
        {"ground": 0.3, "crank": 0.5, "coupler": 0.45, "rocker": 0.6},
        {"ground": 55.0, "crank": 20, "coupler": 60, "rocker": 40},
    ],
)  # a crank-rocker, a double crank, and the first in centimetres
def test_a_turn_of_a_four_bar_is_the_closed_form(bars, branch):
    system = zoo.four_bar(**bars).compile()
    first = system.state(*zoo.four_bar_start(0.0, branch=branch, **bars))
    turn = system.sweep({"A": TURN}, first, speed=3.0)
    assert turn.success
    assert not turn.points
    assert turn.message == ""
    assert len(turn) == 97
    exact = [four_bar_motion(a, 3.0, branch, **bars) for a in TURN]
    same_angle(turn["A"] + turn["B"], [e[0][0] for e in exact])
    same_angle(turn["D"], [e[0][1] for e in exact])
    np.testing.assert_allclose(turn.rate("D"), [e[1][1] for e in exact], atol=1e-10)
    np.testing.assert_allclose(turn.rate("A") + turn.rate("B"), [e[1][0] for e in exact], atol=1e-10)
    np.testing.assert_allclose(turn.joint_acceleration("D"), [e[2][1] for e in exact], atol=1e-9)
    np.testing.assert_allclose(turn.t, TURN / 3.0)
    assert np.abs(np.diff(turn["D"])).max() < 0.5  # without a jump
    x = turn.state(40)
    assert (x["A"], x.rate("D"), x.t) == (TURN[40], turn.rate("D")[40], turn.t[40])


def test_few_and_far_values_do_not_change_the_branch():
    system = zoo.four_bar().compile()
    back = system.sweep({"A": [0.3, 3.9, -9.0, 40.0]}, system.state(*zoo.four_bar_start(0.3)))
    same_angle(back["D"], [zoo.four_bar_start(a)[0]["D"] for a in back["A"]])


def test_positions_from_both_sides_are_those_between():
    """Hermite's polynomial, used in singular positions, in one where Newton's method tells the same."""
    from dalembert.analysis.solution_curve import follow
    from dalembert.branch.between_points import two_sided
    from dalembert.branch.continuation import Continuation
    from dalembert.branch.path import PrescribedPath

    system = zoo.four_bar().compile()
    first = system.state(*zoo.four_bar_start(0.3))
    path = PrescribedPath(system, {"A": [0.3, 1.1]}, {}, {}, first, None)
    way = Continuation(path, first)
    way.begin(0.3, first.q)
    while way.points[-1].x < 1.1:
        way.advance(1.1)
    q, slope, bend = two_sided(way, way.points, 0.7)
    (_, delta), (_, rate), (_, second) = four_bar_motion(0.7, 1.0)
    assert q[2] == pytest.approx(delta, abs=1e-10)
    assert slope[2] == pytest.approx(rate, abs=1e-9)
    assert bend[2] == pytest.approx(second, abs=1e-7)
    assert follow(path, first).q[-1] == pytest.approx(way.points[-1].q, abs=1e-12)


def test_a_slider_crank_with_an_offset_is_the_closed_form():
    r, l, e, w, al = 0.15, 0.45, 0.06, 7.0, 30.0
    system = zoo.slider_crank(offset=e).compile()
    turn = system.sweep(
        {"A": TURN}, system.state(*zoo.slider_crank_start(0.0, offset=e)), speed=w, acceleration=np.full(97, al)
    )
    s, c = np.sin(TURN), np.cos(TURN)
    beta = np.arcsin((e - r * s) / l)
    b1 = -r * c / (l * np.cos(beta))  # dβ/dθ
    b2 = (r * s + l * np.sin(beta) * b1**2) / (l * np.cos(beta))
    x1 = -r * s - l * np.sin(beta) * b1
    x2 = -r * c - l * np.cos(beta) * b1**2 - l * np.sin(beta) * b2
    np.testing.assert_allclose(turn["guide"], r * c + l * np.cos(beta), atol=1e-12)
    np.testing.assert_allclose(turn.rate("guide"), x1 * w, atol=1e-11)
    np.testing.assert_allclose(turn.joint_acceleration("guide"), x2 * w**2 + x1 * al, atol=1e-10)


@pytest.mark.parametrize(
    ("mechanism", "start", "name"),
    [(zoo.four_bar, zoo.four_bar_start, "A"), (zoo.slider_crank, zoo.slider_crank_start, "A")],
)
@pytest.mark.parametrize("speed", [0.0, 12.0])
def test_the_driving_torque_is_the_slope_of_the_energy(mechanism, start, name, speed):
    """At a constant speed the work of the drive changes T + V: f = d(T + V)/dθ, by Fourier's series."""
    system, n = mechanism().compile(), 256
    angles = 2 * np.pi * np.arange(n) / n
    turn = system.sweep({name: angles}, system.state(*start(0.0)), speed=speed)
    energy = np.array([system.energy(turn.state(k)) for k in range(n)])
    slope = np.fft.irfft(1j * np.arange(n // 2 + 1) * np.fft.rfft(energy), n)
    np.testing.assert_allclose(turn.driving_force(name), slope, atol=1e-9 * max(1.0, np.abs(slope).max()))


def test_reactions_along_a_sweep_are_those_of_its_states():
    system = zoo.four_bar().compile()
    turn = system.sweep({"A": TURN}, system.state(*zoo.four_bar_start(0.0)), speed=5.0, u={"torque": 0.7})
    for k in (0, 17, 60):
        r = system.constraint_forces(turn.state(k), {"A": turn.driving_force("A")[k]}, u={"torque": 0.7})
        np.testing.assert_allclose(r.acceleration.vdot, turn.vdot[k], atol=1e-9)
        np.testing.assert_allclose(turn.constraint_forces(k).loops["C"], r.loops["C"], atol=1e-9)
        np.testing.assert_allclose(turn.multiplier("C.x")[k], r.multipliers["C.x"], atol=1e-9)
        np.testing.assert_allclose(turn.reactions("C")[k], r.loops["C"], atol=1e-9)
        np.testing.assert_allclose(turn.reactions("D")[k], r.joints["D"], atol=1e-9)
    np.testing.assert_allclose(turn.position("coupler point")[17], turn.state(17).position("coupler point"), atol=1e-14)
    np.testing.assert_allclose(turn.velocity("coupler point")[17], turn.state(17).velocity("coupler point"), atol=1e-13)


def test_what_is_not_led_stays_where_nothing_moves_it():
    system = zoo.cart_pole().compile()
    out = system.sweep({"cart": [0.0, 1.0, 2.0]}, {system.q_names[1]: 0.3})
    np.testing.assert_array_equal(out[system.q_names[1]], [0.3] * 3)


@pytest.mark.parametrize("way", [1, -1])
def test_a_bennett_linkage_goes_through_a_full_turn(way):
    """Five rows of rank two, all the way round."""
    system = zoo.bennett().compile()
    angles = 1.0 + way * TURN
    turn = system.sweep({"theta1": angles}, system.state(*zoo.bennett_start(1.0)), speed=2.0)
    exact = [zoo.bennett_start(a, 2.0) for a in angles]
    assert turn.success
    assert not turn.points
    same_angle(turn["theta2"], [q["theta2"] for q, _ in exact], atol=1e-10)
    same_angle(turn["theta3"], -angles, atol=1e-10)
    np.testing.assert_allclose(turn.rate("theta2"), [v["theta2"] for _, v in exact], atol=1e-9)


def adjustable():
    m = da.Mechanism("adjustable four-bar", gravity=(0, -9.81, 0))
    length = m.add_parameter("rocker length", 0.4)
    bars = {
        n: m.add_body(n, mass=1.0, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
        for n in ("crank", "coupler", "rocker")
    }
    m.add_joint("A", da.Revolute("z"), m.ground, bars["crank"])
    m.add_joint("B", da.Revolute("z"), bars["crank"].at(0.2), bars["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(0.55), bars["rocker"])
    m.close_loop("C", da.Revolute("z"), bars["coupler"].at(0.6), bars["rocker"].at(length, 0, 0))
    return m.compile()


def test_a_link_that_grows_is_the_closed_form():
    system = adjustable()
    grown = system.sweep(
        {"rocker length": np.linspace(0.35, 0.7, 15)}, system.state(*zoo.four_bar_start(0.6)), held={"A": 0.6}
    )
    exact = [zoo.four_bar_start(0.6, rocker=c)[0] for c in grown["rocker length"]]
    assert grown.success
    same_angle(grown["D"], [q["D"] for q in exact])
    np.testing.assert_allclose(grown["A"], 0.6, atol=1e-12)
    # and where it cannot grow: the coupler is stretched to the far side, c = b + |B D|
    B = 0.2 * unit(0.6)
    longest = 0.6 + np.hypot(*(B - [0.55, 0]))
    out = system.sweep({"rocker length": [0.4, 0.8, 2.0]}, system.state(*zoo.four_bar_start(0.6)), held={"A": 0.6})
    assert not out.success
    assert out.points[0].at["rocker length"] == pytest.approx(longest, abs=1e-10)


def test_a_driven_mechanism_is_swept_through_time():
    m = zoo.four_bar()
    m.add_driver("motor", "A", lambda t: 0.3 + 2.0 * t)
    system = m.compile()
    times = np.linspace(0, 2, 21)
    run = system.sweep({"t": times}, system.state(*zoo.four_bar_start(0.3)))
    exact = [four_bar_motion(0.3 + 2 * t, 2.0) for t in times]
    same_angle(run["D"], [e[0][1] for e in exact])
    np.testing.assert_allclose(run.rate("D"), [e[1][1] for e in exact], atol=1e-10)
    np.testing.assert_allclose(run.joint_acceleration("D"), [e[2][1] for e in exact], atol=1e-9)
    turn = zoo.four_bar().compile().sweep({"A": 0.3 + 2 * times}, zoo.four_bar_start(0.3)[0], speed=2.0)
    np.testing.assert_allclose(run.multiplier("motor.drive"), turn.driving_force("A"), atol=1e-9)


def test_a_sweep_and_a_run_answer_questions_by_name_alike():
    """The same motion by continuation and by integration: frames, joints, multipliers, reactions."""
    m = zoo.four_bar()
    m.add_driver("motor", "A", lambda t: 0.3 + 2.0 * t)
    driven, times = m.compile(), np.linspace(0, 1, 11)
    run = da.simulate(driven, driven.state(*zoo.four_bar_start(0.3, 2.0)), 1.0, t_eval=times, rtol=1e-11)
    turn = zoo.four_bar().compile().sweep({"A": 0.3 + 2 * times}, zoo.four_bar_start(0.3)[0], speed=2.0)
    pin = turn.system.layout.mechanism.bodies["coupler"].at(0, 0, 0)
    np.testing.assert_allclose(turn.acceleration(pin), -4.0 * turn.position(pin), atol=1e-12)  # the crank's pin
    for ask in (
        lambda x: x.position("coupler point"),
        lambda x: x.velocity("coupler point"),
        lambda x: x.acceleration("coupler point"),
        lambda x: x.joint_acceleration("D"),
        lambda x: x.rate("B"),
        lambda x: x.multiplier("C"),
        lambda x: x.multiplier("C.x"),
        lambda x: x.reactions("C"),
        lambda x: x.reactions("D"),
    ):
        np.testing.assert_allclose(ask(turn), ask(run), atol=1e-7 * np.abs(ask(run)).max())


def test_the_force_of_a_coordinate_is_found_though_an_input_has_its_name():
    m = da.Mechanism("slide", gravity=(-9.81, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=2.0))
    m.add_motor("x", "x")
    m.add_motor("push", "x")
    rise = m.compile().sweep({"x": [0.0, 0.1]}, held=None)
    np.testing.assert_allclose(rise.driving_force("x"), 2.0 * 9.81, rtol=1e-12)
    with pytest.raises(da.ArgumentError, match=r"'push' is an input.*actuator_forces_along"):
        rise.driving_force("push")
