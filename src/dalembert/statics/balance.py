"""The balance of forces at a position, and how it changes with the position.

With C = (A; N), N picking coordinates that are held, and the load g = h − Q at rest (weight, springs, inputs),

    g = Cᵀ μ,   μ = (λ; forces of what is held)                                                               (1)
    K = ∂g/∂δ − Σ λ_k ∂²Φ_k/∂δ²                                                                               (2)

and small motions with C δ = 0 feel K. The second derivatives of the rows are exact: γ(q, v) of a row is the quadratic
form vᵀ (∂²Φ/∂δ²) v, so its values at e_i ± e_j give every entry. Axes of quaternion joints turn with them; in balance
this changes nothing but the parts of both terms of (2) that are not symmetric, which cancel and are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.branch.mirrors import openness
from dalembert.branch.policy import POLICY
from dalembert.errors import ArgumentError
from dalembert.lazy import cached_property
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.touching import one_sided
from dalembert.protocols import Parameters, positions_only
from dalembert.rank import Revealed, angular_velocities, rank_policy
from dalembert.system.state import State
from dalembert.system.system import System

NAMED = 4  # in a sentence


def not_acting(layout: TreeLayout) -> str:
    """A sentence that names what holds a mechanism from one side only, which statics leave out; "" without such."""
    found = dict.fromkeys(c.name for c in one_sided(layout.mechanism, layout.joints.values()))
    names = ", ".join(f"'{name}'" for name in list(found)[:NAMED]) + (", …" if len(found) > NAMED else "")
    return f"contacts, ropes and rigid stops do not act here: {names}" if found else ""


def unseen(layout: TreeLayout) -> str:
    """The same at the end of a refusal, with what to do; "" without such."""
    told = not_acting(layout)
    return f" {told[0].upper()}{told[1:]}; put a rod or bounds= in their place, or simulate to rest." if told else ""


class StaticBalance:
    """The balance (1) of a mechanism at rest in a state, with some coordinates held (places in v)."""

    def __init__(
        self, system: System, x: State, u: np.ndarray, p: Parameters, held: Sequence[int] = (), led: bool = True
    ):
        """led: whether the drives of kinematic inputs hold their coordinates."""
        positions_only(system, "; statics need constraints that bind positions.")
        more = [d for d in system.description.prescribed.values() if led and d not in held]
        self.system, self.x, self.u, self.p, self.held = system, x, u, p, [*held, *more]
        self.policy = rank_policy(system, p)
        if openness(system, x, p) > POLICY.open:
            raise ArgumentError(f"the state does not close the loops of '{system.name}'; assemble or project it first.")
        self.reach = np.where(angular_velocities(system), 1.0, self.policy.length)
        self.load = system.evaluate("inverse_dynamics", x, a=np.zeros(system.nv), u=u, p=p)
        self.A = system.constraint_matrix(x, p=p)
        self.C = np.vstack([self.A, np.eye(system.nv)[self.held]])
        self.units = np.concatenate([self.policy.units, self.reach[self.held]])

    @cached_property
    def revealed(self) -> Revealed:
        """C in radians and lengths of the mechanism."""
        return self.policy.reveal(self.C * self.reach / self.units[:, None], 1.0)

    @property
    def free(self) -> np.ndarray:
        """(nv, free) motions with C δ = 0, in radians and lengths of the mechanism."""
        return self.reach[:, None] * self.revealed.null

    @cached_property
    def forces(self) -> np.ndarray:
        """(rows + held,) the shortest μ that comes nearest to (1)."""
        return self.carrying(self.load)

    def carrying(self, load: np.ndarray) -> np.ndarray:
        """(rows + held,) the same for another load, (nv,)."""
        f, r = self.revealed, self.revealed.rank
        return (f.U[:, :r] @ ((f.V[:, :r].T @ (load * self.reach)) / f.sigma[:r])) / self.units

    @property
    def left(self) -> np.ndarray:
        """(free,) the part of the load that nothing balances, along `free`."""
        return self.free.T @ self.load

    def tangent(self, multipliers: np.ndarray) -> np.ndarray:
        """(nv, nv) K of (2), with the multipliers of the constraints."""
        system, n = self.system, self.system.nv
        kernel = system.kernel("inverse_dynamics_derivatives")
        slopes = system.kernels.at(kernel, self.x, self.u, self.p, {"a": np.zeros(n)})
        K = np.array(slopes[0], dtype=float).reshape(n, n) - self._curvature(multipliers)
        for a in system.layout.joints.values():
            if a.joint.nq != a.joint.nv:
                own = system.layout.v_slice(a.name)
                K[own, own] = 0.5 * (K[own, own] + K[own, own].T)
        return K

    def _curvature(self, multipliers: np.ndarray) -> np.ndarray:
        """Σ λ_k ∂²Φ_k/∂δ², (nv, nv)."""
        system, n = self.system, self.system.nv
        out = np.zeros((n, n))
        kernel = system.kernel("gamma")
        if not multipliers.any() or "v" not in kernel.names_in:
            return out
        E = np.diag(self.reach)
        i, j = np.triu_indices(n, 1)
        pairs = [(E[i] + E[j]), -(E[i] + E[j]), (E[i] - E[j]), -(E[i] - E[j]), E, -E, np.zeros((1, n))]
        v = np.vstack(pairs)
        given: dict[str, Any] = {"q": self.x.q, "v": v, "p": system.arguments.parameter_vector(self.p), "t": self.x.t}
        value = kernel.batch(*(given[name] for name in kernel.names_in)).reshape(len(v), -1) @ multipliers
        parts = np.split(value, np.cumsum([len(x) for x in pairs[:-1]]))
        out[i, j] = (parts[0] + parts[1] - parts[2] - parts[3]) / 8
        out += out.T
        out[np.arange(n), np.arange(n)] = 0.5 * (parts[4] + parts[5]) - parts[6]
        return out / self.reach / self.reach[:, None]
