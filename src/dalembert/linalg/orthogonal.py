"""Complete orthogonal decomposition: fast by QR, careful by SVD where the rank is in doubt.

With d_k = |R_kk / R_11| from the pivoted QR, and s = safety ≥ 1:

    d_k ≥ s · tolerance           counts as nonzero
    d_k ≤ tolerance / s           counts as zero, and with it all that follow
    anything between              is in doubt: factored again by the Jacobi SVD, rank = #{σ_k > tolerance σ_1}

so safety = 1 never takes the SVD and safety = inf always does (`factor_svd` says it plainly). A pivoted QR can miss a
small σ by more than s only on matrices built for that (Kahan's: Golub & Van Loan 5.4.3).

Sources: Golub & Van Loan (4th ed.) 5.4.7 and 5.5; Hansen, Rank-Deficient and Discrete Ill-Posed Problems, 3.
"""

from __future__ import annotations

from math import ldexp

from ..native.jit import inline, kernel
from ..outcome import OK
from .factorization import (
    DROPPED,
    FORMED,
    LARGEST,
    RANK,
    ROUTE,
    SMALLEST,
    STATUS,
    VIA_QR,
    VIA_SVD,
)
from .qr import form_q, form_q_inline, pivoted_qr, pivoted_qr_inline
from .rows import copy, scale_binary
from .svd import diagonalize
from .trapezoid import triangularize, triangularize_inline

TOLERANCE = 1.0e-10  # of σ/σ_max: what a constraint Jacobian in floating point can usually support
SAFETY = 100.0


@inline
def _record(f, status, route, rank, formed, exponent, largest, smallest, dropped):
    if exponent != 0:
        scale_binary(f.core, formed, formed, exponent)
        largest, smallest, dropped = (
            ldexp(largest, exponent),
            ldexp(smallest, exponent),
            ldexp(dropped, exponent),
        )
    f.gauge[LARGEST], f.gauge[SMALLEST], f.gauge[DROPPED] = largest, smallest, dropped
    f.info[RANK], f.info[ROUTE], f.info[FORMED], f.info[STATUS] = rank, route, formed, status


@kernel
def factor_svd(f, a, tolerance, null):
    """Factor a (m × n, kept) by the Jacobi SVD. Returns (status, rank). See `rank_factor`."""
    core, rows, scratch, perm = f.core, f.rows, f.scratch, f.perm
    m, n = a.shape
    for i in range(m):
        copy(a, i, rows, i, 0, n)
    status, size, exponent = pivoted_qr(rows, 0.0, perm, scratch)
    triangularize(rows, scratch, perm, size, core, f.left)
    form_q(rows, scratch, size, 0, n if null else size, f.basis)
    if status == OK:
        status, _ = diagonalize(core, size, f.basis, f.left, f.spare)
    rank = 0
    while rank < size and core[rank, rank] > tolerance * core[0, 0]:
        rank += 1
    largest = core[0, 0] if rank > 0 else 0.0
    smallest = core[rank - 1, rank - 1] if rank > 0 else 0.0
    dropped = core[rank, rank] if rank < size else 0.0
    _record(f, status, VIA_SVD, rank, size, exponent, largest, smallest, dropped)
    if null:
        f.info[FORMED] = n
    return status, rank


@kernel
def rank_factor(f, a, tolerance, safety, null):
    """Factor a (m × n, kept) into f: by QR, or by SVD where the rank is in doubt. Returns (status, rank).

    tolerance > 0: relative to the largest singular value. safety: see above. null: form the null-space rows too.
    On NOT_FINITE the rank is 0 and f is the factorization of a zero matrix.
    """
    rows, scratch, perm = f.rows, f.scratch, f.perm
    m, n = a.shape
    for i in range(m):
        copy(a, i, rows, i, 0, n)
    status, rank, exponent = pivoted_qr_inline(rows, tolerance / safety, perm, scratch)
    largest = abs(scratch[0, 0]) if rank > 0 else 0.0
    smallest = abs(scratch[0, rank - 1]) if rank > 0 else 0.0
    dropped = scratch[0, rank] if rank < min(m, n) else 0.0
    if smallest < tolerance * safety * largest:
        return factor_svd(f, a, tolerance, null)
    triangularize_inline(rows, scratch, perm, rank, f.core, f.left)
    form_q_inline(rows, scratch, rank, 0, n if null else rank, f.basis)
    _record(f, status, VIA_QR, rank, rank, exponent, largest, smallest, dropped)
    if null:
        f.info[FORMED] = n
    return status, rank
