"""Kernels inside Numba's compiled loops."""

import casadi as ca
import numba
import numpy as np
import pytest

from dalembert.compiler import Kernel
from dalembert.compiler.call import call_kernel


@numba.njit
def euler(address, x, y, w, h, steps):
    """x ← x + h f(x), the kernel being f."""
    for _ in range(steps):
        call_kernel(address, x, y, w)
        for i in range(x.size):
            x[i] += h * y[i]


@numba.njit
def table(address, x, y, w):
    for i in range(len(x)):
        call_kernel(address, x[i], y[i, 1:], w[2:])


def test_one_compiled_loop_serves_kernels_of_different_mechanisms():
    x = ca.SX.sym("x", 2)
    pendulum = Kernel(ca.Function("pendulum", [x], [ca.vertcat(x[1], -9.81 * ca.sin(x[0]))]))
    z = ca.SX.sym("z", 3)
    decay = Kernel(ca.Function("decay", [z], [-z]), backend="casadi")
    for kernel, start in ((pendulum, [0.5, 0.0]), (decay, [1.0, 2.0, 3.0])):
        state = np.array(start)
        euler(kernel.address, state, np.empty(kernel.y_size), np.empty(kernel.work_size), 0.01, 50)
        expected = np.array(start)
        for _ in range(50):
            expected = expected + 0.01 * kernel(expected)
        assert np.allclose(state, expected, rtol=1e-13)
    assert len(euler.signatures) == 1


def test_slices_and_rows_are_taken_in_place():
    x = ca.SX.sym("x", 3)
    kernel = Kernel(ca.Function("f", [x], [ca.cos(x)]))
    given = np.random.default_rng(0).normal(size=(6, 3))
    out = np.zeros((6, 4))
    table(kernel.address, given, out, np.empty(kernel.work_size + 2))
    assert np.allclose(out[:, 1:], np.cos(given), rtol=1e-15)
    assert np.all(out[:, 0] == 0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1.5, np.zeros(2), np.zeros(2), np.zeros(2)), "address"),
        ((1, np.zeros(2, np.float32), np.zeros(2), np.zeros(2)), "x is .*float64"),
        ((1, np.zeros(2), np.zeros(4)[::2], np.zeros(2)), "y is .*contiguous"),
    ],
)
def test_arrays_of_other_kinds_are_refused_when_the_loop_is_compiled(arguments, words):
    @numba.njit
    def call(address, x, y, w):
        call_kernel(address, x, y, w)

    with pytest.raises(numba.TypingError, match=words):
        call(*arguments)
