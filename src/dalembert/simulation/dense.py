"""States between the recorded ones: one step of the method itself, from the record before, as long as is asked for.

At the next record it gives that record. Its error is that of the step, its order the method's, and it lies on the
manifold; nothing has to be stored but the records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.integrators import loop
from dalembert.integrators.tableaus import tableau


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
        loop.fill(self.method, self.parts, self.times, self.states, wanted, out, stages, numbers, counts)
        bad = np.flatnonzero(~np.isfinite(out[:, :n]).all(axis=1))
        if len(bad):  # next to a singular position: by the formulation that reveals the rank
            numbers[loop.U_AT] = engine.place_of_careful_u
            part, some = np.empty((len(bad), width)), wanted[bad]
            loop.fill(tableau("rk4"), engine.careful(), self.times, self.states, some, part, stages, numbers, counts)
            out[bad] = part
        return out

    def health(self, t: float) -> float:
        """Of the elimination at time t: the least squared sine between rows, and squared length over the usual one."""
        ode, row = self.parts.ode, self.rows(np.array([t]))[0]
        n = len(row) - len(self.engine.u) - 1
        loop.call(ode, t, row, len(row) if self.engine.chart else n)
        return float(min(ode.out[n], ode.out[n + 1] / max(ode.size, 1e-300)))
