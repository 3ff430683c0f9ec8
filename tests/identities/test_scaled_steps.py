"""Variational steps of copies in micrometres, megametres, nanograms and megatons: the same, step for step."""

import numpy as np
import pytest

import dalembert as da

STIFFNESS = 1e3  # 1/s², times the mass: the slide's force is stiff enough for the iteration to learn it


def machine(length: float, mass: float) -> da.System:
    """A slider-crank with a spring and a damper on its slide, which carries a pendulum on a ball joint."""
    m = da.Mechanism("machine", gravity=(0, -9.81 * length, 0))
    crank = m.add_body("crank", mass=mass, com=(0.2 * length, 0, 0), inertia=da.rod_inertia(mass, 0.4 * length))
    rod = m.add_body("rod", mass=mass, com=(0.5 * length, 0, 0), inertia=da.rod_inertia(mass, length))
    slider = m.add_body("slider", mass=2 * mass)
    inertia = tuple(mass * length**2 * np.array([0.05, 0.06, 0.04]))
    bob = m.add_body("bob", mass=0.5 * mass, com=(0.1 * length, -0.6 * length, 0.05 * length), inertia=inertia)
    m.add_joint("A", da.Revolute("z"), m.ground, crank)
    m.add_joint("B", da.Revolute("z"), crank.at(0.4 * length, 0, 0), rod)
    m.add_joint("x", da.Prismatic("x"), m.ground, slider)
    m.add_joint("ball", da.Spherical(), slider, bob)
    m.close_loop("C", da.Revolute("z"), rod.at(length, 0, 0), slider)
    k = STIFFNESS * mass
    m.add_joint_force("buffer", "x", lambda s: -k * (s["x"] - length) - 0.02 * k * s.rate("x"))
    m.add_motor("torque", "A")
    return m.compile()


@pytest.fixture(scope="module")
def usual():
    system = machine(1.0, 1.0)
    guess = {"B": -1.2, "x": 1.2}
    x = system.assemble({"A": 0.9, "ball": da.rotation("x", 0.5)}, {"A": 3.0, "ball.wy": 2.0}, guess=guess)
    return x, da.simulate(system, x, 1.0, method="variational", step=0.01), da.discrete_step(system, x, 0.01)


@pytest.mark.parametrize(
    ("length", "mass"), [(2.0**-20, 1.0), (2.0**20, 1.0), (1.0, 2.0**-30), (2.0**10, 2.0**30)]
)  # powers of two: numbers in other units have the same digits
def test_a_scaled_copy_takes_the_same_steps(length, mass, usual):
    x, run, step = usual
    system = machine(length, mass)
    q, v = np.ones(system.nq), np.ones(system.nv)
    q[system.q_names.index("x")] = v[system.v_names.index("x")] = length
    y = system.state(x.q * q, x.v * v)
    copy = da.simulate(system, y, 1.0, method="variational", step=0.01)
    assert copy.success
    assert len(copy.t) == len(run.t)
    np.testing.assert_allclose(copy.q / q, run.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(copy.v / v, run.v, rtol=0, atol=1e-10)
    found = da.discrete_step(system, y, 0.01)
    by = np.concatenate([v, v, [mass * length**2]])
    for name, unit in (("q", v), ("v", v), ("momentum", mass * length**2 / v)):
        expected = step.derivative(name)
        scale = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(found.derivative(name) / unit[:, None] * by, expected, rtol=0, atol=scale)
