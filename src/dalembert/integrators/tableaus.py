"""Runge-Kutta methods as tables (Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I; II for SDIRK4).

Errors are estimated as for DOP853 (II.10): with e₅ and e₃ the
two embedded errors, err = ‖e₅‖² / √((‖e₅‖² + 0.01 ‖e₃‖²) n); a pair with one estimate has e₃ = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.integrators import dop853
from dalembert.native.struct import Doubles, Int, Ints, Struct


class Tableau(Struct):
    """x⁺ = x + h Σ b_i k_i, k_i = f(t + c_i h, x + h Σ a_ij k_j)."""

    size = Int()  # s
    estimates = Int()  # stages in the error estimate: s, s + 1 where it uses f at the new point, 0 without one
    A = Doubles("size", "size")
    b = Doubles("size")
    c = Doubles("size")
    e5 = Doubles("size + 1")  # error weights, the last for f at the new point
    e3 = Doubles("size + 1")


def _tableau(A: Any, b: Any, c: Any, e5: Any = (), e3: Any = ()) -> Tableau:
    table = Tableau.sized(size=len(b))
    for row, below in zip(table.A[1:], A):
        row[: len(below)] = below
    table.b[:], table.c[:] = b, c
    table.e5[: len(e5)], table.e3[: len(e3)] = e5, e3
    table.estimates = max(len(np.trim_zeros(e, "b")) for e in (table.e5, table.e3))
    return table


TABLEAUS = {
    "rk4": _tableau(A=((1 / 2,), (0, 1 / 2), (0, 0, 1)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6), c=(0, 1 / 2, 1 / 2, 1)),
    "dopri5": _tableau(
        A=(
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84), c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
        e5=(-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40),
    ),
    "dop853": _tableau(A=dop853.A, b=dop853.B, c=dop853.C, e5=dop853.E5, e3=dop853.E3),
}  # fmt: skip

GAMMA = 0.25  # the diagonal coefficient of SDIRK4


class Sdirk(Struct):
    """Coefficients of SDIRK4, and room for the Jacobian of n numbers z and its factors."""

    size = Int()  # n
    A = Doubles("5", "5")
    c = Doubles("5")
    e = Doubles("5")  # b − b̂
    J = Doubles("size", "size")
    LU = Doubles("size", "size")
    pivots = Ints("size")
    right = Doubles("size")


def sdirk4(n: int) -> Sdirk:
    """The method for n numbers z."""
    method = Sdirk.sized(size=n)
    A = method.A
    A[0, 0] = A[1, 1] = A[2, 2] = A[3, 3] = A[4, 4] = GAMMA
    A[1, 0] = 1 / 2
    A[2, :2] = 17 / 50, -1 / 25
    A[3, :3] = 371 / 1360, -137 / 2720, 15 / 544
    A[4, :4] = 25 / 24, -49 / 48, 125 / 16, -85 / 12
    method.c[:] = A.sum(axis=1)
    method.e[:] = A[4] - np.array([59 / 48, -17 / 96, 225 / 32, -85 / 12, 0])
    return method
