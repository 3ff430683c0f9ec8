"""Optima of trep's examples (Johnson, Schultz & Murphey, TASE 2012), from the guesses of `optimal_motion` itself."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import control
from dalembert.errors import ArgumentError


def pendulum():
    m = da.Mechanism("pendulum", gravity=(0, -9.8, 0))
    m.add_joint("th", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1, 0)))
    m.add_motor("tau", "th")
    return m.compile()


def upward(s, u):
    wanted = ca.if_else(s.t > 4.95, np.pi, 0.0)
    return (500 * (s["th"] - wanted) ** 2 + 0.5 * s.rate("th") ** 2 + 25 * u["tau"] ** 2) / 0.1


def at_last(s):
    return 500 * (s["th"] - np.pi) ** 2 + 0.5 * s.rate("th") ** 2


@pytest.mark.parametrize("method", ["newton", "ilqr"])
def test_a_pendulum_that_has_to_jump_upright_swings_there(method):
    """1 kg on 1 m, wanted hanging for 5 s and upright then: 13,428.77, which IPOPT finds on the same rule too."""
    system = pendulum()
    motion = control.optimal_motion(
        system, system.state(), 10.0, upward, at_last, steps=100, method=method, max_iterations=60
    )
    assert motion.success
    assert motion.cost == pytest.approx(13428.772867, rel=1e-8)


def test_states_the_pendulum_cannot_have_guide_it_as_a_guess():
    """A jump from hanging to upright, as states alone or as an array of q and v."""
    system = pendulum()
    jump = [system.state({"th": np.pi if k >= 50 else 0.0}) for k in range(101)]
    table = np.array([[x["th"], 0.0] for x in jump])
    for guess in ((jump, None), (table, np.zeros((100, 1)))):
        motion = control.optimal_motion(system, system.state(), 10.0, upward, at_last, steps=100, guess=guess)
        assert motion.success
        assert motion.cost == pytest.approx(13428.772867, rel=1e-8)


@pytest.mark.parametrize(
    ("guess", "says"),
    [
        ((np.zeros((100, 2)), None), "101 states"),
        ((np.zeros((101, 3)), None), "the states of the guess"),
        ((np.zeros((101, 2)), np.zeros((101, 1))), "the inputs of the guess"),
        ((np.zeros((101, 2)),), r"needed: \(states, inputs\)"),
        ((7.0, None), "101 states"),
    ],
)
def test_guesses_of_another_size_are_refused(guess, says):
    system = pendulum()
    with pytest.raises(ArgumentError, match=says):
        control.optimal_motion(system, system.state(), 10.0, upward, at_last, steps=100, guess=guess)


def test_a_pendulum_on_a_cart_takes_the_swing_of_less_than_half_the_cost():
    """10 kg and 1 kg on 1 m, wanted to swing to 130°: 14,441.08; near rest there is another minimum, at 30,580."""
    m = da.Mechanism("pendulum on a cart", gravity=(0, -9.8, 0))
    cart = m.add_body("cart", mass=10.0)
    m.add_joint("x", da.Prismatic("x"), m.ground, cart)
    m.add_joint("th", da.Revolute("z"), cart, m.add_body("bob", mass=1.0, com=(0, -1, 0)))
    m.add_motor("push", "x")
    system, h = m.compile(), 0.01

    def off(s, wanted):
        turned = ca.cos(s["th"])
        momenta = 11 * s.rate("x") + turned * s.rate("th"), s.rate("th") + turned * s.rate("x")
        return 50 * (s["th"] - wanted) ** 2 + 0.005 * (s["x"] ** 2 + momenta[0] ** 2 + momenta[1] ** 2)

    def cost(s, u):
        swing = (1 - ca.cos(np.pi / 2 * (s.t - 3))) * np.radians(130) / 2
        return (off(s, ca.if_else(ca.fabs(s.t - 5) <= 2 + 1e-9, swing, 0.0)) + 0.005 * u["push"] ** 2) / h

    motion = control.optimal_motion(system, system.state(), 10.0, cost, lambda s: off(s, 0.0), steps=1000)
    assert motion.success
    assert motion.cost == pytest.approx(14441.0804, rel=1e-7)
