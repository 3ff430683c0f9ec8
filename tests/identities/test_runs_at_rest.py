"""Runs from equilibria: what rounding leaves of balanced weights is no motion to be followed."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def resting(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    x = system.state(*entry.start())
    still = x.replace(v=np.zeros(system.nv))
    return system, x, da.equilibrium(system, still, bounds={system.v_names[0]: (None, None)}).state


@pytest.mark.parametrize("name", ["four_bar", "two_arms"])
def test_a_mechanism_at_rest_takes_fewer_steps_than_one_that_moves(name):
    """Loops hang still: the run stays there, by fewer steps than a tenth of those of a fall."""
    system, x, rest = resting(name)
    assert 0 < np.abs(system.acceleration(rest).vdot).max() < 1e-11  # rounding, but not zero
    run, falling = da.simulate(system, rest, 5.0), da.simulate(system, x, 5.0)
    assert run.success
    assert np.abs(run.q - rest.q).max() < 1e-9
    assert run.steps < 0.1 * falling.steps


def test_lanes_rest_as_runs_do():
    system, _, rest = resting("two_arms")
    many = da.ensemble(system, [rest] * 4, 5.0)
    assert many.success.all()
    assert not many.alone.any()
    np.testing.assert_allclose(many.q_end, np.tile(rest.q, (4, 1)), atol=1e-9)
    assert (many.steps < 50).all()


@pytest.mark.parametrize("scale", [1e-3, 1e-9])
def test_slow_motions_are_followed_in_their_own_time(scale):
    """A sleigh, whose path on a level plane does not depend on its speed, is as exact at 1e-9 of the speed."""
    entry = zoo.CATALOG["chaplygin_sleigh"]
    system = entry.build().compile()
    x = system.state(*entry.start())
    assert np.abs(x.v).max() > 0
    fast = da.simulate(system, x, 2.0)
    slow = da.simulate(system, x.replace(v=scale * x.v), 2.0 / scale)
    np.testing.assert_allclose(slow.q[-1], fast.q[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(slow.v[-1] / scale, fast.v[-1], rtol=0, atol=1e-8)
