"""Derivatives of twists and accelerations of links with respect to q and v, in the tangent space.

δ moves a configuration to q ⊕ δ; s_k is a column of S_j, ∂_k S_j the derivative of S_j along it, P the parent of j,
X = X_j. What a link's own numbers V and V̇ (`Moving.V`, `kinematics.twist_rate`) change by, at link j itself:

    D_jk = ad(X V_P) s_k + ∂_k S_j v_j                                        = ∂V_j/∂δ_k             (1)
    F_jk = ad(X V̇_P) s_k + ∂_k S_j v̇_j + ∂_k bias_j − ad(∂_k S_j v_j) V_j + ad(X V_P) D_jk            (2)
    G_jk = ∂bias_j/∂v_k + ad(V_j) s_k + ad(X V_P) s_k                                                 (3)

and at any link i that j carries, all carried there by the rigid X_ij:

    ∂V_i/∂δ = X_ij D_j,   ∂V̇_i/∂δ = X_ij F_j − ad(V_i) X_ij D_j                                       (4)
    ∂V_i/∂v = X_ij S_j,   ∂V̇_i/∂v = X_ij G_j − ad(V_i) X_ij S_j                                       (5)

Singh, Russell and Wensing (2022) have D as ψ̇, F as ψ̈, G as ψ̇ + Ṡ, in the ground's axes. Departures: link axes, in
which planar mechanisms stay planar and screws stay unit vectors; and the terms of joints whose screws depend on q.
Spencer's ∂J_i/∂q_j (4.4.1) is ∂_j (X_ij S_j).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property
from dalembert.recursions.tree import ROOT, Link, Moving
from dalembert.spatial import AdInverse, bracket
from dalembert.symbols import array, is_number, symbols, to_sx, zeros


class MotionDerivatives:
    """D, F, G of every joint of a tree in motion with the accelerations a, gravity left out."""

    def __init__(self, at: Moving, a: np.ndarray):
        self.at, self.a = at, a
        self.V_rate: dict[int, np.ndarray] = {ROOT: zeros(6)}  # V̇_i
        self.D: list[np.ndarray] = []
        self.F: list[np.ndarray] = []
        self.G: list[np.ndarray] = []
        self.S_moved: list[list[np.ndarray] | None] = []  # ∂_k S_j, None where S_j is constant
        for j in at.tree.outward():
            self._link(j, at.tree.links[j])

    def _link(self, j: int, link: Link) -> None:
        at, S, X, V = self.at, self.at.S(j), self.at.X(j), self.at.V(j)
        q, v, a = at.q[link.q], at.v[link.v], self.a[link.v]
        V_carried, rate_carried = X @ at.V(link.parent), X @ self.V_rate[link.parent]
        self.V_rate[j] = rate_carried + S @ a + at.c(j)
        D, F = bracket(V_carried, S), bracket(rate_carried, S)
        G = bracket(V, S) + D
        moved = _screws_moved(link, q)
        if moved is not None:
            bias_q, bias_v = _bias_derivatives(link, q, v)
            for k, dS in enumerate(moved):
                D[:, k] = D[:, k] + dS @ v  # (1)
                F[:, k] = F[:, k] + dS @ a + bias_q[:, k] - bracket(dS @ v, V)
            G = G + bias_v  # (3)
        self.D.append(D)
        self.F.append(F + bracket(V_carried, D))  # (2)
        self.G.append(G)
        self.S_moved.append(moved)

    @cached_property
    def _columns(self) -> dict[int, MotionColumns]:
        return {}

    def columns(self, i: int) -> MotionColumns:
        """The terms of (4) and (5) at link i."""
        if i not in self._columns:
            self._columns[i] = MotionColumns(self, i)
        return self._columns[i]


class MotionColumns:
    """X_ij S_j, X_ij D_j, X_ij F_j and X_ij G_j at link i, (6, nv) each, exact zeros where j does not carry i."""

    def __init__(self, of: MotionDerivatives, i: int):
        tree = of.at.tree
        self.S, self.D, self.F, self.G = (zeros(6, tree.nv) for _ in range(4))
        self.dofs: list[int] = []  # the velocities that move the link
        T = None  # T_ji
        for j in reversed(tree.path(i)):
            dofs = tree.links[j].v
            self.dofs += range(dofs.start, dofs.stop)
            for out, of_joint in ((self.S, of.at.S(j)), (self.D, of.D[j]), (self.F, of.F[j]), (self.G, of.G[j])):
                out[:, dofs] = of_joint if T is None else AdInverse(T) @ of_joint
            T = of.at.T(j) if T is None else of.at.T(j) @ T
        self.V = of.at.V(i)


def _screws_moved(link: Link, q: np.ndarray) -> list[np.ndarray] | None:
    """∂_k S for each velocity: Ṡ is linear in v, so it is Ṡ(q, e_k)."""
    one = np.eye(link.joint.nv).astype(object)
    moved = [link.joint.screws_rate(q, e) for e in one]
    constant = all(is_number(x) and x == 0.0 for dS in moved for x in dS.ravel())
    return None if constant else moved


def _bias_derivatives(link: Link, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """∂(Ṡ v)/∂δ and ∂(Ṡ v)/∂v, (6, nv) each, of one joint: a formula of a few terms, differentiated by CasADi."""
    joint = link.joint
    (Q, qs), (W, vs) = symbols("q", joint.nq), symbols("v", joint.nv)
    bias = to_sx(joint.bias(qs, vs))
    N = to_sx(np.column_stack([joint.rates(qs, e) for e in np.eye(joint.nv).astype(object)]))
    f = ca.Function("bias", [Q, W], [ca.densify(ca.jacobian(bias, Q) @ N), ca.densify(ca.jacobian(bias, W))])
    by_q, by_v = f(to_sx(q), to_sx(v))
    return array(by_q).reshape(6, joint.nv), array(by_v).reshape(6, joint.nv)
