"""Linear models along runs: how deviations grow, against differences of runs in another set of steps."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def loaded_five_bar():
    m = zoo.five_bar()
    m.add_wrench("weight", m.bodies["link 2"], force=(0, -m.add_parameter("load", 0.0), 0))
    return m.compile()


def steered(t, state):
    """Inputs that change with time alone."""
    return np.array([3.0 * np.sin(7.0 * t), -2.0 * t])


CASES = {
    "five-bar": (loaded_five_bar, zoo.five_bar_start, ["A", "B"], 0.6, {}),
    "five-bar, loaded": (loaded_five_bar, zoo.five_bar_start, ["A", "B"], 0.6, {"p": {"load": 5.0}}),
    "five-bar, steered": (loaded_five_bar, zoo.five_bar_start, ["A", "B"], 0.6, {"u": steered}),
    "five-bar, sampled": (loaded_five_bar, zoo.five_bar_start, ["A", "B"], 0.6, {"u": steered, "period": 0.07}),
    "four-bar": (lambda: zoo.four_bar().compile(), zoo.four_bar_start, ["A"], 2.0, {}),
    "furuta": (lambda: zoo.furuta().compile(), lambda: zoo.furuta_start(0.1, 0.3), None, 1.0, {}),
}


def grown(system, x, leaders, duration, options):
    """(2n, 2n) ∂(end)/∂(start) in leading coordinates and rates, by fourth-order differences of runs."""
    places, h = [system.v_names.index(name) for name in leaders], 1e-4

    def end(d):
        moved, fast = np.split(d, 2)
        q = {name: x.q[i] + e for name, i, e in zip(leaders, places, moved)}
        v = {name: x.v[i] + e for name, i, e in zip(leaders, places, fast)}
        beside = system.assemble(q, v=v, guess=x)
        last = da.simulate(system, beside, duration, rtol=1e-12, atol=1e-13, **options).state()
        return np.concatenate([last.q[places], last.v[places]])

    steps = h * np.eye(2 * len(leaders))
    return np.column_stack([(8 * (end(e) - end(-e)) - end(2 * e) + end(-2 * e)) / (12 * h) for e in steps])


@pytest.mark.parametrize("name", CASES)
def test_deviations_grow_as_the_transition_matrix_says(name):
    """The run's own steps are long: forty of them in a second. Inputs and parameters are those of the run."""
    build, start, leaders, duration, options = CASES[name]
    system = build()
    leaders = leaders or list(system.v_names)
    x = system.state(*start())
    expected = grown(system, x, leaders, duration, options)
    run = da.simulate(system, x, duration, **options)
    line = da.linearize_along(system, run, independent=leaders)
    assert len(line.t) == len(run.t)
    np.testing.assert_allclose(line.transition(), expected, rtol=0, atol=1e-5 * abs(expected).max())


def test_transition_matrices_are_of_sixth_order():
    system = zoo.furuta().compile()
    run = da.simulate(system, system.state(*zoo.furuta_start(0.1, 0.3)), 0.5, rtol=1e-12, atol=1e-13)
    at = [da.linearize_along(system, run, times=np.linspace(0, 0.5, n)).transition() for n in (101, 201, 1601)]
    coarse, fine = (abs(x - at[2]).max() for x in at[:2])
    assert 5.7 < np.log2(coarse / fine) < 6.3


def test_inputs_at_any_time():
    system = loaded_five_bar()
    x = system.state(*zoo.five_bar_start())
    run = da.simulate(system, x, 0.5, u=steered)
    times = np.linspace(0.0, 0.5, 23)
    np.testing.assert_array_equal(run.inputs(times), [steered(t, None) for t in times])
    np.testing.assert_array_equal(run.inputs(run.t), run.u)
    held = da.simulate(system, x, 0.5, u=steered, period=0.1)
    for t, sampled in ((0.05, 0.0), (0.1, 0.0), (0.13, 0.1), (0.47, 0.4)):
        np.testing.assert_allclose(held.inputs(t), steered(sampled, None), rtol=0, atol=1e-12)
    with pytest.raises(da.ArgumentError, match="made with t_eval"):
        da.simulate(system, x, 0.5, t_eval=[0.0, 0.5]).inputs(0.1)


def test_the_reference_is_the_run_also_between_its_records():
    system = loaded_five_bar()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 0.6)
    line = da.linearize_along(system, run, times=[0.0, 0.3, 0.6], independent=["A", "B"])
    assert line.t.tolist() == [0.0, 0.3, 0.6]
    np.testing.assert_array_equal(line.reference(0.17).q, run(0.17).q)
    np.testing.assert_allclose(line.deviation(0.17, run(0.17)), 0.0, atol=1e-12)


def test_no_linear_model_leads_across_a_singular_position():
    system = loaded_five_bar()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 1.0)
    with pytest.raises(da.ArgumentError, match=r"at t = 0\.65081\d s the run passes a singular position.*times="):
        da.linearize_along(system, run, independent=["A", "B"])
    for times in (np.linspace(0, 0.64, 9), np.linspace(0.66, 1.0, 9)):
        assert np.isfinite(da.linearize_along(system, run, times=times, independent=["A", "B"]).transition()).all()


def test_times_are_those_of_a_run_and_increase():
    system = loaded_five_bar()
    x = system.state(*zoo.five_bar_start())
    run = da.simulate(system, x, 0.1)
    with pytest.raises(da.ArgumentError, match=r"the run goes from 0 to 0\.1 s"):
        da.linearize_along(system, run, times=[0.0, 0.2])
    with pytest.raises(da.ArgumentError, match="increasing times"):
        da.linearize_along(system, run, times=[0.05, 0.0])
    with pytest.raises(da.ArgumentError, match="list of states"):
        da.linearize_along(system, [x], times=[0.0])
