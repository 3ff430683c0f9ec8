"""Kernels of real mechanisms: native = virtual machine, lanes = scalar, shapes, pickling, backends."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as da
from dalembert import zoo
from random_mechanisms import random_state, random_tree

NAMES = ("mass_matrix", "inverse_dynamics", "forward_dynamics", "kinetic_energy", "plus", "minus", "center_of_mass")


@pytest.mark.parametrize("seed", range(4))
def test_native_code_gives_the_virtual_machines_numbers(seed):
    m = random_tree(400 + seed, [1, 3, 5, 8][seed], floating=seed % 2 == 0)
    native, machine = m.compile(), m.compile(backend="casadi")
    rng = np.random.default_rng(seed)
    for name in NAMES:
        one, other = native.kernel(name), machine.kernel(name)
        args = [rng.normal(size=n) for n in one.n_in]
        a, b = one(*args), other(*args)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * max(1, np.abs(b).max()))


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_lanes_give_the_scalar_numbers_to_the_last_bit(lanes):
    system = random_tree(7, 6, floating=True).compile()
    rng = np.random.default_rng(lanes)
    states = [random_state(system, s) for s in range(11)]
    q, v = np.array([x.q for x in states]), np.array([x.v for x in states])
    a = rng.normal(size=v.shape)
    batch = system.kernel("inverse_dynamics", lanes=lanes).batch(q, v, a)
    one_by_one = [system.kernel("inverse_dynamics")(*row) for row in zip(q, v, a)]
    np.testing.assert_array_equal(batch, one_by_one)


def test_a_mechanism_with_one_velocity_still_gives_vectors_and_matrices():
    m = da.Mechanism("pendulum")
    m.add_joint("A", da.Revolute("y"), m.ground, m.add_body("b", mass=1.0, com=(0, 0, -1)))
    system = m.compile()
    assert system.forward_dynamics([0.3]).shape == (1,)
    assert system.mass_matrix([0.3]).shape == (1, 1)
    assert system.jacobian([0.3], "b").shape == (6, 1)
    assert system.kernel("forward_dynamics").batch(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1))).shape == (3, 1)
    assert isinstance(system.kinetic_energy([0.3]), float)


def test_kernels_survive_pickling_with_their_shapes():
    system = random_tree(8, 1, (da.Revolute,)).compile()
    kernel = system.kernel("mass_matrix")
    copy = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(copy([0.3]), kernel([0.3]))
    assert copy([0.3]).shape == (1, 1)


def test_equal_frames_share_a_kernel():
    system = random_tree(9, 3).compile(backend="casadi")
    body = system.layout.bodies["body2"]
    assert system.kernel("pose", frame=body.at(1, 2, 3)) is system.kernel("pose", frame=body.at(1, 2, 3))
    assert system.kernel("pose", frame=body.at(1, 2, 3)) is not system.kernel("pose", frame=body.at(1, 2, 4))


def test_an_unknown_backend_is_refused_at_once():
    with pytest.raises(da.ArgumentError, match="backend is 'fortran'; needed: 'native' or 'casadi'"):
        da.Mechanism().compile(backend="fortran")


def test_threads_that_ask_first_get_the_same_kernel():
    """Loops hold addresses: a kernel that another thread's replaces would be freed under them."""
    system = random_tree(12, 4).compile()
    names = ("mass_matrix", "inverse_dynamics", "ode", "kinetic_energy")
    start = threading.Barrier(4)

    def ask(_):
        start.wait()
        return [system.kernel(name) for name in names]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(ask, range(4))
    for kernels in others:
        assert all(one is other for one, other in zip(first, kernels))


@pytest.mark.parametrize("make", [da.zoo.four_bar, da.zoo.rolling_disc])
def test_the_text_of_a_function_does_not_depend_on_what_was_traced_before(make):
    """Functions of one system share what they are made of; the cache on disk knows them by their text."""
    names = ["reactions", "ode", "answer", "constraints", "equations", "restore", "gamma", "variational", "correct"]
    together, apart = make().compile(), {n: make().compile().function(n).serialize() for n in names}
    assert all(together.function(n).serialize() == apart[n] for n in reversed(names))


def test_frames_anywhere_in_a_body_share_one_kernel():
    """As exact as a kernel of the frame alone; nothing is compiled or kept for the next frame."""
    system = zoo.four_bar().compile()
    x, rng = system.state(*zoo.four_bar_start(0.6, 2.0)), np.random.default_rng(5)
    body, a = system.mechanism.bodies["coupler"], rng.normal(size=system.nv)
    asked = [
        (name, axes)
        for name in ("twist", "jacobian", "jacobian_rate", "frame_acceleration")
        for axes in ("body", "world")
    ]
    for frame in (body.at(*rng.normal(size=3), rotation=da.rotation("x", angle)) for angle in (0.0, 0.3, 2.0)):
        for name, axes in [("pose", "world"), ("jacobian_derivatives", "body"), *asked]:
            more = {"a": a} if name in ("frame_acceleration", "jacobian_derivatives") else {}
            ours = system.evaluate(name, x, frame=frame, axes=axes, **more)
            alone = system.kernels.at(system.kernel(name, frame=frame, axes=axes), x, None, None, more)
            several = isinstance(ours, tuple)
            for one, other in zip(ours if several else [ours], alone if several else [alone], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-12)
    count = len(system.kernels.compiled)
    for k in range(20):
        system.jacobian(x, body.at(0.01 * k))
    assert len(system.kernels.compiled) == count
