"""Equations solved in loops over dense matrices, as rings of loops need them, against straight-line elimination."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.rank import usual_sizes
from dalembert.system import rows


@pytest.fixture
def in_loops(monkeypatch):
    """Every mechanism counts as dense."""
    monkeypatch.setattr(rows, "DENSE", -1.0)


def hoberman(cells, size=1.0):
    """A Hoberman ring, its first angulated bar at rest: one freedom, 2n − 1 velocities, 2n + 2 rows, four redundant."""
    turn, arm = 2.0 * np.pi / cells, size * 3.0 / cells
    m = da.Mechanism(f"ring of {cells}", gravity=(0, 0, 0))

    def ends(side):
        angle = side * (turn - np.pi)
        return (arm, 0, 0), (arm * np.cos(angle), arm * np.sin(angle), 0)

    def bar(name, side):
        com = tuple(sum(x) / 3 for x in zip(*ends(side)))
        return m.add_body(name, mass=0.2, com=com, inertia=[k * 1e-4 * size**2 for k in (1, 1, 2)])

    A = [m.ground, *(bar(f"A{i}", 1) for i in range(1, cells))]
    B = [bar(f"B{i}", -1) for i in range(cells)]
    inner = {1: [a.at(*ends(1)[0]) for a in A], -1: [b.at(*ends(-1)[0]) for b in B]}
    outer = {1: [a.at(*ends(1)[1]) for a in A], -1: [b.at(*ends(-1)[1]) for b in B]}
    m.add_joint("b0", da.Revolute("z"), A[0], B[0])
    for i in range(1, cells):
        m.add_joint(f"a{i}", da.Revolute("z"), inner[-1][i - 1], inner[1][i])
        m.add_joint(f"b{i}", da.Revolute("z"), outer[1][i - 1], outer[-1][i])
        m.close_loop(f"mid{i}", da.Revolute("z"), A[i], B[i])
    m.close_loop("outer", da.Revolute("z"), outer[1][-1], outer[-1][0])
    m.close_loop("inner", da.Revolute("z"), inner[-1][-1], inner[1][0])
    return m


def opened(cells, angle):
    """The closed form: every coordinate of the ring opened by an angle."""
    turn = 2.0 * np.pi / cells
    a = [i * turn + np.pi - turn / 2 + angle for i in range(cells)]
    b = [i * turn - (np.pi - turn / 2 + angle) for i in range(cells)]

    def wrapped(x):
        return (x + np.pi) % (2.0 * np.pi) - np.pi

    q = {"b0": wrapped(b[0] - a[0])}
    for i in range(1, cells):
        q |= {f"a{i}": wrapped(a[i] - b[i - 1]), f"b{i}": wrapped(b[i] - a[i - 1])}
    return q


@pytest.mark.parametrize(("cells", "size"), [(12, 1.0), (14, 1e-3)])
def test_a_ring_opens_evenly_all_around(cells, size):
    """All of its joints turn at ±2β̇, whichever they are, and its energy does not change."""
    system = hoberman(cells, size).compile()
    assert system.rows.dense
    x = system.assemble(opened(cells, 0.5), v={"b0": 0.3})
    run = da.simulate(system, x, 1.0)
    assert run.success
    assert abs(run.energy - run.energy[0]).max() <= 1e-9 * run.energy[0]
    beta = 0.5 - 0.5 * (run["b0"][-1] - x["b0"])
    for name, angle in opened(cells, beta).items():
        assert abs(np.sin(0.5 * (run[name][-1] - angle))) <= 1e-9, name
    assert np.abs(system.residuals(run.state())).max() <= 1e-13 * size


def moving(name):
    """A mechanism and a start: redundant rows, quaternions, rolling, a driver."""
    if name == "driven":
        m = zoo.five_bar()
        m.add_driver("crank", "A", lambda t: 0.8 + 0.4 * t)
        system = m.compile()
        return system, system.assemble({"D": 1.9}, guess={"A": 0.8, "D": 1.9})
    system = getattr(zoo, name)().compile()
    x = system.assemble()
    rng = np.random.default_rng(5)
    return system, system.project(x.replace(v=rng.normal(size=system.nv) * 0.3))


@pytest.mark.parametrize("name", ["five_bar", "sarrus", "bennett", "stewart", "rolling_disc", "driven"])
def test_a_motion_is_the_same_whichever_way_its_equations_are_solved(name, monkeypatch):
    system, x = moving(name)
    usual = da.simulate(system, x, 0.3, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr(rows, "DENSE", -1.0)
    system, x = moving(name)
    run = da.simulate(system, x, 0.3, rtol=1e-10, atol=1e-12)
    assert run.success
    assert usual.success
    scale = 1.0 + np.abs(usual.v).max()
    assert np.abs(run.q[-1] - usual.q[-1]).max() <= 1e-8
    assert np.abs(run.v[-1] - usual.v[-1]).max() <= 1e-8 * scale


@pytest.mark.parametrize("name", ["five_bar", "sarrus", "stewart", "rolling_disc"])
def test_usual_lengths_of_rows_do_not_depend_on_the_way(name, in_loops, monkeypatch):
    system = getattr(zoo, name)().compile()
    p = system.arguments.parameter_vector(None)[None]
    dense = usual_sizes(system, p)
    monkeypatch.setattr(rows, "DENSE", np.inf)
    for ours, theirs in zip(dense, usual_sizes(system, p)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
