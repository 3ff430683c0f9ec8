"""The linear equations of small motions over steps, by the method of Gauss of order eight.

    δ̇ = δv − B δ,   δv̇ = J_q δ + J_v δv + F,   and integrals of ℓ_q δ + ℓ_v δv

At the nodes i of a step of length h, with the method's a and b,

    D_i = δ + h Σ a_ij δ̇_j,   V_i = δv + h Σ a_ij δv̇_j                                                              (1)
    δ̇_i = V_i − B_i D_i,   δv̇_i = J_q D_i + J_v V_i + F_i

The δ̇_i are eliminated, then the δv̇_i. What is left of a step is two matrices:

    [δ₊; δv₊; ∫] = T [δ; δv] + X F                                                                                   (2)

T and X are found for all steps at once; one step after another there are only products. Forward (T, X) and backward
(Tᵀ, Xᵀ) are transposes of each other, so both give the same derivatives to rounding. Stiff equations do no harm.
"""

from __future__ import annotations

import numpy as np

STAGES = 4


def _table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, b and c: collocation at the zeros of Legendre's polynomial."""
    x, w = np.polynomial.legendre.leggauss(STAGES)
    c, b = (x + 1) / 2, w / 2
    powers = np.arange(STAGES)
    a = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(c[:, None] ** powers)
    return a, b, c


A, B, C = _table()


def nodes(t: np.ndarray) -> np.ndarray:
    """(N·4,) times of the nodes between N + 1 times."""
    return (t[:-1, None] + np.diff(t)[:, None] * C).ravel()


def transfer(
    by_q: np.ndarray, by_v: np.ndarray, turn: np.ndarray | None, h: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """T (N, 2n + k, 2n) and X (N, 2n + k, 4n) of (2).

    by_q, by_v, turn: J_q, J_v and B at the nodes, (4N, n, n); turn may be None, for zero. h: (N,) steps. rows: the
    integrands (ℓ_q, ℓ_v), (4N, k, 2n).
    """
    N, n, s, k = len(h), by_q.shape[1], STAGES, rows.shape[1]
    one, h3 = np.eye(n), h[:, None, None]
    all_ = np.kron(np.ones((s, 1)), one)
    # maps of [δ; δv; the δv̇_i] to the V_i, the δ̇_i and the D_i
    V = np.zeros((N, s * n, 2 * n + s * n))
    V[:, :, n : 2 * n], V[:, :, 2 * n :] = all_, h3 * np.kron(A, one)
    rate = V
    if turn is not None:
        turned = turn.reshape(N, s, n, n)
        right = V.copy()
        right[:, :, :n] = -turned.reshape(N, s * n, n)
        coupled = (h3[..., None, None] * A[:, None, :, None] * turned[:, :, :, None, :]).reshape(N, s * n, s * n)
        rate = np.linalg.solve(coupled + np.eye(s * n), right)
    by_stage = (h3 * rate).reshape(N, s, -1)
    D = (A @ by_stage).reshape(N, s * n, -1)
    D[:, :, :n] += all_
    stacked = (N * s, n, (2 + s) * n)
    E = (by_q @ D.reshape(stacked) + by_v @ V.reshape(stacked)).reshape(N, s * n, -1)
    out = np.zeros((N, 2 * n + k, (2 + s) * n))
    out[:, :n] = (B @ by_stage).reshape(N, n, -1)
    out[:, n : 2 * n, 2 * n :] = h3 * np.kron(B, one)
    out[:, : 2 * n, : 2 * n] += np.eye(2 * n)
    if k:
        inner = rows[:, :, :n] @ D.reshape(stacked) + rows[:, :, n:] @ V.reshape(stacked)
        out[:, 2 * n :] = h3 * np.einsum("i,Nikc->Nkc", B, inner.reshape(N, s, k, -1))
    M = np.eye(s * n) - E[:, :, 2 * n :]
    X = np.linalg.solve(M.transpose(0, 2, 1), out[:, :, 2 * n :].transpose(0, 2, 1)).transpose(0, 2, 1)
    return out[:, :, : 2 * n] + X @ E[:, :, : 2 * n], X
