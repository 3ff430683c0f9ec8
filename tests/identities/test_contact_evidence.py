"""Gaps, overlaps and missed laws of contact and friction, as runs report them."""

from itertools import product

import numpy as np
import pytest
from tests.identities.test_modes_as_selections import box, linkage, roped

import dalembert as da
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.results import phased_run
from dalembert.simulation.results.contact_evidence import broken_laws


@pytest.mark.parametrize("make", [box, linkage, roped])
def test_runs_keep_the_laws_of_contact_and_friction(make):
    system, state, end = make()
    run = da.simulate(system, state, end)
    assert run.gaps.shape == (len(run.t), len(run.contact_names))
    assert run.contact_residuals.shape == run.penetration.shape == run.t.shape
    assert run.penetration.max() < 1e-13
    assert run.contact_residuals.max() < 1e-10
    forces = np.stack([run.multiplier(f"{name}.gap") for name in run.contact_names], axis=1)
    assert np.abs(forces * run.gaps).max() < 1e-10 * np.abs(forces).max() * system.layout.length
    assert np.abs(forces).max() > 0.0


def test_a_run_whose_forces_break_the_laws_is_no_success(monkeypatch):
    """As a contact that pulls would: by a thousandth of the largest force, at one record."""
    system, state, end = box()
    run = da.simulate(system, state, end)
    assert run.success
    assert run.warnings == ()
    found = phased_run.broken_laws
    monkeypatch.setattr(phased_run, "broken_laws", lambda *of: np.maximum(found(*of), 1e-3 * (np.arange(of[-1]) == 1)))
    again = da.simulate(system, state, end)
    assert again.status == da.Status.DONE
    assert not again.success
    assert "forces miss the laws of contact and friction at t = " in again.message


def test_gaps_are_those_of_the_positions():
    system, state, end = box()
    run = da.simulate(system, state, end)
    k = int(np.argmin(np.abs(run.t - 0.2 * end)))
    T = system.pose(run.state(k), "box")
    corners = [T[:3, :3] @ (0.5 * np.array(signs) * (0.2, 0.3, 0.1)) + T[:3, 3] for signs in product((-1, 1), repeat=3)]
    assert np.allclose(run.gaps[k], np.array(corners)[:, 2], rtol=0, atol=1e-14)


def test_forces_that_break_a_law_are_told_by_how_much():
    """A contact that pulls, one that needs more friction than there is, a joint beyond its breakaway."""
    m = da.Mechanism("block", gravity=(0, 0, -9.81))
    slide = m.add_body("slide", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("z", da.Prismatic("z"), slide, m.add_body("block", mass=1.0), friction=2.0)
    m.add_contact("floor", "block", friction=0.5)
    changeable, none = Changeable.of(m.compile()), np.zeros(2)
    mode = HybridMode((), (("floor", "sticks"),))
    (slip,) = [n for n in changeable.row_names if n.startswith("floor.") and n != "floor.gap"]
    normal = np.array([4.0, -1.0])
    assert np.allclose(broken_laws(changeable, mode, {"floor.gap": normal, slip: none}, 2), [0.0, 0.25])
    across = {"floor.gap": np.array([4.0, 2.0]), slip: np.array([-2.0, 1.6])}
    assert np.allclose(broken_laws(changeable, mode, across, 2), [0.0, 0.15])
    stuck = HybridMode((), (), ("z",))
    (row,) = [n for n in changeable.row_names if n.endswith(".stick")]
    assert np.allclose(broken_laws(changeable, stuck, {row: np.array([-2.0, 3.0])}, 2), [0.0, 0.5])
    assert not broken_laws(changeable, HybridMode(()), {}, 2).any()
