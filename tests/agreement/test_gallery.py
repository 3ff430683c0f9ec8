"""The gallery's scripts run and show what papers and closed forms say."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


@pytest.fixture
def case(monkeypatch, tmp_path):
    """main() of a script by name; drawn=True writes its figure, numbers and animation to a temporary folder."""
    monkeypatch.syspath_prepend(str(GALLERY))

    def run(name, *, drawn=False, **options):
        monkeypatch.delitem(sys.modules, name, raising=False)
        rows = import_module(name).main(tmp_path if drawn else None, **options)
        if drawn:
            assert (tmp_path / f"{name}.png").stat().st_size > 20_000
            assert len(json.loads((tmp_path / f"{name}.json").read_text())) == len(rows)
        return rows

    yield run
    for module in GALLERY.glob("*.py"):
        if module.stem != "__main__":  # that one is the test run's own
            sys.modules.pop(module.stem, None)


def test_the_stabilization_breaks_the_energy_balance_and_not_the_formulation(case):
    """Spencer, Fig. 3.10, with one thing changed at a time: rows of the table agree, columns do not."""
    rows = case("five_bar_study")
    change = {
        (f, s): rows[f"change of the energy, {f}, {s} (J)"]
        for f in ("multipliers", "null space")
        for s in ("Baumgarte", "projection", "none")
    }
    for s, least, most in (("Baumgarte", 50.0, 500.0), ("projection", 1e-5, 1e-2), ("none", 0.5, 20.0)):
        assert least < change["multipliers", s] < most
        assert change["null space", s] == pytest.approx(change["multipliers", s], rel=0.05)
    assert rows["largest drift, multipliers, projection (m)"] < 1e-13 < rows["largest drift, null space, Baumgarte (m)"]


def test_baumgarte_changes_the_energy_where_projection_keeps_it(case):
    """Spencer, Fig. 3.10, and the crossings of Fig. 3.9 against a model in one coordinate."""
    rows = case("five_bar_2")
    assert rows["change of the energy, multipliers and Baumgarte (J)"] > 1.0
    assert rows["change of the energy, null space and projection (J)"] < 1e-2
    assert rows["largest drift, multipliers and Baumgarte (m)"] > 1e-4
    assert rows["largest drift, null space and projection (m)"] < 1e-13
    peaks = [float(x) for x in rows["condition peaks at (s)"].split(",")]
    assert peaks == pytest.approx([0.6508, 1.8538, 3.9098], abs=2e-3)


def test_the_slider_crank_slides_on_through_its_singularities(case):
    rows = case("slider_crank")
    assert rows["reached the end"]
    assert rows["singular positions crossed"] >= 5
    assert rows["distance from the branch q₂ = −2 q₁ (rad)"] < 1e-9
    assert rows["largest violation (m)"] < 1e-13


def test_filter_and_corrections_remove_the_drift_of_the_station_arm(case):
    """Kövecses and Piedboeuf, Figs 3-6: violations down to 1e-14."""
    rows = case("ssrms")
    assert rows["reached the end"]
    assert rows["violation of the positions, left alone (m)"] > 1e-7
    assert rows["violation of the positions, corrected (m)"] < 2e-14
    assert rows["violation of the velocities, corrected (m/s)"] < 2e-14


def test_a_long_run_of_the_four_bar_stays_closed(case):
    rows = case("four_bar_long", span=20.0)
    assert rows["largest violation, corrected (m)"] < 1e-14
    assert rows["largest violation, left alone (m)"] > 1e-9


def test_the_ladder_goes_through_its_flat_position_as_one(case):
    rows = case("ladder", drawn=True)
    assert rows["reached the end"]
    assert rows["times flat"] >= 8
    assert rows["cranks apart, at most (rad)"] < 1e-6


def test_the_five_bar_comes_back_when_the_paper_says(case):
    """Spencer, Figs 3.3-3.6: 2.82 s."""
    rows = case("five_bar_1")
    assert rows["back in the singular position at (s); paper: 2.82"] == pytest.approx(2.8254, abs=6e-3)
    assert rows["  by da.simulate, corrected (J)"] < 1e-4


def test_projected_control_obeys_its_error_equation_with_the_smallest_torques(case):
    """Aghili, section 7: with a motor to spare the torques are smaller than with one motor."""
    rows = case("projected_control", span=0.3)
    for name in ("both motors", "joint 2 passive", "hybrid"):
        assert rows[f"error against its closed form, {name} (rad)"] < 5e-4
    mean = {n: rows[f"mean size of the torques, {n} (N m)"] for n in ("both motors", "joint 2 passive")}
    assert mean["both motors"] < 0.6 * mean["joint 2 passive"]
    assert rows["force on the guide, hybrid, off by (N)"] < 0.05


def test_the_loader_is_linearized_in_both_choices(case):
    """Spencer, 4.5: printed matrices have the printed eigenvalues; ours agree with differences."""
    rows = case("loader")
    for choice, printed in (("angles of boom and bucket", "0.54643+1.5734j"), ("cylinders", "0.37624+1.5642j")):
        assert printed in rows[f"{choice}: eigenvalues of the printed matrix"]
        assert rows[f"{choice}: A against differences"] < 1e-7


def test_the_constrained_pendulum_has_the_printed_matrix(case):
    """Johnson and Murphey, section IV: three digits."""
    assert case("constrained_pendulum")["largest difference from print"] < 5e-4


def test_total_rates_lose_energy_to_their_controller_alone(case):
    rows = case("total_rates", span=0.5)
    assert rows["½ νᵀν against the kinetic energy (J)"] < 1e-11
    assert rows["power of the Coriolis term, at most (W)"] < 1e-10
    assert rows["largest rise of the Lyapunov function (J)"] < 1e-9


def test_tendons_pull_a_ball(case):
    """Johnson and Murphey, Fig. 1."""
    rows = case("hand", span=0.01)
    assert rows["states of the linear model, controllable"] == "22, True"
    assert rows["acceleration left while it rests (rad/s², m/s²)"] < 1e-8
    assert float(rows["smallest and largest tension on the way (N)"].split(",")[0]) > -1e-9
    assert rows["least push of a tip (N)"] > 0.1
    assert rows["friction / push, at most"] < 0.61


def test_a_hand_holds_a_ball_by_friction_through_a_push(case):
    """Contacts, not ball joints: the regulator brings the ball back, and no tip slides; tendons only pull."""
    rows = case("hand_held", span=0.2)
    assert 0.05 < rows["the ball moves by at most (mm)"] < 0.3
    assert rows["it is off by, at the end (mm)"] < 0.1 * rows["the ball moves by at most (mm)"]
    assert rows["  with constant tensions (mm)"] > rows["the ball moves by at most (mm)"]
    assert rows["smallest tension (N)"] > 0.1
    assert rows["least push of a tip (N)"] > 0.05
    assert rows["friction / push, at most"] < 0.9
    assert rows["tips that slide or leave"] == 0


@pytest.mark.parametrize(
    ("name", "row", "most"),
    [
        ("jansen", "distance of the foot from the closed form (m)", 1e-10),
        ("peaucellier", "distance of the pen from it (m)", 1e-10),
        ("scissor_lift", "difference from dV/dl of a spline, relative", 2e-3),
        ("excavator", "height of the teeth changes by (m)", 1e-10),
        ("engine", "piston 1 against the closed form (m)", 1e-12),
        ("engine", "shaking force, first order (N)", 1e-9),
        ("delta", "motors against the closed form (rad)", 1e-12),
        ("two_arms", "largest error of the squeeze (N)", 0.2),
        ("car", "distance of the rear axle from it (m)", 1e-7),
    ],
)
def test_machines_agree_with_their_closed_forms(case, name, row, most):
    assert case(name)[row] < most


def test_the_bicycle_has_the_eigenvalues_of_the_benchmark(case):
    """Meijaard, Papadopoulos, Ruina and Schwab (2007), table 2, at 5 m/s."""
    rows = case("bicycle", count=5)
    assert all(rows[f"{mode} at 5 m/s, found − printed (1/s)"] < 1e-11 for mode in ("castering", "weave", "capsize"))


BICYCLE = {  # table 2 of the same: speed (m/s) and eigenvalues (1/s)
    0.0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    4.0: (-12.15861426576447, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
    5.0: (-14.07838969279822, -0.77534188219585 + 4.46486771378823j, -0.32286642900409),
    10.0: (-24.62459635017404, -3.72016840437287 + 10.90681139476287j, 0.16105338653172),
}


def test_the_bicycle_is_that_of_the_benchmark_at_every_speed(case, monkeypatch):
    """Table 2, and the speeds between which it is stable: 4.29238253634111 and 6.02426201538837 m/s."""
    bicycle = import_module("bicycle")
    system = bicycle.bicycle().compile()
    for speed, printed in BICYCLE.items():
        found = bicycle.eigenvalues(system, speed)
        assert all(np.abs(found - wanted).min() < 1e-10 for wanted in printed), speed
    for speed, inside in ((4.29238253634111, 1.0), (6.02426201538837, -1.0)):
        largest = [np.partition(bicycle.eigenvalues(system, speed + 1e-6 * e * inside).real, -1)[-1] for e in (-1, 1)]
        assert largest[0] > 1e-8
        assert largest[1] < 1e-8


def test_the_wheel_leans_inwards_as_it_rises(case):
    rows = case("wishbone")
    assert 3.0 < rows["camber change, from full droop to full bump (degrees)"] < 10.0


def test_the_governor_finds_its_angle_and_the_regulator_its_speed(case):
    rows = case("governor")
    closed = rows["angle of the arms at 14 rad/s, closed form (rad)"]
    assert rows["  at the end of a run of 20 s"] == pytest.approx(closed, abs=1e-3)
    rows = case("governor_lqr")
    expected = rows["  expected: brake / gain below 14 (rad/s)"]
    assert rows["speed after 8 s, regulated (rad/s)"] == pytest.approx(expected, abs=2e-3)
    assert rows["speed after 8 s, left alone (rad/s)"] < 13.0


def test_the_marionette_follows_its_strings(case):
    """Strings and rods of one length carry the figure in parallel: it swings as a pendulum of that length."""
    rows = case("marionette")
    assert rows["degrees of freedom, of which led"] == "4, 3"
    assert rows["bar and strings off their motions, at most (m)"] < 1e-7
    assert rows["frequency of the free swing (Hz)"] == pytest.approx(np.sqrt(9.81) / (2 * np.pi), rel=1e-9)
    assert rows["  at rest, weight of an arm / 2 (N)"] == pytest.approx(0.25 * 9.81 / 2, rel=1e-9)
    assert rows["least tension of the hands' strings (N)"] > 0.5
    assert rows["energy balance off by (J)"] < 1e-8


def test_the_marionette_hangs_still_after_an_optimal_motion(case):
    rows = case("marionette_carried")
    assert rows["optimal motion"].startswith("found in")
    assert rows["simulated back, off by (m, rad)"] < 1e-9
    assert rows["swing left at the end (m)"] < 1e-3 < 0.2 < rows["  by a smooth motion of the bar (m)"]
    assert rows["least tension of the hands' strings (N)"] > 0.5


def test_bricards_linkage_keeps_its_relation(case):
    rows = case("bricard", span=2.0)
    assert rows["constraint rows, rank, mobility"] == "5, 4, 1"
    assert rows["cos θ₁ + cos θ₂ + cos θ₁ cos θ₂, at most"] < 1e-12


def test_the_platform_follows_its_pose(case):
    rows = case("stewart", span=0.1)
    assert rows["legs against the closed form (m)"] < 1e-12
    assert rows["largest error of the position (m)"] < 2e-4


def test_planned_motions_arrive(case):
    rows = case("swing_up", intervals=25)
    assert abs(rows["started 0.05 rad off, with feedback, after 6 s (rad)"]) < 0.02
    assert abs(rows["started 0.05 rad off, in open loop (rad)"]) > 0.2
    rows = case("parking", intervals=20)
    assert rows["misses its place, simulated in open loop, by (m)"] < 0.1


def test_the_pull_up_is_simulated_back(case):
    rows = case("pull_up", steps=48)
    assert rows["its run"] == "the end was reached"
    assert rows["rise of the torso (m)"] == pytest.approx(0.3, abs=0.01)
    assert rows["  off the motion, same steps, at most (rad, m)"] < 1e-9
    assert rows["  by dopri5 with feedback, at the end (rad, m)"] < 0.01
    assert rows["difference between both sides, at most (rad)"] < 1e-9
    with_swing = rows["started with a swing, angle of the torso left at the end (rad)"]
    assert rows["  with feedback (rad)"] < 1e-3 < with_swing


def test_tolerances_of_lengths_spread_as_derivatives_say(case):
    rows = case("tolerances", drawn=True, n=200)
    assert rows["that succeeded"] == rows["runs"] == 200
    expected = rows["  by exact derivatives (mrad)"]
    assert rows["deviation of the rocker at the start (mrad)"] == pytest.approx(expected, rel=0.1)
    assert rows["width of the band after 3 s (mrad)"] > 2 * rows["width of the band at the start (mrad)"]


def test_a_regulator_holds_the_machines_whose_linear_models_say_so(case):
    rows = case("robust_regulator", n=64)
    assert rows["runs that succeeded"] == rows["machines"] == 64
    assert 10 < rows["that stand after 6 s"] < 54
    assert rows["for which both say the same"] >= 61


def test_a_map_of_runs_has_the_symmetry_of_the_mechanism(case):
    rows = case("passage_map", size=12)
    assert rows["that succeeded"] == rows["runs"] == 144
    assert rows["mirror images that agree (part)"] > 0.95
    assert 0.1 < rows["part that points the other way after 1.5 s"] < 0.9
    assert rows["largest error of the energy (J)"] < 1e-3


def test_sobol_indices_of_a_suspension_are_those_of_its_derivatives(case):
    rows = case("suspension_indices", n=256)
    assert rows["that succeeded"] == rows["runs"]
    for name in ("toe", "camber"):
        exact = [float(x) for x in rows[f"{name}: by exact derivatives, point by point"].split(", ")]
        found = [
            float(rows[f"{name}: {point}, alone and in all"].split(", ")[1])
            for point in ("rack", "tie", "upper ball", "lower ball", "strut top")
        ]
        assert found == pytest.approx(exact, abs=0.05)


def test_a_law_that_is_learned_comes_near_the_optimal_one(case):
    pytest.importorskip("gymnasium")
    rows = case("learned_balance", generations=8)
    still, learned = rows["return of standing still"], rows["mean return of the learned law in new episodes"]
    assert 0.95 * still < learned < rows["mean return of da.lqr in these"] + 0.01 * still < 1.02 * still


def test_every_case_is_short_and_described():
    """Under 60 lines, with a title and a text for the site; and each is named in a test above."""
    sys.path.insert(0, str(GALLERY))
    try:
        cases = import_module("cases").CASES
    finally:
        sys.path.remove(str(GALLERY))
        sys.modules.pop("cases", None)
    tests = Path(__file__).read_text(encoding="utf-8")
    assert len(cases) >= 26
    for name in cases:
        text = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
        title, _, body = text.split('"""')[1].partition("\n\n")
        assert len(text.splitlines()) < 60, name
        assert len(title) < 110, name
        assert len(body) > 100, name
        assert f'"{name}"' in tests, name


def test_one_law_leads_a_five_bar_whose_loop_opens_and_is_latched_again(case):
    """The tips keep to their path, the pin to its force, and the latch takes ½ |Δv|² in the mass metric."""
    rows = case("five_bar_latch", drawn=True)
    assert rows["reached the end"]
    assert rows["lost in the latch (J)"] == pytest.approx(rows["the same from the velocities (J)"], rel=1e-9)
    assert rows["the tips were apart by (m)"] == pytest.approx(0.2, rel=1e-3)
    assert rows["off the path at most (m)"] < 2e-3  # half of what the latch reaches, and a sample's delay
    assert rows["force in the pin off 4 N at most (N)"] < 0.01
    assert rows["energy error (J)"] < 1e-7


def test_a_wheel_without_a_rim_walks_at_the_speed_of_its_formula(case):
    rows = case("rimless_wheel")
    assert rows["steps"] >= 8
    assert rows["part of the speed kept, at last"] == pytest.approx(rows["the same by the formula"], rel=1e-9)
    speed, exact = (rows[f"{name} (rad/s)"] for name in ("speed before a step, at last", "the same by the formula"))
    assert speed == pytest.approx(exact, rel=1e-5)


def test_a_clutch_grips_and_slips_when_its_formulas_say(case):
    rows = case("clutch")
    for what in ("grips", "slips"):
        found, exact = map(float, rows[f"{what} at, and by the formula (s)"].split(","))
        assert found == pytest.approx(exact, abs=1e-8)


def test_a_belt_slips_and_grips_and_the_hoist_settles_as_its_constants_say(case):
    rows = case("hoist")
    assert rows["changes"] == "belt sticks"
    for what in (
        "drum as it grips, and by Euler (rad/s)",
        "speed of the load, and of the motor's constants (m/s)",
    ):
        found, exact = map(float, rows[what].split(","))
        assert found == pytest.approx(exact, rel=3e-4)
    assert rows["sun by carrier (Willis: 4)"] == pytest.approx(4.0, rel=1e-12)
    assert rows["slip while it grips, at most (m/s)"] < 1e-12
    assert rows["energy error (J)"] < 1e-6


def test_a_chosen_epsilon_keeps_noise_out_of_the_law_at_singular_positions(case):
    """Aghili (68): the constraint is left out where |cos q₁| < ε/√5 l; without ε noise is taken for a constraint."""
    rows = case("singular_control", tried=())
    assert rows["singular positions crossed"] == 2
    assert rows["time without the constraint, found (s)"] == pytest.approx(rows["  by (68) (s)"], abs=4e-3)
    off, torque = (
        [rows[name.format(e)] for e in ("0", "0.1")]
        for name in ("Aᵀλ of the guide off by, at most, ε = {} m (N m)", "largest torque, ε = {} m (N m)")
    )
    assert off[1] < 4.0 < 20.0 < off[0]
    assert torque[1] < 60.0 < torque[0]
    assert rows["crank off its motion, ε = 0.1 m (rad)"] < 1e-3
    found, exact = map(float, rows["measured length of A where it is zero, rms; √3 σ l (m)"].split(","))
    assert found == pytest.approx(exact, rel=0.03)


def test_a_platform_follows_the_edge_of_its_workspace_and_comes_back(case):
    rows = case("beyond_workspace")
    assert 0.05 < rows["farthest from the path (m)"] < 0.15
    assert rows["at the end (m)"] < 1e-3
    assert 0.95 < rows["most stretched leg (1: straight)"] < 0.999
    assert rows["largest torque (N m)"] < 10.0


def test_a_paddle_throws_a_ball_to_its_height_and_both_come_to_rest_on_the_stop(case):
    rows = case("juggler")
    first, last = map(float, rows["height of the first and of the last throw (m)"].split(","))
    assert first < 0.35
    assert last == pytest.approx(rows["  settles at (m)"], rel=2e-3)
    assert rows["speed after a hit / before it, at last"] == pytest.approx(1.0, abs=2e-3)
    assert rows["paddle and ball at the end (m)"] == "-0.200000, -0.200000"
    assert rows["energy error (J)"] < 1e-8


def test_a_finger_is_taken_off_a_ball_and_put_down_elsewhere(case):
    """While tendons pull, tips push within their cones and the ball stays; up to where the finger is in the air."""
    rows = case("regrasp", span=0.27)
    assert rows["the index finger was off by (mm)"] > 1.0
    assert rows["the ball moved by, at most (mm)"] < 0.05
    assert float(rows["least and largest tension (N)"].split(",")[0]) == 0.0
    assert rows["least push of a tip (N)"] > -1e-3


def test_hands_press_a_box_as_hard_as_friction_needs(case):
    """The least squeeze at which neither hand slips is (m |ẍ| + m (g + ÿ)/μ)/2; below it the wanted one acts."""
    rows = case("grasp", drawn=True)
    least, largest = map(float, rows["least and largest force inside the box (N)"].split(","))
    assert least == pytest.approx(10.5, abs=0.01)
    assert largest > 10.8
    assert rows["  off its closed form from 1.2 s on, at most (N)"] < 0.02
    assert rows["least push of a hand (N)"] > 9.5
    assert rows["friction / push, at most"] == pytest.approx(0.5, abs=2e-3)


def test_a_quadruped_slides_and_rocks_where_statics_says_and_stands_again(case):
    """μ m g forwards, m g a / h sideways, of pushes that grow by 10 N/s; the loops stay closed to rounding."""
    rows = case("quadruped", span=1.5)
    assert rows["force on all feet at last / weight"] == pytest.approx(1.0, abs=1e-6)
    weight = rows["  friction of its weight (N)"]
    assert rows["slow push that slides it forwards (N)"] == pytest.approx(weight, rel=3e-3)
    assert rows["slow push that lifts two feet (N)"] == pytest.approx(rows["  m g a / h (N)"], rel=4e-3)
    most, last = map(float, rows["60 N sideways tilt it by, at most and at the end (deg)"].split(","))
    assert last < 0.05 < 10.0 < most
    assert rows["90 N sideways: falls at (s)"] < 1.0
    assert rows["loops closed to (m)"] < 1e-12
    assert rows["feet in the floor, at most (m)"] < 1e-4


def test_a_quadruped_trots_a_little_slower_than_its_gait_and_its_feet_carry_it(case):
    """Over four strides of a steady trot the impulse of the feet is the weight times the time."""
    rows = case("trot", span=4.0, drawn=True)
    assert rows["reached the end"]
    assert 0.85 < rows["speed, straight (m/s)"] / rows["  of the gait (m/s)"] < 1.0
    assert rows["mean force on the feet / weight"] == pytest.approx(1.0, abs=1e-3)
    assert rows["it turns by (rad/s)"] > 0.2
    assert rows["largest tilt (deg)"] < 8.0
    assert rows["loops closed to (m)"] < 1e-12


def test_a_geneva_drive_turns_by_quarters_as_its_formula_says(case):
    rows = case("geneva")
    off, play = rows["off the formula, in a slot (rad)"], rows["  play / 2 over the least distance (rad)"]
    assert 0.9 * play < off < 1.001 * play
    fastest, exact = map(float, rows["fastest, by the formula (rad/s)"].split(","))
    assert fastest == pytest.approx(exact, rel=1e-4)
    assert rows["quarters in two turns"] == pytest.approx(2.0, abs=0.01)


def test_a_pawl_holds_a_ratchet_on_a_tooth_with_the_torque_of_the_load(case):
    rows = case("ratchet", span=1.1)
    assert rows["teeth passed"] == 14
    assert 0.0 < rows["turned back by (teeth)"] < 1.0
    assert rows["off a face at the end (teeth)"] < 1e-9
    assert rows["force of the tooth × radius (N m)"] == pytest.approx(0.1, rel=1e-6)
    assert rows["tip in the teeth, at most (m)"] < 1e-9


def test_a_box_comes_to_rest_on_four_corners_and_loses_what_its_contacts_took(case):
    rows = case("tumbling_box", span=1.5, drawn=True)
    assert rows["reached the end"]
    assert rows["speed at the end (m/s, rad/s)"] < 1e-9
    assert rows["height of its middle at the end (m)"] == pytest.approx(rows["  half of a side (m)"], abs=1e-9)
    assert rows["corners on the floor at the end"] == 4
    assert rows["what they carry / weight"] == pytest.approx(1.0, rel=1e-9)
    assert rows["lost by contacts and friction (J)"] == pytest.approx(rows["  loss of energy (J)"], rel=2e-3)
    assert rows["largest rise of the energy in a step (J)"] < 1e-6


def test_a_platform_catches_a_ball_and_rolls_it_to_its_middle(case):
    """Hit after √(2 h/g); then the motion that was asked for, of a ball that rolls: within what the platform lags."""
    rows = case("catching", span=4.0)
    assert rows["reached the end"]
    found, exact = map(float, rows["first hit at, and by √(2 h/g) (s)"].split(","))
    assert found == pytest.approx(exact, abs=1e-3)
    assert rows["off the motion that was asked for, at most (m)"] < 0.006
    assert rows["from the middle at the end (m)"] < 0.012
    assert rows["sag × stiffness of the legs / weight"] == pytest.approx(1.0, abs=5e-3)
    assert rows["loops closed to (m)"] < 1e-11
