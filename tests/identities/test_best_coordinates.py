"""Linear models without chosen coordinates: those of another state are taken where they are the best here too."""

import numpy as np
import pytest
from test_linear_model_choices import same, skate

import dalembert as da
from dalembert import zoo
from dalembert.formulations.choice import Choice
from dalembert.linearization import plan
from dalembert.native.library import call
from dalembert.rank import EVEN, independent
from random_loops import parallelogram, random_closed


def answer(system: da.System, x: da.State) -> da.LinearModel | str:
    try:
        return da.linearize(system, x)
    except da.ArgumentError as error:
        return str(error)


def forgetting(system: da.System, x: da.State) -> da.LinearModel | str:
    """The answer of a system that remembers no coordinates."""
    plan.remembered(system).best = None
    return answer(system, x)


def compared(system: da.System, states: list[da.State]) -> tuple[int, int]:
    """Compare the answers along states. Returns how many different choices and how many refusals there were."""
    expected = [forgetting(system, x) for x in states]
    plan.remembered(system).best = None
    found = [answer(system, x) for x in states]
    for one, other in zip(found, expected):
        assert one == other if isinstance(one, str) or isinstance(other, str) else same(one, other)
    chosen = {one.velocities for one in found if not isinstance(one, str)}
    return len(chosen), sum(isinstance(one, str) for one in found)


def around(system: da.System, x: da.State, count: int, size: float, seed: int) -> list[da.State]:
    """States in motion on the manifold, away from x by about a size and by a thousandth of it."""
    rng, out = np.random.default_rng(seed), [x]
    for k in range(count):
        moved = system.plus(x, rng.normal(size=system.nv) * size * (1e-3 if k % 3 == 0 else 1.0))
        try:
            out.append(system.project(system.state(moved, rng.normal(size=system.nv))))
        except da.AssemblyError:
            continue
    return out


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_remembered_is_what_would_be_chosen(seed):
    """Quaternions and redundant rows among them, with and without velocities: to the last bit."""
    system, x = random_closed(seed)
    choices, _ = compared(system, around(system, x, 12, 0.5, seed))
    assert choices > 1


def test_choices_change_along_a_turn():
    system = zoo.five_bar().compile()
    x = system.state(*zoo.five_bar_start())
    run = da.simulate(system, x, 3.0)
    choices, _ = compared(system, [run(t) for t in np.linspace(0.0, run.t[-1], 40)])
    assert choices > 2


@pytest.mark.parametrize("coupled", ["first", "last"])
def test_positions_besides_velocities(coupled):
    system, x = skate(coupled)
    compared(system, around(system, x, 8, 0.7, 3))


def test_nonholonomic_rows_without_redundant_ones():
    m = da.Mechanism("sled", gravity=(1.0, 0.3, 0))
    sled = m.add_body("sled", mass=1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.2))
    trailer = m.add_body("trailer", mass=0.7, com=(-0.3, 0, 0), inertia=(0.1, 0.1, 0.2))
    m.add_joint("p", da.Planar("z"), m.ground, sled)
    m.add_joint("hitch", da.Revolute("z"), sled.at(-0.2, 0, 0), trailer)
    m.add_skate("blade", sled, sideways="y")
    m.add_skate("wheels", trailer.at(-0.5, 0, 0), sideways="y")
    system = m.compile(backend="casadi")
    choices, _ = compared(system, around(system, system.state({"p.angle": 0.3}), 16, 1.0, 5))
    assert choices > 1


@pytest.mark.parametrize("machine", ["flat", "dead centre"])
def test_a_singular_position_is_noticed_on_the_way_to_it(machine):
    """The coordinates of the last state hold all the way; rows that come near to dependent, or a coordinate to rest."""
    if machine == "flat":
        system = parallelogram()
        gaps = [10.0**-k for k in range(1, 10)]
        states = [system.assemble({"A": gap}, guess={"B": gap, "C": -gap}) for gap in gaps]
        states += [system.state(), states[0]]
    else:
        system = zoo.slider_crank().compile(backend="casadi")
        states = [system.state(*zoo.slider_crank_start(10.0**-k)) for k in range(10)]
    choices, refused = compared(system, states)
    assert refused > 0 if machine == "flat" else choices > 0


def test_equal_cranks_do_not_leave_the_choice_to_rounding():
    """In a ladder all cranks turn alike: one kernel serves all its positions."""
    system = zoo.ladder(4).compile(backend="casadi")
    states = [system.state(*zoo.ladder_start(4, angle)) for angle in np.linspace(0.3, 1.2, 12)]
    assert compared(system, states)[0] == 1


def test_parameters_count():
    m = da.Mechanism("two")
    weight = m.add_parameter("weight", 1.0)
    a = m.add_body("a", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    b = m.add_body("b", mass=weight, com=(0.5, 0, 0), inertia=(0.01, 0.01, 0.01))
    m.add_joint("A", da.Revolute("z"), m.ground, a)
    m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), b)
    m.add_coupling("gear", {"A": 1.0, "B": 1.1})
    system = m.compile(backend="casadi")
    found = [da.linearize(system, {}, p={"weight": w}).velocities for w in (0.01, 10.0, 0.01)]
    assert found == [("A",), ("B",), ("A",)]


@pytest.mark.parametrize("seed", range(30))
def test_the_native_choice_is_that_of_rank(seed):
    """K in any basis, with rows that are equal, and with some that are taken anyway."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 24))
    k = int(rng.integers(1, n + 1))
    fixed = int(rng.integers(0, k)) if seed % 3 == 0 else 0
    X = rng.normal(size=(n, n))
    M = X @ X.T + 0.1 * np.eye(n)
    Q = np.linalg.qr(np.linalg.cholesky(M).T @ rng.normal(size=(n, k)))[0]
    orthonormal = np.linalg.solve(np.linalg.cholesky(M).T, Q)
    first = rng.permutation(n)[:fixed].tolist()
    rows = orthonormal * np.sqrt(np.diag(M))[:, None]
    expected = independent(rows, k, first, EVEN)
    c = Choice.sized(n=n, k=k, fixed=fixed)
    c.M[:], c.K[:] = M, orthonormal @ rng.normal(size=(k, k))
    c.chosen[:fixed] = first
    call("best_choice", c)
    assert c.found == 1
    assert c.chosen.tolist() == expected


def test_the_native_choice_is_not_certain_at_the_edge_of_what_counts_as_equal():
    c = Choice.sized(n=2, k=1)
    c.M[:] = np.eye(2)
    for ratio, sure in ((1.0, [0]), (1.0 - 1e-8, [0]), (1.0 - 1e-4, [1]), ((1.0 - EVEN) ** 0.5, None)):
        c.K[:, 0] = ratio, 1.0
        call("best_choice", c)
        assert (c.chosen.tolist() if c.found else None) == sure


def test_rows_that_do_not_follow_are_told():
    c = Choice.sized(n=3, k=1, m=1, vanish=1e-12)
    c.M[:], c.K[:, 0], c.sizes[:] = np.eye(3), [1.0, 2.0, 0.0], 1.0
    for row, sure in (([2.0, -1.0, 5.0], 1), ([2.0, -1.0 + 1e-9, 5.0], 0)):
        c.A[0] = row
        call("best_choice", c)
        assert c.found == sure
