"""The functions of segments in a mode, as selections from the program with all rows: nothing is traced or compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.charts import LocalChart
from dalembert.formulations import make_gauge, make_landing
from dalembert.formulations import mode_rows as native
from dalembert.formulations.mode_rows import ModeRows, mode_field, mode_whitened
from dalembert.native.bound import NOTHING, Bound
from dalembert.rank import RankPolicy
from dalembert.simulation.equations import RunEquations, measured_rows
from dalembert.simulation.hybrid.mode_data import ModeData, Rows
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.state import Numbers
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.setup import Setup
from dalembert.simulation.state_units import quaternion_places

if TYPE_CHECKING:
    from dalembert.compiler import Kernel


def is_selected(setup: Setup) -> bool:
    """Whether segments of a setup run on selected rows: others are traced for each mode."""
    system, project = setup.system, setup.projection
    assert isinstance(system, PhaseSystem)
    plain = project is None or not (project.energy or project.directions == "frozen" or not _of_mass(project.metric))
    return system.kernels.selected_from is not None and plain and setup.method.kernel is None


def _of_mass(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "mass"


class ModeEquations(RunEquations):
    """Right-hand sides, projections and guards of segments in a mode; numbers: of the mode."""

    def __init__(self, setup: Setup, policy: RankPolicy, numbers: Numbers) -> None:
        super().__init__(setup, policy)
        assert isinstance(setup.system, PhaseSystem)
        self.data = ModeData(setup.system, setup.p, numbers, setup.baumgarte)
        self.phase, self.whole, self.chosen, self.p = setup.system, self.data.whole, self.data.chosen, self.data.p

    # --- functions -------------------------------------------------------------------------------------------------

    def ordinary(self, rows: Rows, chart: LocalChart | None) -> Stepper:
        s = self.setup
        if s.named:
            return super().ordinary(rows, chart)
        ode = self.free() if self.is_free else mode_field(self.data.rows(rows))
        return Stepper(ode.trust(*self.trusted(rows)), s.method, s.method.make(self.system.nq + self.system.nv), {})

    @property
    def is_free(self) -> bool:
        """Whether nothing holds or slides in the mode."""
        return not self.chosen and not self.phase.loses and self.setup.baumgarte is None

    def free(self) -> Bound:
        """The right-hand side of a mode in which nothing holds or slides."""
        return Bound.of(self.whole.kernel("ode", rows=()), self.values(None))

    def trusted(self, rows: Rows) -> tuple[float, float]:
        """Limits of the margins of the right-hand side below which it is not trusted."""
        limit = self.policy.near**2 if self.usual_rank(rows) else -0.5
        return limit, limit

    def unsolved(self, rows: Rows) -> Kernel | Bound:
        plain = ModeData(self.phase, self.setup.p, self.data.numbers)  # `field` adds Baumgarte's terms
        return native.mode_equations(plain.rows(rows))

    @property
    def unequal(self) -> bool:
        return True  # the margin of the right-hand side is one of all rows together

    def slope(self, rows: Rows, chart: LocalChart | None) -> Bound:
        return NOTHING  # by differences

    def gauge(self, rows: Rows, known: Bound) -> Bound:
        measured = measured_rows(self.system, rows)
        if measured is None and known.owner is not None and known.owner.rank == self.usual_rank(rows):
            return known
        return make_gauge(
            mode_whitened(self.data.rows(measured, bare=True)),
            nv=self.system.nv, rows=self.usual_rank(measured), rank=self.usual_rank(rows),
        )  # fmt: skip

    def manifold(self, rows: Rows, chart: LocalChart | None) -> dict[str, Bound]:
        out = dict.fromkeys(("correct", "filter", "restore", "energies", "recover"), NOTHING)
        if self.setup.projection is not None:
            out["correct"], out["filter"] = self._landing("position", rows), self._landing("velocity", rows)
        return out

    def _landing(self, name: str, rows: Rows) -> Bound:
        """The nearest position or velocity on the constraints."""
        rows = self.landing_rows(name, rows)
        return (
            self.landing(name, self.data.rows(rows, bare=True), rows)
            if self.usual_rank(rows)
            else self.free_landing(name)
        )

    def landing_rows(self, name: str, rows: Rows) -> Rows:
        """The rows that positions, or velocities, are brought back to."""
        if name == "velocity":
            return rows
        own = range(len(self.chosen)) if rows is None else rows
        return tuple(k for k in own if self.system.rows.holonomic[k])

    def free_landing(self, name: str) -> Bound:
        """That of no rows: quaternions are made unit."""
        kernel = self.whole.kernel("correct" if name == "position" else "filter", rows=())
        return Bound.of(kernel, self.values(None)).trust(0.0, 0.0)

    def landing(self, name: str, mode: ModeRows, rows: Rows) -> Bound:
        """The nearest position or velocity on the rows that are in `mode`."""
        system = self.system
        bound = make_landing(
            name, native.mode_equations(mode), self.whole.kernel("plus"), {}, nq=system.nq, nv=system.nv,
            rows=self.usual_rank(rows), powers=mode.own_powers, options=self.data.options(rows),
            rounding=4e-16 * self.policy.length, turns=quaternion_places(system), unit=True,
        )  # fmt: skip
        return bound.trust(self.policy.tolerance**2, 0.0)  # a factorization that reveals the rank

    def values(self, chart: LocalChart | None) -> dict[str, Any]:
        return {**super().values(chart), "p": self.p}
