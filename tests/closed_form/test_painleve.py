"""Painlevé's rod: the point where the equations of sliding are singular, and starts with two solutions."""

import numpy as np
import pytest

import dalembert as da

FRICTION, G = 1.6, 9.81  # above 8/(3√3): friction can press the rod on


@pytest.fixture(scope="module")
def system():
    """A rod of 2 m whose tip slides on a floor."""
    m = da.Mechanism("Painlevé's rod", gravity=(0, -G, 0))
    rod = m.add_body("rod", 1.0, (-1.0, 0, 0), da.rod_inertia(1.0, 2.0))
    m.add_joint("at", da.Planar("z"), m.ground, rod)
    m.add_contact("floor", rod, on=m.ground.at(rotation=da.rotation("x", -np.pi / 2)), friction=FRICTION)
    return m.compile()


def coefficients(run):
    """a and b of the gap's acceleration b + a N/m, by lean angle and turning speed."""
    lean, speed = -run["at.angle"], -run.rate("at.angle")
    s, c = np.sin(lean), np.cos(lean)
    return 1.0 + 3.0 * c * (c - FRICTION * s), speed**2 * s - G


@pytest.mark.parametrize("rtol", [1e-9, 1e-11])
def test_a_slide_into_the_singular_point_ends_there(system, rtol):
    """a and b vanish together; where a < 0 < b is not gone through in silence."""
    x = system.state({"at.angle": -np.radians(40)}, {"at.x": 30.0, "at.angle": -0.3})
    run = da.simulate(system, x, 0.3, rtol=rtol, atol=rtol)
    a, b = coefficients(run)
    assert run.status.name == "NO_FORCES"
    assert not run.success
    assert "singular point" in run.message
    assert abs(run.t[-1] - 0.0839370) < 1e-6
    assert a.min() > -1e-6
    assert abs(a[-1]) < 1e-5
    assert abs(b[-1]) < 1e-3


def test_a_start_with_two_solutions_is_reported(system):
    """With a < 0 < b the tip lifts off, or presses: a slide of less friction or another lean has one solution."""
    two = system.state({"at.angle": -np.radians(55)}, {"at.x": 30.0, "at.angle": -5.3})
    run = da.simulate(system, two, 0.01)
    a, b = coefficients(run)
    assert a[0] < 0.0 < b[0]
    assert run.success
    assert any("'floor'" in text and "both solve the equations" in text for text in run.remarks)
    assert "both solve the equations" in run.summary()
    one = system.state({"at.angle": -np.radians(30)}, {"at.x": 30.0, "at.angle": -5.3})
    assert da.simulate(system, one, 0.01).remarks == ()


def test_ropes_in_one_line_that_a_motion_across_would_stretch_have_no_finite_forces():
    """Both would have to pull the ball towards themselves by v²/L: no forces do, and there is no friction in it."""
    m = da.Mechanism("two ropes", gravity=(0, 0, -9.81))
    ball = m.add_body("ball", mass=1.0, inertia=da.sphere_inertia(1.0, 0.05))
    m.add_joint("f", da.Free(), m.ground, ball)
    for side in (-1.0, 1.0):
        m.add_rope(f"rope {side:g}", [ball, m.ground.at(side, 0, 0)], length=1.0)
    system = m.compile()
    run = da.simulate(system, system.state(v={"f.vz": -1.0}), 0.1)
    assert run.status == da.Status.NO_FORCES
    assert "singular" in run.message
    assert "Painlevé" not in run.message
