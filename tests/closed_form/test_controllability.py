"""Which modes inputs reach, where it is known: machines side by side, each with a motor or without one."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo


def side_by_side(seed, least=1e-2, most=10.0):
    """A pendulum, then sliders, wheels, pendulums and parallelograms, at rest; how many of them have no motor."""
    rng = np.random.default_rng(seed)
    m = da.Mechanism("side by side", gravity=(0, -9.81, 0))
    idle = 0
    for k in range(2 + seed % 3):
        length, mass = least * (most / least) ** rng.random(), 10.0 ** rng.uniform(-1, 1)
        kind, hinge = rng.integers(4) if k else 2, m.ground.at(k, 0, 0)
        link = m.add_body(
            f"link {k}", mass=mass, com=(0, -length / 2 * (kind > 1), 0), inertia=da.rod_inertia(mass, length, "y")
        )
        m.add_joint(f"machine {k}", da.Prismatic("x") if kind == 0 else da.Revolute("z"), hinge, link)
        if kind == 3:
            coupler = m.add_body(
                f"coupler {k}", mass=mass, com=(length, 0, 0), inertia=da.rod_inertia(mass, 2 * length)
            )
            rocker = m.add_body(
                f"rocker {k}", mass=mass, com=(0, -length / 2, 0), inertia=da.rod_inertia(mass, length, "y")
            )
            m.add_joint(f"B {k}", da.Revolute("z"), link.at(0, -length, 0), coupler)
            m.add_joint(f"D {k}", da.Revolute("z"), m.ground.at(k + 2 * length, 0, 0), rocker)
            m.close_loop(f"C {k}", da.Revolute("z"), coupler.at(2 * length, 0, 0), rocker.at(0, -length, 0))
        if rng.random() < 0.6:
            m.add_motor(f"motor {k}", f"machine {k}")
        else:
            idle += 1
    return m.compile(), idle


@pytest.mark.parametrize("seed", range(12))
def test_what_has_no_motor_is_not_reached_and_all_else_is(seed):
    system, idle = side_by_side(seed)
    model = da.linearize(system, system.assemble())
    assert len(model.uncontrollable) == len(model.discretize(0.01).uncontrollable) == idle
    assert model.observable


@pytest.mark.parametrize("seed", range(12))
def test_rounding_hides_nothing(seed):
    """Entries that would be zero are as large as rounding leaves them."""
    system, idle = side_by_side(seed, 0.3, 1.0)
    model = da.linearize(system, system.assemble())
    n = len(model.A) // 2
    noise = 1e-16 * np.random.default_rng(seed).standard_normal((n, 2 * n)) * np.abs(model.A).max()
    noise[np.random.default_rng(seed + 100).random((n, 2 * n)) < 0.3] *= 1e-12
    noisy = replace(model, A=model.A + np.vstack([np.zeros((n, 2 * n)), noise]))
    assert len(noisy.uncontrollable) == idle


@pytest.mark.parametrize("height", [1.0, 0.7, 3.0])
@pytest.mark.parametrize("gravity", [9.81, 1.62])
def test_a_marionette_is_led_by_its_bar_and_reels(height, gravity):
    """δ̈ = (u, −g/h (x − x_bar), 2u, −2u): reels move the arms, the bar makes the torso swing."""
    system = zoo.marionette(height=height, gravity=gravity).compile()
    model = da.linearize(system, system.state(*zoo.marionette_start(height=height)))
    bar, torso = (model.state_names.index(name) for name in ("bar", "torso.x"))
    np.testing.assert_allclose(model.A[torso + 4, [bar, torso]], [gravity / height, -gravity / height], rtol=1e-9)
    assert model.controllable
    assert model.discretize(0.02).controllable
    without = replace(model, B=model.B[:, [0, 2]], D=model.D[:, [0, 2]], input_names=("hand", "right reel"))
    assert [list(h.direction) for h in without.uncontrollable] == [["left arm rate"]]
