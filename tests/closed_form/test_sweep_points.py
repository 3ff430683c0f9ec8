"""Dead points, branch points and limits that sweeps meet, against closed forms."""

import numpy as np
import pytest
from four_bar_truth import four_bar_motion, same_angle

import dalembert as da
from dalembert import zoo

PARALLEL = {"ground": 1.0, "crank": 0.4, "coupler": 1.0, "rocker": 0.4}


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


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-8, 1e-10])
def test_branches_that_nearly_meet_are_told_apart_by_their_loops(gap):
    """As above with gaps of bars far below 1e-4: between the branches loops are open by about the gap."""
    bars = {"ground": 1.0, "crank": 0.4, "coupler": 0.8, "rocker": 0.6 + gap}
    system = zoo.four_bar(**bars).compile()
    out = system.sweep({"A": [2.0, 2.7, 3.6, 4.3]}, system.state(*zoo.four_bar_start(2.0, **bars)))
    assert out.success
    assert not out.points
    same_angle(out["D"], [four_bar_motion(a, 0.0, 1, **bars)[0][1] for a in out["A"]], atol=1e-9)


# --- dead points -----------------------------------------------------------------------------------------------------


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


# --- branch points ---------------------------------------------------------------------------------------------------


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


# --- limits ----------------------------------------------------------------------------------------------------------


def limited_slider_crank():
    m = da.Mechanism("limited")
    crank = m.add_body("crank", mass=1.0, com=(0.1, 0, 0), inertia=da.rod_inertia(1.0, 0.2))
    rod = m.add_body("rod", mass=1.0, com=(0.3, 0, 0), inertia=da.rod_inertia(1.0, 0.6))
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
