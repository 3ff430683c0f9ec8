"""Observed orders of convergence match theory, with and without projection; and what happens in trouble."""

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

import dalembert as da
from dalembert import zoo
from dalembert.integrators.tableaus import TABLEAUS


@pytest.fixture(scope="module")
def problem():
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    return system, x, da.simulate(system, x, 1.0, rtol=1e-13, atol=1e-14).state()


@pytest.mark.parametrize(("name", "theirs"), [("dop853", DOP853), ("dopri5", RK45)])
def test_tables_are_scipys(name, theirs):
    ours = TABLEAUS[name]
    np.testing.assert_array_equal(ours.A[:, : theirs.A.shape[1]], theirs.A)
    np.testing.assert_array_equal(ours.b, theirs.B)
    np.testing.assert_array_equal(ours.c, theirs.C)
    np.testing.assert_array_equal(ours.e5, theirs.E5 if name == "dop853" else theirs.E)
    np.testing.assert_array_equal(ours.e3, theirs.E3 if name == "dop853" else np.zeros(7))


@pytest.mark.parametrize("corrections", [0, 2])
def test_rk4_converges_with_order_four(problem, corrections):
    system, x, end = problem
    errors = []
    for h in (1 / 100, 1 / 3200):
        run = da.simulate(system, x, 1.0, method="rk4", step=h, stabilization="projection" if corrections else "none")
        errors.append(np.abs(run.state().q - end.q).max())
    assert np.log2(errors[0] / errors[1]) / 5 == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_tolerances_are_kept(problem, method):
    system, x, end = problem
    errors = []
    for rtol in (1e-5, 1e-7, 1e-9):
        run = da.simulate(system, x, 1.0, method=method, rtol=rtol, atol=rtol)
        errors.append(np.abs(run.state().q - end.q).max())
    assert errors[0] < 1e-2
    assert errors[1] < 1e-4
    assert errors[2] < 1e-6
    assert errors[2] < errors[1] < errors[0]


def test_projection_keeps_the_manifold_and_no_projection_drifts(problem):
    system, x, _ = problem
    kept = da.simulate(system, x, 5.0, method="rk4", step=0.005)
    left = da.simulate(system, x, 5.0, method="rk4", step=0.005, stabilization="none")
    assert kept.residuals.max() < 1e-13
    assert left.residuals.max() > 1e-8


def motor():
    m = da.Mechanism("cart")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_motor("push", "x")
    return m.compile()


def test_constant_inputs_and_sampled_controllers_act():
    run = da.simulate(motor(), [0.0], 1.0, u={"push": 4.0})
    assert run["x"][-1] == pytest.approx(1.0, rel=1e-12)
    calls = []

    def control(t, state):
        calls.append(t)
        return {"push": -2.0 * state["x"]}

    run = da.simulate(motor(), [1.0], 1.0, u=control, period=0.25)
    np.testing.assert_allclose(calls, [0, 0.25, 0.5, 0.75])
    x, v = 1.0, 0.0
    for _ in range(4):  # exact zero-order hold
        a = -x
        x, v = x + 0.25 * v + 0.03125 * a, v + 0.25 * a
    assert run["x"][-1] == pytest.approx(x, rel=1e-10)


def test_a_controller_that_fails_loses_nothing():
    def control(t, state):
        if t > 0.4:
            raise RuntimeError("sensor lost")
        return [1.0]

    run = da.simulate(motor(), [0.0], 1.0, u=control, period=0.1)
    assert not run.success
    assert run.status.name == "CALLBACK"
    assert "RuntimeError: sensor lost" in run.message
    assert run.t[-1] == pytest.approx(0.5)


def test_an_unbounded_force_returns_what_was_computed():
    m = da.Mechanism("blow-up", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_joint_force("f", "x", lambda s: s["x"] ** 2)
    system = m.compile()
    run = da.simulate(system, system.state([1.0], [1.0]), 100.0)
    assert not run.success
    assert run.status.name in ("STEP_TOO_SMALL", "NOT_FINITE")
    assert "at t = " in run.message
    assert len(run.t) > 10
    assert np.all(np.isfinite(run.q))


def test_a_run_can_be_told_to_stop_at_a_singularity():
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 3.0, on_singularity="stop")
    assert run.status.name == "SINGULAR"
    assert 0.64 < run.t[-1] < 0.6508151444


def test_too_many_steps_are_said(problem):
    system, x, _ = problem
    run = da.simulate(system, x, 10.0, method="rk4", step=1e-4, max_steps=1000)
    assert run.status.name == "STEPS"
    assert len(run.t) > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "euler"}, "method is 'euler'; needed: 'dop853', 'dopri5', 'rk4'"),
        ({"method": "rk4"}, "method 'rk4' has a fixed step; give it as step=0.001"),
        ({"period": 0.01}, "period is 0.01; it is the sampling period (s) of a controller u(t, state)."),
        ({"on_singularity": "panic"}, "on_singularity is 'panic'; needed: 'continue', 'warn' or 'stop'"),
    ],
)
def test_bad_options_are_refused_with_a_repair(options, message):
    with pytest.raises(da.DalembertError) as caught:
        da.simulate(motor(), [0.0], 1.0, **options)
    assert message in str(caught.value)


def test_a_start_off_the_manifold_is_refused_with_the_row_and_the_gap(problem):
    system, x, _ = problem
    with pytest.raises(da.ArgumentError, match=r"the position misses row 'C\.[xy]' by"):
        da.simulate(system, {"A": 1.0}, 1.0)
    with pytest.raises(da.ArgumentError, match="the velocity misses row"):
        da.simulate(system, x.replace(v=x.v + 1.0), 1.0)
    with pytest.raises(da.ArgumentError, match="needed: a duration"):
        da.simulate(system, x, [0, 2, 1])
