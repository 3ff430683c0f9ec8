"""Parameters nine orders of magnitude from their defaults: the same mechanics in other units."""

import numpy as np
import pytest

import dalembert as da


def slider_crank():
    """A crank, a rod and a slider on a line; masses in M, lengths in L, weight along −y with g."""
    m = da.Mechanism("slider-crank")
    M, L, g = m.add_parameter("M", 1.0), m.add_parameter("L", 1.0), m.add_parameter("g", 9.81)
    m.gravity = (0, -g, 0)
    crank = m.add_body("crank", mass=M, com=(0.2 * L, 0, 0), inertia=(0, 0.02 * M * L * L, 0.02 * M * L * L))
    rod = m.add_body("rod", mass=2 * M, com=(0.5 * L, 0, 0), inertia=(0, 0.2 * M * L * L, 0.2 * M * L * L))
    slider = m.add_body("slider", mass=0.5 * M)
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.4 * L, 0, 0), rod)
    m.add_joint("S", da.Prismatic("x"), m.ground, slider)
    m.close_loop("C", da.Revolute("z"), rod.at(L, 0, 0), slider)
    return m.compile()


SYSTEM = slider_crank()


@pytest.fixture(scope="module")
def usual():
    x = SYSTEM.assemble({"A": 0.7}, v={"A": 3.0}, guess={"B": -1.0, "S": 1.0})
    return x, da.simulate(SYSTEM, x, 2.0, t_eval=np.linspace(0, 2, 9))


@pytest.mark.parametrize(("M", "L"), [(1e9, 1.0), (1e-9, 1.0), (1e9, 1e3), (1.0, 1e6), (1.0, 1e-6), (1e-9, 1e-3)])
@pytest.mark.parametrize("options", [{}, {"formulation": "nullspace"}, {"coordinates": "tangent"}], ids=str)
def test_a_run_does_not_depend_on_units(usual, M, L, options):
    """With g in proportion to L time is the same, angles are the same, the slide is L times as long."""
    x, run = usual
    p = {"M": M, "L": L, "g": 9.81 * L}
    scale = np.array([1.0, 1.0, L])
    start = SYSTEM.state(x.q * scale, x.v * scale)
    other = da.simulate(SYSTEM, start, 2.0, p=p, t_eval=run.t, atol=1e-10 * min(1.0, L), **options)
    assert other.success, other.message
    assert other.passages == ()
    np.testing.assert_allclose(other.q / scale, run.q, rtol=0, atol=1e-6)
    assert other.residuals.max() < 1e-12 * max(1.0, L)


def test_a_heavy_mechanism_takes_the_steps_of_a_light_one(usual):
    x, _ = usual
    light, heavy = (da.simulate(SYSTEM, x, 2.0, p={"M": M}) for M in (1.0, 1e9))
    assert heavy.steps == light.steps
    np.testing.assert_allclose(heavy.q[-1], light.q[-1], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{"coordinates": ["S"]}, {"coordinates": "tangent"}, {"coordinates": ["S"], "method": "sdirk4", "rtol": 1e-7}],
    ids=["slide", "tangent", "slide, sdirk4"],
)
def test_independent_coordinates_take_the_same_steps_at_any_length_and_pace(options):
    """A leading slide in metres, its speed and its differences are measured by the mechanism's length and pace (F4)."""
    x = SYSTEM.assemble({"A": 0.7}, v={"A": 3.0}, guess={"B": -1.0, "S": 1.0})
    one = da.simulate(SYSTEM, x, 0.3, **options)
    for L, T in ((2.0**-20, 1.0), (1.0, 2.0**20), (2.0**20, 2.0**-20), (2.0**30, 1.0)):
        scale, p = np.array([1.0, 1.0, L]), {"L": L, "g": 9.81 * L / T**2}
        other = da.simulate(SYSTEM, SYSTEM.state(x.q * scale, x.v * scale / T), 0.3 * T, p=p, **options)
        assert other.success, other.message
        assert abs(other.steps - one.steps) <= 1  # rounding of large and small numbers may split the last step
        np.testing.assert_allclose(other.q[-1] / scale, one.q[-1], rtol=0, atol=10 * options.get("rtol", 1e-9))
