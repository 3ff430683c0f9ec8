"""Small dense algebra for Python callers: checks arguments and allocates results.

>>> import numpy as np
>>> A = np.array([[1.0, 0.0, 1.0], [2.0, 0.0, 2.0]])         # the second row says nothing new
>>> int(factorize(A).info[0])
1
>>> least_squares(A, np.array([1.0, 2.0])).round(12).tolist()
[0.5, 0.0, 0.5]
>>> null_space(A).shape
(2, 3)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ArgumentError

from ..outcome import OK, Outcome
from .factorization import RANK, Factorization, allocate, solve
from .orthogonal import SAFETY, TOLERANCE, factor_svd, rank_factor


@dataclass(frozen=True, slots=True, eq=False)
class SingularValues:
    """A = Uᵀ diag(s) V with the singular vectors as rows."""

    left: np.ndarray  # (m, m), rows are left singular vectors
    values: np.ndarray  # (min(m, n),), descending; exact zeros where A has zero rows left after QR
    right: np.ndarray  # (n, n), rows are right singular vectors; those past the rank span the null space
    rank: int
    status: Outcome


def _matrix(A: ArrayLike) -> np.ndarray:
    matrix = np.ascontiguousarray(A, dtype=np.float64)
    if matrix.ndim != 2:
        raise ArgumentError(f"a matrix is needed; found an array of shape {matrix.shape}")
    return matrix


def _checked(status: int) -> Outcome:
    if status != OK:
        raise ArgumentError(f"the matrix could not be factored: {Outcome(status).sentence}")
    return Outcome(status)


def factorize(A: ArrayLike, tolerance: float = TOLERANCE, safety: float = SAFETY) -> Factorization:
    """The complete factorization of A, null space included. Raises ArgumentError where the kernel returns a status."""
    matrix = _matrix(A)
    f = allocate(*matrix.shape)
    _checked(rank_factor(f, matrix, tolerance, safety, True)[0])
    return f


def least_squares(A: ArrayLike, c: ArrayLike, tolerance: float = TOLERANCE) -> np.ndarray:
    """A⁺ c: the shortest of all v that make ‖A v - c‖ least."""
    f = factorize(A, tolerance)
    right = np.ascontiguousarray(c, dtype=np.float64)
    if right.shape != (f.left.shape[0],):
        raise ArgumentError(f"A has {f.left.shape[0]} rows, so c needs as many entries; found {right.shape}")
    v = np.empty(f.basis.shape[0])
    solve(f, right, v)
    return v


def null_space(A: ArrayLike, tolerance: float = TOLERANCE) -> np.ndarray:
    """Orthonormal rows that span the null space of A."""
    f = factorize(A, tolerance)
    return f.basis[f.info[RANK] :].copy()


def singular_values(A: ArrayLike, tolerance: float = TOLERANCE) -> SingularValues:
    """The full SVD by one-sided Jacobi, to high relative accuracy."""
    matrix = _matrix(A)
    m, n = matrix.shape
    f = allocate(m, n)
    status, rank = factor_svd(f, matrix, tolerance, True)
    return SingularValues(f.left, f.core.diagonal().copy(), f.basis, rank, _checked(status))
