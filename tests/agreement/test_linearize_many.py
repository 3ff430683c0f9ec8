"""Linear models at many states at once are those at each of them."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def machines() -> dict[str, tuple[da.System, list[da.State]]]:
    """Closed chains, redundant rows, quaternions and rolling."""
    rng, out = np.random.default_rng(0), {}
    for name, start in (
        ("five_bar", zoo.five_bar_start()),
        ("parallel_four_bar", zoo.parallel_four_bar_start()),
        ("heavy_top", zoo.heavy_top_start()),
        ("rolling_disc", zoo.rolling_disc_start()),
    ):
        system = getattr(zoo, name)().compile()
        x = system.state(*start)
        moved = [system.state(system.plus(x, 0.02 * rng.standard_normal(system.nv)), x.v) for _ in range(11)]
        out[name] = system, [system.project(y) for y in moved]
    return out


@pytest.mark.parametrize("name", ["five_bar", "parallel_four_bar", "heavy_top", "rolling_disc"])
def test_models_at_many_states_are_those_at_each(name):
    system, states = machines()[name]
    models = da.linearize_many(system, states)
    assert not models.messages
    assert len(models) == len(states)
    independent = list(da.linearize(system, states[0]).velocities)
    for k, x in enumerate(states):
        one = da.linearize(system, x, independent=independent)
        scale = np.abs(one.A).max()
        if one.state_names == models.state_names:
            np.testing.assert_allclose(models.A[k], one.A, atol=1e-9 * scale)
            np.testing.assert_allclose(models.rate[k], one.rate, atol=1e-9 * np.abs(one.rate).max() + 1e-12)
    first = da.linearize(system, states[0])
    np.testing.assert_allclose(np.sort_complex(models.eigenvalues[0]), np.sort_complex(first.eigenvalues), rtol=1e-6)


def test_a_state_without_a_model_has_a_message_and_costs_the_others_nothing():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    open_one = system.state(x.q + np.array([0.1, 0, 0, 0]), x.v)
    models = da.linearize_many(system, [open_one, x, open_one])
    assert sorted(models.messages) == [0, 2]
    assert "not on the constraints" in models.messages[2]
    assert np.isnan(models.A[[0, 2]]).all()
    np.testing.assert_allclose(models.A[1], da.linearize(system, x).A, rtol=1e-9)
    assert models.stable.tolist() == [False, False, False]
    with pytest.raises(da.ArgumentError, match="no state has a linear model"):
        da.linearize_many(system, [open_one])
    with pytest.raises(da.ArgumentError, match="empty"):
        da.linearize_many(system, [])


def test_parameters_and_inputs_may_differ_from_state_to_state():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    m.add_motor("M", "A")
    system, lengths = m.compile(), np.linspace(0.5, 2.0, 13)
    states = [system.state({"A": 0.3})] * 13
    models = da.linearize_many(system, states, p=lengths[:, None], u=np.linspace(0, 1, 13)[:, None])
    np.testing.assert_allclose(models.A[:, 1, 0], -9.81 / lengths * np.cos(0.3), rtol=1e-12)
    np.testing.assert_allclose(models.B[:, 1, 0], 1 / lengths**2, rtol=1e-12)
    np.testing.assert_allclose(models.rate[:, 1], -9.81 / lengths * np.sin(0.3) + np.linspace(0, 1, 13) / lengths**2)
