"""Machine code and CasADi's virtual machine compute the same numbers."""

import warnings

import casadi as ca
import numpy as np
import pytest

from dalembert.compiler import Kernel

INF, NAN, TINY = np.inf, np.nan, 5e-324
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-300, -1e300, TINY, 1.7976931348623157e308, INF, -INF, NAN]

UNARY = {
    "neg": lambda x: -x, "sq": lambda x: x**2, "twice": lambda x: 2 * x, "inv": lambda x: 1 / x, "sqrt": ca.sqrt,
    "exp": ca.exp, "log": ca.log, "log1p": ca.log1p, "expm1": ca.expm1, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan,
    "asin": ca.asin, "acos": ca.acos, "atan": ca.atan, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh,
    "asinh": ca.asinh, "acosh": ca.acosh, "atanh": ca.atanh, "erf": ca.erf, "fabs": ca.fabs, "sign": ca.sign,
    "floor": ca.floor, "ceil": ca.ceil, "not": ca.logic_not, "constpow": lambda x: x**2.5, "pow3": lambda x: x**3,
    "minus sin": lambda x: ca.sin(-x), "minus cos": lambda x: ca.cos(-x), "by eight": lambda x: x / 8,
}  # fmt: skip
BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y, "atan2": ca.atan2, "hypot": ca.hypot, "fmod": ca.fmod, "remainder": ca.remainder,
    "copysign": ca.copysign, "fmin": ca.fmin, "fmax": ca.fmax, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "and": ca.logic_and, "or": ca.logic_or,
    "if_else_zero": lambda x, y: ca.if_else(x, y, 0), "if_else": lambda x, y: ca.if_else(x < y, x + 1, y - 1),
    "logic": lambda x, y: ca.if_else(ca.logic_and(x < y, ca.logic_not(y == 3)), x, 7.0),
    "minus": lambda x, y: (-x) * y, "minus div": lambda x, y: x / (-y), "minus add": lambda x, y: (-x) + y,
}  # fmt: skip


def same(found, expected, ulps):
    """Equal infinities and NaN, and finite numbers within some units in the last place."""
    found, expected = np.asarray(found), np.asarray(expected)
    finite = np.isfinite(expected)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.array_equal(found[~finite], expected[~finite], equal_nan=True)
    unit = np.spacing(np.minimum(np.abs(expected[finite]), 1e308))
    assert np.all(np.abs(found[finite] - expected[finite]) <= ulps * unit)


def elementwise(name, n):
    """A function of vectors x and y that applies one operation to each element."""
    x, y = ca.SX.sym("x", n), ca.SX.sym("y", n)
    if name in UNARY:
        values = [UNARY[name](x[i]) for i in range(n)]
    else:
        values = [BINARY[name](x[i], y[i]) for i in range(n)]
    return ca.Function("f", [x, y], [ca.vertcat(*values)])


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_operation_agrees_with_the_virtual_machine_also_on_special_values(name):
    rng = np.random.default_rng(len(name))
    x, y = [np.array(v).ravel() for v in np.meshgrid(SPECIAL, SPECIAL)]
    x = np.concatenate([x, rng.normal(size=40), rng.uniform(-1, 1, 20), rng.normal(size=20) * 1e3])
    y = np.concatenate([y, rng.normal(size=40), rng.uniform(-1, 1, 20), rng.integers(-3, 4, 20)])
    f = elementwise(name, len(x))
    expected = Kernel(f, backend="casadi")(x, y)
    scalar = Kernel(f)(x, y)
    same(scalar, expected, 2 if "sin" in name or "cos" in name else 0)
    lanes = Kernel(f, lanes=4).batch(x[None], y[None])[0]
    assert np.array_equal(lanes, scalar, equal_nan=True)


def random_integer_program(seed, n_in=12, steps=400, n_out=25):
    """Sums, differences and products of small integers, whose exact values every order of evaluation gives."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", n_in)
    values = [(x[i], 3.0) for i in range(n_in)]
    for _ in range(steps):
        i, j = rng.integers(0, len(values), 2)
        (a, size_a), (b, size_b) = values[i], values[j]
        kind = rng.integers(0, 6)
        if kind == 0 and size_a * size_b < 1e6:
            values.append((a * b, size_a * size_b))
        elif kind == 1:
            values.append((-a, size_a))
        elif kind == 2 and size_a < 1e6:
            values.append((a * int(rng.integers(-3, 4)), 3 * size_a))
        elif size_a + size_b < 1e9:
            values.append((a + b if kind % 2 else a - b, size_a + size_b))
    chosen = rng.integers(0, len(values), n_out)
    return ca.Function("integers", [x], [ca.vertcat(*[values[k][0] for k in chosen])])


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_on_integers_are_exact_in_every_cut_and_width(seed):
    f = random_integer_program(seed)
    states = np.random.default_rng(seed).integers(-3, 4, (11, 12)).astype(float)
    expected = np.array([np.asarray(f(x)).ravel() for x in states])
    for options in ({}, {"chunk": 7}, {"chunk": 1}, {"lanes": 2}, {"lanes": 4, "chunk": 30}, {"lanes": 8}):
        assert np.array_equal(Kernel(f, **options).batch(states), expected), options


def random_smooth_program(seed, n_in=6, steps=150):
    """Nested sines, quotients, roots and choices, bounded so that rounding errors stay small."""
    rng = np.random.default_rng(seed)
    x = ca.SX.sym("x", n_in)
    values = [x[i] for i in range(n_in)]
    for _ in range(steps):
        a, b, c = (values[k] for k in rng.integers(max(0, len(values) - 25), len(values), 3))
        values.append(
            [
                lambda a, b, c: ca.sin(a + b),
                lambda a, b, c: ca.cos(3 * a - c),
                lambda a, b, c: (a * b + c) / 3,
                lambda a, b, c: (a * b - c * a) / 2,
                lambda a, b, c: a / (2 + b * b),
                lambda a, b, c: (c - a * b) / (2 + b * b),
                lambda a, b, c: ca.sqrt(1 + a * a) - ca.exp(-b * b),
                lambda a, b, c: ca.atan2(a, 2 + c * c) + ca.tanh(b),
            ][rng.integers(0, 8)](a, b, c)
        )
    return ca.Function("smooth", [x], [ca.vertcat(*values[-30:]), ca.vertcat(*values[:3])])


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_with_nested_sines_agree_in_every_cut_and_width(seed):
    f = random_smooth_program(seed)
    states = np.random.default_rng(seed).normal(size=(9, 6))
    expected = [np.array(column) for column in zip(*[[np.asarray(v).ravel() for v in f(x)] for x in states])]
    native = Kernel(f).batch(states)
    for found, needed in zip(native, expected):
        assert np.allclose(found, needed, rtol=1e-12, atol=1e-12)
    for options in ({"chunk": 5}, {"lanes": 2}, {"lanes": 4, "chunk": 40}, {"lanes": 8}, {"lanes": 16}):
        for found, needed in zip(Kernel(f, **options).batch(states), native):
            assert np.array_equal(found, needed), options  # the same bits


def test_divisors_used_often_become_one_reciprocal_within_an_ulp():
    x = ca.SX.sym("x", 7)
    f = ca.Function("quotients", [x], [x[:6] / x[6]])
    for divisor in (3.0, -0.7, 1e-300, 0.0, INF, NAN):
        given = np.array([1.0, -2.0, 0.3, 1e5, 0.0, INF, divisor])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(Kernel(f)(given), np.asarray(f(given)).ravel(), 1)


def test_sums_of_products_are_shorter_than_the_virtual_machines_and_as_exact():
    x, y = ca.SX.sym("x", 6), ca.SX.sym("y", 6)
    f = ca.Function("dot", [x, y], [ca.dot(x, y), ca.dot(x, y) * 2, ca.sum1(x * x) - x[0] * y[0]])
    kernel = Kernel(f)
    assert kernel.instructions < 22  # 17 and 12 operations, the second dot product and x0 y0 known already
    given = np.random.default_rng(0).normal(size=(2, 6))
    assert np.allclose(kernel(*given), [float(v) for v in f(*given)], rtol=1e-14)


def test_matrices_are_row_major_and_structural_zeros_are_written():
    x = ca.SX.sym("x", 3)
    sparse = ca.SX(3, 2)
    sparse[0, 1], sparse[2, 0] = x[0], ca.sin(x[1])
    dense = ca.vertcat(ca.horzcat(x[0], x[1], 1), ca.horzcat(x[2], x[2] * 2, x[0]))
    f = ca.Function("f", [x], [sparse, dense, ca.SX(2, 2), x[2], ca.sin(x[0]), ca.SX(0, 1)])
    given = np.array([0.3, -0.4, 5.0])
    expected = [
        [[0, 0.3], [0, 0], [np.sin(-0.4), 0]],
        [[0.3, -0.4, 1], [5, 10, 0.3]],
        [[0, 0], [0, 0]],
        5.0,
        np.sin(0.3),
        [],
    ]
    for backend in ("native", "casadi"):
        kernel = Kernel(f, backend=backend)
        assert kernel.shapes_out == ((3, 2), (2, 3), (2, 2), (), (), (0,))
        dirty = tuple(np.full(shape, 9.0) for shape in kernel.shapes_out)
        for found in (kernel(given), kernel(given, out=dirty), [v[1] for v in kernel.batch(np.array([given, given]))]):
            for a, b in zip(found, expected):
                assert np.allclose(a, b, rtol=1e-15, atol=0)


def test_nothing_is_read_or_written_beyond_the_declared_sizes():
    f = random_smooth_program(3)
    for lanes in (1, 4, 8):
        kernel = Kernel(f, lanes=lanes, chunk=20)
        sizes = (kernel.x_size, kernel.y_size, kernel.work_size)
        guarded = [np.full(size + 16, 7.25) for size in sizes]
        guarded[0][8:-8] = np.random.default_rng(0).normal(size=kernel.x_size)
        kernel._call(*[array[8:].ctypes.data for array in guarded])
        for array in guarded:
            assert np.all(array[:8] == 7.25)
            assert np.all(array[-8:] == 7.25)
        assert np.all(guarded[1][8:-8] != 7.25)
