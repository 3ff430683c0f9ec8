"""QR by the envelope: the same answers as a dense decomposition, whatever the order and the overlap of the rows."""

from collections import namedtuple

import numpy as np
import pytest

from dalembert.formulations.envelope import Envelope, make_envelope
from dalembert.linalg import envelope

Memory = namedtuple("Memory", [field.name for field in Envelope.arrays])  # as Numba takes it from Python


def made(A, M=None):
    """Memory for A, and for a mass matrix M, by their elements, filled with them."""
    (row, column), m, n = np.nonzero(A), len(A), A.shape[1]
    e = make_envelope(m, n, (row, column), None if M is None else np.nonzero(np.tril(M)))
    e.rows[e.base[row] + column, 0] = A[row, column]
    if M is not None:
        k, j = np.nonzero(np.tril(M))
        e.lower[e.foot[k] + j, 0] = M[k, j]
    return Memory(*(getattr(e, name) for name in Memory._fields))


def stored(e):
    """(m, n) the rows as they are stored, zeros beside their envelopes."""
    out = np.zeros((len(e.base), len(e.foot)))
    for i in range(len(out)):
        out[i, e.begin[i] : e.end[i]] = e.rows[e.base[i] + e.begin[i] : e.base[i] + e.end[i], 0]
    return out


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
    first, after = e.base + e.begin, e.base + e.end  # rows stay within their room, and do not overlap
    assert first.min() >= 0
    assert after.max() <= len(e.rows)
    assert (np.sort(first)[1:] >= np.sort(after)[:-1]).all()
    Q = np.eye(n)
    for column in Q:  # row k of Q ← Q e_k
        envelope.turn_back(e, column)
    rows = stored(e)
    L = np.array([[rows[r, j] if j < i else 0.0 for j in range(m)] for i, r in enumerate(e.order)])
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
    at = int(rng.integers(n))
    A = 2.0 * np.eye(n)[[at]]
    e = made(A, M)
    assert (e.first == [np.flatnonzero(row)[0] for row in F]).all()
    assert envelope.factor_tree(e)
    found = np.array([[e.lower[e.foot[k] + j, 0] if e.first[k] <= j <= k else 0.0 for j in range(n)] for k in range(n)])
    np.testing.assert_allclose(found, F, rtol=0, atol=1e-12)
    x = rng.standard_normal(n)
    for solve, T in ((envelope.solve_tree, F), (envelope.solve_tree_transposed, F.T)):
        y = x.copy()
        solve(e, y)
        np.testing.assert_allclose(T @ y, x, rtol=0, atol=1e-10)
    envelope.whiten_by_tree(e)
    row = e.rows[e.base[0] + e.start[0] : e.base[0] + e.stop[0], 0]
    np.testing.assert_allclose(row @ F[e.start[0] : e.stop[0]], A[0], rtol=0, atol=1e-10)
    assert not envelope.factor_tree(made(A, -M))


def test_a_chain_of_loops_needs_memory_in_proportion_to_its_length():
    """m rows of 4 columns each, side by side."""
    room = [len(made(banded(np.random.default_rng(0), m, m + 4, 4)).rows) for m in (50, 100, 200)]
    assert room[2] - room[1] < 2.2 * (room[1] - room[0])
    assert room[2] < 200 * 16
