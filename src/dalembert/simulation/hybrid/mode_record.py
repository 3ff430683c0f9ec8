"""The native record of a hybrid run, one for all its modes: where the mode changes, numbers in it do.

Its functions have room for every row, guard and work that a mode can have. What tells how far rows are from dependent,
and what brings states back to them, is laid out once for each number of rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.formulations import make_gauge
from dalembert.formulations.mode_rows import ModeRows, hold, mode_function, mode_guards, mode_whitened
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.integrators.run_record import LOOKS
from dalembert.native.bound import NOTHING, Bound
from dalembert.simulation.equations import measured_rows
from dalembert.simulation.hybrid.mode_data import Rows
from dalembert.simulation.hybrid.mode_equations import ModeEquations
from dalembert.simulation.hybrid.mode_layout import ModeLayout
from dalembert.simulation.layout import STAGES, RunLayout
from dalembert.simulation.run.dense import Dense
from dalembert.simulation.run.native_record import CHUNK, make_record_of
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.state_units import state_units

EXTRA = 2  # works that a mode may have beside those of all rows


class ModeRecord:
    """A record, its functions and its memory, for one run at a time."""

    def __init__(self, layout: ModeLayout) -> None:
        equations, s, system = layout.equations, layout.setup, layout.system
        assert isinstance(equations, ModeEquations)
        self.setup, self.whole, self.table = s, equations.whole, s.method.make(system.nq + system.nv)
        data, users, own = equations.data, layout.user_events(), len(layout.given)
        self.guards = data.room(users, own)
        self.watch = mode_guards(self.guards)
        self.rows = data.room()
        self.most = system.nq + system.nv + len(self.whole.work_names) + EXTRA
        self.field = mode_function("mode_field", self.rows, self.most + 2 + EVIDENCE)
        self.run = make_record_of(layout, self.watch)
        self.unit = state_units(system, self.most, layout.policy.length)
        self.run.rows = max(s.method.stages, STAGES)
        self.run.pitch = 4 * -(-(self.most + 2 + EVIDENCE) // 4)  # of whole vectors
        self.run.stages = np.zeros((self.run.rows, self.run.pitch))
        self.x, self.times = np.zeros(self.most), np.empty(CHUNK)
        self.states = np.empty(CHUNK * (self.most + s.nu + 1))
        events = self.guards.guard.shape[0] + own + 1
        self.looks, self.values = np.zeros((LOOKS + 2) * events), np.zeros(2 * events)
        self.directions = np.zeros(events, dtype=np.int64)
        self.known: dict[Any, Any] = {}  # functions that depend on the number of rows
        self._between: tuple[ModeRecord, Dense] | None = None
        self._laid_out: tuple[Any, ...] = (None, None, b"", None, None)

    # --- a segment ---------------------------------------------------------------------------------------------------

    def begin(self, layout: RunLayout, rows: Rows, x: np.ndarray) -> None:
        """Be the record of a segment that begins at x, with the numbers that records of its layout begin with."""
        assert isinstance(layout, ModeLayout)
        run = self.run
        if self._is_laid_out_for(layout, rows):
            ctypes.memmove(run.pointer, self._laid_out[2], ctypes.sizeof(run))
            run.event_values[:] = 0.0
            return
        stay = run.rows, run.pitch
        run.renew(layout.numbers)
        run.rows, run.pitch = stay
        count, ways = run.events.count, layout.directions
        run.event_values = self.values[: 2 * count].reshape(2, count)
        run.event_looks = self.looks[: (LOOKS + 2) * count].reshape(LOOKS + 2, count)
        run.directions = self.directions[:count]
        run.event_values[:], run.directions[: len(ways)] = 0.0, ways
        equations = layout.equations
        assert isinstance(equations, ModeEquations)
        data = equations.data
        seen = layout.guard_rows
        hold(self.guards, data.sizes(seen), data.rank(seen), data.fields(seen))
        self.place(layout, rows, x, min(CHUNK, self.setup.max_steps))
        self._laid_out = layout, rows, bytes(run), run.x, run.ode

    def _is_laid_out_for(self, layout: RunLayout, rows: Rows) -> bool:
        """Whether the segment before was of this layout, and neither other rows nor other steps came after it."""
        of, its_rows, _, x, ode = self._laid_out
        return of is layout and its_rows == rows and self.run.x is x and self.run.ode is ode

    def place(self, layout: RunLayout, rows: Rows, x: np.ndarray, room: int) -> None:
        """Go on from x by these rows of the mode."""
        run, equations = self.run, layout.equations
        assert isinstance(equations, ModeEquations)
        n = len(x)
        run.n, run.dof, run.width, run.room, run.counts.records = n, 0, n + self.setup.nu + 1, room, 0
        self.x[:n] = x
        run.x, run.unit = self.x[:n], self.unit[:n]
        run.times, run.states = self.times[:room], self.states[: room * run.width].reshape(room, run.width)
        run.correct, run.filter = self._landing(equations, "position", rows), self._landing(equations, "velocity", rows)
        run.step_kernel = run.slope = run.restore = run.energies = run.recover = NOTHING
        if equations.chosen:
            run.gauge = self._gauge(equations, rows)
        else:
            run.gauge = NOTHING
        needed = bool(equations.chosen) or self.setup.system.nq != self.setup.system.nv
        project = self.setup.projection
        run.manifold.project_every = project.every if project is not None and needed else 0
        Stepper(self._ode(equations, rows), self.setup.method, self.table, {}).enter(run)

    def between(self, layout: RunLayout, rows: Rows) -> Dense:
        """States between the records of this layout."""
        assert isinstance(layout, ModeLayout)
        if self._between is None:
            other = ModeRecord(layout)
            other.run.control = other.run.control.copy()
            self._between = other, Dense(layout, rows, lambda: other.run, np.zeros(0), np.zeros((0, 1)))
        other, dense = self._between
        other.begin(layout, rows, self.run.x)
        dense.be_of(layout, rows)
        other.run.renew(self.run)
        return dense

    # --- functions ---------------------------------------------------------------------------------------------------

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = make()
        return found

    def _ode(self, equations: ModeEquations, rows: Rows) -> Bound:
        data = equations.data
        if equations.is_free:
            ode = self._once("ode", equations.free)
        else:
            hold(self.rows, data.sizes(rows), data.rank(rows), data.fields(rows))
            ode = self.field
        return ode.trust(*equations.trusted(rows))

    def _bare(self, equations: ModeEquations, key: Any, rows: Rows) -> ModeRows:
        """Memory for so many rows, holding these."""
        data = equations.data
        mode = self._once(key, lambda: data.rows(rows, bare=True))
        sizes = data.sizes(rows)
        mode.rows[:] = data.places(rows)
        mode.problem.sizes[:] = sizes
        return mode

    def _gauge(self, equations: ModeEquations, rows: Rows) -> Bound:
        system, data = equations.system, equations.data
        measured = measured_rows(system, rows)
        count, rank = data.rank(measured), data.rank(rows)
        mode = self._bare(equations, ("gauge rows", count, rank), measured)
        return self._once(
            ("gauge", count, rank), lambda: make_gauge(mode_whitened(mode), nv=system.nv, rows=count, rank=rank)
        )

    def _landing(self, equations: ModeEquations, name: str, rows: Rows) -> Bound:
        if self.setup.projection is None:
            return NOTHING
        rows = equations.landing_rows(name, rows)
        count = equations.data.rank(rows)
        if not count:
            return self._once((name, 0), lambda: equations.free_landing(name))
        mode = self._bare(equations, (name, "rows", count), rows)
        bound = self._once((name, count), lambda: equations.landing(name, mode, rows))
        bound.owner.problem.sizes[:] = mode.problem.sizes
        return bound


def is_for(layout: RunLayout) -> bool:
    """Whether segments of a layout can run in such a record: explicit steps, with events in machine code."""
    if not isinstance(layout, ModeLayout) or not isinstance(layout.equations, ModeEquations):
        return False
    s = layout.setup
    bent = any(f.bends for f in s.system.description.forces)
    return layout.is_native and s.method.explicit and not s.named and (s.method.fixed or not bent)
