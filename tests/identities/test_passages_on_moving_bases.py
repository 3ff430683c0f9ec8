"""Singular positions of mechanisms that stand on something: nothing of it may hide them, or change how they are passed.

On a base that moves at constant velocity, by a driver or a kinematic input, the motion is that on the ground (Galilei).
"""

from functools import cache

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

LENGTHS, SPAN = {"A": 1.0, "B": 0.7, "C": 1.3, "D": 0.8}, 1.0 + 0.7 + 1.3 - 0.8  # flat with D folded back
SPEED = 0.7  # m/s, of the base
KINDS = [("driver", False, False), ("lead", False, False), ("ground", True, False), ("lead", True, True)]


@cache
def five_bar(base, before=False, twice=False):
    """A five-bar with a flat position on a base; before: a pendulum comes first; twice: its loop is closed twice."""
    m = da.Mechanism(f"five-bar on {base}", gravity=(0, -9.81, 0))
    if before:
        bob = m.add_body("bob", mass=1.0, com=(0.5, 0, 0))
        m.add_joint("P", da.Revolute("z"), m.ground.at(0, 5, 0), bob)
    stand = m.ground
    if base != "ground":
        stand = m.add_body("base", mass=4.0, inertia=(1, 1, 1))
        m.add_joint("base", da.Prismatic((0.6, 0.8, 0)), m.ground, stand)
        if base == "driver":
            m.add_driver("drive", "base", lambda t: SPEED * t)
        else:
            m.add_kinematic_input("lead", "base")
    last = stand.at()
    for name, length in LENGTHS.items():
        link = m.add_body(f"link {name}", mass=length, com=(length / 2, 0, 0), inertia=da.rod_inertia(length, length))
        m.add_joint(name, da.Revolute("z"), last, link)
        last = link.at(length)
    m.close_loop("E", da.Revolute("z"), last, stand.at(SPAN))
    if twice:
        m.close_loop("E again", da.Revolute("z"), last, stand.at(SPAN))
    return m.compile()


def beside(miss, seed, speed=2.0):
    """A state of the five-bar on the ground, a distance beside its flat position, with a velocity that motions have."""
    system, rng = five_bar("ground"), np.random.default_rng(seed)
    flat = system.state({"D": np.pi})
    aside = system.subspaces(flat).P @ rng.standard_normal(4)  # projectors are unique, bases are the machine's
    x = system.project(flat.replace(q=flat.q + miss * aside / np.abs(aside).max()))
    v = system.subspaces(x).P @ rng.standard_normal(4)
    return system.project(x.replace(v=speed * v / np.abs(v).max()))


def towards(miss, seed, time=0.1):
    """A start from which the motion passes the state of `beside` after a time."""
    system, x = five_bar("ground"), beside(miss, seed)
    back = da.simulate(system, x.replace(v=-x.v), time, rtol=1e-12, atol=1e-13)
    return system.project(system.state(back.q[-1], -back.v[-1]))


def placed(system, x):
    """A state of the five-bar on the ground, on another base that moves."""
    q, v = dict(zip(LENGTHS, x.q)), dict(zip(LENGTHS, x.v))
    return system.state(q, v | ({"base": SPEED} if "base" in system.q_names else {}))


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("miss", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_motion_and_its_passages_are_those_on_the_ground(kind, miss, rtol):
    system, x = five_bar(*kind), towards(miss, seed=int(-np.log10(miss)))
    ground = da.simulate(five_bar("ground"), x, 0.25, rtol=1e-11, atol=1e-12)
    run = da.simulate(system, placed(system, x), 0.25, rtol=rtol, atol=0.1 * rtol)
    assert run.success, run.message
    near = [p for p in ground.passages if p.distance < miss]
    assert near
    assert all(p.determined for p in near)
    if not all(p.determined for p in run.passages):
        assert miss < 300 * rtol  # too coarse to tell
        return
    for expected in near:
        found = min(run.passages, key=lambda p: abs(p.nearest - expected.nearest))
        assert found.nearest == pytest.approx(expected.nearest, abs=1e3 * rtol)
        assert set(found.rows) <= {"E.x", "E again.x"}
    for name in LENGTHS:
        assert run[name][-1] == pytest.approx(ground[name][-1], abs=1e3 * rtol)


@pytest.mark.parametrize("base", ["ground", "driver", "lead"])
@pytest.mark.parametrize("seed", range(6))
def test_a_start_beside_a_flat_position_keeps_its_energy_and_claims_no_more_than_it_knows(base, seed):
    """Also nearer than doubles tell, where the velocity is not one of motions through the position itself."""
    system, miss = five_bar(base), 10.0 ** -(4 + seed)
    x = placed(system, beside(miss, seed))
    run, finer = (da.simulate(system, x, 0.2, rtol=rtol, atol=0.1 * rtol) for rtol in (1e-9, 1e-11))
    for r in (run, finer):
        assert r.success, r.message
        assert np.abs(r.energy_error).max() < 1e-7  # J; 1.1e-4 where the start is not that of the motion
        assert r.steps < 2000
    if all(p.determined for p in (*run.passages, *finer.passages)):
        np.testing.assert_allclose(run.q[-1], finer.q[-1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("miss", [1e-5, 1e-3])
def test_a_passage_in_a_phase_is_that_of_a_run_without_phases(miss):
    """A pendulum beside the five-bar is released on the way."""
    m = zoo.five_bar()
    m.add_joint("P", da.Revolute("z"), m.ground.at(0, 5, 0), m.add_body("bob", mass=1.0, com=(0.5, 0, 0)))
    m.add_driver("hand", "P", lambda t: 0.0 * t)
    alone, system = zoo.five_bar().compile(), m.compile()
    x = alone.state(*zoo.five_bar_start())
    aside = alone.subspaces(x).K @ [1, 0.37]
    x = alone.project(x.replace(q=x.q + miss * aside / np.abs(aside).max()))
    expected = da.simulate(alone, x, 1.0)
    start = system.state(dict(zip("ABCD", x.q)), dict(zip("ABCD", x.v)))
    run = da.simulate(system, start, 1.0, switches=da.Switch(open="hand", at=0.3))
    assert run.success, run.message
    assert [p.determined for p in run.passages] == [p.determined for p in expected.passages] == [True]
    assert run.passages[0].nearest == pytest.approx(expected.passages[0].nearest, abs=1e-8)
    for k, name in enumerate("ABCD"):
        assert run[name][-1] == pytest.approx(expected.q[-1, k], abs=1e-7)


def test_velocities_that_no_motion_has_lead_nowhere():
    """In the flat position itself, to first order all right."""
    system = zoo.ladder(1).compile()
    flat = system.state()
    K = system.subspaces(flat).K
    for y in ([1.0, 0.3], [0.2, 1.0]):
        run = da.simulate(system, flat.replace(v=K @ y), 0.1)
        on_branch = np.isclose(run.system.acceleration(flat.replace(v=K @ y)).residual, 0.0, atol=1e-9)
        assert on_branch or not run.success
        assert run.success or "no motion leads" in run.message
