"""Positions that taut ropes lock to second order: rigid, though the ropes alone leave a velocity free."""

import numpy as np
import pytest

import dalembert as da


def bead(between=2.0, length=1.0):
    """A bead on two ropes in line, from posts that are `between` apart."""
    m = da.Mechanism("bead on two ropes", gravity=(0, -9.81, 0))
    slider, one = m.add_body("slider", mass=0.1), m.add_body("bead", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("y", da.Prismatic("y"), slider, one)
    m.add_rope("left", [m.ground.at(-0.5 * between, 0, 0), one], length=length)
    m.add_rope("right", [m.ground.at(0.5 * between, 0, 0), one], length=length)
    return m.compile()


def prism(turn=150.0):
    """Three struts on the ground, their heads held by six ropes that are exactly taut."""
    radius, height, angles = 0.3, 0.5, 2.0 * np.pi * np.arange(3) / 3
    feet = np.stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles], axis=1)
    angles = angles + np.radians(turn)
    heads = np.stack([radius * np.cos(angles), radius * np.sin(angles), height + 0 * angles], axis=1)
    m, tips = da.Mechanism("prism", gravity=(0, 0, -9.81)), []
    for i in range(3):
        along = heads[i] - feet[i]
        length = np.linalg.norm(along)
        z = along / length
        y = np.cross(z, [1, 0, 0.1])
        y /= np.linalg.norm(y)
        strut = m.add_body(f"strut{i}", mass=1.0, com=(0, 0, length / 2), inertia=da.rod_inertia(1.0, length, axis="z"))
        foot = m.ground.at(*feet[i], rotation=np.column_stack([np.cross(y, z), y, z]))
        m.add_joint(f"foot{i}", da.Universal("x", "y"), foot, strut)
        tips.append(strut.at(0, 0, length))
    for i in range(3):
        j = (i + 1) % 3
        m.add_rope(f"top{i}", [tips[i], tips[j]], length=np.linalg.norm(heads[i] - heads[j]))
        m.add_rope(f"side{i}", [tips[i], m.ground.at(*feet[j])], length=np.linalg.norm(heads[i] - feet[j]))
    return m.compile()


@pytest.mark.parametrize("speed", [0.0, -0.5])
def test_a_bead_on_two_ropes_in_line_stays_and_loses_its_speed(speed):
    """The distance to a post grows with every motion across: ropes without play leave none."""
    system = bead()
    run = da.simulate(system, system.state(v={"y": speed}), 1.0)
    assert run.success, run.message
    assert np.abs(run.q).max() == 0.0
    assert np.abs(run.v[-1]).max() == 0.0
    assert np.abs(run.energy_error).max() <= 1e-12
    assert any("lock" in w for p in run.phases for w in p.remarks)


@pytest.mark.parametrize("rates", [{}, {"foot0.first": -0.5, "foot1.second": 0.4}])
def test_a_prism_of_tensegrity_that_is_exactly_taut_stands(rates):
    """At 150° the ropes at its sides are shortest: any twist would need longer ones."""
    system = prism()
    run = da.simulate(system, system.state(v=rates), 1.0)
    assert run.success, run.message
    assert np.abs(run.q - run.q[0]).max() <= 1e-12
    assert np.abs(run.v[-1]).max() == 0.0


def test_where_ropes_are_not_shortest_nothing_is_locked():
    """A prism at 140° twists down; a bead on ropes with play falls to y = −√(1 − (d/2)²), and stops there."""
    system = prism(140.0)
    run = da.simulate(system, system.state(), 0.02)
    assert np.abs(run.q[-1] - run.q[0]).max() > 1e-4
    system = bead(between=1.6)
    run = da.simulate(system, system.state(), 2.0)
    assert run.success, run.message
    assert run.state()["y"] == pytest.approx(-0.6, abs=1e-9)
