"""The operating point of a linear model, and the motion of the whole mechanism that goes with its states."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from dalembert.charts.leaders import Coordinate
from dalembert.lazy import cached_property
from dalembert.mechanism.joints.joint import Joint
from dalembert.mechanism.traced import TracedState
from dalembert.protocols import Parameters, StateGiven
from dalembert.symbols import array, to_sx
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.system.trace import Trace


@dataclass(frozen=True, eq=False)
class Operating:
    """The state a linear model was made at, and the motion of all joints: δq = Kq y_q, δv = Dv y_q + Kv y_v."""

    system: System
    state: State
    u: np.ndarray  # (inputs,)
    p: Parameters
    names: tuple[str, ...]  # of all states, positions first
    coordinates: tuple[Coordinate, ...]  # of the positions
    speeds: tuple[Coordinate, ...]  # of the velocities
    Kq: np.ndarray  # (nv, positions)
    Kv: np.ndarray  # (nv, velocities)
    Dv: np.ndarray  # (nv, positions)
    vdot: np.ndarray  # (nv,)
    multipliers: np.ndarray  # (rows used,)
    rows: tuple[int, ...] | None  # the rows used where some are redundant
    condition: float  # of the constraints, the worse of them and of the choice of coordinates

    @cached_property
    def _plain(self) -> bool:
        """Whether all coordinates are numbers that are subtracted: no quaternions."""
        return all(type(a.joint).minus is Joint.minus for a in self.system.layout.joints.values())

    def deviation(self, state: StateGiven) -> np.ndarray:
        """(states,) differences of the named coordinates from this state's."""
        system, x = self.system, self.system.arguments.bare(state)
        delta = x.q - self.state.q if self._plain else system.minus(x.q, self.state.q)
        out = [delta[c.index] if c.index is not None else None for c in self.coordinates]
        out += [x.v[c.index] - self.state.v[c.index] if c.index is not None else None for c in self.speeds]
        if any(value is None for value in out):
            n, here, there = (
                len(self.coordinates),
                self._functions(x),
                self._functions(system.arguments.bare(self.state)),
            )
            for k, c in enumerate((*self.coordinates, *self.speeds)):
                if c.index is None:
                    difference = here[c.name][int(k >= n)] - there[c.name][int(k >= n)]
                    if k < n and c.angular:
                        difference = (difference + np.pi) % (2 * np.pi) - np.pi
                    out[k] = difference
        return np.array(out, dtype=float)

    def traced_deviation(self, s: TracedState) -> ca.SX:
        """`deviation` of a traced state, as an expression; p of this operating point where it depends on p."""
        n, x = len(self.coordinates), self.system.arguments.bare(self.state)
        joints = self.system.layout.joints
        parts = [a.joint.minus(s.q(name), array(x.q[self.system.layout.q_slice(name)])) for name, a in joints.items()]
        delta = np.concatenate(parts) if parts else np.zeros(0)
        there = self._functions(x) if any(c.index is None for c in (*self.coordinates, *self.speeds)) else {}
        out = []
        for k, c in enumerate((*self.coordinates, *self.speeds)):
            if c.index is not None:
                out.append(to_sx([delta[c.index] if k < n else s.at.v[c.index] - x.v[c.index]]))
                continue
            assert c.row is not None  # a function of the positions
            row = c.row.rows(s)[0]
            value = row.phi if k < n else row.times(s.at.v) + row.b
            difference = to_sx([value - there[c.name][int(k >= n)]])
            out.append(ca.atan2(ca.sin(difference), ca.cos(difference)) if k < n and c.angular else difference)
        return ca.vertcat(*out)

    def _functions(self, x: State) -> dict[str, tuple[float, float]]:
        """Value and rate of the coordinates that are functions of the state."""
        chosen = list({c.name: c for c in (*self.coordinates, *self.speeds) if c.index is None}.values())

        def value(s: Trace) -> tuple[np.ndarray, np.ndarray]:
            rows = [c.row.rows(s.state)[0] for c in chosen if c.row is not None]
            values, speeds = np.empty(len(rows), dtype=object), np.empty(len(rows), dtype=object)
            for k, row in enumerate(rows):
                values[k], speeds[k] = row.phi, row.times(s.v) + row.b
            return values, speeds

        key = ("coordinates", *(c.key for c in chosen))
        kernel = self.system.kernels.custom(key, ("q", "v", "p", "t"), value, None, ("value", "speed"))
        values, speeds = self.system.kernels.at(kernel, x, None, self.p, {})
        return {c.name: (float(a), float(b)) for c, a, b in zip(chosen, values, speeds)}
