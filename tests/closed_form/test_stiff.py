"""Stiff motion: the implicit method follows the slow part with few steps."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def tied_masses():
    """Two masses of 1 kg tied by k = 10⁶ N/m, c = 10⁴ N s/m; the first hangs on 1 N/m: slowly (m₁ + m₂) ẍ = −x."""
    m = da.Mechanism("tied", gravity=(0, 0, 0))
    a, b = m.add_body("a", mass=1.0), m.add_body("b", mass=1.0)
    m.add_joint("a", da.Prismatic("x"), m.ground, a, stiffness=1.0)
    m.add_joint("gap", da.Prismatic("x"), a, b, stiffness=1e6, damping=1e4)
    return m.compile()


def test_a_stiff_tie_costs_the_implicit_method_nothing():
    times = np.linspace(0, 6, 7)
    options = {"rtol": 1e-6, "atol": 1e-9}
    stiff = da.simulate(tied_masses(), {"a": 1.0}, times[[0, -1]], t_eval=times, method="sdirk4", **options)
    explicit = da.simulate(tied_masses(), {"a": 1.0}, times[[0, -1]], t_eval=times, **options)
    for run in (stiff, explicit):
        assert run.success
        np.testing.assert_allclose(run["a"], np.cos(times / np.sqrt(2)), rtol=0, atol=3e-6)  # and 10⁻⁶ of the tie's own
    assert stiff.steps < 200
    assert explicit.steps > 50 * stiff.steps


@pytest.mark.parametrize("coordinates", [None, "partition"])
def test_a_stiff_spring_on_a_constrained_body_is_followed_in_all_coordinates_and_in_few(coordinates):
    """A pendulum on a rod (a constraint) carries a rider on a stiff, damped spring: it swings as if it had none.

    Tangent charts mix the stiff direction into all their coordinates, which costs an SDIRK method its order there.
    """
    m = da.Mechanism("rider", gravity=(0, -9.81, 0))
    cart, bob, rider = m.add_body("cart"), m.add_body("bob", mass=1.0), m.add_body("rider", mass=1e-3)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("y", da.Prismatic("y"), cart, bob)
    m.add_rod("string", m.ground, bob, length=1.0)
    m.add_joint("ride", da.Prismatic("x"), bob, rider, stiffness=1e4, damping=20.0)
    system = m.compile()
    x = system.state({"x": np.sin(1.0), "y": -np.cos(1.0), "ride": 0.0})
    times = np.linspace(0, 3, 4)
    options = {"rtol": 1e-7, "atol": 1e-8}
    run = da.simulate(system, x, times[[0, -1]], t_eval=times, method="sdirk4", coordinates=coordinates, **options)
    assert run.success
    expected = zoo.exact.pendulum(times, amplitude=1.0)[0]
    np.testing.assert_allclose(
        np.arctan2(run["x"], -run["y"]), expected, rtol=0, atol=2e-3
    )  # the rider weighs a thousandth
    explicit = da.simulate(system, x, times[[0, -1]], t_eval=times, **options)
    np.testing.assert_allclose(run.q, explicit.q, rtol=0, atol=1e-5)
    assert explicit.steps > 10 * run.steps
    assert run.residuals.max() < 1e-12
