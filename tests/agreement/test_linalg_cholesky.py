"""Cholesky and what is solved with it, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import linalg as la
from dalembert.outcome import Outcome

SIZES = [1, 2, 3, 4, 7, 14, 33, 81, 400]


def positive(n, seed=0, spread=0.0):
    rng = np.random.default_rng([seed, n])
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    M = (Q * np.logspace(0, -spread, n)) @ Q.T
    return 0.5 * (M + M.T)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_factor_squared_is_the_matrix_and_solves_invert_it(n, scale):
    """M = RᵀR, R R⁻¹ = 1, M M⁻¹ = 1 for vectors and for many rows."""
    M = positive(n, spread=4.0) * scale
    R = np.zeros((n, n))
    status, rank, hint = la.cholesky(M, R)
    assert (status, rank) == (Outcome.OK, n)
    assert np.allclose(R, np.linalg.cholesky(M).T, rtol=0, atol=1e-12 * np.sqrt(scale))
    assert 0.999 / np.linalg.cond(M / scale) <= hint <= 1.0
    rng = np.random.default_rng(1)
    b, rows = rng.normal(size=n), rng.normal(size=(3, n))
    x = b.copy()
    la.solve_cholesky(R, x)
    assert np.allclose(M @ x, b, rtol=0, atol=1e-10 * np.linalg.norm(b))
    x = b.copy()
    la.multiply_upper(R, x)
    assert np.allclose(x, R @ b, rtol=1e-12, atol=1e-13 * np.sqrt(scale))
    la.solve_upper(R, x)
    assert np.allclose(x, b, rtol=0, atol=1e-10)
    la.solve_upper_transposed(R, x)
    assert np.allclose(R.T @ x, b, rtol=0, atol=1e-10)
    xs = rows.copy()
    la.solve_cholesky_rows(R, xs, 2)
    assert np.allclose(xs[:2] @ M, rows[:2], rtol=0, atol=1e-10 * np.linalg.norm(rows))
    assert np.array_equal(xs[2], rows[2])


def test_factoring_in_place_reads_only_the_upper_triangle():
    M = positive(6)
    R = np.triu(M) + np.tril(np.full((6, 6), np.nan), -1)
    assert la.cholesky(R, R)[:2] == (Outcome.OK, 6)
    assert np.allclose(np.triu(R), np.linalg.cholesky(M).T, atol=1e-14)


@pytest.mark.parametrize("where", [0, 3, 5])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_the_first_bad_pivot_is_named(where, value):
    """A diagonal matrix with one entry spoiled: status NOT_POSITIVE and its index; the block before it is factored."""
    M = np.diag(np.arange(1.0, 7.0))
    M[where, where] = value
    R = np.zeros((6, 6))
    assert la.cholesky(M, R) == (Outcome.NOT_POSITIVE, where, 0.0)
    assert np.allclose(R[:where, :where] ** 2, M[:where, :where])


def test_an_empty_matrix_is_positive_definite():
    assert la.cholesky(np.zeros((0, 0)), np.zeros((0, 0))) == (Outcome.OK, 0, 1.0)
