"""Linear models do not depend on what was asked before, on units, or on which of redundant rows carry the others."""

import threading

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.analysis.mobility import independent_rows
from manifold_differences import differences
from random_loops import random_closed


@pytest.fixture(scope="module")
def five_bar():
    return zoo.five_bar().compile(backend="casadi")


def same(one: da.LinearModel, other: da.LinearModel) -> bool:
    """Whether two models are equal to the last bit."""
    return one.state_names == other.state_names and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("A", "B", "C", "D", "rate", "time")
    )


def test_a_model_does_not_depend_on_what_was_asked_before(five_bar):
    """The same call on a fresh system, and after others with other coordinates, outputs, inputs and states."""
    x = five_bar.state(*zoo.five_bar_start())
    y = five_bar.assemble({"A": 0.7, "B": 1.4}, v={"A": 0.3, "B": 0.5}, guess=x)
    models = [
        da.linearize(five_bar, state, u=u, independent=names, outputs=outputs)
        for state in (x, y)
        for u in (None, {"left": 2.0})
        for names in (["A", "B"], ["B", "A"], ["A", "E"], ["C", "D"])
        for outputs in (None, ["energy", "acceleration:C"])
    ]
    fresh = zoo.five_bar().compile(backend="casadi")
    there = fresh.state(y.q, y.v)
    for names in (["A", "B"], ["B", "A"], ["A", "E"]):
        again = da.linearize(five_bar, y, independent=names)
        assert same(again, da.linearize(fresh, there, independent=names))
        assert any(same(again, m) for m in models)
    assert da.linearize(five_bar, x, independent=["B", "A"]).state_names == ("B", "A", "B rate", "A rate")
    with pytest.raises(ValueError, match="read-only"):
        again.C[0, 0] = 7.0  # shared by all models in these coordinates
    again.A[0, 0] = 7.0
    assert da.linearize(five_bar, y, independent=["A", "E"]).A[0, 0] != 7.0


def test_parameters_and_time_count_at_every_call():
    m = da.Mechanism("pendulum", gravity=(0, -10.0, 0))
    L = m.add_parameter("L", 2.0)
    m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -L, 0)))
    system = m.compile(backend="casadi")
    for length in (None, 5.0, 1e-6, 2.0):
        p = None if length is None else {"L": length}
        model = da.linearize(system, {}, p=p, independent=["A"])
        assert model.A[1, 0] == pytest.approx(-10.0 / (length or 2.0), rel=1e-12)
    with pytest.raises(da.UnknownName):
        da.linearize(system, {}, p={"l": 1.0}, independent=["A"])
    with pytest.raises(da.DalembertError):
        da.linearize(system, {}, p={"L": np.nan}, independent=["A"])


def test_checks_remain_after_good_calls(five_bar):
    """Off the manifold, singular, and tied coordinates are refused though the same call was good elsewhere."""
    x = five_bar.assemble({"A": 0.7, "B": 1.4}, guess=zoo.five_bar_start()[0])
    for _ in range(2):
        da.linearize(five_bar, x, independent=["A", "B"])
        with pytest.raises(da.ArgumentError, match="position misses row"):
            da.linearize(five_bar, x.replace(q=x.q + np.array([0, 0, 1e-4, 0])), independent=["A", "B"])
        with pytest.raises(da.ArgumentError, match="velocity misses row"):
            da.linearize(five_bar, x.replace(v=x.v + np.array([0, 0, 1e-4, 0])), independent=["A", "B"])
        with pytest.raises(da.ArgumentError, match="3 coordinates"):
            da.linearize(five_bar, x, independent=["A", "B", "C"])
    crank = zoo.slider_crank().compile(backend="casadi")
    start = crank.state(*zoo.slider_crank_start(0.5))
    assert da.linearize(crank, start, independent=["guide"]).A.shape == (2, 2)
    with pytest.raises(da.ArgumentError, match="hold guide still"):
        da.linearize(crank, crank.state(*zoo.slider_crank_start(0.0)), independent=["guide"])


def skate(coupled: str) -> tuple[da.System, da.State]:
    """A planar body with a skate, its angle tied to y twice: by a coupling and by its rate (F13)."""
    m = da.Mechanism("skate", gravity=(1.0, 0.3, 0))
    body = m.add_body("body", mass=1.0, com=(0.1, 0.2, 0), inertia=(0.1, 0.1, 0.2))
    m.add_joint("b", da.Planar(), m.ground, body)
    if coupled == "first":
        m.add_coupling("tie", {"b.angle": 1.0, "b.y": -0.5})
    m.add_constraint("rate", pfaffian=lambda s: s.rate("b.angle") - 0.5 * s.rate("b.y"))
    m.add_skate("skate", body, sideways="y")
    if coupled == "last":
        m.add_coupling("tie", {"b.angle": 1.0, "b.y": -0.5})
    system = m.compile(backend="casadi")
    return system, system.assemble({"b.angle": 0.4}, v={"b.x": 1.0})


@pytest.mark.parametrize("coupled", ["first", "last"])
def test_redundant_nonholonomic_rows_give_the_model_of_differences(coupled):
    """The holonomic one of two rows that say the same is kept, so that there is a model, and the right one."""
    system, x = skate(coupled)
    model = da.linearize(system, x)
    assert set(model.operating.rows) == {system.row_names.index("tie.ratio"), system.row_names.index("skate.sideways")}
    again = da.linearize(system, x, independent=model.velocities, positions=model.positions[1:])
    assert same(model, again)
    A = differences(model)[0]
    np.testing.assert_allclose(model.A, A, atol=1e-6 * max(1.0, np.abs(A).max()))
    full = da.linearize_full(system, x)
    assert set(full.rows) == {"tie.ratio", "skate.sideways"}


@pytest.mark.parametrize("size", [1e-5, 1e-2, 1e4])
@pytest.mark.parametrize("mass", [1e-3, 1e6])
def test_models_scale_with_lengths_and_masses(size, mass):
    """Without forces but weight, ẋ of angles goes with g/L and not with the mass (F4)."""

    def four_bar(size, mass):
        m = da.Mechanism("four-bar", gravity=(0, -9.81 * size, 0))
        lengths = {"a": 0.2 * size, "b": 0.6 * size, "c": 0.4 * size}
        a, b, c = (
            m.add_body(n, mass=mass, com=(l / 2, 0, 0), inertia=da.rod_inertia(mass, l)) for n, l in lengths.items()
        )
        m.add_joint("A", da.Revolute("z"), m.ground, a)
        m.add_joint("B", da.Revolute("z"), a.at(lengths["a"], 0, 0), b)
        m.add_joint("D", da.Revolute("z"), m.ground.at(0.55 * size, 0, 0), c)
        m.close_loop("C", da.Revolute("z"), b.at(lengths["b"], 0, 0), c.at(lengths["c"], 0, 0))
        system = m.compile(backend="casadi")
        return system, system.assemble({"A": 0.6}, v={"A": 2.0})

    one, other = (da.linearize(*four_bar(*scale), independent=["A"]) for scale in ((1.0, 1.0), (size, mass)))
    np.testing.assert_allclose(other.A, one.A, rtol=1e-8, atol=1e-8 * np.abs(one.A).max())
    system, x = four_bar(size, mass)
    with pytest.raises(da.ArgumentError, match="position misses row"):
        da.linearize(system, x.replace(q=x.q + np.array([0, 1e-4, 0])), independent=["A"])


def test_threads_get_the_bits_of_one(five_bar):
    x = five_bar.assemble({"A": 0.7, "B": 1.4}, v={"A": 0.3, "B": 0.5}, guess=zoo.five_bar_start()[0])
    fresh = zoo.five_bar().compile(backend="casadi")
    there = fresh.state(x.q, x.v)
    found: dict[int, list[da.LinearModel]] = {}

    def ask(thread: int) -> None:
        found[thread] = [da.linearize(fresh, there, independent=["A", "B"]) for _ in range(20)]

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    one = da.linearize(five_bar, x, independent=["A", "B"])
    assert len(found) == 8
    assert all(same(one, model) for models in found.values() for model in models)


@pytest.mark.parametrize("seed", range(6))
def test_the_best_choice_is_never_refused(seed):
    """Redundant holonomic rows, quaternions among the joints (F6): what is chosen can be asked for by name."""
    system, x = random_closed(seed)
    chosen = da.linearize(system, x)
    again = da.linearize(system, x, independent=chosen.velocities)
    assert same(chosen, again)


@pytest.mark.parametrize("seed", range(6))
def test_redundant_rows_of_skates_and_couplings_leave_a_model_its_own_coordinates(seed):
    """A skate said twice, a coupling said twice, and a coupling that makes a skate redundant (F13)."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("sled", gravity=(0, 0, -9.81))
    sled = m.add_body("sled", mass=rng.uniform(0.5, 2), com=(0.2, 0.1, 0), inertia=rng.uniform(1, 1.5, 3))
    m.add_joint("p", da.Planar("z"), m.ground, sled)
    m.add_skate("blade", sled, sideways="y")
    m.add_skate("same", sled.at(rng.uniform(0.1, 1)), sideways="y")  # with it the angle stands still
    m.add_coupling("hold", {"p.angle": 1.0})
    m.add_coupling("again", {"p.angle": rng.uniform(0.5, 3)})
    system = m.compile(backend="casadi")
    x = system.project(system.state({"p.x": rng.normal()}, {"p.x": rng.normal(), "p.y": 1.0, "p.angle": 1.0}))
    assert system.report(x).mobility == 1
    model = da.linearize(system, x)
    again = da.linearize(system, x, independent=model.velocities)
    assert list(again.velocities) == list(model.velocities) == ["p.x"]
    rows = independent_rows(system, x, None)
    kept = [system.row_names[k] for k in rows]
    assert len(kept) == 2
    assert any(name.startswith(("hold", "again")) for name in kept)  # the holonomic row stays
