"""Sliding so slow that friction turns with the slip faster than anything moves: steps that go on implicitly."""

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da


def pin_on_a_turning_plate(rate, friction=0.5):
    """A pin of 1 kg that a spring draws along x over a plate which turns slowly; it bears by its own weight."""
    m = da.Mechanism("plate", gravity=(0, 0, -10))
    plate = m.add_body("plate", mass=1.0, inertia=da.disc_inertia(1.0, 1.0))
    m.add_joint("turn", da.Revolute("z"), m.ground, plate)
    m.add_driver("motor", "turn", lambda t: rate * t)
    carriage, pin = m.add_body("carriage", mass=1e-6), m.add_body("pin", mass=1.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, carriage)
    m.add_joint("z", da.Prismatic("z"), carriage, pin)
    m.add_spring("spring", m.ground, carriage, stiffness=100.0, rest_length=1.0)
    m.add_contact("touch", pin, on=plate, friction=friction)
    return m.compile()


def test_a_pin_creeps_over_a_slowly_turning_plate():
    """c ẋ = k (1 − x) with c = μN/(ωx): the plate's slip makes a dashpot of dry friction; Radau's method agrees."""
    rate, end = 1e-6, 2.0e5
    system = pin_on_a_turning_plate(rate)
    start = 0.98
    run = da.simulate(system, system.assemble({"x": start}, v={"x": 0.0, "turn": rate}), end)
    assert run.success, run.message

    def creep(t, y):
        slow = 100.0 * (1.0 - y[0]) / 5.0  # of the friction: tan of how far the slip leads along x
        return [rate * y[0] * slow / np.sqrt(1.0 - slow**2)]

    truth = solve_ivp(creep, (0, end), [start], method="Radau", rtol=1e-10, atol=1e-12, dense_output=True).sol
    times = np.linspace(0.05 * end, end, 20)
    np.testing.assert_allclose(run.resampled(times).q[:, list(system.q_names).index("x")], truth(times)[0], atol=2e-6)
    assert run.steps < 20000
