"""Ropes, dry friction and events in singular positions and beside them, against motions along the branch in one angle.

I θ̈ = Q(θ̇) + V(θ),   Q = −f sign θ̇ of dry friction in the crank's joint
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_stops_beside_positions import along_the_branch

import dalembert as da

PULL = {"up": (0.5, 4.0), "aside": (-1.5, 0.5)}
ANCHOR = np.array([-0.3, 1.5])


@cache
def cranks(gravity, friction=0.0, rope=None):
    """A parallelogram, in line at θ = 0, and θ̈ of θ, θ̇ and a moment on its first crank."""
    m = da.Mechanism("cranks", gravity=(*gravity, 0))
    bar = lambda name, l: m.add_body(name, mass=l, com=(0.4 * l, 0, 0), inertia=(0.1 * l,) * 3)  # noqa: E731
    first, coupler, last = bar("a0", 0.8), bar("c", 1.1), bar("a1", 0.8)
    m.add_joint("A0", da.Revolute("z"), m.ground, first, **({"friction": friction} if friction else {}))
    m.add_joint("B", da.Revolute("z"), first.at(0.8), coupler)
    m.add_joint("A1", da.Revolute("z"), m.ground.at(1.1), last)
    m.close_loop("C", da.Revolute("z"), coupler.at(1.1), last.at(0.8))
    if rope is not None:
        m.add_rope("R", [m.ground.at(*ANCHOR), first.at(0.8)], length=rope[0], restitution=rope[1])
    inertia, moment = 2 * (0.08 + 0.8 * 0.32**2) + 1.1 * 0.64, 2 * 0.8 * 0.32 + 1.1 * 0.8
    x, y = gravity

    def turning(angle, moment_on_it=0.0):
        return (moment_on_it + moment * (y * np.cos(angle) - x * np.sin(angle))) / inertia

    return m.compile(), turning


def state(system, angle, speed):
    signs = {"A0": 1.0, "B": -1.0, "A1": 1.0}
    return system.state({n: s * angle for n, s in signs.items()}, {n: s * speed for n, s in signs.items()})


def error(run, angle, speed):
    there = state(run.system, angle, speed)
    return max(np.abs(run.q[-1] - there.q).max(), np.abs(run.v[-1] - there.v).max())


def moved(rates, z, time):
    return solve_ivp(rates, (0.0, time), z, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]


@pytest.mark.parametrize("off", [0.0, 1e-12, -1e-9, 1e-7, -1e-6, 1e-5, -1e-4, 1e-3, -1e-2])
@pytest.mark.parametrize(("pull", "friction"), [("up", 3.0), ("up", 8.0), ("aside", 0.3)])
def test_dry_friction_that_turns_or_holds_beside_a_position(pull, friction, off):
    """The crank comes to rest at θ = off after 0.2 s, sticks there or turns back along its branch: right to 1e-8."""
    system, turning = cranks(PULL[pull], friction)
    rest = np.array([off, 0.0])
    x = moved(lambda t, z: [-z[1], -turning(z[0], friction)], rest, 0.2)
    held = abs(turning(off)) <= turning(off, friction) - turning(off)
    end = rest if held else moved(lambda t, z: [z[1], turning(z[0], -friction)], rest, 0.15)
    run = da.simulate(system, state(system, *x), 0.35)
    assert run.success, run.message
    assert error(run, *end) < 1e-8
    if abs(off) <= 1e-7 or abs(off) >= 1e-5:
        assert all(p.determined for p in run.passages)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("off", [0.0, 1e-6, -1e-4])
def test_ropes_that_become_taut_beside_a_position(off, e):
    """Right to 1e-8, or said where the rope is taut within 1e-6 of the position."""
    tip = 0.8 * np.array([np.cos(off), np.sin(off)])
    length = float(np.linalg.norm(tip - ANCHOR))
    system, turning = cranks((0.5, 4.0), rope=(length, e))
    end = along_the_branch(lambda t, z: [z[1], turning(z[0])], off, e, [0.3, -2.5], 0.35)
    run = da.simulate(system, state(system, 0.3, -2.5), 0.35)
    assert run.success, run.message
    said = not all(p.determined for p in run.passages)
    assert error(run, *end) < 1e-8 or (said and abs(off) <= 1e-6)


def slider_crank():
    m = da.Mechanism("slider-crank", gravity=(2.0, -4.0, 0))
    one, two = m.add_body("crank", mass=1.0, com=(1, 0, 0)), m.add_body("rod", mass=1.0, com=(1, 0, 0))
    m.add_joint("A", da.Revolute("z"), m.ground, one)
    m.add_joint("B", da.Revolute("z"), one.at(1.0), two)
    m.add_point_on_line("C", m.add_frame("tip", two.at(1.0)), m.ground.at(), "x")

    def rates(t, z):  # masses at (cos, sin) and (2 cos, 0): I = 1 + 4 sin²
        s, c = np.sin(z[0]), np.cos(z[0])
        return [z[1], (-6.0 * s - 4.0 * c - 4.0 * s * c * z[1] ** 2) / (1.0 + 4.0 * s * s)]

    return m.compile(), rates


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9, 1e-10, 1e-11])
def test_events_in_a_step_that_leads_over_a_position_are_as_exact_as_the_step(rtol):
    """In the position, and 1e-9 … 3e-2 rad before and behind it. Behind it, steps back from the end of the step tell.

    At rtol 1e-9 one behind it came 5e-8 s late: it was read off a curve through records around the position.
    """
    system, rates = slider_crank()
    flat, x = np.pi / 2, [np.pi / 2 + 0.3, -2.5]
    start = system.state({"A": x[0], "B": -2 * x[0]}, {"A": x[1], "B": -2 * x[1]})
    places = [flat + s * d for d in (0.0, 1e-9, 1e-6, 1e-4, 1e-2, 3e-2) for s in (1.0, -1.0)]
    due = solve_ivp(
        rates, (0.0, 0.35), x, "DOP853", rtol=1e-13, atol=1e-15, events=[lambda t, z, a=a: z[0] - a for a in places]
    ).t_events
    events = {str(k): (lambda t, s, a=a: s["A"] - a) for k, a in enumerate(places)}
    run = da.simulate(system, start, 0.35, rtol=rtol, atol=0.1 * rtol, events=events)
    for k, times in enumerate(due):
        np.testing.assert_allclose(run.t_events[str(k)], times, rtol=0, atol=1e-9 + rtol)
