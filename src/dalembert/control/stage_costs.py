"""Costs of a motion as users write them, with exact first and second derivatives by small changes of state and inputs.

A cost is an expression f(state, inputs): the state as in force laws (`s["A"]`, `s.rate("A")`, `s.position("tip")`,
`s.t`), inputs by name. x = (δ, v), q ⊕ δ standing for q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.checks import shown
from dalembert.errors import ArgumentError
from dalembert.mechanism.traced import TracedState, on_expressions
from dalembert.symbols import array, symbols
from dalembert.system.system import System
from dalembert.system.trace import Trace

Cost = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Expansions:
    """A cost at N states, to second order in (x, u)."""

    value: np.ndarray  # (N,)
    gradient: np.ndarray  # (N, 2 nv + inputs)
    hessian: np.ndarray  # (N, 2 nv + inputs, 2 nv + inputs)

    def times(self, x: float) -> Expansions:
        """x times the cost."""
        return Expansions(x * self.value, x * self.gradient, x * self.hessian)

    def plus(self, other: Expansions) -> Expansions:
        """The sum with another cost at the same states."""
        return Expansions(self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian)

    def only(self, where: slice) -> Expansions:
        """The cost at some of the states."""
        return Expansions(self.value[where], self.gradient[where], self.hessian[where])


class StageCost:
    """A cost of one state and its inputs, compiled."""

    def __init__(self, system: System, f: Cost, what: str):
        self.system, self.f, self.what = system, f, what
        names = ("value", "gradient", "hessian")
        self.kernel = system.kernels.custom(("stage_cost", f), ("q", "v", "u", "p", "t"), self._traced, None, names)
        self.size = 2 * system.nv + len(system.u_names)

    def at(self, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray, t: np.ndarray) -> Expansions:
        """The cost and its derivatives at N states; p serves all."""
        known = {"q": q, "v": v, "u": u, "p": p, "t": t[:, None]}
        value, g, H = self.kernel.batch(*(known[name] for name in self.kernel.names_in))
        n = len(q)
        return Expansions(value.reshape(n), g.reshape(n, self.size), H.reshape(n, self.size, self.size))

    def _traced(self, s: Trace) -> tuple[Any, ...]:
        delta, d = symbols("delta", s.tree.nv)
        moved = s.per_joint(lambda j, q, v: j.plus(s.q[q], d[v]))
        state = TracedState(s.d.layout, s.tree.moving(moved, s.v), s.t[0])
        inputs = dict(s.d.inputs)
        given = on_expressions(lambda user: self.f(user, inputs), state, self.what)
        try:
            value = ca.SX(given)
        except Exception as error:  # CasADi names the type it does not know in its own way
            raise ArgumentError(
                f"{self.what} gives {shown(given)}; needed: an expression of state and inputs."
            ) from error
        if value.numel() != 1:
            raise ArgumentError(f"{self.what} gives {value.shape} values; needed: one expression of state and inputs.")
        y = ca.vertcat(delta, s.sx["v"], s.sx["u"])
        H, g = ca.hessian(value, y)
        rest = [ca.substitute(ca.densify(x), delta, ca.SX.zeros(s.tree.nv)) for x in (value, g, H)]
        n = y.numel()
        return array(rest[0]).reshape(1), array(rest[1]).reshape(n), array(rest[2]).reshape(n, n)
