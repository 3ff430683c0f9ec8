"""Derivatives of the accelerations of large trees without constraints, from columns of joints and their pairs.

    M v̇ + h = Q,   ∂v̇/∂x = −M⁻¹ ∂(M v̇ + h − Q)/∂x   with v̇ held

∂/∂q, ∂/∂v and M are products of columns (`recursions.derivative_columns`): code grows as N, time as N² but for M⁻¹.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.system.derivatives import ACCELERATION_DERIVATIVES, EquationDerivatives
from dalembert.system.equation_rows import divided

if TYPE_CHECKING:
    from dalembert.protocols import Inputs, Parameters
    from dalembert.system.state import State
    from dalembert.system.system import System
    from dalembert.system.trace import Trace


def is_tree(system: System) -> bool:
    """Whether nothing but joints ties the bodies together."""
    return not system.rows.of and not system.description.prescribed


def tree_slopes(system: System, x: State, u: Inputs, p: Parameters) -> dict[str, np.ndarray]:
    """v̇ and its derivatives at a state, by the names `ACCELERATION_DERIVATIVES`; NaN where M is singular."""
    n, inputs = system.nv, len(system.u_names)
    vdot = system.evaluate("forward_dynamics", x, tau=np.zeros(n), u=u, p=p)
    by_q, by_v, M = products_of_columns(system, x, vdot, u, p)
    by_u, by_t = system.kernels.at(_drive(system), x, u, p, {"a": vdot})
    right = np.hstack([by_q, by_v, by_u.reshape(n, inputs), by_t.reshape(n, 1)])
    D = np.exp2(-np.round(0.5 * np.log2(np.maximum(np.diag(M), 1e-300))))  # inertias of links differ by 1e7 and more
    Z = divided(M, -right, D)
    none = np.zeros((0, n))
    out = dict(zip(("vdot_q", "vdot_v", "vdot_u", "vdot_t"), np.split(Z, np.cumsum([n, n, inputs]), axis=1)))
    out |= {f"multipliers_{k}": none[:, : out[f"vdot_{k}"].shape[1]] for k in "qvt"}
    out |= {"multipliers_u": np.zeros((0, inputs)), "speed_q": none, "speed_t": none[:, :1]}
    out |= {"vdot": vdot, "multipliers": np.zeros(0), "margin": np.ones(2)}
    return {name: out[name] for name in ACCELERATION_DERIVATIVES}


def products_of_columns(
    system: System, x: State, a: np.ndarray, u: Inputs, p: Parameters
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂τ/∂q, ∂τ/∂v and M of inverse dynamics, (nv, nv) each, by columns of each joint and their products."""
    *columns, force_q, force_v = system.evaluate("long_chain_columns", x, a=a, u=u, p=p)
    by_q, by_v, by_a = system.kernels.pairs.product(*columns)
    return (by_q - force_q, by_v - force_v, by_a) if force_q.size else (by_q, by_v, by_a)


def _drive(system: System) -> Any:
    """The kernel of ∂(h − Q)/∂u and ∂(h − Q)/∂t."""

    def value(s: Trace) -> tuple[np.ndarray, np.ndarray]:
        return EquationDerivatives(s, held=s.a).drive

    return system.kernels.custom(("tree_drive",), ("q", "v", "a", "u", "p", "t"), value, None, ("by_u", "by_t"))
