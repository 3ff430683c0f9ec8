"""What a run calls, laid out for the native loop: kernels, formulation, controller, events, chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.charts import LocalChart
from dalembert.errors import unknown
from dalembert.formulations import FORMULATIONS
from dalembert.formulations.contract import MASS, Options
from dalembert.formulations.field import (
    ALPHA,
    BETA,
    EVIDENCE,
    FLOOR,
    METRIC,
    USUAL,
    field_address,
    field_work,
    parts_of,
)
from dalembert.integrators import numbers as N
from dalembert.integrators.called import Called, Parts
from dalembert.rank import rank_policy
from dalembert.simulation.stabilization import Baumgarte, Projection
from dalembert.system.constraints import _check_options

NEAR = 1e-4  # of the rows' usual size, and of the angle between rows: nearer to a singularity the rank is revealed
#: formulations that integrate total rates in place of velocities, and what their kernels are called by
TOTAL_RATES = {"total_rates": "", "total_rates_xi": "_xi"}
#: formulations that have no answer in a singular position
UNDEFINED = ("lagrange", "augmented")
CHART = 1e-2  # squared sine between the rows of a chart below which another one is taken
ALL_OPTIONS = ("metric", "variant", "tolerance", "floor", "safety", "damping", "independent")
#: those of "auto" are for its careful steps
OPTIONS = {"auto": ("tolerance", "floor", "safety", "damping"), **dict.fromkeys(TOTAL_RATES, ())}
NOTHING = Called(0, np.zeros(1), -1, np.zeros(1), np.zeros(1), 0, 0.0, 0.0)


class Engine:
    """The functions of a run and its numbers. `choose` lays them out for a set of rows and a chart."""

    def __init__(
        self,
        system: Any,
        p: Any,
        u: np.ndarray,
        stabilization: Projection | Baumgarte | None,
        formulation: str,
        options: Mapping[str, Any],
        own_step: Any,
        implicit: bool,
        rank: int,
        watched: bool,
    ):
        self.system, self.p, self.u = system, p, u
        self.stabilization, self.formulation, self.options = stabilization, formulation, dict(options)
        self.watched = watched  # whether a formulation by name hands over to careful steps near singular positions
        self.rank = rank  # of the constraints where they are not singular
        self.implicit = implicit  # whether the method asks for a Jacobian
        self.own_step = own_step  # name of the kernel of methods that have one, or None
        self.control = self.events = NOTHING
        self.size = rank_policy(system, p).size if system.rows.of else 0.0
        self.numbers, self.counts = np.zeros(N.NUMBERS), np.zeros(N.COUNTS, dtype=np.int64)
        self.works = len(system.work_names)
        self._careful: Called | None = None
        self._check()

    def choose(self, keep: tuple[int, ...] | None, chart: LocalChart | None) -> Parts:
        """Everything for these rows and this chart."""
        system, held = self.system, self.inputs.copy()
        self.keep, self.chart = keep, chart
        rows = system.rows if keep is None else system.rows.only(keep)
        holonomic, m = (int(rows.holonomic.sum()), len(rows.of)) if rows.of else (0, 0)
        recover = step = restore = correct = filter_ = NOTHING
        project = self.stabilization if isinstance(self.stabilization, Projection) else None
        if chart is not None:
            recover = self._called(chart.recover_kernel(keep), chart.dof + holonomic, 0.0)
        elif project is not None and project.energy:
            restore = self._called(system.kernel("restore", keep), holonomic + m + 1)
        elif project is not None:
            kind = "_weighted" if project.weights(system.nv) is not None else ""
            frozen = "_frozen" if project.directions == "frozen" else ""
            shortest = 0.0 if kind else None
            correct = self._called(system.kernel(f"correct{frozen}{kind}", keep), holonomic, shortest)
            filter_ = self._called(system.kernel(f"filter{kind}", keep), m, shortest)
        if self.own_step:
            step = self._called(system.kernel(self.own_step, keep), holonomic + system.nv)
        slope = self._slope()
        self.parts = Parts(self._field(), correct, filter_, restore, recover, self.control, self.events, step, slope)
        self._set_numbers(project)
        self.inputs[:] = held
        return self.parts

    @property
    def inputs(self) -> np.ndarray:
        """(nu,) what acts now."""
        if not hasattr(self, "parts"):
            return self.u
        at = int(self.numbers[N.U_AT])
        return self.parts.ode.given[at : at + len(self.u)]

    def careful(self) -> Parts:
        """The same with the null-space formulation, which reveals the rank; compiled when first needed."""
        if self._careful is None:
            settings = {"tolerance": NEAR, "floor": NEAR, **(self.options if self.formulation == "auto" else {})}
            self._careful = self._formulation("nullspace", settings, 0)
        at = self.place_of_careful_u
        self._careful.given[at : at + len(self.u)] = self.inputs
        return self.parts._replace(ode=self._careful)

    @property
    def place_of_careful_u(self) -> int:
        """Of the inputs in what the careful right-hand side is given."""
        return self._place_of_u(self.system.kernel("equations"))

    @property
    def named(self) -> bool:
        """Whether the right-hand side is one of the formulations by name."""
        return self.formulation != "auto" and self.formulation not in TOTAL_RATES

    # --- right-hand sides ---------------------------------------------------------------------------------------

    def _field(self) -> Called:
        if self.named:
            return self._formulation(self.formulation, self.options, self.rank if self.watched else 0, self.keep)
        return self._called(self.field_kernel, 0)

    def _slope(self) -> Called:
        """The exact Jacobian, where there is one: of the natural equations, with inputs that do not depend on x."""
        steered = self.control.address != 0 and self.numbers[N.HOLD] == 0.0
        natural = self.formulation == "auto" and not isinstance(self.stabilization, Baumgarte)
        if not self.implicit or steered or not natural:
            return NOTHING
        if self.chart is None:
            return self._called(self.system.kernel("ode_slope", self.keep), 0)
        if self.chart.kind != "named":
            return NOTHING
        from dalembert.linearization.coordinates import coordinate
        from dalembert.linearization.plan import linear_kernel

        chosen = [coordinate(self.system, name) for name in self.chart.names]
        return self._called(linear_kernel(self.system, chosen, rows=self.keep), 0)

    def _formulation(self, name: str, options: Mapping[str, Any], usual: int, keep: Any = None) -> Called:
        """A formulation's field over the kernel "equations"; options as for System.acceleration.

        Rows that depend on others for good are left out by `keep`: off the manifold, where stages are, they need not.
        """
        system, given = self.system, dict(options)
        threshold, damp = given.get("damping") or (0.0, 0.0)
        floor = given.get("floor", 1e-13) * self.size
        tolerance, safety, variant = given.get("tolerance", 1e-10), given.get("safety", 100.0), given.get("variant", 0)
        settings = Options(MASS, tolerance, safety, threshold, damp, variant, floor)
        equations, rows = system.kernel("equations", keep), len(system.rows.of if keep is None else keep)
        names = system.work_names
        powers = len([n for n in names if n != "drivers"])
        work = field_work(equations, system, rows, powers, "drivers" in names, settings)
        metric, factor = given.get("metric", "mass"), np.eye(system.nv)
        kind = system._metric(metric, factor)
        work[METRIC] = kind
        if kind != MASS:
            parts_of(work).metric[:] = factor
            work[FLOOR] = floor * self._in_other_units(factor)
        for name_ in given.get("independent", ()):
            parts_of(work).choice[system._velocity_index(name_)] = 1
        if isinstance(self.stabilization, Baumgarte):
            work[ALPHA], work[BETA] = self.stabilization.alpha, self.stabilization.beta
        work[USUAL] = usual
        out = np.zeros(system.nq + system.nv + self.works + 2 + EVIDENCE)
        filled, place = self._given(equations)
        healthy = NEAR**2 if usual else -0.5
        return Called(field_address(name), filled, place, out, work, 0, healthy, healthy)

    def _in_other_units(self, factor: np.ndarray) -> float:
        M = self.system.mass_matrix(self.system.state(), p=self.p)
        return float(np.sqrt(np.trace(M) / np.trace(factor.T @ factor)))

    # --- laying out ---------------------------------------------------------------------------------------------

    def _called(self, kernel: Any, rows: int, shortest: float | None = None) -> Called:
        filled, place = self._given(kernel)
        out, work = np.zeros(max(1, kernel.y_size)), np.zeros(max(1, kernel.work_size))
        limit = (NEAR * self.size) ** 2 if shortest is None else shortest
        return Called(kernel.address, filled, place, out, work, rows, NEAR**2, limit, self.size**2)

    def _given(self, kernel: Any) -> tuple[np.ndarray, int]:
        """The kernel's inputs with all that stays the same filled in, and the place of t."""
        x, at, place = np.zeros(max(1, kernel.x_size)), 0, -1
        for name, size in zip(kernel.names_in, kernel.n_in):
            if name == "t":
                place = at
            elif name not in ("q", "v", "y", "ydot", "q1", "delta", "energy", "step"):
                x[at : at + size] = self._constant(name)
            at += size
        return x, place

    def _constant(self, name: str) -> Any:
        s = self.stabilization
        if name == "p":
            return self.system._p(self.p)
        if name == "u":
            return self.u
        if name == "weights" and isinstance(s, Projection):
            return s.weights(self.system.nv)
        if name == "baumgarte" and isinstance(s, Baumgarte):
            return s.alpha, s.beta
        return getattr(self.chart, name)

    def _place_of_u(self, kernel: Any) -> int:
        at = 0
        for name, size in zip(kernel.names_in, kernel.n_in):
            if name == "u":
                return at
            at += size
        return 0

    def _set_numbers(self, project: Projection | None) -> None:
        n, system = self.numbers, self.system
        n[N.NQ], n[N.NV], n[N.WORKS], n[N.U] = system.nq, system.nv, self.works, len(self.u)
        n[N.DOF] = 0 if self.chart is None else self.chart.dof
        n[N.LENGTH] = system.layout.length
        n[N.TOLERANCE] = 1e-9 * min(1.0, n[N.LENGTH])
        n[N.U_AT] = self._place_of_u(self.field_kernel)
        needs = bool(system.rows.of) or system.nq != system.nv
        by_itself = self.chart is not None or self.own_step is not None
        n[N.EVERY] = 0 if project is None or by_itself or not needs else project.every
        if project is not None:
            n[N.MOST], n[N.FROZEN] = project.corrections, project.directions == "frozen"
            n[N.FILTER], n[N.RESTORE] = project.velocities, project.energy

    @property
    def field_kernel(self) -> Any:
        """The kernel behind the right-hand side."""
        if self.formulation in TOTAL_RATES:
            return self.system.kernel(f"diagonal_ode{TOTAL_RATES[self.formulation]}")
        if self.formulation != "auto":
            return self.system.kernel("equations")
        if self.chart is not None:
            return self.chart.ode_kernel(self.keep)
        name = "ode_baumgarte" if isinstance(self.stabilization, Baumgarte) else "ode"
        return self.system.kernel(name, self.keep)

    # --- total rates --------------------------------------------------------------------------------------------

    def integrated(self, state: Any) -> np.ndarray:
        """What of a state is integrated beside q: v, or its total rates."""
        if self.formulation not in TOTAL_RATES:
            return state.v
        return self.system.diagonal.total_rates(state, normalized=self.formulation == "total_rates", p=self.p)

    def velocities(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """(N, nv) v of what was integrated."""
        if self.formulation not in TOTAL_RATES or not len(q):
            return rates
        kernel = self.system.kernel(f"joint_rates{TOTAL_RATES[self.formulation]}")
        known = {"q": np.ascontiguousarray(q), "dq": np.ascontiguousarray(rates), "p": self.system._p(self.p)}
        return kernel.batch(*(known[name] for name in kernel.names_in))

    def _check(self) -> None:
        if self.formulation in TOTAL_RATES:
            self.system.diagonal.check()
        elif self.named and self.formulation not in FORMULATIONS:
            raise unknown("formulation", self.formulation, ["auto", *FORMULATIONS, *TOTAL_RATES])
        allowed = OPTIONS.get(self.formulation, ALL_OPTIONS)
        for name in self.options:
            if name not in allowed:
                raise unknown("option", name, allowed, f"formulation '{self.formulation}'")
        if self.named:
            _check_options(
                self.formulation,
                self.options.get("metric", "mass"),
                self.options.get("damping"),
                self.options.get("independent", ()),
            )
