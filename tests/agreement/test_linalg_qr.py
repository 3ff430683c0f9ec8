"""Pivoted Householder QR by rows against SciPy's geqp3."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import qr as scipy_qr

from dalembert import linalg as la
from dalembert.outcome import Outcome


def factored(A, tolerance=0.0):
    rows, perm = A.copy(), np.empty(A.shape[0], dtype=np.int64)
    scratch = np.full((4, max(*A.shape, 1)), np.nan)
    status, rank, exponent = la.pivoted_qr(rows, tolerance, perm, scratch)
    assert status == Outcome.OK
    L = np.tril(rows, -1)[:, : min(A.shape)]
    L[:, rank:] = 0.0
    L[np.arange(rank), np.arange(rank)] = scratch[0, :rank]
    return rows, L, perm, scratch, rank, exponent


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4), (8, 14), (14, 8), (40, 41), (61, 20)])
def test_diagonal_and_order_are_those_of_lapack(shape):
    """Rows of A are the columns LAPACK pivots; both choose the longest left over, so |R_kk| agree."""
    for seed in range(5):
        A = np.random.default_rng([seed, *shape]).normal(size=shape)
        _, L, perm, _, rank, _ = factored(A)
        _, R, order = scipy_qr(A.T, pivoting=True)
        assert rank == min(shape)
        assert np.array_equal(perm[:rank], order[:rank])
        assert np.allclose(np.abs(L.diagonal()), np.abs(R.diagonal()), rtol=1e-11)


@pytest.mark.parametrize("shape", [(2, 4), (6, 6), (8, 14), (14, 8), (30, 31)])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_reflectors_rebuild_the_rows(shape, scale):
    """Row perm[i] of A is Σ L_ij q_j; applying Q, then Qᵀ, changes nothing; forming Q gives the same Q."""
    A = np.random.default_rng(shape).normal(size=shape) * scale
    rows, L, perm, scratch, rank, exponent = factored(A)
    n = shape[1]
    basis = np.full((n, n), np.nan)
    la.form_q(rows, scratch, rank, 0, n, basis)
    assert np.allclose(basis @ basis.T, np.eye(n), rtol=0, atol=1e-14 * n)
    again = np.ldexp(np.ldexp(L @ basis[: L.shape[1]], exponent // 2), exponent - exponent // 2)
    assert np.allclose(again, A[perm], rtol=0, atol=1e-14 * n * np.abs(A).max())
    x = np.random.default_rng(1).normal(size=(2, n))
    y = x.copy()
    la.apply_q(rows, scratch, rank, y, 1)
    assert np.allclose(y[1], basis.T @ x[1], atol=1e-13 * n)
    la.apply_q_transposed(rows, scratch, rank, y, 1)
    assert np.allclose(y, x, rtol=0, atol=1e-13 * n)


def test_downdated_norms_survive_cancellation():
    """LAPACK Working Note 176: rows that are almost parallel still leave a descending, true diagonal."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        A = np.ones((7, 1)) * rng.normal(size=9) + np.logspace(-4, -11, 7)[:, None] * rng.normal(size=(7, 9))
        _, L, *_ = factored(A)
        d = np.abs(L.diagonal())
        assert np.all(d[1:] <= d[:-1] * (1 + 1e-8))
        left = np.linalg.norm(np.tril(L)[:, 1:], axis=1)
        assert d[1] >= left.max() * (1 - 1e-6)


def test_the_row_left_over_is_reported():
    """At index rank the diagonal holds the norm of the largest row the tolerance dropped."""
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    A = np.array([3.0, 2.0, 1e-9, 1e-11])[:, None] * Q[:4]
    _, _, _, scratch, rank, _ = factored(A, tolerance=1e-6)
    assert rank == 2
    assert np.isclose(scratch[0, 2], 1e-9, rtol=1e-6)
