"""Detours from the usual steps of a run: careful steps, crossings of singular positions, changes of chart."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from dalembert import charts
from dalembert.analysis.manifold import tangent_of_motion
from dalembert.analysis.mobility import independent_rows
from dalembert.analysis.tangent_cone import TangentCone
from dalembert.charts import LocalChart
from dalembert.errors import DalembertError
from dalembert.integrators.run_record import FRESH, SKIPPED, RunRecord
from dalembert.simulation.callbacks import Callback
from dalembert.simulation.careful import Careful, give_back, lease
from dalembert.simulation.crossing import BESIDE_IT, CLOSEST, FAR, NEARER, Crosser, branch_of
from dalembert.simulation.dense import Dense
from dalembert.simulation.layout import Layout
from dalembert.simulation.passages import Met, describe, known_with_drift
from dalembert.simulation.setup import Setup, Span
from dalembert.simulation.status import Status
from dalembert.simulation.stepper import Stepper
from dalembert.system.state import State
from dalembert.system.system import System

ROUNDING = 2e-16
GIVEN = 0.5  # times σ where it is least: what it may change by in a step whose length is given
SHORTEST = 1e-12  # of the usual step
LANDED = 1e-2  # σ below which rows at an event are known no better than its position divided by σ
TOGETHER = 1e-5  # σ below which others vanish in the same position
KNOWN = 1e-6  # σ above which a velocity tells the branch: below, rounding of lengths turns it
SLOW = 1e-3  # of the velocity a step before: one that no longer tells the branch
STAY = 1e-2  # of a run: a step in a position that nothing moves the mechanism out of
HALVINGS = 40  # of the step by which a fresh chart is tried before the position counts as singular


class Detours:
    """The part of a `Driver` for singular positions and charts."""

    setup: Setup
    span: Span
    system: System
    layout: Layout
    record: RunRecord
    rows: tuple[int, ...] | None
    chart: LocalChart | None
    charts: list[tuple[float, LocalChart | None]]
    returning: bool  # to a chart
    usual: Stepper | None  # to be taken again after careful steps
    met: list[Met]
    why: str  # no motion leads on
    halvings: int
    goal: float | None  # s: the end, where the run goes on beyond it
    begins: bool = True  # whether what is simulated begins with this run: not so of phases after the first
    turned: bool = False  # whether it began in a singular position all the same
    arrival: np.ndarray | None = None  # (nv,) the last velocity beside a position that tells the branch
    refused: float = -np.inf  # s, when a crossing was refused last
    watcher: Callback | None
    _dense: Dense | None
    _steps: Careful | None = None  # careful ones, while they are taken

    def state(self) -> State:
        """The state now."""
        raise NotImplementedError

    @property
    def inputs(self) -> np.ndarray:
        """(nu,) inputs that act now."""
        raise NotImplementedError

    @property
    def work(self) -> np.ndarray:
        """Works done so far."""
        raise NotImplementedError

    def place(self, state: State, rows: tuple[int, ...] | None, chart: LocalChart | None, work: np.ndarray) -> None:
        """Lay everything out anew."""
        raise NotImplementedError

    def go_beyond(self) -> Status:
        """Go on beyond the end, to the first record behind it."""
        raise NotImplementedError

    def take_records(self) -> None:
        """Move the records of the native loop to the history."""
        raise NotImplementedError

    def event(self) -> Status:
        """Locate events of the last step."""
        raise NotImplementedError

    def singular(self) -> Status:
        """Other rows where these no longer carry the rest; careful steps; where these end too, across the position."""
        run = self.record
        if run.stop:
            return Status.SINGULAR
        if run.singular:
            return self._cross()
        if self.rows is not None:
            rows = independent_rows(self.system, self.state(), self.setup.p, len(self.rows))
            if rows is not None and rows != self.rows:
                self.place(self.state(), rows, self.chart, self.work.copy())
                run.project_first = 1
                return Status.DONE
        self.without_chart()
        self._careful()
        run.project_first = 1
        near = 4.0 * run.hit if self.arrival is None else BESIDE_IT
        return self._cross() if self.margin() <= near**2 else Status.DONE

    def _careful(self) -> None:
        """Careful steps from now on."""
        run = self.record
        self._steps = lease(self.layout, self.rows)
        stepper = self._steps.stepper
        self.usual, self._dense = stepper.now(run, self.setup.method), None
        stepper.enter(run)
        run.low[:] = run.low_before[:] = 0.0

    def go_on_carefully(self, singular: bool, low: np.ndarray) -> None:
        """Be where a recording ends: in all coordinates until a chart is possible, in careful steps or not."""
        run = self.record
        if self.setup.coordinates is not None:
            self.without_chart()
        if singular:
            self._careful()
            run.low[:], run.low_before[:] = low, low

    def without_chart(self) -> None:
        """Go on in all coordinates, until the constraints are far enough from dependent for a chart."""
        if self.setup.coordinates is not None and not self.returning:
            if self.chart is not None:
                self.place(self.state(), self.rows, None, self.work.copy())
            self.returning, self.record.until = True, (2.0 * FRESH) ** 2

    def leave(self) -> None:
        """Back to ordinary steps, and to a chart where there was one."""
        run = self.record
        run.project_first, self._dense = 1, None
        if run.singular:
            assert self.usual is not None
            assert self._steps is not None
            self.usual.enter(run)
            give_back(self.layout, self._steps)
            self._steps = None
            if self.setup.method.fixed:
                run.h = self.setup.step
            elif run.usual_h == 0.0:  # no usual step was made yet
                run.h = 0.0
            return
        run.until = 0.0
        if self.returning:
            self._take_chart()

    def _cross(self) -> Status:
        """Across a singular position, to where the rows are independent again."""
        run, start, nq, n = self.record, self.state(), self.system.nq, self.system.nq + self.system.nv

        def rates(t: float, x: np.ndarray) -> np.ndarray:
            if run.control.address and run.hold == 0.0:
                self.inputs[:] = run.control.at(t, x[:n])[: run.nu]
            return run.ode.at(t, x[:n])[: run.n].copy()

        def inputs(x: State) -> np.ndarray:
            return run.control.at(x.t, np.concatenate([x.q, x.v]))[: run.nu].copy()

        assert self._steps is not None
        if self.margin() > KNOWN**2:
            self.arrival = start.v
        end = run.end if self.goal is None else self.goal
        left, duration = max(end - run.t, 0.0), end - self.span.start.t
        crosser = Crosser(
            self.system, self.setup.p, self.inputs.copy(), rates, self._steps.land,
            self.layout.equations.usual_rank(self.rows), run.hit, left,
            left + duration if run.beyond else left, STAY * duration, self.setup.rtol,
            self.begins and run.t == self.span.start.t,
            inputs if run.control.address and run.hold == 0.0 else None, self.arrival,
        )  # fmt: skip
        found = crosser.cross(start)
        if isinstance(found, float):
            sigma = self.margin() ** 0.5
            run.across = max(FAR if sigma > FAR else CLOSEST, NEARER * sigma)
            if self.refused == run.t:  # a step failed
                run.h *= 0.5
            run.h, self.refused = min(run.h, found), run.t
            return Status.STEP_TOO_SMALL if 0.0 < run.h < SHORTEST * run.usual_h else Status.DONE
        if isinstance(found, str):
            self.why = found
            return Status.BLOCKED
        if run.hold > 0.0 and min(found.after.t, end) > run.sampled_until + run.hold:
            found = found._replace(determined=False)  # samples of a controller were left out
        position, after = found.position, found.after
        self.arrival = self.arrival if found.along is None else found.along
        self.turned = self.turned or (not self.begins and position.t == self.span.start.t)
        if abs(run.end - after.t) < 4.0 * ROUNDING * abs(run.end):  # the sum of two times need not be the third
            after = after.replace(t=run.end)
        if after.t > run.end:
            self.go_beyond()
        time = after.t - start.t
        run.x[:nq], run.x[nq:n] = after.q, after.v
        run.low_before[:] = run.low
        works = found.works
        if position.t == start.t and "drivers" in self.system.work_names:
            # which turn the motion at once, as energy tells
            change = self.system.energy(after, p=self.setup.p) - self.system.energy(start, p=self.setup.p)
            works[self.system.work_names.index("drivers")] += change - works.sum()
        run.x[n:] += works
        run.h, run.t, run.fresh, run.project_first = 0.5 * time, after.t, 0, 0
        run.steps, run.singular_steps, run.records = run.steps + 1, run.singular_steps + 1, 1
        run.times[0], run.states[0] = run.t, np.concatenate([run.x, self.inputs, [0.0]])
        self.take_records()
        if run.risen and self.met:  # noted as one that is passed, σ has not risen since
            self.met.pop()
        run.risen = 0.0
        x = np.concatenate([position.q, position.v])
        if self._stayed(start.t, x):
            return Status.DONE if self.watcher is None else self._watched(n)
        margin = 0.0 if run.precise else self.margin(position.t, x)
        self.note(position.t, 0.0, x, (start.t, run.t), margin, True, run.singular_steps, found.determined)
        return Status.DONE if self.watcher is None else self._watched(n)

    def came(self, before: np.ndarray, row: np.ndarray) -> None:
        """Remember the velocity of a record at which a phase ends, or, where it is slow, of the record before."""
        at = slice(self.system.nq, self.system.nq + self.system.nv)
        if not self.system.rows.of:
            return
        slow = np.linalg.norm(row[at]) <= SLOW * np.linalg.norm(before[at])
        if not slow or self.margin(x=before) > KNOWN**2:
            self.arrival = (before if slow else row)[at].copy()

    def branch(self, x: State) -> np.ndarray | None:
        """(nv,) the velocity, on the tangent cone, with which the motion came to a singular position, or one near it.

        None where x is in none, or where it selects no branch there.
        """
        if self.arrival is None or not self.system.rows.of:
            return None
        usual, p = self.layout.equations.usual_rank(self.rows), self.setup.p
        here = tangent_of_motion(self.system, x, p)
        if here.sigma[usual - 1] > TOGETHER:
            return None
        cone = TangentCone.of(self.system, x, p, int((here.sigma[:usual] > TOGETHER).sum()), usual, here, self.inputs)
        on = branch_of(cone, self.arrival)
        return None if on is None else cone.c + cone.K @ on

    def _stayed(self, since: float, x: np.ndarray) -> bool:
        """Whether the last passage still lasts: the mechanism has rested in its position; then it ends now."""
        if not self.met or self.met[-1].end != since or (*self.met[-1].q, *self.met[-1].v) != tuple(x.tolist()):
            return False
        self.met[-1] = replace(self.met[-1], end=self.record.t, steps=self.met[-1].steps + 1)
        return True

    def _watched(self, n: int) -> Status:
        """Locate events on the way across."""
        run = self.record
        run.event_values[1] = run.watch.at(run.t, run.x[:n])[: run.events]
        return self.event()

    def land(self, t: float, row: np.ndarray) -> None:
        """Bring a record beside a singular position onto the manifold, as well as doubles tell: impulses need it."""
        nq, n = self.system.nq, self.system.nq + self.system.nv
        if self.chart is None and self.system.rows.of and self.margin(t, row) < LANDED**2:
            steps = lease(self.layout, self.rows)
            landed = steps.land(self.system.state(row[:nq], row[nq:n], t), 0.0)
            give_back(self.layout, steps)
            if landed is not None:
                row[:nq], row[nq:n] = landed.q, landed.v

    def next_chart(self) -> Status:
        """Another chart of the same kind; where a fresh one ends too, shorter steps, then singular ones."""
        run = self.record
        if not np.isfinite(run.x).all():
            return Status.NOT_FINITE
        if self.margin() < FRESH**2:
            self.without_chart()
            return Status.DONE
        if self.charts[-1][0] == run.t:  # a fresh chart cannot take this step either
            self.halvings += 1
            if run.exponent == 0.0 or run.h == 0.0 or run.h < 1e-3 * run.usual_h or self.halvings > HALVINGS:
                self.halvings = 0
                return self.singular()
            run.h *= 0.5
            self.charts.pop()
        self._take_chart()
        return Status.DONE

    def margin(self, t: float | None = None, x: np.ndarray | None = None) -> float:
        """Margin of the constraint rows now, or at a time and state."""
        run, gauge = self.record, self.record.gauge
        if not gauge.address:
            return 1.0
        gauge.y[1] = SKIPPED
        return float(gauge.at(run.t if t is None else t, (run.x if x is None else x)[: run.nq])[0])

    def _take_chart(self) -> None:
        """Go on in a chart around the state now."""
        state, rows, p = self.state(), self.rows, self.setup.p
        if rows is not None:
            rows = independent_rows(self.system, state, p)
        chart = self._asked(state) if not self.charts else None
        chart = charts.renewed(self.system, state, p, self.setup.coordinates) if chart is None else chart
        self.place(state, rows, chart, self.work.copy())

    def _asked(self, state: State) -> LocalChart | None:
        """The chart that was asked for, around a state behind a start that has none; None where it has none either."""
        try:
            return charts.choose(self.system, state, self.setup.p, self.setup.coordinates)
        except DalembertError:
            return None

    def note(
        self,
        t: float,
        sigma: float,
        x: np.ndarray,
        span: tuple[float, ...],
        margin: float,
        resolved: bool,
        steps: int,
        determined: bool | None = None,
    ) -> None:
        """One more passage, after so many singular steps of the run; a warning where that is asked for."""
        run, nq, setup = self.record, self.system.nq, self.setup
        q, v = tuple(x[:nq].tolist()), tuple(x[nq : nq + self.system.nv].tolist())
        steps -= sum(m.steps for m in self.met)
        usual = self.layout.equations.usual_rank(self.rows)
        if resolved and setup.method.fixed and sigma > run.hit:
            state = self.system.state(q, v, t)
            resolved = resolved_by_given_steps(setup, state, sigma, usual, run.rate, self.inputs)
        weakness = sigma if run.precise else margin  # elimination squares the angle between rows
        error = ROUNDING / max(weakness, ROUNDING)
        met = Met(t, sigma, q, v, span[0], span[1], run.hit, error, setup.rtol, usual, steps, resolved, determined)
        if determined is None:
            met = known_with_drift(setup, met, self.inputs)
        if self.system.led and sigma <= run.hit and determined is None:  # now: the inputs are not kept with it
            met = replace(met, determined=describe(self.system, setup.p, met, self.inputs).determined)
        self.met.append(met)
        if setup.on_singularity == "warn":
            warnings.warn(f"'{self.system.name}': {describe(self.system, setup.p, met)}", stacklevel=6)


def resolved_by_given_steps(
    setup: Setup, state: State, sigma: float, usual: int, rate: float, inputs: np.ndarray
) -> bool:
    """Whether steps of the given length lead to a distance σ without error control, on the right side.

    state: where σ is least. usual: rank of the constraints away from singular positions. rate: of the motion, 1/s.
    """
    if sigma <= (setup.step * rate) ** setup.method.order:  # about the error of such steps
        return False
    system, p = setup.system, setup.p
    cone = TangentCone.of(system, state, p, usual - 1, usual, tangent_of_motion(system, state, p), inputs)
    return setup.step * cone.opening(cone.local(state.v)) <= GIVEN * sigma
