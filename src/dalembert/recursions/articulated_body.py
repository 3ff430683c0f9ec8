"""Forward dynamics by the articulated-body recursion."""

from __future__ import annotations

import numpy as np

from dalembert.recursions.riccati import ArticulatedInertia, riccati, solve
from dalembert.recursions.tree import ROOT, Moving, Placed
from dalembert.spatial import bracket_dual
from dalembert.symbols import zeros


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


def articulated_body(at: Moving, tau: np.ndarray, gravity: np.ndarray, wrenches: dict[int, np.ndarray]) -> np.ndarray:
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
        vdot[link.v] = solve(r.D[i], u[i]) - r.G[i].T @ dV[i]  # (3)
        dV[i] = dV[i] + at.S(i) @ vdot[link.v]
    return vdot
