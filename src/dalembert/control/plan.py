"""A planned motion: states, accelerations and inputs at knots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.checks import number
from dalembert.control.trajectories import Trajectory, piecewise
from dalembert.errors import unknown


@dataclass(frozen=True, eq=False)
class MotionPlan:
    """A motion with the inputs that make it, at N + 1 times; inputs are linear in between.

    Called with (t, state) it gives the inputs, so that it can be simulated; the state is not used.
    """

    t: np.ndarray  # (N + 1,)
    q: np.ndarray  # (N + 1, nq)
    v: np.ndarray  # (N + 1, nv)
    a: np.ndarray  # (N + 1, nv) v̇
    u: np.ndarray  # (N + 1, nu)
    cost: float  # what was minimized: ∫Σ(u/scale)² dt, or the duration
    effort: float  # ∫Σ(u/scale)² dt
    residual: float  # largest violation of the collocated equations
    slip: float  # ‖ν‖∞ of the velocities Aᵀν across the manifold that the polynomials needed
    iterations: int
    status: str  # IPOPT's
    system: Any
    p: Any

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
    def duration(self) -> float:
        """s."""
        return float(self.t[-1] - self.t[0])

    def state(self, k: int) -> Any:
        """The state at a knot."""
        return self.system.state(self.q[k], self.v[k], float(self.t[k]))

    def __call__(self, t: float, state: Any = None) -> np.ndarray:
        return np.array([np.interp(t, self.t, row) for row in self.u.T])

    def held(self, period: float) -> Callable[[float, Any], np.ndarray]:
        """The inputs for a digital controller: the mean over the period that begins at t."""
        period = number(period, "period", above=0.0)

        def inputs(t: float, state: Any = None) -> np.ndarray:
            return self(t + period / 2)

        return inputs

    def reference(self, *names: str) -> Trajectory:
        """The motion of coordinates as a trajectory: quintic pieces between the values and derivatives at knots."""
        layout, h = self.system.layout, np.diff(self.t)
        scalar = {
            n: k
            for joint, a in layout.joints.items()
            if a.joint.nq == a.joint.nv
            for n, k in zip(layout.q_names[layout.q_slice(joint)], range(self.system.nv)[layout.v_slice(joint)])
        }
        for name in names:
            if name not in scalar:
                raise unknown("coordinate", name, scalar)
        X = self.q[:, [self.system.q_names.index(n) for n in names]]
        V, A = (y[:, [scalar[n] for n in names]] for y in (self.v, self.a))
        h = h[:, None]
        d, d0, d1 = X[1:] - X[:-1] - h * V[:-1] - h**2 / 2 * A[:-1], V[1:] - V[:-1] - h * A[:-1], A[1:] - A[:-1]
        c3 = (10 * d - 4 * h * d0 + h**2 / 2 * d1) / h**3
        c4 = (-15 * d + 7 * h * d0 - h**2 * d1) / h**4
        c5 = (6 * d - 3 * h * d0 + h**2 / 2 * d1) / h**5
        return piecewise(self.t, np.stack([X[:-1], V[:-1], A[:-1] / 2, c3, c4, c5], axis=1), names)

    def simulate(self, *, hold: float | None = None, **options: Any) -> Any:
        """Run the inputs in `da.simulate` from the start, and return the run: the proof of the plan."""
        from dalembert.simulation.simulate import simulate

        period = self.duration / max(1000, 10 * len(self.t)) if hold is None else hold
        return simulate(
            self.system, self.state(0), self.duration, u=self.held(period), hold=period, p=self.p, **options
        )

    def __repr__(self) -> str:
        return f"<plan of '{self.system.name}' over {self.duration:.6g} s: cost {self.cost:.6g}; {self.message}>"
