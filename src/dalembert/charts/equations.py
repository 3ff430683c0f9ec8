"""A chart's equations, traced: those of its positions, R(q, y) = 0, and of its velocities, S = S₁ v + S₂ w + S₀ = 0.

w = ẏ           S = D₁R v + D₂R ẏ + ∂R/∂t                                                                (2.26)
w = some of ẏ   those rows of it: nonholonomic constraints leave velocities less freedom than positions
w = C(q) v      S = C v − w: velocities of the user's own
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from dalembert.recursions.elimination import eliminate, mass_factor
from dalembert.symbols import array, minimum, to_sx, zeros
from dalembert.system.derivatives import EquationDerivatives
from dalembert.system.stepping import at_unit, given, moved, rates
from dalembert.system.trace import Trace

if TYPE_CHECKING:
    from dalembert.charts.local import LocalChart

MORE = ("y", "ydot", "directions", "reference")


class ChartEquations:
    """R and S of a chart at a trace, with their derivatives."""

    def __init__(self, s: Trace, chart: LocalChart):
        self.s, self.n, self.nv = s, chart.dof, s.tree.nv
        self.q, self.y, self.w = s.sx["q"], s.sx["y"], s.sx["ydot"][: chart.speeds, :]
        directions = ca.reshape(s.sx["directions"], self.nv, self.n).T
        R = ca.SX(ca.vertcat(*[chart.R(s, self.y, directions, s.sx["reference"])]))
        D1, D2 = self._by_delta(R), ca.jacobian(R, self.y)
        self.R, self.D1, self.D2 = self._of(R, self.n), self._of(D1, self.n, self.nv), self._of(D2, self.n, self.n)
        late = ca.jtimes(R, s.sx["t"], ca.SX(1))
        self.late = self._of(late, self.n)
        if chart.velocities is None:
            led = list(chart.selected)
            S1, S2, S0 = D1[led, :], D2[led, led], late[led, :]
        else:
            C = to_sx(chart.velocities(s.sx["q"]).reshape(-1))
            S1, S2, S0 = ca.reshape(C, self.nv, chart.speeds).T, -ca.SX.eye(chart.speeds), ca.SX.zeros(chart.speeds)
        k = chart.speeds
        self.S1, self.S2, self.S0 = self._of(S1, k, self.nv), self._of(S2, k, k), self._of(S0, k)
        self.speed = S1 @ s.sx["v"] + S2 @ self.w + S0

    def _of(self, x: Any, *shape: int) -> np.ndarray:
        return array(ca.densify(x)).reshape(shape)

    def _by_delta(self, f: ca.SX) -> ca.SX:
        """∂f(q ⊕ δ)/∂δ at δ = 0."""
        delta = ca.SX.sym("delta", self.nv)
        shifted = to_sx(self.s.per_joint(lambda j, k, v: j.plus(self.s.q[k], array(delta)[v])))
        return ca.substitute(ca.jacobian(ca.substitute(f, self.q, shifted), delta), delta, ca.SX.zeros(self.nv))

    def changed(self, X: np.ndarray) -> np.ndarray:
        """Ẋ along the motion. ẏ is w, or does not matter: then S₁ and S₂ are free of y."""
        ydot = ca.vertcat(self.w, ca.SX.zeros(self.n - self.w.numel()))
        along = ca.vertcat(to_sx(rates(self.s)), ydot, ca.SX(1))
        flat = ca.jtimes(ca.SX(to_sx(X.reshape(-1))), ca.vertcat(self.q, self.y, self.s.sx["t"]), along)
        return self._of(flat, *X.shape)

    @property
    def bias(self) -> np.ndarray:
        """Ṡ at v̇ = 0 and ẇ = 0."""
        return self.changed(self._of(self.speed, len(self.S1)))

    @property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """∂S/∂δ and ∂S/∂y."""
        k = len(self.S1)
        return self._of(self._by_delta(self.speed), k, self.nv), self._of(ca.jacobian(self.speed, self.y), k, self.n)


def tracing(chart: LocalChart, value: Callable[[Trace, LocalChart], Any]) -> Callable[[Trace], Any]:
    """A function of a trace that has the chart's own arguments."""

    def traced(s: Trace) -> Any:
        for name, n in zip(MORE, (chart.dof, chart.dof, chart.dof * s.tree.nv, s.tree.nq)):
            given(s, name, n)
        return value(s, chart)

    return traced


STILL = ("R", "D1", "D2", "S1", "S2", "S0")
MOVING = ("bias", "S1_rate", "S2_rate", "A_rate")


def still(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    """R, D₁R, D₂R, S₁, S₂ and S₀, in the order of `STILL`."""
    e = ChartEquations(s, chart)
    return e.R, e.D1, e.D2, e.S1, e.S2, e.S0


def moving(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    """Ṡ, Ṡ₁, Ṡ₂ and Ȧ, in the order of `MOVING`."""
    e = ChartEquations(s, chart)
    return e.bias, *(e.changed(X) for X in (e.S1, e.S2, s.rows.A))


def slopes(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    """∂S/∂δ, ∂S/∂y, and ∂(A v + b)/∂δ."""
    return *ChartEquations(s, chart).slopes, EquationDerivatives(s).speeds.q


def local_rates(s: Trace, chart: LocalChart, vdot: np.ndarray) -> np.ndarray:
    """ẏ and ẇ of a trace, (2 dof,), ẇ with zeros behind where w is shorter than y (2.45)."""
    e = ChartEquations(s, chart)
    wdot = e.S1 @ vdot + e.bias  # where S₂ = −1
    if chart.kind == "custom" and chart.velocities is None:
        wdot = array(ca.solve(to_sx(e.S2), to_sx(-wdot)))
    ydot = array(e.w)
    if not chart.plain:
        ydot = e.D1 @ s.v + e.late
        ydot = array(ca.solve(to_sx(e.D2), to_sx(-ydot))) if chart.kind == "custom" else ydot
    return np.concatenate([ydot.reshape(-1), wdot.reshape(-1), zeros(chart.dof - chart.speeds)])


def recover(s: Trace, chart: LocalChart) -> tuple[Any, ...]:
    """q and v from y and w: one Newton step, with the margin of the elimination."""
    tree, still, holonomic = mass_factor(s.at), zeros(s.tree.nv), s.rows.only_holonomic()
    e = ChartEquations(s, chart)
    gap = np.concatenate([e.R, holonomic.phi])
    delta, _, margin = eliminate(tree, still, np.vstack([e.D1, holonomic.A]), gap)
    wanted = np.concatenate([e.S2 @ array(e.w).reshape(-1) + e.S0, s.rows.b])
    v, _, other = eliminate(tree, still, np.vstack([e.S1, s.rows.A]), wanted)
    if not chart.plain:
        margin = np.array([minimum(a, b) for a, b in zip(margin, other)], dtype=object)
    return at_unit(s, moved(s, delta), v, gap, margin)
