"""The functions of a step, each traced once from the mechanism with all its one-sided elements."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert.compiler import Kernel
from dalembert.recursions.composite_body import composite_body
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.symbols import array, positive_part, to_sx, zeros
from dalembert.system.functions import forces
from dalembert.system.stepping import powers, rates
from dalembert.system.system import System
from dalembert.system.trace import Trace

ARGUMENTS = ("q", "v", "u", "p", "t")


def step_equations(changeable: Changeable) -> Kernel:
    """(q, v, u, p, t) → M, f, A, Φ, b of all rows, and the dampers D and springs K of joints."""
    return changeable.everything.kernels.custom(
        ("time_step",),
        ARGUMENTS,
        lambda s: (composite_body(s.at), forces(s), s.rows.A, s.rows.phi, s.rows.b, *_passive(s)),
    )


def _passive(s: Trace) -> tuple[np.ndarray, np.ndarray]:
    """(nv,) D and K: how joint forces fall with the joint's own velocity and coordinate, where they do."""
    tau, n = to_sx(s.load.tau), s.tree.nv
    by_v, by_q = ca.jacobian(tau, s.sx["v"]), ca.jacobian(tau, s.sx["q"])
    damping, stiffness = zeros(n), zeros(n)
    for link in s.tree.links:
        plain = link.joint.nq == link.joint.nv
        for k, i in enumerate(range(link.v.start, link.v.stop)):
            damping[i] = positive_part(array(ca.densify(-by_v[i, i])).ravel()[0])
            if plain:
                stiffness[i] = positive_part(array(ca.densify(-by_q[i, link.q.start + k])).ravel()[0])
    return damping, stiffness


def step_forces(changeable: Changeable) -> Kernel:
    """(q, v, u, p, t) → f."""
    return changeable.everything.kernels.custom(("step_forces",), ARGUMENTS, forces)


def row_residuals(changeable: Changeable) -> Kernel:
    """(q, v, p, t) → Φ and A v + b of all rows."""
    return changeable.everything.kernel("residuals")


def moved(system: System) -> Kernel:
    """(q, δ) → q ⊕ δ, quaternions made unit."""
    return system.kernels.custom(
        ("unit_plus",), ("q", "dq"), lambda s: s.per_joint(lambda j, q, v: j.unit(j.plus(s.q[q], s.dq[v])))
    )


def step_powers(system: System) -> Kernel:
    """(q, v, u, p, t) → powers of inputs and of forces without potential."""
    return system.kernels.custom(("powers",), ARGUMENTS, lambda s: array(powers(s)))


def idle(system: System, more: int) -> Kernel:
    """What the loop takes for ẋ: q̇, zeros for v̇ and so many other numbers, and a margin that is none."""

    def value(s: Trace) -> Any:
        return rates(s), zeros(system.nv + more), array([1.0, 1.0])

    return system.kernels.custom(("idle", more), ARGUMENTS, value)
