"""The variational equations along a run: states and coefficients at the nodes of its steps, and the steps reduced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.integrators.tableaus import TABLEAUS
from dalembert.linearization.linearize import singular
from dalembert.rank import rank_policy
from dalembert.sensitivity import gauss
from dalembert.sensitivity.equations import SensitivityEquations
from dalembert.sensitivity.quantities import Quantity, values
from dalembert.simulation.results.run import Run
from dalembert.simulation.setup import Setup
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.system import System
from dalembert.system.trace import Trace

MOST = 4_000_000  # doubles of one stack of matrices


class VariationalEquations:
    """The variational equations along a run."""

    run: Run
    system: System
    setup: Setup
    eq: SensitivityEquations
    sums: list[Quantity]  # integrals that are wanted
    n: int  # numbers in (δ, δv)

    def _known(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> dict[str, Any]:
        u = np.broadcast_to(self.run.u[-1], (len(q), self.run.u.shape[1]))
        return self.eq.known(q, v, t, np.ascontiguousarray(u), self.run.p)

    def _steps(self, t: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """(first step, node arguments, T, X, integrands or None) of stacks of steps."""
        N, s, n = len(t) - 1, gauss.STAGES, self.n
        times = gauss.nodes(t)
        q, v = self._nodes(t, times) if N else (self.run.q[:0], self.run.v[:0])
        size = max(1, MOST // (s * n) ** 2)
        for k in range(0, N, size):
            here = slice(s * k, s * min(k + size, N))
            known = self._known(q[here], v[here], times[here])
            h = np.diff(t)[k : k + size]
            inner = values(self.eq, self.sums, known) if self.sums else None
            rows = np.zeros((len(h) * s, 0, n)) if inner is None else inner.x
            yield k, known, h, *gauss.transfer(*self._jacobian(known), h, rows), inner

    def _nodes(self, t: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and v at the nodes: by steps from the nearer record, all at once; of other runs by their dense output."""
        setup, system = self.setup, self.system
        if setup.method.implicit or setup.method.kernel or setup.controller is not None:
            return self.run(times)
        q, v = (self.run.q, self.run.v) if len(t) == len(self.run.t) else self.run(t)
        k = np.repeat(np.arange(len(t) - 1), gauss.STAGES)
        k += times - t[k] > t[k + 1] - times
        kernel, table = system.kernel("ode", rows=self.eq.rows, lanes=self.eq.lanes), TABLEAUS["dop853"]
        start, h = np.hstack([q[k], v[k]]), (times - t[k])[:, None]
        slopes = np.zeros((table.size, start.size))
        known = self._known(q[k], v[k], times)
        for i in range(table.size):
            x = start + h * (table.A[i, :i] @ slopes[:i]).reshape(start.shape)
            known |= {"q": x[:, : system.nq], "v": x[:, system.nq :], "t": t[k, None] + table.c[i] * h}
            rates, vdot, *_ = self.eq.at(kernel, known)
            slopes[i] = np.hstack([rates, vdot]).ravel()
        x = start + h * (table.b @ slopes).reshape(start.shape)
        q, v = x[:, : system.nq], np.ascontiguousarray(x[:, system.nq :])
        if system.nq == system.nv:
            return np.ascontiguousarray(q), v
        unit = system.kernels.custom(("unit",), ("q",), _unit, None, ("unit",), self.eq.lanes)
        return unit.batch(q), v

    def _jacobian(self, known: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """J_q, J_v and B at states; raises where constraints become dependent."""
        system = self.system
        by_q, by_v, margin = self.eq.jacobian(known)
        policy = rank_policy(system, self.run.p)
        if self.eq.m and not policy.separates(margin.min(axis=0)):
            k = int(np.argmin(margin.min(axis=1)))
            raise singular(system, system.state(known["q"][k], known["v"][k], float(known["t"][k, 0])), self.run.p)
        if system.nq == system.nv:
            return by_q, by_v, None
        kernel = system.kernels.custom(("transport",), ("q", "v"), _turn, None, ("B",), self.eq.lanes)
        return by_q, by_v, self.eq.at(kernel, known)


def _unit(s: Trace) -> np.ndarray:
    """q with unit quaternions."""
    return s.per_joint(lambda j, q, v: j.unit(s.q[q]))


def _turn(s: Trace) -> np.ndarray:
    """B of δ̇ = δv − B δ."""
    return EquationDerivatives(s, held=s.v).turn
