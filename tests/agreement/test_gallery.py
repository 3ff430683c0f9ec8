"""The gallery's scripts run and show what the papers say."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"


@pytest.fixture
def case(monkeypatch, tmp_path):
    """main() of a script by name; its figures go to a temporary folder."""
    monkeypatch.syspath_prepend(str(GALLERY))

    def run(name, **options):
        monkeypatch.delitem(sys.modules, name, raising=False)
        rows = import_module(name).main(tmp_path, **options)
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
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
    rows = case("ladder")
    assert rows["reached the end"]
    assert rows["times flat"] >= 8
    assert rows["cranks apart, at most (rad)"] < 1e-6
