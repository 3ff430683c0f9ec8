"""A function of the state means the same to Python, which sees numbers, and to expressions, which see symbols."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbols import array
from random_mechanisms import random_state

QUESTIONS = {
    "joint": lambda s: s["S"],
    "coordinate": lambda s: s["S.qx"],
    "rate": lambda s: s.rate("S"),
    "one rate": lambda s: s.rate("S.wx"),
    "time": lambda s: s.t,
    "position": lambda s: s.position("tip"),
    "rotation": lambda s: s.rotation("tip"),
    "pose": lambda s: s.pose("ball"),
    "velocity": lambda s: s.velocity("tip"),
    "twist": lambda s: s.twist("tip"),
    "twist in the world": lambda s: s.twist("tip", axes="world"),
    "length": lambda s: s.length("rope"),
    "length_rate": lambda s: s.length_rate("rope"),
}


def test_states_answer_whatever_expressions_answer():
    asked = {n for n in vars(da.UserState) if not n.startswith("_")} - {"once", "traced"}  # for the library
    assert asked <= {*QUESTIONS, "t"}
    assert all(hasattr(da.State, n) for n in asked)


@pytest.mark.parametrize("question", QUESTIONS)
def test_numbers_and_expressions_agree(question):
    m = da.Mechanism()
    L = m.add_parameter("L", 0.7)
    arm = m.add_body("arm", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("A", da.Revolute((1, 2, 3)), m.ground, arm)
    ball = m.add_body("ball", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("S", da.Spherical(), arm.at(L, 0, 0), ball)
    m.add_frame("tip", ball.at(0.1, 0.2, L, rotation=da.rotation("x", L)))
    m.add_cable("rope", [m.ground.at(0, 0, 3), arm, "tip"], stiffness=1.0)
    system, f = m.compile("casadi"), QUESTIONS[question]
    x = random_state(system, 3).replace(t=0.8)
    asked = "question", question
    kernel = system.kernels.custom(asked, ("q", "v", "p", "t"), lambda s: array(ca.SX(f(s.state.user()))))
    traced = system.kernels.at(kernel, x, None, None, {})
    seen = []

    def watch(t, s):  # the state that a callback sees knows the parameters of the run
        seen.append(np.array(f(s)))
        return 1.0

    da.simulate(system, x, (x.t, x.t + 1e-9), events=[watch])
    np.testing.assert_allclose(np.ravel(seen[0]), np.ravel(traced), atol=1e-7)
