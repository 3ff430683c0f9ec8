"""Modes of live pages against the library's linear model, at a position with the mobility of the start."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.live.contents import SLOW
from live_in_node import page

#: a redundant loop; rolling wheels, with more positions than velocities
NAMES = ("bennett", "car")


def agrees(system, x, data):
    """One mode for each eigenvalue of the linear model, a pair counting once; each moves as constraints allow."""
    modes, at = data["modes"]["list"], system.state(data["modes"]["q"])
    assert system.report(at).rank == system.report(x).generic_rank
    expected = da.linearize(system, at).eigenvalues
    kept = [z for z in expected if abs(z) >= SLOW and z.imag >= 0]
    found = [complex(m["real"], m["imag"]) for m in modes]
    assert len(found) == len(kept)
    scale = max(map(abs, kept), default=1.0)
    for z in kept:
        assert min(abs(z - w) for w in found) < 1e-6 * scale
    A = system.constraint_matrix(at)
    for m in modes:
        shape = np.array(m["re"]) + 1j * np.array(m["im"])
        assert np.abs(A @ shape).max(initial=0.0) < 1e-8 * np.abs(A).max(initial=1.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_lists_the_modes_of_the_linear_model(name):
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    x = system.state(*entry.start())
    agrees(system, x, page(system, x, modes=True))


def test_a_scissor_does_not_swing_about_its_folded_position():
    """Folded, its crossed arms lie on each other and turn as one: more motions than the lift has, on another branch."""
    m = da.Mechanism("scissor", gravity=(0, -9.81, 0))
    arm = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0, 1 / 12, 1 / 12)}
    up, down = (m.add_body(n, **arm) for n in ("up", "down"))
    top = m.add_body("top", mass=3.0, com=(0.5, 0, 0), inertia=(0, 0.2, 0.2))
    m.add_joint("A", da.Revolute("z"), m.ground, up)
    m.add_joint("M", da.Revolute("z"), up.at(0.5, 0, 0), down.at(0.5, 0, 0))
    m.add_joint("L", da.Revolute("z"), down, top)
    m.add_point_on_line("foot", down.at(1.0, 0, 0), m.ground, "x")
    m.add_point_on_line("roller", up.at(1.0, 0, 0), top, "x")
    system = m.compile()
    x = system.assemble({"A": 0.5}, guess={"M": -1.0, "L": 0.5})
    assert system.report(x).mobility == 1
    fold = system.assemble({"A": -np.pi / 2}, guess={"M": np.pi, "L": -np.pi / 2})
    assert system.report(fold).mobility > 1
    data = page(system, x, modes=True)
    assert len(data["modes"]["list"]) == 1
    agrees(system, x, data)
