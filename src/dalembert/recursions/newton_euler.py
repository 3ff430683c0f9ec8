"""Inverse dynamics by the Newton-Euler recursion."""

from __future__ import annotations

import numpy as np

from dalembert.recursions.tree import ROOT, Moving
from dalembert.spatial import bracket_dual
from dalembert.symbols import zeros


def newton_euler(at: Moving, a: np.ndarray, gravity: np.ndarray, wrenches: dict[int, np.ndarray]) -> np.ndarray:
    """Joint forces of a motion: τ = M(q) a + h(q, v) − Σ Jᵀ W.

    Spencer A.3, with gravity as an upward acceleration of the ground. X_i = Ad(T_Pi⁻¹), P the parent of i,
    W_i the external wrench on link i in link i's frame (`wrenches[i]`, where there is one).

        V_i = X_i V_P + S_i v_i                                          (1)
        V̇_i = X_i V̇_P + S_i a_i + c_i,  c_i = Ṡ_i v_i − ad(S_i v_i) V_i  (2)
        F_i = I_i V̇_i − ad(V_i)ᵀ I_i V_i − W_i + Σ_c X_cᵀ F_c            (3)
        τ_i = S_iᵀ F_i + armature_i a_i                                  (4)

    Departures: the paper prints V̇ under the dual adjoint in (3); gravity, W and the armature are added.
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
    dV, F = {ROOT: np.concatenate([zeros(3), -gravity])}, {}
    for i in tree.outward():
        link, V = tree.links[i], at.V(i)  # (1)
        dV[i] = at.X(i) @ dV[link.parent] + at.S(i) @ a[link.v] + at.c(i)  # (2)
        F[i] = link.inertia @ dV[i] - bracket_dual(V, link.inertia @ V) - wrenches.get(i, 0.0)  # (3)
    for i in tree.inward():
        parent = tree.links[i].parent
        if parent != ROOT:
            F[parent] = F[parent] + at.X(i).T @ F[i]  # (3)
    return F
