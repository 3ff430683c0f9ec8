"""From a setup, the constraint rows in use and a chart to the record of the native loop.

`Layout` makes the functions of a run; `Layout.place` puts those for some rows and a chart into the record, together
with the sizes that follow. Nothing here depends on how far the run has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.charts import LocalChart
from dalembert.formulations import make_field, make_gauge
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.integrators.methods import Method
from dalembert.integrators.run_record import PASSAGE, JointRates, RunRecord
from dalembert.mechanism.joints import Joint
from dalembert.native import library
from dalembert.native.bound import NOTHING, Bound
from dalembert.rank import ACCURACY, RankPolicy, rank_policy
from dalembert.simulation.callbacks import Callback, controller
from dalembert.simulation.events import watcher
from dalembert.simulation.large import make_large_slope
from dalembert.simulation.setup import CLOSED, TOTAL_RATES, Setup
from dalembert.symbols import array
from dalembert.system.acceleration import free_fall
from dalembert.system.equation_rows import is_large
from dalembert.system.formulation_options import formulation_options
from dalembert.system.state import State
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

CHART = 1e-2  # squared sine between the rows of a chart below which another one is taken
STAGES = 15  # rows of stages that careful steps need
UNEQUAL = 10.0  # ratio of usual lengths of rows from which they are looked at one by one
MANY = 60  # constraint rows of which as many as the rank are measured, and no others, near a singular position
MET = 1e-7  # σ of a position that is met: next to a nearer one doubles do not tell the branches apart
PASSAGES = 16  # noted by native code until it comes back with them
CHUNK = 2000  # records, and at first attempts, between two looks at the clock, the keyboard and the sample times


def gap_unit(system: System) -> float:
    """The unit that residuals of all rows are measured by: 1 rad, or the length of the mechanism, whichever is less."""
    length = system.layout.length
    return min(1.0, length) if system.rows.angular.any() else length


class Stepper(NamedTuple):
    """A right-hand side and the method that steps it."""

    ode: Bound
    method: Method
    table: Any  # the method's struct
    fields: Mapping[str, Any]  # others of the record: how states are landed, and how exactly

    def enter(self, run: RunRecord) -> None:
        """Have the loop step with this."""
        for name, value in self.fields.items():
            setattr(run, name, value)
        held = run.ode.x[run.u_index : run.u_index + run.nu].copy() if run.steps or run.nu else None
        assert len(self.ode.y) <= run.pitch, "a stage holds all that the right-hand side gives"
        run.ode, run.method, run.step = self.ode, self.table, library.address(self.method.entry)
        run.exponent, run.order = self.method.exponent, self.method.order
        run.u_index = self.ode.slices["u"].start if "u" in self.ode.slices else 0
        if held is not None:
            run.ode.x[run.u_index : run.u_index + run.nu] = held
        run.fresh = 0

    def now(self, run: RunRecord, method: Method) -> Stepper:
        """The stepper in use, by which this one can be replaced again."""
        return Stepper(run.ode, method, run.method, {name: getattr(run, name) for name in self.fields})


@dataclass(eq=False)
class Spare:
    """A record that is laid out for all constraint rows and no chart, and what tells whether it still is."""

    record: RunRecord
    fresh: bytes  # of the record
    x: np.ndarray
    ode: Bound
    dense: Any = None  # for states between its records, once they were asked for

    @property
    def is_as_laid_out(self) -> bool:
        """Whether neither other rows nor a chart came into the record."""
        return self.record.x is self.x and self.record.ode is self.ode


class Layout:
    """The functions of a run, for the rows and the chart last asked for. Threads may share one without callbacks."""

    def __init__(self, setup: Setup) -> None:
        self.setup, self.system = setup, setup.system
        self.works = len(self.system.work_names)
        self.controller = self.watcher = None
        if setup.controller is not None:
            self.controller = self.steering()
        if setup.events:
            self.watcher = self.watching()
        self.callbacks: list[Callback] = [c for c in (self.controller, self.watcher) if c is not None]
        self.spare: list[Spare] = []  # records of earlier runs
        self.careful: dict[Any, list[Any]] = {}  # their careful steps, by the rows of the usual ones

    def steering(self) -> Callback:
        """The controller as a function that gives the inputs."""
        return controller(self.system, self.setup.controller, self.setup.p)

    @property
    def directions(self) -> list[int]:
        """How each event is to change its sign, as the native loop knows it."""
        return [e.direction for e in self.setup.events.values()]

    def watching(self) -> Callback:
        """All events as one function."""
        return watcher(self.system, self.setup.events, self.setup.p)

    def __reduce__(self) -> tuple[Any, ...]:
        """By description; what a finished run needs no more, and may not pickle, stays behind."""
        return Layout, (replace(self.setup, controller=None, events={}, coordinates=None),)

    @cached_property
    def policy(self) -> RankPolicy:
        """Limits of rank at the parameters, and for the accuracy, of the run."""
        return rank_policy(self.system, self.setup.p, min(10.0 * self.setup.rtol, ACCURACY))

    @cached_property
    def hit(self) -> float:
        """σ of a singular position that is met: one that is nearer is not told from it."""
        asked = self.setup.options.get("tolerance", 0.0) if self.setup.formulation == "auto" else 0.0
        return max(MET, 10.0 * self.setup.rtol, asked)

    # --- the record ---------------------------------------------------------------------------------------------

    def record(self) -> RunRecord:
        """A record with everything that stays as it is for runs of this layout."""
        s, system, project = self.setup, self.system, self.setup.projection
        most = 1 if s.on_singularity == "warn" else PASSAGES
        run = RunRecord(
            nq=system.nq,
            nv=system.nv,
            works=self.works,
            nu=s.nu,
            events=max(1, len(s.events)),
            h=s.step,
            max_h=s.max_step,
            budget=CHUNK,
            rtol=s.rtol,
            atol=s.atol,
            last_error=1e-4,
            hold=s.hold,
            length=system.layout.length,
            weight=free_fall(system, system.layout.length),
            tolerance=1e-9 * gap_unit(system),
            closed_to=CLOSED * gap_unit(system),
            margin=1.0,
            worst_margin=1.0,
            landed=1,
            event_values=np.zeros((2, max(1, len(s.events)))),
            directions=np.array([*self.directions, 0][: max(1, len(s.events))], dtype=np.int64),
            control=NOTHING if self.controller is None else self._seen(self.controller.bound),
            watch=NOTHING if self.watcher is None else self._seen(self.watcher.bound),
            gauge=NOTHING,
            **self._kinks(),
            near=self.policy.near,
            hit=self.hit,
            stop=int(s.on_singularity == "stop"),
            blind=int(bool(system.rows.of) and (s.named or self._unequal())),
            most=most,
            passages=np.zeros((most, system.nq + system.nv + PASSAGE)),
            margins=np.zeros(5),
            plain=self.plain(),
            low=np.zeros(system.nq),
            low_before=np.zeros(system.nq),
            ode=Bound.around(0, np.zeros(s.nu), np.zeros(1), np.zeros(1)),  # until `place`: holds the inputs
        )
        if project is not None:
            run.max_corrections, run.frozen = project.corrections, int(project.directions == "frozen")
            run.filter_velocities, run.restore_energy = int(project.velocities), int(project.energy)
        return run

    def _kinks(self) -> dict[str, Any]:
        """The function of all forces that begin and cease to act, which adaptive steps end at."""
        s, system = self.setup, self.system
        bent = [f for f in system.description.forces if f.bends]
        if not bent or s.method.fixed or s.formulation in TOTAL_RATES:
            return {"bends": NOTHING, "kink_values": np.zeros((3, 0))}
        kernel = system.custom_kernel(
            ("kinks",), ("q", "v", "u", "p", "t"), lambda t: array([x for f in bent for x in f.kinks(t.state)])
        )
        bends, count = Bound.of(kernel, {"p": s.p}), kernel.y_size
        place = bends.slices["u"].start if "u" in bends.slices else 0
        return {"bends": bends, "kinks": count, "kink_u": place, "kink_values": np.zeros((3, count))}

    def begin(self, run: RunRecord, start: State, end: float, u: np.ndarray) -> None:
        """Put into a record what differs from run to run, besides its state."""
        run.t = run.hold_start = run.sampled_until = start.t
        run.end, run.inertia = end, self._inertia(start) if self.works or run.restore_energy else 1.0
        if run.nu:
            run.ode.x[run.u_index : run.u_index + run.nu] = u
        if run.restore_energy:
            run.energy = self.system.energy(start, p=self.setup.p)

    def units(self, n: int, length: float) -> np.ndarray:
        """(n,) units of the numbers in x: the mechanism's length for slides, 1 for angles, quaternions and the rest.

        Those of the coordinates and velocities of a chart are its own.
        """
        layout, system, out = self.system.layout, self.system, np.ones(n)
        for name, a in layout.joints.items():
            unit = np.where(a.joint.angular, 1.0, length)
            out[system.nq : system.nq + system.nv][layout.v_slice(name)] = unit
            width = a.joint.nq - a.joint.nv  # a quaternion has one number more than its velocities
            out[: system.nq][layout.q_slice(name)] = np.concatenate([np.ones(width), unit])
        return out

    def _inertia(self, start: State) -> float:
        """The largest inertia against a velocity of unit size, kg m²."""
        mass, units = self._mass
        known = {"q": start.q, "p": self.setup.p}
        diagonal = mass(*[known[name] for name in mass.names_in])
        return max((diagonal * units).tolist(), default=0.0) or 1.0

    @cached_property
    def _mass(self) -> tuple[Kernel, np.ndarray]:
        """The function that gives the diagonal of M, and (nv,) the squares of the units of velocities."""
        system = self.system
        return system.kernel("mass_diagonal"), self.units(system.nq + system.nv, self.policy.length)[system.nq :] ** 2

    def plain(self) -> np.ndarray:
        """(nq,) the velocity that is the rate of a coordinate, or −1."""
        layout = self.system.layout
        out = np.full(self.system.nq, -1)
        for name, a in layout.joints.items():
            if type(a.joint).rates is Joint.rates:
                out[layout.q_slice(name)] = np.arange(self.system.nv)[layout.v_slice(name)]
        return out

    def quaternions(self) -> np.ndarray:
        """Where in q quaternions begin: with the first number of a joint that has one."""
        layout = self.system.layout
        turning = (name for name, a in layout.joints.items() if type(a.joint).unit is not Joint.unit)
        return np.array([layout.q_slice(name).start for name in turning], dtype=np.int64)

    def place(
        self, run: RunRecord, rows: tuple[int, ...] | None, chart: LocalChart | None, x: np.ndarray, room: int
    ) -> None:
        """Put functions and memory for these rows and this chart into the record; x is the state to go on from."""
        s, system, method = self.setup, self.system, self.setup.method
        dof = 0 if chart is None else chart.dof
        run.n, run.dof, run.width = len(x), dof, len(x) + s.nu + 1
        run.rows, run.room, run.records = max(method.stages, STAGES), room, 0
        run.x, run.unit = x, self.units(len(x), self.policy.length)
        if chart is not None:
            n, units = system.nq + system.nv, run.unit[system.nq : system.nq + system.nv]
            run.unit[n : n + dof], run.unit[n + dof : n + dof + chart.speeds] = chart.units(units)
        run.pitch = 4 * -(-(len(x) + 2 + EVIDENCE) // 4)  # of whole vectors
        run.stages = np.zeros((run.rows, run.pitch))
        run.times, run.states = np.empty(room), np.empty((room, run.width))
        for name, function in self._manifold(rows, chart).items():
            setattr(run, name, function)
        run.step_kernel, run.slope = NOTHING, self._slope(rows, chart)
        if method.kernel:
            count = self._sizes(rows)[0] + system.nv
            run.step_kernel = self._bound(system.kernel(method.kernel, rows=rows), chart, count)
        if system.rows.of and s.formulation not in TOTAL_RATES:
            run.gauge = self._gauge(rows)
        needed = bool(system.rows.of) or system.nq != system.nv
        by_itself = chart is not None or method.kernel is not None
        project = s.projection
        run.project_every = 0 if project is None or by_itself or not needed else project.every
        self.ordinary(rows, chart).enter(run)

    def _gauge(self, rows: tuple[int, ...] | None) -> Bound:
        """How near constraints are to dependent: all of them, or these rows where there are many."""
        system, measured = self.system, measured_rows(self.system, rows)
        values = {**self.values(None), "sizes": self._usual(measured)}
        return make_gauge(
            system.kernel("whitened_rows", rows=measured), values,
            nv=system.nv, rows=self.usual_rank(measured), rank=self.usual_rank(rows),
        )  # fmt: skip

    # --- right-hand sides ---------------------------------------------------------------------------------------

    def ordinary(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Stepper:
        """The right-hand side and the method that were asked for."""
        s = self.setup
        if s.named:
            watched = s.formulation in ("nullspace", "admissible", "projection", "partition") and not s.method.fixed
            usual = self.usual_rank(rows) if watched else 0
            ode = self.formulation(s.formulation, s.options, rows, usual)
        else:
            ode = self._bound(self._field_kernel(rows, chart), chart, 0)
        count = self.system.nq + self.system.nv if chart is None else 2 * chart.dof
        return Stepper(ode, s.method, s.method.make(count), {})

    def _usual(self, rows: tuple[int, ...] | None) -> np.ndarray:
        """Usual lengths of these rows in the mass metric."""
        return self.policy.sizes if rows is None else self.policy.sizes[list(rows)]

    def _unequal(self) -> bool:
        """Whether usual lengths of rows differ so much that the shortest does not tell of the others."""
        sizes = self.policy.sizes
        return bool(len(sizes) and sizes.max() > UNEQUAL * sizes.min())

    def usual_rank(self, rows: tuple[int, ...] | None) -> int:
        """Rank of the constraints away from singular positions."""
        return len(self.system.rows.of if rows is None else rows)

    def _field_kernel(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Any:
        s, system = self.setup, self.system
        if s.formulation in TOTAL_RATES:
            return system.kernel(f"diagonal_ode{TOTAL_RATES[s.formulation]}")
        if chart is not None:
            return chart.ode_kernel(rows)
        return system.kernel("ode" if s.baumgarte is None else "ode_baumgarte", rows=rows)

    def formulation(self, name: str, options: Mapping[str, Any], rows: tuple[int, ...] | None, usual: int) -> Bound:
        """A formulation over the kernel "equations"; rows that depend on others for good are left out."""
        limit = self.policy.near**2 if usual else -0.5
        chosen = {**formulation_options(self.system, name, self.setup.p, rows=rows, **options), "usual_rank": usual}
        return self._field(name, self.system.kernel("equations", rows=rows), rows, chosen).trust(limit, limit)

    def sparse_formulation(self, options: Mapping[str, Any]) -> Bound:
        """The null-space formulation of all rows over the kernel "sparse_equations", in the mass metric."""
        return self._field(None, self.system.kernel("sparse_equations"), None, self.sparse_options(options, None))

    def _field(self, name: str | None, kernel: Kernel, rows: tuple[int, ...] | None, options: dict[str, Any]) -> Bound:
        system, baumgarte = self.system, self.setup.baumgarte
        return make_field(
            name,
            kernel,
            self.values(None),
            nq=system.nq,
            nv=system.nv,
            rows=self.usual_rank(rows),
            powers=self.plain_powers,
            driven="drivers" in system.work_names,
            led=bool(system.led),
            options=options,
            baumgarte=(0.0, 0.0) if baumgarte is None else (baumgarte.alpha, baumgarte.beta),
        )

    def sparse_options(self, options: Mapping[str, Any], rows: tuple[int, ...] | None) -> dict[str, Any]:
        """Fields of a `SparseProblem` of these rows by name."""
        return {"sizes": self._usual(rows).copy(), "tolerance": options["tolerance"], "floor": options["floor"]}

    @property
    def plain_powers(self) -> int:
        """Powers among the outputs of the equations; that of drivers needs multipliers."""
        return len([name for name in self.system.work_names if name != "drivers"])

    def _slope(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Bound:
        """The exact Jacobian, where there is one: of the natural equations, with inputs that do not depend on x."""
        s = self.setup
        steered = s.controller is not None and s.hold == 0.0
        if not s.method.implicit or steered or s.formulation != "auto" or s.baumgarte is not None:
            return NOTHING
        large = is_large(self.system)
        if chart is None:
            if large:
                return make_large_slope(self.system, rows, s.p)
            return self._bound(self.system.kernel("ode_slope", rows=rows), None, 0)
        if not chart.leaders or large:
            return NOTHING
        from dalembert.linearization.plan import linear_kernel

        return self._bound(linear_kernel(self.system, chart.leaders, rows=rows), None, 0)

    # --- the manifold -------------------------------------------------------------------------------------------

    def _manifold(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> dict[str, Bound]:
        """The functions that bring a state back to the manifold."""
        out = dict.fromkeys(("correct", "filter", "restore", "recover"), NOTHING)
        (holonomic, m), project, system = self._sizes(rows), self.setup.projection, self.system
        if chart is not None:
            out["recover"] = self._bound(chart.recover_kernel(rows), chart, chart.dof + holonomic, 0.0)
        elif project is not None and project.energy:
            out["restore"] = self._bound(system.kernel("restore", rows=rows), None, holonomic + m + 1)
        elif project is not None:
            weighted = project.weights(system.nv) is not None
            kind, frozen = "_weighted" if weighted else "", "_frozen" if project.directions == "frozen" else ""
            shortest = 0.0 if weighted else None
            out["correct"] = self._bound(system.kernel(f"correct{frozen}{kind}", rows=rows), None, holonomic, shortest)
            out["filter"] = self._bound(system.kernel(f"filter{kind}", rows=rows), None, m, shortest)
        return out

    def _sizes(self, rows: tuple[int, ...] | None) -> tuple[int, int]:
        """Holonomic rows, and all rows."""
        holonomic = self.system.rows.holonomic
        kept = holonomic if rows is None else holonomic[list(rows)]
        return int(kept.sum()), len(kept)

    def _bound(self, kernel: Any, chart: LocalChart | None, rows: int, min_length: float | None = None) -> Bound:
        near, size = self.policy.near, self.policy.sizes.min(initial=self.policy.size)
        limit = (near * size) ** 2 if min_length is None else min_length
        return Bound.of(kernel, self.values(chart), rows).trust(near**2, limit, size**2)

    def values(self, chart: LocalChart | None) -> dict[str, Any]:
        """Inputs of the functions that do not change during the run."""
        s = self.setup
        out: dict[str, Any] = {"p": s.p}
        if s.projection is not None and not isinstance(s.projection.metric, str):
            out["weights"] = s.projection.weights(self.system.nv)
        elif s.projection is not None and s.projection.metric == "euclidean":
            out["weights"] = 1.0
        if s.baumgarte is not None:
            out["baumgarte"] = s.baumgarte.alpha, s.baumgarte.beta
        if chart is not None:
            out["directions"], out["reference"] = chart.directions, chart.reference
        return out

    # --- total rates --------------------------------------------------------------------------------------------

    def integrated(self, state: State) -> np.ndarray:
        """Velocities that are integrated, (nv,): v or its total rates."""
        formulation = self.setup.formulation
        if formulation not in TOTAL_RATES:
            return state.v
        return self.system.diagonal.total_rates(state, normalized=formulation == "total_rates", p=self.setup.p)

    def _seen(self, function: Bound) -> Bound:
        """A controller, or events, as the loop calls it: of q and v whatever is integrated."""
        formulation, system = self.setup.formulation, self.system
        if formulation not in TOTAL_RATES:
            return function
        convert = Bound.of(system.kernel(f"joint_rates{TOTAL_RATES[formulation]}"), {"p": self.setup.p})
        struct = JointRates(nq=system.nq, nv=system.nv, given=function.nx, inner=function, convert=convert)
        x, y = np.zeros(function.nx), np.zeros(function.ny)
        return Bound.around(library.address("in_joint_rates"), x, y, struct, function.time_index, function.owner)

    def velocities(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """v, (N, nv), of what was integrated."""
        if self.setup.formulation not in TOTAL_RATES or not len(q):
            return rates
        kernel = self.system.kernel(f"joint_rates{TOTAL_RATES[self.setup.formulation]}")
        known = {"q": np.ascontiguousarray(q), "dq": np.ascontiguousarray(rates), "p": self.setup.p}
        return kernel.batch(*(known[name] for name in kernel.names_in))


def measured_rows(system: System, rows: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The rows that tell how near a run by these rows is to a singular position; None: all of them."""
    return rows if len(system.rows.of) > MANY else None
