"""QR of rows that overlap little: by the envelope of the matrix, without exchanges.

Rows of constraints reach the bodies between two joints, those of a long mechanism a few columns side by side. Row i is
zero outside the columns begin[i] … end[i] − 1, and a reflection leaves alone what lies beside it, so a chain of loops
costs in proportion to its length. For rows of full rank, which have usual lengths of about 1, no exchange is needed:

    row order[i] of A = Σ_{j ≤ i} L_ij q_j,   Q = H_0 H_1 … H_{m-1},   H_k = 1 − tau_k v_k v_kᵀ              (1)
    M = Fᵀ F with F lower triangular, tips first: a tree fills in nothing                                  (2)

L_ij is kept in row order[i], column j < i, and in diagonal[i], v_k in row order[k] from column k on. Only the envelope
is stored, row after row in one block of memory, with room for what the reflections fill in (`formulations.envelope`):
column j of row i is number base[i] + j of `rows`, that of F is number foot[i] + j of `lower`. The block has one column,
so that the loops of `simd` read it from number base[i] on as they read row i of a matrix.

How near the rows are to dependent is told by the least singular value of L, by inverse iteration from the vector `weak`
found the last time. Golub & Van Loan (4th ed.) 5.2.1, 8.2.2; Featherstone, Rigid Body Dynamics Algorithms, 6.5.
"""

from __future__ import annotations

from math import copysign, sqrt

from dalembert.native.simd import axpy, dot

from ..native.jit import kernel
from .rows import dot_fresh_vector

_ZERO = 1.0e-290  # a squared norm that counts as zero


@kernel
def factor_tree(e):
    """F of (2) in the place of M, whose lower triangle is in e.lower. Returns whether M is positive definite."""
    lower, foot, first = e.lower, e.foot, e.first
    for k in range(len(first) - 1, -1, -1):
        at, start = foot[k], first[k]
        if not lower[at + k, 0] > 0.0:
            return False
        root = sqrt(lower[at + k, 0])
        lower[at + k, 0] = root
        for j in range(start, k):
            lower[at + j, 0] /= root
        for i in range(start, k):
            if lower[at + i, 0] != 0.0:
                axpy(-lower[at + i, 0], lower, at, lower, foot[i], start, i + 1)
    return True


@kernel
def whiten_by_tree(e):
    """Rows A of e ← A F⁻¹."""
    rows, lower = e.rows, e.lower
    for i in range(len(e.base)):
        at = e.base[i]
        for k in range(e.stop[i] - 1, e.start[i] - 1, -1):
            if rows[at + k, 0] != 0.0:
                rows[at + k, 0] /= lower[e.foot[k] + k, 0]
                axpy(-rows[at + k, 0], lower, e.foot[k], rows, at, e.first[k], k)


@kernel
def solve_tree(e, x):
    """x ← F⁻¹ x."""
    lower, foot, first = e.lower, e.foot, e.first
    for k in range(len(first)):
        x[k] = (x[k] - dot_fresh_vector(lower, foot[k], x, first[k], k)) / lower[foot[k] + k, 0]


@kernel
def solve_tree_transposed(e, x):
    """x ← F⁻ᵀ x."""
    lower, foot, first = e.lower, e.foot, e.first
    for k in range(len(first) - 1, -1, -1):
        x[k] /= lower[foot[k] + k, 0]
        axpy(-x[k], lower, foot[k], x, 0, first[k], k)


@kernel
def envelope_qr(e):
    """Factor the rows of e in place, by (1). Returns how many are independent of those before them, to rounding."""
    rows, base, begin, end, order, m = e.rows, e.base, e.begin, e.end, e.order, len(e.order)
    reach = 0
    for i in range(m):
        begin[i], end[i] = e.start[i], e.stop[i]
    for k in range(m):
        r = order[k]
        at = base[r]
        end[r] = max(end[r], k + 1)
        begin[r] = min(begin[r], k)
        square = dot(rows, at, rows, at, k, end[r])
        if not square > _ZERO:
            return k
        diagonal = -copysign(sqrt(square), rows[at + k, 0])
        head = rows[at + k, 0] - diagonal
        tau = -1.0 / (diagonal * head)
        e.diagonal[k], e.inverse[k], e.tau[k], rows[at + k, 0] = diagonal, 1.0 / diagonal, tau, head
        reach = max(reach, end[r])
        for i in range(k + 1, m):
            s = order[i]
            if e.start[s] >= reach:
                break
            share = tau * dot(rows, at, rows, base[s], max(k, begin[s]), min(end[r], end[s]))
            if share != 0.0:
                axpy(-share, rows, at, rows, base[s], k, end[r])
                end[s] = max(end[s], end[r])
                begin[s] = min(begin[s], k)
    return m


@kernel
def turn_back(e, x):
    """x ← Q x."""
    rows, order, end = e.rows, e.order, e.end
    for k in range(len(order) - 1, -1, -1):
        r = order[k]
        at = e.base[r]
        axpy(-e.tau[k] * dot(rows, at, x, 0, k, end[r]), rows, at, x, 0, k, end[r])


@kernel
def turn(e, x):
    """x ← Qᵀ x."""
    rows, order, end = e.rows, e.order, e.end
    for k in range(len(order)):
        r = order[k]
        at = e.base[r]
        axpy(-e.tau[k] * dot(rows, at, x, 0, k, end[r]), rows, at, x, 0, k, end[r])


@kernel
def solve_rows(e, y):
    """y ← L⁻¹ y, (m,), y in the order of e."""
    rows, order, begin = e.rows, e.order, e.begin
    for i in range(len(order)):
        r = order[i]
        y[i] = (y[i] - dot_fresh_vector(rows, e.base[r], y, min(begin[r], i), i)) * e.inverse[i]


@kernel
def solve_rows_transposed(e, y):
    """y ← L⁻ᵀ y, (m,)."""
    rows, order, begin = e.rows, e.order, e.begin
    for i in range(len(order) - 1, -1, -1):
        y[i] *= e.inverse[i]
        r = order[i]
        axpy(-y[i], rows, e.base[r], y, 0, min(begin[r], i), i)


@kernel
def least_singular_value(e, steps, accuracy):
    """The least singular value, from above, by inverse iterations until it changes by less than `accuracy` of it.

    e.weak (m,), in the order of e: the vector to begin with, and then the one that belongs to it.
    """
    w, m, sigma = e.weak, len(e.order), 1e300
    for step in range(steps):
        size = sqrt(dot(w, 0, w, 0, 0, m))
        if not 1e-150 < size < 1e150 or (step == 0 and not 0.5 < size < 2.0):
            for i in range(m):  # nothing is known of it: any vector that is hardly orthogonal to it
                w[i] = 1.0 + 0.618 * ((i * 7) % 11)
            size = sqrt(dot(w, 0, w, 0, 0, m))
        for i in range(m):
            w[i] /= size
        solve_rows(e, w)
        half = min(sigma, 1.0 / sqrt(dot(w, 0, w, 0, 0, m)))
        for i in range(m):
            w[i] *= half
        solve_rows_transposed(e, w)
        growth = sqrt(dot(w, 0, w, 0, 0, m))
        sigma = min(half, 1.0 / growth)
        for i in range(m):
            w[i] *= sigma
        if half - sigma <= accuracy * sigma:
            break
    return sigma
