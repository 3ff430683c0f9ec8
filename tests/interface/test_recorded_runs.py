"""Runs recorded as they go: cut anywhere and taken up, they end bit for bit as if nothing had happened."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dalembert as da
from dalembert import charts, zoo
from dalembert.simulation.run import context


def four_bar():
    system = zoo.four_bar().compile()
    return system, system.assemble({"A": 0.6}, v={"A": 12.0})


def five_bar():
    system = zoo.five_bar().compile()
    return system, system.state(*zoo.five_bar_start())


def steer(t, s):
    return {"left": 2.0 * np.sin(3 * t) - 0.2 * s.rate("A")}


CASES = {
    "adaptive": (four_bar, 2.0, {}),
    "fixed step": (four_bar, 1.0, {"method": "rk4", "step": 0.002}),
    "a leading coordinate": (four_bar, 2.0, {"coordinates": "partition"}),
    "tangent charts, stiff method": (four_bar, 0.5, {"coordinates": "tangent", "method": "sdirk4", "rtol": 1e-6}),
    "variational": (four_bar, 1.0, {"method": "variational", "step": 0.002}),
    "energy restored": (four_bar, 2.0, {"stabilization": "energy", "rtol": 1e-7}),
    "every third": (four_bar, 2.0, {"stabilization": da.Projection(every=3)}),
    "events": (four_bar, 2.0, {"events": {"turn": lambda t, s: np.sin(s["A"] / 2)}}),
    "samples": (four_bar, 2.0, {"t_eval": np.linspace(0, 2, 77)}),
    "held inputs through a singular position": (five_bar, 1.0, {"u": steer, "period": 0.03}),
    "inputs at every stage": (five_bar, 1.0, {"u": steer}),
    "events in a singular passage": (five_bar, 2.0, {"events": {"flat": lambda t, s: np.sin(s["A"])}}),
    "formulation by name": (five_bar, 1.0, {"formulation": "nullspace"}),
}


def assert_same(a, b):
    for name in ("t", "q", "v", "u", "margin"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in b.work:
        np.testing.assert_array_equal(a.work[name], b.work[name])
    for name in b.t_events:
        np.testing.assert_array_equal(a.t_events[name], b.t_events[name])
        np.testing.assert_array_equal(a.x_events[name], b.x_events[name])
    for name in (
        "steps",
        "rejected",
        "evaluations",
        "corrections",
        "drift",
        "speed_drift",
        "status",
        "message",
    ):
        assert getattr(a, name) == getattr(b, name), name
    assert [(t, charts.recorded(c)) for t, c in a.charts] == [(t, charts.recorded(c)) for t, c in b.charts]
    np.testing.assert_array_equal(a.y, b.y)
    assert a.passages == b.passages


@pytest.mark.parametrize("case", CASES)
def test_a_run_taken_up_again_is_the_run_that_was_never_cut(case, tmp_path, monkeypatch):
    """Cut by max_steps, twice, at steps that end no batch of their own; then by a torn last batch."""
    monkeypatch.setattr(context, "RECORDED", 20)
    build, t, options = CASES[case]
    system, x = build()
    path = tmp_path / "run.arrow"
    whole = da.simulate(system, x, t, **options)
    assert whole.success
    for part in (1 / 3, 2 / 3):
        cut = da.simulate(system, x, t, record=path, resume=part > 0.5, max_steps=int(part * whole.steps), **options)
        assert cut.status.name == "STEPS"
        assert cut.steps == int(part * whole.steps)
        os.truncate(path, os.path.getsize(path) - 10)
    again = da.simulate(system, x, t, record=path, resume=True, **options)
    assert_same(again, whole)
    loaded = da.read_run(path, system)
    assert_same(loaded, whole)
    assert loaded.success


def test_an_event_in_the_first_step_after_a_cut_is_found(tmp_path):
    system, x = four_bar()
    options = {"events": {"turn": lambda t, s: np.sin(s["A"] / 2)}}
    whole = da.simulate(system, x, 1.0, **options)
    before = int(np.searchsorted(whole.t, whole.t_events["turn"][0])) - 1
    da.simulate(system, x, 1.0, record=tmp_path / "a", max_steps=before, **options)
    assert_same(da.simulate(system, x, 1.0, record=tmp_path / "a", resume=True, **options), whole)


def test_a_killed_process_leaves_a_run_that_goes_on_bit_for_bit(tmp_path):
    code = f"""
    import os
    import numpy as np
    import dalembert as da
    from dalembert import zoo

    system = zoo.cart_pole().compile()
    calls = 0

    def control(t, s):
        global calls
        calls += 1
        if calls > 1500:
            os._exit(9)
        return [np.cos(t)]

    da.simulate(system, {{}}, 20.0, u=control, period=0.01, record={str(tmp_path / "run.arrow")!r})
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)]).returncode == 9
    system = zoo.cart_pole().compile()
    left = da.read_run(tmp_path / "run.arrow", system)
    assert left.status.name == "INTERRUPTED"
    assert left.message == f"the recording ends at t = {left.t[-1]:.6g} s: it was cut off there"
    assert 5.0 < left.t[-1] < 15.1
    options = {"u": lambda t, s: [np.cos(t)], "period": 0.01}
    with pytest.warns(RuntimeWarning, match="another 'u'"):  # one that counts
        again = da.simulate(system, {}, 20.0, record=tmp_path / "run.arrow", resume=True, **options)
    assert_same(again, da.simulate(system, {}, 20.0, **options))


def test_a_recording_that_reached_its_end_can_go_on_further(tmp_path):
    system, x = four_bar()
    options = {"method": "rk4", "step": 1 / 512}
    da.simulate(system, x, 1.0, record=tmp_path / "a", **options)
    on = da.simulate(system, x, 2.0, record=tmp_path / "a", resume=True, **options)
    assert_same(on, da.simulate(system, x, 2.0, **options))


def test_a_run_that_a_terminal_event_ended_stays_ended(tmp_path):
    """The event happened: to take the run up again changes nothing."""
    system, x = four_bar()
    options = {"events": {"turn": da.Event(lambda t, s: np.sin(s["A"] / 2), terminal=True)}}
    whole = da.simulate(system, x, 2.0, record=tmp_path / "a", **options)
    assert whole.status.name == "EVENT"
    again = da.simulate(system, x, 2.0, record=tmp_path / "a", resume=True, **options)
    assert_same(again, whole)
    assert_same(da.read_run(tmp_path / "a", system), whole)


def test_what_differs_from_the_recording_is_named(tmp_path):
    system, x = four_bar()
    da.simulate(system, x, 0.1, record=tmp_path / "a")
    for options, message in (
        ({"rtol": 1e-6}, r"was recorded with rtol=1e-09; found 1e-06\. A run goes on with the options it began with"),
        ({"method": "dopri5"}, "was recorded with method='dop853'; found 'dopri5'"),
        ({"stabilization": "none"}, "was recorded with stabilization=Projection"),
        ({"events": {"e": lambda t, s: t}}, r"was recorded with events=\[\]; found \['e'\]"),
    ):
        with pytest.raises(da.ArgumentError, match=message):
            da.simulate(system, x, 0.2, record=tmp_path / "a", resume=True, **options)
    with pytest.raises(da.DalembertError, match="exists; a new recording would take its place"):
        da.simulate(system, x, 0.2, record=tmp_path / "a")
    with pytest.raises(da.ArgumentError, match=r"resume=True takes up a recording; say which, as record='run\.arrow'"):
        da.simulate(system, x, 0.2, resume=True)
    assert da.simulate(system, x, 0.2, record=tmp_path / "a", resume=True).success  # and the file is still good


def test_saved_runs_come_back_with_their_evidence(tmp_path):
    system, x = five_bar()
    events = {"flat": lambda t, s: np.sin(s["A"])}
    run = da.simulate(system, x, 1.0, u={"left": 1.0}, events=events)
    run.save(tmp_path / "a")
    again = da.read_run(tmp_path / "a", system)
    assert_same(again, run)
    np.testing.assert_array_equal(again.energy_error, run.energy_error)
    np.testing.assert_array_equal(again.multipliers, run.multipliers)
    with pytest.raises(da.ArgumentError, match="only the recorded times"):
        again(0.5)
