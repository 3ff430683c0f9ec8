"""Forward dynamics by the articulated-body recursion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.recursions.tree import ROOT, Moving, Placed
from dalembert.spatial import RigidInertia, Transform, bracket_dual, congruence, skew
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
    """D = L diag(d) Lᵀ of a joint, L unit upper triangular."""

    L: np.ndarray
    d: list
    inverse: list  # 1/d


def _factor(D: np.ndarray) -> Factors:
    """D = L diag(d) Lᵀ, unrolled, last velocity first: tips before bases, as between joints. Floats or symbols."""
    n = len(D)
    L = eye(n)
    d: list = [0.0] * n
    inverse: list = [0.0] * n
    for j in reversed(range(n)):
        dj = D[j, j]
        for k in range(j + 1, n):
            dj = dj - L[j, k] * L[j, k] * d[k]
        d[j], inverse[j] = dj, 1.0 / dj
        for i in range(j):
            s = D[i, j]
            for k in range(j + 1, n):
                s = s - L[i, k] * L[j, k] * d[k]
            L[i, j] = s * inverse[j]
    return Factors(L, d, inverse)


def _lower(f: Factors, B: np.ndarray) -> np.ndarray:
    """L⁻¹ B."""
    X, n = B.copy(), len(f.L)
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            X[i] = X[i] - f.L[i, k] * X[k]
    return X


def _lower_transposed(f: Factors, B: np.ndarray) -> np.ndarray:
    """L⁻ᵀ B."""
    X = B.copy()
    for i in range(len(f.L)):
        for k in range(i):
            X[i] = X[i] - f.L[k, i] * X[k]
    return X


def _solve(f: Factors, B: np.ndarray) -> np.ndarray:
    """(L diag(d) Lᵀ)⁻¹ B."""
    X = _lower(f, B)
    for i, inverse in enumerate(f.inverse):
        X[i] = X[i] * inverse
    return _lower_transposed(f, X)


@dataclass(frozen=True, slots=True, eq=False)
class Riccati:
    """What the articulated-body recursion knows of q alone, by link; see `riccati`."""

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
        D[i] = _factor(S.T @ U[i] + np.diag(link.armature))
        G[i] = _solve(D[i], U[i].T).T  # (2)
        if link.parent != ROOT:
            Pplus[i] = _less(P[i], G[i], U[i], _gone(S, link.armature))
            P[link.parent] = P[link.parent] + Pplus[i].seen_from(at.T(i))
    return Riccati(P, U, D, G, Pplus)


def joint_inertias(at: Placed) -> list[np.ndarray]:
    """D_i = S_iᵀ A_i S_i + armature_i of every joint, the part of the recursion that depends on q alone.

    M(q) is positive definite exactly when every D_i is. Joints whose D is singular pass their inertia on whole.
    """
    tree = at.tree
    A = [ArticulatedInertia.of(link.inertia) for link in tree.links]
    out = [zeros(0, 0)] * len(tree)
    for i in tree.inward():
        link, S = tree.links[i], at.S(i)
        U = A[i] @ S
        out[i] = D = S.T @ U + np.diag(link.armature)
        if link.parent != ROOT:
            numbers = np.array(D, dtype=float)
            passed = A[i].matrix() - U @ np.linalg.pinv(numbers, rcond=1e-10, hermitian=True) @ U.T
            A[link.parent] = A[link.parent] + ArticulatedInertia.from_matrix(passed).seen_from(at.T(i))
    return out


def articulated_body(at: Moving, tau: np.ndarray, gravity: np.ndarray, wrenches: dict) -> np.ndarray:
    """Accelerations v̇ with M v̇ + h = τ + Σ Jᵀ W, in O(N).

    Featherstone (table 7.1); P, U, D, G, P⁺ are those of `riccati`, p_i is the bias force.

        c_i = Ṡ_i v_i − ad(S_i v_i) V_i,  p_i = −ad(V_i)ᵀ I_i V_i − W_i                          (1) outward
        u_i = τ_i − S_iᵀ p_i,  p_P += Xᵀ (p_i + P⁺_i c_i + G_i u_i)                              (2) inward
        v̇_i = D_i⁻¹ u_i − G_iᵀ (X V̇_P + c_i),  V̇_i = X V̇_P + c_i + S_i v̇_i                        (3) outward
    """
    tree, r = at.tree, riccati(at)
    p = {}
    for i in tree.outward():
        V, I = at.V(i), tree.links[i].inertia
        p[i] = -bracket_dual(V, I @ V) - wrenches.get(i, 0.0)  # (1)
    u = {}
    for i in tree.inward():
        link = tree.links[i]
        u[i] = tau[link.v] - at.S(i).T @ p[i]  # (2)
        if link.parent != ROOT:
            passed = p[i] + r.Pplus[i] @ at.c(i) + r.G[i] @ u[i]
            p[link.parent] = p[link.parent] + at.X(i).T @ passed
    dV = {ROOT: np.concatenate([zeros(3), -gravity])}
    vdot = zeros(tree.nv)
    for i in tree.outward():
        link = tree.links[i]
        dV[i] = at.X(i) @ dV[link.parent] + at.c(i)
        vdot[link.v] = _solve(r.D[i], u[i]) - r.G[i].T @ dV[i]  # (3)
        dV[i] = dV[i] + at.S(i) @ vdot[link.v]
    return vdot


def _less(A: ArticulatedInertia, B: np.ndarray, C: np.ndarray, gone: set[int]) -> ArticulatedInertia:
    """A − B Cᵀ where that is symmetric, with zeros in the rows and columns that are gone."""
    full, out = A.matrix(), zeros(6, 6)
    for r in range(6):
        for s in range(r, 6):
            if r not in gone and s not in gone:
                out[r, s] = out[s, r] = full[r, s] - B[r] @ C[s]
    return ArticulatedInertia.from_matrix(out)


def _gone(S: np.ndarray, armature: np.ndarray) -> set[int]:
    """Axes along which a joint passes nothing on: screws that are unit vectors, without armature."""
    return {int(np.flatnonzero(s == 1.0)[0]) for s, j in zip(S.T, armature) if _is_unit(s) and _is_zero(j)}


def _is_zero(x: object) -> bool:
    return isinstance(x, float) and x == 0.0


def _is_unit(s: np.ndarray) -> bool:
    """Whether a screw is a coordinate axis, exactly."""
    return all(isinstance(e, float) for e in s) and sorted(s) == [0.0] * 5 + [1.0]
