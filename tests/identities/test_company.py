"""A run, a variant or a copy is what the call for one gives, whatever stands beside it and in whatever order."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_loops import random_closed

GUESS = {"B": -0.5, "C": -1.5}
SAME = {"rtol": 0.0, "atol": 1e-9}


@cache
def four_bar(size: float = 1.0) -> da.System:
    """A four-bar with lengths and a mass as parameters, and a motor; size: of everything, m."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81, 0))
    mass = m.add_parameter("mass", 1.3)
    before = m.ground.at()
    for joint, name, length in zip("ABC", ("crank", "coupler", "rocker"), (0.3, 1.0, 0.8)):
        long = m.add_parameter(name, length * size)
        link = m.add_body(name, mass=mass, com=(long / 2, 0.02 * size, 0), inertia=(0, *[mass * long**2 / 12] * 2))
        m.add_joint(joint, da.Revolute("z"), before, link)
        before = link.at(long, 0, 0)
    m.close_loop("D", da.Revolute("z"), before, m.ground.at(size, 0, 0))
    m.add_motor("motor", "A")
    return m.compile()


def variants(n: int, size: float = 1.0, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Crank angles over the whole turn, and lengths."""
    rng = np.random.default_rng(seed)
    lengths = {"crank": (0.25, 0.35), "coupler": (0.9, 1.1), "rocker": (0.7, 0.9)}
    p = {name: size * rng.uniform(*ends, n) for name, ends in lengths.items()}
    return {"A": rng.uniform(0.0, 2 * np.pi, n)}, p


def one(system: da.System, k: int, q: dict, p: dict, guess: object = None, v: dict | None = None) -> da.State:
    values = [None if x is None else {name: y[k] for name, y in x.items()} for x in (q, v, p)]
    return system.assemble(values[0], values[1], p=values[2], guess=guess)


def compared(many: da.States, k: int, x: da.State | da.AssemblyError) -> None:
    """Row k against the call for one, or against what that raised."""
    if isinstance(x, da.State):
        np.testing.assert_allclose(many.q[k], x.q, rtol=0.0, atol=1e-8)
        np.testing.assert_allclose(many.v[k], x.v, rtol=1e-6, atol=1e-6)
    else:
        assert many.messages[k] == str(x)


def tried(*arguments: object) -> da.State | da.AssemblyError:
    try:
        return one(*arguments)
    except da.AssemblyError as error:
        return error


def reordered(x: dict[str, np.ndarray], order: np.ndarray) -> dict[str, np.ndarray]:
    return {name: y[order] for name, y in x.items()}


@pytest.mark.parametrize("guess", [None, GUESS])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e5])
def test_variants_are_on_the_branch_of_the_call_for_one(size, guess):
    """Crank angles over a turn, lengths of every variant its own, from the neutral position and from a guess."""
    system, (q, p) = four_bar(size), variants(16, size)
    v = {"A": np.linspace(-1.0, 1.0, 16)}
    many = da.assemble_many(system, q, v, p=p, guess=guess)
    for k in range(16):
        x = one(system, k, q, p, guess, v)
        np.testing.assert_allclose(many.q[k], x.q, **SAME)
        np.testing.assert_allclose(many.v[k], x.v, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("guess", [None, GUESS])
def test_the_order_of_variants_runs_and_sweeps_does_not_matter(guess):
    """A permutation of what is given permutes what is returned, bit for bit; so does leaving out all but a few."""
    system, (q, p), path = four_bar(), variants(24, seed=1), {"A": np.linspace(0.5, 1.5, 4)}
    order = np.random.default_rng(2).permutation(24)

    def made(rows: np.ndarray) -> list[np.ndarray]:
        some, lengths = reordered(q, rows), reordered(p, rows)
        runs = da.ensemble(system, some, 0.05, p=lengths, guess=guess, workers=1)
        return [
            da.assemble_many(system, some, p=lengths, guess=guess).q,
            runs.start[0],
            runs.q_end,
            da.sweep_many(system, path, p=lengths, guess=guess).q,
        ]

    whole = made(np.arange(24))
    for rows in (order, order[:5], np.arange(24)[::-1]):
        for x, y in zip(made(rows), whole):
            np.testing.assert_array_equal(x, y[rows])


def test_sweeps_begin_on_the_branch_of_the_sweep_for_one():
    system, (_, p) = four_bar(), variants(8, seed=3)
    path = {"A": np.linspace(2.0, 2.8, 5)}
    many = da.sweep_many(system, path, p=p, speed=1.0)
    for k in range(8):
        alone = system.sweep(path, p={name: x[k] for name, x in p.items()}, speed=1.0)
        np.testing.assert_allclose(many.q[k], alone.q, **SAME)
        np.testing.assert_allclose(many.v[k], alone.v, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n", [1, 5])
def test_copies_of_an_environment_start_as_the_call_for_one(n):
    """Every copy, at the first start and after the others have begun again."""
    pytest.importorskip("gymnasium")
    from scipy.stats import uniform

    system = four_bar()
    envs = da.environments(
        system, {"A": uniform(0.0, 2 * np.pi)}, n, period=0.01, p={"crank": uniform(0.25, 0.1)},
        actions={"motor": (-1.0, 1.0)}, reward=lambda t, s, u: -s["A"], ends=lambda t, s: s["A"] > 3.0,
    )  # fmt: skip
    worlds = envs.unwrapped.task.worlds
    for seed in range(3):
        envs.reset(seed=seed)
        for k in range(n):
            x = system.assemble({"A": worlds.q[k, 0]}, p=worlds.p[k])
            np.testing.assert_allclose(worlds.q[k], x.q, **SAME)


@pytest.mark.parametrize("name", ["bennett", "delta", "five_bar", "ladder", "sarrus", "slider_crank", "stewart"])
def test_assemblies_of_the_zoo_far_from_the_guess_are_those_of_the_call_for_one(name):
    """Held coordinates up to 0.6 rad or m from the guess: what closes by another search, and what does not close."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    x = system.state(*entry.start())
    rng, n = np.random.default_rng(4), 6
    led = next(c for c in system.q_names if c in system.v_names)
    q, v = {led: x[led] + rng.uniform(-0.6, 0.6, n)}, {led: rng.standard_normal(n)}
    expected = [tried(system, k, q, None, x, v) for k in range(n)]
    if not any(isinstance(y, da.State) for y in expected):
        with pytest.raises(da.ArgumentError, match="no run can begin"):
            da.assemble_many(system, q, v, guess=x)
        return
    many = da.assemble_many(system, q, v, guess=x)
    for k, y in enumerate(expected):
        compared(many, k, y)


@pytest.mark.parametrize("seed", range(4))
def test_random_loops_with_redundant_rows_and_quaternions_are_assembled_as_one_by_one(seed):
    system, x = random_closed(seed, bodies=5, loops=1 + seed % 2, redundant=seed % 2 == 0, backend="native")
    rng, n = np.random.default_rng(seed), 4
    names = [c for c in system.q_names if c in system.v_names][:2]
    q = {c: x[c] + 0.3 * rng.standard_normal(n) for c in names}
    q = {c: np.append(x[c], values) for c, values in q.items()}  # the first closes as it is
    x = system.state(x.q)
    many = da.assemble_many(system, q, guess=x)
    for k in range(n + 1):
        compared(many, k, tried(system, k, q, None, x))


@pytest.mark.parametrize(("name", "value"), [("mass", 0.0), ("mass", -1.0), ("crank", np.nan), ("crank", 1e300)])
def test_a_run_that_cannot_be_leaves_the_others_as_they_are(name, value, recwarn):
    """No mass, a negative one, a length that is no number: such a run is refused, with a message of its own."""
    system, path = four_bar(), {"A": np.linspace(0.5, 0.7, 3)}
    usual = {"mass": 1.3, "crank": 0.3}[name]
    p, fine = {name: np.array([usual, usual, value, usual])}, [0, 1, 3]
    runs, states = (f(system, {"A": 0.5}, *more, p=p) for f, more in ((da.ensemble, [0.1]), (da.assemble_many, [])))
    sweeps = da.sweep_many(system, path, p=p)
    x = system.assemble({"A": 0.5})
    P = np.tile(system.arguments.parameter_vector(None), (4, 1))
    P[2, system.p_names.index(name)] = value
    models = da.linearize_many(system, [x] * 4, p=P)
    for messages in (runs.messages, states.messages, sweeps.messages, models.messages):
        assert list(messages) == [2]
    np.testing.assert_array_equal(states.q[fine], da.assemble_many(system, {"A": [0.5] * 3}).q)
    assert runs.success[fine].all()
    assert np.isfinite(models.A[fine]).all()
    assert np.isnan(models.A[2]).all()
    assert not recwarn.list


def test_an_ensemble_tells_which_runs_start_on_another_branch():
    """The sign of the loop's determinant against the side of the coupler, for lengths that differ by a hundredth."""
    system, rng = four_bar(), np.random.default_rng(0)
    p = {name: system.parameters[name][0] * (1 + 0.01 * rng.standard_normal(40)) for name in ("crank", "rocker")}
    runs = da.ensemble(system, {"A": -1.0}, 0.01, p=p)
    up = np.sin(runs.start[0][:, 2]) > 0
    np.testing.assert_array_equal(runs.side, np.where(up, runs.side[np.argmax(up)], -runs.side[np.argmax(up)]))
    assert f"{min(up.sum(), (~up).sum())} start on another branch" in repr(runs)
    near = da.ensemble(system, {"A": -1.0}, 0.01, p=p, guess={"A": -1.0, "B": 1.5, "C": -2.0})
    assert len(set(near.side)) == 1
    assert "branch" not in repr(near)
    given = da.ensemble(system, [system.assemble({"A": 0.5})] * 2, 0.01)
    assert not given.side.any()
