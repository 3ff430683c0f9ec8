"""Motions in terms of chosen coordinates, at a traced state.

Velocities of the tree that are chosen are given; the others follow from N, the rows of A and of those coordinates that
are functions of the state, at the velocities that are not chosen: N⁺ = w Nᵀ (N w Nᵀ)⁻¹, w the inverse inertias of M's
own factor. Rows are kept by their nonzero elements, so that loops that share no velocity cost nothing together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.lazy import cached_property
from dalembert.recursions.elimination import RowFactor, shared
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import is_zero, zeros


class CoordinateFrame:
    """The rows [functions; A] and the chosen coordinates, factored for many right-hand sides."""

    def __init__(self, chosen: Sequence[Coordinate], functions: Sparse, A: Sparse, weights: Sequence[Any]):
        """`functions`: rows of the coordinates that are no velocities of the tree, in their order."""
        self.chosen, self.nv, self.rows = chosen, A.shape[1], [*functions.rows, *A.rows]
        taken = {c.index for c in chosen if c.index is not None}
        self.rest = [k for k in range(self.nv) if k not in taken]
        self.N = [{k: x for k, x in row.items() if k not in taken} for row in self.rows]
        self.weighted = [{k: x * weights[k] for k, x in row.items()} for row in self.N]
        S: list[dict[int, Any]] = [{} for _ in self.N]
        for (i, j), common in shared([list(row) for row in self.N]).items():
            S[i][j] = S[j][i] = sum((self.weighted[i][k] * self.N[j][k] for k in common), 0.0)
        self.small = RowFactor(S)

    def motion(self, rates: np.ndarray, right: np.ndarray) -> np.ndarray:
        """x, (nv,), with given rates of the chosen coordinates and A x = right."""
        x, functions = zeros(self.nv), []
        for c, rate in zip(self.chosen, rates):
            if c.index is None:
                functions.append(rate)
            else:
                x[c.index] = rate
        return x + self.dependent(np.array([*functions, *right], dtype=object) - Sparse(self.rows, self.nv) @ x)

    def dependent(self, right: np.ndarray) -> np.ndarray:
        """x, (nv,), with the chosen velocities of the tree at rest and [functions; A] x = right."""
        x = zeros(self.nv)
        if not all(map(is_zero, right)):
            for row, y in zip(self.weighted, self.small.solve(right)):
                for k, a in row.items():
                    x[k] = x[k] + a * y
        return x

    def dual(self, force: np.ndarray) -> np.ndarray:
        """z, (rows,), with [functions; A]ᵀ z = force at the dependent velocities."""
        return self.small.solve(Sparse(self.weighted, self.nv) @ force)

    @cached_property
    def K(self) -> np.ndarray:
        """(nv, coordinates): the motion with each coordinate at rate 1, the others at rest and A K = 0."""
        still = zeros(len(self.rows) - sum(c.index is None for c in self.chosen))
        one = np.eye(len(self.chosen)).astype(object)
        return columns(lambda rates: self.motion(rates, still), one, self.nv)


def columns(f: Any, X: np.ndarray, size: int) -> np.ndarray:
    """(size, c): f of every column of X, (…, c)."""
    out = zeros(size, X.shape[1])
    for k in range(X.shape[1]):
        out[:, k] = f(X[:, k])
    return out
