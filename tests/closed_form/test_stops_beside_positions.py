"""Stops in singular positions and beside them, against the motion along the branch in one angle, θ.

I(θ) θ̈ + ½ I′(θ) θ̇² + V′(θ) = 0,   θ ≥ stop,   θ̇⁺ = −e θ̇⁻
"""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

OFF = [0.0, *(s * 10.0**k for k in (-12, -10, -8, -7, -6, -5, -4, -3, -2) for s in (1.0, -1.0))]  # rad


def parallelogram(loops, gravity, stop, e):
    """Cranks side by side, coupled by bars; in line at θ = 0. Inertia, weights and the angles of all joints."""
    m = da.Mechanism("cranks", gravity=(*gravity, 0))
    bar = lambda name, l: m.add_body(name, mass=l, com=(0.4 * l, 0, 0), inertia=(0.1 * l,) * 3)  # noqa: E731
    before = bar("a0", 0.8)
    m.add_joint("A0", da.Revolute("z"), m.ground, before, limits=(stop, 3.0), stops=da.Stops(restitution=e))
    for k in range(1, loops + 1):
        coupler, crank = bar(f"c{k}", 1.1), bar(f"a{k}", 0.8)
        m.add_joint(f"B{k}", da.Revolute("z"), before.at(0.8), coupler)
        m.add_joint(f"A{k}", da.Revolute("z"), m.ground.at(1.1 * k), crank)
        m.close_loop(f"C{k}", da.Revolute("z"), coupler.at(1.1), crank.at(0.8))
        before = crank
    inertia = (loops + 1) * (0.08 + 0.8 * 0.32**2) + loops * 1.1 * 0.8**2
    moment = (loops + 1) * 0.8 * 0.32 + loops * 1.1 * 0.8
    angles = {"A0": 1.0} | {f"{n}{k}": s for k in range(1, loops + 1) for n, s in (("A", 1.0), ("B", -1.0))}
    x, y = gravity

    def rates(t, z):
        return [z[1], moment * (y * np.cos(z[0]) - x * np.sin(z[0])) / inertia]

    return m.compile(), angles, rates, 0.0


def slider_crank(_, gravity, stop, e):
    """Crank and rod of equal length, both masses at the ends of bars; the slider is over the crank's pivot at π/2."""
    m = da.Mechanism("slider-crank", gravity=(*gravity, 0))
    one, two = m.add_body("crank", mass=1.0, com=(1, 0, 0)), m.add_body("rod", mass=1.0, com=(1, 0, 0))
    flat = 0.5 * np.pi
    m.add_joint("A", da.Revolute("z"), m.ground, one, limits=(flat + stop, 3.0), stops=da.Stops(restitution=e))
    m.add_joint("B", da.Revolute("z"), one.at(1.0), two)
    m.add_point_on_line("C", m.add_frame("tip", two.at(1.0)), m.ground.at(), "x")
    x, y = gravity

    def rates(t, z):  # masses at (cos, sin) and (2 cos, 0): I = 1 + 4 sin²
        s, c = np.sin(z[0]), np.cos(z[0])
        return [z[1], (-3.0 * x * s + y * c - 4.0 * s * c * z[1] ** 2) / (1.0 + 4.0 * s * s)]

    return m.compile(), {"A": 1.0, "B": -2.0}, rates, flat


MECHANISMS = {"parallelogram": (parallelogram, 1), "two loops": (parallelogram, 2), "slider-crank": (slider_crank, 1)}
PRESSING = {  # gravity that holds the branch against its stop, and that draws it off again
    "parallelogram": {"in": (1.5, -4.0), "off": (-1.5, 0.5)},
    "two loops": {"in": (0.0, -4.0), "off": (0.3, 0.5)},
    "slider-crank": {"in": (2.0, -4.0), "off": (-1.5, -3.0)},
}


@cache
def made(name, gravity, stop, e):
    make, loops = MECHANISMS[name]
    return make(loops, gravity, stop, e)


def along_the_branch(rates, stop, e, x, duration):
    """θ and θ̇ at the end, bounce by bounce."""

    def gap(t, z):
        return z[0] - stop

    gap.terminal, gap.direction = True, -1
    t, z = 0.0, np.array(x)
    for _ in range(100):
        part = solve_ivp(rates, (t, duration), z, "DOP853", events=gap, rtol=1e-12, atol=1e-14)
        t, z = part.t[-1], part.y[:, -1]
        if part.status == 0:
            return z
        z = np.array([np.nextafter(stop, 4.0), -e * z[1]])
        if z[1] == 0.0 and rates(t, z)[1] <= 0.0:
            return np.array([stop, 0.0])
    raise AssertionError("bounces without end")


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("pressing", ["in", "off"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_stop_beside_a_singular_position_is_hit_and_left_along_the_branch(name, pressing, e):
    """Right to 1e-8, or a passage says that the impact leaves it open; held by its stop, the mechanism stays."""
    rng = np.random.default_rng([list(MECHANISMS).index(name), pressing == "in", int(2 * e)])
    for off in [0.0, *rng.choice(OFF[1:], 2, replace=False).tolist()]:
        system, angles, rates, flat = made(name, PRESSING[name][pressing], off, e)
        start, speed = flat + 0.3, -2.5
        x = system.state(*({n: s * z for n, s in angles.items()} for z in (start, speed)))
        run = da.simulate(system, x, 0.35)
        assert run.success, (off, run.message)
        theta, rate = along_the_branch(rates, flat + off, e, [start, speed], 0.35)
        assert any(s.kind == "hit" for s in run.switches)
        error = max(abs(run.v[-1][system.v_names.index(n)] - s * rate) for n, s in angles.items())
        error = max(error, abs(run[next(iter(angles))][-1] - theta))
        said = not all(p.determined for p in run.passages)
        if pressing == "in" and e == 0.0:
            assert not said
            assert abs(theta - flat - off) < 1e-15
        assert error < 1e-8 or (said and abs(off) < 1e-6), (off, error)
        if abs(off) >= 1e-5:
            assert not said, off
