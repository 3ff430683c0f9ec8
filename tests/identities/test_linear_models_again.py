"""Linear models asked for again: the short way gives what the long way gives, and refuses what it refuses."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.errors import ArgumentError


def five_bar():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.4))
    return system, x, list(da.linearize(system, x).velocities)


def test_the_second_model_is_the_first_one():
    system, x, names = five_bar()
    first, second = (da.linearize(system, x, independent=names) for _ in range(2))
    for field in ("A", "B", "C", "D", "time", "rate"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
    assert first.operating.condition == second.operating.condition
    assert first.operating is first.operating
    np.testing.assert_array_equal(first.operating.Kq, second.operating.Kq)


def test_a_model_keeps_its_operating_point_wherever_it_goes():
    system, x, names = five_bar()
    for _ in range(2):
        model = da.linearize(system, x, independent=names)
        for other in (copy.copy(model), pickle.loads(pickle.dumps(da.linearize(system, x, independent=names)))):
            np.testing.assert_array_equal(other.operating.state.q, x.q)
            np.testing.assert_array_equal(other.operating.vdot, model.operating.vdot)
        with pytest.raises(AttributeError, match="no attribute 'operated'"):
            _ = model.operated


@pytest.mark.parametrize("what", ["position", "velocity", "nan"])
def test_states_off_the_manifold_are_refused_the_second_time_too(what):
    system, x, names = five_bar()
    da.linearize(system, x, independent=names)
    q, v = x.q.copy(), x.v.copy()
    if what == "velocity":
        v[2] += 1e-3
    else:
        q[2] += 1e-3 if what == "position" else np.nan
    with pytest.raises(ArgumentError, match=r"not on the constraints|finite|NaN"):
        da.linearize(system, system.state(q, v), independent=names)


def test_a_singular_position_is_told_the_second_time_too():
    system = zoo.ladder(2).compile()
    da.linearize(system, system.state(*zoo.ladder_start(2, 1.0)), independent=["A0"])
    with pytest.raises(ArgumentError, match=r"singular|too nearly dependent"):
        da.linearize(system, system.state(*zoo.ladder_start(2, 0.0)), independent=["A0"])
