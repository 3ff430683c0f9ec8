"""Sine and cosine of the compiled kernels against exact integer arithmetic."""

from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from dalembert.compiler import Kernel
from dalembert.compiler.simd import LIMIT

BITS = 1300  # of fixed point: enough to reduce 1e308 and keep 200 bits


def pi_fixed():
    """π·2^BITS by Machin: π = 16 atan(1/5) − 4 atan(1/239)."""

    def atan_inverse(n):
        term = total = (1 << (BITS + 64)) // n
        k, sign = 3, -1
        while term:
            term //= n * n
            total += sign * (term // k)
            k, sign = k + 2, -sign
        return total

    return (16 * atan_inverse(5) - 4 * atan_inverse(239)) >> 64


PI = pi_fixed()


def exact(x):
    """(sin x, cos x) as fixed-point integers of BITS bits."""
    scaled = Fraction(float(x)) * (1 << BITS)
    k = (2 * scaled.numerator) // (PI * scaled.denominator)
    r = scaled.numerator // scaled.denominator - k * PI // 2
    sine, cosine, term, n = 0, 0, 1 << BITS, 0
    while term:
        if n % 2:
            sine += term if n % 4 == 1 else -term
        else:
            cosine += term if n % 4 == 0 else -term
        n += 1
        term = term * r // (n << BITS)
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][k % 4]


def ulps(found, fixed):
    """|found − exact| in units of the last place of the exact value."""
    value = Fraction(fixed, 1 << BITS)
    unit = Fraction(float(np.spacing(abs(float(value)))))
    return float(abs(Fraction(float(found)) - value) / unit)


def sincos(points, lanes=1):
    """The kernels' values of sine and cosine; a lone argument and groups of each width."""
    x = ca.SX.sym("x", 11)
    kernel = Kernel(ca.Function("sincos", [x], [ca.sin(x), ca.cos(x)]), lanes=lanes)
    padded = np.concatenate([points, np.zeros(-len(points) % 11)]).reshape(-1, 11)
    return [values.ravel()[: len(points)] for values in kernel.batch(padded)]


def worst(points):
    sine, cosine = sincos(points)
    return max(max(ulps(s, e[0]), ulps(c, e[1])) for s, c, e in zip(sine, cosine, map(exact, points)))


def test_sine_and_cosine_are_within_1_point_3_ulp_for_ordinary_angles():
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.uniform(-np.pi, np.pi, 600), rng.uniform(-50, 50, 300)])
    assert worst(points) < 1.3


def test_sine_and_cosine_are_within_1_point_3_ulp_up_to_the_limit():
    rng = np.random.default_rng(2)
    assert worst(np.concatenate([rng.uniform(-LIMIT, LIMIT, 600), [LIMIT, -LIMIT]])) < 1.3


def test_sine_and_cosine_are_within_1_point_3_ulp_beside_multiples_of_a_quarter_turn():
    rng = np.random.default_rng(3)
    k = np.concatenate([np.arange(1, 60), rng.integers(60, 63661, 250)])
    nearest = np.array([float(Fraction(int(n) * PI, 2 << BITS)) for n in k])
    points = np.concatenate([nearest, np.nextafter(nearest, 0), np.nextafter(nearest, 1e9), nearest / 2])
    assert worst(np.concatenate([points, -points[::7]])) < 1.3


def test_small_and_subnormal_angles_keep_every_bit():
    points = np.array([5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-200, -1e-20, 1e-9, 1e-8, 2.0**-27])
    sine, cosine = sincos(points)
    assert np.array_equal(sine, np.sin(points))
    assert np.array_equal(cosine, np.cos(points))


def test_sine_is_odd_to_the_bit_and_keeps_the_sign_of_zero():
    points = np.abs(np.random.default_rng(4).normal(size=500) * 1e3)
    assert np.array_equal(sincos(-points)[0], -sincos(points)[0])
    assert np.array_equal(sincos(-points)[1], sincos(points)[1])
    assert np.array_equal(np.signbit(sincos(np.array([0.0, -0.0]))[0]), [False, True])


@pytest.mark.parametrize("lanes", [1, 4])
def test_large_angles_infinities_and_nan_among_ordinary_ones_are_right(lanes):
    rng = np.random.default_rng(5)
    large = np.concatenate([10.0 ** rng.uniform(5, 308, 200), [np.nextafter(LIMIT, 1e6), 1e6, 1e22, 1e300, 1.7e308]])
    points = np.concatenate([large, -large, rng.normal(size=200)])
    rng.shuffle(points)
    sine, cosine = sincos(points, lanes)
    error = max(max(ulps(s, e[0]), ulps(c, e[1])) for s, c, e in zip(sine, cosine, map(exact, points)))
    assert error < 2
    points[::5] = rng.choice([np.inf, -np.inf, np.nan], len(points[::5]))
    broken_sine, broken_cosine = sincos(points, lanes)
    assert np.array_equal(np.isnan(broken_sine), ~np.isfinite(points))
    assert np.array_equal(np.isnan(broken_cosine), ~np.isfinite(points))
    fine = np.isfinite(points)
    assert np.array_equal(broken_sine[fine], sine[fine])


def test_range_reduction_without_fused_multiply_add_is_as_exact(monkeypatch):
    """Processors without FMA take four parts of π/2; LLVM is told that this one has none."""
    from dataclasses import replace

    from dalembert.compiler import build, target

    features = target.host().features.replace("+fma", "-fma").replace("+avx512", "-avx512")
    plain = replace(target.host(), features=features)
    monkeypatch.setattr(target, "host", lambda: plain)
    if plain.fused:
        pytest.skip("this architecture always has FMA")
    x = ca.SX.sym("x")
    native = build.compile_sx(ca.Function("plain", [x], [ca.sin(x), ca.cos(x)]))
    call = build.SIGNATURE(native.address)
    k = np.concatenate([np.arange(1, 40), np.random.default_rng(6).integers(40, 63661, 150)])
    points = np.array([float(Fraction(int(n) * PI, 2 << BITS)) for n in k])
    points = np.concatenate([points, np.random.default_rng(7).uniform(-LIMIT, LIMIT, 200)])
    y, w = np.empty(2), np.empty(native.work_size)
    for point in points:
        given = np.array([point])
        call(given.ctypes.data, y.ctypes.data, w.ctypes.data)
        expected = exact(point)
        assert max(ulps(y[0], expected[0]), ulps(y[1], expected[1])) < 1.6
