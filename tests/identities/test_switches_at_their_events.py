"""Switches by events: each happens once at a root of its event, whatever rounding makes of it."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import AssemblyError
from dalembert.simulation.status import Status


def slide(motor, inertia=0.1, start=lambda t: 1.0 - t):
    """A bead that slides outwards or inwards on an arm, which a driver holds."""
    m = da.Mechanism("slide", gravity=(0, 0, 0))
    arm = m.add_body("arm", mass=inertia, inertia=(inertia, inertia, inertia))
    bead = m.add_body("bead", mass=1.0, inertia=(inertia, inertia, inertia))
    m.add_joint("turn", da.Revolute("z"), m.ground, arm)
    m.add_joint("r", da.Prismatic("x"), arm, bead)
    m.add_driver("hold", "turn", lambda t: 0.0 * t)
    m.add_driver("push", "r", start)
    if motor:
        m.add_motor("u", "turn")
    return m.compile()


@pytest.mark.parametrize("motor", [False, True])
@pytest.mark.parametrize("native", [False, True])
def test_an_event_whose_root_is_reached_to_rounding_switches_once(motor, native):
    """At a constant speed a step ends just before the root as often as behind it."""
    system = slide(motor)
    x = system.assemble(guess={"r": 1.0})
    for level in np.random.default_rng(3).uniform(0.0, 0.9, 8):

        def below(t, s, level=level):
            return s["r"] - level

        switch = da.Switch(open="hold", when=da.Event(da.expression(below) if native else below, direction=-1))
        run = da.simulate(system, x, 1.0, switches=switch)
        assert run.status == Status.DONE, run.message
        assert [s.what for s in run.switches] == ["hold opened"]
        assert run.switches[0].t == pytest.approx(1.0 - level, abs=1e-12)


def test_a_switch_may_happen_at_every_crossing():
    """A bead led to and fro: a switch opens what another has closed, each time; once=True, the first time only."""
    system = slide(False, start=lambda t: ca.cos(2.0 * np.pi * t))
    x = system.assemble(guess={"r": 1.0})
    switches = [
        da.Switch(open="hold", when=da.Event(lambda t, s: s["r"], direction=-1)),
        da.Switch(close="hold", when=da.Event(lambda t, s: s["r"], direction=1)),
    ]
    run = da.simulate(system, x, 3.0, switches=switches)
    assert run.status == Status.DONE, run.message
    assert [s.what for s in run.switches] == ["hold opened", "hold closed"] * 3
    np.testing.assert_allclose([s.t for s in run.switches], np.arange(6) / 2 + 0.25, atol=1e-8)
    once = [da.Switch(open=s.open, close=s.close, when=s.when, once=True) for s in switches]
    run = da.simulate(system, x, 3.0, switches=once)
    assert [s.what for s in run.switches] == ["hold opened", "hold closed"]


@pytest.mark.parametrize("native", [False, True])
def test_an_event_that_is_also_that_of_a_switch_is_reported(native):
    """At every crossing, as in a run without switches, and no crossing twice."""
    system = slide(False, start=lambda t: ca.cos(2.0 * np.pi * t))
    x = system.assemble(guess={"r": 1.0})

    def level(t, s):
        return s["r"] - 0.3

    g = da.Event(da.expression(level) if native else level, direction=-1)
    plain = da.simulate(system, x, 3.0, events={"down": g}).t_events["down"]
    assert len(plain) == 3
    for switch in (da.Switch(open="hold", when=g), da.Switch(open="hold", at=float(plain[1]))):
        run = da.simulate(system, x, 3.0, switches=switch, events={"down": g})
        np.testing.assert_allclose(run.t_events["down"], plain, atol=1e-8)
        np.testing.assert_allclose(run.x_events["down"][:, 1], 0.3, atol=1e-8)


def test_an_event_at_the_time_of_an_impact_is_reported():
    """A ball falls from 5 m, g = 10 m/s²: its height is zero where it hits the floor."""
    m = da.Mechanism("ball", gravity=(0, 0, -10.0))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
    m.add_contact("floor", "ball", restitution=0.5)
    run = da.simulate(m.compile(), {"z": 5.0}, 2.6, events={"height": da.expression(lambda t, s: s["z"])})
    np.testing.assert_allclose(run.t_events["height"], [1.0, 2.0, 2.5], atol=1e-9)
    ended = {"height": da.Event(da.expression(lambda t, s: s["z"]), terminal=True)}
    stopped = da.simulate(m.compile(), {"z": 5.0}, 2.6, events=ended)
    assert stopped.status == Status.EVENT
    assert "'height'" in stopped.message
    assert stopped.t[-1] == pytest.approx(1.0, abs=1e-9)


def test_switches_of_one_event_act_together():
    system = slide(False)
    x, g = system.assemble(guess={"r": 1.0}), da.Event(lambda t, s: s["r"] - 0.4, direction=-1)
    run = da.simulate(system, x, 1.0, switches=[da.Switch(open="hold", when=g), da.Switch(open="push", when=g)])
    assert [s.what for s in run.switches] == ["hold opened", "push opened"]
    np.testing.assert_allclose([s.t for s in run.switches], 0.6, atol=1e-9)


def test_a_mass_matrix_that_becomes_singular_ends_the_run_with_a_sentence():
    """A bead without inertia in the axis of an arm without mass: the arm's turn moves nothing there."""
    system = slide(False, inertia=0.0)
    run = da.simulate(system, system.assemble(guess={"r": 1.0}), 2.0, switches=da.Switch(open="hold", at=1.0))
    assert run.status == Status.NOT_FINITE
    assert run.t[-1] == pytest.approx(1.0, abs=1e-7)  # the inertia of the turn falls as (1 − t)²: 1e-14 is rounding
    assert len(run.t) > 2
    assert "velocity 'turn' moves no mass" in run.message
    with pytest.raises(AssemblyError, match="moves no mass"):
        system.assemble(guess={"r": 0.0}, t=1.0)


@pytest.mark.parametrize("speed", [0.0, 1e-15, 1e-12, 1e-11])
def test_a_start_on_the_floor_to_rounding_is_no_impact(speed):
    m = da.Mechanism("box", gravity=(0, 0, -9.81))
    m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("box", mass=1.0))
    m.add_contact("floor", "box", radius=0.2, restitution=0.5)
    system = m.compile()
    run = da.simulate(system, system.state({"z": 0.2}, {"z": -speed}), 0.1)
    assert not run.switches
    np.testing.assert_allclose(run.multiplier("floor.gap"), 9.81, rtol=1e-9)
