"""Linear models of large trees without constraints: too many numbers for straight-line code, dense algebra instead.

M v̇_q = −∂e₁/∂δ,   M v̇_v = −∂e₁/∂v,   M v̇_u = ∂Q/∂u
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.symbols import zeros
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.functions import Trace
from dalembert.system.system import System


def tree_model(system: System, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """The outputs `traced.NAMES` with every velocity chosen, for given q, v, u, p and t."""
    x, u, p = system.state(given["q"], given["v"], given["t"]), given["u"], given["p"]
    n, inputs = system.nv, len(system.u_names)
    vdot = system.forward_dynamics(x, u=u, p=p)
    by_q, by_v, M = system.inverse_dynamics_derivatives(x, vdot, u=u, p=p)
    kernel = system.custom_kernel(("drive_slopes",), ("q", "v", "u", "p", "t"), _drive, None, ("by_u", "by_t"))
    by_u, by_t = system.evaluate_kernel(kernel, x, u, p, {})
    right = np.hstack([-by_q, -by_v, -by_u.reshape(n, inputs), -by_t.reshape(n, 1)])
    solved = np.linalg.solve(M, right)
    turn, one, none = np.zeros((n, n)), np.eye(n), np.zeros(n)
    for link in system.layout.tree.links:
        turn[link.v, link.v] = link.joint.transport(x.v[link.v]).astype(float)
    A = np.block([[-turn, one], [solved[:, :n], solved[:, n : 2 * n]]])
    B = np.vstack([np.zeros((n, inputs)), solved[:, 2 * n : -1]])
    time, rate = np.concatenate([none, solved[:, -1]]), np.concatenate([x.v, vdot])
    return A, B, time, rate, one, one, 0 * one, none, none, vdot, np.zeros(0), np.ones(4)


def _drive(s: Trace) -> tuple[Any, ...]:
    """∂e₁/∂u and ∂e₁/∂t."""
    return EquationDerivatives(s, held=zeros(s.tree.nv)).drive
