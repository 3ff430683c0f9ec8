"""Body Jacobians: V_f = J(q) v, and their derivatives.

    J_i = X_i J_P, with S_i in the columns of joint i          (Spencer 4.4.1)

With Ẋ = −ad(S v) X and dots on the screws of joints whose screws move:

    J̇_i = X J̇_P − ad(S v) X J_P + [Ṡ]                                                      (1)
    J̈_i = X J̈_P − 2 ad(S v) X J̇_P + (ad(S v)² − ad(S v̇ + Ṡ v)) X J_P + [S̈]               (2)
    ∂_k J_i = X_ij (−ad(s_k) X J_P + [∂_k S_j])  for s_k of joint j on the way to i         (3)

Spencer prints (2) with some dots shifted.

Only the joints between the ground and the frame have columns; the others are exact zeros.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from dalembert.recursions.tree import ROOT, Link, Moving, Placed
from dalembert.spatial import AdInverse, Transform, bracket
from dalembert.symbols import array, is_number, symbols, to_sx, zeros


def body_jacobian(at: Placed, i: int, offset: Transform, start: int = ROOT) -> np.ndarray:
    """J, (6, nv), of frame `offset` of link i, in the frame's own axes; of its motion in the link `start`.

    The columns are carried from the frame inward, so that each costs one transform: J[:, k] = Ad(T_kf⁻¹) S_k.
    """
    J = zeros(6, at.tree.nv)
    T = offset  # T_kf: the frame seen from link k
    for k in reversed(at.tree.path(i, start)):
        J[:, at.tree.links[k].v] = AdInverse(T) @ at.S(k)
        T = at.T(k) @ T
    return J


def body_jacobian_rate(at: Moving, i: int, offset: Transform) -> np.ndarray:
    """J̇ alone, (6, nv), of frame `offset` of link i: one transform for each column, as in `body_jacobian`.

    J̇_k = X_k Ṡ_k − ad(V_k) J_k, with X_k = Ad(T_kf⁻¹) and V_k the twist of the frame as seen from link k.
    """
    out, T, V = zeros(6, at.tree.nv), offset, zeros(6)
    for k in reversed(at.tree.path(i)):
        link, X = at.tree.links[k], AdInverse(T)
        q, v = at.q[link.q], at.v[link.v]
        J = X @ at.S(k)
        out[:, link.v] = X @ link.joint.screws_rate(q, v) - bracket(V, J)
        V, T = V + J @ v, at.T(k) @ T
    return out


def body_jacobian_rates(at: Moving, a: np.ndarray, i: int, offset: Transform) -> tuple[np.ndarray, np.ndarray]:
    """J̇ and J̈, (6, nv) each, of frame `offset` of link i, along a motion with accelerations a, as `body_jacobian_rate`.

    J̈_k = X_k S̈_k − ad(V_k) (X_k Ṡ_k + J̇_k) − ad(V̇_k) J_k: (2), carried from the frame inward.
    """
    first, second = zeros(6, at.tree.nv), zeros(6, at.tree.nv)
    T, V, V_rate = offset, zeros(6), zeros(6)
    for k in reversed(at.tree.path(i)):
        link, X = at.tree.links[k], AdInverse(T)
        q, v, vdot = at.q[link.q], at.v[link.v], a[link.v]
        J, XS1 = X @ at.S(k), X @ link.joint.screws_rate(q, v)
        J1 = XS1 - bracket(V, J)
        J2 = X @ _second_rate(link, q, v, vdot) - bracket(V, XS1 + J1) - bracket(V_rate, J)
        first[:, link.v], second[:, link.v] = J1, J2
        V, V_rate, T = V + J @ v, V_rate + J1 @ v + J @ vdot, at.T(k) @ T
    return first, second


def body_jacobian_slopes(at: Placed, i: int, offset: Transform) -> np.ndarray:
    """∂J/∂δ, (6, nv, nv): [:, c, k] is the derivative of column c along velocity k; frame `offset` of link i."""
    n = at.tree.nv
    out, T = zeros(6, n, n), offset
    for j in reversed(at.tree.path(i)):
        link, X = at.tree.links[j], AdInverse(T)
        before = zeros(6, n)  # X J_P: the columns of the joints that carry j
        if link.parent != ROOT:
            before = body_jacobian(at, link.parent, at.T(j))
        one = np.eye(link.joint.nv).astype(object)
        for k, s in enumerate(at.S(j).T):
            slope = -bracket(s, before)  # (3)
            slope[:, link.v] = link.joint.screws_rate(at.q[link.q], one[k])
            out[:, :, link.v.start + k] = X @ slope
        T = at.T(j) @ T
    return out


def _second_rate(link: Link, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
    """S̈, (6, nv): a formula of a few terms, differentiated by CasADi where the screws move at all."""
    joint = link.joint
    (Q, qs), (W, vs) = symbols("q", joint.nq), symbols("v", joint.nv)
    S1 = joint.screws_rate(qs, vs)
    if all(is_number(x) and x == 0.0 for x in S1.ravel()):
        return zeros(6, joint.nv)
    flat = to_sx(S1.ravel())
    rate = ca.jtimes(flat, Q, to_sx(joint.rates(qs, vs))) + ca.jtimes(flat, W, W_rate := ca.SX.sym("a", joint.nv))
    f = ca.Function("rate", [Q, W, W_rate], [ca.densify(rate)])
    return array(f(to_sx(q), to_sx(v), to_sx(vdot))).reshape(6, joint.nv)
