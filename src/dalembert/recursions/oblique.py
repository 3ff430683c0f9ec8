"""x and λ of M x = f + Aᵀλ, B x + γ = 0, by elements: constraint forces along the rows A, motions along the rows B.

A step of discrete mechanics has constraint forces at its start, A, and a constraint at its end, B. [M −Aᵀ; B 0] has the
pattern of a symmetric matrix, so the orders of `saddle` serve; nothing is pivoted by size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.recursions.saddle import cheapest_order
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import is_zero


def oblique(
    M: np.ndarray | Sparse, f: np.ndarray, A: np.ndarray | Sparse, B: np.ndarray | Sparse, gamma: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """x (n,) and λ (m,); the rows A and B, (m, n) each."""
    m, n = A.shape
    H: list[dict[int, Any]] = [dict(row) for row in Sparse.of(M).rows]
    H += [{} for _ in range(m)]
    for r, (at, bt) in enumerate(zip(Sparse.of(A).rows, Sparse.of(B).rows)):
        for k in {*at, *bt}:
            H[k][n + r], H[n + r][k] = at.get(k, 0.0), bt.get(k, 0.0)
    order, _ = cheapest_order([set(row) - {i} for i, row in enumerate(H)], n)
    x = np.concatenate([f, -gamma])
    upper: list[list[tuple[int, Any]]] = [[] for _ in H]
    inverse: list[Any] = [0.0] * len(H)
    for k in order:  # forward: the matrix is [M Aᵀ; B 0], its unknowns x and −λ
        row = H[k]
        pivot = row.pop(k, 0.0)
        if not is_zero(pivot):  # else a row of constants that depends on others: nothing to divide by
            inverse[k] = 1.0 / pivot
        upper[k] = sorted(row.items())
        for i, _ in upper[k]:
            factor = H[i].pop(k, 0.0) * inverse[k]
            if is_zero(factor):
                continue
            x[i] = x[i] - factor * x[k]
            for j, value in upper[k]:
                H[i][j] = H[i].get(j, 0.0) - factor * value
    for k in reversed(order):
        x[k] = (x[k] - sum((value * x[j] for j, value in upper[k]), 0.0)) * inverse[k]
    return x[:n], -x[n:]
