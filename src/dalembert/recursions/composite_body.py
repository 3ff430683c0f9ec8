"""Mass matrix by the composite-rigid-body recursion."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.recursions.sparse import Sparse
from dalembert.recursions.tree import ROOT, Placed
from dalembert.symbols import is_zero, zeros


def composite_body(at: Placed) -> np.ndarray:
    """M(q), (nv, nv), symmetric."""
    return composite_elements(at).dense()


def mass_diagonal(at: Placed) -> np.ndarray:
    """(nv,): the diagonal of M(q), (1) and (2) of `composite_elements` alone."""
    tree = at.tree
    C = {i: tree.links[i].inertia for i in tree.outward()}
    out = zeros(tree.nv)
    for i in tree.inward():
        link, S = tree.links[i], at.S(i)
        F = C[i] @ S
        out[link.v] = [S[:, k] @ F[:, k] + a for k, a in enumerate(link.armature)]  # (2)
        if link.parent != ROOT:
            C[link.parent] = C[link.parent] + C[i].seen_from(at.T(i))  # (1)
    return out


def composite_elements(at: Placed) -> Sparse:
    """M(q), (nv, nv), by its nonzero elements.

    Walker & Orin's method 3 in Featherstone's form (Rigid Body Dynamics Algorithms, table 6.2), in link frames.
    C_i is the inertia of everything that link i carries.

        C_i = I_i + Σ_c X_cᵀ C_c X_c                                     (1)
        M_ii = S_iᵀ C_i S_i + armature_i                                 (2)
        M_ji = S_jᵀ F, F = C_i S_i carried inward to each ancestor j      (3)
    """
    tree = at.tree
    C = {i: tree.links[i].inertia for i in tree.outward()}
    M: list[dict[int, Any]] = [{} for _ in range(tree.nv)]
    for i in tree.inward():
        link = tree.links[i]
        F = C[i] @ at.S(i)
        Mii = at.S(i).T @ F + np.diag(link.armature)  # (2)
        n, start = len(Mii), link.v.start
        for r in range(n):
            for c in range(n):
                M[start + r][start + c] = Mii[min(r, c), max(r, c)]
        j = i
        while tree.links[j].parent != ROOT:
            F = at.X(j).T @ F
            j = tree.links[j].parent
            block, first = at.S(j).T @ F, tree.links[j].v.start  # (3)
            for (r, c), x in np.ndenumerate(block):
                M[first + r][start + c] = M[start + c][first + r] = x
        if link.parent != ROOT:
            C[link.parent] = C[link.parent] + C[i].seen_from(at.T(i))  # (1)
    return Sparse([{k: row[k] for k in sorted(row) if not is_zero(row[k])} for row in M], tree.nv)
