"""One simulation: calls of the native loop, and what happens between them."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.charts import LocalChart, named, tangent
from dalembert.errors import CompileError
from dalembert.integrators import entries
from dalembert.integrators import numbers as N
from dalembert.integrators.tableaus import TABLEAUS
from dalembert.simulation.dense import Dense
from dalembert.simulation.ending import solution
from dalembert.simulation.engine import CHART, UNDEFINED, Engine
from dalembert.simulation.events import Event
from dalembert.simulation.interrupt import Interrupt
from dalembert.simulation.passages import Passage, approaches, describe
from dalembert.simulation.saving import take_up
from dalembert.simulation.solution import Solution, Status

CHUNK = 2000  # records between looks at the clock, the keyboard and the sample times
RECORDED = 500  # the same for a run that is recorded: what a crash can cost
FAILURES = {
    entries.TOO_SMALL: Status.STEP_TOO_SMALL,
    entries.NOT_FINITE: Status.NOT_FINITE,
    entries.DRIFTED: Status.DRIFTED,
    entries.FAILED: Status.CALLBACK,
    entries.NO_STEP: Status.STEP_UNSOLVED,
}


class Run:
    """The state of a simulation and its history so far."""

    def __init__(
        self,
        engine: Engine,
        make: Any,
        start: Any,
        times: np.ndarray,
        sampled: bool,
        keep: tuple[int, ...] | None,
        chart: LocalChart | None,
        events: dict[str, Event],
        callbacks: tuple[Any, Any],
        on_singularity: str,
        max_steps: int,
        recorder: Any,
    ):
        self.engine, self.make, self.times, self.sampled = engine, make, times, sampled
        self.system, self.p = engine.system, engine.p
        self.nq, self.nv = self.system.nq, self.system.nv
        self.start, self.chart_kind = start, chart
        self.events, (self.controller, self.watcher) = events, callbacks
        self.on_singularity, self.max_steps, self.recorder = on_singularity, max_steps, recorder
        self.numbers, self.counts = engine.numbers, engine.counts
        self.numbers[[N.HEALTH, N.WORST, N.ERROR]] = 1.0, 1.0, 1e-4
        self.chart = chart
        self.charts: list[tuple[float, tuple[str, ...]]] = []
        self.choose(start, keep, chart, np.zeros(engine.works))
        self.marks = np.zeros((2, max(1, len(events))))
        self.found: dict[str, list[tuple[float, np.ndarray]]] = {name: [] for name in events}
        self.passages: list[Passage] = []
        self.tail = np.zeros(0), np.zeros((0, 0))
        self.previous = self.last  # (t, record) before the last one
        self.flushed = 0  # parts of the history that are in the recording
        self.trouble = ""  # what a sentence about the end should add
        self.T: list[np.ndarray] = []
        self.X: list[np.ndarray] = []
        self.clock, self.shown = time.perf_counter(), False
        self.interrupt = Interrupt(c for c in callbacks if c is not None)

    # --- the whole ----------------------------------------------------------------------------------------------

    def go(self) -> Solution:
        """To the end, or as far as it goes."""
        t, status = float(self.times[0]), Status.DONE
        old = take_up(self, self.recorder.found) if self.recorder is not None and self.recorder.found else None
        if old is None:
            self._begin(t)
        else:
            t, status = old, Status.EVENT if self._ended() else Status.DONE
        with self.interrupt:
            while t < self.times[-1] and status == Status.DONE:
                try:
                    t, status = self._advance(t, float(self.times[-1]))
                except CompileError as error:  # of what a run needs on its way, as at a singular position
                    t, status, self.trouble = self.last[0], Status.NOT_COMPILED, str(error)
                self._flush()
                self._progress(t)
        if self.shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        whole = solution(self, t, status)
        if self.recorder is not None:
            self._flush()
            self.recorder.end(self, whole)
        return whole

    def _flush(self) -> None:
        """Write what is new to the recording."""
        if self.recorder is not None and self.flushed < len(self.T):
            self.recorder.append(self, np.concatenate(self.T[self.flushed :]), np.concatenate(self.X[self.flushed :]))
            self.flushed = len(self.T)

    def notes(self) -> dict[str, Any]:
        """What a recording must know besides numbers to be taken up again."""
        return {
            "chart": None if self.chart is None else (self.chart.kind, self.chart.names),
            "charts": self.charts,
            "passages": [asdict(p) for p in self.passages],
            "events": {name: [(t, x.tolist()) for t, x in hits] for name, hits in self.found.items()},
        }

    def _begin(self, t: float) -> None:
        """The first record: the start, with the inputs that act there."""
        x = self.x[: self.nq + self.nv]
        if self.controller is not None and self.numbers[N.HOLD] > 0.0:
            self.numbers[[N.START, N.SAMPLED]] = t, t
        elif self.controller is not None:
            u = self.parts.control.at(t, x)[: len(self.engine.u)]
            if np.isfinite(u).all():
                self.engine.inputs[:] = u
        if self.events:
            self.marks[:] = self.parts.events.at(t, x)[: len(self.events)]
        self.counts[N.RECORDS] = 1
        self._keep(np.array([t]), np.concatenate([self.x, self.engine.inputs, [1.0]])[None])

    def _advance(self, t: float, end: float) -> tuple[float, Status]:
        """One call of the native loop, and what its outcome asks for."""
        times, states = self._room()
        outcome, t = entries.advance(
            self.method, self.parts, t, end, self.x, self.stages, self.numbers, self.counts, times, states, self.marks
        )
        self._keep(times, states)
        if outcome == entries.EVENT:
            t, status = self._event(t)
        elif outcome in (entries.SINGULAR, entries.CHART_ENDS):
            anew = self._chosen_anew(t, outcome)
            t, status = self._pass(t, end) if anew is None else (t, anew)
        else:
            status = FAILURES.get(outcome, Status.DONE)
        if status == Status.DONE and self.counts[N.STEPS] >= self.max_steps and t < end:
            status = Status.STEPS
        return t, Status.INTERRUPTED if self.interrupt.asked else status

    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        """For the next records: no more than there may be steps."""
        most = max(1, self.max_steps - int(self.counts[N.STEPS]))
        times, states = self.buffers
        return times[:most], states[:most]

    # --- rows, charts and singular positions --------------------------------------------------------------------

    def choose(self, state: Any, keep: Any, chart: LocalChart | None, work: np.ndarray) -> None:
        """Lay everything out for these rows and this chart, from a state."""
        self.keep, self.chart = keep, chart
        self.parts, self.method = self.engine.choose(keep, chart), self.make(self.system, chart)
        local: list[np.ndarray] = []
        if chart is not None:
            rate = self._chart_rate(state, chart)
            local = [chart.start, rate]
            self.charts.append((float(state.t), chart.names))
        self.x = np.concatenate([state.q, self.engine.integrated(state), *local, work])
        self.width = len(self.x) + len(self.engine.u) + 1
        self.last = float(state.t), np.concatenate([self.x, self.engine.inputs, [1.0]])
        self.stages = np.zeros((max(self.method.stages, 7), len(self.x)))
        chunk = CHUNK if self.recorder is None else RECORDED
        self.buffers = np.empty(chunk), np.empty((chunk, self.width))

    def _chart_rate(self, state: Any, chart: LocalChart) -> np.ndarray:
        """ẏ of a state, and the health that says when the chart ends."""
        f, n, dof = self.parts.recover, self.nq + self.nv, chart.dof
        x = np.concatenate([state.q, state.v, chart.start, np.zeros(dof)])
        self.numbers[N.CHART] = min(CHART, 0.1 * f.at(state.t, x)[n + f.rows])
        self.numbers[N.DOF] = dof
        return chart.rate(state)

    def _state(self, t: float) -> Any:
        return self.system.state(self.x[: self.nq], self.x[self.nq : self.nq + self.nv], t)

    @property
    def work(self) -> np.ndarray:
        """The works at the end of x."""
        return self.x[len(self.x) - self.engine.works :]

    def _chosen_anew(self, t: float, outcome: int) -> Status | None:
        """DONE where other rows, or another chart, carry on from here; None where the position is singular."""
        keep = independent_rows(self.system, self._state(t), self.p) if self.keep is not None else None
        if outcome == entries.CHART_ENDS:
            return self._new_chart(t, keep)
        if keep is None or keep == self.keep:
            return None
        self.choose(self._state(t), keep, self.chart, self.work.copy())
        return Status.DONE

    def _new_chart(self, t: float, keep: Any) -> Status | None:
        state = self._state(t)
        if self.charts[-1][0] == t:  # a fresh chart cannot do this step either
            if self.numbers[N.H] < 1e-3 * self.numbers[N.USUAL] or self.method.exponent == 0.0:
                return None
            self.numbers[N.H] *= 0.5
            self.charts.pop()
        assert self.chart is not None
        if not np.isfinite(self.x).all():
            return Status.NOT_FINITE
        self.choose(state, keep, self._another(self.chart, state), self.work.copy())
        return Status.DONE

    def _another(self, chart: LocalChart, state: Any) -> LocalChart:
        """A chart that goes on from a state where one ends."""
        return named(self.system, state, p=self.p) if chart.kind == "named" else tangent(self.system, state, self.p)

    def _pass(self, t: float, end: float) -> tuple[float, Status]:
        """Careful steps through a singular position."""
        if self.on_singularity == "stop":
            return t, Status.SINGULAR
        if self.engine.formulation in UNDEFINED:
            return t, Status.FORMULATION
        start, chart, entered = t, self.chart, self._state(t)
        if chart is not None:
            self.choose(entered, self.keep, None, self.work.copy())
        parts = self.engine.careful()
        passage = np.array([t, len(self.system.rows.of), 1.0, t, 0.0])
        if self.numbers[N.HOLD] > 0.0:
            end = min(end, self.numbers[N.SAMPLED])
        u_at = self.numbers[N.U_AT]
        self.numbers[N.U_AT] = self.engine.place_of_careful_u
        status = Status.DONE
        while t < end and status == Status.DONE:
            times, states = self._room()
            outcome, t = entries.advance(
                TABLEAUS["rk4"], parts, t, end, self.x, self.stages, self.numbers, self.counts, times, states,
                self.marks, self.parts.ode, passage,
            )  # fmt: skip
            self._keep(times, states, careful=True)
            if outcome == entries.EVENT:
                t, status = self._event(t)
            else:
                status = FAILURES.get(outcome, Status.DONE)
                if status == Status.NOT_FINITE:
                    status = Status.UNSOLVED
            if outcome == entries.DONE or self.counts[N.STEPS] >= self.max_steps:
                break
        self.numbers[N.U_AT] = u_at
        self._report(start, t, passage)
        if chart is not None and status == Status.DONE:
            state = self._state(t)
            keep = independent_rows(self.system, state, self.p)
            self.choose(state, keep, self._another(chart, state), self.work.copy())
        return t, status

    def _report(self, start: float, end: float, passage: np.ndarray) -> None:
        rank, steps = int(passage[N.RANK]), int(passage[N.TAKEN])
        least = float(passage[N.NARROW]), float(passage[N.WHEN])
        if self.passages and self.passages[-1].end == start:
            old = self.passages.pop()
            start, rank, steps = old.start, min(rank, old.rank), steps + old.steps
            least = min(least, (old.distance, old.nearest))
        found = describe(self.system, self._state(end), self.p, (start, end), rank, self.engine.rank, steps, least)
        self.add(found)

    # --- events -------------------------------------------------------------------------------------------------

    def _ended(self) -> bool:
        """Whether a terminal event has happened."""
        return any(self.events[name].terminal and hits for name, hits in self.found.items())

    def _event(self, t: float) -> tuple[float, Status]:
        """Locate what changed sign in the last step; a terminal event ends the run there."""
        t0, before = self.previous
        hits, failed = [], not np.isfinite(self.marks[1]).all()
        for k, (name, event) in enumerate(self.events.items()):
            if event.wants(self.marks[0, k], self.marks[1, k]):
                try:
                    hits.append((*self._locate(k, t0, before, t), name, event))
                except ValueError:  # no number between
                    failed = True
        self.marks[0] = self.marks[1]
        for when, x, name, event in sorted(hits, key=lambda hit: hit[0]):
            self.found[name].append((when, x[: self.nq + self.nv].copy()))
            if event.terminal:
                self._cut(when, x)
                return when, Status.EVENT
        return t, Status.CALLBACK if failed else Status.DONE

    def _locate(self, k: int, t0: float, before: np.ndarray, t1: float) -> tuple[float, np.ndarray]:
        """When event k happens between t0 and t1, and the state then."""
        from scipy.optimize import brentq

        dense = self.dense(np.array([t0, t1]), np.stack([before, self.last[1]]))
        n = self.nq + self.nv

        def g(t: float) -> float:
            return float(self.parts.events.at(t, dense.rows(np.array([t]))[0, :n])[k])

        if g(t1) == 0.0:
            return t1, self.last[1].copy()
        when = brentq(g, t0, t1, xtol=1e-15 * max(1.0, abs(t1)), rtol=8.9e-16)
        return when, dense.rows(np.array([when]))[0]

    def _cut(self, t: float, row: np.ndarray) -> None:
        """End the history at t: the last record becomes this one, samples after it go."""
        self.x[:], self.last = row[: len(self.x)], (t, row)
        if self.sampled:
            inside = self.T[-1] <= t
            self.T[-1], self.X[-1] = self.T[-1][inside], self.X[-1][inside]
        else:
            self.T[-1][-1] = t
            self.X[-1][-1] = self._columns(row[None])[0]

    # --- history ------------------------------------------------------------------------------------------------

    def _keep(self, times: np.ndarray, states: np.ndarray, careful: bool = False) -> None:
        """Add records to the history, or the samples among them; those of careful steps are reported elsewhere."""
        count = int(self.counts[N.RECORDS])
        if not count:
            return
        times, states = times[:count], states[:count]
        first, old = (self.last[0], [self.last]) if self.T else (-np.inf, [])
        whole_t = np.concatenate([[t for t, _ in old], times])
        whole = np.vstack([*(x for _, x in old), states])
        self.previous, self.last = ((whole_t[k], whole[k].copy()) for k in (max(-2, -len(whole_t)), -1))
        if self.sampled:
            self._watch(times, states, careful)
            wanted = self.times[(self.times > first) & (self.times <= whole_t[-1])]
            if len(wanted) and self.T:
                inputs = self.engine.inputs.copy()
                times, states = wanted, self.dense(whole_t, whole).rows(wanted)
                self.engine.inputs[:] = inputs
            elif self.T:
                return
        self.T.append(times.copy())
        self.X.append(self._columns(states))

    def approaches(self, dense: Dense) -> list[Passage]:
        """Singular positions that ordinary steps led past or over."""
        inputs = self.engine.inputs.copy()
        found = approaches(self.system, self.p, self.engine.rank, dense, self.passages)
        self.engine.inputs[:] = inputs
        return found

    def _watch(self, times: np.ndarray, states: np.ndarray, careful: bool) -> None:
        """The same while records are not kept; the last ones wait, since careful steps may follow them."""
        if len(self.tail[0]) and self.tail[1].shape[1] == states.shape[1]:
            times, states = np.concatenate([self.tail[0], times]), np.vstack([self.tail[1], states])
        self.tail = times[-4:].copy(), states[-4:].copy()
        if careful:
            return
        for passage in self.approaches(self.dense(times[:-2], states[:-2])):
            self.add(passage)

    def add(self, passage: Passage) -> None:
        """One more passage, said at once where that is asked for."""
        self.passages.append(passage)
        if self.on_singularity == "warn":
            warnings.warn(f"'{self.system.name}': {passage}", stacklevel=6)

    def _columns(self, rows: np.ndarray) -> np.ndarray:
        """q, v, works, inputs and health of records, without the coordinates of a chart."""
        n, tail = self.nq + self.nv, self.engine.works + len(self.engine.u) + 1
        v = self.engine.velocities(rows[:, : self.nq], rows[:, self.nq : n])
        return np.hstack([rows[:, : self.nq], v, rows[:, rows.shape[1] - tail :]])

    def dense(self, times: np.ndarray, states: np.ndarray) -> Dense:
        """Between these records."""
        return Dense(self.engine, self.method, self.parts, times, states)

    def _progress(self, t: float) -> None:
        """A line on a terminal for runs of more than two seconds."""
        now = time.perf_counter()
        if now - self.clock > 2.0 and sys.stderr.isatty():
            done = (t - self.times[0]) / max(self.times[-1] - self.times[0], 1e-300)
            sys.stderr.write(f"\rsimulating '{self.system.name}': t = {t:.4g} s, {100 * done:.0f} %")
            self.shown = True
