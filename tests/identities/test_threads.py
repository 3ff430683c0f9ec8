"""Sixteen threads that share one system, one run or one controller get the bits that one thread gets."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo

THREADS = 16


def side_by_side(work, count):
    """Answers of `work(k)` for k below count, by many threads that change places often."""
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(work, range(count)))
    finally:
        sys.setswitchinterval(old)


def assert_same(answers, alone):
    for answer, one in zip(answers, alone):
        for a, b in zip(answer, one):
            np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def five_bar():
    system = zoo.five_bar().compile()
    return system, system.state(*zoo.five_bar_start())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "sdirk4", "rtol": 1e-6},
        {"stabilization": "energy"},
        {"coordinates": "tangent", "t": 0.4},
        {"formulation": "projection", "t": 0.4},
        {"t_eval": np.linspace(0, 1, 7)},
    ],
    ids=str,
)
def test_runs_side_by_side_are_the_runs_alone(five_bar, options):
    """Through a singular position, where the run stops and goes on with another right-hand side."""
    system, x = five_bar
    options = {"t": 1.0, **options}

    def work(k):
        start = x.replace(v=x.v * (1 + 0.1 * (k % 4)))
        run = da.simulate(system, start, **options)
        return run.t, run.q, run.v, run.margin

    assert_same(side_by_side(work, 3 * THREADS), [work(k) for k in range(3 * THREADS)])


def test_one_run_answers_many_threads(five_bar):
    """Dense output, its neighbourhood of a singular position included, and what is computed on demand."""
    system, x = five_bar
    run = da.simulate(system, x, 1.0)
    times = np.random.default_rng(0).uniform(0, 1, (200, 5))
    times[::3] = 0.6508 + 1e-5 * times[::3]

    def work(k):
        return *run(times[k]), run(float(times[k, 0])).q

    assert_same(side_by_side(work, len(times)), [work(k) for k in range(len(times))])
    fresh = da.simulate(system, x, 1.0)
    assert len({id(p) for p in side_by_side(lambda k: fresh.passages, THREADS)}) >= 1
    assert fresh.passages == run.passages


def test_one_system_is_evaluated_by_many_threads(five_bar):
    """Accelerations by elimination and by name, linear models, reports: beside and at the singular position."""
    system, x = five_bar
    rng = np.random.default_rng(1)
    states = [system.project(x.replace(q=x.q + rng.uniform(-0.2, 0.2, 4))) for _ in range(20)]
    states.append(system.state(*zoo.five_bar_start(0.0)))

    def work(k):
        here = states[k % len(states)]
        one, other = system.acceleration(here), system.acceleration(here, formulation="nullspace")
        model = da.linearize(system, states[k % 20], independent=["A", "B"])
        return one.vdot, one.multipliers, other.vdot, other.force, model.A, model.B, system.report(here).singular_values

    assert_same(side_by_side(work, 8 * THREADS), [work(k) for k in range(8 * THREADS)])


@pytest.mark.parametrize("limits", [None, 40.0])
def test_one_controller_serves_many_runs(limits):
    """With limits it is called from Python, without them it is machine code."""
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start(0.5))
    ahead = control.quintic({"A": x["A"], "B": x["B"]}, {"A": x["A"] - 0.3, "B": x["B"]}, 0.2)
    law = control.motion_control(system, control.coordinates("A", "B"), ahead, limits=limits)

    def work(k):
        run = da.simulate(system, x.replace(v=x.v * (k % 3)), 0.2, u=law, period=0.005)
        return run.q, run.u, law(0.1, run.state(-1))

    assert_same(side_by_side(work, 2 * THREADS), [work(k) for k in range(2 * THREADS)])
