"""The Lagrangian and the poses of frames with their first and second derivatives, under trep's names.

Derivatives by q are along the velocities: ∂_k = ∂/∂δ_k at q ⊕ δ, that is, along q̇ = N(q) e_k. Second ones are
derivatives of first ones, the direction last. They are symmetric except among the velocities of one joint whose motions
do not commute (spherical, free); the symmetric part is the Hessian of δ ↦ f(q ⊕ δ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.symbols import array, to_sx

if TYPE_CHECKING:
    from dalembert.system.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class Lagrangian:
    """L = T − V of the tree with its derivatives; constraints do not enter, nor do forces without a potential.

    The rows and columns are those of `names`. Quaternion joints are varied along their velocities: L_dqdq[k, l] is the
    derivative of L_dq[k] along velocity l, symmetric but among the velocities of one spherical or free joint.
    """

    L: float  # J
    L_dq: np.ndarray  # (nv,)
    L_ddq: np.ndarray  # (nv,) the momenta M v
    L_dqdq: np.ndarray  # (nv, nv)
    L_ddqdq: np.ndarray  # (nv, nv) [k, l]: by velocity k and along q_l
    L_ddqddq: np.ndarray  # (nv, nv) M
    names: tuple[str, ...]  # as in `System.v_names`


@dataclass(frozen=True, slots=True, eq=False)
class FrameDerivatives:
    """The pose g = T_0f of a frame with its derivatives; position and rotation are g[:3, 3] and g[:3, :3].

    g_dqdq[:, :, k, l] is the derivative of g_dq[:, :, k] along velocity l, symmetric in k and l but among the
    velocities of one spherical or free joint.
    """

    g: np.ndarray  # (4, 4)
    g_dq: np.ndarray  # (4, 4, nv)
    g_dqdq: np.ndarray  # (4, 4, nv, nv)
    names: tuple[str, ...]  # as in `System.v_names`

    def d(self, first: str, second: str | None = None) -> np.ndarray:
        """(4, 4) the derivative by the coordinate named first, and along the one named second where given."""
        k = self.names.index(checks.choice(first, self.names, "first"))
        if second is None:
            return self.g_dq[:, :, k].copy()
        return self.g_dqdq[:, :, k, self.names.index(checks.choice(second, self.names, "second"))].copy()


def frame_derivatives(
    g: np.ndarray, J: np.ndarray, J_dq: np.ndarray, offset: np.ndarray, names: tuple[str, ...]
) -> FrameDerivatives:
    """From the pose g of a body, its Jacobian J, (6, nv), and ∂J/∂q, (6, nv, nv); offset: (4, 4) of the frame in it.

    ∂_k g = g Ĵ_k,   ∂_l ∂_k g = g (Ĵ_l Ĵ_k + ∂_l Ĵ_k)
    """
    first = _hat(J)
    second = _hat(J_dq) + np.einsum("abl,bck->ackl", first, first)
    g_dq, g_dqdq = np.einsum("ab,bck,cd->adk", g, first, offset), np.einsum("ab,bckl,cd->adkl", g, second, offset)
    return FrameDerivatives(g @ offset, g_dq, g_dqdq, names)


def _hat(V: np.ndarray) -> np.ndarray:
    """(4, 4, …) the matrices [[ω]  v; 0  0] of twists (ω; v), (6, …)."""
    out = np.zeros((4, 4, *V.shape[1:]))
    out[2, 1], out[0, 2], out[1, 0] = V[0], V[1], V[2]
    out[1, 2], out[2, 0], out[0, 1] = -V[0], -V[1], -V[2]
    out[:3, 3] = V[3:]
    return out


def lagrangian_along(s: Trace, L: Any) -> tuple[Any, ...]:
    """L, its slopes by q and v, and the changes of both slopes along the velocity dq, (nv,) each but L.

    By automatic differentiation, in code as long as that of L, so that long chains compile too: the second
    derivatives are the values for nv directions.
    """
    energy, q, dq = to_sx(L), s.sx["q"], s.sx["dq"]
    rates = to_sx(s.per_joint(lambda j, q, v: j.rates(s.q[q], s.dq[v])))  # N dq
    by_q, by_v = ca.jtimes(rates, dq, ca.gradient(energy, q), True), ca.gradient(energy, s.sx["v"])  # Nᵀ ∂L/∂q
    values = (by_q, by_v, ca.jtimes(by_q, q, rates), ca.jtimes(by_v, q, rates))
    return L, *(array(ca.densify(x)).reshape(s.tree.nv) for x in values)
