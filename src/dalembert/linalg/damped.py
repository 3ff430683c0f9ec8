"""Damped least squares: bounded answers next to a singularity.

    v = argmin ‖A v - c‖² + λ² ‖v‖² = Σ_k σ_k / (σ_k² + λ²) (u_kᵀc) q_k                                   (1)

from the factorization A = U T Q₁ᵀ: v = Q₁ y, with y the least-squares solution of [T; λI] y = [Uᵀc; 0]. The rows
λ e_i are rotated into T one at a time (Givens; Golub & Van Loan 5.2.5), which keeps the error of order κ where the
normal equations would have κ².

Damping only near a singularity (Nakamura & Hanafusa 1986; Maciejewski & Klein 1988; in the form of Chiaverini 1997):

    λ² = (1 - (σ/ε)²) λ_max²  for σ < ε,  else 0                                                          (2)

Factor with a small tolerance here: damping replaces the rank decision, and a rank that jumps makes v jump.
"""

from __future__ import annotations

from math import hypot, sqrt

from dalembert.native.simd import dot

from ..native.jit import kernel, small
from .factorization import RANK, combine
from .rows import copy, dot_fresh


@small
def damping(sigma, threshold, largest):
    """λ of (2): 0 where sigma ≥ threshold, rising smoothly to `largest` at sigma = 0."""
    if sigma >= threshold:
        return 0.0
    ratio = sigma / threshold
    return largest * sqrt(1.0 - ratio * ratio)


@kernel
def _rotate_in(core, r, y, row):
    """Rotate the rows λ e_i into the triangle core[:r, :r]; right-hand sides y[2] and 0. y[3] is the row on its way."""
    for i in range(r):
        for j in range(i):
            y[3, j] = 0.0
        y[3, i] = row
        right = 0.0
        for k in range(i, -1, -1):
            if y[3, k] == 0.0:
                continue
            h = hypot(core[k, k], y[3, k])
            c, s = core[k, k] / h, y[3, k] / h
            for j in range(k + 1):
                a, b = core[k, j], y[3, j]
                core[k, j] = c * a + s * b
                y[3, j] = c * b - s * a
            a = y[2, k]
            y[2, k] = c * a + s * right
            right = c * right - s * a


@kernel
def damped_solve(f, c, damp, v):
    """V of (1) with λ = damp; damp = 0 is `solve`."""
    r, left, triangle, y = f.info[RANK], f.left, f.spare, f.scratch
    m, n = left.shape[1], f.basis.shape[1]
    for i in range(r):
        copy(f.core, i, triangle, i, 0, i + 1)
        y[2, i] = dot(left, i, c, 0, 0, m)
    if damp > 0.0:
        _rotate_in(triangle, r, y, damp)
    for i in range(r):
        y[2, i] = (y[2, i] - dot_fresh(triangle, i, y, 2, 0, i)) / triangle[i, i]
    combine(f.basis, r, y, v, n)
