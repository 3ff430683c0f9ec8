"""Runs in total rates are runs in velocities, seen through another factor of the mass matrix."""

import numpy as np
import pytest

import dalembert as da
from random_mechanisms import random_state, random_tree


@pytest.mark.parametrize("formulation", ["total_rates", "total_rates_xi"])
@pytest.mark.parametrize("seed", [1, 4])
def test_total_rates_give_the_same_motion(formulation, seed):
    """Random trees with quaternion joints, forces and dampers."""
    system = random_tree(seed, 5).compile()
    x = random_state(system, seed)
    times = np.linspace(0, 0.5, 6)
    a, b = (
        da.simulate(system, x, times[[0, -1]], t_eval=times, formulation=f, rtol=1e-11, atol=1e-12)
        for f in ("auto", formulation)
    )
    assert b.success
    size = 1 + np.abs(a.v).max()
    np.testing.assert_allclose(b.q, a.q, atol=1e-8 * size)
    np.testing.assert_allclose(b.v, a.v, atol=1e-7 * size)
    for name, work in a.work.items():
        np.testing.assert_allclose(b.work[name], work, atol=1e-6 * (1 + np.abs(work).max()))


def test_what_sees_velocities_is_refused():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_motor("push", "x")
    with pytest.raises(da.ArgumentError, match="controllers, events and recordings see velocities"):
        da.simulate(m.compile(), [0.0], 1.0, u=lambda t, s: [1.0], formulation="total_rates")
    from dalembert import zoo

    four = zoo.four_bar().compile()
    with pytest.raises(da.ArgumentError, match="the diagonal equations are those of its tree"):
        da.simulate(four, four.state(*zoo.four_bar_start(0.6)), 1.0, formulation="total_rates")
