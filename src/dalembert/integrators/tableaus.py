"""Runge-Kutta methods as tables (Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I; II for SDIRK4).

Errors are estimated as for DOP853 (II.10): with e₅ and e₃ the
two embedded errors, err = ‖e₅‖² / √((‖e₅‖² + 0.01 ‖e₃‖²) n); a pair with one estimate has e₃ = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.integrators import dop853


class Tableau(NamedTuple):
    """x⁺ = x + h Σ b_i k_i, k_i = f(t + c_i h, x + h Σ a_ij k_j)."""

    A: np.ndarray  # (s, s)
    b: np.ndarray  # (s,)
    c: np.ndarray  # (s,)
    e5: np.ndarray  # (s + 1,) error weights, the last for f at the new point; zero for a method without estimate
    e3: np.ndarray
    order: int
    exponent: float  # 1 / (order of the error estimate + 1); 0 for a fixed step
    size: int  # s

    @property
    def stages(self) -> int:
        """Rows needed in the array of stages."""
        return self.size + 3


def _tableau(A: Any, b: Any, c: Any, e5: Any, e3: Any, order: int, exponent: float) -> Tableau:
    square = np.zeros((len(b), len(b)))
    for row, below in zip(square[1:], A):
        row[: len(below)] = below
    b, c, e5, e3 = (np.array(x, dtype=float) for x in (b, c, e5, e3))
    return Tableau(square, b, c, e5, e3, order, exponent, len(b))


TABLEAUS = {
    "rk4": _tableau(
        A=((1 / 2,), (0, 1 / 2), (0, 0, 1)), b=(1 / 6, 1 / 3, 1 / 3, 1 / 6), c=(0, 1 / 2, 1 / 2, 1),
        e5=(0,) * 5, e3=(0,) * 5, order=4, exponent=0.0,
    ),
    "dopri5": _tableau(
        A=(
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        ),
        b=(35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84), c=(0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1),
        e5=(-71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40), e3=(0,) * 7,
        order=5, exponent=1 / 5,
    ),
    "dop853": _tableau(
        A=dop853.A, b=dop853.B, c=dop853.C, e5=dop853.E5, e3=dop853.E3, order=8, exponent=1 / 8,
    ),
}  # fmt: skip

GAMMA = 0.25  # the diagonal coefficient of SDIRK4


class Sdirk(NamedTuple):
    """Coefficients, and room for the Jacobian and its factors."""

    A: np.ndarray  # (5, 5)
    c: np.ndarray
    e: np.ndarray  # (5,) b − b̂
    exponent: float
    order: int
    stages: int
    size: int  # n
    J: np.ndarray  # (n, n)
    LU: np.ndarray
    pivots: np.ndarray
    right: np.ndarray  # (n,)


def sdirk4(n: int) -> Sdirk:
    """The method for n numbers z."""
    A = np.zeros((5, 5))
    A[0, 0] = A[1, 1] = A[2, 2] = A[3, 3] = A[4, 4] = GAMMA
    A[1, 0] = 1 / 2
    A[2, :2] = 17 / 50, -1 / 25
    A[3, :3] = 371 / 1360, -137 / 2720, 15 / 544
    A[4, :4] = 25 / 24, -49 / 48, 125 / 16, -85 / 12
    b_hat = np.array([59 / 48, -17 / 96, 225 / 32, -85 / 12, 0])
    z = np.zeros
    return Sdirk(
        A, A.sum(axis=1), A[4] - b_hat, 1 / 4, 4, 9, n, z((n, n)), z((n, n)), z(n, dtype=np.int64), z(n)
    )  # stages: ẋ, five slopes, one more, trial, before
