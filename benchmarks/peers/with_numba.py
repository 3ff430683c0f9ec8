"""A Numba loop written for P1 or P2 alone: RK4 with a fixed step, nothing general in it.

`usual`: all angles, one linear system by LAPACK at each stage, Baumgarte's terms. `by_hand`: minimal coordinates, the
dyad's angles in closed form, everything eliminated on paper, no arrays in the loop but the record.
"""

from __future__ import annotations

from functools import partial
from math import acos, atan2, cos, sin, sqrt

import numpy as np
from numba import njit

from benchmarks.motions import Motion, Outcome, picked
from benchmarks.peers import Families, Setting
from benchmarks.peers.two_chains import two_chains
from benchmarks.peers.with_numpy import everything

STEPS = [
    1 / n for n in (10, 16, 20, 25, 32, 40, 50, 64, 80, 100, 125, 160, 200, 250, 320, 400, 500, 640, 800, 1000, 2000)
]
fast = njit(error_model="numpy", fastmath={"contract"})


def by_hand(motion: Motion) -> Families:
    """Minimal coordinates."""
    b = two_chains(motion)
    n = len(b.theta)
    constants = (*b.c[np.triu_indices(n)], *b.w, *b.sl, b.d, b.side)
    loop = _rk4(*((_five_bar, 4) if n == 4 else (_four_bar, 2)))
    start = np.r_[b.theta[b.lead], b.omega[b.lead]]

    def solve(h: float, duration: float) -> np.ndarray:
        return loop(start, h, round(duration / h), constants)

    def judge(y: np.ndarray) -> Outcome:
        full = np.array([everything(b, x) for x in y[picked(len(y))]])
        return motion.judge(b.joints(full[:, :n]), b.joints(full[:, n:]))

    return [[Setting(f"minimal, h = {h:g}", partial(solve, h), judge) for h in STEPS]]


def usual(motion: Motion) -> Families:
    """Multipliers."""
    b = two_chains(motion)
    n, start = len(b.theta), np.r_[b.theta, b.omega]

    def solve(h: float, duration: float) -> np.ndarray:
        return _rk4_multipliers(start, h, round(duration / h), b.c, b.w, b.sl, b.d)

    def judge(y: np.ndarray) -> Outcome:
        return motion.judge(b.joints(y[:, :n]), b.joints(y[:, n:]))

    return [[Setting(f"multipliers, h = {h:g}", partial(solve, h), judge) for h in STEPS]]


@fast
def _dyad(x, y, a, c, side):
    """Directions of bars a and c between two points that are (x, y) apart: a e(α) = (x, y) + c e(β)."""
    length = sqrt(x * x + y * y)
    alpha = atan2(y, x) + side * acos((length * length + a * a - c * c) / (2.0 * length * a))
    ca, sa = cos(alpha), sin(alpha)
    return ca, sa, (a * ca - x) / c, (a * sa - y) / c


@fast
def _four_bar(s, constants):
    """θ̇ and θ̈ of the crank; coupler 2 and rocker 3 follow."""
    c11, c12, _, c22, _, c33, w1, w2, w3, l1, l2, l3, d, side = constants
    theta, omega = s
    c1, s1 = cos(theta), sin(theta)
    c2, s2, c3, s3 = _dyad(d - l1 * c1, -l1 * s1, l2, -l3, side)
    det = l2 * l3 * (s3 * c2 - c3 * s2)  # of the dyad's columns of A
    # A₂ k₂ + A₃ k₃ = −A₁ with A_i = l_i (−s_i, c_i)
    k2 = l1 * l3 * (s1 * c3 - c1 * s3) / det
    k3 = l1 * l2 * (s2 * c1 - c2 * s1) / det
    o2, o3 = k2 * omega, k3 * omega
    q1, q2, q3 = omega * omega, o2 * o2, o3 * o3
    gx = l1 * c1 * q1 + l2 * c2 * q2 + l3 * c3 * q3  # −γ
    gy = l1 * s1 * q1 + l2 * s2 * q2 + l3 * s3 * q3
    e2 = l3 * (gx * c3 + gy * s3) / det
    e3 = -l2 * (gx * c2 + gy * s2) / det
    m12, n12 = c12 * (c1 * c2 + s1 * s2), c12 * (s1 * c2 - c1 * s2)
    f1 = -n12 * q2 - w1 * c1 - m12 * e2
    f2 = n12 * q1 - w2 * c2 - c22 * e2
    f3 = -w3 * c3 - c33 * e3
    mass = c11 + 2.0 * m12 * k2 + c22 * k2 * k2 + c33 * k3 * k3
    return omega, (f1 + k2 * f2 + k3 * f3) / mass


@fast
def _five_bar(s, constants):
    """Rates of the middle bars 2 and 3; bars 1 and 4 follow."""
    c11, c12, _, _, c22, _, _, c33, c34, c44, w1, w2, w3, w4, l1, l2, l3, l4, d, side = constants
    theta2, theta3, o2, o3 = s
    c2, s2, c3, s3 = cos(theta2), sin(theta2), cos(theta3), sin(theta3)
    c1, s1, c4, s4 = _dyad(d - l2 * c2 - l3 * c3, -l2 * s2 - l3 * s3, l1, -l4, side)
    det = l1 * l4 * (s4 * c1 - c4 * s1)
    a1 = l2 * l4 * (s2 * c4 - c2 * s4) / det  # θ̇₁ = a₁ θ̇₂ + b₁ θ̇₃, θ̇₄ alike
    a4 = l1 * l2 * (s1 * c2 - c1 * s2) / det
    b1 = l3 * l4 * (s3 * c4 - c3 * s4) / det
    b4 = l1 * l3 * (s1 * c3 - c1 * s3) / det
    o1, o4 = a1 * o2 + b1 * o3, a4 * o2 + b4 * o3
    q1, q2, q3, q4 = o1 * o1, o2 * o2, o3 * o3, o4 * o4
    gx = l1 * c1 * q1 + l2 * c2 * q2 + l3 * c3 * q3 + l4 * c4 * q4  # −γ
    gy = l1 * s1 * q1 + l2 * s2 * q2 + l3 * s3 * q3 + l4 * s4 * q4
    e1 = l4 * (gx * c4 + gy * s4) / det
    e4 = -l1 * (gx * c1 + gy * s1) / det
    m12, n12 = c12 * (c1 * c2 + s1 * s2), c12 * (s1 * c2 - c1 * s2)
    m34, n34 = c34 * (c3 * c4 + s3 * s4), c34 * (s3 * c4 - c3 * s4)
    f1 = -n12 * q2 - w1 * c1 - c11 * e1
    f2 = n12 * q1 - w2 * c2 - m12 * e1
    f3 = -n34 * q4 - w3 * c3 - m34 * e4
    f4 = n34 * q3 - w4 * c4 - c44 * e4
    p22 = c22 + 2.0 * m12 * a1 + c11 * a1 * a1 + c44 * a4 * a4
    p23 = m12 * b1 + c11 * a1 * b1 + m34 * a4 + c44 * a4 * b4
    p33 = c33 + 2.0 * m34 * b4 + c11 * b1 * b1 + c44 * b4 * b4
    r2, r3 = f2 + a1 * f1 + a4 * f4, f3 + b1 * f1 + b4 * f4
    whole = p22 * p33 - p23 * p23
    return o2, o3, (p33 * r2 - p23 * r3) / whole, (p22 * r3 - p23 * r2) / whole


def _rk4(rates, size: int):
    """The loop for a state that is a tuple of numbers, of one length: no arrays but the record."""
    if size == 2:

        @fast
        def moved(s, k, h):
            return s[0] + h * k[0], s[1] + h * k[1]

    else:

        @fast
        def moved(s, k, h):
            return s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2], s[3] + h * k[3]

    @fast
    def loop(s, h, steps, constants, out):
        for i in range(steps):
            k1 = rates(s, constants)
            k2 = rates(moved(s, k1, 0.5 * h), constants)
            k3 = rates(moved(s, k2, 0.5 * h), constants)
            k4 = rates(moved(s, k3, h), constants)
            s = moved(moved(moved(moved(s, k1, h / 6.0), k2, h / 3.0), k3, h / 3.0), k4, h / 6.0)
            for j in range(len(s)):
                out[i + 1, j] = s[j]

    def solve(start, h, steps, constants):
        out = np.empty((steps + 1, size))
        out[0] = start
        loop(tuple(start), h, steps, constants, out)
        return out

    return solve


@njit
def _multipliers(s, c, w, sl, d, whole, right, out):
    n = w.shape[0]
    x, y, vx, vy = -d, 0.0, 0.0, 0.0
    for i in range(n):
        ci, si, oi = sl[i] * cos(s[i]), sl[i] * sin(s[i]), s[n + i]
        x, y, vx, vy = x + ci, y + si, vx - si * oi, vy + ci * oi
        whole[i, n] = whole[n, i] = -si
        whole[i, n + 1] = whole[n + 1, i] = ci
        right[i] = -w[i] * cos(s[i])
        for j in range(n):
            whole[i, j] = c[i, j] * cos(s[i] - s[j])
            right[i] -= c[i, j] * sin(s[i] - s[j]) * s[n + j] ** 2
    right[n], right[n + 1] = -(20.0 * vx + 100.0 * x), -(20.0 * vy + 100.0 * y)
    for i in range(n):
        right[n] += sl[i] * cos(s[i]) * s[n + i] ** 2
        right[n + 1] += sl[i] * sin(s[i]) * s[n + i] ** 2
    solved = np.linalg.solve(whole, right)
    for i in range(n):
        out[i], out[n + i] = s[n + i], solved[i]


@njit
def _rk4_multipliers(s, h, steps, c, w, sl, d):
    n = w.shape[0]
    whole, right = np.zeros((n + 2, n + 2)), np.zeros(n + 2)
    k = np.zeros((4, 2 * n))
    out = np.empty((steps + 1, 2 * n))
    out[0] = s
    for i in range(steps):
        _multipliers(s, c, w, sl, d, whole, right, k[0])
        _multipliers(s + 0.5 * h * k[0], c, w, sl, d, whole, right, k[1])
        _multipliers(s + 0.5 * h * k[1], c, w, sl, d, whole, right, k[2])
        _multipliers(s + h * k[2], c, w, sl, d, whole, right, k[3])
        s = s + h / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])
        out[i + 1] = s
    return out
