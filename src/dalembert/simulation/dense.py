"""States between the recorded ones: one step of the method itself, from the record before, as long as is asked for.

At the next record it gives that record. Its error is that of the step, its order the method's, and it lies on the
manifold; nothing has to be stored but the records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.integrators import entries
from dalembert.integrators import numbers as N
from dalembert.integrators.tableaus import TABLEAUS


class Dense:
    """The records of a run and what is needed to step from them."""

    def __init__(self, engine: Any, method: Any, parts: Any, times: np.ndarray, states: np.ndarray):
        self.engine, self.method, self.parts, self.times, self.states = engine, method, parts, times, states

    def rows(self, wanted: np.ndarray) -> np.ndarray:
        """(N, columns of the records) at increasing times."""
        engine, width = self.engine, self.states.shape[1]
        out = np.empty((len(wanted), width))
        n = width - len(engine.u) - 1
        numbers, counts = engine.numbers.copy(), engine.counts.copy()
        stages = np.zeros((max(self.method.stages, 7), n))
        entries.fill(self.method, self.parts, self.times, self.states, wanted, out, stages, numbers, counts)
        bad = np.flatnonzero(~np.isfinite(out[:, :n]).all(axis=1))
        if len(bad):  # next to a singular position: by the formulation that reveals the rank, in all coordinates
            others = np.r_[: self._carried - 2 * self._dof, self._carried : width]
            numbers[N.U_AT], numbers[N.DOF] = engine.place_of_careful_u, 0
            part, states = np.empty((len(bad), len(others))), np.ascontiguousarray(self.states[:, others])
            stages = np.zeros((7, n - 2 * self._dof))
            entries.fill(
                TABLEAUS["rk4"], engine.careful(), self.times, states, wanted[bad], part, stages, numbers, counts
            )
            out[np.ix_(bad, others)] = part
        return out

    @property
    def _dof(self) -> int:
        return self.engine.chart.dof if self.engine.chart is not None else 0

    @property
    def _carried(self) -> int:
        """How many numbers of a record the right-hand side is given: q, v and the coordinates of a chart."""
        return self.engine.system.nq + self.engine.system.nv + 2 * self._dof

    def health(self, t: float) -> float:
        """Of the elimination at time t: the least squared sine between rows, and squared length over the usual one."""
        ode, row = self.parts.ode, self.rows(np.array([t]))[0]
        n = len(row) - len(self.engine.u) - 1
        out = ode.at(t, row[: self._carried])
        return float(min(out[n], out[n + 1] / max(ode.size, 1e-300)))
