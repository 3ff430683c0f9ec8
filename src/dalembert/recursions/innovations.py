"""The innovations factor of the mass matrix, M = m mᵀ, applied in O(N) and never formed (Jain & Rodriguez).

Joint i hangs on link P; X_i, S_i, V_i are those of `tree`, P_i, D_i, G_i those of `riccati`.

    M = [1 + HφK] D [1 + HφK]ᵀ,   M⁻¹ = [1 − HψK]ᵀ D⁻¹ [1 − HψK]                                 (4.1b), (4.1d)
    D_i = B_i B_iᵀ,   m = [1 + HφK] B,   ℓ = m⁻¹ = B⁻¹ [1 − HψK]                                 (5.1)

    ξ_i = v_i + G_iᵀ X_i V_P          total rates of the joints,   ν_i = B_iᵀ ξ_i               (table 1), outward
    κ_i = T_i − S_iᵀ z_i,  z_P += X_iᵀ (z_i + G_i κ_i)                                          (table 2), inward
                                      working forces of the joints,  ε_i = B_i⁻¹ κ_i

so that ν = mᵀ v, T = m ε, and the kinetic energy is ½ νᵀν = ½ ξᵀ D ξ.

Departures. The paper has chains of revolute joints; this holds for trees, joints of several degrees of freedom and
armature, which adds to D (measurement noise, in the language of filters). B_i is the upper triangular Cholesky factor
of the block D_i, where the paper has D^½. Links are numbered from the ground, so m is upper triangular with a positive
diagonal: *the* reverse Cholesky factor of M, unique, and analytic in q because M is.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.lazy import cached_property
from dalembert.recursions.riccati import ArticulatedInertia, Factors, less, riccati, solve, solve_R, solve_RT
from dalembert.recursions.tree import ROOT, Placed
from dalembert.symbols import eye, is_number, is_zero, log, sqrt, zeros


class Innovations:
    """M = m mᵀ of a tree at one configuration; see the head of this file. Vectors have length nv."""

    def __init__(self, at: Placed):
        self.at, self.tree, self.riccati = at, at.tree, riccati(at)
        self.eliminations: dict[tuple[int, ...], Any] = {}  # of rows: see `elimination`
        self.blocks: list[tuple[slice, Factors]] = [(k.v, self.riccati.D[i]) for i, k in enumerate(self.tree.links)]

    # --- between joints: [1 + HφK] and its inverse ----------------------------------------------------------------

    def total(self, v: np.ndarray) -> np.ndarray:
        """ξ = [1 + HφK]ᵀ v (7.7), outward."""
        V, xi = {ROOT: zeros(6)}, zeros(self.tree.nv)
        for i in self.tree.outward():
            link = self.tree.links[i]
            carried = self.at.X(i) @ V[link.parent]
            xi[link.v] = v[link.v] + self.riccati.G[i].T @ carried
            V[i] = carried + self.at.S(i) @ v[link.v]
        return xi

    def rates(self, xi: np.ndarray) -> np.ndarray:
        """v = [1 − HψK]ᵀ ξ, outward."""
        V, v = {ROOT: zeros(6)}, zeros(self.tree.nv)
        for i in self.tree.outward():
            link = self.tree.links[i]
            carried = self.at.X(i) @ V[link.parent]
            v[link.v] = xi[link.v] - self.riccati.G[i].T @ carried
            V[i] = carried + self.at.S(i) @ v[link.v]
        return v

    def working(self, T: np.ndarray) -> np.ndarray:
        """κ = [1 − HψK] T, inward. Where nothing acts further out, exact zeros stay zeros."""
        z = [zeros(6) for _ in self.tree.links]
        kappa = zeros(self.tree.nv)
        for i in self.tree.inward():
            link = self.tree.links[i]
            kappa[link.v] = T[link.v] - self.at.S(i).T @ z[i]
            if link.parent != ROOT and not (_nothing(z[i]) and _nothing(kappa[link.v])):
                z[link.parent] = z[link.parent] + self.at.X(i).T @ (z[i] + self.riccati.G[i] @ kappa[link.v])
        return kappa

    def applied(self, kappa: np.ndarray) -> np.ndarray:
        """T = [1 + HφK] κ, inward."""
        z = [zeros(6) for _ in self.tree.links]
        T = zeros(self.tree.nv)
        for i in self.tree.inward():
            link = self.tree.links[i]
            T[link.v] = kappa[link.v] + self.at.S(i).T @ z[i]
            if link.parent != ROOT:
                z[link.parent] = z[link.parent] + self.at.X(i).T @ (z[i] + self.riccati.G[i] @ kappa[link.v])
        return T

    # --- within joints: B, its transpose and inverses; B = R diag(√d) -----------------------------------------------

    def root(self, x: np.ndarray) -> np.ndarray:
        """B x."""
        return self._blockwise(x, lambda f, b: f.R @ (roots_of(f) * b))

    def root_transposed(self, x: np.ndarray) -> np.ndarray:
        """Bᵀ x."""
        return self._blockwise(x, lambda f, b: roots_of(f) * (f.R.T @ b))

    def unroot(self, x: np.ndarray) -> np.ndarray:
        """B⁻¹ x."""
        return self._blockwise(x, lambda f, b: _divide(solve_R(f, b), roots_of(f)))

    def unroot_transposed(self, x: np.ndarray) -> np.ndarray:
        """B⁻ᵀ x."""
        return self._blockwise(x, lambda f, b: solve_RT(f, _divide(b, roots_of(f))))

    def _blockwise(self, x: np.ndarray, of: Any) -> np.ndarray:
        out = zeros(len(x))
        for where, factors in self.blocks:
            out[where] = of(factors, x[where])
        return out

    # --- together -----------------------------------------------------------------------------------------------------

    def m(self, x: np.ndarray) -> np.ndarray:
        """m x: T of ε."""
        return self.applied(self.root(x))

    def m_transposed(self, x: np.ndarray) -> np.ndarray:
        """mᵀ x: ν of v."""
        return self.root_transposed(self.total(x))

    def ell(self, x: np.ndarray) -> np.ndarray:
        """ℓ x: ε of T."""
        return self.unroot(self.working(x))

    def ell_transposed(self, x: np.ndarray) -> np.ndarray:
        """ℓᵀ x: v of ν."""
        return self.rates(self.unroot_transposed(x))

    def divide(self, kappa: np.ndarray) -> np.ndarray:
        """D⁻¹ κ."""
        return self._blockwise(kappa, solve)

    def solve(self, x: np.ndarray) -> np.ndarray:
        """M⁻¹ x."""
        return self.rates(self.divide(self.working(x)))

    def mobility(self, i: int) -> np.ndarray:
        """J M⁻¹ Jᵀ, (6, 6), J the Jacobian of link i in its own axes: the inverse of its operational-space inertia.

        V_i = (1 − S_i G_iᵀ) X_i V_P + S_i ξ_i, and the ξ are independent in the metric D, so that, outward,

            Ω_i = (1 − S_i G_iᵀ) X_i Ω_P X_iᵀ (1 − G_i S_iᵀ) + S_i D_i⁻¹ S_iᵀ
        """
        Omega, swap = zeros(6, 6), [3, 4, 5, 0, 1, 2]
        for k in self.tree.path(i):
            S, G, D = self.at.S(k), self.riccati.G[k], self.riccati.D[k]
            # (v; ω) is carried outward as a wrench is carried inward, over the inverse motion
            turned = ArticulatedInertia.from_matrix(Omega[np.ix_(swap, swap)]).seen_from(self.at.T(k).inverse())
            carried = ArticulatedInertia.from_matrix(turned.matrix()[np.ix_(swap, swap)])
            W = carried @ G
            Z = W - 0.5 * (S @ (G.T @ W + solve(D, eye(len(D.d)))))
            Omega = less(carried, np.hstack([S, Z]), np.hstack([Z, S]), set()).matrix()
        return Omega

    def log_determinant(self) -> Any:
        """Log det M = Σ log det D_i."""
        return sum((log(d) for _, factors in self.blocks for d in factors.d), 0.0)

    # --- as the factor M = Lᵀ D L of `elimination`: no square roots ---------------------------------------------------

    @property
    def inverse(self) -> list[Any]:
        """1/d of every velocity."""
        return [x for _, factors in self.blocks for x in factors.inverse]

    def lower_transposed(self, x: np.ndarray) -> np.ndarray:
        """L^−ᵀ x."""
        return self._blockwise(self.working(x), solve_R)

    def lower_transposed_row(self, row: Mapping[int, Any]) -> dict[int, Any]:
        """L^−ᵀ of a row of A by its elements: `lower_transposed` over the links between them and the ground alone."""
        links, T = self.tree.links, dict(row)
        z: dict[int, np.ndarray] = {}
        waiting = sorted({self._link_of[k] for k in row})  # a heap of the links to come, tips first
        waiting = [-i for i in reversed(waiting)]
        out: dict[int, Any] = {}
        while waiting:
            i = -heapq.heappop(waiting)
            link, factors = links[i], self.riccati.D[i]
            own = np.array([T.get(k, 0.0) for k in range(link.v.start, link.v.stop)], dtype=object)
            pushed = z.pop(i, None)
            kappa = own if pushed is None else own - self.at.S(i).T @ pushed
            P = link.parent
            if P != ROOT and not ((pushed is None or _nothing(pushed)) and _nothing(kappa)):
                carried = self.riccati.G[i] @ kappa if pushed is None else pushed + self.riccati.G[i] @ kappa
                if P not in z and not any(k in T for k in range(links[P].v.start, links[P].v.stop)):
                    heapq.heappush(waiting, -P)
                carried = self.at.X(i).T @ carried
                z[P] = z[P] + carried if P in z else carried
            out.update(zip(range(link.v.start, link.v.stop), solve_R(factors, kappa)))
        return {k: out[k] for k in sorted(out) if not is_zero(out[k])}

    @cached_property
    def _link_of(self) -> list[int]:
        """The link of each velocity."""
        return [i for i, link in enumerate(self.tree.links) for _ in range(link.v.start, link.v.stop)]

    def lower(self, x: np.ndarray) -> np.ndarray:
        """L⁻¹ x."""
        return self.rates(self._blockwise(x, solve_RT))


def roots_of(f: Factors) -> np.ndarray:
    """Square roots of the factor's diagonal blocks, link by link."""
    return np.array([sqrt(d) for d in f.d], dtype=object)


def _divide(x: np.ndarray, roots: np.ndarray) -> np.ndarray:
    return np.array([a / b for a, b in zip(x, roots)], dtype=object)


def _nothing(x: np.ndarray) -> bool:
    return all(is_number(e) and e == 0.0 for e in x)
