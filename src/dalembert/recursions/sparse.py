"""Matrices of traced numbers by their nonzero elements.

A row of a constraint knows the few velocities of its own loop, a link the velocities between it and the ground. Kept
dense, the matrices of a mechanism of N parts would cost N² before the first operation is traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.symbols import is_zero, zeros


class Sparse:
    """An (m, n) matrix: of each row {column: element}, columns rising, exact zeros left out."""

    __slots__ = ("rows", "shape")

    def __init__(self, rows: Sequence[Mapping[int, Any]], width: int):
        self.rows, self.shape = rows, (len(rows), width)

    @staticmethod
    def of(X: np.ndarray | Sparse) -> Sparse:
        """A matrix by its nonzero elements."""
        return X if isinstance(X, Sparse) else Sparse([entries(row) for row in X], X.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """X x, (m,), of a vector (n,)."""
        out = zeros(len(self.rows))
        for i, row in enumerate(self.rows):
            out[i] = sum((a * x[k] for k, a in row.items()), 0.0)
        return out

    def transposed_times(self, y: np.ndarray) -> np.ndarray:
        """Xᵀ y, (n,), of a vector (m,)."""
        out = zeros(self.shape[1])
        for i, row in enumerate(self.rows):
            for k, a in row.items():
                out[k] = out[k] + a * y[i]
        return out

    def without(self, columns: Iterable[int]) -> Sparse:
        """The matrix with zeros in some columns."""
        gone = set(columns)
        return Sparse([{k: a for k, a in row.items() if k not in gone} for row in self.rows], self.shape[1])

    def dense(self) -> np.ndarray:
        """(m, n), zeros included."""
        out = zeros(*self.shape)
        for i, row in enumerate(self.rows):
            for k, a in row.items():
                out[i, k] = a
        return out


def entries(row: np.ndarray) -> dict[int, Any]:
    """{place: element} of a vector, exact zeros left out."""
    return {k: a for k, a in enumerate(row.tolist()) if not is_zero(a)}


def dense(X: np.ndarray | Sparse) -> np.ndarray:
    """(m, n), zeros included."""
    return X.dense() if isinstance(X, Sparse) else X
