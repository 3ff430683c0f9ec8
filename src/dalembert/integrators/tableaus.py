"""Explicit Runge-Kutta methods as tables (Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I).

The embedded pairs are those of SciPy's public classes. Errors are estimated as for DOP853 (II.10): with e₅ and e₃ the
two embedded errors, err = ‖e₅‖² / √((‖e₅‖² + 0.01 ‖e₃‖²) n); a pair with one estimate has e₃ = 0.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np


class Tableau(NamedTuple):
    """x⁺ = x + h Σ b_i k_i, k_i = f(t + c_i h, x + h Σ a_ij k_j)."""

    A: np.ndarray  # (s, s)
    b: np.ndarray  # (s,)
    c: np.ndarray  # (s,)
    e5: np.ndarray  # (s + 1,) error weights, the last for f at the new point; zero for a method without estimate
    e3: np.ndarray
    order: int
    exponent: float  # 1 / (order of the error estimate + 1); 0 for a fixed step

    @property
    def stages(self) -> int:
        """Rows needed in the array of stages."""
        return len(self.b) + 3


@cache
def tableau(name: str) -> Tableau:
    """A method by name: "rk4", "dopri5" or "dop853"."""
    if name == "rk4":
        A = np.zeros((4, 4))
        A[1, 0] = A[2, 1] = 0.5
        A[3, 2] = 1.0
        return Tableau(A, np.array([1, 2, 2, 1]) / 6, np.array([0, 0.5, 0.5, 1]), np.zeros(5), np.zeros(5), 4, 0.0)
    from scipy.integrate import DOP853, RK45

    if name == "dopri5":
        A = np.zeros((6, 6))
        A[:, : RK45.A.shape[1]] = RK45.A
        return Tableau(A, RK45.B, RK45.C, RK45.E, np.zeros(7), 5, 1 / 5)
    return Tableau(np.ascontiguousarray(DOP853.A), DOP853.B, DOP853.C, DOP853.E5, DOP853.E3, 8, 1 / 8)


METHODS = ("dop853", "dopri5", "rk4")
