"""From a lower trapezoid to a triangle: the second half of a complete orthogonal decomposition.

After `pivoted_qr` stopped at rank r < m, the rows satisfy Pᵀ A = L Q₁ᵀ with L = [L₁; L₂] (m × r). Reflections of row k
with the rows r … m - 1, for k = r - 1 … 0, zero column k of L₂:

    Zᵀ L = [T; 0],   left = Zᵀ Pᵀ,   so that   A = left[:r]ᵀ T Q₁ᵀ                                        (1)

Golub & Van Loan (4th ed.) 5.4.7; LAPACK's xTZRZF, transposed. left comes out explicit (m × m): its last m - r rows span
the left null space, the combinations of constraints that say nothing new. Cost 4 r m (m - r), nothing when r = m.
"""

from __future__ import annotations

from math import copysign, sqrt

from dalembert.native.simd import assign, axpy, fill

from ..native.jit import inline, kernel
from .rows import copy


@kernel
def _reflect_down(tau, head, x, k, tail, rank, column, y, hi, work):
    """Rows k of x and rank, rank+1, … of y, columns < hi ← (I - tau v vᵀ) of them, v = (head, tail[rank:, column])."""
    assign(head, x, k, work, 2, 0, hi)
    m = tail.shape[0]
    for i in range(rank, m):
        axpy(tail[i, column], y, i, work, 2, 0, hi)
    axpy(-tau * head, work, 2, x, k, 0, hi)
    for i in range(rank, m):
        axpy(-tau * tail[i, column], work, 2, y, i, 0, hi)


@kernel
def _eliminate(a, scratch, rank, core, left):
    """Zero L₂ by (1)."""
    m = a.shape[0]
    for k in range(rank - 1, -1, -1):
        square = 0.0
        for i in range(rank, m):
            square += a[i, k] * a[i, k]
        if square == 0.0:
            continue
        alpha = core[k, k]
        beta = -copysign(sqrt(alpha * alpha + square), alpha)
        head = alpha - beta
        tau = -1.0 / (beta * head)
        _reflect_down(tau, head, core, k, a, rank, k, a, k, scratch)
        _reflect_down(tau, head, left, k, a, rank, k, left, m, scratch)
        core[k, k] = beta


@inline
def triangularize_inline(a, scratch, perm, rank, core, left):
    """See `triangularize`."""
    m = a.shape[0]
    for i in range(m):
        fill(0.0, left, i, 0, m)
        left[i, perm[i]] = 1.0
    for i in range(rank):
        copy(a, i, core, i, 0, i)
        core[i, i] = scratch[0, i]
        fill(0.0, core, i, i + 1, rank)
    if rank < m:
        _eliminate(a, scratch, rank, core, left)


@kernel
def triangularize(a, scratch, perm, rank, core, left):
    """T into core[:rank, :rank] (zeros above its diagonal) and left (m × m), from what `pivoted_qr` left in a.

    scratch is that of `pivoted_qr`; its row 2 is work. a[rank:, :rank] is overwritten.
    """
    triangularize_inline(a, scratch, perm, rank, core, left)
