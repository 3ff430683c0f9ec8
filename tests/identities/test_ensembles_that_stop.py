"""Ensembles with on_singularity="stop": side by side until a run comes to a singular position, there as one alone."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.ensembles.excursions import Excursions

TIMES = np.linspace(0.0, 0.6, 4)


@pytest.fixture(scope="module")
def ladder():
    """A system that lies flat at angle 0, and states of which some come there in time."""
    system = zoo.ladder(2).compile()
    states = []
    for speed in np.linspace(-1.0, 5.0, 12):
        x = system.state(*zoo.ladder_start(2, 1.0))
        states.append(system.project(x.replace(v=speed * np.eye(system.nv)[0])))
    return system, states


@pytest.mark.parametrize(
    "options", [{"rtol": 1e-8, "atol": 1e-8}, {"method": "rk4", "step": 1e-3}], ids=["adaptive", "given steps"]
)
def test_runs_stop_where_one_alone_does(ladder, options, monkeypatch):
    system, states = ladder
    carried, original = [], Excursions.__call__
    monkeypatch.setattr(Excursions, "__call__", lambda *a: (carried.append(a[2]), original(*a))[1])
    many = da.ensemble(system, states, 0.6, t_eval=TIMES, on_singularity="stop", **options)
    stopped = set()
    for k, x in enumerate(states):
        one = da.simulate(system, x, 0.6, t_eval=TIMES, on_singularity="stop", **options)
        assert many.status[k] == one.status
        n = len(one.t) if one.status == da.Status.DONE else int((one.t[-1] >= TIMES).sum())
        np.testing.assert_allclose(many.q[k, :n], one.q[:n], atol=1e-9)
        assert np.isnan(many.q[k, n:]).all()
        assert many.messages.get(k, "") == ("" if one.success else one.message)
        stopped |= {k} if one.status == da.Status.SINGULAR else set()
    assert 2 < len(stopped) < len(states) - 2
    assert set(carried) == stopped  # the others never left their lanes
