"""Sweeps of discrete optimal control along a motion x_k, u_k of x₊ = f(x, u).

Backward, with A = f_x, B = f_u and the expansions of the cost:

    Q_x = l_x + AᵀV_x,   Q_u = l_u + BᵀV_x,   Q_xx = l_xx + AᵀV_xx A + Σ p_i f_i,xx,  …                          (1)
    k = arg min k·Q_u + ½ kᵀQ_uu k within the limits,   K = −Q_uu⁻¹ Q_ux of the inputs that stay free             (2)
    V_x = Q_x + Kᵀ(Q_uu k + Q_u) + Q_uxᵀ k,   V_xx = Q_xx + KᵀQ_uu K + KᵀQ_ux + Q_uxᵀK                           (3)

Without the sums of (1) this is iLQR (Li and Todorov 2004), with limits as Tassa, Mansard and Todorov (2014) have them.
With p_k = l_x + Aᵀp_{k+1}, the costate of the motion, it is Newton's method on trajectories (Hauser's projection
operator; Johnson, Schultz and Murphey 2014 for variational steps).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.control.stage_costs import Expansions


@dataclass(frozen=True, eq=False)
class Sweep:
    """Steps of the inputs and gains of a backward sweep."""

    k: np.ndarray  # (N, inputs)
    K: np.ndarray  # (N, inputs, 2 nv)
    slope: float  # Σ k·Q_u: the change of the cost to first order
    curve: float  # Σ ½ kᵀQ_uu k
    steepest: float  # the largest element of Q_u of inputs that are free to move


def costates(A: np.ndarray, stages: Expansions, final: Expansions, n: int) -> np.ndarray:
    """(N + 1, n) p_k."""
    p = [final.gradient[0, :n]]
    for k in reversed(range(len(A))):
        p.append(stages.gradient[k, :n] + A[k].T @ p[-1])
    return np.array(p[::-1])


def backward(
    A: np.ndarray,
    B: np.ndarray,
    stages: Expansions,
    final: Expansions,
    bounds: tuple[np.ndarray, np.ndarray],
    damping: float,
    bent: Sequence[np.ndarray] | None = None,
) -> Sweep | None:
    """(1) to (3); None where Q_uu is not positive. bounds: (N, inputs) each, of k. bent: Σ p_i ∂²f_i of each step."""
    N, n, nu = B.shape
    Vx, Vxx = final.gradient[0, :n], _convex(final.hessian[0, :n, :n]) if bent is None else final.hessian[0, :n, :n]
    k_all, K_all, slope, curve, steepest = np.zeros((N, nu)), np.zeros((N, nu, n)), 0.0, 0.0, 0.0
    for i in reversed(range(N)):
        H = _convex(stages.hessian[i]) if bent is None else stages.hessian[i] + bent[i]
        step = np.hstack([A[i], B[i]])
        Q = H + step.T @ Vxx @ step  # (1)
        q = stages.gradient[i] + step.T @ Vx
        Qu, Quu, Qux = q[n:], Q[n:, n:] + damping * np.eye(nu), Q[n:, :n]
        found = box_minimum(Quu, Qu, bounds[0][i], bounds[1][i])
        if found is None:
            return None
        k, free = found
        K = np.zeros((nu, n))
        if free.any():
            K[free] = -np.linalg.solve(Quu[np.ix_(free, free)], Qux[free])  # (2)
            steepest = max(steepest, float(np.abs(Qu[free]).max()))
        slope, curve = slope + float(k @ Qu), curve + 0.5 * float(k @ Quu @ k)
        Vx = q[:n] + K.T @ (Quu @ k + Qu) + Qux.T @ k  # (3)
        Vxx = Q[:n, :n] + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
        Vxx = 0.5 * (Vxx + Vxx.T)
        k_all[i], K_all[i] = k, K
    return Sweep(k_all, K_all, slope, curve, steepest)


def box_minimum(
    H: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """x that minimizes g·x + ½ xᵀHx between low and high, and what of it is free; None where H is not positive.

    Projected Newton (Bertsekas 1982): elements that lean on a bound and are pushed against it are held there.
    """
    try:
        np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return None
    x = np.clip(np.zeros(len(g)), low, high)
    free = np.ones(len(g), dtype=bool)
    for _ in range(50):
        slope = g + H @ x
        free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
        if not free.any() or np.abs(slope[free]).max() <= 1e-13 * (1.0 + np.abs(g).max()):
            break
        wanted = x.copy()
        held = ~free
        wanted[free] = -np.linalg.solve(H[np.ix_(free, free)], g[free] + H[np.ix_(free, held)] @ x[held])
        part, value = 1.0, g @ x + 0.5 * x @ H @ x
        while part > 1e-10:
            trial = np.clip(x + part * (wanted - x), low, high)
            if g @ trial + 0.5 * trial @ H @ trial <= value:
                break
            part *= 0.5
        x = trial
    return x, free


def _convex(H: np.ndarray) -> np.ndarray:
    """H with its negative eigenvalues left out."""
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    return H if values[0] >= 0.0 else (vectors * np.maximum(values, 0.0)) @ vectors.T
