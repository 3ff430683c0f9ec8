"""Accelerations of a constrained tree by sparse elimination, unrolled while it is traced.

    M = Lᵀ D L                       tips first: a tree fills in nothing (Featherstone, section 6.5)          (1)
                                     or never formed: the innovations factor (Jain & Rodriguez), the same L
    Y = D^−1 L^−ᵀ Aᵀ                 a row of A reaches only the links between its bodies and the ground     (2)
    S = A M⁻¹ Aᵀ = (L^−ᵀAᵀ)ᵀ Y      rows that share no link give exact zeros                                 (3)
    S = Λ Δ Λᵀ                       rows of fewest neighbours first                                          (4)
    λ = −S⁻¹ (A M⁻¹ f + γ),   v̇ = M⁻¹ (f + Aᵀλ)                                                             (5)

Zeros of the mechanism never become instructions: the cost of a ladder of N loops grows as N. Nothing is pivoted by
size; with the result comes the health of the elimination, min_k Δ_k / S_kk: the squared sine of the angle, in the mass
metric, between a row and those before it, and min_k S_kk, the squared length of the shortest row. Where either is tiny
the rows are dependent, and a formulation that reveals the rank has to decide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.recursions.composite_body import composite_body
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.tree import Placed
from dalembert.symbols import is_number, minimum, zeros

LONG = 14  # velocities between the ground and a tip; planar chains break even at 8, spatial ones at 13


def _zero(x: Any) -> bool:
    return is_number(x) and x == 0.0


class TreeFactor:
    """M = Lᵀ D L with unit lower triangular L, structural zeros kept."""

    def __init__(self, M: np.ndarray):
        n = len(M)
        H = M.copy()
        self.inverse = [1.0] * n
        self.L: list[list[tuple[int, Any]]] = [[] for _ in range(n)]  # row k: (i, L_ki), i < k
        for k in reversed(range(n)):  # (1)
            self.inverse[k] = 1.0 / H[k, k]
            below = [i for i in range(k) if not _zero(H[k, i])]
            self.L[k] = [(i, H[k, i] * self.inverse[k]) for i in below]
            for i, factor in self.L[k]:
                for j in below:
                    if j <= i:
                        H[i, j] = H[j, i] = H[i, j] - factor * H[k, j]

    def lower_transposed(self, x: np.ndarray) -> np.ndarray:
        """L^−ᵀ x."""
        x = x.copy()
        for k in reversed(range(len(x))):
            if not _zero(x[k]):
                for i, factor in self.L[k]:
                    x[i] = x[i] - factor * x[k]
        return x

    def lower(self, x: np.ndarray) -> np.ndarray:
        """L⁻¹ x."""
        x = x.copy()
        for k in range(len(x)):
            for i, factor in self.L[k]:
                if not _zero(x[i]):
                    x[k] = x[k] - factor * x[i]
        return x


def mass_factor(at: Placed) -> TreeFactor | Innovations:
    """M = Lᵀ D L by the route of fewer operations: from M where paths are short, by innovations where they are long.

    On a path of d velocities (1) takes about d³/6 operations and a row d²/2 more; innovations take about 120 d for the
    factor and three rows (spatial chains). See benchmarks/README.md for the crossover.
    """
    longest = max((sum(at.tree.links[k].joint.nv for k in at.tree.path(i)) for i in at.tree.outward()), default=0)
    return Innovations(at) if longest > LONG else TreeFactor(composite_body(at))


def eliminate(
    tree: TreeFactor | Innovations, f: np.ndarray, A: np.ndarray, gamma: np.ndarray
) -> tuple[np.ndarray, ...]:
    """v̇, λ and the health of the elimination, (2,), with a factor of the mass matrix; see the head of this file."""
    m, n = A.shape
    D = tree.inverse
    g = tree.lower_transposed(f)
    B = [tree.lower_transposed(row) for row in A]
    touched = [[k for k in range(n) if not _zero(row[k])] for row in B]
    Y = [np.array([b * d for b, d in zip(row, D)], dtype=object) for row in B]  # (2)
    S = zeros(m, m)
    for i in range(m):
        for j in range(i, m):
            common = [k for k in touched[i] if not _zero(B[j][k])]
            S[i, j] = S[j, i] = sum((B[i][k] * Y[j][k] for k in common), 0.0)  # (3)
    right = zeros(m)
    for i in range(m):
        right[i] = -gamma[i] - sum((Y[i][k] * g[k] for k in touched[i]), 0.0)
    lam, health = _solve(S, right)
    shortest = S[0, 0] if m else 1.0
    for i in range(1, m):
        shortest = minimum(shortest, S[i, i])
    for i in range(m):
        for k in touched[i]:
            g[k] = g[k] + B[i][k] * lam[i]
    vdot = tree.lower(np.array([x * d for x, d in zip(g, D)], dtype=object))  # (5)
    return vdot, lam, np.array([health, shortest], dtype=object)


def _solve(S: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, Any]:
    """S⁻¹ right by LDLᵀ in an order that fills in little, and the health (4)."""
    m = len(S)
    H, x = S.copy(), right.copy()
    remaining, order, health = list(range(m)), [], 1.0
    columns: dict[int, list[tuple[int, Any]]] = {}
    inverse: dict[int, Any] = {}
    while remaining:
        near = {k: [i for i in remaining if i != k and not _zero(H[k, i])] for k in remaining}
        k = min(remaining, key=lambda r: (len(near[r]), r))  # minimum degree
        remaining.remove(k)
        order.append(k)
        if _zero(H[k, k]):  # a row of constants that depends on others: known while tracing, and nothing to divide by
            health, inverse[k] = 0.0, 0.0
        else:
            health, inverse[k] = minimum(health, H[k, k] / S[k, k]), 1.0 / H[k, k]
        columns[k] = [(i, H[i, k] * inverse[k]) for i in near[k]]
        for i, factor in columns[k]:
            x[i] = x[i] - factor * x[k]
            for j in near[k]:
                if j <= i:
                    H[i, j] = H[j, i] = H[i, j] - factor * H[j, k]
    for k in reversed(order):
        x[k] = x[k] * inverse[k]
        for i, factor in columns[k]:
            x[k] = x[k] - factor * x[i]
    return x, health
