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

from dataclasses import dataclass

import numpy as np

from dalembert.blas import one_thread
from dalembert.control.stage_costs import Expansions


@dataclass(frozen=True, eq=False)
class BackwardSweep:
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


@one_thread()
def backward(
    A: np.ndarray,
    B: np.ndarray,
    stages: Expansions,
    final: Expansions,
    bounds: tuple[np.ndarray, np.ndarray] | None,
    damping: float,
    bent: np.ndarray | None = None,
) -> BackwardSweep | None:
    """(1) to (3); None where Q_uu is not positive or costs are not finite.

    bounds: of k, (N, inputs) each. bent: (N, 2 nv + inputs, …) Σ p_i ∂²f_i; without it costs are made convex.
    """
    N, n, nu = B.shape
    if not all(np.isfinite(x.hessian).all() for x in (stages, final)):
        return None
    if bent is None:
        H_all, H_end = _convex(stages.hessian), _convex(final.hessian)[0]
    else:
        H_all, H_end = stages.hessian + bent, final.hessian[0]
    step_all = np.concatenate([A, B], axis=2)
    Vx, Vxx = final.gradient[0, :n], H_end[:n, :n]
    k_all, K_all, slope, curve, steepest = np.zeros((N, nu)), np.zeros((N, nu, n)), 0.0, 0.0, 0.0
    shift = damping * np.eye(nu)
    for i in range(N - 1, -1, -1):
        step = step_all[i]
        Q = H_all[i] + step.T @ Vxx @ step  # (1)
        q = stages.gradient[i] + step.T @ Vx
        Qu, Quu, Qux = q[n:], Q[n:, n:] + shift, Q[n:, :n]
        if bounds is None:
            found = _minimum(Quu, Qu, Qux)
        else:
            found = box_minimum(Quu, Qu, Qux, bounds[0][i], bounds[1][i])
        if found is None:
            return None
        k, K, free = found  # (2)
        steepest = max(steepest, float(np.abs(Qu[free]).max(initial=0.0)))
        slope, curve = slope + float(k @ Qu), curve + 0.5 * float(k @ Quu @ k)
        Vx = q[:n] + K.T @ (Quu @ k + Qu) + Qux.T @ k  # (3)
        Vxx = Q[:n, :n] + K.T @ Quu @ K + K.T @ Qux + Qux.T @ K
        Vxx = 0.5 * (Vxx + Vxx.T)
        k_all[i], K_all[i] = k, K
    return BackwardSweep(k_all, K_all, slope, curve, steepest)


Minimum = tuple[np.ndarray, np.ndarray, np.ndarray | slice]


def _minimum(H: np.ndarray, g: np.ndarray, G: np.ndarray) -> Minimum | None:
    """(2) without limits; None where H is not positive."""
    try:
        np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return None
    both = -np.linalg.solve(H, np.column_stack([g, G]))
    return both[:, 0], both[:, 1:], slice(None)


def box_minimum(H: np.ndarray, g: np.ndarray, G: np.ndarray, low: np.ndarray, high: np.ndarray) -> Minimum | None:
    """x that minimizes g·x + ½ xᵀHx between low and high, −H⁻¹ G of what of it is free, and what that is.

    Projected Newton (Bertsekas 1982): elements that lean on a bound and are pushed against it are held there. None
    where H is not positive.
    """
    whole = _minimum(H, g, G)
    if whole is None or (np.all(whole[0] > low) and np.all(whole[0] < high)):
        return whole
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
    K = np.zeros(G.shape)
    if free.any():
        K[free] = -np.linalg.solve(H[np.ix_(free, free)], G[free])
    return x, K, free


def _convex(H: np.ndarray) -> np.ndarray:
    """(N, n, n) with their negative eigenvalues left out."""
    values, vectors = np.linalg.eigh(0.5 * (H + H.transpose(0, 2, 1)))
    bent = values[:, 0] < 0.0
    H = H.copy()
    H[bent] = (vectors[bent] * np.maximum(values[bent], 0.0)[:, None]) @ vectors[bent].transpose(0, 2, 1)
    return H
