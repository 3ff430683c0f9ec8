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

(1) to (4) are one elimination of the symmetric matrix [M Aᵀ; A 0], the velocities first. A row can go as soon as its
own velocities are gone: a loop is then eliminated within what carries it, as a cluster of the tree (Chignoli, Adrian,
Kim and Wensing, arXiv 2311.13732), and many loops on one body do not meet in S. The cheaper of the two orders is
taken, by a count of operations; in the second the metric of a row is that of the mechanism with its carrier held.
Where paths are too long to form M, local loops are eliminated in the recursion of `clusters`, in the same metric.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.recursions.clusters import ClusterFactor, Group, groups
from dalembert.recursions.composite_body import composite_elements
from dalembert.recursions.innovations import Innovations
from dalembert.recursions.saddle import SaddleFactor, substituted
from dalembert.recursions.sparse import Sparse
from dalembert.recursions.tree import ROOT, Placed
from dalembert.symbols import is_zero, minimum, zeros

LONG = 14  # velocities between the ground and a tip; planar chains break even at 8, spatial ones at 13
LOCAL = 14  # velocities that the largest cluster may have, or a third of all, for an elimination by clusters


class TreeFactor:
    """M = Lᵀ D L with unit lower triangular L, structural zeros kept; made when it is first used."""

    def __init__(self, M: np.ndarray | Sparse):
        self.M = Sparse.of(M)
        self.eliminations: dict[tuple[int, ...], Elimination] = {}

    @cached_property
    def _factors(self) -> tuple[list[Any], list[list[tuple[int, Any]]]]:
        n = len(self.M)
        H = [{i: x for i, x in row.items() if i <= k} for k, row in enumerate(self.M.rows)]  # the lower triangle
        inverse: list[Any] = [1.0] * n
        L: list[list[tuple[int, Any]]] = [[] for _ in range(n)]  # row k: (i, L_ki), i < k
        for k in reversed(range(n)):  # (1)
            inverse[k] = 1.0 / H[k].pop(k, 0.0)
            below = sorted(i for i, x in H[k].items() if not is_zero(x))
            L[k] = [(i, H[k][i] * inverse[k]) for i in below]
            for i, factor in L[k]:
                for j in below:
                    if j <= i:
                        H[i][j] = H[i].get(j, 0.0) - factor * H[k][j]
        return inverse, L

    @property
    def inverse(self) -> list[Any]:
        """1/d of every velocity."""
        return self._factors[0]

    @property
    def L(self) -> list[list[tuple[int, Any]]]:
        """(i, L_ki), i < k, of every row k."""
        return self._factors[1]

    def lower_transposed(self, x: np.ndarray) -> np.ndarray:
        """L^−ᵀ x."""
        x = x.copy()
        for k in reversed(range(len(x))):
            if not is_zero(x[k]):
                for i, factor in self.L[k]:
                    x[i] = x[i] - factor * x[k]
        return x

    def lower_transposed_row(self, row: Mapping[int, Any]) -> dict[int, Any]:
        """L^−ᵀ of a row of A by its elements: only what lies between them and the ground is touched."""
        x, waiting = dict(row), [-k for k in row]
        heapq.heapify(waiting)
        while waiting:
            k = -heapq.heappop(waiting)  # tips first
            for i, factor in self.L[k]:
                if i not in x:
                    heapq.heappush(waiting, -i)
                x[i] = x.get(i, 0.0) - factor * x[k]
        return {k: x[k] for k in sorted(x) if not is_zero(x[k])}

    def lower(self, x: np.ndarray) -> np.ndarray:
        """L⁻¹ x."""
        x = x.copy()
        for k in range(len(x)):
            for i, factor in self.L[k]:
                if not is_zero(x[i]):
                    x[k] = x[k] - factor * x[i]
        return x


def mass_factor(at: Placed) -> TreeFactor | Innovations:
    """M = Lᵀ D L by the route of fewer operations: from M where paths are short, by innovations where they are long.

    On a path of d velocities (1) takes about d³/6 operations and a row d²/2 more; innovations take about 120 d for the
    factor and three rows (spatial chains). See benchmarks/README.md for the crossover.
    """
    before = {ROOT: 0}  # velocities between the ground and each link
    for i in at.tree.outward():
        before[i] = before[at.tree.links[i].parent] + at.tree.links[i].joint.nv
    longest = max(before.values())
    return at.once("mass factor", lambda: Innovations(at) if longest > LONG else TreeFactor(composite_elements(at)))


class Elimination:
    """M (by its factor) and A factored once, for many right-hand sides; see the head of this file.

    `inertias`: D of M = Lᵀ D L, (n,), or zeros where the order does not bring it about.
    """

    def __init__(self, tree: TreeFactor | Innovations, A: np.ndarray | Sparse):
        self.tree, self.A, self.m = tree, A, len(A)
        self.whole: SaddleFactor | ClusterFactor | None = None
        if isinstance(tree, TreeFactor):
            self.whole = SaddleFactor(tree.M, A)
            lengths, margin, self.inertias = self.whole.lengths, self.whole.margin, self.whole.inertias
        elif (local := _local(tree, Sparse.of(A))) is not None:
            self.whole, self.inertias = ClusterFactor(tree.at, Sparse.of(A), local), [0.0] * tree.tree.nv
            lengths, margin = self.whole.lengths, self.whole.margin
        else:
            D, self.inertias = tree.inverse, [x for _, factors in tree.blocks for x in factors.d]
            self.B = [tree.lower_transposed_row(row) for row in Sparse.of(A).rows]
            self.touched = [list(row) for row in self.B]
            self.Y = [{k: b * D[k] for k, b in row.items()} for row in self.B]  # (2)
            S: list[dict[int, Any]] = [{} for _ in range(self.m)]
            for (i, j), common in shared(self.touched).items():
                S[i][j] = S[j][i] = sum((self.B[i][k] * self.Y[j][k] for k in common), 0.0)  # (3)
            self.rows = RowFactor(S)
            lengths, margin = [S[i].get(i, 0.0) for i in range(self.m)], self.rows.margin
        shortest = reduce(minimum, lengths) if self.m else 1.0
        self.margin = np.array([margin, shortest], dtype=object)

    @staticmethod
    def of(tree: TreeFactor | Innovations, A: np.ndarray | Sparse) -> Elimination:
        """That of a factor and rows, made once for the same rows: several functions of a mechanism share it."""
        if not isinstance(A, Sparse):
            return Elimination(tree, A)
        key = tuple(map(id, A.rows))
        known = tree.eliminations.get(key)
        if known is None:
            known = tree.eliminations[key] = Elimination(tree, A)
        return known

    def solve(self, f: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ with M v̇ = f + Aᵀλ and A v̇ + γ = 0."""
        if self.whole is not None:
            return self.whole.solve(f, gamma)
        g = self.tree.lower_transposed(f)
        right = zeros(self.m)
        for i in range(self.m):
            right[i] = -gamma[i] - sum((self.Y[i][k] * g[k] for k in self.touched[i]), 0.0)
        lam = self.rows.solve(right)
        for i in range(self.m):
            for k in self.touched[i]:
                g[k] = g[k] + self.B[i][k] * lam[i]
        return self.tree.lower(np.array([x * d for x, d in zip(g, self.tree.inverse)], dtype=object)), lam  # (5)

    def columns(self, F: np.ndarray, Gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solutions for c columns at once: F (n, c) and Γ (m, c) give (n, c) and (m, c)."""
        out, lams = zeros(*F.shape), zeros(*Gamma.shape)
        for k in range(F.shape[1]):
            out[:, k], lams[:, k] = self.solve(F[:, k], Gamma[:, k])
        return out, lams


def _local(tree: Innovations, A: Sparse) -> list[Group] | None:
    """The clusters of a tree, where its loops are several and none ties many velocities: the rows of all would meet."""
    found = groups(tree.tree, A) if len(A) else None
    if found is None:
        return None
    sizes = [sum(tree.tree.links[i].joint.nv for i in links) for links, rows in found if rows]
    return found if len(sizes) > 1 and max(sizes) <= max(LOCAL, tree.tree.nv // 3) else None


def eliminate(
    tree: TreeFactor | Innovations, f: np.ndarray, A: np.ndarray | Sparse, gamma: np.ndarray
) -> tuple[np.ndarray, ...]:
    """v̇, λ and the margin of the elimination, (2,), with a factor of the mass matrix; see the head of this file."""
    factor = Elimination.of(tree, A)
    return *factor.solve(f, gamma), factor.margin


def shared(touched: list[list[int]]) -> dict[tuple[int, int], list[int]]:
    """The velocities that two rows have in common, for every pair (i, j), i ≤ j, that has any."""
    rows_at: dict[int, list[int]] = {}
    for i, velocities in enumerate(touched):
        for k in velocities:
            rows_at.setdefault(k, []).append(i)
    out: dict[tuple[int, int], list[int]] = {}
    for k, rows in sorted(rows_at.items()):
        for place, i in enumerate(rows):
            for j in rows[place:]:
                out.setdefault((i, j), []).append(k)
    return out


class RowFactor:
    """S = Λ Δ Λᵀ in an order that fills in little, and the margin (4)."""

    def __init__(self, S: Sequence[dict[int, Any]]):
        """S, symmetric, by rows: {column: element}, what is zero left out."""
        H = [{j: x for j, x in row.items() if not is_zero(x)} for row in S]
        lengths = [row.get(k, 0.0) for k, row in enumerate(H)]
        waiting = [(len(row) - (k in row), k) for k, row in enumerate(H)]
        heapq.heapify(waiting)
        self.order: list[int] = []
        self.columns: dict[int, list[tuple[int, Any]]] = {}
        self.inverse: dict[int, Any] = {}
        self.margin: Any = 1.0
        while waiting:
            degree, k = heapq.heappop(waiting)  # minimum degree
            row = H[k]
            if k in self.inverse or degree != len(row) - (k in row):
                continue
            self.order.append(k)
            pivot = row.pop(k, 0.0)
            if is_zero(pivot):  # a row of constants that depends on others: known while tracing, nothing to divide by
                self.margin, self.inverse[k] = 0.0, 0.0
            else:
                self.margin, self.inverse[k] = minimum(self.margin, pivot / lengths[k]), 1.0 / pivot
            near = sorted(row)
            self.columns[k] = [(i, row[i] * self.inverse[k]) for i in near]
            for i, factor in self.columns[k]:
                del H[i][k]
                for j in near:
                    if j <= i:
                        x = H[i].get(j, 0.0) - factor * row[j]
                        if not is_zero(x):
                            H[i][j] = H[j][i] = x
                        elif j in H[i]:
                            del H[i][j]
                            H[j].pop(i, None)
            for i in near:
                heapq.heappush(waiting, (len(H[i]) - (i in H[i]), i))

    @staticmethod
    def of(S: np.ndarray) -> RowFactor:
        """The factor of a dense matrix S (m, m)."""
        return RowFactor([dict(enumerate(row)) for row in S])

    def solve(self, right: np.ndarray) -> np.ndarray:
        """S⁻¹ right."""
        return substituted(right.copy(), self.order, self.columns, self.inverse)
