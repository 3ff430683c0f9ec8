"""The records of a run: what is kept of them, at every step or at sample times, and what goes to a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.dense import Dense
from dalembert.simulation.setup import TOTAL_RATES
from dalembert.simulation.total_rates import velocities

NOTHING = (0.0, np.zeros(0))  # a record that there is none of
Between = Callable[[np.ndarray, np.ndarray], Dense]


@dataclass(eq=False)
class RunHistory:
    """Times and columns (q, v, works, inputs, margin) of a run so far.

    The native loop's records also hold the coordinates of a chart, and total rates where these are integrated. `last`
    and `previous` are such records with their times.
    """

    layout: RunLayout
    samples: np.ndarray | None
    recorder: Any
    times: list[np.ndarray] = field(default_factory=list)
    columns: list[np.ndarray] = field(default_factory=list)
    last: tuple[float, np.ndarray] = NOTHING
    previous: tuple[float, np.ndarray] = NOTHING
    recent: tuple[np.ndarray, ...] = ()  # records of the last two additions, as the native loop made them
    taken: float = -np.inf  # the time up to which samples were taken
    flushed: int = 0  # parts that are in the recording

    def add(self, times: np.ndarray, records: np.ndarray, between: Between) -> None:
        """Add records, or the samples among them; `between` gives the states between records."""
        times, records, before = times.copy(), records.copy(), self.last
        self.last, self.recent = (float(times[-1]), records[-1]), (*self.recent[-1:], records)
        self.previous = (float(times[-2]), records[-2]) if len(times) > 1 else before
        if self.samples is None:
            self.times.append(times)
            self.columns.append(self._columns(records))
        else:
            wanted = self.samples[(self.samples > self.taken) & (self.samples <= times[-1])]
            if len(wanted):
                if self.taken > -np.inf:
                    times, records = np.concatenate([[before[0]], times]), np.vstack([before[1], records])
                self.times.append(wanted)
                self.columns.append(self._columns(between(times, records).rows(wanted)))
        self.taken = self.last[0]

    def cut(self, t: float, record: np.ndarray) -> None:
        """End the history at t, inside the last step: the last record becomes this one, samples after it go."""
        self.last, self.taken = (t, record), t
        if self.samples is None:
            self.times[-1][-1] = t
            self.columns[-1][-1] = self._columns(record[None])[0]
        elif self.times:
            inside = self.times[-1] <= t
            self.times[-1], self.columns[-1] = self.times[-1][inside], self.columns[-1][inside]

    def flush(self, driver: Any) -> None:
        """Write what is new to the recording, if there is one."""
        if self.recorder is not None and self.flushed < len(self.times):
            new = slice(self.flushed, None)
            self.recorder.append(driver, np.concatenate(self.times[new]), np.concatenate(self.columns[new]))
            self.flushed = len(self.times)

    def whole(self) -> tuple[np.ndarray, np.ndarray]:
        """All times (N,) and columns (N, width)."""
        if len(self.times) == 1:
            return self.times[0], self.columns[0]
        if not self.times:
            return np.zeros(0), np.zeros((0, self._columns(self.last[1][None]).shape[1]))
        return np.concatenate(self.times), np.concatenate(self.columns)

    def _columns(self, records: np.ndarray) -> np.ndarray:
        """q, v, works, inputs and margin of records, without the coordinates of a chart."""
        layout, system = self.layout, self.layout.system
        nq, n, tail = system.nq, system.nq + system.nv, layout.works + layout.setup.nu + 1
        if records.shape[1] == n + tail and layout.setup.formulation not in TOTAL_RATES:
            return records
        v = velocities(layout.setup, records[:, :nq], records[:, nq:n])
        return np.hstack([records[:, :nq], v, records[:, records.shape[1] - tail :]])
