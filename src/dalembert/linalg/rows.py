"""The decorators of all kernels, and the smaller operations on rows of row-major matrices.

Everything else in this package is written in these and the loops of `simd`, so that inner loops run along a row (unit
stride). Arguments are a matrix and a row number, not a slice. In loops left to LLVM the indices are unsigned, since a
signed one carries Numba's wrap-around test into the loop and keeps it from being vectorized.
"""

from __future__ import annotations

from math import ldexp
from typing import Any

import numpy as np
from numba import njit

from .freshness import discard_stale_kernels
from .simd import assign, axpy, dot, exchange

discard_stale_kernels()  # before the first kernel is loaded

U = np.uint64

# Only `contract` (fused multiply-add): scaling by powers of two must not be regrouped. `_nrt=False` compiles without
# Numba's allocator and reference counts: a kernel that would allocate does not compile, and small ones run up to twice
# as fast. Kernels that call these should be made with the same decorators, for the same reason.
_common: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
    "_nrt": False,
}

kernel = njit(**_common)
small = njit(**_common, forceinline=True)  # worth inlining wherever it is called
# for kernels to call; Python cannot. Without a wrapper for Python they take half the time to compile
_within: dict[str, Any] = {**_common, "no_cpython_wrapper": True}
inner = njit(**_within)
inlined = njit(**_within, forceinline=True)


@inlined
def copy(x, i, y, j, lo, hi):
    """y[j, lo:hi] = x[i, lo:hi]."""
    assign(1.0, x, i, y, j, lo, hi)


@inlined
def swap(x, i, j, hi):
    """Exchange rows i and j of x[:, :hi]."""
    exchange(0.0, 0.0, x, i, x, j, 0, hi)


@inlined
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


@inlined
def dot_fresh_vector(x, i, v, lo, hi):
    """`dot_fresh` with a vector."""
    if hi - lo > 16:
        return dot(x, i, v, 0, lo, hi)
    i, s = U(i), 0.0
    for k in range(U(lo), U(hi)):
        s += x[i, k] * v[k]
    return s


@inlined
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
