"""Regulators in the lanes of ensembles: the law as an expression and the law in Python make the same runs."""

import numpy as np
import pytest

import dalembert as da
from dalembert import control, zoo


def cart_pole():
    system = zoo.cart_pole().compile()
    up = system.state(*zoo.cart_pole_start())
    return system, up, da.linearize(system, up), {"cart": 1.0, "phi1": 10.0}


def spinning_body():
    """A body on a ball joint with a motor about each axis: its position is a quaternion."""
    m = da.Mechanism("satellite", gravity=(0, 0, -9.81))
    body = m.add_body("body", mass=1.0, com=(0, 0, 0.3), inertia=(1.0, 1.2, 0.7))
    m.add_joint("ball", da.Spherical(), m.ground, body)
    m.add_joint_force("turn", "ball", m.add_input("torque", 3))
    system = m.compile()
    x = system.state({"ball": da.rotation("x", 0.4)})
    return system, x, da.linearize(system, x), None


def of_a_cut_joint():
    """A four-bar in the coordinate of the joint that closes it, a function of the positions."""
    m = zoo.four_bar()
    m.add_motor("drive", "A")
    system = m.compile()
    x = system.assemble({"A": 0.6})
    return system, x, da.linearize(system, x, independent=["C"]), None


MACHINES = {f.__name__: f for f in (cart_pole, spinning_body, of_a_cut_joint)}


def starts(system, x, n=3):
    rng = np.random.default_rng(5)
    q = system.plus(x, 0.03 * rng.normal(size=system.nv))
    return [system.assemble(guess=q, p=None)] + [
        system.assemble(guess=system.plus(x, 0.03 * rng.normal(size=system.nv))) for _ in range(n - 1)
    ]


@pytest.mark.parametrize(("name", "hold"), [*((name, None) for name in MACHINES), ("cart_pole", 0.02)])
def test_a_regulator_side_by_side_is_the_regulator_alone(name, hold):
    system, x, model, Q = MACHINES[name]()
    law, how = da.lqr(model, Q, 0.1), {"method": "rk4", "step": 0.005, "period": hold}
    runs = da.ensemble(system, starts(system, x), 0.2, u=law, workers=1, **how)
    assert not runs.alone.any()
    for k, start in enumerate(starts(system, x)):
        run = da.simulate(system, start, 0.2, u=law, **how)
        np.testing.assert_allclose(runs.q_end[k], run.q[-1], atol=1e-11)
        np.testing.assert_allclose(runs.v_end[k], run.v[-1], atol=1e-10)


@pytest.mark.parametrize("wrap", [False, True])
def test_limits_act_side_by_side(wrap):
    """A push that is cut, by the regulator's own limits or by those around it, is the constant force at the limit."""
    system, up, model, Q = cart_pole()
    law = da.lqr(model, Q, 0.1, limits=None if wrap else {"push": (-0.5, 0.25)})
    law = control.Saturated(law, {"push": (-0.5, 0.25)}, system) if wrap else law
    away = [up.replace(q=up.q + a * np.eye(system.nq)[1]) for a in (0.3, -0.3)]
    asked = [law(0.0, x) for x in away]
    assert sorted(float(u[0]) for u in asked) == [-0.5, 0.25]
    runs = da.ensemble(system, away, 0.05, u=law, workers=1)
    assert not runs.alone.any()
    for k, x in enumerate(away):
        constant = da.simulate(system, x, 0.05, u=asked[k])
        np.testing.assert_allclose(runs.q_end[k], constant.q[-1], atol=1e-8)


def test_a_law_with_a_memory_is_made_alone():
    system, up, model, Q = cart_pole()
    law = control.Noisy(da.lqr(model, Q, 0.1), system, position=1e-3)
    assert da.ensemble(system, [up, up], 0.05, u=law, period=0.01, workers=1).alone.all()
