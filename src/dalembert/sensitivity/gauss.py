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
    # V_i and D_i as maps of [δ; δv; the δv̇_j]: numbers times the identity where B = 0
    V, D = np.zeros((2, N, s, 2 + s))
    V[:, :, 1], V[:, :, 2:] = 1.0, h[:, None, None] * A
    D[:, :, 0], D[:, :, 1:] = 1.0, h[:, None, None] * (A @ V[:, :, 1:])
    ends = np.zeros((N, 2, 2 + s))
    ends[:, 0, 1:], ends[:, 1, 2:] = h[:, None] * (B @ V[:, :, 1:]), h[:, None] * B
    ends[:, [0, 1], [0, 1]] += [1.0, 1.0]
    if turn is None:
        E = _spread(by_q, D) + _spread(by_v, V)
        out = _spread(np.broadcast_to(np.eye(n), (N, 1, n, n)), ends)
        inner = _spread(rows[:, :, :n], D) + _spread(rows[:, :, n:], V) if k else None
    else:
        wide, one = (N, s, n, (2 + s) * n), np.broadcast_to(np.eye(n), (N, s, n, n))
        V = _spread(one, V)
        rate = V.copy()
        turned = turn.reshape(N, s, n, n)
        rate[:, :, :n] -= turned.reshape(N, s * n, n)
        coupled = (h[:, None, None, None, None] * A[:, None, :, None] * turned[:, :, :, None, :]).reshape(N, s * n, -1)
        rate = (h[:, None, None] * np.linalg.solve(coupled + np.eye(s * n), rate)).reshape(N, s, -1)
        D = (A @ rate).reshape(wide)
        D[..., :n] += np.eye(n)
        V = V.reshape(wide)
        E = (by_q.reshape(one.shape) @ D + by_v.reshape(one.shape) @ V).reshape(N, s * n, -1)
        out = _spread(one[:, :1], ends)
        out[:, :n] = (B @ rate).reshape(N, n, -1)
        out[:, :n, :n] += np.eye(n)
        lists = rows.reshape(N, s, k, 2 * n)
        inner = (lists[..., :n] @ D + lists[..., n:] @ V).reshape(N, s * k, -1) if k else None
    if inner is not None:
        sums = np.einsum("N,i,Nikc->Nkc", h, B, inner.reshape(N, s, k, -1))
        out = np.concatenate([out, sums], axis=1)
    M = np.eye(s * n) - E[:, :, 2 * n :]
    X = np.linalg.solve(M.transpose(0, 2, 1), out[:, :, 2 * n :].transpose(0, 2, 1)).transpose(0, 2, 1)
    return out[:, :, : 2 * n] + X @ E[:, :, : 2 * n], X


def _spread(J: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Matrices J_i, (N s, m, n), times the numbers f_ij, (N, s, c), side by side: (N, s m, c n)."""
    N, s, c = factors.shape
    m, n = J.shape[-2:]
    return (J.reshape(N, -1, m, 1, n) * factors[:, :, None, :, None]).reshape(N, s * m, c * n)
