"""Assemblies, sweeps and inverse dynamics of many variants are those of each of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

CLOSED = [
    "bennett", "bricard", "delta", "five_bar", "four_bar", "ladder", "loader", "parallel_four_bar", "planar_3rrr",
    "sarrus", "slider_crank", "stewart", "two_arms",
]  # fmt: skip
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@cache
def machine(name: str) -> tuple[da.System, da.State]:
    """A mechanism of the zoo, and a closed state of it that is not singular."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    start = (
        zoo.five_bar_start(0.5)
        if name == "five_bar"
        else zoo.ladder_start(2, 1.0)
        if name == "ladder"
        else entry.start()
    )
    x = system.state(*start)
    return system, system.state(x.q)


def leaders(name: str) -> list[str]:
    """Coordinates, as many as the mechanism has freedoms, by which it is led best: pivots of its motions."""
    system, x = machine(name)
    A = system.constraint_matrix(x)
    K = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, 1e-8) :].T
    led = []
    for _ in range(K.shape[1]):
        sizes = [np.linalg.norm(K[k]) if n in system.q_names else 0.0 for k, n in enumerate(system.v_names)]
        k = int(np.argmax(sizes))
        led.append(system.v_names[k])
        K = K - np.outer(K @ K[k], K[k]) / (K[k] @ K[k])
    return led


@pytest.mark.parametrize("name", sorted(set(zoo.CATALOG) - {"hand"}))
def test_inverse_dynamics_over_the_zoo(name):
    system, x = machine(name)
    rng, n = np.random.default_rng(0), 5
    q = [system.plus(x, 0.1 * rng.standard_normal(system.nv)) for _ in range(n)]
    states = [system.state(q[k], rng.standard_normal(system.nv), 0.3 * k) for k in range(n)]
    a, u = rng.standard_normal((n, system.nv)), rng.standard_normal((n, len(system.u_names)))
    many = da.inverse_dynamics_many(system, states, a, u=u)
    for k in range(n):
        one = system.inverse_dynamics(states[k], a[k], u=u[k])
        np.testing.assert_allclose(many[k], one, rtol=1e-11, atol=1e-11 * np.abs(one).max())


@pytest.mark.parametrize("name", CLOSED)
def test_assemblies_over_the_zoo(name):
    system, x = machine(name)
    rng, names, n = np.random.default_rng(1), leaders(name), 6
    q = {c: x[c] + 0.02 * rng.standard_normal(n) for c in names}
    v = {c: rng.standard_normal(n) for c in names}
    states = da.assemble_many(system, q, v, guess=x)
    assert not states.messages
    for k in range(n):
        one = system.assemble({c: y[k] for c, y in q.items()}, {c: y[k] for c, y in v.items()}, guess=x)
        np.testing.assert_allclose(states.q[k], one.q, **CLOSE)
        np.testing.assert_allclose(states.v[k], one.v, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["bricard", "sarrus", "planar_3rrr"])
def test_other_starts_are_tried_side_by_side(name, monkeypatch):
    """Far from the guess, where it takes several starts, and where there is no state: bits and words of one alone."""
    system = machine(name)[0]
    x = None if name == "bricard" else machine(name)[1]
    first, n = system.q_names[0], 24
    values = (0.0 if x is None else x[first]) + np.linspace(0.0, 2 * np.pi, n, endpoint=False)
    several, refused, alone = 0, {}, []
    states = []
    for value in values:
        try:
            states.append(system.assemble({first: value}, guess=x))
            several += states[-1].evidence.attempts > 1
        except da.AssemblyError as error:
            refused[len(states)] = str(error)
            states.append(None)
    original = da.System.assemble
    monkeypatch.setattr(da.System, "assemble", lambda *a, **k: (alone.append(1), original(*a, **k))[1])
    many = da.assemble_many(system, {first: values}, guess=x)
    assert many.messages == refused
    assert len(alone) == len(refused)
    for k, one in enumerate(states):
        if one is not None:
            np.testing.assert_array_equal(many.q[k], one.q)
    assert several or refused


@pytest.mark.parametrize("name", CLOSED)
def test_sweeps_over_the_zoo(name):
    system, x = machine(name)
    names = leaders(name)
    path = {c: x[c] + np.linspace(0.0, 0.06, 7) * (1 - 2 * (k % 2)) for k, c in enumerate(names)}
    speed, bend = {c: 1.0 + k for k, c in enumerate(names)}, {c: 0.5 - k for k, c in enumerate(names)}
    many = da.sweep_many(system, path, n=3, guess=x, speed=speed, acceleration=bend)
    assert many.success.all()
    assert not many.alone.any()
    one = system.sweep(path, x, speed=speed, acceleration=bend)
    for k in range(3):
        np.testing.assert_allclose(many.q[k], one.q, **CLOSE)
        np.testing.assert_allclose(many.v[k], one.v, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(many.vdot[k], one.vdot, rtol=1e-6, atol=1e-6)


@cache
def lengths() -> da.System:
    """A four-bar whose lengths are parameters."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    sizes = [m.add_parameter(name, value) for name, value in (("crank", 0.3), ("coupler", 1.0), ("rocker", 0.8))]
    before = m.ground.at()
    for joint, length in zip("ABC", sizes):
        link = m.add_body(f"link {joint}", mass=1.0, com=(length / 2, 0, 0), inertia=(0, 0.02, 0.02))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(length, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(1.0, 0, 0))
    return m.compile()


def test_whole_turns_with_lengths_of_their_own_stay_on_their_branch():
    """A coarse turn of a crank-rocker: 12 positions 30° apart, each variant against its own sweep."""
    system, rng = lengths(), np.random.default_rng(2)
    crank = 0.3 + 0.02 * rng.standard_normal(8)
    guess = {"A": 0.0, "B": 1.0, "C": -2.0}
    turn = da.sweep_many(system, {"A": np.linspace(0.0, 2 * np.pi, 13)}, p={"crank": crank}, guess=guess, speed=3.0)
    assert turn.success.all()
    np.testing.assert_allclose(turn["B"][:, -1] + 2 * np.pi, turn["B"][:, 0], atol=1e-9)  # the coupler is back
    for k in range(8):
        start = system.state(turn.q[k, 0])
        one = system.sweep({"A": np.linspace(0.0, 2 * np.pi, 13)}, start, p={"crank": crank[k]}, speed=3.0)
        np.testing.assert_allclose(turn.q[k], one.q, **CLOSE)
        np.testing.assert_allclose(turn.vdot[k], one.vdot, rtol=1e-6, atol=1e-6)


def test_variants_that_do_not_follow_are_told_and_cost_the_others_nothing():
    """A crank of 0.9 cannot turn: its sweep ends in a dead point; one of 9 cannot even be assembled."""
    system = lengths()
    path, guess = {"A": np.linspace(0.5, 3.0, 26)}, {"A": 0.5, "B": 0.7, "C": -1.8}
    turn = da.sweep_many(system, path, p={"crank": [0.3, 0.9, 9.0, 0.31]}, guess=guess)
    assert turn.success.tolist() == [True, False, False, True]
    assert turn.alone.tolist() == [False, True, False, False]
    assert "turns back" in turn.messages[1] or "ends after" in turn.messages[1]
    assert "cannot be assembled" in turn.messages[2]
    assert np.isnan(turn.q[2]).all()
    one = system.sweep(path, system.assemble({"A": 0.5}, p={"crank": 0.9}, guess=guess), p={"crank": 0.9})
    np.testing.assert_allclose(turn.q[1, : len(one)], one.q, **CLOSE)
    assert np.isnan(turn.q[1, len(one) :]).all()
    with pytest.raises(da.ArgumentError, match="cannot be assembled"):
        da.assemble_many(system, {"A": 0.5}, p={"crank": [0.3, 9.0]}, guess=guess)[1]
    with pytest.raises(da.DalembertError, match="'Z'"):
        da.sweep_many(system, {"Z": [0.0, 1.0]}, n=2)
    with pytest.raises(da.ArgumentError, match="as many values"):
        da.sweep_many(system, {"A": [0.5], "B": [0.1, 0.2]}, n=2)


def test_states_in_any_form_have_the_same_forces():
    system = lengths()
    turn = system.sweep({"A": np.linspace(0.5, 1.0, 9)}, speed=2.0)
    states = [turn.state(k) for k in range(9)]
    np.testing.assert_array_equal(
        da.inverse_dynamics_many(system, turn, turn.vdot), da.inverse_dynamics_many(system, states, turn.vdot)
    )


def test_an_ensemble_starts_from_states_that_were_assembled_together():
    """From `States` as from a list of them, bit for bit; a row that has no state is a run that does not begin."""
    system, crank = lengths(), [0.3, 9.0, 0.31, 0.29]
    states = da.assemble_many(system, {"A": 0.5}, {"A": [4.0, 4.0, 5.0, 6.0]}, p={"crank": crank})
    runs = da.ensemble(system, states, 1.0, p=states.p)
    assert runs.success.tolist() == [True, False, True, True]
    assert "cannot be assembled" in runs.messages[1]
    assert runs.status[1] == da.Status.NOT_BEGUN
    for k in (0, 2, 3):
        one = da.ensemble(system, [states[k]], 1.0, p=states.p[k])
        np.testing.assert_array_equal(runs.q_end[k], one.q_end[0])
        alone = da.simulate(system, states[k], 1.0, p=states.p[k])
        np.testing.assert_allclose(runs.q_end[k], alone.q[-1], rtol=1e-7, atol=1e-7)


def test_an_ensemble_starts_from_rows_of_positions():
    system = lengths()
    states = da.assemble_many(system, {"A": np.linspace(0.5, 0.6, 5)})
    np.testing.assert_array_equal(da.ensemble(system, states.q, 0.5).q_end, da.ensemble(system, states, 0.5).q_end)
