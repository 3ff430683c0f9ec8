"""Ensembles drawn at random, over the zoo and the options: their runs are those of `simulate`, in any company."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

#: light enough to be compiled in a test; all have motions of order one
MACHINES = (
    "car", "cart_pole", "cartesian_pendulum", "chaplygin_sleigh", "constrained_double_pendulum", "five_bar", "four_bar",
    "furuta", "heavy_top", "ladder", "parallel_four_bar", "planar_3rrr", "rolling_disc", "slider_crank",
)  # fmt: skip
STABILIZATIONS = ("projection", "none", "energy", "baumgarte", da.Projection(corrections=1))
ALONE = ("energy", "baumgarte")  # such runs go alone


@cache
def system(name: str) -> da.System:
    return zoo.CATALOG[name].build().compile()


@pytest.mark.parametrize("seed", range(28))
def test_drawn_ensembles_are_their_runs(seed):
    rng = np.random.default_rng(seed)
    name = MACHINES[seed % len(MACHINES)]
    machine = system(name)
    x = machine.state(*(zoo.five_bar_start(0.5) if name == "five_bar" else zoo.CATALOG[name].start()))
    n, rtol = int(rng.integers(2, 20)), float(10.0 ** rng.uniform(-9, -6))
    kept = STABILIZATIONS[int(rng.integers(len(STABILIZATIONS)))]
    options = {
        "rtol": rtol, "atol": rtol, "method": str(rng.choice(["dop853", "dopri5"])), "stabilization": kept,
        "t_eval": np.sort(rng.uniform(0.0, 0.3, int(rng.integers(1, 9)))),
    }  # fmt: skip
    starts = [
        machine.project(machine.state(machine.plus(x, 0.02 * rng.standard_normal(machine.nv)), x.v)) for _ in range(n)
    ]
    inputs = rng.standard_normal((n, len(machine.u_names)))
    u = {one: inputs[:, k] for k, one in enumerate(machine.u_names)}
    lanes, workers = int(rng.choice([1, 8, 16])), int(rng.integers(1, 5))
    runs = da.ensemble(machine, starts, 0.3, u=u or None, lanes=lanes, workers=workers, n=n, **options)
    assert runs.success.all(), runs.messages
    if machine.rows.of and isinstance(kept, str) and kept in ALONE:
        assert runs.alone.all()
    scale = 1e4 * rtol
    for k in rng.permutation(n)[:3]:
        run = da.simulate(machine, starts[k], 0.3, u=inputs[k], **options)
        np.testing.assert_allclose(runs.q[k], run.q, atol=scale, rtol=scale)
        np.testing.assert_allclose(runs.v[k], run.v, atol=30 * scale, rtol=30 * scale)
    order = rng.permutation(n)[: max(1, n // 2)]
    some = {one: values[order] for one, values in u.items()}
    part = da.ensemble(
        machine, [starts[k] for k in order], 0.3, u=some or None, lanes=lanes, workers=1, n=len(order), **options
    )
    np.testing.assert_array_equal(part.q, runs.q[order])
    np.testing.assert_array_equal(part.v_end, runs.v_end[order])
    np.testing.assert_array_equal(part.steps, runs.steps[order])
