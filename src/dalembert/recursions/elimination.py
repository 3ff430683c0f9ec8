"""Accelerations of a constrained tree by sparse elimination, unrolled while it is traced.

    M = Lᵀ D L                       tips first: a tree fills in nothing (Featherstone, section 6.5)          (1)
                                     or never formed: the innovations factor (Jain & Rodriguez), the same L
    Y = D^−1 L^−ᵀ Aᵀ                 a row of A reaches only the links between its bodies and the ground     (2)
    S = A M⁻¹ Aᵀ = (L^−ᵀAᵀ)ᵀ Y      rows that share no link give exact zeros                                 (3)
    S = Λ Δ Λᵀ                       rows of fewest neighbours first                                          (4)
    λ = −S⁻¹ (A M⁻¹ f + γ),   v̇ = M⁻¹ (f + Aᵀλ)                                                             (5)

Zeros of the mechanism never become instructions: the cost of a ladder of N loops grows as N. Nothing is pivoted by
size; with the result comes the margin of the elimination, min_k Δ_k / S_kk: the squared sine of the angle, in the mass
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
    return at.once("mass factor", lambda: Innovations(at) if longest > LONG else TreeFactor(composite_body(at)))


class Elimination:
    """M (by its factor) and A factored once, for many right-hand sides; see the head of this file."""

    def __init__(self, tree: TreeFactor | Innovations, A: np.ndarray):
        m, n = A.shape
        self.tree = tree
        D = tree.inverse
        self.B = [self.tree.lower_transposed(row) for row in A]
        self.touched = [[k for k in range(n) if not _zero(row[k])] for row in self.B]
        self.Y = [np.array([b * d for b, d in zip(row, D)], dtype=object) for row in self.B]  # (2)
        S = zeros(m, m)
        for i in range(m):
            for j in range(i, m):
                common = [k for k in self.touched[i] if not _zero(self.B[j][k])]
                S[i, j] = S[j, i] = sum((self.B[i][k] * self.Y[j][k] for k in common), 0.0)  # (3)
        self.rows = RowFactor(S)
        self.lengths = [S[i, i] for i in range(m)]  # squared
        shortest = self.lengths[0] if m else 1.0
        for length in self.lengths[1:]:
            shortest = minimum(shortest, length)
        self.margin = np.array([self.rows.margin, shortest], dtype=object)

    def solve(self, f: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ with M v̇ = f + Aᵀλ and A v̇ + γ = 0."""
        m = len(self.B)
        g = self.tree.lower_transposed(f)
        right = zeros(m)
        for i in range(m):
            right[i] = -gamma[i] - sum((self.Y[i][k] * g[k] for k in self.touched[i]), 0.0)
        lam = self.rows.solve(right)
        for i in range(m):
            for k in self.touched[i]:
                g[k] = g[k] + self.B[i][k] * lam[i]
        return self.tree.lower(np.array([x * d for x, d in zip(g, self.tree.inverse)], dtype=object)), lam  # (5)

    def columns(self, F: np.ndarray, Gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solutions for c columns at once: F (n, c) and Γ (m, c) give (n, c) and (m, c)."""
        out, lams = zeros(*F.shape), zeros(*Gamma.shape)
        for k in range(F.shape[1]):
            out[:, k], lams[:, k] = self.solve(F[:, k], Gamma[:, k])
        return out, lams


def eliminate(
    tree: TreeFactor | Innovations, f: np.ndarray, A: np.ndarray, gamma: np.ndarray
) -> tuple[np.ndarray, ...]:
    """v̇, λ and the margin of the elimination, (2,), with a factor of the mass matrix; see the head of this file."""
    factor = Elimination(tree, A)
    return *factor.solve(f, gamma), factor.margin


class RowFactor:
    """S = Λ Δ Λᵀ in an order that fills in little, and the margin (4)."""

    def __init__(self, S: np.ndarray):
        H, remaining = S.copy(), list(range(len(S)))
        self.order: list[int] = []
        self.columns: dict[int, list[tuple[int, Any]]] = {}
        self.inverse: dict[int, Any] = {}
        self.margin: Any = 1.0
        while remaining:
            near = {k: [i for i in remaining if i != k and not _zero(H[k, i])] for k in remaining}
            k = min(remaining, key=lambda r: (len(near[r]), r))  # minimum degree
            remaining.remove(k)
            self.order.append(k)
            if _zero(H[k, k]):  # a row of constants that depends on others: known while tracing, nothing to divide by
                self.margin, self.inverse[k] = 0.0, 0.0
            else:
                self.margin, self.inverse[k] = minimum(self.margin, H[k, k] / S[k, k]), 1.0 / H[k, k]
            self.columns[k] = [(i, H[i, k] * self.inverse[k]) for i in near[k]]
            for i, factor in self.columns[k]:
                for j in near[k]:
                    if j <= i:
                        H[i, j] = H[j, i] = H[i, j] - factor * H[j, k]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """S⁻¹ right."""
        x = right.copy()
        for k in self.order:
            if not _zero(x[k]):
                for i, factor in self.columns[k]:
                    x[i] = x[i] - factor * x[k]
        for k in reversed(self.order):
            x[k] = x[k] * self.inverse[k]
            for i, factor in self.columns[k]:
                x[k] = x[k] - factor * x[i]
        return x
