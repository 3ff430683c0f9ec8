"""Machines of many parts: nothing in describing, printing, checking and tracing them goes by recursion."""

import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.mechanism.layout import _parents_first
from dalembert.recursions.tree import ROOT


@pytest.fixture(scope="module")
def chain() -> da.Mechanism:
    return zoo.chain(1200, bobs=False)


def test_a_chain_of_more_bodies_than_python_recurses_is_described_printed_and_sent(chain):
    lines = str(chain).splitlines()
    assert sum("Revolute" in line for line in lines) == 1200
    assert max(len(line) for line in lines) < 250
    assert len(pickle.loads(pickle.dumps(chain)).joints) == 1200


def test_a_chain_of_more_bodies_than_python_recurses_is_traced(chain):
    """Its tip hangs where the lengths add up to, and moves with the first joint as a rigid rod does."""
    system = chain.compile(backend="casadi")
    assert system.nv == 1200
    x = system.state({"J1": 0.3}, {"J1": 2.0})
    np.testing.assert_allclose(system.pose(x, "tip")[:3, 3], [-1200 * np.sin(0.3), 0, -1200 * np.cos(0.3)], atol=1e-9)
    at = system.layout.tree.at(np.zeros(1200).astype(object))
    assert at.tree.common(1199, 700) == 700
    assert at.tree.path(1199, 1190) == list(range(1191, 1200))
    assert at.tree.common(0, 5) == 0
    assert at.tree.links[0].parent == ROOT


def test_a_tree_prints_its_branches_as_before():
    m = da.Mechanism("tree")
    bodies = {n: m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in "abcd"}
    for name, parent, child in (
        ("1", m.ground, "a"),
        ("2", bodies["a"], "b"),
        ("3", bodies["a"], "c"),
        ("4", m.ground, "d"),
    ):
        m.add_joint(name, da.Revolute("z"), parent, bodies[child])
    shown = [line.partition(":")[0] for line in str(m).splitlines()[1:6]]
    assert shown == ["  ground", "  ├─ 1", "  │  ├─ 2", "  │  └─ 3", "  └─ 4"]


@pytest.mark.parametrize("seed", range(5))
def test_joints_wait_for_their_parents_and_keep_their_order_otherwise(seed):
    """Against the plain rule: again and again the first joint whose parent is placed."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("shuffled")
    parents = [int(rng.integers(-1, k)) if k else -1 for k in range(30)]
    bodies = [m.add_body(f"b{k}", mass=1.0, inertia=(1, 1, 1)) for k in range(30)]
    for k in rng.permutation(30):
        on = m.ground if parents[k] < 0 else bodies[parents[k]]
        m.add_joint(f"j{k}", da.Revolute("z"), on, bodies[k])
    placed, waiting, expected = {"ground"}, list(m.joints.values()), []
    while waiting:
        first = next(j for j in waiting if j.parent.body.name in placed)
        placed.add(first.child.body.name)
        expected.append(first)
        waiting.remove(first)
    assert _parents_first(list(m.bodies.values()), list(m.joints.values())) == expected


def test_a_run_of_many_loops_and_its_verdict_need_no_dense_rows():
    """A of a ladder of N loops has 2 N (2 N + 1) entries, of which 10 N are not zero."""
    system = zoo.ladder(15).compile(backend="casadi")
    run = da.simulate(system, system.state(*zoo.ladder_start(15, -np.pi / 2, 4.0)), 0.05)
    assert run.success
    asked = {key[0] for key in system.kernels.compiled}
    assert "residuals" in asked
    assert not asked & {"constraints", "constrained", "mass_matrix"}
    x = run.state(-1)
    phi, A, b = system.evaluate("constraints", x)
    np.testing.assert_allclose(system.residuals(x), phi, rtol=0, atol=1e-14)
    np.testing.assert_allclose(system.speed_residuals(x.replace(v=x.v + 1.0)), A @ (x.v + 1.0) + b, atol=1e-12)
