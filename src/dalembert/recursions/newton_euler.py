"""Inverse dynamics by the Newton-Euler recursion."""

from __future__ import annotations

import numpy as np

from dalembert.recursions.tree import ROOT, Moving
from dalembert.spatial import cross, skew
from dalembert.symbols import zeros


def newton_euler(at: Moving, a: np.ndarray, gravity: np.ndarray, wrenches: dict[int, np.ndarray]) -> np.ndarray:
    """Joint forces of a motion: τ = M(q) a + h(q, v) − Σ Jᵀ W.

    Luh, Walker & Paul's recursion, with gravity as an upward acceleration of the ground. Link i hangs on P at (R, p),
    S_i v_i = (U; u) is its twist in P, S_i a_i + Ṡ_i v_i = (U̇; u̇), and W_i the external wrench on it in its own frame
    (`wrenches[i]`, where there is one). I_i has the mass m, first moment h and second moment J.

        ω_i = Rᵀω_P + U,   ω̇_i = Rᵀω̇_P + Rᵀω_P × U + U̇,   B_i = [ω̇_i] + [ω_i]²                    (1)
        α_i = Rᵀ(α_P + B_P p) + (Rᵀω_P + ω_i) × u + u̇          acceleration of the origin of link i     (2)
        F_i = (J ω̇_i + ω_i × J ω_i + h × α_i;  m α_i + B_i h) − W_i + Σ_c X_cᵀ F_c                     (3)
        τ_i = S_iᵀ F_i + armature_i a_i                                                                (4)

    These are Spencer A.3 with α = v̇ + ω × v in place of the rate v̇ of body-fixed numbers: no linear velocity is
    needed, and a fifth to a half of the operations is saved. W and the armature are added.
    """
    tree = at.tree
    F = link_wrenches(at, a, gravity, wrenches)
    tau = zeros(tree.nv)
    for i in tree.outward():
        link = tree.links[i]
        tau[link.v] = at.S(i).T @ F[i] + link.armature * a[link.v]  # (4)
    return tau


def link_wrenches(
    at: Moving, a: np.ndarray, gravity: np.ndarray, wrenches: dict[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """F_i of (3): what reaches link i from its parent through joint i, in link i's frame."""
    tree = at.tree
    w, dw, alpha = {ROOT: zeros(3)}, {ROOT: zeros(3)}, {ROOT: -gravity}
    B, F = {ROOT: zeros(3, 3)}, {}
    for i in tree.outward():
        link, I, T, S = tree.links[i], tree.links[i].inertia, at.T(i), at.S(i)
        P, Rt = link.parent, T.R.T
        own, rate = S @ at.v[link.v], S @ a[link.v] + link.joint.bias(at.q[link.q], at.v[link.v])
        turned = Rt @ w[P]
        w[i] = turned + own[:3]  # (1)
        dw[i] = Rt @ dw[P] + cross(turned, own[:3]) + rate[:3]
        B[i] = skew(dw[i]) + skew(w[i]) @ skew(w[i])
        alpha[i] = Rt @ (alpha[P] + B[P] @ T.p) + cross(turned + w[i], own[3:]) + rate[3:]  # (2)
        moment = I.J @ dw[i] + cross(w[i], I.J @ w[i]) + cross(I.h, alpha[i])
        F[i] = np.concatenate([moment, I.m * alpha[i] + B[i] @ I.h]) - wrenches.get(i, 0.0)  # (3)
    for i in tree.inward():
        parent = tree.links[i].parent
        if parent != ROOT:
            F[parent] = F[parent] + at.X(i).T @ F[i]  # (3)
    return F
