"""One-sided Jacobi against LAPACK, and against sixty-digit arithmetic where LAPACK is not accurate enough."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from dalembert import linalg as la
from dalembert.outcome import Outcome


def exact_singular_values(A, digits=80):
    """Singular values by Jacobi in decimal arithmetic: slow, and right to far more digits than doubles have."""
    with localcontext() as context:
        context.prec = digits
        rows = [[Decimal(float(x)) for x in row] for row in A]
        m, small = len(rows), Decimal(10) ** (-digits // 2)
        for _ in range(60):
            turned = False
            for p in range(m):
                for q in range(p + 1, m):
                    a, b = rows[p], rows[q]
                    aa, bb = sum(x * x for x in a), sum(x * x for x in b)
                    ab = sum(x * y for x, y in zip(a, b))
                    if ab * ab <= small * small * aa * bb:
                        continue
                    turned = True
                    zeta = (bb - aa) / (2 * ab)
                    t = 1 / (abs(zeta) + (1 + zeta * zeta).sqrt()) * (1 if zeta >= 0 else -1)
                    c = 1 / (1 + t * t).sqrt()
                    rows[p] = [c * x - c * t * y for x, y in zip(a, b)]
                    rows[q] = [c * t * x + c * y for x, y in zip(a, b)]
            if not turned:
                break
        return sorted((float(sum(x * x for x in row).sqrt()) for row in rows), reverse=True)


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (4, 7), (7, 4), (20, 20), (60, 40), (40, 60)])
def test_singular_values_agree_with_lapack(shape):
    for seed in range(4):
        A = np.random.default_rng([seed, *shape]).normal(size=shape)
        s = la.singular_values(A)
        p = min(shape)
        assert s.status == Outcome.OK
        assert np.all(np.diff(s.values) <= 0)
        assert np.allclose(s.values, np.linalg.svd(A, compute_uv=False), rtol=1e-12)
        assert np.allclose(s.left[:p].T * s.values @ s.right[:p], A, rtol=0, atol=1e-13 * np.linalg.norm(A))
        assert np.allclose(s.right @ s.right.T, np.eye(shape[1]), rtol=0, atol=1e-13)
        assert np.allclose(s.left @ s.left.T, np.eye(shape[0]), rtol=0, atol=1e-13)


@pytest.mark.parametrize("span", [12, 40, 100])
@pytest.mark.parametrize("seed", range(3))
def test_every_singular_value_of_a_badly_scaled_matrix_is_relatively_accurate(seed, span):
    """A = D B, D from 1 to 10^-span: each σ to a few ε κ(B), the smallest included; LAPACK's error is ε σ_max."""
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.normal(size=(7, 7)))[0][:5] + 0.1 * rng.normal(size=(5, 7))
    A = rng.permutation(np.logspace(0, -span, 5))[:, None] * B
    exact = exact_singular_values(A, digits=80 + 2 * span)
    ours = la.singular_values(A, tolerance=0.0).values
    assert np.allclose(ours, exact, rtol=30 * np.finfo(float).eps * np.linalg.cond(B), atol=0)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_singular_values_scale_with_the_matrix(scale):
    A = np.logspace(0, -4, 5)[:, None] * np.random.default_rng(1).normal(size=(5, 6))
    one, other = la.singular_values(A), la.singular_values(A * scale)
    assert np.allclose(other.values / scale, one.values, rtol=1e-12, atol=0)


def test_equal_and_zero_singular_values_are_found():
    """Orthogonal, identity, zero, and rank-one matrices: clusters must not keep the sweeps from ending."""
    Q = np.linalg.qr(np.random.default_rng(2).normal(size=(9, 9)))[0]
    for A, expected in [
        (Q, np.ones(9)),
        (np.eye(4, 6), np.ones(4)),
        (np.zeros((3, 5)), np.zeros(3)),
        (np.ones((6, 6)), np.array([6.0, 0, 0, 0, 0, 0])),
        (np.ones((50, 30)), np.append(np.sqrt(1500.0), np.zeros(29))),
        (Q[:, :1] * Q[:1], np.append(np.linalg.norm(Q[:, 0]), np.zeros(8))),
    ]:
        s = la.singular_values(A)
        assert s.status == Outcome.OK
        assert np.allclose(s.values, expected, rtol=1e-13, atol=1e-14)


def test_the_sweeps_end_on_hard_matrices():
    """Hilbert, Kahan, Vandermonde, graded both ways: converged, and A = Uᵀ Σ V."""
    k = np.arange(1.0, 31)
    hilbert = 1.0 / (k[:, None] + k - 1)
    sine, cosine = np.sin(1.2), np.cos(1.2)
    kahan = sine ** np.arange(30)[:, None] * (np.eye(30) - cosine * np.triu(np.ones((30, 30)), 1))
    vandermonde = np.vander(np.linspace(-1, 1, 30))
    graded = np.logspace(0, -8, 30)[:, None] * np.random.default_rng(0).normal(size=(30, 30)) * np.logspace(-8, 0, 30)
    for A in (hilbert, kahan, vandermonde, graded):
        s = la.singular_values(A)
        assert s.status == Outcome.OK
        assert np.allclose(s.left.T * s.values @ s.right, A, rtol=0, atol=1e-13 * np.linalg.norm(A))


def test_four_hundred_by_four_hundred_converges():
    A = np.random.default_rng(3).normal(size=(400, 120)) @ np.random.default_rng(4).normal(size=(120, 400))
    f = la.allocate(400, 400)
    status, rank = la.factor_svd(f, A, 1e-10, True)
    assert (status, rank) == (Outcome.OK, 120)
    assert np.allclose(f.core.diagonal()[:120], np.linalg.svd(A, compute_uv=False)[:120], rtol=1e-11)
