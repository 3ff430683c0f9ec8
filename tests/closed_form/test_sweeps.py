"""Sweeps against closed forms: positions, speeds, accelerations, driving forces, dead points and branch points."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.zoo.planar import heading, meet, normal, unit

TURN = np.linspace(0, 2 * np.pi, 97)


def same_angle(a, b, atol=1e-11):
    np.testing.assert_allclose(np.exp(1j * np.asarray(a)), np.exp(1j * np.asarray(b)), atol=atol)


def four_bar_motion(angle, w, branch=1, *, ground=0.55, crank=0.20, coupler=0.60, rocker=0.40):
    """Angles of coupler and rocker, their rates and their accelerations at a constant crank speed."""
    C = meet(crank * unit(angle), coupler, np.array([ground, 0.0]), rocker, branch)
    beta, delta = heading(crank * unit(angle), C), heading(np.array([ground, 0.0]), C)
    rates = np.column_stack([coupler * normal(beta), -rocker * normal(delta)])
    first = np.linalg.solve(rates, -w * crank * normal(angle))
    drift = crank * unit(angle) * w**2 + coupler * unit(beta) * first[0] ** 2 - rocker * unit(delta) * first[1] ** 2
    return (beta, delta), first, np.linalg.solve(rates, drift)


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


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4])
def test_branches_that_nearly_meet_are_not_exchanged(gap):
    """Stretched at A = π but for a gap: C stays on its side, while straight on lies the other branch."""
    bars = {"ground": 1.0, "crank": 0.4, "coupler": 0.8, "rocker": 0.6 + gap}
    system = zoo.four_bar(**bars).compile()
    angles = np.linspace(2.0, 4.3, 24)
    out = system.sweep({"A": angles}, system.state(*zoo.four_bar_start(2.0, **bars)))
    assert out.success
    assert not out.points
    same_angle(out["D"], [four_bar_motion(a, 0.0, 1, **bars)[0][1] for a in angles], atol=1e-9)


def test_positions_from_both_sides_are_those_between():
    """Hermite's polynomial, used in singular positions, in one where Newton's method tells the same."""
    from dalembert.analysis.between_nodes import two_sided
    from dalembert.analysis.continuation import Continuation
    from dalembert.analysis.course import Course
    from dalembert.analysis.trail import follow

    system = zoo.four_bar().compile()
    first = system.state(*zoo.four_bar_start(0.3))
    course = Course(system, {"A": [0.3, 1.1]}, {}, {}, first, None)
    way = Continuation(course, first)
    way.begin(0.3, first.q)
    while way.nodes[-1].x < 1.1:
        way.advance(1.1)
    q, slope, bend = two_sided(way, way.nodes, 0.7)
    (_, delta), (_, rate), (_, second) = four_bar_motion(0.7, 1.0)
    assert q[2] == pytest.approx(delta, abs=1e-10)
    assert slope[2] == pytest.approx(rate, abs=1e-9)
    assert bend[2] == pytest.approx(second, abs=1e-7)
    assert follow(course, first).q[-1] == pytest.approx(way.nodes[-1].q, abs=1e-12)


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


# --- dead points ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("way", [1, -1])
def test_a_crank_turns_back_where_coupler_and_rocker_are_stretched(way, scale):
    """a² + g² − 2 a g cos θ = (b + c)²."""
    bars = {"ground": 0.55 * scale, "crank": 0.5 * scale, "coupler": 0.6 * scale, "rocker": 0.4 * scale}
    last = way * np.arccos((0.5**2 + 0.55**2 - 1.0) / (2 * 0.5 * 0.55))
    system = zoo.four_bar(**bars).compile()
    values = np.concatenate([np.linspace(way * 1.0, last, 50), way * np.array([2.6, 2.8, 3.0])])
    swing = system.sweep({"A": values}, system.state(*zoo.four_bar_start(way * 1.0, **bars)), speed=1.0)
    assert not swing.success
    assert len(swing) == 50
    (point,) = swing.points
    assert point.kind == "dead point"
    assert point.at["A"] == pytest.approx(last, abs=1e-12)
    assert abs(system.residuals(point.state)).max() < 1e-10 * scale
    assert point.index == pytest.approx(49, abs=1e-6)
    assert point.branches[0]["A"] == pytest.approx(0.0, abs=1e-6)
    assert "A turns back" in swing.message
    assert "3 of 53 values" in swing.message
    np.testing.assert_array_equal(swing.missed["A"], values[50:])
    same_angle(swing["D"][:48], [zoo.four_bar_start(a, **bars)[0]["D"] for a in values[:48]], atol=1e-9)
    assert np.isnan(swing.rate("D")[49])
    assert np.isfinite(swing.rate("D")[:49]).all()


def test_a_slider_turns_back_at_the_length_of_crank_and_rod():
    system = zoo.slider_crank().compile()
    out = system.sweep({"guide": np.linspace(0.4, 0.7, 31)}, system.state(*zoo.slider_crank_start(1.6)))
    assert out.points[0].at["guide"] == pytest.approx(0.6, abs=1e-12)
    assert len(out) == 21 or len(out) == 20
    c = (out["guide"] ** 2 + 0.15**2 - 0.45**2) / (2 * 0.15 * out["guide"])
    np.testing.assert_allclose(np.cos(out["A"]), c, atol=1e-9)
    back = system.sweep({"guide": [0.5, 0.31, 0.2]}, out.state(0))
    assert back.points[0].at["guide"] == pytest.approx(0.3, abs=1e-12)


def test_a_bricard_linkage_turns_back_at_120_degrees():
    system = zoo.bricard().compile()
    out = system.sweep({"theta1": np.linspace(1.2, 2.5, 14)}, system.state(*zoo.bricard_start(1.2)), speed=1.0)
    exact = [zoo.bricard_start(a, 1.0) for a in out["theta1"]]
    assert len(out) == 9
    assert out.points[0].at["theta1"] == pytest.approx(2 * np.pi / 3, abs=1e-10)
    np.testing.assert_allclose(out["theta2"], [q["theta2"] for q, _ in exact], atol=1e-10)
    np.testing.assert_allclose(out.rate("theta4"), [v["theta4"] for _, v in exact], atol=1e-9)


# --- branch points --------------------------------------------------------------------------------------------------

PARALLEL = {"ground": 1.0, "crank": 0.4, "coupler": 1.0, "rocker": 0.4}


@pytest.mark.parametrize("place", [0.0, np.pi])
@pytest.mark.parametrize("count", [6, 7])  # 7: the branch point is one of the values
def test_a_parallelogram_names_both_branches_where_it_is_flat(place, count):
    system = zoo.four_bar(**PARALLEL).compile()
    first = system.walk(system.state({"A": 0.3, "B": -0.3, "D": 0.3}), to={"A": place + 0.9})
    first = first if place else system.state({"A": 0.9, "B": -0.9, "D": 0.9})
    turn = system.sweep({"A": np.linspace(place + 0.9, place - 0.9, count)}, first, speed=-2.0)
    assert turn.success
    point = next(p for p in turn.points if abs(p.at["A"] - place) < 1e-6)
    assert point.kind == "crossing"
    assert point.at["A"] == pytest.approx(place, abs=1e-9)
    np.testing.assert_allclose(turn["D"], turn["A"], atol=1e-9)  # it stays the parallelogram
    np.testing.assert_allclose(turn.rate("D"), -2.0, atol=1e-8)
    np.testing.assert_allclose(turn.joint_acceleration("D"), 0.0, atol=1e-6)
    along, other = point.branches
    assert along["D"] / along["A"] == pytest.approx(1.0, abs=1e-9)
    # the antiparallelogram, by its closed form beside the point
    h = 1e-4
    sides = [[four_bar_motion(place + s * h, 0.0, branch, **PARALLEL)[0][1] for s in (1, -1)] for branch in (1, -1)]
    slopes = [
        (np.angle(np.exp(1j * (b - a)))) / (2 * h)
        for a in (sides[0][1], sides[1][1])
        for b in (sides[0][0], sides[1][0])
    ]
    anti = min(slopes, key=lambda s: abs(s - other["D"] / other["A"]))
    assert other["D"] / other["A"] == pytest.approx(anti, rel=1e-6)
    assert anti != pytest.approx(1.0, abs=0.1)


def test_a_sweep_that_begins_in_a_branch_point_follows_its_velocity():
    system = zoo.four_bar(**PARALLEL).compile()
    flat = system.state({"A": 0.0, "B": 0.0, "D": 0.0})
    past = system.sweep({"A": np.linspace(0, 1, 6)}, flat.replace(v={"A": 1.0, "B": -1.0, "D": 1.0}))
    np.testing.assert_allclose(past["D"], past["A"], atol=1e-10)
    assert past.points[0].kind == "crossing"
    assert len(past.points[0].branches) == 2
    anti = past.points[0].branches[1]
    other = system.sweep({"A": np.linspace(0, 1, 6)}, flat.replace(v=anti))
    assert other.success
    assert np.abs(other["D"] - other["A"])[-1] > 0.5
    same_angle(other["D"][1:], [four_bar_motion(a, 0.0, -1, **PARALLEL)[0][1] for a in other["A"][1:]], atol=1e-9)


def test_equal_links_fold_or_slide_on():
    """Aghili's slider-crank at q₁ = π/2: it slides on with q₂ = −2 q₁, or folds, q₁ turning alone."""
    system = zoo.equal_slider_crank().compile()
    out = system.sweep({"q1": np.linspace(0.5, 2.5, 11)}, system.state(*zoo.equal_slider_crank_start(0.5)), speed=1.0)
    (point,) = out.points
    assert point.at["q1"] == pytest.approx(np.pi / 2, abs=1e-9)
    slide, fold = point.branches
    assert slide["q2"] / slide["q1"] == pytest.approx(-2.0, abs=1e-9)
    assert fold["q2"] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(out["q2"], -2 * out["q1"], atol=1e-11)


def test_a_flat_sarrus_linkage_is_met_without_a_change_of_sign():
    system = zoo.sarrus().compile()
    out = system.sweep({"A1": np.linspace(0.7, -0.7, 15)}, system.state(*zoo.sarrus_start(0.7)))
    assert out.success
    assert [p.at["A1"] for p in out.points] == pytest.approx([0.0], abs=1e-6)
    np.testing.assert_allclose(out["A2"], out["A1"], atol=1e-9)


def test_what_is_not_led_stays_where_nothing_moves_it():
    system = zoo.cart_pole().compile()
    out = system.sweep({"cart": [0.0, 1.0, 2.0]}, {system.q_names[1]: 0.3})
    np.testing.assert_array_equal(out[system.q_names[1]], [0.3] * 3)


# --- spatial loops, frames, parameters, time -------------------------------------------------------------------------


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


def poses(count):
    phase, out = np.linspace(0, 2 * np.pi, count), np.tile(np.eye(4), (count, 1, 1))
    out[:, :3, 3] = np.column_stack([0.3 * np.cos(phase), 0.3 * np.sin(phase), 2 + 0.1 * np.sin(2 * phase)])
    for k, a in enumerate(phase):
        out[k, :3, :3] = da.rotation("x", 0.2 * np.sin(a)) @ da.rotation("z", 0.3 * np.cos(a))
    return out


@pytest.fixture(scope="module")
def stewart():
    return zoo.stewart().compile()


def test_a_stewart_platform_follows_poses_and_legs(stewart):
    wanted = poses(9)
    led = stewart.sweep(frames={"platform": wanted})
    assert led.success
    exact = [zoo.stewart_start(T[:3, 3], T[:3, :3])[0] for T in wanted]
    for k in range(1, 7):
        np.testing.assert_allclose(led[f"P{k}"], [q[f"P{k}"] for q in exact], atol=1e-9)
        np.testing.assert_allclose(led[f"U{k}"], [q[f"U{k}"] for q in exact], atol=1e-9)
    np.testing.assert_allclose(
        led.driving_force("platform")[:, 2], led.driving_force("platform")[0, 2], rtol=0.01
    )  # the weight, nearly
    again = stewart.sweep({f"P{k}": led[f"P{k}"] for k in range(1, 7)}, led.state(0))  # forward kinematics
    np.testing.assert_allclose(again.position("platform"), wanted[:, :3, 3], atol=1e-9)


def test_a_platform_that_moves_at_a_twist_has_the_legs_rates(stewart):
    """Ṗ_k = unit vector of the leg · velocity of its upper end; the frame's forces give its motion."""
    T = poses(9)[2]
    V, a = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.3]), np.array([0.1, 0.2, -0.4, 0.3, 0.1, 0.2])
    led = stewart.sweep(frames={"platform": [T]}, speed={"platform": V}, acceleration={"platform": a})
    base, top = zoo.StewartGeometry().points()
    h = 1e-4

    def lengths(t):
        w = V[:3] * t + 0.5 * a[:3] * t * t  # to second order; ω × of it is of third
        R = da.rotation(w / np.linalg.norm(w), np.linalg.norm(w)) if t else np.eye(3)
        p = T[:3, 3] + V[3:] * t + 0.5 * a[3:] * t * t
        return np.linalg.norm(top @ T[:3, :3].T @ R.T + p - base, axis=1)

    rates = (lengths(h) - lengths(-h)) / (2 * h)
    found = np.array([led.rate(f"P{k}")[0] for k in range(1, 7)])
    np.testing.assert_allclose(found, rates, atol=1e-7)
    second = (lengths(h) - 2 * lengths(0.0) + lengths(-h)) / h**2
    np.testing.assert_allclose([led.joint_acceleration(f"P{k}")[0] for k in range(1, 7)], second, atol=1e-5)
    # power: what the frame is driven with is what the energy gains
    x = led.state(0)
    tau = stewart.jacobian(x, "platform", axes="world").T @ np.concatenate(
        [led.driving_force("platform")[0][3:], led.driving_force("platform")[0][:3]]
    )
    np.testing.assert_allclose(stewart.acceleration(x, tau).vdot, led.vdot[0], atol=1e-8)


def adjustable():
    m = da.Mechanism("adjustable four-bar", gravity=(0, -9.81, 0))
    length = m.add_parameter("rocker length", 0.4)
    bars = {
        n: m.add_body(n, mass=1.0, com=(0.1, 0, 0), inertia=da.rod(1.0, 0.2)) for n in ("crank", "coupler", "rocker")
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


# --- frames in assembly ---------------------------------------------------------------------------------------------


def arm(limits=(None, None, None)):
    m = da.Mechanism("arm")
    before = m.ground.at()
    for k, limit in enumerate(limits):
        link = m.add_body(f"link {k}", mass=1.0, com=(0.5, 0, 0), inertia=da.rod(1.0, 1.0))
        m.add_joint(f"J{k}", da.Revolute("z"), before, link, limits=limit)
        before = link.at(1.0)
    m.add_frame("tool", before)
    return m.compile()


def test_assembly_reaches_points_axes_and_poses(stewart):
    system = arm()
    x = system.assemble(frames={"tool": (1.2, 0.9, 0.0)}, guess={"J0": 0.1, "J1": 0.5, "J2": 0.5})
    np.testing.assert_allclose(x.position("tool"), [1.2, 0.9, 0], atol=1e-10)
    x = system.assemble(frames={"tool": {"position": (1.2, 0.9, 0.0), "x": (0.0, 3.0, 0.0)}}, guess={"J1": 0.5})
    np.testing.assert_allclose(x.rotation("tool")[:, 0], [0, 1, 0], atol=1e-10)
    found = system.assemble(frames={"tool": {"position": (1.2, 0.9, 0.0), "x": (0.0, 1.0, 0.0)}}, branches=4)
    assert len(found) == 2  # elbow up and down
    wrist = np.array([1.2, -0.1])  # a two-link arm to the wrist: cos J1 = (r² − 2)/2
    assert np.cos([y["J1"] for y in found]) == pytest.approx([(wrist @ wrist - 2) / 2] * 2, abs=1e-9)
    T = poses(9)[3]
    y = stewart.assemble(frames={"platform": T})
    exact = zoo.stewart_start(T[:3, 3], T[:3, :3])[0]
    for k in range(1, 7):
        assert y[f"P{k}"] == pytest.approx(exact[f"P{k}"], abs=1e-10)


def test_limits_choose_the_solution_inside_them():
    free = arm((None, (0.1, 3.0), (-0.2, 0.2)))
    x = free.assemble(frames={"tool": (1.2, 0.9, 0.0)}, guess={"J1": -0.5, "J2": 1.0}, limits=True)
    np.testing.assert_allclose(x.position("tool"), [1.2, 0.9, 0], atol=1e-10)
    assert 0.1 <= x["J1"] <= 3.0
    assert -0.2 - 1e-9 <= x["J2"] <= 0.2 + 1e-9
    tight = arm((None, (0.0, 0.1), (0.0, 0.1)))
    with pytest.raises(da.AssemblyError, match="only outside the limits of its joints: J"):
        tight.assemble(frames={"tool": (0.5, 0.0, 0.0)}, limits=True)
    assert tight.assemble(frames={"tool": (0.5, 0.0, 0.0)}, guess={"J1": 1.0}).position("tool")[0] == pytest.approx(0.5)


def test_the_edge_of_the_workspace_is_a_dead_point_of_a_point_that_is_led():
    system = arm((None, None))
    out = system.sweep(frames={"tool": [(1.2, 0.0, 0), (1.8, 0.0, 0.0), (2.4, 0, 0)]}, state={"J0": 0.5, "J1": -1.0})
    assert not out.success
    assert len(out) == 2
    assert out.points[0].kind == "dead point"
    assert out.points[0].state.position("tool")[0] == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-8, 1e-10])
def test_branches_that_nearly_meet_are_told_apart_by_their_loops(gap):
    """As above with gaps of bars far below 1e-4: between the branches loops are open by about the gap."""
    bars = {"ground": 1.0, "crank": 0.4, "coupler": 0.8, "rocker": 0.6 + gap}
    system = zoo.four_bar(**bars).compile()
    out = system.sweep({"A": [2.0, 2.7, 3.6, 4.3]}, system.state(*zoo.four_bar_start(2.0, **bars)))
    assert out.success
    assert not out.points
    same_angle(out["D"], [four_bar_motion(a, 0.0, 1, **bars)[0][1] for a in out["A"]], atol=1e-9)


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
def test_a_parallelogram_with_a_coupler_too_long_turns_back_before_it_is_flat(gap):
    """Stretched where cos A = (0.16 + 1 − (0.6 + gap)²)/0.8: no sweep passes the stretch that does not close."""
    system = zoo.four_bar(ground=1.0, crank=0.4, coupler=1.0 + gap, rocker=0.4).compile()
    start = system.assemble({"A": 0.5}, guess={"B": -0.5, "D": 0.5})
    out = system.sweep({"A": np.linspace(0.5, -0.5, 11)}, start)
    dead = np.arccos((1.16 - (0.6 + gap) ** 2) / 0.8)
    assert [p.kind for p in out.points] == ["dead point"]
    assert out.points[0].at["A"] == pytest.approx(dead, abs=1e-9)
    assert (out["A"] > dead).all()


# --- behind dead points, and limits -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [1, -1])
def test_a_rocking_crank_goes_on_behind_its_dead_point_on_the_other_branch(way):
    """To 2.52 rad on one branch of the closed form, and back through the same values on the other."""
    bars = {"ground": 0.55, "crank": 0.5, "coupler": 0.6, "rocker": 0.4}
    system = zoo.four_bar(**bars).compile()
    values = way * np.linspace(1.0, 3.0, 21)
    out = system.sweep({"A": values}, system.state(*zoo.four_bar_start(way, **bars)), speed=way * 2.0, through=True)
    reached = values[np.abs(values) < 2.5211]
    assert out.success
    np.testing.assert_allclose(out["A"], np.concatenate([reached, reached[::-1]]))
    there, back = out["D"][: len(reached)], out["D"][len(reached) :][::-1]
    same_angle(there, [four_bar_motion(a, 0, 1, **bars)[0][1] for a in reached], atol=1e-9)
    same_angle(back, [four_bar_motion(a, 0, -1, **bars)[0][1] for a in reached], atol=1e-9)
    assert np.abs(np.diff(out["D"])).max() < 0.6  # no jump
    np.testing.assert_allclose(out.rate("A"), way * 2.0 * np.repeat([1, -1], len(reached)))
    truth = [four_bar_motion(a, -way * 2.0, -1, **bars)[1][1] for a in reached]
    np.testing.assert_allclose(out.rate("D")[len(reached) :][::-1], truth, rtol=1e-8)
    assert [p.kind for p in out.points] == ["dead point"]


def test_through_a_dead_point_needs_one_coordinate_and_one_speed():
    system = zoo.four_bar(crank=0.5).compile()
    start = system.state(*zoo.four_bar_start(1.0, crank=0.5))
    with pytest.raises(da.ArgumentError, match="one coordinate"):
        system.sweep({"A": [1.0, 2.0, 1.5]}, start, through=True)
    with pytest.raises(da.ArgumentError, match="one speed"):
        system.sweep({"A": [1.0, 3.0]}, start, through=True, speed=[1.0, 2.0])


def limited_slider_crank():
    m = da.Mechanism("limited")
    crank = m.add_body("crank", mass=1.0, com=(0.1, 0, 0), inertia=da.rod(1.0, 0.2))
    rod = m.add_body("rod", mass=1.0, com=(0.3, 0, 0), inertia=da.rod(1.0, 0.6))
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.2), rod)
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("slider", mass=1.0), limits=(0.5, 0.75))
    m.close_loop("C", da.Revolute("z"), rod.at(0.6), "slider")
    return m.compile()


def test_limits_on_the_way_are_marked_or_end_the_sweep():
    """x = 0.2 cos A + √(0.36 − 0.04 sin² A) is within 0.5 … 0.75 m between two angles in each half turn."""
    from scipy.optimize import brentq

    system = limited_slider_crank()
    slide = lambda a: 0.2 * np.cos(a) + np.sqrt(0.36 - 0.04 * np.sin(a) ** 2)  # noqa: E731
    upper, lower = (brentq(lambda a, bound=bound: slide(a) - bound, 0, np.pi) for bound in (0.75, 0.5))
    start = system.assemble({"A": 1.2}, guess={"B": -1.5, "x": 0.6})
    values = np.linspace(1.2, 1.2 + 2 * np.pi, 40)
    marked = system.sweep({"A": values}, start)
    assert marked.success
    places = [p.at["A"] for p in marked.points if p.kind == "limit"]
    truth = [lower, 2 * np.pi - lower, 2 * np.pi - upper, 2 * np.pi + upper]
    np.testing.assert_allclose(places, truth, atol=1e-9)
    assert "'x' passes its limit 0.5 at A" in marked.points[0].message
    assert marked.points[0].state["x"] == pytest.approx(0.5, abs=1e-11)
    ended = system.sweep({"A": values}, start, limits="stop")
    assert len(ended) == int((values < lower).sum())
    assert "passes its limit 0.5" in ended.message
    assert not system.sweep({"A": values}, start, limits="ignore").points
    outside = system.assemble({"A": 0.2}, guess={"B": -0.3, "x": 0.8})
    assert len(system.sweep({"A": [0.2, 1.2]}, outside, limits="stop")) == 0


# --- frames held in part ----------------------------------------------------------------------------------------------


def two_links(upper=1.0, lower=0.6):
    m = da.Mechanism("2R", gravity=(0, -9.81, 0))
    a = m.add_body("upper", mass=1.0, com=(upper / 2, 0, 0), inertia=da.rod(1.0, upper))
    b = m.add_body("lower", mass=1.0, com=(lower / 2, 0, 0), inertia=da.rod(1.0, lower))
    m.add_joint("shoulder", da.Revolute("z"), m.ground, a)
    m.add_joint("elbow", da.Revolute("z"), a.at(upper), b)
    m.add_frame("tool", b.at((lower, 0.0)))
    return m.compile()


def test_a_height_alone_can_be_held_and_swept():
    """y = sin s + 0.6 sin(s + e): the elbow by arcsine, its rate ẏ / (0.6 cos(s + e)), the force by virtual work."""
    arm, s, y = two_links(), 0.3, np.linspace(0.3, 0.7, 9)
    held = arm.assemble({"shoulder": s}, guess={"elbow": 0.2}, frames={"tool": (None, 0.5, None)})
    assert held["elbow"] == pytest.approx(np.arcsin((0.5 - np.sin(s)) / 0.6) - s, abs=1e-11)
    for frames in (
        {"tool": [(None, one, None) for one in y]},
        {"tool": {"position": [(None, one, None) for one in y]}},
    ):
        rise = arm.sweep(frames=frames, state=held, held={"shoulder": s}, speed={"tool": (0, 0.25, 0)})
        angle = np.arcsin((y - np.sin(s)) / 0.6)
        np.testing.assert_allclose(rise["elbow"], angle - s, atol=1e-11)
        np.testing.assert_allclose(rise.rate("elbow"), 0.25 / (0.6 * np.cos(angle)), rtol=1e-10)
        np.testing.assert_allclose(rise.t, (y - y[0]) / 0.25, atol=1e-12)
    still = arm.sweep(frames=frames, state=held, held={"shoulder": s})
    np.testing.assert_allclose(
        still.driving_force("tool")[:, 0], 0.5 * 9.81, rtol=1e-10
    )  # half the weight at twice the lever
    np.testing.assert_allclose(still.rotation("lower")[:, 1, 0], np.sin(s + still["elbow"]), atol=1e-12)
    with pytest.raises(da.ArgumentError, match="None in x, y and z"):
        arm.assemble(frames={"tool": (None, None, None)})


def test_a_path_at_constant_velocity_has_its_times():
    arm = two_links()
    x = arm.assemble(frames={"tool": (1.2, 0.1, 0.0)}, guess={"elbow": 0.5})
    line = [(1.2, y, 0.0) for y in (0.1, 0.2, 0.5)]
    path = arm.sweep(frames={"tool": line}, state=x, speed={"tool": (0, 0.5, 0)})
    np.testing.assert_allclose(path.t, [0.0, 0.2, 0.8], atol=1e-12)
    forces = da.control.inverse_dynamics_along(arm, path)
    np.testing.assert_allclose(forces.t, path.t)
    aside = arm.sweep(frames={"tool": line}, state=x, speed={"tool": (0.1, 0.5, 0)})  # leads elsewhere: no times
    assert not aside.t.any()
    both = arm.sweep({"shoulder": [0.0, 0.1, 0.3], "elbow": [0.5, 0.4, 0.2]}, speed={"shoulder": 2.0, "elbow": -2.0})
    np.testing.assert_allclose(both.t, [0.0, 0.05, 0.15], atol=1e-12)


def test_the_force_of_a_coordinate_is_found_though_an_input_has_its_name():
    m = da.Mechanism("slide", gravity=(-9.81, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("block", mass=2.0))
    m.add_motor("x", "x")
    m.add_motor("push", "x")
    rise = m.compile().sweep({"x": [0.0, 0.1]}, held=None)
    np.testing.assert_allclose(rise.driving_force("x"), 2.0 * 9.81, rtol=1e-12)
    with pytest.raises(da.ArgumentError, match=r"'push' is an input.*inverse_dynamics_along"):
        rise.driving_force("push")
