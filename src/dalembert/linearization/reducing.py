"""Balanced truncation of linear models (Moore 1981): the states that inputs reach and outputs show least are left out.

With A = T diag(A₊, A₋) T⁻¹, A₊ what does not decay, the decaying part has Gramians P, Q of

    A₋ P + P A₋ᵀ + B₋ B₋ᵀ = 0,   A₋ᵀ Q + Q A₋ + C₋ᵀ C₋ = 0                                                      (1)

(of steps: A₋ P A₋ᵀ − P + B₋ B₋ᵀ = 0). P = L Lᵀ, Q = R Rᵀ, Rᵀ L = U Σ Vᵀ; the kept states are those of the largest
Hankel singular values Σ, with x = L V Σ^(−1/2) z and z = Σ^(−1/2) Uᵀ Rᵀ x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.linearization.model import LinearModel

SLOW = 1e-9  # of the largest eigenvalue: what decays slower counts as not decaying, as in `LinearModel.stable`
NOTHING = 1e-13  # of the largest Hankel singular value: what rounding leaves of states that nothing reaches or sees


@dataclass(frozen=True, eq=False)
class Reduction:
    """States z of a reduced model and x of the one before: z = project · x, x ≈ lift · z."""

    names: tuple[str, ...]  # (n,) of x
    project: np.ndarray  # (r, n)
    lift: np.ndarray  # (n, r)
    left_out: np.ndarray  # Hankel singular values of the states left out, falling


def reduced(model: LinearModel, states: int) -> LinearModel:
    """The balanced truncation of a model to so many states."""
    if model.reduction is not None:
        raise ArgumentError("the model is reduced already; reduce the one it was made from.")
    stays, W, T = _separated(model)
    A, B, C = W @ model.A @ T, W @ model.B, model.C @ T
    if states < stays:
        raise ArgumentError(f"states is {states}; {stays} modes of the model do not decay, and stay. Needed: as many.")
    decays = slice(stays, None)
    L, R = _factors(A[decays, decays], B[decays], C[:, decays], model.step)
    U, sigma, Vt = np.linalg.svd(R.T @ L)
    known = int((sigma > NOTHING * sigma.max(initial=0.0)).sum())
    kept = min(states - stays, known)
    scale = 1.0 / np.sqrt(sigma[:kept])
    lift = np.hstack([T[:, :stays], T[:, decays] @ L @ Vt[:kept].T * scale])
    project = np.vstack([W[:stays], scale[:, None] * (U[:, :kept].T @ R.T @ W[decays])])
    names = tuple(f"z{k}" for k in range(stays + kept))
    return replace(
        model, A=project @ model.A @ lift, B=project @ model.B, C=model.C @ lift, time=project @ model.time,
        rate=project @ model.rate, state_names=names, positions=(), velocities=(),
        reduction=Reduction(model.state_names, project, lift, sigma[kept:]),
    )  # fmt: skip


def _separated(model: LinearModel) -> tuple[int, np.ndarray, np.ndarray]:
    """How many modes stay, and W, T = W⁻¹ with W A T block diagonal, these modes first."""
    from scipy.linalg import schur, solve_sylvester

    values = np.linalg.eigvals(model.A)
    edge = 1 - 1e-9 if model.step is not None else -SLOW * float(np.abs(values).max(initial=0.0))

    def lasts(re: float, im: float = 0.0) -> bool:
        return bool(abs(complex(re, im)) >= edge if model.step is not None else re >= edge)

    S, Z, k = schur(model.A, output="real", sort=lasts)
    n = len(S)
    X = np.zeros((k, n - k)) if k in (0, n) else solve_sylvester(S[:k, :k], -S[k:, k:], -S[:k, k:])
    turn, back = np.eye(n), np.eye(n)
    turn[:k, k:], back[:k, k:] = X, -X
    return k, back @ Z.T, Z @ turn


def _factors(A: np.ndarray, B: np.ndarray, C: np.ndarray, step: float | None) -> tuple[np.ndarray, np.ndarray]:
    """L, R with P = L Lᵀ and Q = R Rᵀ of (1)."""
    from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

    def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found: Any = solve_continuous_lyapunov(a, -b @ b.T) if step is None else solve_discrete_lyapunov(a, b @ b.T)
        values, vectors = np.linalg.eigh(0.5 * (found + found.T))
        return vectors * np.sqrt(np.maximum(values, 0.0))

    return (solve(A, B), solve(A.T, C.T)) if len(A) else (np.zeros((0, 0)), np.zeros((0, 0)))
