"""Complete orthogonal factorization against LAPACK, by both routes, on matrices of every kind met in practice."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import linalg as la
from dalembert.outcome import Outcome

EPS = np.finfo(float).eps
SHAPES = [(0, 3), (1, 1), (1, 5), (5, 1), (2, 4), (4, 4), (5, 7), (8, 14), (9, 6), (20, 20), (31, 40), (40, 31)]
KINDS = ["random", "graded rows", "deficient", "repeated rows", "zero", "tiny", "huge", "denormal"]


def matrix(kind, m, n, seed=0):
    """A seeded matrix of the kind and its rank."""
    rng = np.random.default_rng([seed, m, n, KINDS.index(kind)])
    A, p = rng.normal(size=(m, n)), min(m, n)
    if kind == "graded rows":
        return np.logspace(0, -6, m)[:, None] * A, p
    if kind == "deficient":
        r = p // 2
        return rng.normal(size=(m, r)) @ rng.normal(size=(r, n)), r
    if kind == "repeated rows":
        A[m // 2 :] = A[: m - m // 2]
        return A, min(m - m // 2, n)
    if kind == "zero":
        return np.zeros((m, n)), 0
    return A * {"random": 1.0, "tiny": 1e-200, "huge": 1e200, "denormal": 1e-306}[kind], p


def factored(A, route, tolerance=1e-10):
    f = la.allocate(*A.shape)
    before = A.copy()
    if route == "qr":
        status, rank = la.rank_factor(f, A, tolerance, 1.0, True)
    else:
        status, rank = la.factor_svd(f, A, tolerance, True)
    assert status == Outcome.OK
    assert np.array_equal(A, before)
    assert f.info[la.RANK] == rank
    return f, rank


every = pytest.mark.parametrize("kind", KINDS)
both = pytest.mark.parametrize("route", ["qr", "svd"])


@every
@both
def test_the_factors_multiply_to_the_matrix_and_are_orthonormal(kind, route):
    """A = U T Q₁ᵀ with basis and left orthogonal and A Q₂ = 0, to a few ε of ‖A‖."""
    for m, n in SHAPES:
        A, rank = matrix(kind, m, n)
        f, r = factored(A, route)
        assert r == rank, (m, n)
        size = np.abs(A).max(initial=0.0) * max(m, n) * (30 * EPS if kind != "denormal" else 1e-9)
        T = f.core[:r, :r]
        assert np.all(np.triu(T, 1) == 0.0)
        assert np.allclose(f.left[:r].T @ T @ f.basis[:r], A, rtol=0, atol=size)
        assert np.allclose(f.basis @ f.basis.T, np.eye(n), rtol=0, atol=50 * EPS * max(m, n))
        assert np.allclose(f.left @ f.left.T, np.eye(m), rtol=0, atol=50 * EPS * max(m, n))
        assert np.allclose(A @ f.basis[r:].T, 0.0, rtol=0, atol=size)
        assert np.allclose(f.left[r:] @ A, 0.0, rtol=0, atol=size)


@every
@both
def test_the_solution_is_the_shortest_least_squares_one(kind, route):
    """A⁺c and (Aᵀ)⁺g agree with LAPACK's SVD, relative to the condition number."""
    for m, n in SHAPES:
        A, _ = matrix(kind, m, n, seed=1)
        f, _ = factored(A, route)
        scale = np.abs(A).max(initial=0.0) or 1.0
        plus = np.linalg.pinv(A / scale, rcond=1e-10)
        rng = np.random.default_rng(3)
        c, g = rng.normal(size=m), rng.normal(size=n)
        v, x = np.full(n, np.nan), np.full(m, np.nan)
        la.solve(f, c * scale, v)
        la.solve_transposed(f, g * scale, x)
        limit = 1e-14 * max(m, n, 1) * (1.0 + np.linalg.norm(plus)) ** 2
        limit = limit if kind != "denormal" else max(limit, 1e-7)
        assert np.allclose(v, plus @ c, rtol=0, atol=limit * (1 + np.linalg.norm(c)))
        assert np.allclose(x, plus.T @ g, rtol=0, atol=limit * (1 + np.linalg.norm(g)))


@pytest.mark.parametrize("kind", ["random", "deficient", "repeated rows", "zero"])
@both
def test_the_four_moore_penrose_conditions_hold(kind, route):
    """A X A = A, X A X = X, and both A X and X A are symmetric."""
    for m, n in SHAPES:
        A, _ = matrix(kind, m, n, seed=2)
        f, _ = factored(A, route)
        X = np.full((n, m), np.nan)
        la.pseudo_inverse(f, X)
        a, x = np.linalg.norm(A), np.linalg.norm(X)
        limit = 1e-14 * max(m, n) * (1 + a * x)
        assert np.allclose(A @ X @ A, A, rtol=0, atol=limit * (a + 1))
        assert np.allclose(X @ A @ X, X, rtol=0, atol=limit * (x + 1))
        assert np.allclose(A @ X, (A @ X).T, rtol=0, atol=limit)
        assert np.allclose(X @ A, (X @ A).T, rtol=0, atol=limit)


@both
def test_projectors_split_a_vector_into_what_the_constraints_see_and_the_rest(route):
    """Row-space and null-space parts add up, are orthogonal, and A sees only the first; in place as well."""
    for m, n in SHAPES:
        A, _ = matrix("deficient", m, n, seed=4)
        f, _ = factored(A, route)
        rng = np.random.default_rng(5)
        v, c = rng.normal(size=n), rng.normal(size=m)
        seen, free, reach = np.empty(n), v.copy(), np.empty(m)
        la.project_rows(f, v, seen)
        la.project_null(f, free, free)
        la.project_range(f, c, reach)
        plus = np.linalg.pinv(A, rcond=1e-10) if A.size else np.zeros((n, m))
        assert np.allclose(seen + free, v, atol=1e-13)
        assert np.allclose(A @ free, 0.0, atol=1e-12)
        assert np.allclose(seen, plus @ (A @ v), atol=1e-11)
        assert np.allclose(reach, A @ (plus @ c), atol=1e-11)


def test_null_rows_formed_later_are_those_formed_at_once():
    """`complete` after a factorization without null space gives the same basis as asking for it; twice does no harm."""
    for route in ("qr", "svd"):
        for m, n in SHAPES:
            A, _ = matrix("deficient", m, n, seed=6)
            whole, rank = factored(A, route)
            f = la.allocate(m, n)
            if route == "qr":
                la.rank_factor(f, A, 1e-10, 1.0, False)
            else:
                la.factor_svd(f, A, 1e-10, False)
            assert f.info[la.FORMED] >= rank
            la.complete(f)
            la.complete(f)
            assert np.array_equal(f.basis, whole.basis)


@pytest.mark.parametrize(
    ("small", "route", "rank"),
    [
        (1.0e-3, "qr", 3),
        (1.1e-8, "qr", 3),
        (0.9e-8, "svd", 3),
        (1.1e-10, "svd", 3),
        (0.9e-10, "svd", 2),
        (1.1e-12, "svd", 2),
        (0.9e-12, "qr", 2),
        (0.0, "qr", 2),
    ],
)
def test_svd_is_taken_exactly_when_the_diagonal_is_within_the_safety_factor(small, route, rank):
    """Tolerance 1e-10 and safety 100: the window is (1e-12, 1e-8). Orthogonal rows make |R_kk| the row lengths."""
    Q = np.linalg.qr(np.random.default_rng(7).normal(size=(5, 5)))[0]
    A = np.array([1.0, 0.5, small])[:, None] * Q[:3]
    f = la.allocate(3, 5)
    status, found = la.rank_factor(f, A, 1e-10, 100.0, True)
    assert status == Outcome.OK
    assert found == rank
    assert f.info[la.ROUTE] == (la.VIA_SVD if route == "svd" else la.VIA_QR)
    assert np.allclose(A @ f.basis[rank:].T, 0.0, atol=2e-10)


def test_infinite_safety_always_takes_the_svd_and_one_never_does():
    A, _ = matrix("random", 5, 7)
    f = la.allocate(5, 7)
    la.rank_factor(f, A, 1e-10, np.inf, True)
    assert f.info[la.ROUTE] == la.VIA_SVD
    la.rank_factor(f, A * np.logspace(0, -11, 5)[:, None], 1e-10, 1.0, True)
    assert f.info[la.ROUTE] == la.VIA_QR


@pytest.mark.parametrize("seed", range(10))
def test_qr_and_svd_routes_give_the_same_subspaces_near_rank_loss(seed):
    """σ from 1 to 1e-7, then 1e-13 and below: same rank, same projector, same solution."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.normal(size=(k, k)))[0] for k in (6, 9))
    A = U @ np.diag([1.0, 0.3, 1e-2, 1e-4, 1e-13, 1e-15]) @ V[:6]
    f, r = factored(A, "qr")
    g, s = factored(A, "svd")
    assert r == s == 4
    assert np.allclose(f.basis[:r].T @ f.basis[:r], g.basis[:r].T @ g.basis[:r], atol=1e-8)
    c, v, w = U[:, :4] @ rng.normal(size=4), np.empty(9), np.empty(9)
    la.solve(f, c, v)
    la.solve(g, c, w)
    assert np.allclose(v, w, rtol=0, atol=1e-7 * np.linalg.norm(w))


@pytest.mark.parametrize("seed", range(10))
def test_the_gauge_tells_the_distance_to_singularity(seed):
    """SVD route: σ_r and condition exact. QR route: |R_rr| bounds σ_r from above, inverse iteration closes in on it."""
    rng = np.random.default_rng(seed)
    A = np.logspace(0, -5, 6)[:, None] * rng.normal(size=(6, 8))
    sigma = np.linalg.svd(A, compute_uv=False)
    g, _ = factored(A, "svd")
    assert np.isclose(la.condition(g), sigma[0] / sigma[-1], rtol=1e-9)
    assert np.isclose(la.smallest_singular_value(g, 3), sigma[-1], rtol=1e-9)
    f, _ = factored(A, "qr")
    assert sigma[-1] * (1 - 1e-12) <= f.gauge[la.SMALLEST] <= 8 * sigma[-1]
    assert sigma[-1] * (1 - 1e-9) <= la.smallest_singular_value(f, 5) <= 1.05 * sigma[-1]
    for scale in (1e-290, 1e290):
        f, _ = factored(A * scale, "qr")
        assert np.isclose(la.smallest_singular_value(f, 5) / scale, sigma[-1], rtol=0.05)


def test_a_matrix_of_four_hundred_rows_is_factored_as_well_as_a_small_one():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(400, 300)) @ rng.normal(size=(300, 400))
    f, r = factored(A, "qr")
    assert r == 300
    assert np.allclose(f.left[:r].T @ f.core[:r, :r] @ f.basis[:r], A, rtol=0, atol=1e-12 * np.linalg.norm(A))
    assert np.allclose(f.basis @ f.basis.T, np.eye(400), rtol=0, atol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_reported_and_leaves_a_zero_factorization(bad):
    """NOT_FINITE and rank 0; no hang, no exception; solutions are zero."""
    for m, n in [(1, 1), (3, 5), (5, 3)]:
        for scale in (1.0, 1e-250, 1e250):
            A = np.random.default_rng(0).normal(size=(m, n)) * scale
            A[m - 1, n - 1] = bad
            f, v = la.allocate(m, n), np.ones(n)
            assert la.rank_factor(f, A, 1e-10, 100.0, True) == (Outcome.NOT_FINITE, 0)
            assert la.factor_svd(f, A, 1e-10, True) == (Outcome.NOT_FINITE, 0)
            la.solve(f, np.ones(m), v)
            assert np.array_equal(v, np.zeros(n))
            assert f.info[la.STATUS] == Outcome.NOT_FINITE
