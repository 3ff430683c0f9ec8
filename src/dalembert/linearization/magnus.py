"""Transition matrices of Ẋ = M(t) X over steps: X = exp(Ω) X₀, Ω by Magnus' expansion to sixth order.

Blanes, Casas, Oteo and Ros (2009), Physics Reports 470, (253)-(257): M at the three Gauss points of a step.
"""

from __future__ import annotations

import numpy as np

ROOT = np.sqrt(15.0)
GAUSS = 0.5 + np.array([-ROOT, 0.0, ROOT]) / 10.0  # of a step


def gauss_times(t: np.ndarray) -> np.ndarray:
    """(3 (N − 1),) the Gauss points between N times."""
    return (t[:-1, None] + np.diff(t)[:, None] * GAUSS).ravel()


def exponents(M: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(K, n, n) Ω of K steps of these lengths (s), from M (K, 3, n, n) at their Gauss points."""
    h = steps[:, None, None]
    first, middle, last = M[:, 0], M[:, 1], M[:, 2]
    a1, a2, a3 = h * middle, ROOT / 3.0 * h * (last - first), 10.0 / 3.0 * h * (last - 2.0 * middle + first)
    c1 = _commutator(a1, a2)
    c2 = -_commutator(a1, 2.0 * a3 + c1) / 60.0
    return a1 + a3 / 12.0 + _commutator(-20.0 * a1 - a3 + c1, a2 + c2) / 240.0


def _commutator(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x @ y - y @ x
