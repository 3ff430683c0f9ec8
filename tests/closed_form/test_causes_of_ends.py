"""Runs that cannot go on: each names its cause, at once, at any scale and by any method."""

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo

METHODS = {
    "dop853": {},
    "sdirk4": {"method": "sdirk4"},
    "rk4": {"method": "rk4", "step": 1e-3},
    "tangent": {"coordinates": "tangent"},
    "energy": {"stabilization": "energy"},
    "none": {"stabilization": "none"},
}


def driven_four_bar(L):
    """Its rocker is led beyond the angle at which coupler and crank are folded."""
    m = da.Mechanism("four-bar", gravity=(0, -9.81 * L, 0))
    crank, coupler, rocker = (
        m.add_body(name, mass=1.0, com=(length * L / 2, 0, 0), inertia=da.rod_inertia(1.0, length * L))
        for name, length in {"crank": 0.5, "coupler": 1.2, "rocker": 1.0}.items()
    )
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.5 * L), coupler)
    m.add_joint("D", da.Revolute("z"), m.ground.at(L), rocker)
    m.close_loop("C", da.Revolute("z"), coupler.at(1.2 * L), rocker.at(L))
    m.add_driver("m", "D", lambda t: 1.2 + t)
    return m.compile()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("L", [1e-3, 1.0, 1e3])
def test_a_driver_led_past_a_dead_point_is_named(L, name):
    """Folded, the rocker's end is (1.2 − 0.5) L from A: 0.7² = 2 + 2 cos D."""
    dead = np.arccos((0.7**2 - 2) / 2)
    system = driven_four_bar(L)
    x = system.assemble({"D": 1.2}, v={"D": 1.0}, guess={"A": 1.0, "B": -0.5})
    run = da.simulate(system, x, 3.0, **METHODS[name])
    assert not run.success
    assert run.t[-1] == pytest.approx(dead - 1.2, abs=2e-3)
    assert "driver 'm' leads D to 2.42" in run.message


@pytest.mark.parametrize("name", ["dop853", "sdirk4", "rk4", "tangent"])
@pytest.mark.parametrize("speed", [0.3, 0.05])
def test_a_disc_that_falls_flat_is_named(speed, name):
    system = zoo.rolling_disc().compile()
    upright = system.state(*zoo.rolling_disc_start())
    x = system.project(upright.replace(v=np.array([speed, 0, 0, 0, 0, 0])))
    run = da.simulate(system, x, 2.0, **METHODS[name])
    assert not run.success
    assert "'ground contact' has no direction" in run.message
    assert run.steps < 30_000


@pytest.mark.parametrize("name", ["dop853", "sdirk4", "rk4"])
def test_a_motion_that_runs_away_is_named(name):
    """ẍ = 3 x³ + 10 x is infinite after 0.696 s: t = ∫₁^∞ dx / √(1.5 (x⁴ − 1) + 10 (x² − 1))."""
    m = da.Mechanism("away")
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("b", mass=1.0))
    m.add_joint_force("f", "x", lambda s: 3 * s["x"] ** 3 + 10 * s["x"])
    run = da.simulate(m.compile(), {"x": 1.0}, 20.0, **METHODS[name])
    assert run.t[-1] == pytest.approx(0.6964, abs=2e-3)
    assert "the velocity of x has grown" in run.message
    assert ("sdirk4" in run.message) == (name == "dop853")
