"""Controllers of three kinds give one run; whatever happens in them, nothing computed is lost."""

import _thread
import signal
import sys
import threading

import casadi as ca
import numba
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.simulation.hybrid import transition


def cart():
    m = da.Mechanism("cart", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=2.0))
    m.add_motor("push", "x")
    return m.compile()


@numba.njit
def native(t, state):
    return (np.sin(t) - 3.0 * state.q[0] - 0.5 * state.v[0], 0.0)


KINDS = {
    "expression": da.expression(lambda t, s: {"left": ca.sin(t) - 3.0 * s["A"] - 0.5 * s.rate("A")}),
    "numba": native,
    "python": lambda t, s: {"left": np.sin(t) - 3.0 * s["A"] - 0.5 * s.rate("A")},
    "python, array": lambda t, s: [np.sin(t) - 3.0 * s.q[0] - 0.5 * s.v[0], 0.0],
}


@pytest.mark.parametrize("hold", [None, 0.01])
def test_three_kinds_of_controllers_give_the_same_run(hold):
    """To rounding (CasADi's sine is not NumPy's), with the controller asked at every stage or held."""
    system = zoo.five_bar(span=zoo.PEER_SPAN).compile()
    x = system.state(*zoo.five_bar_start(-np.pi, span=zoo.PEER_SPAN, branch=-1))
    runs = [da.simulate(system, x, (0, 1), t_eval=np.linspace(0, 1, 21), u=u, period=hold) for u in KINDS.values()]
    for run in runs[1:]:
        assert run.steps == runs[0].steps
        np.testing.assert_allclose(run.q, runs[0].q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.u, runs[0].u, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.work["inputs"], runs[0].work["inputs"], rtol=0, atol=1e-11)
    if hold is None:  # inputs at samples are those of their own time and state
        wanted = [KINDS["python, array"](t, system.state(q, v)) for t, q, v in zip(run.t, run.q, run.v)]
        np.testing.assert_allclose(run.u, wanted, rtol=0, atol=1e-12)
    assert np.ptp(runs[0].u[:, 0]) > 0.1
    assert np.abs(runs[0].energy_error).max() < 1e-8


def test_a_held_input_is_constant_between_samples():
    """Records between two samples carry what was asked for at the first of them; the first sample is the start's."""
    asked = []

    def control(t, s):
        asked.append((t, -s["x"] + 0.1))
        return [asked[-1][1]]

    run = da.simulate(cart(), [1.0], (2.0, 3.05), u=control, period=0.1, max_step=0.03)
    times, values = np.array(asked).T
    np.testing.assert_allclose(times, 2.0 + 0.1 * np.arange(11), rtol=0, atol=1e-12)
    index = np.searchsorted(times, run.t[1:] - 1e-9) - 1
    np.testing.assert_array_equal(run.u[1:, 0], values[index])
    assert run.u[0, 0] == values[0]
    power = np.diff(run["x"]) * run.u[1:, 0]
    np.testing.assert_allclose(np.diff(run.work["inputs"]), power, rtol=0, atol=1e-12)


@pytest.mark.parametrize("hold", [None, 0.05])
def test_dense_output_acts_under_the_inputs_of_its_step(hold):
    """m ẍ = u(x): states asked for later are those of a run that stops there."""
    u = da.expression(lambda t, s: {"push": -8.0 * s["x"]})
    run = da.simulate(cart(), [1.0], 2.0, u=u, period=hold, rtol=1e-11, atol=1e-12)
    for t in (0.013, 0.777, 1.991):
        direct = da.simulate(cart(), [1.0], t, u=u, period=hold, rtol=1e-11, atol=1e-12).state()
        np.testing.assert_allclose(run(t).q, direct.q, rtol=0, atol=1e-10)
    if hold is None:
        assert run["x"][-1] == pytest.approx(np.cos(4.0), abs=1e-9)


@pytest.mark.parametrize("hold", [None, 0.1])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_controller_that_gives_no_number_ends_the_run(hold, bad):
    run = da.simulate(cart(), [0.0], 1.0, u=lambda t, s: [bad if t > 0.45 else 1.0], period=hold)
    assert run.status.name == "CALLBACK"
    assert f"s the controller returned {bad} for 'push', which is no finite number (asked at t = 0." in run.message
    assert isinstance(run.error, da.ArgumentError)
    assert run.message.endswith(str(run.error))
    assert 0.0 < run.t[-1] <= 0.5
    assert np.isfinite(run.q).all()
    assert run["x"][-1] == pytest.approx(run.t[-1] ** 2 / 4, rel=1e-12)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"pull": 1.0}, "UnknownName: there is no input 'pull'; known: push."),
        ([1.0, 2.0], "ArgumentError: the array of inputs has shape (2,); needed: (1,), that is push."),
    ],
)
def test_a_controller_with_a_wrong_answer_says_what_is_wrong(answer, message):
    run = da.simulate(cart(), [0.0], 1.0, u=lambda t, s: answer)
    assert run.status.name == "CALLBACK"
    assert run.message == f"at t = 0 s the controller raised {message}"
    assert run.t.tolist() == [0.0]
    with pytest.raises(da.DalembertError):
        da.simulate(cart(), [0.0], 1.0, u=da.expression(lambda t, s: answer))


def test_systems_without_inputs_and_wrong_inputs_are_refused():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    with pytest.raises(da.ArgumentError, match="'pendulum' has no inputs to control; add some with add_motor"):
        da.simulate(m.compile(), {}, 1.0, u=lambda t, s: [1.0])
    with pytest.raises(da.ArgumentError, match=r"period is 0\.1; it is the sampling period"):
        da.simulate(cart(), {}, 1.0, u=[1.0], period=0.1)


@pytest.mark.parametrize("hold", [None, 0.02])
def test_an_interrupt_in_the_controller_keeps_everything_so_far(hold):
    def control(t, s):
        if t > 0.5:
            raise KeyboardInterrupt
        return [1.0]

    run = da.simulate(cart(), [0.0], 1.0, u=control, period=hold, max_step=0.01)
    assert run.status.name == "INTERRUPTED"
    assert run.message == f"at t = {run.t[-1]:.6g} s the run was interrupted"
    assert 0.48 < run.t[-1] < 0.53
    assert run["x"][-1] == pytest.approx(run.t[-1] ** 2 / 4, rel=1e-10)


def test_a_signal_while_a_controller_works_keeps_everything_so_far():
    signals = []

    def control(t, s):
        if t > 0.5 and not signals:
            signals.append(t)
            signal.raise_signal(signal.SIGINT)
        return [1.0]

    run = da.simulate(cart(), [0.0], 1.0, u=control, max_step=0.01)
    assert run.status.name == "INTERRUPTED"
    assert 0.48 < run.t[-1] < 0.53
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("function", ["collide", "contact_modes"])
def test_ctrl_c_while_the_structure_changes_returns_what_was_computed(function, monkeypatch):
    """A ball bounces; the signal comes in the transition at its third impact."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", restitution=0.9)
    system, signals = m.compile(), []
    whole = da.simulate(system, {"z": 5.0}, 20.0)
    third = [s.t for s in whole.switches if s.kind == "hit"][2]
    real = getattr(transition, function)

    def interrupted(instant, *rest):
        if instant.state.t == third and not signals:
            signals.append(third)
            signal.raise_signal(signal.SIGINT)
        return real(instant, *rest)

    monkeypatch.setattr(transition, function, interrupted)
    run = da.simulate(system, {"z": 5.0}, 20.0)
    assert run.status.name == "INTERRUPTED"
    assert third <= run.t[-1] < 20.0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    known = int((run.t < third).sum())
    assert known > 10
    assert np.array_equal(run.q[:known], whole.q[:known])


def test_ctrl_c_in_the_native_loop_returns_what_was_computed(tmp_path):
    """The signal comes from outside while machine code runs; the recording can be taken up from there, bit for bit."""
    system = zoo.four_bar().compile()
    x = system.assemble({"A": 0.6}, v={"A": 2.0})
    options = {"method": "rk4", "step": 1e-3}
    da.simulate(system, x, 0.01, **options)  # compiled, so that the signal meets the loop
    path = tmp_path / "run.arrow"
    ended = threading.Event()

    def interrupt_when_some_is_recorded():
        while not (path.exists() and path.stat().st_size > 100_000) and not ended.wait(0.001):
            pass
        if not ended.is_set():
            _thread.interrupt_main()

    watcher = threading.Thread(target=interrupt_when_some_is_recorded)
    watcher.start()
    run = da.simulate(system, x, 1e4, record=path, max_steps=10**7, **options)
    ended.set()
    watcher.join()
    assert run.status.name == "INTERRUPTED"
    assert 0.0 < run.t[-1] < 1e4
    assert len(run.t) == run.steps + 1
    assert run.residuals.max() < 1e-13
    end = run.t[-1] + 1.0
    again = da.simulate(system, x, end, record=path, resume=True, **options)
    direct = da.simulate(system, x, end, **options)
    np.testing.assert_array_equal(run.q, direct.q[: len(run.t)])
    assert again.success
    np.testing.assert_array_equal(again.q, direct.q)


def test_a_python_controller_sees_unit_quaternions_in_every_trial_step():
    """Coarse steps of a fast spin leave the unit sphere far behind before they are refused."""
    m = da.Mechanism("top")
    m.add_joint("ball", da.Spherical(), m.ground, m.add_body("b", mass=1.0, inertia=(1.0, 2.0, 2.5)))
    m.add_joint_force("torque", "ball", m.add_input("u", 3))
    system, lengths = m.compile(), []

    def control(t, s):
        lengths.append(np.linalg.norm(s["ball"]))
        return [0.0, 0.0, 0.0]

    x = system.state(v={"ball": [20.0, 1.0, -15.0]})
    run = da.simulate(system, x, 2.0, u=control, step=1.0, rtol=1e-3)
    free = da.simulate(system, x, 2.0, step=1.0, rtol=1e-3)
    assert run.success, run.message
    np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(run.q[-1], free.q[-1], rtol=0, atol=1e-12)
    assert run.rejected > 0


def test_a_controller_that_returns_nothing_is_an_error_with_its_sentence():
    run = da.simulate(cart(), [0.0], 1.0, u=lambda t, s: None)
    assert run.status.name == "CALLBACK"
    assert "the controller returned None; needed: inputs push" in run.message
    assert isinstance(run.error, da.ArgumentError)


def test_the_exception_of_a_controller_is_kept_with_its_traceback():
    def control(t, s):
        return [{"kp": 1.0}["kd"]]

    run = da.simulate(cart(), [0.0], 1.0, u=control)
    assert isinstance(run.error, KeyError)
    assert run.error.__traceback__ is not None
    assert "the controller raised KeyError: 'kd' (test_controllers.py, line " in run.message
    leave = da.simulate(cart(), [0.0], 1.0, u=lambda t, s: sys.exit(3))
    assert leave.status.name == "CALLBACK"
    assert isinstance(leave.error, SystemExit)


@numba.njit
def raises_late(t, state):
    if t > 0.45:
        raise ValueError("late")
    return (1.0,)


@numba.njit
def too_few(t, state):
    return np.zeros(0) if t > 0.45 else np.ones(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Numba prints what it raised
@pytest.mark.parametrize("hold", [None, 0.1])
@pytest.mark.parametrize("control", [raises_late, too_few])
def test_a_numba_controller_that_raises_or_gives_too_little_ends_the_run(control, hold):
    """Nothing of an earlier call is used again, and nothing beyond the array is read (F15)."""
    run = da.simulate(cart(), [0.0], 1.0, u=control, period=hold)
    assert run.status.name == "CALLBACK"
    assert not run.success
    assert 0.0 < run.t[-1] <= 0.5
    assert run["x"][-1] == pytest.approx(run.t[-1] ** 2 / 4, rel=1e-12)


def test_a_controller_gives_one_number_of_an_input_by_its_place():
    m = da.Mechanism("puck", gravity=(0, 0, 0))
    puck = m.add_body("puck", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("plane", da.Planar("z"), m.ground, puck)
    force = m.add_input("force", 3)
    m.add_wrench("pull", puck, force=force)
    system = m.compile()
    ends = []
    constant = {"force[0]": 0.5, "force[1]": -1.0}
    laws = (constant, lambda t, s: constant, da.expression(lambda t, s: constant))
    for u in (*laws, {"force": [0.5, -1.0, 0.0]}, da.expression(lambda t, s: {"force": [0.5, -1.0, 0.0]})):
        run = da.simulate(system, {}, 1.0, u=u)
        assert run.success
        ends.append(run.state().q)
        np.testing.assert_array_equal(run.u[-1], [0.5, -1.0, 0.0])
    np.testing.assert_allclose(ends, np.tile([0.125, -0.25, 0.0], (5, 1)), atol=1e-12)
    for wrong, message in (
        ({"force[3]": 1.0}, r"input 'force\[3\]'"),
        ({"force[0]": [1.0, 2.0]}, "2 number.*needed: 1"),
    ):
        with pytest.raises(da.DalembertError, match=message):
            da.simulate(system, {}, 1.0, u=da.expression(lambda t, s, wrong=wrong: wrong))
