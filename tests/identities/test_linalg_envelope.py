"""QR by the envelope: the same answers as a dense decomposition, whatever the order and the overlap of the rows."""

from typing import NamedTuple

import numpy as np
import pytest

from dalembert.linalg import envelope


class Rows(NamedTuple):
    rows: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    start: np.ndarray
    order: np.ndarray
    diagonal: np.ndarray
    inverse: np.ndarray
    tau: np.ndarray
    weak: np.ndarray


def made(A):
    """A with its envelope, to be factored."""
    m = len(A)
    begin = np.array([np.flatnonzero(row)[0] for row in A])
    end = np.array([np.flatnonzero(row)[-1] + 1 for row in A])
    return Rows(A.copy(), begin, end, np.zeros(m, int), np.zeros(m, int), *np.zeros((4, m)))


def banded(rng, m, n, width):
    """Rows of random entries in `width` columns side by side, in a random order."""
    A = np.zeros((m, n))
    for i in range(m):
        at = int(i * (n - width) / max(m - 1, 1))
        A[i, at : at + width] = rng.standard_normal(width)
    return A[rng.permutation(m)]


@pytest.mark.parametrize(("m", "n", "width"), [(1, 1, 1), (1, 6, 3), (4, 7, 7), (6, 6, 3), (20, 21, 4), (80, 81, 3)])
@pytest.mark.parametrize("weak", [1.0, 1e-6])
def test_rows_are_solved_as_by_a_dense_decomposition(m, n, width, weak):
    rng = np.random.default_rng(m + n)
    A = banded(rng, m, n, width)
    if m > 3:  # one row nearly a combination of its neighbours
        near = np.argsort(np.abs(A[1:] @ A[0]))[-2:] + 1
        A[0] = A[near].sum(axis=0) + weak * A[0]
    A = np.hstack([np.zeros((m, 2)), A])  # of joints that are no part of loops
    n += 2
    e = made(A)
    assert envelope.envelope_qr(e) == m
    for row, begin, end in zip(e.rows, e.begin, e.end):  # what a next factorization clears
        assert not row[:begin].any()
        assert not row[end:].any()
    Q = np.eye(n)
    for column in Q:  # row k of Q ← Q e_k
        envelope.turn_back(e, column)
    L = np.array([[e.rows[r, j] if j < i else 0.0 for j in range(m)] for i, r in enumerate(e.order)])
    L[np.diag_indices(m)] = e.diagonal
    np.testing.assert_allclose(Q @ Q.T, np.eye(n), rtol=0, atol=1e-13)
    np.testing.assert_allclose(L @ Q[:m], A[e.order], rtol=0, atol=1e-13)
    x = rng.standard_normal(n)
    turned = x.copy()
    envelope.turn(e, turned)
    np.testing.assert_allclose(turned, Q @ x, rtol=0, atol=1e-12)
    y = rng.standard_normal(m)
    for solve, T in ((envelope.solve_rows, L), (envelope.solve_rows_transposed, L.T)):
        found = y.copy()
        solve(e, found)
        np.testing.assert_allclose(T @ found, y, rtol=0, atol=1e-12 * np.abs(found).max())
    sigma = np.linalg.svd(A, compute_uv=False)[-1]
    assert envelope.least_singular_value(e, 400, 1e-14) == pytest.approx(sigma, rel=1e-9)
    again = envelope.least_singular_value(e, 1, 1.0)  # from the vector found before
    assert again == pytest.approx(sigma, rel=1e-9)
    np.testing.assert_allclose(np.linalg.norm(e.weak @ L), sigma, rtol=1e-9)


def test_a_row_that_depends_on_those_before_it_is_found_to_rounding():
    rng = np.random.default_rng(1)
    A = banded(rng, 6, 9, 5)
    A[5] = 0.3 * A[0] - 2.0 * A[2]
    e = made(A)
    assert envelope.envelope_qr(e) < 6 or envelope.least_singular_value(e, 5, 1e-3) < 1e-15
    e = made(np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]))
    assert envelope.envelope_qr(e) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_mass_matrix_of_a_tree_is_factored_without_fill(seed):
    """M = Fᵀ F from tips to roots; F has entries where M has."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    parent = [int(rng.integers(-1, k)) if k else -1 for k in range(n)]
    F = np.zeros((n, n))
    for k in range(n):
        i = k
        while i >= 0:
            F[k, i] = rng.uniform(0.5, 2.0) if i == k else rng.standard_normal()
            i = parent[i]
    M = F.T @ F
    lower, first = np.full((n, n), np.nan), np.zeros(n, int)
    assert envelope.factor_tree(M, lower, first)
    found = np.array([[lower[k, j] if first[k] <= j <= k else 0.0 for j in range(n)] for k in range(n)])
    np.testing.assert_allclose(found, F, rtol=0, atol=1e-12)
    x = rng.standard_normal(n)
    for solve, T in ((envelope.solve_tree, F), (envelope.solve_tree_transposed, F.T)):
        y = x.copy()
        solve(lower, first, y)
        np.testing.assert_allclose(T @ y, x, rtol=0, atol=1e-10)
    row = np.zeros((2, n))
    at = int(rng.integers(n))
    row[1, at] = 2.0
    begin = envelope.whiten_by_tree(lower, first, row, 1, at + 1)
    np.testing.assert_allclose(row[1] @ F, 2.0 * np.eye(n)[at], rtol=0, atol=1e-10)
    assert begin == np.flatnonzero(row[1])[0]
    assert not envelope.factor_tree(-M, lower, first)
