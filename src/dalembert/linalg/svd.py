"""One-sided Jacobi: singular values to high relative accuracy.

Drmač & Veselić, New fast and accurate Jacobi SVD algorithm I (SIAM J. Matrix Anal. Appl. 29, 2008; LAPACK Working
Note 169): a pivoted QR first, then rotations that make the *rows* of the graded triangle orthogonal:

    Aᵀ P = Q R,   X R = Σ Y,   X and Y orthogonal (rotations X are applied to the rows of Qᵀ as they are found)  (1)

For A = D B with D any row scaling (units!) and B well conditioned, each singular value, however small, comes out with a
relative error of order ε κ(B): a QR or bidiagonal method has an absolute error ε σ_max instead. Columns of very
different size (A = B D) do not have that guarantee here.
"""

from __future__ import annotations

from math import copysign, sqrt

from dalembert.native.simd import assign, axpy, dot, fill, rotate

from ..native.jit import inline, kernel
from ..outcome import NOT_CONVERGED, OK
from .rows import copy, swap

_EPS = 2.220446049250313e-16
_SWEEPS = 40  # two (n = 2) to ten (n = 200) are usual


@inline
def _angle(aa, ab, bb):
    """Tangent of the rotation that makes two rows orthogonal: t² + 2ζt = 1, ζ = (aa - bb) / 2ab, the smaller root."""
    zeta = (aa - bb) / (2.0 * ab)  # may be huge, never NaN since ab ≠ 0
    if abs(zeta) > 1.0e100:
        return 0.5 / zeta
    return copysign(1.0 / (abs(zeta) + sqrt(1.0 + zeta * zeta)), zeta)


@kernel
def orthogonalize_rows(w, size, basis):
    """Rotate the rows of w[:size, :size] until they are orthogonal, longest first; rows of basis turn with them.

    Returns (status, sweeps). Two rows count as orthogonal when |cos| ≤ ε (4 + √size). The last sweep neither turns nor
    exchanges rows, so all pairs were seen orthogonal and in order.
    """
    n = basis.shape[1]
    limit = _EPS * (4.0 + sqrt(size))
    for sweep in range(_SWEEPS):
        turned = False
        for p in range(size - 1):
            for q in range(p + 1, size):
                aa, ab, bb = dot(w, p, w, p, 0, size), dot(w, p, w, q, 0, size), dot(w, q, w, q, 0, size)
                if bb > aa:
                    swap(w, p, q, size)
                    swap(basis, p, q, n)
                    aa, bb = bb, aa
                    turned = True
                if not (abs(ab) > limit * sqrt(aa) * sqrt(bb)):
                    continue
                turned = True
                t = _angle(aa, ab, bb)
                c = 1.0 / sqrt(1.0 + t * t)
                rotate(c, c * t, w, p, w, q, 0, size)
                rotate(c, c * t, basis, p, basis, q, 0, n)
        if not turned:
            return OK, sweep + 1
    return NOT_CONVERGED, _SWEEPS


@kernel
def diagonalize(core, size, basis, left, spare):
    """T = core[:size, :size] (lower triangular) ← Σ, turning rows of basis and left: leftᵀ core basis stays the same.

    spare (≥ size, ≥ m) is work. Returns (status, sweeps).
    """
    m = left.shape[1]
    for i in range(size):  # R = Tᵀ
        for j in range(i):
            core[j, i] = core[i, j]
            core[i, j] = 0.0
    status, sweeps = orthogonalize_rows(core, size, basis)
    for i in range(size):  # left ← Y left, Y the rows of core made unit
        sigma = sqrt(dot(core, i, core, i, 0, size))
        assign(core[i, 0] / sigma, left, 0, spare, i, 0, m)
        for k in range(1, size):
            axpy(core[i, k] / sigma, left, k, spare, i, 0, m)
        fill(0.0, core, i, 0, size)
        core[i, i] = sigma
    for i in range(size):
        copy(spare, i, left, i, 0, m)
    return status, sweeps
