"""Careful steps by elements: the accelerations, landings and verdicts of the dense route, at a cost of N loops each."""

import casadi as ca
import mpmath
import numpy as np
import pytest
from numba import njit

import dalembert as da
from dalembert import zoo
from dalembert.analysis.manifold import tangent_of_motion
from dalembert.linalg.double_double import sine_cosine
from dalembert.native import library
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.setup import make_choices, make_setup, make_span
from dalembert.simulation.singular import rank_revealing as careful_steps

NEAR = 1e-3  # rad from the flat position


def driven():
    """A 3-RRR robot with one crank driven in time and another one led by a kinematic input."""
    m = zoo.planar_3rrr()
    names = m.compile().q_names
    m.add_driver("drive", names[0], lambda t: 0.2 + 0.3 * ca.sin(t))
    m.add_kinematic_input("lead", names[-3])
    return m


CASES = {
    **{f"ladder {n}": (lambda n=n: zoo.ladder(n), lambda n=n: zoo.ladder_start(n, NEAR, -3.0)) for n in (2, 5, 20, 40)},
    "stewart": (zoo.stewart, None),
    "driven": (driven, None),
    "rolling disc": (zoo.rolling_disc, None),
}


def both_routes(system, monkeypatch):
    """The careful steps of a system by elements and dense."""
    choices = make_choices("dop853", 1e-8, 1e-9, None, np.inf, "projection", "auto", "continue", 10_000)
    layout = RunLayout(make_setup(system, choices, make_span(system, system.state(), 1.0, None, None), None))
    monkeypatch.setattr(careful_steps, "FEW", 0)  # rows in twice the precision have a route of their own
    sparse = careful_steps.careful(layout, None)
    monkeypatch.setattr(careful_steps, "_by_elements", lambda *_: False)
    return sparse, careful_steps.careful(layout, None)


@pytest.mark.parametrize("name", CASES)
def test_both_routes_give_the_same_motion(name, monkeypatch):
    make, start = CASES[name]
    system = make().compile()
    sparse, dense = both_routes(system, monkeypatch)
    assert type(sparse.stepper.ode.w.problem).__name__ == "SparseProblem"
    assert type(dense.stepper.ode.w.problem).__name__ == "Problem"
    rng = np.random.default_rng(len(name))
    for _ in range(3):
        x = system.state(*start()) if start else system.state()
        v = x.v if start else 0.5 * rng.standard_normal(system.nv)
        q = system.plus(x, 1e-6 * rng.standard_normal(system.nv) if start else 0.1 * rng.standard_normal(system.nv))
        given = np.concatenate([q, v])
        a, b = (steps.stepper.ode.at(0.3, given).copy() for steps in (sparse, dense))
        n = system.nq + system.nv + len(system.work_names)
        sigma = a[n] ** 0.5
        assert 1e-7 < sigma <= 1.0
        size = np.abs(b[system.nq : system.nq + system.nv]).max()
        np.testing.assert_allclose(a[:n], b[:n], rtol=0, atol=1e-13 * size / sigma)
        true = tangent_of_motion(system, system.state(q, v, 0.3), None).sigma[-1]
        assert sigma == pytest.approx(true, rel=0.2)  # three inverse iterations
        for f, g, of in ((sparse.position, dense.position, q), (sparse.velocity, dense.velocity, given)):
            sparse.low[:] = dense.low[:] = 0.0
            a, b = f.at(0.3, of).copy(), g.at(0.3, of).copy()
            size = max(1.0, np.abs(b).max())
            np.testing.assert_allclose(a[:-2], b[:-2], rtol=0, atol=1e-13 * size / sigma)


@pytest.mark.parametrize("loops", [2, 5, 20, 40])
def test_both_routes_pass_the_flat_position_alike(loops, monkeypatch):
    """Passages, their ranks, rows and branches; the steps are so accurate that careful ones are taken."""
    runs = []
    for dense in (False, True):
        system = zoo.ladder(loops).compile()  # steps that were made once are kept with it
        x = system.state(*zoo.ladder_start(loops, 0.3, -2.0))
        with monkeypatch.context() as patch:
            if dense:
                patch.setattr(careful_steps, "_by_elements", lambda *_: False)
            runs.append(da.simulate(system, x, 0.3, rtol=1e-11, atol=1e-12))
    sparse, dense = runs
    assert sparse.success
    assert len(sparse.passages) == len(dense.passages) == 1
    for a, b in zip(sparse.passages, dense.passages):
        assert a.rank == b.rank == loops
        assert (a.rows, a.branches, a.determined, a.met) == (b.rows, b.branches, b.determined, b.met)
        assert a.nearest == pytest.approx(b.nearest, abs=1e-9)
    np.testing.assert_allclose(sparse.q[-1], dense.q[-1], rtol=0, atol=1e-7)


def test_a_long_ladder_passes_its_flat_position():
    """In careful steps; energy tells when the cranks are flat (see test_singular_passages)."""
    system = zoo.ladder(80).compile()
    run = da.simulate(system, system.state(*zoo.ladder_start(80, 0.02, -3.0)), 0.02, rtol=1e-10, atol=1e-11)
    assert run.success
    assert run.residuals.max() < 1e-9
    assert np.ptp([run[f"A{k}"][-1] for k in range(81)]) < 1e-6
    assert np.abs(run.energy_error).max() < 1e-8 * 80


def test_a_loop_that_pauses_after_every_attempt_makes_the_same_steps(monkeypatch):
    """As it does where an attempt takes longer than the time between two looks at the keyboard."""
    system = zoo.ladder(40).compile()
    x = system.state(*zoo.ladder_start(40))
    whole = da.simulate(system, x, 7.0, rtol=1e-9, atol=1e-9)
    usual = library.call

    def one_attempt(name, struct):
        if name == "advance":
            struct.budget = 1
        usual(name, struct)

    monkeypatch.setattr(library, "call", one_attempt)
    run = da.simulate(system, x, 7.0, rtol=1e-9, atol=1e-9)
    assert run.success, run.message
    np.testing.assert_array_equal(run.q, whole.q)


@njit
def from_python(a, b):
    return sine_cosine(a, b)


@pytest.mark.parametrize("seed", range(20))
def test_sine_and_cosine_have_thirty_digits(seed):
    rng = np.random.default_rng(seed)
    high = rng.uniform(-1, 1) * 10.0 ** rng.integers(-3, 4)
    low = high * rng.uniform(-1, 1) * 1e-17
    with mpmath.workdps(60):
        angle = mpmath.mpf(high) + mpmath.mpf(low)
        s, e, c, d = from_python(high, low)
        assert abs(mpmath.mpf(s) + mpmath.mpf(e) - mpmath.sin(angle)) < 1e-30
        assert abs(mpmath.mpf(c) + mpmath.mpf(d) - mpmath.cos(angle)) < 1e-30
