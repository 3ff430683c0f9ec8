"""Cranks that stay parallel: one and two parallelograms with unequal masses, as a pendulum in closed form.

Couplers translate, so T = ½ J θ̇² with a constant J and V is that of two first moments. In θ = 0 all bars lie in line
and every loop has a second branch. `motions` are cases that meet this position, end beside it, or start there.
"""

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

GRAVITY = (1.5, -9.0)
BESIDE = (1e-12, 1e-9, 1e-6)  # rad: starts
ENDS = (-1e-3, -1e-4, -1e-5, -1e-6, 0.0, 1e-6, 1e-5, 1e-4, 1e-3)  # s from the position


@cache
def built(mechanism):
    """The compiled mechanism, the sign of each joint angle over θ, and θ̈ as a function of θ."""
    m, z = da.Mechanism(mechanism, gravity=(*GRAVITY, 0)), da.Revolute("z")
    inertia, along, across = 0.0, 0.0, 0.0

    def bar(name, mass, com, own, radius=None):
        """A crank, or with the radius of its circle a coupler."""
        nonlocal inertia, along, across
        inertia += own + mass * (com[0] ** 2 + com[1] ** 2) if radius is None else mass * radius**2
        along += mass * (com[0] if radius is None else radius)
        across += mass * (com[1] if radius is None else 0.0)
        return m.add_body(name, mass=mass, com=(*com, 0), inertia=(own,) * 3)

    if mechanism == "parallelogram":
        a, c, b = bar("a", 1.0, (0.3, 0), 0.1), bar("c", 2.0, (0.5, 0.1), 0.2, 0.7), bar("b", 0.6, (0.35, 0.05), 0.05)
        m.add_joint("A", z, m.ground, a)
        m.add_joint("C", z, a.at(0.7), c)
        m.add_joint("B", z, m.ground.at(1.3), b)
        m.close_loop("D", z, c.at(1.3), b.at(0.7))
    else:
        a, c, b = bar("a", 1.0, (0.3, 0), 0.05), bar("c", 1.5, (0.5, 0.05), 0.2, 0.6), bar("b", 0.8, (0.4, 0.02), 0.1)
        e, d = bar("e", 1.1, (0.45, 0), 0.1, 0.8), bar("d", 0.9, (0.4, 0), 0.08)
        m.add_joint("A", z, m.ground, a)
        m.add_joint("C", z, a.at(0.6), c)
        m.add_joint("B", z, m.ground.at(1.1), b)
        m.add_joint("E", z, b.at(0.8), e)
        m.add_joint("D", z, m.ground.at(2.0), d)
        m.close_loop("one", z, c.at(1.1), b.at(0.6))
        m.close_loop("two", z, e.at(2.0 - 1.1), d.at(0.8))
    system = m.compile()

    def acceleration(theta):
        c, s, (x, y) = np.cos(theta), np.sin(theta), GRAVITY
        return (along * (y * c - x * s) - across * (x * c + y * s)) / inertia

    return system, np.where(np.arange(system.nq) % 2, -1.0, 1.0), acceleration


def state(mechanism, theta, speed):
    system, signs, _ = built(mechanism)
    return system.state(signs * theta, signs * speed)


def moved(mechanism, theta, speed, time, stop=None):
    """θ, θ̇ and the time then: after a time, or where θ = 0."""
    acceleration = built(mechanism)[2]
    if stop is None and time == 0.0:
        return theta, speed, 0.0
    there = lambda t, y: y[0]  # noqa: E731
    there.terminal = True
    found = solve_ivp(
        lambda t, y: (y[1], acceleration(y[0])), (0.0, time), (theta, speed), "DOP853", rtol=1e-13, atol=1e-15,
        events=there if stop else None,
    )  # fmt: skip
    return *found.y[:, -1], found.t[-1]


@cache
def motions():
    """Cases: mechanism, miss (s from the position at the end, rad at the start), θ, θ̇ and duration, θ and θ̇ then."""
    out = []
    for mechanism in ("parallelogram", "two loops"):
        _, speed, time = moved(mechanism, 0.5, -4.0, 3.0, stop=True)
        for late in ENDS:
            duration = time + late
            end = moved(mechanism, 0.0, speed, late)[:2]
            out.append({"mechanism": mechanism, "miss": late, "start": (0.5, -4.0), "duration": duration, "end": end})
        for angle in (*BESIDE, *(-a for a in BESIDE)):
            end = moved(mechanism, angle, -2.0, 0.35)[:2]
            out.append({"mechanism": mechanism, "miss": angle, "start": (angle, -2.0), "duration": 0.35, "end": end})
    return out


def ran(case, rtol=1e-9, **options):
    """A run, and its error at the end: of positions, and of velocities over the largest of them."""
    system, signs, _ = built(case["mechanism"])
    run = da.simulate(
        system, state(case["mechanism"], *case["start"]), case["duration"], rtol=rtol, atol=0.1 * rtol, **options
    )
    assert run.success, (case["mechanism"], case["miss"], rtol, options, run.message)
    theta, speed = case["end"]
    return run, max(np.abs(run.q[-1] - signs * theta).max(), np.abs(run.v[-1] - signs * speed).max() / abs(speed))
