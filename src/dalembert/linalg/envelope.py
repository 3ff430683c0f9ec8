"""QR of rows that overlap little: by the envelope of the matrix, without exchanges.

Rows of constraints reach the bodies between two joints, those of a long mechanism a few columns side by side. Row i is
zero outside the columns begin[i] … end[i] − 1, and a reflection leaves alone what lies beside it, so a chain of loops
costs in proportion to its length. For rows of full rank, which have usual lengths of about 1, no exchange is needed:

    row order[i] of A = Σ_{j ≤ i} L_ij q_j,   Q = H_0 H_1 … H_{m-1},   H_k = 1 − tau_k v_k v_kᵀ              (1)
    M = Fᵀ F with F lower triangular, tips first: a tree fills in nothing                                  (2)

L_ij is kept in rows[order[i], j] for j < i and in diagonal[i], v_k in rows[order[k], k:]. How near the rows are to
dependent is told by the least singular value of L, by inverse iteration from the vector `weak` found the last time.
Golub & Van Loan (4th ed.) 5.2.1, 8.2.2; Featherstone, Rigid Body Dynamics Algorithms, 6.5.
"""

from __future__ import annotations

from math import copysign, sqrt

from dalembert.native.simd import axpy, dot, fill

from ..native.jit import kernel
from .rows import dot_fresh_vector

_ZERO = 1.0e-290  # a squared norm that counts as zero


@kernel
def factor_tree(M, lower, first):
    """F of (2) into lower (n × n), row k of it from column first[k] on. Returns whether M is positive definite."""
    n = M.shape[0]
    for k in range(n):
        start = 0
        while start < k and M[k, start] == 0.0:
            start += 1
        first[k] = start
        for j in range(start, k + 1):
            lower[k, j] = M[k, j]
    for k in range(n - 1, -1, -1):
        if not lower[k, k] > 0.0:
            return False
        root = sqrt(lower[k, k])
        lower[k, k] = root
        for j in range(first[k], k):
            lower[k, j] /= root
        for i in range(first[k], k):
            if lower[k, i] != 0.0:
                if first[k] < first[i]:
                    fill(0.0, lower, i, first[k], first[i])
                    first[i] = first[k]
                axpy(-lower[k, i], lower, k, lower, i, first[k], i + 1)
    return True


@kernel
def whiten_by_tree(lower, first, x, i, end):
    """Row i of x ← x F⁻¹, its entries from `end` on are zero. Returns the first column that is not."""
    begin = end
    for k in range(end - 1, -1, -1):
        if x[i, k] != 0.0:
            x[i, k] /= lower[k, k]
            axpy(-x[i, k], lower, k, x, i, first[k], k)
            begin = k
    return begin


@kernel
def solve_tree(lower, first, x):
    """x ← F⁻¹ x."""
    for k in range(x.shape[0]):
        x[k] = (x[k] - dot_fresh_vector(lower, k, x, first[k], k)) / lower[k, k]


@kernel
def solve_tree_transposed(lower, first, x):
    """x ← F⁻ᵀ x."""
    for k in range(x.shape[0] - 1, -1, -1):
        x[k] /= lower[k, k]
        axpy(-x[k], lower, k, x, 0, first[k], k)


@kernel
def envelope_qr(e):
    """Factor the rows of e in place, by (1). Returns how many are independent of those before them, to rounding."""
    rows, begin, end, order, m = e.rows, e.begin, e.end, e.order, e.rows.shape[0]
    for i in range(m):  # by their first columns; they mostly are
        k = i
        while k > 0 and begin[order[k - 1]] > begin[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    reach = 0
    for i in range(m):  # where a row begins once it is reached from before; e.start keeps where it began
        e.start[i] = begin[i]
    for k in range(m):
        r = order[k]
        end[r] = max(end[r], k + 1)
        square = dot(rows, r, rows, r, k, end[r])
        if not square > _ZERO:
            return k
        diagonal = -copysign(sqrt(square), rows[r, k])
        head = rows[r, k] - diagonal
        tau = -1.0 / (diagonal * head)
        e.diagonal[k], e.inverse[k], e.tau[k], rows[r, k] = diagonal, 1.0 / diagonal, tau, head
        begin[r] = min(begin[r], k)
        reach = max(reach, end[r])
        for i in range(k + 1, m):
            s = order[i]
            if e.start[s] >= reach:
                break
            share = tau * dot(rows, r, rows, s, k, min(end[r], end[s]))
            if share != 0.0:
                axpy(-share, rows, r, rows, s, k, end[r])
                end[s] = max(end[s], end[r])
                begin[s] = min(begin[s], k)
    return m


@kernel
def turn_back(e, x):
    """x ← Q x."""
    rows, order, end = e.rows, e.order, e.end
    for k in range(rows.shape[0] - 1, -1, -1):
        r = order[k]
        axpy(-e.tau[k] * dot(rows, r, x, 0, k, end[r]), rows, r, x, 0, k, end[r])


@kernel
def turn(e, x):
    """x ← Qᵀ x."""
    rows, order, end = e.rows, e.order, e.end
    for k in range(rows.shape[0]):
        r = order[k]
        axpy(-e.tau[k] * dot(rows, r, x, 0, k, end[r]), rows, r, x, 0, k, end[r])


@kernel
def solve_rows(e, y):
    """y ← L⁻¹ y, (m,), y in the order of e."""
    rows, order, begin = e.rows, e.order, e.begin
    for i in range(rows.shape[0]):
        r = order[i]
        y[i] = (y[i] - dot_fresh_vector(rows, r, y, min(begin[r], i), i)) * e.inverse[i]


@kernel
def solve_rows_transposed(e, y):
    """y ← L⁻ᵀ y, (m,)."""
    rows, order, begin = e.rows, e.order, e.begin
    for i in range(rows.shape[0] - 1, -1, -1):
        y[i] *= e.inverse[i]
        r = order[i]
        axpy(-y[i], rows, r, y, 0, min(begin[r], i), i)


@kernel
def least_singular_value(e, steps, accuracy):
    """The least singular value, from above, by inverse iterations until it changes by less than `accuracy` of it.

    e.weak (m,), in the order of e: the vector to begin with, and then the one that belongs to it.
    """
    w, m, sigma = e.weak, e.rows.shape[0], 1e300
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
