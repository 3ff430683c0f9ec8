"""A planned motion: states, accelerations and inputs at knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.analysis.at_states import StateRows, state_rows
from dalembert.analysis.motion_columns import motion_columns
from dalembert.checks import keywords, number, whole
from dalembert.control.trajectories import Trajectory, piecewise
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import hinted
from dalembert.protocols import Parameters
from dalembert.simulation.results.powers import Powers
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run


@hinted
@dataclass(frozen=True, eq=False)
class MotionPlan(Powers):
    """A motion with the inputs that make it, at N + 1 times; inputs are linear in between."""

    t: np.ndarray  # (N + 1,)
    q: np.ndarray  # (N + 1, nq)
    v: np.ndarray  # (N + 1, nv)
    a: np.ndarray  # (N + 1, nv) v̇
    u: np.ndarray  # (N + 1, nu)
    cost: float  # the minimum: ∫Σ(u/scale)² dt and the user's cost, or the duration
    effort: float  # ∫Σ(u/scale)² dt
    residual: float  # largest violation of the collocated equations
    slip: float  # ‖ν‖∞ of the velocities Aᵀν across the manifold that the polynomials needed
    iterations: int
    status: str  # IPOPT's
    system: System
    p: Parameters  # of the mechanism, as given

    @property
    def success(self) -> bool:
        """Whether the solver converged."""
        return self.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")

    @property
    def message(self) -> str:
        """The outcome as a sentence."""
        if self.success:
            return f"found in {self.iterations} iterations, equations hold to {self.residual:.1e}"
        reasons = {
            "Infeasible_Problem_Detected": "no motion near the guess keeps the limits; loosen limits or give more time",
            "Maximum_Iterations_Exceeded": "the solver did not finish; raise max_iterations or give a better guess",
        }
        return reasons.get(self.status, f"the solver ended with {self.status}")

    @property
    def vdot(self) -> np.ndarray:
        """(N + 1, nv) accelerations at the knots: a."""
        return self.a

    @property
    def multipliers(self) -> np.ndarray:
        """(N + 1, rows) of the constraint rows `system.row_names`, N or N m; the shortest where rows are redundant."""
        return self._dynamics[1]

    def _records(self) -> StateRows:
        return state_rows(self.system, self.q, self.v, self.u, self.p, self.t)

    @property
    def duration(self) -> float:
        """Time from the first knot to the last, s."""
        return float(self.t[-1] - self.t[0])

    def state(self, k: int) -> State:
        """The state at knot k, 0 … N; negative k count from the end."""
        if not -len(self.t) <= whole(k, "k") < len(self.t):
            raise ArgumentError(f"k is {k}; the plan has knots 0 … {len(self.t) - 1}.")
        x = self.system.state(self.q[k], self.v[k], float(self.t[k]))
        return self.system.arguments.belonging(x, self.p, self.u[k])

    def __call__(self, t: float, state: State | None = None) -> np.ndarray:
        """The inputs, (nu,), at the time t (s), for simulation; the state is not used."""
        t = number(t, "t")
        return np.array([np.interp(t, self.t, row) for row in self.u.T])

    def sampled(self, period: float) -> Callable[[float, State | None], np.ndarray]:
        """A controller u(t, state) for sampled inputs: their mean over the period (s) that begins at t."""
        period = number(period, "period", above=0.0)

        def inputs(t: float, state: State | None = None) -> np.ndarray:
            return self(t + period / 2)

        return inputs

    def reference(self, *names: str) -> Trajectory:
        """The motion of coordinates as a trajectory: quintic pieces between the values and derivatives at knots.

        names: of coordinates, not quaternions.
        """
        layout, h = self.system.layout, np.diff(self.t)
        scalar = {q: layout.v_names.index(v) for q, v in layout.scalar_rates.items()}
        for name in names:
            if not isinstance(name, str) or name not in scalar:
                raise unknown("coordinate", name, scalar)
        if not names:
            raise ArgumentError("a reference needs the name of at least one coordinate.")
        X = self.q[:, [self.system.q_names.index(n) for n in names]]
        V, A = (y[:, [scalar[n] for n in names]] for y in (self.v, self.a))
        h = h[:, None]
        d, d0, d1 = X[1:] - X[:-1] - h * V[:-1] - h**2 / 2 * A[:-1], V[1:] - V[:-1] - h * A[:-1], A[1:] - A[:-1]
        c3 = (10 * d - 4 * h * d0 + h**2 / 2 * d1) / h**3
        c4 = (-15 * d + 7 * h * d0 - h**2 * d1) / h**4
        c5 = (6 * d - 3 * h * d0 + h**2 / 2 * d1) / h**5
        return piecewise(self.t, np.stack([X[:-1], V[:-1], A[:-1] / 2, c3, c4, c5], axis=1), names)

    def simulate(self, *, period: float | None = None, **options: Any) -> Run:
        """Run the inputs in `da.simulate` from the start, and return the run: the proof of the plan.

        period: sampling period of the inputs, s; default: a thousandth of the duration or less. options: those of
        `da.simulate`.
        """
        from dalembert.simulation.simulate import simulate

        known = [name for name in signature(simulate).parameters if name not in ("system", "state", "t", "u", "p")]
        keywords(options, known, "options of MotionPlan.simulate", of="simulate")
        default = self.duration / max(1000, 10 * len(self.t))
        period = default if period is None else number(period, "period", above=0.0)
        return simulate(
            self.system, self.state(0), self.duration, u=self.sampled(period), period=period, p=self.p, **options
        )

    def _columns(self) -> Columns:
        """Over t: q, v, vdot and u at the knots."""
        values, units = motion_columns(self.system, self.q, self.v, self.u, self.a)
        return Columns(self.system.name, "t", self.t, values, {"t": "s", **units})

    def __repr__(self) -> str:
        return f"<plan of '{self.system.name}' over {self.duration:.6g} s: cost {self.cost:.6g}; {self.message}>"
