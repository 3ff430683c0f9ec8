"""Cranks that have made many turns, and clocks that show a date: the motion is the same, as far as doubles tell."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

EPS = np.finfo(float).eps
UNIX = 1.7e9  # s, a date
OPTIONS = {
    "dop853": {},
    "dopri5": {"method": "dopri5"},
    "partition": {"coordinates": "partition"},
    "tangent": {"coordinates": "tangent"},
    "baumgarte": {"stabilization": "baumgarte"},
    "nullspace": {"formulation": "nullspace"},
    "loose sdirk4": {"method": "sdirk4", "rtol": 1e-6, "atol": 1e-7},
}


def driven(omega, length=1.0):
    m = da.Mechanism("driven")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_driver("d", "x", lambda t: length * ca.sin(omega * t))
    return m.compile()


@pytest.mark.parametrize("method", ["dop853", "dopri5", "sdirk4"])
@pytest.mark.parametrize("omega", [1.0, 30.0])
@pytest.mark.parametrize("start", [0.0, 1e5, 1e6, 1e7, 1e8, UNIX])
def test_a_driver_keeps_its_course_at_any_date(start, omega, method):
    """x = sin ω t at every record, with the t of that record."""
    system = driven(omega)
    run = da.simulate(system, system.assemble(t=start), 1.0 / omega, method=method)
    assert run.success, run.message
    np.testing.assert_allclose(run["x"], np.sin(omega * run.t), atol=1e-12)
    np.testing.assert_allclose(run.rate("x"), omega * np.cos(omega * run.t), atol=1e-12 * omega)
    assert (run.remarks != ()) == (EPS * omega * start > 1e-9)


@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_the_size_of_a_driven_machine_does_not_matter(length):
    system = driven(1.0, length)
    run = da.simulate(system, system.assemble(t=1e7), 1.0)
    assert run.success, run.message
    np.testing.assert_allclose(run["x"], length * np.sin(run.t), atol=1e-12 * length)


@pytest.mark.parametrize("start", [1e5, 1e7, UNIX])
def test_a_motion_without_time_in_it_does_not_depend_on_the_date(start):
    """Steps end at numbers, so that their sum is the time that passes; before, 2.8e-7 rad were lost at a date."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    runs = [da.simulate(system, x.replace(t=t), 8.0) for t in (0.0, start)]
    np.testing.assert_allclose(runs[1].q[-1], runs[0].q[-1], atol=1e-9)
    assert runs[1].remarks == ()


def test_many_runs_at_a_date_are_right_too():
    system = driven(1.0)
    starts = [system.assemble(t=t) for t in (0.0, 1e7, UNIX)]
    runs = da.ensemble(system, starts, 1.0)
    assert runs.success.all()
    np.testing.assert_allclose(runs.q_end[:, 0], np.sin([x.t + 1.0 for x in starts]), atol=1e-12)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("turns", [10**3, 10**5, 10**6])
def test_a_crank_turns_on_after_many_turns(turns, kind):
    """The same motion as in the first turn, to what neighbouring angles are apart: 1e-9 rad after a million turns."""
    system, whole = zoo.four_bar().compile(), 2 * np.pi * turns
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    usual = da.simulate(system, x, 1.0, rtol=1e-11, atol=1e-12)
    later = system.project(x.replace(q=x.q + np.array([whole, 0.0, 0.0])))
    run = da.simulate(system, later, 1.0, **OPTIONS[kind])
    assert run.success, run.message
    bound = 100 * max(run.rtol, EPS * whole)
    np.testing.assert_allclose(run.q[-1] - usual.q[-1] - [whole, 0.0, 0.0], 0.0, atol=bound)
    np.testing.assert_allclose(run.v[-1], usual.v[-1], atol=10 * bound)
    assert len(run.t) < 4 * len(usual.t)
    limited = [s for s in run.remarks if s.startswith("A is ")]
    assert bool(limited) == (EPS * whole > run.rtol)


def test_a_driver_too_fast_for_the_clock_is_named():
    """At a date 1000 rad/s moves by 2.4e-4 rad between two numbers of the clock."""
    system = driven(1000.0)
    run = da.simulate(system, system.assemble(t=UNIX), 1.0)
    assert not run.success
    assert "times near 1.7e+09 s are rounded to 2e-07 s" in run.message
