"""Linear models of large mechanisms: the equations varied along one small motion after another, several in lanes.

With δy_q, δy_v, δu and δt given, and C, K, D as in `traced`,

    [C_q; A_h] δq = [δy_q; −b δt],   [C_v; A] δv = [δy_v; 0] − ∂[C_v v; A v + b] along (δq, δt)            (1)
    [M −Aᵀ; A 0] [δv̇; δλ] = −∂[e₁; e₂] along (δq, δv, δu, δt),  v̇ and λ held                              (2)
    δẏ_q = C_q δv + ∂(C_q v) − B δq,   δẏ_v = C_v δv̇ + ∂(C_v v̇ + …)                                       (3)

∂ is one forward sweep through the recursions, and (1) and (2) are solved by the sparse factors that accelerations use:
a motion takes a few times the operations of an acceleration, however large the mechanism is. Unit vectors of
(δy_q, δy_v, δu, δt) give Â, B and the time column. Code grows as N, time as N times the degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.linearization.frame import CoordinateFrame
from dalembert.recursions.newton_euler import newton_euler
from dalembert.recursions.sparse import Sparse
from dalembert.symbols import array, symbols, to_sx, zeros
from dalembert.system.functions import Trace
from dalembert.system.jacobian_rows import tangent_map
from dalembert.system.rows import RowChoice
from dalembert.system.system import System

LANES = 8  # motions computed at once
NAMES = ("dq", "dv", "rates", "rate", "margin")  # the last two are the same for all motions


class LargeModel:
    """The compiled linear model of a large mechanism in given coordinates; called with q, v, u, p and t by name."""

    def __init__(
        self,
        system: System,
        velocities: Sequence[Coordinate],
        more: Sequence[Coordinate] = (),
        rows: RowChoice = None,
    ):
        v, q = list(velocities), [*velocities, *more]
        key = ("linear_motion", rows, tuple(c.key for c in v), tuple(c.key for c in more))
        arguments = ("q", "v", "a", "lam", "u", "p", "t", "along")
        lanes = LANES if system.backend == "native" else 1
        self.answer = system.kernel("answer", rows=rows)
        self.kernel = system.kernels.custom(key, arguments, lambda s: Varied(s, q, v).outputs, rows, NAMES, lanes)
        self.known = {"tau": np.zeros(system.nv), "along": np.eye(self.kernel.n_in[-1])}
        self.nq, self.n = len(q), len(q) + len(v)

    def __call__(self, given: Mapping[str, Any]) -> tuple[np.ndarray, ...]:
        """The outputs `traced.NAMES`."""
        known, nq, n = {**self.known, **given, "t": np.atleast_1d(given["t"])}, self.nq, self.n
        vdot, lam, _, evidence, _ = self.answer(*map(known.__getitem__, self.answer.names_in))
        known["a"], known["lam"] = vdot, lam
        dq, dv, rates, rate, margin = self.kernel.batch(*map(known.__getitem__, self.kernel.names_in))
        A, B = np.ascontiguousarray(rates[:n].T), rates[n:-1].T
        return (
            A, B, rates[-1], rate[0], dq[:nq].T, dv[nq:n].T, dv[:nq].T, dq[-1], dv[-1], vdot, lam,
            np.concatenate([evidence[:2], margin[0]]),
        )  # fmt: skip


class Varied:
    """The equations at a traced state, their coordinates, and their change along a small motion."""

    def __init__(self, s: Trace, positions: list[Coordinate], velocities: list[Coordinate]):
        self.s, self.positions, self.velocities = s, positions, velocities
        #: rows of the coordinates that are functions of the state
        self.functions = {c.key: c.row.rows(s.state)[0] for c in positions if c.row is not None}
        holonomic = [k for k, row in enumerate(s.rows.rows) if row.holonomic]
        weights = s.led.factor().inverse
        self.v = self._frame(velocities, s.rows.sparse, weights)
        same = len(holonomic) == len(s.rows.of) and positions == velocities
        self.q = self.v if same else self._frame(positions, s.rows.only(holonomic).sparse, weights)
        self.moved = s.rows.only(holonomic).b

    def _frame(self, chosen: list[Coordinate], A: Sparse, weights: Sequence[Any]) -> CoordinateFrame:
        rows = [self.functions[c.key].A for c in chosen if c.row is not None]
        return CoordinateFrame(chosen, Sparse(rows, self.s.tree.nv), A, weights)

    @property
    def outputs(self) -> tuple[Any, ...]:
        """δq, δv and the change of the rates along a motion; the rates, and the margins of the frames."""
        s = self.s
        rate = [s.v[c.index] if c.row is None else self._speed(c) for c in self.positions]
        rate += [s.a[c.index] if c.row is None else self._acceleration(c) for c in self.velocities]
        margin = np.array([self.v.small.margin, self.q.small.margin], dtype=object)
        return *self._motion(), np.array(rate, dtype=object), margin

    def _motion(self) -> tuple[Any, ...]:
        """(1) to (3)."""
        s, n, inputs = self.s, len(self.positions), self.s.sx["u"].numel()
        s.sx["along"], along = symbols("along", n + len(self.velocities) + inputs + 1)
        by_q, by_v, du, dt = np.split(along, np.cumsum([n, len(self.velocities), inputs]))
        A, m, nv = s.rows.sparse, len(s.rows.of), s.tree.nv
        dq = self.q.motion(by_q, -self.moved * dt[0])
        seen = [self._speed(c) for c in self.positions if c.row is not None]
        change = self._along([*(A @ s.v + s.rows.b), *seen], {"q": dq, "t": dt})
        speeds, by_function = change[:m], dict(zip(self.functions, change[m:]))
        own = array([by_function.get(c.key, 0.0) for c in self.velocities])
        dv = self.v.motion(by_v - own, -speeds)  # (1)
        s.sx["lam"], lam = symbols("lam", m)
        e1 = newton_euler(s.at, s.a, s.d.gravity, s.load.wrenches) - s.load.tau - A.transposed_times(lam)
        e1[s.led.places] = s.a[s.led.places] - s.led.accelerations
        felt = [self._acceleration(c) for c in self.velocities if c.row is not None]
        change = self._along([*e1, *(A @ s.a + s.rows.gamma), *felt], {"q": dq, "v": dv, "u": du, "t": dt})
        e1, e2, others = change[:nv], change[nv : nv + m], iter(change[nv + m :])
        dvdot, *_ = s.led.solve(-e1, A, e2, -e1[s.led.places])  # (2)
        turned = zeros(nv)
        for link in s.tree.links:
            if link.joint.nq != link.joint.nv:
                turned[link.v] = link.joint.transport(s.v[link.v]) @ dq[link.v]
        rates = [
            dv[c.index] - turned[c.index] if c.row is None else self._times(c, dv) + by_function[c.key]
            for c in self.positions
        ]
        rates += [dvdot[c.index] if c.row is None else self._times(c, dvdot) + next(others) for c in self.velocities]
        return dq, dv, np.array(rates, dtype=object)  # (3)

    def _speed(self, c: Coordinate) -> Any:
        return self._times(c, self.s.v) + self.functions[c.key].b

    def _acceleration(self, c: Coordinate) -> Any:
        return self._times(c, self.s.a) + self.functions[c.key].gamma

    def _times(self, c: Coordinate, x: np.ndarray) -> Any:
        return sum((a * x[k] for k, a in self.functions[c.key].A.items()), 0.0)

    def _along(self, values: Sequence[Any], motion: Mapping[str, np.ndarray]) -> np.ndarray:
        """The change of values as the state moves; other symbols in them do not change."""
        if not len(values):
            return zeros(0)
        s = self.s
        moved = {name: to_sx(x) for name, x in motion.items() if len(x)}
        moved["q"] = tangent_map(s) @ moved["q"]
        change = ca.jtimes(to_sx(array(values)), ca.vertcat(*map(s.sx.__getitem__, moved)), ca.vertcat(*moved.values()))
        return array(ca.densify(change)).reshape(-1)
