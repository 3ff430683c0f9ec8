"""Many runs at once are the runs one by one, in any company."""

from __future__ import annotations

import pickle
import signal
import threading
import time
import warnings
from concurrent.futures import Executor, Future
from functools import cache

import casadi as ca
import numpy as np
import pytest
from pyarrow import feather
from scipy.stats import norm, uniform

import dalembert as da
from dalembert import zoo
from dalembert.ensembles.assembling import assembled
from dalembert.ensembles.work import elsewhere
from parameterized import sized_linkage

GUESS = {"A": 0.6, "B": 0.3, "C": -1.5}
TOLERANCES = {"rtol": 1e-8, "atol": 1e-9}


@cache
def four_bar() -> da.System:
    """A four-bar with lengths as parameters and a motor."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    lengths = [m.add_parameter(name, value) for name, value in (("l1", 1.0), ("l2", 3.0), ("l3", 2.5))]
    before = m.ground.at()
    for length, joint in zip(lengths, "ABC"):
        link = m.add_body(f"link {joint}", mass=1.0, com=(length / 2, 0, 0), inertia=(0, 0.1, 0.1))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(3.2, 0, 0))
    m.add_motor("M", "A")
    return m.compile()


def cases() -> dict[str, tuple[da.System, list[da.State], float]]:
    """Systems with quaternions, drivers, rolling, redundant rows and slides, and states to start from."""
    rng = np.random.default_rng(3)
    out = {}
    top = zoo.heavy_top().compile()
    x = top.state(*zoo.heavy_top_start())
    out["quaternion"] = top, [top.state(x.q, x.v * (1 + 0.01 * rng.normal())) for _ in range(5)], 0.5
    disc = zoo.rolling_disc().compile()
    x = disc.state(*zoo.rolling_disc_start())
    out["rolling"] = disc, [disc.project(disc.state(x.q, x.v * (1 + 0.02 * rng.normal()))) for _ in range(5)], 0.5
    platform = zoo.stewart().compile()
    x = platform.state(*zoo.stewart_start())
    out["platform"] = platform, [x] * 3, 0.2
    parallel = zoo.parallel_four_bar().compile()
    start = parallel.state(*zoo.parallel_four_bar_start())
    out["redundant"] = parallel, [parallel.assemble({"q1": a}, guess=start) for a in (0.9, 1.0, 1.1)], 0.1
    m = da.Mechanism("driven", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)))
    m.add_joint("S", da.Prismatic("x"), m.bodies["arm"], m.add_body("bead", mass=0.5, inertia=(0.1, 0.1, 0.1)))
    m.add_driver("spin", "A", lambda t: 2.0 * t)
    system = m.compile()
    out["driven"] = system, [system.assemble({"S": s}, v={"S": 0.1}) for s in (0.2, 0.3, 0.4)], 0.5
    return out


@pytest.mark.parametrize("name", ["quaternion", "rolling", "platform", "redundant", "driven"])
def test_runs_side_by_side_are_the_runs_one_by_one(name):
    system, states, t = cases()[name]
    times = np.linspace(0.0, t, 6)[1:]
    runs = da.ensemble(system, states, t, t_eval=times, workers=1, **TOLERANCES)
    assert runs.success.all()
    assert not runs.alone.any()
    for k, x in enumerate(states):
        run = da.simulate(system, x, t, t_eval=times, **TOLERANCES)
        np.testing.assert_allclose(runs.q[k], run.q, atol=1e-7, rtol=1e-7)
        np.testing.assert_allclose(runs.v[k], run.v, atol=1e-6, rtol=1e-6)
        assert abs(int(runs.steps[k]) - run.steps) <= 1
        assert abs(runs.margin[k] - run.margin.min()) < 1e-3


def test_a_run_does_not_depend_on_its_company():
    system, rng = four_bar(), np.random.default_rng(1)
    lengths = 1.0 + 0.02 * rng.normal(size=23)
    options = {"v": {"A": 3.0}, "t_eval": [0.3, 0.5], **TOLERANCES}
    whole = da.ensemble(system, {"A": 0.6}, 0.6, p={"l1": lengths}, workers=2, **options)
    assert whole.success.all()
    for rows in (slice(0, 1), slice(4, 9), slice(22, None, -1)):
        starts = [system.state(whole.start[0][k], whole.start[1][k]) for k in range(23)][rows]
        part = da.ensemble(system, starts, 0.6, p={"l1": lengths[rows]}, t_eval=[0.3, 0.5], workers=1, **TOLERANCES)
        np.testing.assert_array_equal(part.q, whole.q[rows])
        np.testing.assert_array_equal(part.v_end, whole.v_end[rows])
        np.testing.assert_array_equal(part.evaluations, whole.evaluations[rows])


def test_parameters_inputs_and_states_vary_together():
    system, rng = four_bar(), np.random.default_rng(2)
    torque, angle = rng.normal(size=4), 0.5 + 0.1 * rng.normal(size=4)
    runs = da.ensemble(
        system, {"A": angle}, 1.0, p={"l2": uniform(2.9, 0.2)}, u={"M": torque}, seed=5, guess=GUESS, **TOLERANCES
    )
    assert set(runs.varied) == {"A", "l2", "M"}
    assert not runs.alone.any()
    for k in range(4):
        p = {"l2": runs.varied["l2"][k]}
        run = da.simulate(
            system, system.assemble({"A": angle[k]}, p=p, guess=GUESS), 1.0, p=p, u={"M": torque[k]}, **TOLERANCES
        )
        np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-6)
        np.testing.assert_allclose(runs.work["inputs"][k], run.work["inputs"][-1], atol=1e-6)
        np.testing.assert_array_equal(runs.run(k).q[-1].round(6), runs.q_end[k].round(6))


def test_many_assemblies_at_once_are_those_one_by_one():
    system, rng = four_bar(), np.random.default_rng(4)
    n = 12
    angle, speed = 0.6 + 0.05 * rng.normal(size=n), rng.normal(size=n)
    p = np.column_stack([1.0 + 0.02 * rng.normal(size=n), np.full(n, 3.0), 2.5 + 0.02 * rng.normal(size=n)])
    like = system.assemble({"A": 0.6}, p=p[0])
    good = np.ones(n, dtype=bool)
    q, v = assembled(system, like, {"A": angle}, {"C": speed}, p, good)
    assert good.all()
    for k in range(n):
        x = system.assemble({"A": angle[k]}, v={"C": speed[k]}, p=p[k], guess=like)
        np.testing.assert_allclose(q[k], x.q, atol=1e-10)
        np.testing.assert_allclose(v[k], x.v, atol=1e-9)


@pytest.mark.parametrize("length", [1e-5, 1.0, 1e6])
def test_parameters_far_from_their_defaults_give_the_scaled_runs(length):
    """Lengths from 1e-5 to 1e6 of those declared, gravity and inertias with them: the same angles, step for step."""
    system = sized_linkage((1.0, 3.0, 2.5), 3.2)
    angle = [0.6, 0.65, 0.7]
    given = {"v": {"A": 2.0}, "guess": GUESS, "workers": 4, **TOLERANCES}
    usual, scaled = (da.ensemble(system, {"A": angle}, 1.0, p={"size": x}, **given) for x in (1.0, length))
    assert usual.success.all()
    assert scaled.success.all()
    assert not scaled.alone.any()
    assert scaled.steps.tolist() == usual.steps.tolist()
    np.testing.assert_allclose(scaled.q_end, usual.q_end, atol=1e-9)


def test_a_loop_on_a_free_body_and_starts_beside_a_singular_one():
    m = da.Mechanism("floating", gravity=(0, -9.81, 0))
    before = cart = m.add_body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.add_joint("F", da.Free(), m.ground, cart)
    for joint, length in zip("ABC", (1.0, 3.0, 2.5)):
        link = m.add_body(f"link {joint}", mass=1.0, com=(length / 2, 0, 0), inertia=(0.01, 0.1, 0.1))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, cart.at(3.2, 0, 0))
    system, rng = m.compile(), np.random.default_rng(0)
    x = system.assemble({"A": 0.6}, guess=GUESS, v={"A": 1.0})
    floating = [system.project(system.state(x.q, x.v + 0.1 * rng.standard_normal(system.nv))) for _ in range(5)]
    five = zoo.five_bar().compile()
    beside = [five.state(*zoo.five_bar_start(-np.pi / 3 + d)) for d in (1e-9, 1e-6, 1e-4, 1e-2)]
    x = five.state(*zoo.five_bar_start())
    beside += [five.project(five.plus(x, d * np.array([1.0, -1.0, 0.5, 1.0]))) for d in (2e-3, 1e-2)]  # seen by σ alone
    for compiled, starts in ((system, floating), (five, beside)):
        runs = da.ensemble(compiled, starts, 1.0, workers=4, **TOLERANCES)
        for k, start in enumerate(starts):
            run = da.simulate(compiled, start, 1.0, **TOLERANCES)
            np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-9)
            assert runs.passages[k] == len(run.passages)
            assert runs.determined[k] == all(p.determined for p in run.passages)


def test_swings_of_pendulums_of_random_length_are_distributed_as_theory_says():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    length = m.add_parameter("length", 1.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    n, t, small = 512, 3.0, 1e-4
    runs = da.ensemble(m.compile(), {"A": small}, t, p={"length": norm(1.0, 0.05)}, n=n, sampling="sobol", **TOLERANCES)
    drawn = runs.varied["length"]
    np.testing.assert_allclose(runs["A"], small * np.cos(t * np.sqrt(9.81 / drawn)), atol=2e-8 * small + 1e-10)
    assert abs(drawn.mean() - 1.0) < 1e-3
    assert abs(drawn.std() / 0.05 - 1.0) < 0.02
    falling = da.ensemble(runs.system, {"A": small}, 0.3, p={"length": norm(1.0, 0.05)}, n=n, sampling="latin")
    lengths = norm(1.0, 0.05).ppf([0.1, 0.5, 0.9])  # the shorter, the farther down after 0.3 s
    np.testing.assert_allclose(
        falling.quantiles("A", [0.1, 0.5, 0.9]), small * np.cos(0.3 * np.sqrt(9.81 / lengths)), rtol=1e-3
    )


def test_a_bad_run_does_not_end_the_others():
    system = four_bar()
    angle = [0.6, 0.7, 0.8]
    runs = da.ensemble(system, {"A": angle}, 0.5, p={"l2": [3.0, 9.0, 3.0]}, **TOLERANCES)
    assert runs.status.tolist() == [da.Status.DONE, da.Status.NOT_BEGUN, da.Status.DONE]
    assert runs.success.tolist() == [True, False, True]
    assert "cannot be assembled" in runs.messages[1]
    assert np.isnan(runs.q_end[1]).all()
    with pytest.raises(da.ArgumentError, match="run 1 did not begin"):
        runs.run(1)


@pytest.mark.parametrize("hold", [None, 0.05])
def test_an_expression_steers_all_runs(hold):
    system = zoo.cart_pole().compile()
    name, q = system.u_names[0], system.q_names[0]
    law = da.expression(lambda t, s: {name: -3.0 * s[q] - 2.0 * s.rate(q) + ca.sin(t)})
    states = [system.state(q=[0.1 * k, 0.3]) for k in range(5)]
    runs = da.ensemble(system, states, 1.0, u=law, period=hold, **TOLERANCES)
    assert not runs.alone.any()
    assert runs.success.all()
    for k, x in enumerate(states):
        run = da.simulate(system, x, 1.0, u=law, period=hold, **TOLERANCES)
        np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-7)
        np.testing.assert_allclose(runs.work["inputs"][k], run.work["inputs"][-1], atol=1e-6)


def test_events_and_python_controllers_are_made_alone():
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    m.add_motor("M", "A")
    system = m.compile()
    down = da.Event(lambda t, s: s["A"], direction=-1)
    runs = da.ensemble(system, {"A": [0.1, 0.2]}, 1.0, u=lambda t, s: [0.0], events={"down": down})
    assert runs.alone.all()
    assert runs.success.all()
    for k, a in enumerate((0.1, 0.2)):
        hits = da.simulate(system, {"A": a}, 1.0, events={"down": down}).t_events["down"]
        np.testing.assert_allclose(runs.events["down"][k], hits, atol=1e-9)


def test_outputs_need_no_states():
    system = four_bar()
    tip = system.layout.mechanism.bodies["link B"].at(3.0, 0, 0)
    times = np.linspace(0.0, 0.5, 4)
    outputs = {"height": lambda t, s: s.position(tip)[1]}
    runs = da.ensemble(
        system, {"A": [0.6, 0.7]}, 0.5, t_eval=times, outputs=outputs, keep="outputs", guess=GUESS, **TOLERANCES
    )
    run = da.simulate(system, system.assemble({"A": 0.7}, guess=GUESS), 0.5, t_eval=times, **TOLERANCES)
    np.testing.assert_allclose(runs.outputs["height"][1], run.position(tip)[:, 1], atol=1e-7)
    assert runs.quantiles("height").shape == (3, 4)
    with pytest.raises(da.ArgumentError, match="keep='states'"):
        runs["A"]


class Failing(Executor):
    """An executor that loses its first part, and sends everything through pickle."""

    def __init__(self):
        self.parts = 0

    def submit(self, f, /, *args):
        future = Future()
        self.parts += 1
        if self.parts == 1:
            future.set_exception(RuntimeError("worker gone"))
        else:
            future.set_result(f(*pickle.loads(pickle.dumps(args))))
        return future


def test_an_executor_gives_the_same_bits_and_loses_no_run():
    system = four_bar()
    angle = np.linspace(0.5, 0.7, 200)
    here = da.ensemble(system, {"A": angle}, 0.3, **TOLERANCES)
    executor = Failing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of parts that are made here
        there = da.ensemble(system, {"A": angle}, 0.3, executor=executor, workers=1, **TOLERANCES)
    assert executor.parts > 1
    np.testing.assert_array_equal(here.q_end, there.q_end)
    assert there.success.all()
    assert elsewhere.__module__ == "dalembert.ensembles.work"


class Gone(Executor):
    """An executor that makes nothing."""

    def submit(self, f, /, *args):
        future = Future()
        future.set_exception(RuntimeError("no worker"))
        return future


def test_parts_that_an_executor_does_not_make_are_made_here_with_a_warning():
    with pytest.warns(UserWarning, match="no worker"):
        runs = da.ensemble(four_bar(), {"A": [0.6, 0.7]}, 0.1, executor=Gone(), workers=1, **TOLERANCES)
    assert runs.success.all()


def test_what_crosses_to_a_worker_holds_no_memory_of_this_process():
    """The table of a method is made of addresses: a plan that took it along crashed its worker."""
    runs = da.ensemble(four_bar(), {"A": [0.6, 0.7]}, 0.1, **TOLERANCES)
    assert runs._plan.setup.method.stages > 0
    sent = pickle.dumps(runs._plan)
    assert b"Tableau" not in sent
    assert pickle.loads(sent).setup.method is runs._plan.setup.method


def test_an_interrupt_returns_what_there_is():
    import _thread

    system = four_bar()
    timer = threading.Timer(0.6, _thread.interrupt_main)
    timer.start()
    begun = time.monotonic()
    runs = da.ensemble(system, {"A": np.full(4000, 0.6)}, 2000.0, v={"A": 2.0}, rtol=1e-11, atol=1e-12)
    timer.join()
    assert time.monotonic() - begun < 60.0
    assert (runs.status == da.Status.INTERRUPTED).any()
    assert not runs.success.all()
    assert "interrupted" in runs.messages[int(np.flatnonzero(~runs.success)[0])]
    assert not runs.alone.any()


def test_a_store_that_was_cut_off_is_made_whole(tmp_path):
    system, angle = four_bar(), np.linspace(0.5, 0.7, 200)
    options = {"t_eval": [0.1, 0.3], "outputs": {"A": lambda t, s: s["A"]}, "workers": 2, "lanes": 8, **TOLERANCES}
    whole = da.ensemble(system, {"A": angle}, 0.3, **options)
    first = da.ensemble(system, {"A": angle}, 0.3, store=tmp_path / "runs", **options)
    parts = sorted((tmp_path / "runs").glob("part-*.arrow"))
    assert len(parts) > 2
    table = feather.read_table(parts[0])
    assert table["q.A"].to_numpy().tolist() == whole.q_end[: table.num_rows, 0].tolist()
    for path in parts[1::2]:
        path.unlink()
    (tmp_path / "runs" / ".part-000000064.arrow.77").write_bytes(b"torn")  # what a crash leaves behind
    kept = parts[0].stat().st_mtime_ns
    again = da.ensemble(system, {"A": angle}, 0.3, store=tmp_path / "runs", **options)
    assert parts[0].stat().st_mtime_ns == kept
    for runs in (first, again):
        for name in ("q", "v", "q_end", "status", "steps", "margin", "t_end"):
            np.testing.assert_array_equal(getattr(runs, name), getattr(whole, name))
        np.testing.assert_array_equal(runs.outputs["A"], whole.outputs["A"])
    with pytest.raises(da.FileError, match="another study"):
        da.ensemble(system, {"A": angle + 1e-9}, 0.3, store=tmp_path / "runs", **options)
    parts[0].write_bytes(b"junk")
    with pytest.warns(RuntimeWarning, match=f"{parts[0].name} damaged and removed; made again"):
        mended = da.ensemble(system, {"A": angle}, 0.3, store=tmp_path / "runs", **options)
    np.testing.assert_array_equal(mended.q_end, whole.q_end)


def test_a_full_disk_is_said_and_costs_nothing_that_is_there(tmp_path):
    """The system refuses to let a file grow; later there is room again."""
    resource = pytest.importorskip("resource")
    system, angle = four_bar(), np.linspace(0.5, 0.7, 200)
    options = {"t_eval": np.linspace(0.0, 0.3, 40), "workers": 1, **TOLERANCES}
    whole = da.ensemble(system, {"A": angle}, 0.3, **options)
    before, old = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        handler = signal.getsignal(signal.SIGINT)
        with pytest.raises(da.FileError, match="cannot be written") as error:
            da.ensemble(system, {"A": angle}, 0.3, store=tmp_path / "runs", **options)
        assert error.value.__traceback__ is not None  # which holds all frames
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert not list((tmp_path / "runs").glob("part-*.arrow"))
    runs = da.ensemble(system, {"A": angle}, 0.3, store=tmp_path / "runs", **options)
    np.testing.assert_array_equal(runs.q, whole.q)


def test_tables_have_one_row_a_run():
    runs = da.ensemble(four_bar(), {"A": [0.6, 0.7]}, 0.2, t_eval=[0.1, 0.2], **TOLERANCES)
    table = runs.to_pandas()
    assert table["q.A"].tolist() == runs.q_end[:, 0].tolist()
    assert table["status"].tolist() == ["DONE", "DONE"]
    data = runs.to_xarray()
    assert data["q"].dims == ("run", "t", "coordinate")
    assert float(data["q"].sel(run=1, t=0.2, coordinate="A")) == runs.q[1, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": {"l9": 1.0}, "n": 2}, "no parameter 'l9'"),
        ({}, "how many runs"),
        ({"p": {"l1": [1.0, 1.1]}, "n": 3}, "needed: the same number"),
        ({"n": 2, "sampling": "halton"}, "sampling"),
        ({"n": 2, "rtoll": 1e-3}, "rtoll"),
        ({"n": 2, "outputs": {"x": lambda t, s: t}}, "give these too"),
        ({"n": 3, "p": {"l1": norm([1.0, 2.0], 1.0)}}, "distribution"),
        ({"n": 2, "lanes": 4}, "lanes"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(da.DalembertError, match=message):
        da.ensemble(four_bar(), {"A": 0.6}, 0.1, **arguments)
