"""Runs that project nothing meet a change point with loops that are a little open: right, or said not to be known."""

import numpy as np
import pytest

import dalembert as da


@pytest.fixture(scope="module")
def four_bar():
    """Ground and crank are as long as coupler and rocker: it folds flat, where two branches cross."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    bars = {}
    for name, length in {"crank": 1.0, "coupler": 1.4, "rocker": 1.2}.items():
        bars[name] = m.add_body(name, mass=1.0, com=(length / 2, 0, 0), inertia=da.rod_inertia(1.0, length))
    m.add_joint("A", da.Revolute("z"), m.ground, bars["crank"])
    m.add_joint("B", da.Revolute("z"), bars["crank"].at(1.0), bars["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.6), bars["rocker"])
    m.close_loop("C", da.Revolute("z"), bars["coupler"].at(1.4), bars["rocker"].at(1.2))
    system = m.compile()
    x = system.assemble({"A": 1.0}, v={"A": 1.0}, guess={"B": -0.8, "D": 1.8})
    true = da.simulate(system, x, 2.0, rtol=1e-11, atol=1e-12)
    assert [p.determined for p in true.passages] == [True]
    return system, x, true


@pytest.mark.parametrize("stabilization", ["none", "baumgarte", da.Baumgarte(50.0, 50.0)], ids=str)
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-11])
def test_a_run_without_projection_is_on_the_right_branch_or_says_that_it_may_not_be(four_bar, stabilization, rtol):
    system, x, true = four_bar
    run = da.simulate(system, x, 2.0, rtol=rtol, atol=0.1 * rtol, stabilization=stabilization)
    right = np.abs(run.q[-1] - true.q[-1]).max() < max(1e3 * rtol, 1e-6)
    assert right or not run.success or any(not p.determined for p in run.passages)
    assert right or run.warnings


@pytest.mark.parametrize("stabilization", ["none", "baumgarte"])
def test_a_clear_miss_is_still_called_determined(four_bar, stabilization):
    """The same linkage before it comes near, and one whose coupler is longer by 2 %: its branches avoid each other."""
    system, x, _ = four_bar
    m = da.Mechanism("longer", gravity=(0, -9.81, 0))
    crank, coupler, rocker = (
        m.add_body(n, mass=1.0, com=(l / 2, 0, 0), inertia=da.rod_inertia(1.0, l))
        for n, l in zip("abc", (1.0, 1.428, 1.2))
    )
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(1.0), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(1.6), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(1.428), rocker.at(1.2))
    longer = m.compile()
    y = longer.assemble({"A": 1.0}, v={"A": 1.0}, guess={"B": -0.8, "D": 1.8})
    run = da.simulate(longer, y, 2.0, rtol=1e-9, stabilization=stabilization)
    true = da.simulate(longer, y, 2.0, rtol=1e-11, atol=1e-12)
    assert run.success
    assert not run.warnings
    np.testing.assert_allclose(run.q[-1], true.q[-1], rtol=0, atol=1e-6)
    before = da.simulate(system, x, 1.0, rtol=1e-9, stabilization=stabilization)
    assert before.success
    assert not before.warnings
