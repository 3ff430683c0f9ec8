"""Loops eliminated inside the sub-trees that carry them: clusters of articulated bodies, in O(N).

Links whose joints meet in a row of A, with those between them and the last link P that carries them all, are a cluster;
any other link is a cluster by itself. A row knows the velocities of its own cluster only, so that a cluster is a joint
of several bodies on P (Chignoli, Adrian, Kim & Wensing, arXiv 2311.13732). With v̇, f, λ, γ of the cluster, a_P the
acceleration of P, and p_i what the clusters that hang on link i pass on to it,

    M_c v̇ + F_cᵀ a_P = f − Jᵀ p + Aᵀλ,   A v̇ + γ = 0          M_c, F_c of composites of articulated bodies   (1)
    I_P += C_c − F_c Y,   Y = K⁻¹ (F_cᵀ; 0),   K = [M_c −Aᵀ; A 0]       C_c: the composite seen from P        (2)
    p_P += Σ Xᵀ p + F_c v̇₀,   (v̇₀; λ₀) = K⁻¹ (f − Jᵀ p; −γ)                                                  (3)
    (v̇; λ) = (v̇₀; λ₀) − Y a_P                                                                                  (4)

(1) to (3) go from the tips to the ground, (4) back. For clusters of one link they are the articulated-body recursion.
Departure: the paper takes independent coordinates of each cluster; here its rows stay, eliminated with its velocities
by `SaddleFactor`, whose margin tells where they become dependent.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from dalembert.recursions.riccati import ArticulatedInertia, factor, gone, less, solve
from dalembert.recursions.saddle import SaddleFactor
from dalembert.recursions.sparse import Sparse
from dalembert.recursions.tree import ROOT, Placed, Tree
from dalembert.symbols import is_zero, minimum, zeros

Group = tuple[list[int], list[int]]  # links and rows, both rising


def groups(tree: Tree, A: Sparse) -> list[Group] | None:
    """The clusters, each after the one that carries it; None where a row knows no velocity."""
    link_of = [i for i, link in enumerate(tree.links) for _ in range(link.v.start, link.v.stop)]
    head = list(range(len(tree)))

    def find(i: int) -> int:
        while head[i] != i:
            head[i] = head[head[i]]
            i = head[i]
        return i

    owner = []
    for row in A.rows:
        own = {link_of[k] for k in row}
        if not own:
            return None
        top = reduce(tree.common, own)
        carrier = tree.links[top].parent if top in own else top
        members = {j for i in own for j in tree.path(i, carrier)}
        first = find(min(members))
        for j in members:
            head[find(j)] = first = min(first, find(j))
        owner.append(min(members))
    for j in range(len(tree)):
        head[j] = find(j)
    out: dict[int, Group] = {}
    for j in tree.outward():
        out.setdefault(find(j), ([], []))[0].append(j)
    for r, j in enumerate(owner):
        out[find(j)][1].append(r)
    return [out[k] for k in sorted(out, key=lambda k: out[k][0][0])]


class Lone:
    """A cluster of one link without rows: a joint of the articulated-body recursion, in the link's axes."""

    def __init__(self, at: Placed, i: int, P: list[ArticulatedInertia]):
        link, S = at.tree.links[i], at.S(i)
        self.at, self.i, self.carrier, self.v = at, i, link.parent, link.v
        U = P[i] @ S
        self.D = factor(S.T @ U + np.diag(link.armature))
        self.G = solve(self.D, U.T).T
        if self.carrier != ROOT:
            passed = less(P[i], self.G, U, gone(S, link.armature))
            P[self.carrier] = P[self.carrier] + passed.seen_from(at.T(i))

    def inward(self, f: np.ndarray, gamma: np.ndarray, p: dict[int, np.ndarray]) -> None:
        """(3)."""
        pushed = p.pop(self.i, None)
        u = f[self.v] if pushed is None else f[self.v] - self.at.S(self.i).T @ pushed
        self.u = solve(self.D, u)
        if self.carrier != ROOT:
            passed = self.G @ u if pushed is None else pushed + self.G @ u
            _add(p, self.carrier, self.at.X(self.i).T @ passed)

    def outward(self, a: dict[int, np.ndarray], vdot: np.ndarray, lam: np.ndarray) -> None:
        """(4)."""
        if self.carrier == ROOT:
            vdot[self.v] = self.u
            a[self.i] = self.at.S(self.i) @ self.u
            return
        carried = self.at.X(self.i) @ a[self.carrier]
        vdot[self.v] = self.u - self.G.T @ carried
        a[self.i] = carried + self.at.S(self.i) @ vdot[self.v]


class Cluster:
    """Links whose joints meet in rows; see the head of this file."""

    def __init__(self, at: Placed, links: list[int], rows: list[int], A: Sparse, P: list[ArticulatedInertia]):
        tree = at.tree
        self.at, self.links, self.rows, self.carrier = at, links, rows, tree.links[links[0]].parent
        self.v = [k for i in links for k in range(tree.links[i].v.start, tree.links[i].v.stop)]
        place = {k: n for n, k in enumerate(self.v)}
        M: list[dict[int, Any]] = [{} for _ in self.v]
        self.F = zeros(6, len(self.v))
        C, whole = {i: P[i] for i in links}, None
        for i in reversed(links):
            link, S = tree.links[i], at.S(i)
            start = place[link.v.start]
            F = C[i] @ S
            own = S.T @ F + np.diag(link.armature)
            for r, c in np.ndindex(own.shape):
                M[start + r][start + c] = own[min(r, c), max(r, c)]
            j = i
            while tree.links[j].parent != self.carrier:
                F = at.X(j).T @ F
                j = tree.links[j].parent
                first = place[tree.links[j].v.start]
                for (r, c), x in np.ndenumerate(at.S(j).T @ F):
                    M[first + r][start + c] = M[start + c][first + r] = x
            if self.carrier != ROOT:
                self.F[:, start : start + len(own)] = at.X(j).T @ F
            if link.parent != self.carrier:
                C[link.parent] = C[link.parent] + C[i].seen_from(at.T(i))
            elif self.carrier != ROOT:
                carried = C[i].seen_from(at.T(i))
                whole = carried if whole is None else whole + carried
        rising = [{k: row[k] for k in sorted(row) if not is_zero(row[k])} for row in M]
        local = [{place[k]: x for k, x in A.rows[r].items()} for r in rows]
        self.factor = SaddleFactor(Sparse(rising, len(M)), Sparse(local, len(M)))
        if whole is not None:
            self.Y, self.L = zeros(len(self.v), 6), zeros(len(rows), 6)
            for k in range(6):
                self.Y[:, k], self.L[:, k] = self.factor.solve(self.F[k], zeros(len(rows)))
            P[self.carrier] = P[self.carrier] + less(whole, self.F, self.Y.T, set())  # (2)

    def inward(self, f: np.ndarray, gamma: np.ndarray, p: dict[int, np.ndarray]) -> None:
        """(3)."""
        at, links = self.at, self.at.tree.links
        right, total = f[self.v], dict[int, np.ndarray]()
        place = {k: n for n, k in enumerate(self.v)}
        for i in reversed(self.links):
            pushed = p.pop(i, None)
            if pushed is None:
                continue
            at_i = slice(place[links[i].v.start], place[links[i].v.start] + links[i].joint.nv)
            right[at_i] = right[at_i] - at.S(i).T @ pushed
            _add(total if links[i].parent == self.carrier else p, links[i].parent, at.X(i).T @ pushed)
        self.v0, self.lam0 = self.factor.solve(right, gamma[self.rows])
        if self.carrier != ROOT:
            passed = self.F @ self.v0
            _add(p, self.carrier, passed + total[self.carrier] if self.carrier in total else passed)

    def outward(self, a: dict[int, np.ndarray], vdot: np.ndarray, lam: np.ndarray) -> None:
        """(4)."""
        at, links = self.at, self.at.tree.links
        vdot[self.v], lam[self.rows] = self.v0, self.lam0
        if self.carrier != ROOT:
            vdot[self.v] = vdot[self.v] - self.Y @ a[self.carrier]
            lam[self.rows] = lam[self.rows] - self.L @ a[self.carrier]
        for i in self.links:
            moved = at.S(i) @ vdot[links[i].v]
            a[i] = moved if links[i].parent == ROOT else moved + at.X(i) @ a[links[i].parent]


class ClusterFactor:
    """[M Aᵀ; A 0] of a tree factored by clusters; see the head of this file. `SaddleFactor` is that of one cluster."""

    def __init__(self, at: Placed, A: Sparse, clusters: list[Group]):
        P = [ArticulatedInertia.of(link.inertia) for link in at.tree.links]
        self.n, self.m = at.tree.nv, len(A)
        self.parts: list[Lone | Cluster] = []
        self.lengths: list[Any] = [0.0] * self.m
        self.margin: Any = 1.0
        for links, rows in reversed(clusters):
            if not rows:
                self.parts.append(Lone(at, links[0], P))
                continue
            part = Cluster(at, links, rows, A, P)
            for r, x in zip(rows, part.factor.lengths):
                self.lengths[r] = x
            self.margin = minimum(self.margin, part.factor.margin)
            self.parts.append(part)

    def solve(self, f: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """v̇ and λ with M v̇ = f + Aᵀλ and A v̇ + γ = 0."""
        p: dict[int, np.ndarray] = {}
        for part in self.parts:
            part.inward(f, gamma, p)
        a: dict[int, np.ndarray] = {}
        vdot, lam = zeros(self.n), zeros(self.m)
        for part in reversed(self.parts):
            part.outward(a, vdot, lam)
        return vdot, lam


def _add(p: dict[int, np.ndarray], i: int, x: np.ndarray) -> None:
    p[i] = p[i] + x if i in p else x
