"""Derivatives of inverse dynamics, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.recursions.motion_derivatives import MotionDerivatives
from dalembert.recursions.tree import ROOT
from dalembert.spatial import RigidInertia, Transform, bracket_dual, cross, skew
from dalembert.symbols import zeros


@dataclass(frozen=True, slots=True, eq=False)
class VelocityInertia:
    """2B of moving bodies: a change of twist δV, carried along rigidly, adds the forces 2B δV.

        2B δV = −I ad(V) δV − ad(V)ᵀ I δV − ad(δV)ᵀ I V
        2B = [[C, 0], [−2[l], 0]],  C = [ω](2J − tr J) − 2[h][v],  l = m v − h × ω the linear momentum

    Only the angular part of δV counts, and three numbers and a (3, 3) matrix carry it.
    """

    C: np.ndarray
    l: np.ndarray

    @staticmethod
    def of(I: RigidInertia, V: np.ndarray) -> VelocityInertia:
        """That of one body with the twist V."""
        w, v = V[:3], V[3:]
        J = 2.0 * I.J
        for k in range(3):
            J[k, k] = J[k, k] - (I.J[0, 0] + I.J[1, 1] + I.J[2, 2])
        return VelocityInertia(skew(w) @ J - 2.0 * (skew(I.h) @ skew(v)), I.m * v - cross(I.h, w))

    def __add__(self, other: VelocityInertia) -> VelocityInertia:
        return VelocityInertia(self.C + other.C, self.l + other.l)

    def seen_from(self, T: Transform) -> VelocityInertia:
        """Xᵀ 2B X with X = Ad(T⁻¹): C_A = R C Rᵀ − 2[p][R l]."""
        l = T.R @ self.l
        return VelocityInertia(T.R @ self.C @ T.R.T - 2.0 * (skew(T.p) @ skew(l)), l)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """2B δV; δV a vector or columns."""
        w = V[:3]
        return np.concatenate([self.C @ w, -2.0 * cross(self.l, w)])

    def dual(self, V: np.ndarray) -> np.ndarray:
        """The angular part of (2B)ᵀ δV, (3, …); the rest is zero."""
        return self.C.T @ V[:3] + 2.0 * cross(self.l, V[3:])


@dataclass(frozen=True, slots=True, eq=False)
class InverseDynamicsDerivatives:
    """τ with its derivatives, all (nv, nv)."""

    tau: np.ndarray  # (nv,)
    tau_q: np.ndarray  # ∂τ/∂δ at q ⊕ δ
    tau_v: np.ndarray
    tau_a: np.ndarray  # M


@dataclass(frozen=True, slots=True, eq=False)
class JointForces:
    """Contribution of one joint to the derivatives, in its own frame; see `newton_euler_derivatives`."""

    F: np.ndarray  # (6, n) with gravity
    f: np.ndarray  # (6,)
    U: np.ndarray  # (6, n)
    U_v: np.ndarray  # (6, n)
    w: np.ndarray  # (6, n)
    y: np.ndarray  # (3, n)


def joint_forces(motion: MotionDerivatives, gravity: np.ndarray, wrenches: dict[int, np.ndarray]) -> list[JointForces]:
    """(1) and (2) of `newton_euler_derivatives` for every joint."""
    at, tree = motion.at, motion.at.tree
    C, B, f, F, g = [], [], [], [], {ROOT: gravity}
    for i in tree.outward():
        I, V = tree.links[i].inertia, at.V(i)
        g[i] = at.T(i).R.T @ g[tree.links[i].parent]
        lifted = motion.V_rate[i] - np.concatenate([zeros(3), g[i]])
        C.append(I)
        B.append(VelocityInertia.of(I, V))
        f.append(I @ lifted - bracket_dual(V, I @ V) - wrenches.get(i, 0.0))  # (1)
        s = at.S(i)[:3]
        F.append(motion.F[i] + np.concatenate([zeros(*s.shape), -cross(g[i], s)]))
    out: dict[int, JointForces] = {}
    for j in tree.inward():
        S, P = at.S(j), tree.links[j].parent
        U, U_v = C[j] @ F[j] + B[j] @ motion.D[j], C[j] @ motion.G[j] + B[j] @ S  # (2)
        out[j] = JointForces(F[j], f[j], U, U_v, C[j] @ S, B[j].dual(S))
        if P != ROOT:
            T = at.T(j)
            C[P], B[P], f[P] = C[P] + C[j].seen_from(T), B[P] + B[j].seen_from(T), f[P] + at.X(j).T @ f[j]
    return [out[j] for j in tree.outward()]


def newton_euler_derivatives(
    motion: MotionDerivatives, gravity: np.ndarray, wrenches: dict[int, np.ndarray]
) -> InverseDynamicsDerivatives:
    """∂τ/∂q, ∂τ/∂v and M of τ = M a + h − Σ Jᵀ W, the wrenches W fixed in their links.

    The closed forms of Singh, Russell and Wensing (2022), which sum up Spencer's recursions of 4.3. C is the composite
    inertia of what link i carries, 2B that of `VelocityInertia`, f the force of Newton-Euler (3), all summed inward;
    D, F, G as in `motion_derivatives`, F here with gravity as an upward acceleration: F += (0; s_ω × Rᵀg).

        f_i = I_i V̇_i − ad(V_i)ᵀ I_i V_i − W_i + Σ X_cᵀ f_c                                       (1)
        U_j = C_j F_j + 2B_j D_j,   U′_j = C_j G_j + 2B_j S_j                                     (2)
        ∂τ_j/∂q_j = S_jᵀ U_j + (∂_k S_j)ᵀ f_j,   ∂τ_j/∂v_j = S_jᵀ U′_j                            (3)
        ∂τ_i/∂q_j = S_iᵀ X_jiᵀ (U_j − ad(S_j)ᵀ f_j),   ∂τ_i/∂v_j = S_iᵀ X_jiᵀ U′_j   i carries j  (4)
        ∂τ_j/∂q_i = w F_i + y D_i,   ∂τ_j/∂v_i = w G_i + y S_i,   M_ij = w S_i       i carries j  (5)
            with w = (C_j S_j)ᵀ and y = ((2B_j)ᵀ S_j)ᵀ carried inward to i

    Departures: link axes; 2B in blocks; joints whose screws depend on q.
    """
    at, tree = motion.at, motion.at.tree
    forces = joint_forces(motion, gravity, wrenches)
    out = InverseDynamicsDerivatives(zeros(tree.nv), *(zeros(tree.nv, tree.nv) for _ in range(3)))
    for j in tree.inward():
        link, S, x = tree.links[j], at.S(j), forces[j]
        dofs, n = link.v, S.shape[1]
        out.tau[dofs] = S.T @ x.f + link.armature * motion.a[dofs]
        out.tau_q[dofs, dofs], out.tau_v[dofs, dofs] = own_slopes(motion, j, x)  # (3)
        Mjj = S.T @ x.w + np.diag(link.armature)
        out.tau_a[dofs, dofs] = [[Mjj[min(r, c), max(r, c)] for c in range(n)] for r in range(n)]
        U, U_v, w, y = passed_on(motion, j, x), x.U_v, x.w, x.y
        i = j
        while tree.links[i].parent != ROOT:
            X = at.X(i).T
            U, U_v, w, y = X @ U, X @ U_v, X @ w, X.R @ y
            i = tree.links[i].parent
            Si, above = at.S(i), tree.links[i].v
            out.tau_q[above, dofs], out.tau_v[above, dofs] = Si.T @ U, Si.T @ U_v  # (4)
            block = Si.T @ w
            out.tau_a[above, dofs], out.tau_a[dofs, above] = block, block.T
            out.tau_q[dofs, above] = w.T @ forces[i].F + y.T @ motion.D[i][:3]  # (5)
            out.tau_v[dofs, above] = w.T @ motion.G[i] + y.T @ Si[:3]
    return out


def own_slopes(motion: MotionDerivatives, j: int, x: JointForces) -> tuple[np.ndarray, np.ndarray]:
    """The two matrices of (3), (n, n) each."""
    S = motion.at.S(j)
    by_q = S.T @ x.U
    for k, dS in enumerate(motion.S_moved[j] or []):
        by_q[:, k] = by_q[:, k] + dS.T @ x.f
    return by_q, S.T @ x.U_v


def passed_on(motion: MotionDerivatives, j: int, x: JointForces) -> np.ndarray:
    """U_j − ad(S_j)ᵀ f_j of (4): the forces turn with the joint."""
    S = motion.at.S(j)
    return x.U - np.column_stack([bracket_dual(s, x.f) for s in S.T]) if S.shape[1] else x.U
