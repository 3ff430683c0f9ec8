"""Linear models of large trees without constraints: too many numbers for straight-line code, dense algebra instead.

M v̇_q = −∂e₁/∂δ,   M v̇_v = −∂e₁/∂v,   M v̇_u = ∂Q/∂u
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.protocols import Inputs, Parameters
from dalembert.symbols import zeros
from dalembert.system.derivatives import ACCELERATION_DERIVATIVES, EquationDerivatives
from dalembert.system.functions import Trace
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.tree import LONG


def is_long(system: System) -> bool:
    """Whether the derivatives of a system are made here: those of a tree with more than `LONG` velocities."""
    return not system.rows.of and system.nv > LONG


def tree_slopes(system: System, x: State, u: Inputs, p: Parameters) -> dict[str, np.ndarray]:
    """v̇ and its derivatives with respect to q, v, u and t, by the names `ACCELERATION_DERIVATIVES`."""
    n, inputs = system.nv, len(system.u_names)
    vdot = system.forward_dynamics(x, u=u, p=p)
    by_q, by_v, M = system.inverse_dynamics_derivatives(x, vdot, u=u, p=p)
    kernel = system.custom_kernel(("drive_slopes",), ("q", "v", "u", "p", "t"), _drive, None, ("by_u", "by_t"))
    by_u, by_t = system.evaluate_kernel(kernel, x, u, p, {})
    right = np.hstack([-by_q, -by_v, -by_u.reshape(n, inputs), -by_t.reshape(n, 1)])
    for name, d in system.led.items():
        right[d], M[d] = 0.0, np.eye(n)[d]
        right[d, 2 * n + system.u_names.index(name)] = 1.0
    solved = np.linalg.solve(M, right)
    by = {"q": solved[:, :n], "v": solved[:, n : 2 * n], "u": solved[:, 2 * n : -1], "t": solved[:, -1]}
    none = {name: np.zeros(0) for name in ACCELERATION_DERIVATIVES}
    return {**none, "vdot": vdot, **{f"vdot_{k}": x for k, x in by.items()}, "margin": np.ones(2)}


def tree_model(system: System, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
    """The outputs `traced.NAMES` with every velocity chosen, for given q, v, u, p and t."""
    x, n, inputs = system.state(given["q"], given["v"], given["t"]), system.nv, len(system.u_names)
    d = tree_slopes(system, x, given["u"], given["p"])
    turn, one, none = np.zeros((n, n)), np.eye(n), np.zeros(n)
    for link in system.layout.tree.links:
        turn[link.v, link.v] = link.joint.transport(x.v[link.v]).astype(float)
    A = np.block([[-turn, one], [d["vdot_q"], d["vdot_v"]]])
    B = np.vstack([np.zeros((n, inputs)), d["vdot_u"]])
    time, rate = np.concatenate([none, d["vdot_t"]]), np.concatenate([x.v, d["vdot"]])
    return A, B, time, rate, one, one, 0 * one, none, none, d["vdot"], np.zeros(0), np.ones(4)


def _drive(s: Trace) -> tuple[Any, ...]:
    """∂e₁/∂u and ∂e₁/∂t."""
    return EquationDerivatives(s, held=zeros(s.tree.nv)).drive
