"""Constraints in a metric: what "orthogonal" and "shortest" mean when velocity space is weighed.

With W = RᵀR (`cholesky`; W is the mass matrix, or any weight) and ν = R v, the length of v in the metric is the
Euclidean length of ν, and A v = Ã ν with

    Ã = A R⁻¹                                                                                             (1)
    min ‖R v‖ over the v that make ‖A v - c‖ least:   v = R⁻¹ Ã⁺ c                                        (2)
    null space of A, orthonormal in the metric:       N = R⁻¹ Q₂,   Nᵀ W N = I                            (3)

Kövecses & Piedboeuf's mass-metric geometry (R = Lᵀ); Jain & Rodriguez have m* in the place of R. Golub & Van Loan 6.1.
The singular values of Ã have homogeneous units, so a rank tolerance on them means something.
"""

from __future__ import annotations

from ..native.jit import kernel, small
from .cholesky import solve_upper, solve_upper_rows, solve_upper_transposed_rows
from .factorization import RANK, solve
from .orthogonal import rank_factor
from .rows import copy


@kernel
def whiten_rows(a, upper, out):
    """Out (m × n) ← A R⁻¹. out may be a."""
    for i in range(a.shape[0]):
        copy(a, i, out, i, 0, a.shape[1])
    solve_upper_transposed_rows(upper, out, a.shape[0])


@kernel
def metric_factor(f, a, upper, whitened, tolerance, safety, null):
    """Factor Ã = A R⁻¹ into f, leaving Ã in whitened (m × n). Returns (status, rank)."""
    whiten_rows(a, upper, whitened)
    return rank_factor(f, whitened, tolerance, safety, null)


@small
def metric_solve(f, upper, c, v):
    """V of (2), with f from `metric_factor`."""
    solve(f, c, v)
    solve_upper(upper, v)


@kernel
def metric_null(f, upper, out):
    """Nᵀ of (3) into the first n - r rows of out, with f from `metric_factor` with its null space. Returns n - r."""
    r, n = f.info[RANK], f.basis.shape[0]
    for i in range(r, n):
        copy(f.basis, i, out, i - r, 0, n)
    solve_upper_rows(upper, out, n - r)
    return n - r
