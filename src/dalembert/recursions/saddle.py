"""[M Aᵀ; A 0] factored by its elements, rows after all velocities or after their own alone; see `elimination`."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from dalembert.recursions.sparse import Sparse
from dalembert.symbols import is_zero, minimum

CLEARLY = 0.6  # of the operations of the usual order: from where another one is taken


class SaddleFactor:
    """[M Aᵀ; A 0] = Λ Δ Λᵀ in the cheaper of two orders: see the head of this file. Unknowns: n velocities, m rows."""

    def __init__(self, M: np.ndarray | Sparse, A: np.ndarray | Sparse):
        self.m, self.n = n_rows, n = A.shape
        H: list[dict[int, Any]] = [dict(row) for row in Sparse.of(M).rows]
        H += [{} for _ in range(n_rows)]
        for r, row in enumerate(Sparse.of(A).rows):
            for k, a in row.items():
                H[n + r][k] = H[k][n + r] = a
        pattern = [set(row) - {i} for i, row in enumerate(H)]
        self.order, usual = cheapest_order(pattern, n)
        self.columns: list[list[tuple[int, Any]]] = [[] for _ in H]
        self.inverse: list[Any] = [0.0] * len(H)
        self.lengths: list[Any] = [0.0] * n_rows  # squared, of each row before other rows take from it
        left: list[Any] = [0.0] * n_rows  # and after
        self.margin: Any = 1.0
        self.inertias: list[Any] = [0.0] * n  # of M = Lᵀ D L, where the velocities went first; else 0
        for k in self.order:
            row = H[k]
            if k < n:
                pivot = row.pop(k, 0.0)
                self.inertias[k] = pivot if usual else 0.0
                self.inverse[k] = 1.0 / pivot
            elif is_zero(left[k - n]):  # a row of constants that depends on others: nothing to divide by
                self.margin = 0.0
            else:
                self.inverse[k] = -1.0 / left[k - n]
                self.margin = minimum(self.margin, left[k - n] / self.lengths[k - n])
            near = sorted(row)
            self.columns[k] = [(i, row[i] * self.inverse[k]) for i in near]
            for i, factor in self.columns[k]:
                del H[i][k]
                for j in near:
                    if j > i:
                        continue
                    change = factor * row[j]
                    if i == j and i >= n:
                        left[i - n] = left[i - n] + change
                        if k < n:
                            self.lengths[i - n] = self.lengths[i - n] + change
                    else:
                        H[i][j] = H[j][i] = H[i].get(j, 0.0) - change

    def solve(self, f: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ with M v̇ = f + Aᵀλ and A v̇ + γ = 0."""
        x = substituted(np.concatenate([f, -gamma]), self.order, self.columns, self.inverse)
        return x[: self.n], -x[self.n :]


def substituted(x: np.ndarray, order: list[int], columns: Any, inverse: Any) -> np.ndarray:
    """The solution for a right-hand side x, in its place: forward and back through the factors of an elimination.

    order: numbers of the pivots; by number, columns: (row, factor) below each, and inverse: 1/pivot.
    """
    for k in order:
        if not is_zero(x[k]):
            for i, factor in columns[k]:
                x[i] = x[i] - factor * x[k]
    for k in reversed(order):
        x[k] = x[k] * inverse[k]
        for i, factor in columns[k]:
            x[k] = x[k] - factor * x[i]
    return x


def cheapest_order(pattern: list[set[int]], n: int) -> tuple[list[int], bool]:
    """The cheaper order of n velocities and of the rows after them, and whether all velocities go first.

    pattern: the numbers of the other unknowns that each meets.
    """
    late, own = (_order(pattern, n, late) for late in (True, False))
    usual = len(pattern) == n or own[0] >= CLEARLY * late[0]
    return (late if usual else own)[1], usual


def _order(pattern: list[set[int]], n: int, late: bool) -> tuple[int, list[int]]:
    """Operations of an elimination and its order, of least degree; rows after all velocities, or after their own."""
    near = [set(s) for s in pattern]
    count, order = 0, list[int]()

    def take(k: int) -> None:
        nonlocal count
        order.append(k)
        count += len(near[k]) * (len(near[k]) + 5) // 2
        for i in near[k]:
            near[i] |= near[k]
            near[i] -= {i, k}

    if late:
        for k in reversed(range(n)):
            take(k)
    owns = [0 if late or k < n else len(pattern[k]) for k in range(len(pattern))]  # velocities that a row waits for

    def entry(k: int) -> tuple[int, bool, int, int]:
        return len(near[k]), k < n, k if k >= n else -k, k

    done = set(order)
    waiting = [entry(k) for k in range(len(near)) if k not in done and not owns[k]]
    heapq.heapify(waiting)
    while waiting:
        degree, _, _, k = heapq.heappop(waiting)
        if k in done or degree != len(near[k]):
            continue
        done.add(k)
        around = sorted(near[k])
        take(k)
        for i in around:
            if i >= n and k in pattern[i] and not late:
                owns[i] -= 1
            if owns[i] == 0:
                heapq.heappush(waiting, entry(i))
    return count, order
