"""FMUs for model exchange: FMPy's solvers and fixed steps integrate independent coordinates, chart after chart."""

import shutil

import numpy as np
import pytest

import dalembert as da

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed (extra test)")
from fmpy.validation import validate_fmu  # noqa: E402

from exported_fmu import Exchanged, exported  # noqa: E402

if shutil.which("gcc") is None and shutil.which("cc") is None:
    pytest.skip("no C compiler (gcc, cc) on the PATH", allow_module_level=True)
KIND = {"kind": "model-exchange"}
ERROR = fmpy.fmi1.FMICallException


@pytest.mark.parametrize(
    ("name", "span", "h", "charts", "most"),
    [
        ("four_bar", 2.0, 1e-3, 1, 1e-8), ("equal_slider_crank", 3.0, 1e-3, 0, 1e-8), ("stewart", 0.2, 1e-3, 0, 1e-8),
        ("rolling_disc", 1.0, 1e-3, 1, 1e-8), ("car", 1.0, 1e-3, 0, 1e-8), ("delta", 0.6, 5e-4, 1, 1e-8),
        ("heavy_top", 0.2, 2.5e-4, 10, 1e-8), ("marionette", 0.2, 1e-3, 0, 1e-8),
    ],
)  # fmt: skip
def test_fixed_steps_from_outside_follow_the_run_of_the_library(name, span, h, charts, most, tmp_path):
    """Loops, singular positions, quaternions and rolling in independent coordinates; constraints hold to rounding."""
    system, state, path = exported(name, tmp_path, version="3.0", **KIND)
    run = da.simulate(system, state, span, rtol=1e-12, atol=1e-13, u=np.zeros(len(system.u_names)))
    with Exchanged(path, "3.0") as one:
        assert one.n == 2 * system.nv - np.linalg.matrix_rank(system.constraint_matrix(run.state(-1))) - (
            np.linalg.matrix_rank(system.constraint_matrix(run.state(-1))[system.rows.holonomic])
            if system.rows.holonomic.any() else 0
        )  # fmt: skip
        for _ in range(round(span / h)):
            one.step(h)
        q, v = one.get(*(f"q.{n}" for n in system.q_names)), one.get(*(f"v.{n}" for n in system.v_names))
        assert one.charts >= charts
    np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=most * max(1.0, np.abs(run.q[-1]).max()))
    phi, speed = system.evaluate("residuals", system.state(q, v, span))[:2]
    assert np.abs([*phi, 0.0]).max() < 1e-13
    assert np.abs([*speed, 0.0]).max() < 1e-12 * max(1.0, np.abs(v).max())


def test_the_error_of_fixed_steps_is_of_their_order(tmp_path):
    """Charts change on the way, and nothing is lost at the changes."""
    system, state, path = exported("four_bar", tmp_path, version="2.0", **KIND)
    times, errors = np.linspace(0.0, 2.0, 21), []
    run = da.simulate(system, state, 2.0, rtol=1e-12, atol=1e-13, t_eval=times)
    for h in (4e-3, 1e-3):
        with Exchanged(path, "2.0") as one:
            worst = 0.0
            for q in run.q[1:]:
                for _ in range(round(0.1 / h)):
                    one.step(h)
                worst = max(worst, np.abs(one.get(*(f"q.{n}" for n in system.q_names)) - q).max())
            errors.append(worst)
            assert one.charts > 0
    assert 3.5 < np.log(errors[0] / errors[1]) / np.log(4) < 4.5


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_cvode_changes_charts_at_events(version, tmp_path):
    """FMPy's CVode over whole turns; it stops where the indicator crosses zero, and starts again in another chart."""
    system, state, path = exported("four_bar", tmp_path, version=version, **KIND)
    assert validate_fmu(str(path)) == []
    run = da.simulate(system, state, 2.0, rtol=1e-12, atol=1e-13, u=np.zeros(len(system.u_names)))
    events = fmpy.simulate_fmu(str(path), stop_time=2.0, relative_tolerance=1e-6, output_interval=0.2, output=["q.A"])
    assert len(events) > 11  # more than the points asked for: those of the events
    errors = []
    for tolerance in (1e-9, 1e-12):
        result = fmpy.simulate_fmu(
            str(path), stop_time=2.0, relative_tolerance=tolerance, output_interval=0.02, output=["q.A", "room"]
        )
        errors.append(abs(result["q.A"][-1] - run["A"][-1]))
        assert result["room"].min() > -0.2
    assert errors[1] < 1e-8 < errors[0]


def test_eulers_method_falls_with_its_step(tmp_path):
    system, state, path = exported("four_bar", tmp_path, **KIND)
    run, errors = da.simulate(system, state, 0.5, rtol=1e-12, atol=1e-13), []
    for h in (1e-3, 5e-4):
        result = fmpy.simulate_fmu(str(path), stop_time=0.5, solver="Euler", step_size=h, output_interval=h)
        errors.append(abs(result["q.A"][-1] - run["A"][-1]))
    assert 1.7 < errors[0] / errors[1] < 2.4


def test_states_are_rolled_back_with_their_chart(tmp_path):
    _, _, path = exported("four_bar", tmp_path, version="3.0", **KIND)
    with Exchanged(path, "3.0") as one:
        for _ in range(100):
            one.step(2e-3)
        saved, t = one.fmu.getFMUState(), one.t
        data, charts = one.fmu.serializeFMUState(saved), one.charts
        for _ in range(500):
            one.step(2e-3)
        assert one.charts > charts
        there = one.get("q.A", "q.D", "state.1", "state.2")
        with Exchanged(path, "3.0") as other:
            other.fmu.setFMUState(other.fmu.deserializeFMUState(data))
            other.t = t
            for _ in range(500):
                other.step(2e-3)
            np.testing.assert_array_equal(other.get("q.A", "q.D", "state.1", "state.2"), there)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_calls_in_wrong_states_return_errors(version, tmp_path):
    _, _, path = exported("four_bar", tmp_path, version=version, **KIND)
    with Exchanged(path, version, begun=False) as one:
        for call in (
            one.states, lambda: one.slopes(0.0, np.zeros(one.n)), one.fmu.enterEventMode,
            one.fmu.enterContinuousTimeMode,
            lambda: one.fmu.setTime(1.0), one.fmu.completedIntegratorStep,
        ):  # fmt: skip
            with pytest.raises(ERROR):
                call()
        one.begin()
        with pytest.raises(ERROR):
            one.fmu.completedIntegratorStep()
        one.event()
        with pytest.raises(ERROR):
            one.slopes(0.0, np.full(one.n, np.nan))
        with pytest.raises(ERROR):
            one.slopes(float("inf"), one.states())
        with pytest.raises(ERROR):
            one.slopes(0.0, one.states() + 50.0)  # no position closes the loops there
        one.slopes(0.0, np.zeros(one.n))


def test_an_fmu_for_one_kind_is_not_made_for_the_other(tmp_path):
    _, _, path = exported("four_bar", tmp_path, version="3.0", **KIND)
    description = fmpy.read_model_description(str(path))
    assert description.coSimulation is None
    with pytest.raises(Exception, match=r"CoSimulation|Co-Simulation"):
        fmpy.simulate_fmu(str(path), fmi_type="CoSimulation")


def test_a_mechanism_without_a_freedom_is_refused(tmp_path):
    m = da.Mechanism("crane")
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("arm", 1.0, (1.0, 0, 0)))
    m.add_driver("drive", "A", lambda t: 0.1 * t)
    with pytest.raises(da.ArgumentError, match="no freedom"):
        m.compile().export_fmu(tmp_path / "a.fmu", **KIND)
