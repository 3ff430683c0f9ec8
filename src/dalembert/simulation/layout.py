"""From a setup, the constraint rows in use and a chart to the record of the native loop.

`RunLayout` keeps what runs of one setup share; `RunLayout.place` puts the functions for some rows and a chart into a
record, together with the sizes that follow. Nothing here depends on how far the run has come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.charts import LocalChart
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.integrators.run_record import RunRecord
from dalembert.lazy import cached_property
from dalembert.native.bound import NOTHING
from dalembert.rank import ACCURACY, RankPolicy, rank_policy
from dalembert.ruler import Ruler, make_ruler
from dalembert.simulation.callbacks import Callback, controller
from dalembert.simulation.equations import RunEquations
from dalembert.simulation.events import watcher
from dalembert.simulation.setup import TOTAL_RATES, Setup
from dalembert.simulation.state_units import state_units

if TYPE_CHECKING:
    from dalembert.compiler import Kernel
    from dalembert.simulation.run.record_pool import Spare
    from dalembert.simulation.run.segment import Cause

STAGES = 15  # rows of stages that careful steps need


class RunLayout:
    """The functions of a run, for the rows and the chart last asked for. Threads may share one without callbacks."""

    guards: tuple[Cause, ...] = ()  # the first events, by which segments of a hybrid run end
    pace = 0.0  # of a segment's age: steps are not longer, where this is above 0

    def __init__(self, setup: Setup) -> None:
        self.setup, self.system = setup, setup.system
        self.works = len(self.system.work_names)
        self.controller = None if setup.controller is None else self.steering()
        self.spare: list[Spare] = []  # records of earlier runs
        self.careful: dict[Any, list[Any]] = {}  # their careful steps, by the rows of the usual ones

    def steering(self) -> Callback:
        """The controller as a function that gives the inputs."""
        return controller(self.system, self.setup.controller, self.setup.p)

    @cached_property
    def watcher(self) -> Callback | None:
        """All events as one function, if there are any."""
        return self.watching() if self.setup.events else None

    @cached_property
    def callbacks(self) -> list[Callback]:
        """Functions of Python that steps call."""
        both = self.controller, self.watcher
        return [c for c in both if c is not None and c.is_python]

    @property
    def inputs_of_events(self) -> int:
        """The place of the inputs in what events are given; 0: they see none."""
        known = {} if self.watcher is None else self.watcher.bound.slices
        return known["u"].start if "u" in known else 0

    @property
    def directions(self) -> list[int]:
        """How each event is to change its sign, as the native loop knows it."""
        return [e.direction for e in self.setup.events.values()]

    def watching(self) -> Callback:
        """All events as one function."""
        return watcher(self.system, self.setup.events, self.setup.p)

    def __reduce__(self) -> tuple[Any, ...]:
        """By description; what a finished run needs no more, and may not pickle, stays behind."""
        return RunLayout, (replace(self.setup, controller=None, events={}, coordinates=None),)

    @cached_property
    def policy(self) -> RankPolicy:
        """Limits of rank at the parameters, and for the accuracy, of the run."""
        return rank_policy(self.system, self.setup.p, min(10.0 * self.setup.rtol, ACCURACY))

    @cached_property
    def ruler(self) -> Ruler:
        """Where decisions of the run fall."""
        asked = self.setup.options.get("tolerance", 0.0) if self.setup.formulation == "auto" else 0.0
        return make_ruler(self.setup.rtol, self.policy, asked)

    @cached_property
    def numbers(self) -> RunRecord:
        """The numbers of a record at the start of a run."""
        from dalembert.simulation.run.native_record import make_numbers

        return make_numbers(self)

    @cached_property
    def equations(self) -> RunEquations:
        """The functions of the run for any rows and chart."""
        return RunEquations(self.setup, self.policy)

    @property
    def traced_equations(self) -> RunEquations:
        """Those of careful steps, which are traced for the rows in use."""
        return self.equations

    @cached_property
    def mass_diagonal(self) -> tuple[Kernel, np.ndarray]:
        """The function that gives the diagonal of M, and (nv,) the squares of the units of velocities."""
        system = self.system
        units = state_units(system, system.nq + system.nv, self.policy.length)[system.nq :]
        return system.kernel("mass_diagonal"), units**2

    def place(
        self, run: RunRecord, rows: tuple[int, ...] | None, chart: LocalChart | None, x: np.ndarray, room: int
    ) -> None:
        """Put functions and memory for these rows and this chart into the record; x is the state to go on from."""
        s, system, method = self.setup, self.system, self.setup.method
        dof = 0 if chart is None else chart.dof
        run.n, run.dof, run.width = len(x), dof, len(x) + s.nu + 1
        run.rows, run.room, run.counts.records = max(method.stages, STAGES), room, 0
        run.x, run.unit = x, state_units(system, len(x), self.policy.length)
        if chart is not None:
            n, units = system.nq + system.nv, run.unit[system.nq : system.nq + system.nv]
            run.unit[n : n + dof], run.unit[n + dof : n + dof + chart.speeds] = chart.units(units)
        run.pitch = 4 * -(-(len(x) + 2 + EVIDENCE) // 4)  # of whole vectors
        run.stages = np.zeros((run.rows, run.pitch))
        run.times, run.states = np.empty(room), np.empty((room, run.width))
        for name, function in self.equations.manifold(rows, chart).items():
            setattr(run, name, function)
        run.step_kernel, run.slope = NOTHING, self.equations.slope(rows, chart)
        if method.kernel:
            count = self.equations.sizes(rows)[0] + system.nv
            run.step_kernel = self.equations.bound(system.kernel(method.kernel, rows=rows), chart, count)
        if system.rows.of and s.formulation not in TOTAL_RATES:
            run.gauge = self.equations.gauge(rows, run.gauge)
        needed = bool(system.rows.of) or system.nq != system.nv
        by_itself = chart is not None or method.kernel is not None
        project = s.projection
        run.manifold.project_every = 0 if project is None or by_itself or not needed else project.every
        self.equations.ordinary(rows, chart).enter(run)
