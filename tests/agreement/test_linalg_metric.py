"""Minimum norm in a metric, and damping, against dense systems solved by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert import linalg as la
from dalembert.outcome import Outcome


def problem(seed, m, n, redundant=0):
    rng = np.random.default_rng([seed, m, n])
    B = rng.normal(size=(n, n))
    W = B @ B.T + 0.1 * np.eye(n)
    A = rng.normal(size=(m, n))
    A = np.vstack([A, rng.normal(size=(redundant, m)) @ A])
    return rng, W, A


def in_metric(W, A, safety=100.0):
    m, n = A.shape
    R, white, f = np.zeros((n, n)), np.empty((m, n)), la.allocate(m, n)
    assert la.cholesky(W, R)[0] == Outcome.OK
    status, rank = la.metric_factor(f, A, R, white, 1e-10, safety, True)
    assert status == Outcome.OK
    assert np.allclose(white @ R, A, atol=1e-12)
    return R, f, rank


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("safety", [1.0, np.inf])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 4), (5, 7), (8, 14), (30, 40)])
def test_the_metric_solution_is_that_of_the_kkt_system(seed, safety, m, n):
    """min vᵀWv subject to A v = c: the block system [W Aᵀ; A 0] gives the same v."""
    rng, W, A = problem(seed, m, n)
    R, f, rank = in_metric(W, A, safety)
    c, v = rng.normal(size=m), np.empty(n)
    la.metric_solve(f, R, c, v)
    kkt = np.block([[W, A.T], [A, np.zeros((m, m))]])
    expected = np.linalg.solve(kkt, np.concatenate([np.zeros(n), c]))[:n]
    assert rank == m
    assert np.allclose(v, expected, rtol=0, atol=1e-9 * np.linalg.norm(expected))


@pytest.mark.parametrize("seed", range(5))
def test_redundant_constraints_change_nothing(seed):
    """Rows that repeat others leave the metric solution as it was, and A v = c still holds."""
    rng, W, A = problem(seed, 4, 9, redundant=3)
    R, f, rank = in_metric(W, A)
    lone, g, _ = in_metric(W, A[:4])
    c = A @ rng.normal(size=9)
    v, w = np.empty(9), np.empty(9)
    la.metric_solve(f, R, c, v)
    la.metric_solve(g, lone, c[:4].copy(), w)
    assert rank == 4
    assert np.allclose(v, w, rtol=0, atol=1e-10 * np.linalg.norm(w))
    assert np.allclose(A @ v, c, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_null_motions_are_orthonormal_in_the_metric(seed):
    """A N = 0 and Nᵀ W N = 1."""
    _, W, A = problem(seed, 3, 8, redundant=2)
    R, f, rank = in_metric(W, A)
    out = np.full((8, 8), np.nan)
    count = la.metric_null(f, R, out)
    N = out[:count].T
    assert count == 8 - rank == 5
    assert np.allclose(A @ N, 0.0, atol=1e-11)
    assert np.allclose(N.T @ W @ N, np.eye(5), atol=1e-11)


@pytest.mark.parametrize("safety", [1.0, np.inf])
@pytest.mark.parametrize("damp", [0.0, 1e-9, 1e-4, 0.3, 1e3])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 4), (6, 6), (9, 5)])
def test_the_damped_solution_is_that_of_the_stacked_least_squares_problem(safety, damp, m, n):
    """min ‖A v - c‖² + λ²‖v‖² by LAPACK on [A; λI]; the singular values run down to 1e-6."""
    rng = np.random.default_rng([m, n])
    A = np.logspace(0, -6, m)[:, None] * rng.normal(size=(m, n))
    c, v, f = A @ rng.normal(size=n) + 1e-7 * rng.normal(size=m), np.empty(n), la.allocate(m, n)
    la.rank_factor(f, A, 1e-14, safety, False)
    kept = f.core.copy()
    la.damped_solve(f, c, damp, v)
    stacked = np.vstack([A, damp * np.eye(n)]) if damp else A
    expected = np.linalg.lstsq(stacked, np.concatenate([c, np.zeros(len(stacked) - m)]), rcond=1e-15)[0]
    assert np.allclose(v, expected, rtol=0, atol=1e-8 * np.linalg.norm(expected))
    assert np.array_equal(f.core, kept)


def test_damping_acts_only_near_the_singularity_and_joins_smoothly():
    """λ = 0 outside, λ² rises from 0 at the threshold to λ_max² at σ = 0, monotonically."""
    assert la.damping(0.2, 0.1, 0.05) == la.damping(0.1, 0.1, 0.05) == 0.0
    assert la.damping(0.0, 0.1, 0.05) == 0.05
    squares = [la.damping(s, 0.1, 0.05) ** 2 for s in np.linspace(0.0, 0.1, 50)]
    assert np.all(np.diff(squares) < 0)
    assert max(-np.diff(squares)) < 0.05**2 * 0.05
