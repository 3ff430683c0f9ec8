"""Linear complementarity: w = M z + q, w ≥ 0, z ≥ 0, w · z = 0, by Lemke's method with lexicographic pivots.

Lemke's method ends for copositive M, as those of contacts with friction are: with a solution, or with a ray where
there may be none (Cottle, Pang & Stone, "The Linear Complementarity Problem", 4.4). The solution is a basic one: of
redundant contacts only as many bear as are independent.
"""

from __future__ import annotations

import numpy as np

PIVOTS = 50  # times the size
SMALL = 1e-10  # of the largest entry: a pivot that is rounding


def lemke(M: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """z (n,), or None where the method ends in a ray: there is no solution, or none is found."""
    n = len(q)
    scale = np.abs(q).max(initial=0.0)
    if not n or q.min() >= 0.0:
        return np.zeros(n)
    sizes = np.sqrt(np.maximum(np.abs(M).max(axis=1), 1e-300))  # z' = sizes z: rows and columns of like size
    T = np.hstack([np.eye(n), -M / sizes[:, None] / sizes, -np.ones((n, 1)), (q / scale / sizes)[:, None]])
    cover = 2 * n
    T[:, cover] = -1.0
    basis = list(range(n))  # w first, then z, then the covering variable
    row = int(np.argmin(T[:, -1]))
    entering = _pivot(T, basis, row, cover, n)
    for _ in range(PIVOTS * n):
        column = T[:, entering]
        rows = np.flatnonzero(column > SMALL * max(1.0, np.abs(column).max()))
        if not len(rows):
            return _solution(T, basis, n, scale / sizes) if _covered(T, basis, cover) <= SMALL else None
        row = _leaving(T, basis, rows, entering, cover, n)
        left = _pivot(T, basis, row, entering, n)
        if left == -1:
            return _solution(T, basis, n, scale / sizes)
        entering = left
    return None


def _covered(T: np.ndarray, basis: list[int], cover: int) -> float:
    """How much of the covering variable is left; what is rounding is none."""
    return float(T[basis.index(cover), -1])


def _solution(T: np.ndarray, basis: list[int], n: int, sizes: np.ndarray) -> np.ndarray:
    z = np.zeros(n)
    for k, variable in enumerate(basis):
        if n <= variable < 2 * n:
            z[variable - n] = max(T[k, -1], 0.0)
    return z * sizes


def _leaving(T: np.ndarray, basis: list[int], rows: np.ndarray, entering: int, cover: int, n: int) -> int:
    """The row of least ratio, ties broken by the columns of the first basis; the covering variable first of all."""
    ratios = T[rows, -1] / T[rows, entering]
    tied = rows[ratios <= ratios.min() + 1e-13 * max(1.0, abs(ratios.min()))]
    for k in tied:
        if basis[k] == cover:
            return int(k)
    for j in range(n):
        if len(tied) == 1:
            break
        parts = T[tied, j] / T[tied, entering]
        tied = tied[parts <= parts.min() + 1e-13 * max(1.0, abs(parts.min()))]
    return int(tied[0])


def _pivot(T: np.ndarray, basis: list[int], row: int, entering: int, n: int) -> int:
    """Bring a variable into the basis; returns the complement of the one that left, or −1 if that was the cover."""
    left = basis[row]
    T[row] /= T[row, entering]
    others = np.arange(n) != row
    T[others] -= np.outer(T[others, entering], T[row])
    basis[row] = entering
    return -1 if left == 2 * n else (left + n if left < n else left - n)
