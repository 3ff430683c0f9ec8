"""The smaller operations on rows of row-major matrices.

Everything else in this package is written in these and the loops of `simd`, so that inner loops run along a row (unit
stride). Arguments are a matrix and a row number, not a slice. In loops left to LLVM the indices are unsigned, since a
signed one carries Numba's wrap-around test into the loop and keeps it from being vectorized.
"""

from __future__ import annotations

from math import ldexp

import numpy as np

from dalembert.native.simd import assign, axpy, dot, exchange

from ..native.jit import inline, kernel

U = np.uint64


@inline
def copy(x, i, y, j, lo, hi):
    """y[j, lo:hi] = x[i, lo:hi]."""
    assign(1.0, x, i, y, j, lo, hi)


@inline
def swap(x, i, j, hi):
    """Exchange rows i and j of x[:, :hi]."""
    exchange(0.0, 0.0, x, i, x, j, 0, hi)


@inline
def dot_fresh(x, i, y, j, lo, hi):
    """x[i, lo:hi] · y[j, lo:hi] where y[j] has just been written entry by entry, as in a substitution.

    A wide load must wait until narrow stores have left the store buffer, so short sums are faster one by one.
    """
    if hi - lo > 16:
        return dot(x, i, y, j, lo, hi)
    i, j, s = U(i), U(j), 0.0
    for k in range(U(lo), U(hi)):
        s += x[i, k] * y[j, k]
    return s


@inline
def dot_fresh_vector(x, i, v, lo, hi):
    """`dot_fresh` with a vector."""
    if hi - lo > 16:
        return dot(x, i, v, 0, lo, hi)
    i, s = U(i), 0.0
    for k in range(U(lo), U(hi)):
        s += x[i, k] * v[k]
    return s


@inline
def reflect(v, k, tau, x, i, lo, hi):
    """x[i] ← x[i] (I - tau v vᵀ), with v = v[k, lo:hi]."""
    axpy(-tau * dot(v, k, x, i, lo, hi), v, k, x, i, lo, hi)


@kernel
def scale_binary(x, rows, columns, exponent):
    """x[:rows, :columns] *= 2**exponent, in two factors so that neither overflows."""
    half = exponent // 2
    first, second = ldexp(1.0, half), ldexp(1.0, exponent - half)
    for i in range(rows):
        for j in range(columns):
            x[i, j] = (x[i, j] * first) * second
