"""Positions that velocities lead to: q̇ = N(q) v, q ⊕ δ and its inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.protocols import StateGiven

if TYPE_CHECKING:
    from dalembert.system.system import System


def rates(system: System, state: StateGiven) -> np.ndarray:
    """q̇ = N(q) v, (nq,)."""
    return system.kernels.evaluate("rates", state)


def plus(system: System, q: Any, delta: Any) -> np.ndarray:
    """q ⊕ δ, (nq,): where the constant velocity δ = delta leads in unit time from the position q."""
    return system.kernels.evaluate("plus", q, more={"dq": system.arguments.velocity_vector(delta, "delta")})


def minus(system: System, q1: Any, q0: Any) -> np.ndarray:
    """δ with q0 ⊕ δ = q1, (nv,); q0 and q1 are states or positions."""
    return system.kernels.evaluate("minus", q0, more={"q1": system.arguments.as_state(q1).q})
