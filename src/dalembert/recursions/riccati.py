"""Articulated inertias of a tree: the Riccati recursion, which depends on q alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.recursions.tree import ROOT, Placed
from dalembert.spatial import RigidInertia, Transform, congruence, skew
from dalembert.symbols import eye, zeros


@dataclass(frozen=True, slots=True, eq=False)
class ArticulatedInertia:
    """A symmetric (6, 6) inertia in blocks [[J, H], [Hᵀ, M]]."""

    J: np.ndarray
    H: np.ndarray
    M: np.ndarray

    @staticmethod
    def of(I: RigidInertia) -> ArticulatedInertia:
        """That of a lone rigid body."""
        return ArticulatedInertia(I.J, skew(I.h), I.m * eye(3))

    @staticmethod
    def from_matrix(A: np.ndarray) -> ArticulatedInertia:
        """From its (6, 6) matrix."""
        return ArticulatedInertia(A[:3, :3], A[:3, 3:], A[3:, 3:])

    def matrix(self) -> np.ndarray:
        """The (6, 6) matrix."""
        return np.block([[self.J, self.H], [self.H.T, self.M]])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        w, v = V[:3], V[3:]
        return np.concatenate([self.J @ w + self.H @ v, self.H.T @ w + self.M @ v])

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(_sum(self.J, other.J), self.H + other.H, _sum(self.M, other.M))

    def seen_from(self, T: Transform) -> ArticulatedInertia:
        """Xᵀ A X with X = Ad(T⁻¹): turn the blocks, then shift them by p.

        H_A = H + [p] M,  J_A = J + [p] Hᵀ − H_A [p]
        """
        J, H, M = congruence(T.R, self.J), T.R @ self.H @ T.R.T, congruence(T.R, self.M)
        P = skew(T.p)
        H_A = H + P @ M
        shift = P @ H.T - H_A @ P
        return ArticulatedInertia(_sum(J, shift), H_A, M)


def _sum(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A + B for matrices whose sum is symmetric, the upper triangle computed once and mirrored."""
    out = np.empty_like(A)
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = A[i, j] + B[i, j]
    return out


class Factors(NamedTuple):
    """D = R diag(d) Rᵀ of a joint, R unit upper triangular."""

    R: np.ndarray
    d: list[Any]
    inverse: list[Any]  # 1/d


def factor(D: np.ndarray) -> Factors:
    """D = R diag(d) Rᵀ, unrolled, last velocity first: tips before bases, as between joints."""
    n = len(D)
    R = eye(n)
    d: list[Any] = [0.0] * n
    inverse: list[Any] = [0.0] * n
    for j in reversed(range(n)):
        dj = D[j, j]
        for k in range(j + 1, n):
            dj = dj - R[j, k] * R[j, k] * d[k]
        d[j], inverse[j] = dj, 1.0 / dj
        for i in range(j):
            s = D[i, j]
            for k in range(j + 1, n):
                s = s - R[i, k] * R[j, k] * d[k]
            R[i, j] = s * inverse[j]
    return Factors(R, d, inverse)


def solve_R(f: Factors, B: np.ndarray) -> np.ndarray:
    """R⁻¹ B."""
    X, n = B.copy(), len(f.R)
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            X[i] = X[i] - f.R[i, k] * X[k]
    return X


def solve_RT(f: Factors, B: np.ndarray) -> np.ndarray:
    """R⁻ᵀ B."""
    X = B.copy()
    for i in range(len(f.R)):
        for k in range(i):
            X[i] = X[i] - f.R[k, i] * X[k]
    return X


def solve(f: Factors, B: np.ndarray) -> np.ndarray:
    """D⁻¹ B."""
    X = solve_R(f, B)
    for i, inverse in enumerate(f.inverse):
        X[i] = X[i] * inverse
    return solve_RT(f, X)


@dataclass(frozen=True, slots=True, eq=False)
class Riccati:
    """The part of the articulated-body recursion that depends on q alone, by link; see `riccati`."""

    P: list[ArticulatedInertia]  # inertia of link i with everything it carries, its joints free
    U: dict[int, np.ndarray]  # (6, nv_i) P S
    D: dict[int, Factors]  # of Sᵀ P S + armature
    G: dict[int, np.ndarray]  # (6, nv_i) U D⁻¹
    Pplus: dict[int, ArticulatedInertia]  # P felt through the joint; not for links on the ground


def riccati(at: Placed) -> Riccati:
    """Articulated inertias, tips to base: Featherstone (table 7.1), Jain & Rodriguez (algorithm 4.1).

        P_i = I_i + Σ_c X_cᵀ P⁺_c X_c,  U_i = P_i S_i,  D_i = S_iᵀ U_i + armature_i                    (1)
        G_i = U_i D_i⁻¹,  P⁺_i = P_i − G_i U_iᵀ                                                       (2)

    P⁺_i S_i = 0 where the armature is zero: for screws that are unit vectors those rows and columns are exact zeros.
    """
    tree = at.tree
    P = [ArticulatedInertia.of(link.inertia) for link in tree.links]
    U, D, G, Pplus = {}, {}, {}, {}
    for i in tree.inward():
        link, S = tree.links[i], at.S(i)
        U[i] = P[i] @ S  # (1)
        D[i] = factor(S.T @ U[i] + np.diag(link.armature))
        G[i] = solve(D[i], U[i].T).T  # (2)
        if link.parent != ROOT:
            Pplus[i] = less(P[i], G[i], U[i], gone(S, link.armature))
            P[link.parent] = P[link.parent] + Pplus[i].seen_from(at.T(i))
    return Riccati(P, U, D, G, Pplus)


def less(A: ArticulatedInertia, B: np.ndarray, C: np.ndarray, without: set[int]) -> ArticulatedInertia:
    """A − B Cᵀ where that is symmetric, with zeros in the rows and columns `without`."""
    full, out = A.matrix(), zeros(6, 6)
    for r in range(6):
        for s in range(r, 6):
            if r not in without and s not in without:
                out[r, s] = out[s, r] = full[r, s] - B[r] @ C[s]
    return ArticulatedInertia.from_matrix(out)


def gone(S: np.ndarray, armature: np.ndarray) -> set[int]:
    """Axes along which a joint passes nothing on: screws that are unit vectors, without armature."""
    return {int(np.flatnonzero(s == 1.0)[0]) for s, j in zip(S.T, armature) if _is_unit(s) and _is_zero(j)}


def _is_zero(x: object) -> bool:
    return isinstance(x, float) and x == 0.0


def _is_unit(s: np.ndarray) -> bool:
    """Whether a screw is a coordinate axis, exactly."""
    return all(isinstance(e, float) for e in s) and sorted(s) == [0.0] * 5 + [1.0]
