"""Cholesky factor of a symmetric positive definite matrix, and solves with it.

M = RᵀR with R upper triangular, so R = Lᵀ: row k of R is column k of L. The upper factor is kept because, in
row-major storage, both the factorization (right-looking: subtract multiples of row k from the rows below) and both
triangular solves then run along rows. Golub & Van Loan, Matrix Computations (4th ed.), 4.2.6, outer-product form.

Cost n³/3. `upper` may be the same array as `m`; below the diagonal it is neither read nor written.
"""

from __future__ import annotations

from math import inf, sqrt

from dalembert.native.simd import assign, axpy, dot

from ..native.jit import kernel, small
from ..outcome import NOT_POSITIVE, OK
from .rows import copy, dot_fresh, dot_fresh_vector


@kernel
def cholesky(m, upper):
    """R with M = RᵀR, from the upper triangle of m. Returns (status, rank, hint).

    rank is n, or the index of the first pivot that is zero, negative or not finite (the block before it is factored).
    hint is (min R_kk / max R_kk)², never below 1/κ(M) and usually within a modest factor of it; 0 on failure.
    """
    n = m.shape[0]
    for i in range(n):
        copy(m, i, upper, i, i, n)
    low, high = 0.0, 0.0
    for k in range(n):
        pivot = upper[k, k]
        if not (0.0 < pivot < inf):
            return NOT_POSITIVE, k, 0.0
        pivot = sqrt(pivot)
        upper[k, k] = pivot
        low = pivot if k == 0 else min(low, pivot)
        high = max(high, pivot)
        assign(1.0 / pivot, upper, k, upper, k, k + 1, n)
        for i in range(k + 1, n):
            axpy(-upper[k, i], upper, k, upper, i, i, n)
    if n == 0:
        return OK, 0, 1.0
    return OK, n, (low / high) ** 2


@small
def solve_upper(upper, x):
    """X ← R⁻¹ x."""
    n = upper.shape[0]
    for k in range(n - 1, -1, -1):
        x[k] = (x[k] - dot_fresh_vector(upper, k, x, k + 1, n)) / upper[k, k]


@small
def solve_upper_transposed(upper, x):
    """X ← R⁻ᵀ x."""
    n = upper.shape[0]
    if n > 16:
        for k in range(n):
            x[k] /= upper[k, k]
            axpy(-x[k], upper, k, x, 0, k + 1, n)
        return
    for k in range(n):  # down the columns: for short ones waiting for stores costs more than the stride
        s = x[k]
        for j in range(k):
            s -= upper[j, k] * x[j]
        x[k] = s / upper[k, k]


@kernel
def multiply_upper(upper, x):
    """X ← R x."""
    n = upper.shape[0]
    for k in range(n):
        x[k] = dot(upper, k, x, 0, k, n)


@kernel
def solve_cholesky(upper, x):
    """X ← M⁻¹ x."""
    solve_upper_transposed(upper, x)
    solve_upper(upper, x)


@kernel
def solve_upper_rows(upper, xs, count):
    """Each of the first `count` rows x of xs ← R⁻¹ x."""
    n = upper.shape[0]
    for i in range(count):
        for k in range(n - 1, -1, -1):
            xs[i, k] = (xs[i, k] - dot_fresh(upper, k, xs, i, k + 1, n)) / upper[k, k]


@kernel
def solve_upper_transposed_rows(upper, xs, count):
    """Each of the first `count` rows x of xs ← R⁻ᵀ x; as a matrix, X ← X R⁻¹."""
    n = upper.shape[0]
    for k in range(n):
        inverse = 1.0 / upper[k, k]
        for i in range(count):
            xs[i, k] *= inverse
            axpy(-xs[i, k], upper, k, xs, i, k + 1, n)


@kernel
def solve_cholesky_rows(upper, xs, count):
    """Each of the first `count` rows x of xs ← M⁻¹ x: right-hand sides are rows."""
    solve_upper_transposed_rows(upper, xs, count)
    solve_upper_rows(upper, xs, count)
