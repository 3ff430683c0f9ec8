"""Pivoted Householder QR of Aᵀ, held by the rows of A.

The vectors that are orthogonalized are the rows of A (one constraint each), which row-major storage keeps contiguous:

    Aᵀ P = Q R,   that is   row perm[i] of A = Σ_{j ≤ i} L_ij q_j,   L = Rᵀ lower trapezoidal             (1)
    Q = H_0 H_1 … H_{r-1},   H_k = I - tau_k v_k v_kᵀ,   tau_k = 2 / v_kᵀv_k                              (2)

Golub & Van Loan (4th ed.) 5.1 and 5.4.2. Departures:
- reflectors are not normalized to v_0 = 1 (as in EISPACK), which saves a division and a pass over the row;
- remaining norms are kept squared and downdated by the criterion of LAPACK Working Note 176 (Drmač & Bujanović 2008),
  which in squares needs neither root nor division;
- a matrix whose norm is outside [1e-30, 1e30] is first scaled by a power of two, so nothing over- or underflows.
  Rows smaller than about 1e-115 of the largest are taken as zero.

Cost 2 m²(n - m/3).
"""

from __future__ import annotations

from math import copysign, frexp, isfinite, sqrt

from dalembert.native.simd import assign, axpy, dot, fill

from ..native.jit import inline, kernel
from ..outcome import NOT_FINITE, OK
from .rows import reflect, scale_binary, swap

_SMALL, _LARGE = 1.0e-60, 1.0e60  # of the squared norm: between them no scaling
_ZERO = 1.0e-290  # a squared norm that counts as zero
_DRIFT = 1.4901161193847656e-08  # √ε: below this share of the last computed norm², recompute


@inline
def _row_norms(a, norms, first):
    """Squared norms of the rows into norms[first] and norms[first + 1]; returns their sum."""
    m, n = a.shape
    total = 0.0
    for i in range(m):
        s = dot(a, i, a, i, 0, n)
        norms[first, i] = s
        norms[first + 1, i] = s
        total += s
    return total


@kernel
def _into_range(a, norms, first):
    """Scale a by 2**-exponent to entries of order one. Returns (status, exponent, sum of squares)."""
    m, n = a.shape
    largest = 0.0
    for i in range(m):
        for j in range(n):
            if not isfinite(a[i, j]):
                return NOT_FINITE, 0, 0.0
            largest = max(largest, abs(a[i, j]))
    if largest == 0.0:
        return OK, 0, 0.0
    exponent = frexp(largest)[1]
    scale_binary(a, m, n, -exponent)
    return OK, exponent, _row_norms(a, norms, first)


@inline
def pivoted_qr_inline(a, tolerance, perm, scratch):
    """See `pivoted_qr`."""
    m, n = a.shape
    steps = min(m, n)
    exponent = 0
    for i in range(m):
        perm[i] = i
    total = _row_norms(a, scratch, 2)
    if not (_SMALL < total < _LARGE):  # NaN comes this way too
        status, exponent, total = _into_range(a, scratch, 2)
        if status != OK or total == 0.0:
            if steps > 0:
                scratch[0, 0] = 0.0
            return status, 0, 0
    threshold = 0.0
    for k in range(steps):
        pivot, best = k, scratch[2, k]
        for i in range(k + 1, m):
            if scratch[2, i] > best:
                pivot, best = i, scratch[2, i]
        if pivot != k:
            swap(a, pivot, k, n)
            perm[pivot], perm[k] = perm[k], perm[pivot]
            scratch[2, pivot] = scratch[2, k]
            scratch[3, pivot] = scratch[3, k]
        square = best if k == 0 else dot(a, k, a, k, k, n)
        beta = sqrt(square)
        if square < _ZERO or beta <= threshold:
            scratch[0, k] = beta if square >= _ZERO else 0.0
            return OK, k, exponent
        diagonal = -copysign(beta, a[k, k])
        head = a[k, k] - diagonal
        tau = -1.0 / (diagonal * head)
        scratch[0, k] = diagonal
        scratch[1, k] = tau
        if k == 0:
            threshold = tolerance * beta
        for i in range(k + 1, m):
            # H_k on row i. Row k still has its own head: these dots need not wait for the root and the division.
            entry = a[i, k]
            share = tau * (dot(a, k, a, i, k, n) - diagonal * entry)
            axpy(-share, a, k, a, i, k, n)
            entry -= share * head
            a[i, k] = entry
            left = scratch[2, i] - entry * entry
            if left <= _DRIFT * scratch[3, i]:
                left = dot(a, i, a, i, k + 1, n)
                scratch[3, i] = left
            scratch[2, i] = left
        a[k, k] = head
    return OK, steps, exponent


@kernel
def pivoted_qr(a, tolerance, perm, scratch):
    """Factor the rows of a (m × n) in place. Returns (status, rank, exponent): factors are those of 2**-exponent A.

    Stops at the first step whose largest remaining row is ≤ tolerance × |L_00|; the steps done are the rank. Then
    a[i, :min(i, rank)] is row i of L left of its diagonal, a[k, k:] is v_k, and perm (m) the order of the rows.
    scratch (4, ≥ max(m, n)): [0] the diagonal of L and, at index rank if rank < min(m, n), the norm of the largest
    row left over; [1] tau; [2] and [3] work. exponent is 0 unless the matrix is extremely large or small.
    """
    return pivoted_qr_inline(a, tolerance, perm, scratch)


@inline
def _start(a, scratch, k, i, basis):
    """Row i of basis ← H_k e_i, for i ≥ k."""
    fill(0.0, basis, i, 0, k)
    assign(-scratch[1, k] * a[k, i], a, k, basis, i, k, a.shape[1])
    basis[i, i] += 1.0


@inline
def form_q_inline(a, scratch, steps, lo, hi, basis):
    """See `form_q`."""
    n = a.shape[1]
    for i in range(max(lo, steps - 1), hi):
        if steps == 0:
            fill(0.0, basis, i, 0, n)
            basis[i, i] = 1.0
        else:
            _start(a, scratch, steps - 1, i, basis)
    for k in range(steps - 2, -1, -1):
        for i in range(max(lo, k + 1), hi):  # independent of each other: the processor overlaps them
            reflect(a, k, scratch[1, k], basis, i, k, n)
        if lo <= k < hi:
            _start(a, scratch, k, k, basis)


@kernel
def form_q(a, scratch, steps, lo, hi, basis):
    """Rows lo … hi - 1 of Qᵀ into basis (n × n): row i is Q e_i, from `steps` reflectors of `pivoted_qr`.

    Rows 0 … rank - 1 span the rows of A, the others its null space. Backward accumulation: row i starts at H_i.
    """
    form_q_inline(a, scratch, steps, lo, hi, basis)


@kernel
def apply_q(a, scratch, steps, x, i):
    """Row i of x ← Q x[i], without forming Q."""
    n = a.shape[1]
    for k in range(steps - 1, -1, -1):
        reflect(a, k, scratch[1, k], x, i, k, n)


@kernel
def apply_q_transposed(a, scratch, steps, x, i):
    """Row i of x ← Qᵀ x[i], without forming Q."""
    n = a.shape[1]
    for k in range(steps):
        reflect(a, k, scratch[1, k], x, i, k, n)
