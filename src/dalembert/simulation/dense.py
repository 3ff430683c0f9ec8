"""States between the recorded ones: one step of the method itself, from the record before, as long as is asked for.

At the next record it gives that record. Its error is that of the step, its order the method's, and it lies on the
manifold; nothing has to be stored but the records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.integrators.run_record import FillRecord, RunRecord
from dalembert.native import library
from dalembert.native.bound import SIGNATURE
from dalembert.simulation.layout import Layout


def fill(run: RunRecord, times: np.ndarray, states: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Records (N, width) at increasing times, by steps from the records before; NaN where a step is not sound."""
    out = np.empty((len(wanted), states.shape[1]))
    wish = FillRecord(
        run=run, count=len(times), width=states.shape[1], asked=len(wanted),
        times=times, states=states, wanted=wanted, out=out,
    )  # fmt: skip
    SIGNATURE(library.address("fill"))(0, 0, wish.pointer)
    return out


class Dense:
    """Records of a run and the records of native code needed to step from them; threads may share it."""

    def __init__(self, layout: Layout, make: Callable[[], RunRecord], times: np.ndarray, states: np.ndarray) -> None:
        self.layout, self.times, self.states = layout, times, np.ascontiguousarray(states)
        self._make, self._own = make, threading.local()

    @property
    def run(self) -> RunRecord:
        """This thread's record."""
        if not hasattr(self._own, "run"):
            self._own.run = self._make()
        return self._own.run

    def rows(self, wanted: np.ndarray) -> np.ndarray:
        """Records (N, width) at increasing times."""
        run = self.run
        out = fill(run, self.times, self.states, wanted)
        bad = np.flatnonzero(~np.isfinite(out[:, : run.n]).all(axis=1))
        if len(bad):  # next to a singular position: by the formulation that reveals the rank, in all coordinates
            carried = run.nq + run.nv + 2 * run.dof
            others = np.r_[: carried - 2 * run.dof, carried : out.shape[1]]
            states = np.ascontiguousarray(self.states[:, others])
            out[np.ix_(bad, others)] = fill(self._singular(run), self.times, states, wanted[bad])
        return out

    def _singular(self, run: RunRecord) -> RunRecord:
        """The record of singular steps in all coordinates."""
        if not hasattr(self._own, "singular"):
            layout = self.layout
            own = layout.record()
            layout.place(own, None, None, np.zeros(run.n - 2 * run.dof), 1)
            layout.careful(None).enter(own)
            self._own.singular = own
        return self._own.singular


@dataclass(frozen=True, eq=False)
class Continuation:
    """How a finished run answers between its records: its layout, and the constraint rows in use at its end."""

    layout: Layout
    rows: tuple[int, ...] | None

    def dense(self, times: np.ndarray, columns: np.ndarray) -> Dense:
        """States between records of q, v, works, inputs and margin, in all coordinates."""
        n = columns.shape[1] - len(self.layout.setup.u) - 1

        def make() -> RunRecord:
            run = self.layout.record()
            run.control = self.layout.control.copy()
            self.layout.place(run, self.rows, None, np.zeros(n), 1)
            return run

        return Dense(self.layout, make, times, columns)
