"""States between the recorded ones: one step of the method itself, from the record before, as long as is asked for.

At the next record it gives that record. Its error is that of the step, its order the method's, and it lies on the
manifold; nothing has to be stored but the records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.integrators.run_record import SKIPPED, FillRecord, LocateRecord, RunRecord
from dalembert.native import library
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.native_record import begin_record, make_record
from dalembert.simulation.setup import TOTAL_RATES
from dalembert.simulation.singular.rank_revealing import careful, land_record
from dalembert.simulation.state_units import quaternion_places
from dalembert.system.state import State

BESIDE = (1e-3, 1e-2, 1e-1)  # of a step that leads over a singular position: where sound states are looked for


def fill(
    run: RunRecord, times: np.ndarray, states: np.ndarray, wanted: np.ndarray, backward: bool = False
) -> np.ndarray:
    """Records (N, width) at increasing times, by steps from the records before; NaN where a step is not sound.

    backward: by steps back from the records after.
    """
    out = np.empty((len(wanted), states.shape[1]))
    wish = FillRecord(
        run=run, count=len(times), width=states.shape[1], asked=len(wanted),
        backward=int(backward), times=times, states=states, wanted=wanted, out=out,
    )  # fmt: skip
    library.call("fill", wish)
    return out


class Dense:
    """Records of a run and the records of native code needed to step from them; threads may share it."""

    def __init__(
        self,
        layout: RunLayout,
        rows: tuple[int, ...] | None,
        make: Callable[[], RunRecord],
        times: np.ndarray,
        states: np.ndarray,
    ) -> None:
        self.layout, self.rows_used, self.times, self.states = layout, rows, times, np.ascontiguousarray(states)
        self._make, self._own = make, threading.local()

    @property
    def run(self) -> RunRecord:
        """This thread's record."""
        if not hasattr(self._own, "run"):
            self._own.run = self._make()
        return self._own.run

    def wish(self, events: int) -> LocateRecord:
        """This thread's record for so many events inside the step between two records."""
        known = self._own.__dict__.setdefault("wishes", {})
        key = self.states.shape[1], events
        if key not in known:
            known[key] = LocateRecord.sized(run=self.run, width=key[0], events=events)
        found: LocateRecord = known[key]
        return found

    def be_of(self, layout: RunLayout, rows: tuple[int, ...] | None) -> None:
        """Go on with another layout, for which the record is laid out now."""
        self.layout, self.rows_used = layout, rows
        self._own.__dict__.pop("careful", None)

    def rows(self, wanted: np.ndarray) -> np.ndarray:
        """Records (N, width) at increasing times."""
        run = self.run
        out = fill(run, self.times, self.states, wanted)
        bad = np.flatnonzero(~np.isfinite(out[:, : run.n]).all(axis=1))
        if not run.regime.careful:
            self._land(run, wanted, out)
        if len(bad):  # next to a singular position: by the formulation that reveals the rank, in all coordinates
            carried = run.nq + run.nv + 2 * run.dof
            others = np.r_[: carried - 2 * run.dof, carried : out.shape[1]]
            states = np.ascontiguousarray(self.states[:, others])
            out[np.ix_(bad, others)] = self._carefully(run, states, wanted[bad])
            for k in bad[~np.isfinite(out[bad][:, others]).all(axis=1)]:  # in the position itself
                out[k, others] = self._across(run, states, float(wanted[k]))
        return out

    def _land(self, run: RunRecord, wanted: np.ndarray, out: np.ndarray) -> None:
        """Bring records (N, width) onto the manifold where rounding of ordinary steps turns their velocities."""
        setup, gauge, ruler = self.layout.setup, run.gauge, run.ruler
        if setup.projection is None or setup.formulation in TOTAL_RATES or not gauge.address:
            return
        between = ~np.isin(wanted, self.times)  # records are as they are
        for k in np.flatnonzero(between & (out[:, -1] < ruler.nearby**2)):  # in steps whose stages are near
            gauge.y[1] = SKIPPED
            if gauge.at(float(wanted[k]), out[k, : run.nq])[0] < ruler.turned**2 and np.isfinite(out[k]).all():
                land_record(self.layout, self.rows_used, float(wanted[k]), out[k])

    def _carefully(self, run: RunRecord, states: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Records at increasing times by careful steps, forward, or back where a singular position lies before them."""
        own = self._careful(run)
        out = fill(own, self.times, states, wanted)
        bad = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if len(bad):
            out[bad] = fill(own, self.times, states, wanted[bad], backward=True)
        return out

    def _across(self, run: RunRecord, states: np.ndarray, t: float) -> np.ndarray:
        """The record at t, in a singular position: between sound states beside it, or the records around it."""
        own, n = self._careful(run), len(self.times)
        k = max(0, min(int(np.searchsorted(self.times, t)) - 1, n - 2))
        first, last = float(self.times[k]), float(self.times[k + 1])
        for part in BESIDE:
            step = part * (last - first)
            ends = np.unique(np.clip(t + step * np.array([-2.0, -1.0, 1.0, 2.0]), first, last))
            found = self._carefully(run, states, ends)
            if np.isfinite(found).all():
                return self._interpolated(own, t, ends, found)
        around = slice(max(0, k - 1), min(n, k + 3))
        return self._interpolated(own, t, self.times[around], states[around])

    def _interpolated(self, own: RunRecord, t: float, times: np.ndarray, records: np.ndarray) -> np.ndarray:
        """The record at t on the polynomial with the values of records and, where these are regular, their rates."""
        from scipy.interpolate import KroghInterpolator

        n, nq, inputs = own.n, own.nq, own.ode.x[own.u_index : own.u_index + own.nu]
        nodes, values = list[float](), list[np.ndarray]()
        for at, record in zip(times.tolist(), records):
            nodes.append(at)
            values.append(record[:n])
            inputs[:] = record[n : n + own.nu]
            out = own.ode.at(at, record[: nq + own.nv])
            if out[n] > (own.ruler.within * own.ruler.hit) ** 2 and np.isfinite(out[:n]).all():
                nodes.append(at)
                values.append(out[:n].copy())
        k = max(0, min(int(np.searchsorted(times, t)) - 1, len(times) - 2))
        z = (t - times[k]) / (times[k + 1] - times[k])
        found = (1.0 - z) * records[k] + z * records[k + 1]
        found[:n] = KroghInterpolator(np.array(nodes) - t, np.array(values))(0.0)
        for start in quaternion_places(self.layout.system).tolist():
            found[start : start + 4] /= np.linalg.norm(found[start : start + 4])
        return found

    def _careful(self, run: RunRecord) -> RunRecord:
        """The record of careful steps in all coordinates."""
        if not hasattr(self._own, "careful"):
            layout = self.layout
            own = make_record(layout)
            layout.place(own, None, None, np.zeros(run.n - 2 * run.dof), 1)
            careful(layout, self.rows_used).stepper.enter(own)
            self._own.careful = own
        return self._own.careful


@dataclass(frozen=True, eq=False)
class DenseSource:
    """How a finished run answers between its records: its layout, the constraint rows in use at its end, its start."""

    layout: RunLayout
    rows: tuple[int, ...] | None
    start: State

    def dense(self, times: np.ndarray, columns: np.ndarray) -> Dense:
        """States between records of q, v, works, inputs and margin, in all coordinates."""
        n = columns.shape[1] - self.layout.setup.nu - 1

        def make() -> RunRecord:
            run = make_record(self.layout)
            run.control = run.control.copy()
            self.layout.place(run, self.rows, None, np.zeros(n), 1)
            begin_record(self.layout, run, self.start, self.start.t, np.zeros(run.nu))
            return run

        return Dense(self.layout, self.rows, make, times, columns)
