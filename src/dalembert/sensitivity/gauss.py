"""Linear equations ẋ = J(t) x + F(t), and integrals of ℓ(t) x, over steps, by the method of Gauss of order eight.

    K_i = J_i (x + h Σ a_ij K_j) + F_i,   x₊ = x + h Σ b_i K_i,   ∫ = h Σ b_i ℓ_i (x + h Σ a_ij K_j)              (1)
    [x₊; ∫] = T x + X F,   Mᵀ Xᵀ = [h b ⊗ 1, h² (b ℓ) a],   T = X J + [1; h Σ b_i ℓ_i],   M = 1 − h (a_ij J_i)    (2)

T and X are found for all steps at once; one step after another there are only products. Forward (T, X) and backward
(Tᵀ, Xᵀ) are transposes of each other, so both give the same derivatives to rounding. The method is stable for stiff
equations.
"""

from __future__ import annotations

import numpy as np

STAGES = 4


def _table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, b and c of the method of Gauss: collocation at the zeros of Legendre's polynomial."""
    x, w = np.polynomial.legendre.leggauss(STAGES)
    c, b = (x + 1) / 2, w / 2
    powers = np.arange(STAGES)
    a = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(c[:, None] ** powers)
    return a, b, c


A, B, C = _table()


def nodes(t: np.ndarray) -> np.ndarray:
    """(N·4,) times of the nodes between N + 1 times."""
    return (t[:-1, None] + np.diff(t)[:, None] * C).ravel()


def transfer(J: np.ndarray, h: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T (N, n + k, n) and X (N, n + k, 4, n) of (2), for J (N, 4, n, n), steps h (N,) and integrands ℓ (N, 4, k, n)."""
    N, s, n, _ = J.shape
    k = rows.shape[2]
    M = -(h[:, None, None, None, None] * A[:, None, :, None]) * J[:, :, :, None, :]  # (N, i, row, j, column)
    M = M.reshape(N, s * n, s * n)
    M[:, np.arange(s * n), np.arange(s * n)] += 1.0
    right = np.zeros((N, s, n, n + k))
    right[:, :, np.arange(n), np.arange(n)] = h[:, None, None] * B[:, None]
    if k:
        right[..., n:] = np.einsum("N,i,ij,Nikn->Njnk", h * h, B, A, rows)
    X = np.linalg.solve(M.transpose(0, 2, 1), right.reshape(N, s * n, n + k)).transpose(0, 2, 1)
    T = X @ J.reshape(N, s * n, n)
    T[:, np.arange(n), np.arange(n)] += 1.0
    if k:
        T[:, n:] += np.einsum("N,i,Nikn->Nkn", h, B, rows)
    return T, X.reshape(N, n + k, s, n)
