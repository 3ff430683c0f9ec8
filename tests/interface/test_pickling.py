"""Mechanisms, systems, states and kernels cross processes: by description, and with the same bits on arrival."""

import copy
import multiprocessing
import pickle
import sys

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from dalembert.mechanism import pickling


def cubic(s):
    """A force law at the top level of a module, which pickles."""
    return -5.0 * s["A"] ** 3 - 0.1 * s.rate("A")


def swing(t):
    """A motion at the top level of a module."""
    return 0.3 * ca.sin(2 * t)


def everything() -> da.Mechanism:
    """One element of every kind, with parameters and inputs in numbers, forces and constraints."""
    m = da.Mechanism("everything", gravity=(0, 0, -9.81))
    L, k, g = m.add_parameter("L", 0.5), m.add_parameter("k", 40.0), m.add_parameter("drag", [0.1, 0.2])
    m.gravity = (0, -0.1 * g[1], -9.81)
    push = m.add_input("push", 2)
    arm = m.add_body("arm", mass=2.0 + L, com=(L / 2, 0, 0), inertia=da.rod_inertia(2.0, L))
    m.add_joint("A", da.Revolute("y"), m.ground, arm, damping=0.1, stiffness=k, rest=0.2 * L)
    ball = m.add_body("ball", mass=1.0, com=(0, 0, -0.1), inertia=(0.1, 0.1, 0.1))
    m.add_joint("S", da.Spherical(), arm.at(L, 0, 0), ball, stiffness=2.0)
    nut = m.add_body("nut", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.add_joint("N", da.Screw((1, 2, 3), pitch=0.01 * L), arm, nut)
    float_ = m.add_body("float", mass=3.0, inertia=(1, 1, 1))
    m.add_joint("F", da.Free(), m.ground, float_)
    plate = m.add_body("plate", mass=1.0, inertia=(1, 1, 1))
    m.add_joint("P", da.Planar("z"), m.ground, plate)
    wheel = m.add_body("wheel", mass=1.0, inertia=(1, 1, 2))
    m.add_joint("W", da.Free(), m.ground, wheel)
    m.add_frame("tip", ball.at(0, 0, -0.2 * L, rotation=da.rotation("x", L)))
    m.add_motor("motor", "A")
    m.add_joint_force("law", "A", cubic)
    m.add_joint_force("given", "N", push[0] * k)
    m.add_wrench("wind", float_.at(0.1, 0, 0), force=[g[0] * push[1], 0, 1.0], axes="body")
    m.add_spring("spring", m.ground, float_, stiffness=k, rest_length=L)
    m.add_cable("cable", [m.ground.at(0, 0, 2), plate, ball], tension=push[1])
    m.add_coupling("gear", {"N": 1.0, "A": -2.0 * L})
    m.add_driver("drive", "P.x", swing)
    m.add_rolling("roll", wheel, radius=0.3, axis="y")
    m.add_skate("blade", plate)
    m.add_rod("rod", ball, float_.at(0, 0, 1), length=1.5 * L)
    return m


def random_state(system, seed=0):
    rng = np.random.default_rng(seed)
    q = system.plus(system.state(), rng.uniform(0.1, 0.6, system.nv))
    return system.state(q, rng.uniform(-1, 1, system.nv), t=0.3)


def bits(system, x, u=None):
    """Everything the equations give in a state."""
    result = system.acceleration(x, u=u)
    return [
        system.mass_matrix(x),
        system.bias(x),
        system.applied_forces(x, u=u),
        system.residuals(x),
        system.constraint_matrix(x),
        system.constraint_gamma(x),
        result.vdot,
        result.multipliers,
    ]


def assert_same_bits(one, other):
    for x, y in zip(one, other):
        assert np.array_equal(x, y)


MECHANISMS = {"everything": everything, **{name: entry.build for name, entry in zoo.CATALOG.items()}}


@pytest.mark.parametrize("name", ["everything", "four_bar", "five_bar", "stewart", "rolling_disc", "car", "heavy_top"])
def test_a_mechanism_that_was_pickled_gives_the_same_equations(name):
    m = MECHANISMS[name]()
    there = pickle.loads(pickle.dumps(m))
    assert str(there) == str(m)
    one, other = m.compile("casadi"), there.compile("casadi")
    x = random_state(one)
    u = np.linspace(0.5, 1.5, len(one.u_names))
    assert_same_bits(bits(one, x, u), bits(other, other.state(x.q, x.v, x.t), u))
    p = {n: 1.1 * v for n, v in one.parameters.items()}
    assert np.array_equal(one.mass_matrix(x, p=p), other.mass_matrix(other.state(x.q), p=p))


def test_more_can_be_added_to_a_mechanism_that_was_pickled():
    m = pickle.loads(pickle.dumps(everything()))
    L = m.parameters.symbols["L"]
    extra = m.add_body("extra", mass=L)
    m.add_joint("X", da.Prismatic("x"), m.bodies["arm"].at(L, 0, 0), extra)
    assert m.compile("casadi").nv == everything().compile("casadi").nv + 1


@pytest.mark.parametrize("name", zoo.CATALOG)
def test_every_mechanism_of_the_zoo_pickles(name):
    system = zoo.CATALOG[name].build().compile("casadi")
    there = pickle.loads(pickle.dumps(system))
    assert there.layout.fingerprint == system.layout.fingerprint
    assert (there.q_names, there.u_names, there.p_names) == (system.q_names, system.u_names, system.p_names)


def test_a_system_travels_with_its_backend_parameters_and_removed_constraints():
    system = everything().compile("casadi").without("rod", "gear").with_parameters(L=0.7)
    x = random_state(system)
    there, y = pickle.loads(pickle.dumps((system, x)))
    assert there.backend == "casadi"
    assert y.layout is there.layout
    assert there.parameters["L"] == 0.7
    assert there.row_names == system.row_names
    assert "rod" not in str(there)
    assert_same_bits(bits(system, x), bits(there, y))


def test_a_state_that_was_pickled_alone_belongs_to_an_equal_system():
    system = zoo.four_bar().compile("casadi")
    x = pickle.loads(pickle.dumps(system.state(*zoo.four_bar_start(0.6, speed=2.0))))
    assert np.array_equal(system.acceleration(x).vdot, system.acceleration(system.state(x.q, x.v)).vdot)
    assert x["A"] == 0.6
    other = zoo.four_bar(crank=0.21).compile("casadi")
    with pytest.raises(da.ArgumentError, match="another system"):
        other.mass_matrix(x)


def test_kernels_pickle_by_their_function():
    system = zoo.four_bar().compile()
    kernel = system.kernel("mass_matrix")
    there = pickle.loads(pickle.dumps(kernel))
    q = system.state(*zoo.four_bar_start(0.6)).q
    assert np.array_equal(there(q), kernel(q))


def test_copies_are_independent():
    m = everything()
    other = copy.deepcopy(m)
    other.add_body("extra", mass=1.0)
    assert "extra" not in m.bodies
    system = zoo.four_bar().compile("casadi")
    assert copy.copy(system).row_names == system.row_names


def _with(add):
    m = da.Mechanism("lambdas")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0, com=(1, 0, 0)))
    add(m)
    return m


LAMBDAS = {
    "joint force 'law'": lambda m: m.add_joint_force("law", "A", lambda s: -s["A"]),
    "driver 'drive'": lambda m: m.add_driver("drive", "A", lambda t: 2 * t),
    "constraint 'own'": lambda m: m.add_constraint("own", holonomic=lambda s: s["A"]),
    "wrench 'w'": lambda m: m.add_wrench("w", "b", force=lambda s: [s["A"], 0, 0]),
}


@pytest.mark.parametrize("element", LAMBDAS)
def test_a_lambda_is_refused_with_the_element_named(element, monkeypatch):
    monkeypatch.setattr(pickling, "pickler", lambda: pickle.Pickler)
    with pytest.raises(da.DescriptionError, match=rf"{element} of mechanism 'lambdas'.*top level of a module"):
        pickle.dumps(_with(LAMBDAS[element]))


@pytest.mark.parametrize("element", LAMBDAS)
def test_a_lambda_travels_where_functions_are_pickled_by_value(element, monkeypatch):
    by_value = pytest.importorskip("numba.cloudpickle", reason="the copy of cloudpickle in Numba")
    monkeypatch.setitem(sys.modules, "cloudpickle", by_value)
    m = _with(LAMBDAS[element])
    one, other = m.compile("casadi"), pickle.loads(pickle.dumps(m)).compile("casadi")
    x = one.state({"A": 0.3}, t=0.2)
    assert np.array_equal(one.acceleration(x).vdot, other.acceleration(other.state(x.q, t=0.2)).vdot)


def _elsewhere(system, x, kernel):
    """What a fresh process makes of them."""
    return bits(system, x), kernel(x.q), "pytest" in sys.modules


def test_a_fresh_process_gets_the_same_bits():
    system = zoo.four_bar().compile()
    x = system.state(*zoo.four_bar_start(0.6, speed=2.0))
    kernel = system.kernel("mass_matrix")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there, M, _ = pool.apply(_elsewhere, (system, x, kernel))
    assert_same_bits(bits(system, x), there)
    assert np.array_equal(M, kernel(x.q))
