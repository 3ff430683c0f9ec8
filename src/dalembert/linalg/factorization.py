"""One factorization, many small uses of it.

A `Factorization` of A (m × n) holds, whichever route made it (`orthogonal.rank_factor`),

    A = U T Q₁ᵀ,   U = left[:r]ᵀ,   T = core[:r, :r],   Q₁ = basis[:r]ᵀ,   Q₂ = basis[r:]ᵀ                (1)

with r = info[RANK] and everything stored by rows, so that each use below runs along rows:

    basis  (n, n)  orthonormal rows: the first r span the rows of A, the others its null space. The others are there
                   only when the factorization was asked for them, or after `complete`.
    core   (p, p)  p = min(m, n). T is r × r and lower triangular; on the SVD route it is diagonal, σ₁ ≥ … ≥ σ_r > 0.
                   When r < p, rows and columns from r on are not part of the factorization.
    left   (m, m)  orthonormal rows: the first r span the range of A, the others its left null space (redundancies).
    info           [RANK, ROUTE, FORMED, STATUS]: ROUTE is VIA_QR or VIA_SVD, FORMED the rows of basis that are there.
    gauge          [LARGEST, SMALLEST, DROPPED]: σ₁, σ_r and σ_{r+1} on the SVD route; on the QR route |R_11|, |R_rr|
                   and the norm of the largest row left over. |R_rr| ≥ σ_r, seldom by more than a factor n. 0 where
                   there is none.
    rows, spare, scratch, perm   reflectors and work; private. `solve` and the projectors write scratch[2].

Whatever U, T, Q₁ a route picks, every function here gives the same result: A⁺, projectors, minimum-norm solutions.
All take arrays from the caller, allocate nothing and never raise. One thread at a time per factorization.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from dalembert.native.simd import assign, axpy, dot, fill

from ..native.jit import inline, kernel, small
from .qr import form_q_inline
from .rows import dot_fresh

RANK, ROUTE, FORMED, STATUS = 0, 1, 2, 3
LARGEST, SMALLEST, DROPPED = 0, 1, 2
VIA_QR, VIA_SVD = 0, 1


class Factorization(NamedTuple):
    """A = U T Q₁ᵀ, stored by rows; see the head of this file. Make one with `allocate`, fill it with `rank_factor`."""

    basis: np.ndarray
    core: np.ndarray
    left: np.ndarray
    rows: np.ndarray
    spare: np.ndarray
    scratch: np.ndarray
    perm: np.ndarray
    info: np.ndarray
    gauge: np.ndarray


def allocate(m: int, n: int) -> Factorization:
    """Room for the factorization of an m × n matrix, in one block of memory; to be reused call after call.

    >>> allocate(2, 4).basis.shape
    (4, 4)
    """
    p, wide = min(m, n), max(m, n, 1)
    shapes = [(n, n), (p, p), (m, m), (m, n), (p, m), (4, wide), (3,)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    ends = np.cumsum(sizes)
    block = np.zeros(int(ends[-1]))
    basis, core, left, rows, spare, scratch, gauge = (
        block[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes)
    )
    perm, info = np.arange(m), np.zeros(4, dtype=np.int64)
    return Factorization(basis, core, left, rows, spare, scratch, perm, info, gauge)


@kernel
def complete(f):
    """Form the rows of f.basis that are still missing, so that f.basis[rank:] is an orthonormal null-space basis."""
    n, formed = f.basis.shape[0], f.info[FORMED]
    if formed < n:
        form_q_inline(f.rows, f.scratch, formed, formed, n, f.basis)
        f.info[FORMED] = n


@inline
def combine(basis, r, y, v, n):
    """V ← Σ_{i < r} y[2, i] basis[i]."""
    if r == 0:
        for k in range(n):
            v[k] = 0.0
    else:
        assign(y[2, 0], basis, 0, v, 0, 0, n)
    for i in range(1, r):
        axpy(y[2, i], basis, i, v, 0, 0, n)


@small
def solve(f, c, v):
    """V ← A⁺ c: of all v that make ‖A v - c‖ least, the shortest."""
    r, core, left, y = f.info[RANK], f.core, f.left, f.scratch
    m = left.shape[1]
    for i in range(r):  # T y = Uᵀ c
        y[2, i] = (dot(left, i, c, 0, 0, m) - dot_fresh(core, i, y, 2, 0, i)) / core[i, i]
    combine(f.basis, r, y, v, f.basis.shape[1])


@small
def solve_transposed(f, g, x):
    """X ← (Aᵀ)⁺ g: the shortest multipliers x that bring Aᵀx nearest to g."""
    r, basis, core, y = f.info[RANK], f.basis, f.core, f.scratch
    n = basis.shape[1]
    for i in range(r):
        y[2, i] = dot(basis, i, g, 0, 0, n)
    for i in range(r - 1, -1, -1):  # Tᵀ y = Q₁ᵀ g
        y[2, i] /= core[i, i]
        axpy(-y[2, i], core, i, y, 2, 0, i)
    combine(f.left, r, y, x, f.left.shape[1])


@inline
def _project(rows, r, v, out, y):
    """Out ← the part of v in the span of the first r rows."""
    n = rows.shape[1]
    for i in range(r):
        y[2, i] = dot(rows, i, v, 0, 0, n)
    combine(rows, r, y, out, n)


@small
def project_rows(f, v, out):
    """Out ← A⁺A v, the part of v in the row space. out may be v."""
    _project(f.basis, f.info[RANK], v, out, f.scratch)


@small
def project_range(f, c, out):
    """Out ← A A⁺ c, the part of c that A can reach. out may be c."""
    _project(f.left, f.info[RANK], c, out, f.scratch)


@small
def project_null(f, v, out):
    """Out ← (I - A⁺A) v, the part of v the constraints do not see. out may be v."""
    r, basis, y = f.info[RANK], f.basis, f.scratch
    n = basis.shape[1]
    for i in range(r):
        y[2, i] = dot(basis, i, v, 0, 0, n)
    for k in range(n):
        out[k] = v[k]
    for i in range(r):
        axpy(-y[2, i], basis, i, out, 0, 0, n)


@kernel
def pseudo_inverse(f, out):
    """Out (n × m) ← A⁺ = Q₁ T⁻¹ Uᵀ."""
    r, m, n = f.info[RANK], f.left.shape[0], f.basis.shape[0]
    basis, core, left, spare = f.basis, f.core, f.left, f.spare
    for i in range(r):
        assign(1.0 / core[i, i], left, i, spare, i, 0, m)
        for j in range(i):
            axpy(-core[i, j] / core[i, i], spare, j, spare, i, 0, m)
    for k in range(n):
        fill(0.0, out, k, 0, m)
        for i in range(r):
            axpy(basis[i, k], spare, i, out, k, 0, m)


@kernel
def smallest_singular_value(f, steps):
    """σ_r of the retained part, by `steps` inverse iterations with T Tᵀ; from above, and exact on the SVD route.

    Two or three steps bring |R_rr| within a few per cent, unless several singular values are about equally small
    (then any of them will do). Cost 2 r² a step.
    """
    r, core, y = f.info[RANK], f.core, f.scratch
    sigma = f.gauge[SMALLEST]
    if r < 2 or f.info[ROUTE] == VIA_SVD:
        return sigma
    for i in range(r):
        y[2, i] = 0.0
    y[2, r - 1] = 1.0
    for _ in range(steps):
        for i in range(r - 1, -1, -1):  # y ← T⁻ᵀ y, whose growth is at most 1/σ_r
            y[2, i] *= sigma / core[i, i]
            for j in range(i):
                y[2, j] -= core[i, j] / sigma * y[2, i]
        growth = 0.0
        for i in range(r):
            growth += y[2, i] * y[2, i]
        growth = sqrt(growth)
        for i in range(r):
            y[2, i] /= growth
        sigma = min(sigma, sigma / growth)
        for i in range(r):  # y ← T⁻¹ y
            for j in range(i):
                y[2, i] -= core[i, j] / sigma * y[2, j]
            y[2, i] *= sigma / core[i, i]
        growth = 0.0
        for i in range(r):
            growth += y[2, i] * y[2, i]
        growth = sqrt(growth)
        for i in range(r):
            y[2, i] /= growth
        sigma = min(sigma, sigma / growth)
    return sigma


@small
def condition(f):
    """σ₁/σ_r over the retained part: exact on the SVD route, |R_11/R_rr| on the QR route; 1 for rank 0."""
    if f.info[RANK] == 0:
        return 1.0
    return f.gauge[LARGEST] / f.gauge[SMALLEST]
