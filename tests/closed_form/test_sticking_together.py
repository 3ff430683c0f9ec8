"""Joints that stick together: what any forces within their bounds can hold does not move; at any size."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da


@pytest.mark.parametrize("bounds", [(1.0, 2.0), (2.0, 1.0), (1.5, 1.5), (0.2, 3.0)])
def test_two_slides_that_move_as_one_hold_as_much_as_both(bounds):
    """A force k t on two coupled slides: at rest up to F₁ + F₂ = k t₀, then m x = k (t − t₀)³ / 6."""
    m = da.Mechanism("coupled")
    for k, bound in enumerate(bounds):
        m.add_joint(f"x{k}", da.Prismatic("x"), m.ground, m.add_body(f"b{k}", mass=1.0 + k), friction=bound)
    m.add_coupling("as one", {"x0": 1.0, "x1": -1.0})
    m.add_joint_force("pull", "x0", lambda s: 2.0 * s.t)
    system = m.compile()
    run = da.simulate(system, system.state(), 3.0)
    assert run.success, run.summary()
    start = sum(bounds) / 2.0
    slides = [s.t for s in run.switches if s.kind == "slides"]
    assert slides
    assert max(slides) == pytest.approx(start, rel=1e-9)
    assert min(slides) == pytest.approx(start, rel=1e-9)
    assert run["x1"][-1] == pytest.approx(2.0 * (3.0 - start) ** 3 / 6.0 / 3.0, rel=1e-7)


def four_bar(size, friction, limits=(0.6, 2.63)):
    """All lengths times `size`, masses times its cube: similar motions, times as the root of it."""
    g, mass, lengths = 9.81, size**3, size * np.array([0.2, 0.6, 0.4, 0.55])
    m = da.Mechanism("four-bar", gravity=(0, -g, 0))
    a, b, d = (
        m.add_body(n, mass=mass, com=(x / 2, 0, 0), inertia=da.box_inertia(mass, (x, 0.05 * x, 0.05 * x)))
        for n, x in zip("abd", lengths)
    )
    f = [x * mass * g * size for x in friction]
    stops = da.Stops(restitution=0.5)
    m.add_joint("A", da.Revolute("z"), m.ground, a, friction=f[0], limits=limits, stops=stops if limits else None)
    m.add_joint("B", da.Revolute("z"), a.at(lengths[0], 0, 0), b, friction=f[1])
    m.add_joint("D", da.Revolute("z"), m.ground.at(lengths[3], 0, 0), d, friction=f[2])
    m.close_loop("C", da.Revolute("z"), b.at(lengths[1], 0, 0), d.at(lengths[2], 0, 0))
    return m.compile()


@pytest.mark.parametrize("friction", [(0.1, 0.0, 0.02), (0.02, 0.02, 0.02)])
def test_a_four_bar_with_friction_comes_to_rest_alike_at_any_size(friction):
    ends = []
    for size in (1e3, 1.0, 1e-3):
        system = four_bar(size, friction)
        start = system.assemble({"A": 1.7643540247857454}, v={"A": -0.7926291797478113 / np.sqrt(size)})
        run = da.simulate(system, start, 1.5 * np.sqrt(size), rtol=1e-9, atol=1e-10)
        assert run.success, (size, run.summary())
        assert np.abs(run.v[-1]).max() <= 1e-9 / np.sqrt(size)
        ends.append([run["A"][-1], *(s.t / np.sqrt(size) for s in run.switches)])
    assert np.allclose(ends[0], ends[1], rtol=1e-6)
    assert np.allclose(ends[2], ends[1], rtol=1e-6)


def test_joints_that_stick_and_leave_no_motion_stand_still():
    """Rounding of the time at which they stop is no motion, of which steps would resolve a part."""
    system = four_bar(1e3, (0.1, 0.0, 0.02), None)
    start = system.assemble({"A": 1.9790242649458387}, v={"A": 0.2479558760834616 / np.sqrt(1e3)})
    run = da.simulate(system, start, 1.5 * np.sqrt(1e3), rtol=1e-7, atol=1e-8)
    assert run.success, run.message
    assert run.switches[-1].kind == "sticks"
    assert np.abs(run.v[run.t > run.switches[-1].t]).max() < 1e-20


@pytest.mark.parametrize("friction", [0.074, 0.091, 1.341])
@pytest.mark.parametrize("rate", [2.367, 3.499, 9.946])
def test_a_block_with_friction_leaves_its_stop_once_the_pull_exceeds_it(friction, rate):
    """2 sin ωt on a block at its stop: the stop bears first, then friction holds alone, then it leaves."""
    m = da.Mechanism("block")
    b = m.add_body("b", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, b, limits=(-1, 0), stops=da.Stops(), friction=friction)
    m.add_joint_force("f", "x", lambda s: 2.0 * ca.sin(rate * s.t))
    system = m.compile()
    run = da.simulate(system, system.state({"x": 0.0}), 1.9 * np.pi / rate)
    assert run.success, run.summary()
    leaves = (np.pi + np.arcsin(friction / 2.0)) / rate
    assert [s.t for s in run.switches if s.kind == "slides"][-1] == pytest.approx(leaves, rel=1e-9)
    assert np.abs(run["x"][run.t < leaves]).max() < 2e-9  # it may give way by so much before the stop bears
