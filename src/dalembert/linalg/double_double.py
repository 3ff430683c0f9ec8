"""Numbers of twice the precision, as unevaluated sums of two doubles (Dekker 1971; Hida, Li & Bailey 2001).

Compiled without fused multiply-add: what these functions compute is the rounding of single operations.
"""

from __future__ import annotations

from fractions import Fraction
from math import factorial, floor, sqrt
from typing import Any

import numpy as np
from numba import njit

from ..native.jit import OPTIONS

exact: Any = njit(**{**OPTIONS, "fastmath": False})

SPLIT = 134217729.0  # 2²⁷ + 1
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # π/2 to 160 bits
TERMS = 15  # of the series of sine and cosine up to π/4


def _parts(x: Fraction) -> tuple[float, float]:
    """A number as the sum of two doubles."""
    return float(x), float(x - Fraction(float(x)))


#: (TERMS, 2) each: the coefficients of x^(2k + 1) in sin x and of x^(2k) in cos x
SINE = np.array([_parts(Fraction((-1) ** k, factorial(2 * k + 1))) for k in range(TERMS)])
COSINE = np.array([_parts(Fraction((-1) ** k, factorial(2 * k))) for k in range(TERMS)])


@exact
def two_sum(a, b):
    """a + b and its rounding error."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


@exact
def two_product(a, b):
    """a b and its rounding error."""
    p = a * b
    t = SPLIT * a
    ah = t - (t - a)
    al = a - ah
    t = SPLIT * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@exact
def add(a, b, c, d):
    """(a, b) + (c, d)."""
    s, e = two_sum(a, c)
    t, f = two_sum(b, d)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@exact
def multiply(a, b, c, d):
    """(a, b) (c, d)."""
    p, e = two_product(a, c)
    return two_sum(p, e + (a * d + b * c))


@exact
def divide(a, b, c, d):
    """(a, b) / (c, d)."""
    q = a / c
    p, e = multiply(c, d, q, 0.0)
    r, f = add(a, b, -p, -e)
    q1 = r / c
    p, e = multiply(c, d, q1, 0.0)
    r, f = add(r, f, -p, -e)
    s, e = two_sum(q, q1)
    return add(s, e, r / c, 0.0)


@exact
def root(a, b):
    """√(a, b)."""
    if a <= 0.0:
        return 0.0, 0.0
    x = sqrt(a)
    p, e = two_product(x, x)
    r, _ = add(a, b, -p, -e)
    x, y = two_sum(x, r / (2.0 * x))
    p, e = multiply(x, y, x, y)
    r, _ = add(a, b, -p, -e)
    return two_sum(x, y + r / (2.0 * x))


@exact
def sine_cosine(a, b):
    """sin and cos of (a, b), four numbers; for angles below 2²⁶."""
    turns = floor(a / HALF_PI[0] + 0.5)
    x, y = a, b
    for part in HALF_PI:
        p, e = two_product(turns, part)
        x, y = add(x, y, -p, -e)
    u, w = multiply(x, y, x, y)
    s, t, c, d = SINE[TERMS - 1, 0], SINE[TERMS - 1, 1], COSINE[TERMS - 1, 0], COSINE[TERMS - 1, 1]
    for k in range(TERMS - 2, -1, -1):  # Horner
        s, t = multiply(s, t, u, w)
        s, t = add(s, t, SINE[k, 0], SINE[k, 1])
        c, d = multiply(c, d, u, w)
        c, d = add(c, d, COSINE[k, 0], COSINE[k, 1])
    s, t = multiply(s, t, x, y)
    quarter = int(turns) % 4
    if quarter == 1:
        return c, d, -s, -t
    if quarter == 2:
        return -s, -t, -c, -d
    if quarter == 3:
        return -c, -d, s, t
    return s, t, c, d
