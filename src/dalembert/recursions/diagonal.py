"""Diagonal equations of motion: ν̇ + C(q, ν) = ε, and D ξ̇ + C(q, ξ) = κ (Jain & Rodriguez 3.1, 7.9), in O(N).

Symbols as in `innovations`; V⁺_i = X_i V_P is the parent's twist at joint i, · a rate in the link's own frame.

The Riccati recursion differentiated along v (the paper's λ̇, algorithm 6.1):

    U̇_i = Ṗ_i S_i + P_i Ṡ_i,   Ḋ_i = S_iᵀ U̇_i + Ṡ_iᵀ U_i,   W_i = U̇_i − ½ G_i Ḋ_i                              (1)
    Ṗ⁺_i = Ṗ_i − W_i G_iᵀ − G_i W_iᵀ,   Ṗ_P += X_iᵀ (Ṗ⁺_i − P⁺_i ad(S_i v_i) − ad(S_i v_i)ᵀ P⁺_i) X_i              (2)

The print of the Coriolis recursions (7.2), (7.10), (8.3) is garbled. Derived anew: put v̇ of the articulated-body
recursion, with its bias force p, into ξ̇_i = v̇_i + d/dt (G_iᵀ V⁺_i). All accelerations drop out:

    ξ̇_i = D_i⁻¹ (τ_i − S_iᵀ p_i) − G_iᵀ Ṡ_i v_i + Ġ_iᵀ V⁺_i

With r_i = p_i − Ṗ_i V_i + U̇_i ξ_i in place of p_i the products of Ṗ with twists drop out, too:

    r_i = −ad(V_i)ᵀ I_i V_i + U̇_i ξ_i + Σ_c X_cᵀ (r_c − G_c C_c + ad(S_c v_c)ᵀ P⁺_c V⁺_c)                        (3)
    C_i(q, ξ) = S_iᵀ r_i − Ṡ_iᵀ P⁺_i V⁺_i                                                                        (4)

κ is linear in the forces and obeys the same recursion, so that s = r + z carries both: with external wrenches W_i

    e_i = κ_i − C_i = τ_i − S_iᵀ s_i + Ṡ_iᵀ P⁺_i V⁺_i,   s_P += X_iᵀ (s_i + G_i e_i + ad(S_i v_i)ᵀ P⁺_i V⁺_i)       (5)
    D_i ξ̇_i = e_i + U_iᵀ (0; g_i)                                                                                (6)

g_i is gravity in link i. It needs no recursion inward: what gravity alone puts into s_i is −P_i (0; g_i).
In normalized variables, with F_i = B_i⁻¹ Ḃ_i the upper triangle of B_i⁻¹ Ḋ_i B_i⁻ᵀ, half its diagonal,

    ν̇_i = B_i⁻¹ D_i ξ̇_i + F_iᵀ ν_i,   C_i(q, ν) = B_i⁻¹ C_i(q, ξ) − F_iᵀ ν_i                                      (7)

For revolute joints Ṡ = 0 and F = Ḋ/2D. Velocities may be quasi-velocities (spherical and free joints): nothing above
asks for coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.recursions.innovations import Innovations, roots_of
from dalembert.recursions.riccati import ArticulatedInertia, Factors, gone, less, solve_R
from dalembert.recursions.tree import ROOT, Moving
from dalembert.spatial import Ad, ad, bracket_dual
from dalembert.symbols import eye, zeros


@dataclass(frozen=True, slots=True, eq=False)
class RiccatiRate:
    """Rates of what `riccati` gives, along v, each in its link's own frame."""

    P: list[ArticulatedInertia]
    U: dict[int, np.ndarray]  # (6, nv_i)
    D: dict[int, np.ndarray]  # (nv_i, nv_i)
    S: dict[int, np.ndarray]  # (6, nv_i)


def riccati_rate(at: Moving, factor: Innovations) -> RiccatiRate:
    """(1), (2), tips to base."""
    tree, r = at.tree, factor.riccati
    dP = [ArticulatedInertia(zeros(3, 3), zeros(3, 3), zeros(3, 3)) for _ in tree.links]
    dU, dD, dS = {}, {}, {}
    for i in tree.inward():
        link, S = tree.links[i], at.S(i)
        v = at.v[link.v]
        dS[i] = link.joint.screws_rate(at.q[link.q], v)
        dU[i] = dP[i] @ S + r.P[i] @ dS[i]
        dD[i] = S.T @ dU[i] + dS[i].T @ r.U[i]  # (1)
        if link.parent != ROOT:
            W, G = dU[i] - 0.5 * (r.G[i] @ dD[i]), r.G[i]
            N, one = r.Pplus[i].matrix() @ ad(S @ v), eye(6)
            passed = less(dP[i], np.hstack([W, G]), np.hstack([G, W]), gone(S, link.armature))
            passed = less(passed, np.hstack([N, one]), np.hstack([one, N]), set())
            dP[link.parent] = dP[link.parent] + passed.seen_from(at.T(i))  # (2)
    return RiccatiRate(dP, dU, dD, dS)


class DiagonalDynamics:
    """Total rates and what drives them, of a tree that moves; see the head of this file."""

    def __init__(self, at: Moving, factor: Innovations, xi: np.ndarray):
        """`xi`: the total rates of at.v."""
        self.at, self.factor, self.xi = at, factor, xi
        self.rate = riccati_rate(at, factor)

    def driven(self, tau: np.ndarray, gravity: np.ndarray, wrenches: dict[int, np.ndarray]) -> np.ndarray:
        """D ξ̇ = κ − C(q, ξ), gravity and wrenches included: (5), (6)."""
        at, tree, r = self.at, self.at.tree, self.factor.riccati
        g, s = {ROOT: gravity}, {}
        for i in tree.outward():
            V, I = at.V(i), tree.links[i].inertia
            g[i] = at.T(i).R.T @ g[tree.links[i].parent]
            s[i] = -bracket_dual(V, I @ V) - wrenches.get(i, 0.0)
        out = zeros(tree.nv)
        for i in tree.inward():
            link, S = tree.links[i], at.S(i)
            s[i] = s[i] + self.rate.U[i] @ self.xi[link.v]
            e = tau[link.v] - S.T @ s[i]
            if link.parent != ROOT:
                momentum = r.Pplus[i] @ (at.X(i) @ at.V(link.parent))
                e = e + self.rate.S[i].T @ momentum
                passed = s[i] + r.G[i] @ e + bracket_dual(S @ at.v[link.v], momentum)
                s[link.parent] = s[link.parent] + at.X(i).T @ passed
            out[link.v] = e + r.U[i][3:].T @ g[i]
        return out

    def coriolis(self) -> np.ndarray:
        """C(q, ξ)."""
        return -self.driven(zeros(self.at.tree.nv), zeros(3), {})

    def turning(self) -> np.ndarray:
        """Fᵀ ν = Ḃᵀ ξ, what ν̇ owes to the change of B (7)."""
        nu, out = self.factor.root_transposed(self.xi), zeros(self.at.tree.nv)
        for i, (where, factors) in enumerate(self.factor.blocks):
            out[where] = _root_rate(factors, self.rate.D[i]).T @ nu[where]
        return out


def _root_rate(f: Factors, dD: np.ndarray) -> np.ndarray:
    """F = B⁻¹ Ḃ with D = B Bᵀ: the upper triangle of B⁻¹ Ḋ B⁻ᵀ, half its diagonal."""
    n, roots = len(dD), roots_of(f)
    Y = solve_R(f, solve_R(f, dD).T)
    F = zeros(n, n)
    for i in range(n):
        for j in range(i, n):
            F[i, j] = Y[i, j] / (roots[i] * roots[j]) * (0.5 if i == j else 1.0)
    return F


def dense(at: Moving) -> tuple[np.ndarray, ...]:
    """H, E_φ, M, P, D and their rates Ḣ, Ω̃, Ṗ along v as whole matrices, for small trees; see `analysis.operators`.

    H (nv, 6n) has S_iᵀ in its blocks, E_φ(P, i) = X_iᵀ carries wrenches inward, Ω̃ = diag ad(S_i v_i): Ė_φ = −E_φ Ω̃ᵀ.
    """
    tree, factor = at.tree, Innovations(at)
    rate, r, n = riccati_rate(at, factor), factor.riccati, 6 * len(tree)
    H, dH, D = zeros(tree.nv, n), zeros(tree.nv, n), zeros(tree.nv, tree.nv)
    E, M, P, dP, Omega = (zeros(n, n) for _ in range(5))
    for i in tree.outward():
        link, k = tree.links[i], slice(6 * i, 6 * i + 6)
        H[link.v, k], dH[link.v, k] = at.S(i).T, rate.S[i].T
        D[link.v, link.v] = at.S(i).T @ r.U[i] + np.diag(link.armature)
        M[k, k], P[k, k], dP[k, k] = link.inertia.matrix(), r.P[i].matrix(), rate.P[i].matrix()
        Omega[k, k] = ad(at.S(i) @ at.v[link.v])
        if link.parent != ROOT:
            E[6 * link.parent : 6 * link.parent + 6, k] = Ad(at.T(i).inverse()).T
    return H, E, M, P, D, dH, Omega, dP
