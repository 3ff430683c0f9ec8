"""Mass matrix by the composite-rigid-body recursion."""

from __future__ import annotations

import numpy as np

from dalembert.recursions.tree import ROOT, Placed
from dalembert.symbols import zeros


def composite_body(at: Placed) -> np.ndarray:
    """M(q), (nv, nv), symmetric.

    Walker & Orin's method 3 in Featherstone's form (Rigid Body Dynamics Algorithms, table 6.2), in link frames.
    C_i is the inertia of everything that link i carries.

        C_i = I_i + Σ_c X_cᵀ C_c X_c                                     (1)
        M_ii = S_iᵀ C_i S_i + armature_i                                 (2)
        M_ji = S_jᵀ F, F = C_i S_i carried inward to each ancestor j      (3)
    """
    tree = at.tree
    C = {i: tree.links[i].inertia for i in tree.outward()}
    M = zeros(tree.nv, tree.nv)
    for i in tree.inward():
        link = tree.links[i]
        F = C[i] @ at.S(i)
        Mii = at.S(i).T @ F + np.diag(link.armature)  # (2)
        n = len(Mii)
        M[link.v, link.v] = [[Mii[min(r, c), max(r, c)] for c in range(n)] for r in range(n)]
        j = i
        while tree.links[j].parent != ROOT:
            F = at.X(j).T @ F
            j = tree.links[j].parent
            block = at.S(j).T @ F  # (3)
            M[tree.links[j].v, link.v] = block
            M[link.v, tree.links[j].v] = block.T
        if link.parent != ROOT:
            C[link.parent] = C[link.parent] + C[i].seen_from(at.T(i))  # (1)
    return M
