"""A chart of one system around one configuration: Ψ, its inverse and its derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.charts.equations import MORE, local_rates, recover, tracing
from dalembert.charts.leaders import Coordinate
from dalembert.charts.newton import ITERATIONS, follow, reach
from dalembert.charts.point import ChartPoint
from dalembert.compiler import Kernel
from dalembert.errors import ArgumentError
from dalembert.protocols import Inputs, Parameters, StateGiven
from dalembert.system.rows import RowChoice
from dalembert.system.state import State
from dalembert.system.stepping import DRIVE, STATE, ode
from dalembert.system.system import System
from dalembert.system.trace import Trace

CLOSED = 1e-8  # of y: the last Newton step that may count as the end


@dataclass(frozen=True, eq=False)
class LocalChart:
    """Independent coordinates y and velocities w of a system around a state; made by `system.chart`.

    (q, v) = Ψ(y, w). Usually w = ẏ. Where velocities have less freedom than positions (nonholonomic constraints) w are
    some of ẏ, and with velocities of the user's own w = C(q) v. Every function checks that y and w are independent
    where it is asked, (2.27) and (2.28), and says which of these fails, and by how much. In all methods
    state: a `State`, a mapping of names to positions, or q (nq,).
    """

    system: System
    p: Parameters  # of the system
    key: tuple[Any, ...]  # (kind, …), equal for charts with equal equations
    names: tuple[str, ...]  # (dof,) of y
    R: Callable[[Trace, ca.SX, ca.SX, ca.SX], Any]  # of a trace, y, directions (dof, nv), reference (nq,)
    start: np.ndarray  # (dof,) y of the reference
    directions: np.ndarray  # (dof · nv,) rows of a tangent chart; others do not use them
    reference: np.ndarray  # (nq,) where it was made
    time: float  # s
    selected: tuple[int, ...]  # y whose rates are w, where w is not the user's own
    velocities: Callable[[ca.SX], np.ndarray] | None = None  # C(q), (speeds, nv)
    speed_names: tuple[str, ...] = ()  # (speeds,) of w
    leaders: tuple[Coordinate, ...] = ()  # of a named chart with w = ẏ

    @property
    def kind(self) -> str:
        """Kind of the chart: "named", "tangent" or "custom"."""
        return self.key[0]

    @property
    def dof(self) -> int:
        """Number of coordinates y."""
        return len(self.start)

    @property
    def speeds(self) -> int:
        """Number of independent velocities w."""
        return len(self.speed_names)

    @property
    def plain(self) -> bool:
        """Whether w = ẏ."""
        return self.velocities is None and self.speeds == self.dof

    # --- Ψ and its inverse --------------------------------------------------------------------------------------

    def state(
        self,
        y: ArrayLike,
        rate: ArrayLike | None = None,
        guess: StateGiven | None = None,
        t: float | None = None,
        tolerance: float = 1e-12,
    ) -> State:
        """Ψ(y, w), the state with these coordinates, on the branch of the guess; see `newton` for how it is found.

        y: (dof,). rate: w, (speeds,); zero velocity where it is left out. guess: a state to start from, by default the
        reference. t: its time, s, by default that of the guess. tolerance: of the positions, in rad and in lengths of
        the mechanism. Raises AssemblyError where the chart ends before y.
        """
        y, tolerance = self._vector(y, self.dof, "y"), checks.number(tolerance, "tolerance", above=0.0)
        begin = self.system.state(self.reference, t=self.time) if guess is None else guess
        x, _ = self.system.arguments.begin(begin, self.p)
        x = follow(self, y, x, x.t if t is None else checks.number(t, "t"), tolerance)
        if rate is None:
            return x.replace(v=np.zeros(self.system.nv))
        return x.replace(v=self._checked(x, y).velocity(self._vector(rate, self.speeds, "rate")))

    def coordinates(self, state: StateGiven, guess: ArrayLike | None = None) -> np.ndarray:
        """Ψ⁻¹: y of a state, (dof,), by Newton's method on R(q, y) = 0 from `guess` (default: y of the reference)."""
        x, _, _ = self.system.arguments.resolve(state, None, self.p)
        y = self.start if guess is None else self._vector(guess, self.dof, "guess")
        size = 0.0
        for _ in range(ITERATIONS if self.dof else 0):
            at = ChartPoint(self, x, y)
            if not np.isfinite(at.still["R"]).all():
                raise ArgumentError("R(q, y) is not finite for this state; give a nearer guess of y.")
            at.check_coordinates()
            step = np.linalg.solve(at.still["D2"], at.still["R"])
            y = y - step
            size = float(np.abs(step).max() / (1 + np.abs(y).max()))
            if size <= 1e-14:
                break
        if not size <= CLOSED:
            raise ArgumentError("Newton's method finds no y with R(q, y) = 0 for this state; give a nearer guess.")
        return y

    def rate(self, state: StateGiven) -> np.ndarray:
        """w of a `state`, (speeds,): ẏ = −D₂R⁻¹ D₁R v, or the velocities that lead in its place."""
        return self._checked(state).w

    def carried(self, state: StateGiven) -> np.ndarray:
        """(2 dof,) y and w of a `state` as a simulation carries them, zeros behind where w is shorter than y."""
        at = self._checked(state)
        return np.concatenate([at.y, at.w, np.zeros(self.dof - self.speeds)])

    def units(self, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(dof,) and (speeds,) how much y and w change by motions of the size of `units`, (nv,), at the reference."""
        e = ChartPoint(self, self.system.state(self.reference, t=self.time), self.start).still
        changes = np.linalg.solve(e["D2"], e["D1"] * units), np.linalg.solve(e["S2"], e["S1"] * units)
        y, w = (np.abs(x).max(axis=1, initial=0.0) for x in changes)
        return np.where(y > 0, y, 1.0), np.where(w > 0, w, 1.0)

    # --- the local state-space form -----------------------------------------------------------------------------

    def right_hand_side(
        self, t: float, y: ArrayLike, u: Inputs = None, guess: StateGiven | None = None, tolerance: float = 1e-12
    ) -> np.ndarray:
        """f̂(t, (y, w)), (dof + speeds,): the rates (ẏ, ẇ) of the local state-space form (2.16).

        t: s. y: (dof + speeds,) the coordinates and the independent velocities, one behind the other, as ODE solvers
        carry them. u: inputs, by name or (nu,). guess, tolerance: as those of `state`. What any solver makes of f̂
        satisfies the constraints (2.17). `simulate(coordinates=…)` runs the same equations as machine code.
        """
        both = self._vector(y, self.dof + self.speeds, "y")
        x = self.state(both[: self.dof], both[self.dof :], guess, checks.number(t, "t"), tolerance)
        return ChartPoint(self, x, both[: self.dof]).rates(self.system.acceleration(x, u=u, p=self.p).vdot)

    # --- derivatives --------------------------------------------------------------------------------------------

    def K(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv, dof) ∂Ψ/∂y of the positions at a state (2.44), in small motions δ of q ⊕ δ; y: by default its own."""
        return self._checked(state, y).K

    def K_speed(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv, speeds) ∂v/∂w at a state; the same as `K` where w = ẏ. y: by default that of the state."""
        return self._checked(state, y).K_speed

    def K_rate(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv, speeds) rate of `K_speed` along the velocity of a state (2.40); y: by default that of the state.

        v̇ = K ẇ + K̇ w, where nothing is driven.
        """
        return self._checked(state, y).K_rate

    def bias(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(nv,) v̇ at ẇ = 0: K̇ w (2.45) and what drivers ask for, so that v̇ = K_speed ẇ + bias.

        y: by default that of the state.
        """
        return self._checked(state, y).bias

    def derivative(self, state: StateGiven, y: ArrayLike | None = None) -> np.ndarray:
        """(2 nv, dof + speeds) DΨ at a state: small motions (δ, δv) by changes of (y, w) (2.40).

        [K 0; ∂v/∂y K_speed], and ∂v/∂y = K̇ where nq = nv, w = ẏ and nothing is driven. y: by default that of the state.
        """
        return self._checked(state, y).derivative

    # --- how good it is -----------------------------------------------------------------------------------------

    def condition(self, state: StateGiven, y: ArrayLike | None = None) -> float:
        """Condition number of [∂R/∂q; A], rows of unit length in the mass metric: infinite where the chart ends.

        y: by default that of the state. Velocities that lead by themselves count too.
        """
        return ChartPoint(self, *self._at(state, y)).condition

    def reach(self, direction: ArrayLike | None = None) -> Any:
        """How far y can go from the reference so that Newton's method from there still contracts (2.3.1).

        direction: (dof,) a change of y; the answer is how many times it can be made, infinite where that never fails.
        By default each coordinate alone is moved, both ways, and the answer is (dof,), the shorter way of each.
        """
        if direction is not None:
            d = self._vector(direction, self.dof, "direction")
            if not d.any():
                raise ArgumentError("direction is zero; needed: a change of y.")
            return reach(self, d)
        return np.array([min(reach(self, e), reach(self, -e)) for e in np.eye(self.dof)])

    # --- kernels of a simulation --------------------------------------------------------------------------------

    def ode_kernel(self, rows: RowChoice) -> Kernel:
        """The right-hand side by elimination with ẏ and ẇ, on some `rows` of the constraints (None: all)."""
        value = tracing(self, lambda s, chart: ode(s, chart))
        return self.system.kernels.custom(("ode", self.key), (*STATE, *MORE, *DRIVE), value, rows)

    def recover_kernel(self, rows: RowChoice) -> Kernel:
        """q and v from y and w: one Newton step, on some `rows` of the constraints (None: all)."""
        value = tracing(self, recover)
        return self.system.kernels.custom(("recover", self.key), (*STATE, *MORE, "p", "t"), value, rows)

    def rates(self, s: Trace, moving: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """ẏ and ẇ, (2 dof,), of a trace s; moving: q̇ there, vdot: v̇."""
        return local_rates(s, self, vdot)

    # --- helpers ------------------------------------------------------------------------------------------------

    def _at(self, state: StateGiven, y: ArrayLike | None) -> tuple[State, np.ndarray]:
        x, _, _ = self.system.arguments.resolve(state, None, self.p)
        return x, self.coordinates(x) if y is None else self._vector(y, self.dof, "y")

    def _checked(self, state: StateGiven, y: ArrayLike | None = None) -> ChartPoint:
        at = ChartPoint(self, *self._at(state, y))
        at.check()
        return at

    def _vector(self, x: ArrayLike, n: int, what: str) -> np.ndarray:
        return checks.vector(np.atleast_1d(checks.array(x, None, what)), n, what)

    def __reduce__(self) -> tuple[Any, ...]:
        """By its description; functions of the user's own stay behind."""
        from dalembert.charts.record import recorded, restored

        return restored, (self.system, self.p, recorded(self))

    def __repr__(self) -> str:
        leading = "" if self.plain else f", velocities {', '.join(self.speed_names)}"
        return f"<{self.kind} chart of '{self.system.name}': {', '.join(self.names)}{leading}>"
