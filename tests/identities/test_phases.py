"""Runs whose structure changes: against chained runs, between their records, in files, and at random."""

import pickle

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.simulation.hybrid import hybrid_run
from dalembert.simulation.hybrid.complementarity import lemke


def five_bar():
    system = da.zoo.five_bar().compile()
    return system, system.state(*da.zoo.five_bar_start())


def near(t, s):
    """How far the ends of the five-bar's loop are apart is least where this changes its sign."""
    return s.t - 0.35


def test_a_run_with_switches_is_the_runs_of_its_phases_one_after_another():
    """Opened at 0.2 s, closed again at 0.25 s by projection: equal to three runs to rounding."""
    system, x = five_bar()
    (name,) = system.layout.mechanism.constraints
    switches = [da.Switch(open=name, at=0.2), da.Switch(close=name, at=0.25, reach=0.1)]
    run = da.simulate(system, x, 0.6, switches=switches)
    first = da.simulate(system, x, 0.2)
    second = da.simulate(system.without(name), first.state(), (0.2, 0.25))
    there = second.state()
    third = da.simulate(system, system.project(there), (0.25, 0.6))
    assert [s.kind for s in run.switches] == ["opened", "closed"]
    for phase, chained in zip(run.phases, (first, second, third), strict=True):
        assert np.allclose(phase.q[-1], chained.q[-1], rtol=0, atol=1e-11)
        assert np.allclose(phase.v[-1], chained.v[-1], rtol=0, atol=1e-10)
        assert len(phase.t) == len(chained.t)
    assert run.success
    assert abs(run.energy_error).max() < 1e-8
    shut = run.switches[1]
    assert np.allclose(shut.v_after, third.v[0], atol=1e-10)
    assert shut.lost > 0.0
    assert run.work["impacts"][-1] == pytest.approx(run.phases[2].energy[0] - run.phases[1].energy[-1])


def test_a_phase_that_cannot_begin_loses_nothing_of_those_before(monkeypatch):
    system, x = five_bar()
    (name,) = system.layout.mechanism.constraints
    lay_out = hybrid_run.lay_out

    def refused(segment):
        if segment.span.start.t > 0.0:
            raise da.ArgumentError("the start misses its constraints")
        return lay_out(segment)

    monkeypatch.setattr(hybrid_run, "lay_out", refused)
    run = da.simulate(system, x, 0.6, switches=[da.Switch(open=name, at=0.2)])
    assert run.t[-1] == 0.2
    assert not run.success
    assert isinstance(run.error, da.ArgumentError)
    assert run.message.startswith("at t = 0.2 s the constraints could not be restored")
    assert "the start misses its constraints" in run.message


def test_a_switch_by_an_event_is_that_of_its_time():
    system, x = five_bar()
    (name,) = system.layout.mechanism.constraints
    timed = da.simulate(system, x, 0.6, switches=da.Switch(open=name, at=0.35))
    for g in (da.expression(lambda t, s: t - 0.35), near):
        event = da.simulate(system, x, 0.6, switches={"cut": da.Switch(open=name, when=g)})
        assert event.switches[0].of == "cut"
        assert event.switches[0].t == pytest.approx(0.35, abs=1e-14)
        assert np.allclose(event.q[-1], timed.q[-1], atol=1e-8)


def hopper(**options):
    m = da.Mechanism("hopper", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", **{"restitution": 0.7, **options})
    return m.compile()


def test_dense_output_samples_and_pickles_know_of_the_phases():
    system = hopper()
    run = da.simulate(system, {"z": 2.0}, 3.0)
    times = np.linspace(0.0, 3.0, 61)
    q, v = run(times)
    sampled = da.simulate(system, {"z": 2.0}, 3.0, t_eval=times)
    assert np.array_equal(sampled.t, times)
    assert np.allclose(sampled.q, q, atol=1e-12)
    assert np.allclose(sampled.v, v, atol=1e-11)
    hit = run.switches[0].t
    assert run(hit).v[0] == run.switches[0].v_after[0]
    assert run.phase(hit).t[0] == hit
    assert run(hit - 1e-9).v[0] == pytest.approx(run.switches[0].v_before[0], abs=1e-7)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.q, run.q)
    assert again.message == run.message
    assert [str(s) for s in again.switches] == [str(s) for s in run.switches]
    assert np.allclose(again(times)[0], q, atol=1e-13)


def test_a_saved_run_comes_back_with_its_phases(tmp_path):
    pytest.importorskip("pyarrow")
    system = hopper()
    run = da.simulate(system, {"z": 2.0}, 3.0)
    run.save(tmp_path / "run.arrow")
    again = da.read_run(tmp_path / "run.arrow", system)
    assert len(again.phases) == len(run.phases)
    assert again.message == run.message
    for name in ("t", "q", "v", "margin", "energy", "energy_error", "residuals"):
        assert np.array_equal(getattr(again, name), getattr(run, name)), name
    assert np.array_equal(again.multiplier("floor"), run.multiplier("floor"))
    assert [(s.t, s.what, s.lost, s.note, dict(s.impulse)) for s in again.switches] == [
        (s.t, s.what, s.lost, s.note, dict(s.impulse)) for s in run.switches
    ]
    assert [p.system.mode for p in again.phases] == [p.system.mode for p in run.phases]
    assert again.summary() == run.summary()
    assert repr(again) == repr(run)
    assert len(repr(run)) < 200
    assert again.success


def test_a_recording_that_was_cut_off_goes_on_bit_for_bit(tmp_path):
    pytest.importorskip("pyarrow")
    system = hopper()
    whole = da.simulate(system, {"z": 2.0}, 3.0, record=tmp_path / "whole.arrow")
    data = (tmp_path / "whole.arrow").read_bytes()
    for part in (0.3, 0.6, 0.9):
        (tmp_path / "part.arrow").write_bytes(data[: int(part * len(data))])
        again = da.simulate(system, {"z": 2.0}, 3.0, record=tmp_path / "part.arrow", resume=True)
        assert np.array_equal(again.t, whole.t)
        assert np.array_equal(again.q, whole.q)
        assert np.array_equal(da.read_run(tmp_path / "part.arrow", system).v, whole.v)


def test_a_phase_is_linearized_with_what_holds_in_it():
    """A pendulum at its stop has no motion left; free it swings with √(g/l)."""
    m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    m.add_joint(
        "A", da.Revolute("z"), m.ground, m.add_body("b", mass=1.0, com=(0, -1, 0)), limits=(0.2, 1), stops="rigid"
    )
    system = m.compile()
    run = da.simulate(system, system.state({"A": 0.5}), 1.0)
    free, stopped = run.phases[0], run.phases[-1]
    lin = da.linearize(free.system, system.state({"A": 0.0}), p=free.p)
    assert abs(np.sort(lin.eigenvalues.imag)[-1] - np.sqrt(9.81)) < 1e-9
    assert stopped.system.mode.touching == (("A lower stop", "smooth"),)
    assert stopped.system.acceleration(stopped.state(), p=stopped.p).rank == 1


@pytest.mark.parametrize("seed", range(6))
def test_impacts_of_random_bodies_never_make_energy(seed):
    """A plate with four feet thrown at a floor: energy falls, nothing sinks in, forces only push."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("plate", gravity=(0, 0, -10.0))
    body = m.add_body("plate", mass=2.0, com=rng.uniform(-0.1, 0.1, 3), inertia=(0.1, 0.15, 0.2))
    slide = m.add_body("slide")
    lift = m.add_body("lift")
    m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    m.add_joint("z", da.Prismatic("z"), slide, lift)
    m.add_joint("turn", da.Revolute("y"), lift, body)
    for k, at in enumerate((-0.5, 0.5)):
        m.add_contact(f"foot{k}", body.at(at, 0, 0), friction=0.4, restitution=0.5)
    system = m.compile()
    x = system.state({"z": 1.0, "turn": rng.uniform(-0.4, 0.4)}, v=rng.normal(size=3) * 2)
    run = da.simulate(system, x, 1.5, max_steps=20000)
    assert run.success, run.message
    assert (np.diff(run.energy) < 1e-8).all()
    for k in range(2):
        assert run.position(body.at((-0.5, 0.5)[k], 0, 0))[:, 2].min() > -1e-7
        assert run.multiplier(f"foot{k}.gap").min() > -1e-7
    assert all(s.lost > -1e-10 for s in run.switches)


@pytest.mark.parametrize("seed", range(5))
def test_complementarity_is_solved_with_redundant_rows(seed):
    """w = C Cᵀ z + C x: the solution is the projection on a cone, which always exists; C of any rank and scale."""
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n = int(rng.integers(1, 9))
        r = int(rng.integers(1, n + 1))
        C = rng.normal(size=(n, r)) * 10 ** rng.uniform(-6, 6)
        q = C @ rng.normal(size=r)
        z = lemke(C @ C.T, q)
        assert z is not None
        w, scale = C @ C.T @ z + q, np.abs(q).max()
        assert w.min() > -1e-9 * scale
        assert z.min() >= 0.0
        assert abs(w @ z) < 1e-9 * scale * max(z.max(), 1e-300) * n


def crank(**friction):
    """A slide on a rough rail, driven to and fro."""
    m = da.Mechanism("slide", gravity=(0, 0, -10.0))
    rail = m.add_body("rail")
    m.add_joint("x", da.Prismatic("x"), m.ground, rail, **friction)
    m.add_joint("z", da.Prismatic("z"), rail, m.add_body("block", mass=1.0))
    m.add_motor("push", "x")
    return m


@pytest.mark.parametrize("where", ["joint", "contact"])
def test_reversals_of_sliding_are_told(where):
    """A push of 20 cos t against 1 N of friction turns the block round at once, whenever it stops."""
    m = crank(friction=1.0) if where == "joint" else crank()
    m.add_contact("floor", "block", friction=0.1 if where == "contact" else 0.0)
    of = "x" if where == "joint" else "floor"
    system = m.compile()
    run = da.simulate(system, system.state(v={"x": 0.5}), 8.0, u=da.expression(lambda t, s: 20.0 * ca.cos(t)))
    told = [s for s in run.switches if s.of == of]
    assert [s.kind for s in told] == ["reverses"] * len(told)
    assert len(told) >= 2
    signs = np.sign(run.rate("x"))
    turns = run.t[1:][(signs[1:] * signs[:-1] < 0) | (signs[1:] == 0)]
    assert all(min(abs(turns - s.t)) < 0.2 for s in told)
    assert all(abs(run(s.t).v[0]) < 1e-6 for s in told)
    assert f"{of} reversed {len(told)} times" in run.summary()


def test_a_foot_that_stops_bearing_is_told():
    """A beam on three feet in line, as on equal springs: a load at x presses a foot at a with 20 + 25 x a N, or 0."""
    m = da.Mechanism("beam", gravity=(0, 0, -10.0))
    lift, beam, load = (
        m.add_body("lift"),
        m.add_body("beam", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        m.add_body("load", mass=5),
    )
    m.add_joint("z", da.Prismatic("z"), m.ground, lift)
    m.add_joint("turn", da.Revolute("y"), lift, beam)
    m.add_joint("x", da.Prismatic("x"), beam, load)
    m.add_driver("move", "x", lambda t: 2.0 * t - 1.0)
    for k, at in enumerate((-1.0, 0.0, 1.0)):
        m.add_contact(f"foot{k}", beam.at(at, 0, 0))
    system = m.compile()
    run = da.simulate(system, system.assemble(v={"x": 2.0}), 1.0)
    for old, new in zip(run.phases, run.phases[1:]):
        before, after = old.system.mode.touched, new.system.mode.touched
        told = {(s.of, s.kind) for s in run.switches if s.t == new.t[0]}
        assert {of for of, kind in told if kind in ("left", "unloaded")} == before.keys() - after.keys()
        assert {of for of, kind in told if kind == "rests"} == after.keys() - before.keys()
    kinds = [(s.of, s.kind) for s in run.switches]
    assert kinds == [("foot2", "rests"), ("foot0", "unloaded")]
    np.testing.assert_allclose([s.t for s in run.switches], [0.1, 0.9], atol=1e-8)
    forces = np.stack([run.multiplier(f"foot{k}.gap") for k in range(3)])
    assert forces.min() >= 0.0
    all_bear = (run.t > 0.1) & (run.t < 0.9)
    springs = 20.0 + 25.0 * np.outer([-1.0, 0.0, 1.0], run["x"])
    np.testing.assert_allclose(forces[:, all_bear], springs[:, all_bear], atol=1e-7)
    np.testing.assert_allclose(forces[:, -1], [0.0, 10.0, 50.0], atol=1e-7)
    assert run.success


def _same(one, other):
    for name in ("t", "q", "v", "energy_error"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert [str(s) for s in one.switches] == [str(s) for s in other.switches]
    assert one.status == other.status


@pytest.mark.parametrize("kind", ["contact", "switch", "friction"])
def test_a_recording_goes_on_to_a_later_end_as_one_run(kind, tmp_path):
    options = {}
    if kind == "switch":
        system = da.zoo.four_bar().compile()
        x, ends, options = system.assemble({"A": 0.9}, v={"A": 2.0}), (0.1, 0.2, 0.5), {}
        options["switches"] = [da.Switch(open="C", at=0.2)]
    else:
        m = da.Mechanism("m", gravity=(0, 0, -10.0 if kind == "contact" else 0.0))
        more = {"friction": 2.0, "stiffness": 50.0} if kind == "friction" else {}
        m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("b", mass=1.0), **more)
        if kind == "contact":
            m.add_contact("floor", "b", radius=0.1, restitution=0.5)
        system, x, ends = m.compile(), {"z": 5.1 if kind == "contact" else 1.0}, (0.3, 1.5, 3.0)
    for end in ends:
        found = da.simulate(system, x, end, record=tmp_path / "a", resume=True, **options)
        _same(found, da.simulate(system, x, end, **options))
        _same(found, da.read_run(tmp_path / "a", system))
        _same(found, da.simulate(system, x, end, record=tmp_path / "a", resume=True, **options))
    with pytest.raises(da.ArgumentError, match=r"goes to t = .* s already, and the end that is asked for is"):
        da.simulate(system, x, ends[0], record=tmp_path / "a", resume=True, **options)


def test_an_interrupted_recording_of_phases_goes_on(tmp_path):
    """Ctrl-C in the third second: the phase under way is made again."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", radius=0.1, restitution=0.8)
    m.add_motor("motor", "z")
    system, raised = m.compile(), []

    def law(t, s):
        if t > 2.0 and not raised:
            raised.append(t)
            raise KeyboardInterrupt
        return [0.0]

    cut = da.simulate(system, {"z": 5.1}, 3.0, u=law, record=tmp_path / "a")
    assert cut.status.name == "INTERRUPTED"
    with pytest.warns(RuntimeWarning, match="another 'u'"):  # it has remembered something
        found = da.simulate(system, {"z": 5.1}, 3.0, u=law, record=tmp_path / "a", resume=True)
    _same(found, da.simulate(system, {"z": 5.1}, 3.0, u=law))
