"""A SciPy user's own model of P1 or P2: a page of NumPy and `solve_ivp`.

Three ways to write it: minimal coordinates, with the dyad's angles in closed form; all angles and the null space of the
constraints by an SVD; all angles and the multipliers by one linear system. The last two with Baumgarte's terms.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.motions import NOWHERE, Motion, Outcome, picked
from benchmarks.peers import Families, Setting
from benchmarks.peers.two_chains import TwoChains, two_chains

METHODS = ("DOP853", "RK45", "LSODA")
TOLERANCES = [10.0**-k for k in range(3, 14)]
ALPHA = BETA = 10.0


def families(motion: Motion) -> Families:
    """Each way with each of SciPy's methods."""
    b = two_chains(motion)
    n, full = len(b.theta), np.r_[b.theta, b.omega]
    ways = {
        "minimal": (partial(minimal, b), np.r_[b.theta[b.lead], b.omega[b.lead]]),
        "null space": (partial(nullspace, b), full),
        "multipliers": (partial(multipliers, b), full),
    }

    def solve(rhs, y0: np.ndarray, method: str, tolerance: float, duration: float):
        return solve_ivp(rhs, (0.0, duration), y0, method=method, rtol=tolerance, atol=tolerance)

    def judge(run) -> Outcome:
        if not run.success:
            return NOWHERE
        y = run.y if len(run.y) == 2 * n else np.array([everything(b, x) for x in run.y.T[picked(len(run.t))]]).T
        return motion.judge(b.joints(y[:n].T), b.joints(y[n:].T))

    return [
        [Setting(f"{way} {method} {tol:.0e}", partial(solve, *how, method, tol), judge) for tol in TOLERANCES]
        for way, how in ways.items()
        for method in METHODS
    ]


def equations(b: TwoChains, theta, omega):
    """M, f, A, γ and Φ."""
    difference = theta[:, None] - theta
    cos, sin = np.cos(theta), np.sin(theta)
    x, y = b.sl * cos, b.sl * sin
    squared = omega * omega
    f = -(b.c * np.sin(difference)) @ squared - b.w * cos
    A = np.array([-y, x])
    return b.c * np.cos(difference), f, A, np.array([-(x @ squared), -(y @ squared)]), (x.sum() - b.d, y.sum())


def nullspace(b: TwoChains, t, s):
    """ṡ of s = (θ, θ̇)."""
    n = len(b.theta)
    theta, omega = s[:n], s[n:]
    M, f, A, gamma, phi = equations(b, theta, omega)
    gamma = gamma + 2 * ALPHA * (A @ omega) + BETA**2 * np.array(phi)
    U, sigma, Vt = np.linalg.svd(A)
    K, c = Vt[2:].T, -Vt[:2].T @ ((U.T @ gamma) / sigma)
    return np.concatenate([omega, c + K @ np.linalg.solve(K.T @ M @ K, K.T @ (f - M @ c))])


def multipliers(b: TwoChains, t, s):
    """The same by M θ̈ − Aᵀλ = f, A θ̈ = −γ."""
    n = len(b.theta)
    theta, omega = s[:n], s[n:]
    M, f, A, gamma, phi = equations(b, theta, omega)
    whole = np.zeros((n + 2, n + 2))
    whole[:n, :n], whole[:n, n:], whole[n:, :n] = M, A.T, A
    right = np.concatenate([f, -(gamma + 2 * ALPHA * (A @ omega) + BETA**2 * np.array(phi))])
    return np.concatenate([omega, np.linalg.solve(whole, right)[:n]])


def everything(b: TwoChains, s) -> np.ndarray:
    """(θ, θ̇) of minimal coordinates s: the dyad by the intersection of two circles."""
    n, k = len(b.theta), len(b.lead)
    theta, omega = np.empty(n), np.empty(n)
    theta[b.lead], omega[b.lead] = s[:k], s[k:]
    i, j = b.dyad
    a, c = b.sl[i], -b.sl[j]
    x = b.d - b.sl[b.lead] @ np.cos(s[:k])
    y = -(b.sl[b.lead] @ np.sin(s[:k]))
    length = np.hypot(x, y)
    theta[i] = np.arctan2(y, x) + b.side * np.arccos((length**2 + a**2 - c**2) / (2 * length * a))
    theta[j] = np.arctan2(a * np.sin(theta[i]) - y, a * np.cos(theta[i]) - x)
    A = np.array([-b.sl * np.sin(theta), b.sl * np.cos(theta)])
    omega[b.dyad] = -np.linalg.solve(A[:, b.dyad], A[:, b.lead] @ s[k:])
    return np.concatenate([theta, omega])


def minimal(b: TwoChains, t, s):
    """ṡ of s = (leading angles, their rates)."""
    n, k = len(b.theta), len(b.lead)
    full = everything(b, s)
    M, f, A, gamma, _ = equations(b, full[:n], full[n:])
    rest = -np.linalg.solve(A[:, b.dyad], np.column_stack([A[:, b.lead], gamma]))
    K, c = np.zeros((n, k)), np.zeros(n)
    K[b.lead, range(k)], K[b.dyad], c[b.dyad] = 1.0, rest[:, :k], rest[:, k]
    return np.concatenate([s[k:], np.linalg.solve(K.T @ M @ K, K.T @ (f - M @ c))])
