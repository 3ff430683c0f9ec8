"""u as a mapping of input names to functions, expressions and numbers: the motion is that of one controller."""

import casadi as ca
import numpy as np
import pytest

import dalembert as da

START = {"x": 1.0, "y": -0.5}


@pytest.fixture(scope="module")
def system():
    m = da.Mechanism("table", gravity=(0, 0, 0))
    m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("beam", mass=2.0))
    m.add_joint("y", da.Prismatic("y"), m.bodies["beam"], m.add_body("tool", mass=1.0))
    m.add_motor("along", "x"), m.add_motor("across", "y"), m.add_input("unused", 2)
    return m.compile()


@pytest.fixture(scope="module")
def expected(system):
    law = da.expression(lambda t, s: {"along": -4.0 * s["x"] + ca.sin(t), "across": -2.0 * s.rate("y") + 0.5})
    return da.simulate(system, START, 2.0, u=law)


def push(t, s):
    return -4.0 * s["x"] + ca.sin(t)


def brake(t, s):
    return -2.0 * s.rate("y") + 0.5


def moved(system, u, **options):
    run = da.simulate(system, START, 2.0, u=u, **options)
    assert run.success, run.message
    return run


def test_expressions_by_name_are_one_expression(system, expected):
    u = {"along": da.expression(push), "across": da.expression(brake)}
    run = moved(system, u)
    np.testing.assert_array_equal(run.q, expected.q)  # the same machine code
    count = len(system.memo)
    moved(system, u)
    assert len(system.memo) == count  # and traced once


def test_functions_expressions_and_numbers_may_be_mixed(system, expected):
    for u in (
        {"along": push, "across": brake},
        {"along": da.expression(push), "across": brake, "unused": [0.0, 1.0]},
        {"along": push, "across": lambda t, s: [brake(t, s)], "unused[1]": 3.0},
    ):
        np.testing.assert_allclose(moved(system, u).state().q, expected.state().q, rtol=0, atol=1e-9)
    steady = moved(system, da.expression(lambda t, s: {"along": push(t, s), "across": 0.25})).state().q
    for along in (push, da.expression(push)):
        np.testing.assert_allclose(moved(system, {"along": along, "across": 0.25}).state().q, steady, atol=1e-9)
    held = moved(system, {"along": da.expression(push), "across": da.expression(brake)}, period=1e-3)
    np.testing.assert_allclose(held.state().q, expected.state().q, atol=2e-3)


def test_ensembles_take_them_in_lanes(system, expected):
    u = {"along": da.expression(push), "across": da.expression(brake)}
    runs = da.ensemble(system, START, 2.0, u=u, n=3)
    assert not runs.alone.any()
    np.testing.assert_allclose(runs.q_end, np.tile(expected.state().q, (3, 1)), atol=1e-8)
    each = da.ensemble(system, START, 2.0, controllers=lambda k, values: u, n=2)
    np.testing.assert_allclose(each.q_end, runs.q_end[:2], atol=1e-8)


def test_constant_inputs_by_name_stay_constant_inputs(system):
    run = da.simulate(system, START, 1.0, u={"along": 2.0})
    np.testing.assert_array_equal(run.u, np.tile([2.0, 0, 0, 0], (len(run.t), 1)))


def test_what_cannot_be_a_part_is_refused_with_a_sentence(system):
    numba = pytest.importorskip("numba")
    model = da.linearize(system, {"x": 0.0, "y": 0.0})
    for u, sentence in (
        ({"alng": push}, "u asks for input 'alng'.*Did you mean 'along'"),
        ({"along": push, "across": "full"}, r"u\['across'\]"),
        ({"along": push, "unused": 1.0}, r"u\['unused'\] has shape \(1,\); needed: two numbers"),
        ({"along": push, "across": np.nan}, r"u\['across'\]"),
        ({"along": numba.njit(lambda t, s: 1.0)}, "a Numba function for input 'along'.*da.expression"),
        ({"along": da.lqr(model, 1.0, 1.0)}, "a Regulator for input 'along'; it gives all inputs"),
    ):
        with pytest.raises(da.DalembertError, match=sentence):
            da.simulate(system, START, 1.0, u=u)
