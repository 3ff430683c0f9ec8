"""The functions of a run for some constraint rows and a chart: right-hand sides, landings, the gauge of rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.charts import LocalChart
from dalembert.formulations import make_field, make_gauge, make_landing, make_whitening
from dalembert.native.bound import NOTHING, Bound
from dalembert.rank import RankPolicy
from dalembert.simulation.large import make_large_slope
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.setup import TOTAL_RATES, Setup
from dalembert.simulation.state_units import quaternion_places
from dalembert.system.equation_rows import is_large
from dalembert.system.formulation_options import formulation_options
from dalembert.system.system import System

if TYPE_CHECKING:
    from dalembert.compiler import Kernel

UNEQUAL = 10.0  # ratio of usual lengths of rows from which they are looked at one by one
MANY = 60  # constraint rows of which as many as the rank are measured, and no others, near a singular position


def measured_rows(system: System, rows: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The rows that tell how near a run by these rows is to a singular position; None: all of them."""
    return rows if len(system.rows.of) > MANY else None


class RunEquations:
    """Right-hand sides, and what brings states back to the manifold, of runs with one setup."""

    def __init__(self, setup: Setup, policy: RankPolicy) -> None:
        self.setup, self.system, self.policy = setup, setup.system, policy

    def ordinary(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Stepper:
        """The right-hand side and the method that were asked for."""
        s = self.setup
        if s.named:
            watched = s.formulation in ("nullspace", "admissible", "projection", "partition") and not s.method.fixed
            usual = self.usual_rank(rows) if watched else 0
            ode = self.formulation(s.formulation, s.options, rows, usual)
        elif self.in_loops(chart):
            ode = self.formulation("nullspace", {}, None, self.usual_rank(rows))
        else:
            ode = self.bound(self._field_kernel(rows, chart), chart, 0)
        count = self.system.nq + self.system.nv if chart is None else 2 * chart.dof
        return Stepper(ode, s.method, s.method.make(count), {})

    def in_loops(self, chart: LocalChart | None) -> bool:
        """Whether steps solve the equations of all rows in loops: straight-line code of a dense elimination is long."""
        s = self.setup
        plain = s.projection is None or (
            not s.projection.energy
            and s.projection.weights(s.system.nv) is None
            and s.projection.directions != "frozen"
        )
        return plain and s.formulation == "auto" and chart is None and s.baumgarte is None and self.system.rows.dense

    def formulation(
        self, name: str, options: Mapping[str, Any], rows: tuple[int, ...] | None, usual: int, precise: Any = None
    ) -> Bound:
        """A formulation over the kernel "equations"; rows that depend on others for good are left out.

        precise: rows in twice the precision, as of `make_field`.
        """
        limit = self.policy.near**2 if usual else -0.5
        chosen = {**formulation_options(self.system, name, self.setup.p, rows=rows, **options), "usual_rank": usual}
        return self._field(name, self.unsolved(rows), rows, chosen, precise).trust(limit, limit)

    def unsolved(self, rows: tuple[int, ...] | None) -> Kernel | Bound:
        """The equations of these rows before they are solved."""
        return self.system.kernel("equations", rows=rows)

    def sparse_formulation(self, options: Mapping[str, Any]) -> Bound:
        """The null-space formulation of all rows over the kernel "sparse_equations", in the mass metric."""
        return self._field(None, self.system.kernel("sparse_equations"), None, self.sparse_options(options, None))

    def _field(
        self,
        name: str | None,
        kernel: Kernel | Bound,
        rows: tuple[int, ...] | None,
        options: dict[str, Any],
        precise: Any = None,
    ) -> Bound:
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
            led=bool(system.description.prescribed),
            options=options,
            baumgarte=(0.0, 0.0) if baumgarte is None else (baumgarte.alpha, baumgarte.beta),
            precise=precise,
        )

    def sparse_options(self, options: Mapping[str, Any], rows: tuple[int, ...] | None) -> dict[str, Any]:
        """Fields of a `SparseProblem` of these rows by name."""
        return {"sizes": self._usual(rows).copy(), "tolerance": options["tolerance"], "floor": options["floor"]}

    def _field_kernel(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Any:
        s, system = self.setup, self.system
        if s.formulation in TOTAL_RATES:
            return system.kernel(f"diagonal_ode{TOTAL_RATES[s.formulation]}")
        if chart is not None:
            return chart.ode_kernel(rows)
        return system.kernel("ode" if s.baumgarte is None else "ode_baumgarte", rows=rows)

    def slope(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> Bound:
        """The exact Jacobian, where there is one: of the natural equations, with inputs that do not depend on x."""
        s = self.setup
        steered = s.controller is not None and s.period == 0.0
        if not s.method.implicit or steered or s.formulation != "auto" or s.baumgarte is not None:
            return NOTHING
        large = is_large(self.system)
        if chart is None:
            if large:
                return make_large_slope(self.system, rows, s.p)
            return self.bound(self.system.kernel("ode_slope", rows=rows), None, 0)
        if not chart.leaders or large:
            return NOTHING
        from dalembert.linearization.plan import linear_kernel

        return self.bound(linear_kernel(self.system, chart.leaders, rows=rows), None, 0)

    def gauge(self, rows: tuple[int, ...] | None, known: Bound) -> Bound:
        """How near constraints are to dependent: all of them, or these rows where there are many.

        known: the gauge in use, which serves other rows too where all are measured.
        """
        system, measured = self.system, measured_rows(self.system, rows)
        if measured is None and known.owner is not None and known.owner.rank == self.usual_rank(rows):
            return known
        values, sizes = self.values(None), self._usual(measured)
        if system.rows.dense:
            chosen = range(len(system.rows.of)) if measured is None else measured
            whitened = make_whitening(
                system.kernel("equations"), values,
                nq=system.nq, nv=system.nv, powers=self.plain_powers, rows=chosen, sizes=sizes,
            )  # fmt: skip
        else:
            whitened = Bound.of(system.kernel("whitened_rows", rows=measured), {**values, "sizes": sizes})
        return make_gauge(whitened, nv=system.nv, rows=self.usual_rank(measured), rank=self.usual_rank(rows))

    def manifold(self, rows: tuple[int, ...] | None, chart: LocalChart | None) -> dict[str, Bound]:
        """The functions that bring a state back to the manifold."""
        out = dict.fromkeys(("correct", "filter", "restore", "energies", "recover"), NOTHING)
        (holonomic, m), project, system = self.sizes(rows), self.setup.projection, self.system
        if chart is not None:
            out["recover"] = self.bound(chart.recover_kernel(rows), chart, chart.dof + holonomic, 0.0)
        elif project is not None and project.energy:
            out["restore"] = self.bound(system.kernel("restore", rows=rows), None, holonomic + m + 1)
        elif project is not None and self.in_loops(chart):
            out["correct"], out["filter"] = (self._nearest(name, rows) for name in ("position", "velocity"))
        elif project is not None:
            weighted = project.weights(system.nv) is not None
            kind, frozen = "_weighted" if weighted else "", "_frozen" if project.directions == "frozen" else ""
            shortest = 0.0 if weighted else None
            out["correct"] = self.bound(system.kernel(f"correct{frozen}{kind}", rows=rows), None, holonomic, shortest)
            out["filter"] = self.bound(system.kernel(f"filter{kind}", rows=rows), None, m, shortest)
        return out

    def _nearest(self, name: str, rows: tuple[int, ...] | None) -> Bound:
        """The nearest position or velocity on the manifold of all rows, as many of which are independent as `rows`."""
        s, system, chosen = self.setup, self.system, None
        if name == "position" and not system.rows.holonomic.all():
            chosen = tuple(np.flatnonzero(system.rows.holonomic).tolist())
        usual = self.sizes(rows)[0 if name == "position" else 1]
        options = {**formulation_options(system, "nullspace", s.p, rows=chosen), "usual_rank": usual}
        limit = self.policy.near**2
        return make_landing(
            name, system.kernel("equations", rows=chosen), system.kernel("plus"), self.values(None),
            nq=system.nq, nv=system.nv, rows=self.usual_rank(chosen), powers=self.plain_powers, options=options,
            rounding=4e-16 * self.policy.length, turns=quaternion_places(system), unit=True,
        ).trust(limit, limit)  # fmt: skip

    # --- sizes and values ------------------------------------------------------------------------------------------

    def usual_rank(self, rows: tuple[int, ...] | None) -> int:
        """Rank of the constraints away from singular positions."""
        return len(self.system.rows.of if rows is None else rows)

    def _usual(self, rows: tuple[int, ...] | None) -> np.ndarray:
        """Usual lengths of these rows in the mass metric."""
        return self.policy.sizes if rows is None else self.policy.sizes[list(rows)]

    @property
    def unequal(self) -> bool:
        """Whether usual lengths of rows differ so much that the shortest does not tell of the others."""
        sizes = self.policy.sizes
        return bool(len(sizes) and sizes.max() > UNEQUAL * sizes.min())

    @property
    def plain_powers(self) -> int:
        """Powers among the outputs of the equations; that of drivers needs multipliers."""
        return len([name for name in self.system.work_names if name != "drivers"])

    def sizes(self, rows: tuple[int, ...] | None) -> tuple[int, int]:
        """Holonomic rows, and all rows."""
        holonomic = self.system.rows.holonomic
        kept = holonomic if rows is None else holonomic[list(rows)]
        return int(kept.sum()), len(kept)

    def bound(self, kernel: Any, chart: LocalChart | None, rows: int, min_length: float | None = None) -> Bound:
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
