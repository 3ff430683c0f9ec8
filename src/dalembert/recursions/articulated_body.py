"""Forward dynamics by the articulated-body recursion."""

from __future__ import annotations

from dataclasses import dataclass

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


Factors = tuple[np.ndarray, list]  # L and 1/d of D = L diag(d) Lᵀ


def _factor(D: np.ndarray) -> Factors:
    """D = L diag(d) Lᵀ, unrolled; returns L and 1/d. Works on floats and symbols alike."""
    n = len(D)
    L = eye(n)
    d: list = []
    inverse: list = []
    for j in range(n):
        dj = D[j, j]
        for k in range(j):
            dj = dj - L[j, k] * L[j, k] * d[k]
        d.append(dj)
        inverse.append(1.0 / dj)
        for i in range(j + 1, n):
            s = D[i, j]
            for k in range(j):
                s = s - L[i, k] * L[j, k] * d[k]
            L[i, j] = s * inverse[j]
    return L, inverse


def _solve(L: np.ndarray, inverse: list, B: np.ndarray) -> np.ndarray:
    """(L diag(d) Lᵀ)⁻¹ B."""
    X = B.copy()
    n = len(L)
    for i in range(n):
        for k in range(i):
            X[i] = X[i] - L[i, k] * X[k]
    for i in reversed(range(n)):
        X[i] = X[i] * inverse[i]
        for k in range(i + 1, n):
            X[i] = X[i] - L[k, i] * X[k]
    return X


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

    Featherstone (table 7.1), Jain & Rodriguez' Riccati recursion; A_i is the articulated inertia, p_i its bias force.

        c_i = Ṡ_i v_i − ad(S_i v_i) V_i,  p_i = −ad(V_i)ᵀ I_i V_i − W_i          (1) outward
        U_i = A_i S_i,  D_i = S_iᵀ U_i + armature_i,  u_i = τ_i − S_iᵀ p_i        (2) inward
        Ā_i = A_i − U_i D_i⁻¹ U_iᵀ,  A_P += Xᵀ Ā_i X,  p_P += Xᵀ (p_i + Ā_i c_i + U_i D_i⁻¹ u_i)   (3) inward
        v̇_i = D_i⁻¹ (u_i − U_iᵀ (X V̇_P + c_i)),  V̇_i = X V̇_P + c_i + S_i v̇_i    (4) outward

    Ā_i S_i = 0 where the armature is zero: for screws that are unit vectors those rows and columns become exact zeros.
    """
    tree = at.tree
    A = [ArticulatedInertia.of(link.inertia) for link in tree.links]
    p = {}
    for i in tree.outward():
        V, I = at.V(i), tree.links[i].inertia
        p[i] = -bracket_dual(V, I @ V) - wrenches.get(i, 0.0)  # (1)
    U, factors, u = {}, {}, {}
    for i in tree.inward():
        link, S = tree.links[i], at.S(i)
        U[i] = A[i] @ S  # (2)
        factors[i] = _factor(S.T @ U[i] + np.diag(link.armature))
        u[i] = tau[link.v] - S.T @ p[i]
        if link.parent != ROOT:
            Abar = _reduced(A[i], S, U[i], factors[i], link.armature)  # (3)
            pbar = p[i] + Abar @ at.c(i) + U[i] @ _solve(*factors[i], u[i])
            A[link.parent] = A[link.parent] + Abar.seen_from(at.T(i))
            p[link.parent] = p[link.parent] + at.X(i).T @ pbar
    dV = {ROOT: np.concatenate([zeros(3), -gravity])}
    vdot = zeros(tree.nv)
    for i in tree.outward():
        link = tree.links[i]
        dV[i] = at.X(i) @ dV[link.parent] + at.c(i)
        vdot[link.v] = _solve(*factors[i], u[i] - U[i].T @ dV[i])  # (4)
        dV[i] = dV[i] + at.S(i) @ vdot[link.v]
    return vdot


def _reduced(
    A: ArticulatedInertia, S: np.ndarray, U: np.ndarray, factors: Factors, armature: np.ndarray
) -> ArticulatedInertia:
    """A − U D⁻¹ Uᵀ: the inertia felt through the joint."""
    K = _solve(*factors, U.T)  # D⁻¹ Uᵀ
    full, out = A.matrix(), zeros(6, 6)
    gone = {int(np.flatnonzero(s == 1.0)[0]) for s, j in zip(S.T, armature) if _is_unit(s) and _is_zero(j)}
    for r in range(6):
        for s in range(r, 6):
            if r not in gone and s not in gone:
                out[r, s] = out[s, r] = full[r, s] - U[r] @ K[:, s]
    return ArticulatedInertia.from_matrix(out)


def _is_zero(x: object) -> bool:
    return isinstance(x, float) and x == 0.0


def _is_unit(s: np.ndarray) -> bool:
    """Whether a screw is a coordinate axis, exactly."""
    return all(isinstance(e, float) for e in s) and sorted(s) == [0.0] * 5 + [1.0]
