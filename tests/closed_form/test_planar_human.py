"""The planar human of Johnson and Murphey's Fig. 2: its tree, its linear model, a motion that is optimized."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo

MIRROR = {"left": "right", "right": "left"}


def mirrored(names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Order and signs of coordinates seen in a mirror: sides change places, x and angles their signs."""
    other = [" ".join(MIRROR.get(word, word) for word in n.split(" ")) for n in names]
    return np.array([names.index(n) for n in other]), np.array([1.0 if n == "torso.y" else -1.0 for n in names])


@pytest.fixture(scope="module")
def system():
    return zoo.planar_human().compile()


def test_it_floats_as_a_free_body_and_hangs_as_a_pendulum(system):
    """Without a bar its centre of mass falls whatever the motors do; on it the linear model is symmetric."""
    free = zoo.planar_human(holding=False, damping=0.0).compile(backend="casadi")
    rng = np.random.default_rng(0)
    x = free.state(rng.uniform(-1, 1, 12), rng.normal(size=12))
    a = free.forward_dynamics(x, u=rng.normal(size=9))
    h = 1e-4
    places = [free.center_of_mass(free.state(x.q + s * x.v + 0.5 * s**2 * a)) for s in (-h, 0, h)]
    np.testing.assert_allclose((places[0] - 2 * places[1] + places[2]) / h**2, [0, 0, -9.81], atol=1e-5)
    assert float(free.mass_matrix(x)[0, 0]) == pytest.approx(70.0, rel=1e-2)
    y = system.state(*zoo.planar_human_start(0.5))
    assert np.abs(system.residuals(y)).max() < 1e-12
    order, signs = mirrored(system.v_names)
    np.testing.assert_allclose(y.q[order] * signs, y.q, atol=1e-12)
    hold = control.actuator_forces(system, y)
    model = da.linearize(system, y, u=hold.u)
    assert model.controllable
    assert len(model.state_names) == 16
    full = da.linearize_full(system, y, u=hold.u)
    turned = signs[:, None] * full.Df[12:, :12][np.ix_(order, order)] * signs  # v̇ by q, in the mirror
    np.testing.assert_allclose(turned, full.Df[12:, :12], atol=1e-8 * np.abs(full.Df).max())


def test_a_pull_up_is_optimized_symmetrically(system):
    """From bent arms the torso rises by 15 cm in 1 s, legs spread; each step keeps the pins, both sides do the same."""
    x = system.state(*zoo.planar_human_start(0.6))
    hold, high, steps = control.actuator_forces(system, x).u, x["torso.y"] + 0.15, 50
    wanted = {"torso.x": 0.0, "torso.angle": 0.0, "neck": 0.0, "left knee": 0.0, "right knee": 0.0,
              "left hip": -0.6, "right hip": 0.6}  # fmt: skip
    names = system.v_names

    def final(s):
        off = 10 * (s["torso.y"] - high) ** 2 + sum((s[n] - value) ** 2 for n, value in wanted.items())
        return 1e3 * off + 20 * sum(s.rate(n) ** 2 for n in names)

    effort = lambda s, u: 1e-4 * sum(u[n] ** 2 for n in system.u_names)  # noqa: E731
    motion = control.optimal_motion(
        system, x, 1.0, effort, final, steps=steps, method="ilqr", guess=np.tile(hold, (steps, 1)), max_iterations=12
    )
    order, signs = mirrored(names)
    ends = np.array([motion.state(k).q for k in range(steps + 1)])
    assert ends[-1][names.index("torso.y")] == pytest.approx(high, abs=0.02)
    assert ends[-1][names.index("right hip")] == pytest.approx(0.6, abs=0.1)
    np.testing.assert_allclose(ends[:, order] * signs, ends, atol=1e-6)
    assert max(np.abs(system.residuals(motion.state(k))).max() for k in range(steps + 1)) < 1e-9
    still = 1e-4 * hold @ hold + 1e4 * 0.15**2 + 1e3 * 2 * 0.6**2  # the cost of staying where it is
    assert motion.cost < 0.05 * still
    again = motion.simulate()  # its arms pass through their dead point in a step that has two answers
    np.testing.assert_allclose(again.q[-1], ends[-1], atol=1e-9)
