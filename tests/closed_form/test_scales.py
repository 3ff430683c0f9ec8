"""A mechanism of another size, mass or pace makes the same motion: no threshold is in metres, kilograms or seconds."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

SCALES = [
    (1e-6, 1.0, 1.0), (1e6, 1.0, 1.0), (1.0, 1e-6, 1.0), (1.0, 1e6, 1.0), (1.0, 1.0, 1e-6), (1.0, 1.0, 1e6),
    (1e-6, 1e6, 1e3), (1e5, 1e-3, 1e-5),
]  # fmt: skip
POWERS = [tuple(2.0**k for k in powers) for powers in ((-20, 0, 0), (20, 0, 0), (0, -20, 0), (0, 20, 0), (0, 0, -20))]
POWERS += [(1.0, 1.0, 2.0**20), (2.0**-20, 2.0**20, 2.0**10)]


def five_bar(length, mass, clock, *, span):
    lengths, kilograms = np.array([1.0, 1.5, 1.5, 1.0]), np.array([2.0, 3.0, 3.0, 2.0])
    return zoo.five_bar(
        span=span * length, lengths=length * lengths, masses=mass * kilograms,
        inertias=mass * length**2 * np.array([1.0, 2.0, 2.0, 1.0]), gravity=9.81 * length / clock**2,
    ).compile()  # fmt: skip


@pytest.mark.parametrize(("length", "mass", "clock"), POWERS)
def test_a_regular_motion_is_the_same_step_for_step(length, mass, clock):
    """By powers of two, which cost no rounding where numbers of one kind are added.

    No length or mass is 1 in either: products with 1 vanish from the code, and other sums are fused.
    """
    start = zoo.five_bar_start(-np.pi, branch=-1, span=zoo.PEER_SPAN)
    one, other = (five_bar(4 * l, 4 * m, t, span=zoo.PEER_SPAN) for l, m, t in ((1, 1, 1), (length, mass, clock)))
    x = one.state(*start)
    usual, scaled = da.simulate(one, x, 3.0), da.simulate(other, other.state(x.q, x.v / clock), 3.0 * clock)
    assert scaled.success
    assert (scaled.steps, scaled.rejected) == (usual.steps, usual.rejected)
    np.testing.assert_allclose(scaled.t / clock, usual.t, rtol=0, atol=1e-5)
    np.testing.assert_allclose(scaled.q[-1], usual.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(scaled.v[-1] * clock, usual.v[-1], rtol=0, atol=1e-8)


@pytest.mark.parametrize(("length", "mass", "clock"), SCALES)
def test_a_singular_position_is_met_and_judged_alike(length, mass, clock):
    one, other = five_bar(1.0, 1.0, 1.0, span=1.0), five_bar(length, mass, clock, span=1.0)
    x = one.state(*zoo.five_bar_start())
    usual, scaled = da.simulate(one, x, 1.0), da.simulate(other, other.state(x.q, x.v), clock)
    assert scaled.success
    ((a,), (b,)) = usual.passages, scaled.passages
    assert b.nearest == pytest.approx(a.nearest * clock, rel=1e-7)
    assert (b.rows, b.rank, b.branches, b.met, b.determined) == (a.rows, a.rank, a.branches, a.met, a.determined)
    np.testing.assert_allclose(scaled.q[-1], usual.q[-1], rtol=0, atol=1e-6)


def change_point(length, longer):
    """A four-bar that can fold flat if longer is zero; else its branches avoid each other there."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81 * length, 0))
    sizes = {"crank": (1.0, 0.5), "coupler": (1.5, 1.25), "rocker": (1.2, 0.75)}
    bars = {}
    for name, (mass, l) in sizes.items():
        moment = mass * (l * length) ** 2 / 12
        bars[name] = m.add_body(name, mass=mass, com=(l * length / 2, 0, 0), inertia=(0, moment, moment))
    m.add_joint("A", da.Revolute("z"), m.ground, bars["crank"])
    m.add_joint("B", da.Revolute("z"), bars["crank"].at(0.5 * length), bars["coupler"])
    m.add_joint("D", da.Revolute("z"), m.ground.at(length), bars["rocker"])
    m.close_loop("C", da.Revolute("z"), bars["coupler"].at((1.25 + longer) * length), bars["rocker"].at(0.75 * length))
    return m.compile()


@pytest.mark.parametrize(("longer", "rtol", "determined"), [(1e-12, 1e-9, True), (1e-14, 1e-6, False), (0, 1e-9, True)])
def test_branches_that_avoid_each_other_are_told_from_crossing_ones_at_any_size(longer, rtol, determined):
    """Lengths that differ by 1e-12 and 1e-14 of themselves, in a mechanism of a metre, a micrometre and 1000 km."""
    ends = []
    for length in (1.0, 2.0**-20, 2.0**20):
        system = change_point(length, longer)
        x = system.assemble({"A": 0.8}, v={"A": -3.0}, guess={"B": -0.5, "D": 1.6})
        run = da.simulate(system, x, 0.6, rtol=rtol, atol=0.1 * rtol)
        assert run.success
        (passage,) = run.passages
        assert (passage.met, passage.determined) == (longer != 1e-12, determined)
        ends.append(run.q[-1])
    assert ends[1] == pytest.approx(ends[0], abs=1e-7)
    assert ends[2] == pytest.approx(ends[0], abs=1e-7)
