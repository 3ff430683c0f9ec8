"""Bounds: what stops a position from one side: limits of joints, contacts, ropes.

    slack(q, t) ≥ 0                                                                                             (1)

Slacks are radians and lengths of the mechanism, as everything in `dragging`.
"""

from __future__ import annotations

import numpy as np

from dalembert.analysis.limits import joint_limits
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.system.system import System

ROOM, TOUCH = 1e-9, 1e-6  # a slack as small as this is none: of limits, of contacts, which are not linear


class PositionBounds:
    """The bounds of a system's positions. reach: (nv,) 1 of angles, else the length of the mechanism."""

    def __init__(self, system: System, reach: np.ndarray, length: float):
        self.low, self.high = joint_limits(system)
        places = [(v, system.q_names.index(n)) for v, n in enumerate(system.v_names) if n in system.q_names]
        limits = [(v, i, x, sign) for x_of, sign in ((self.low, 1.0), (self.high, -1.0)) for v, i in places
                  if np.isfinite(x := x_of[v])]  # fmt: skip
        self.contacts = tuple(system.layout.mechanism.contacts.values())
        self.limits = len(limits)
        self.names = [system.v_names[v] for v, *_ in limits] + [c.name for c in self.contacts]
        self.told = [f"the limit of {n}" for n in self.names[: self.limits]]
        self.told += [f"{c.kind} '{c.name}'" for c in self.contacts]
        self.room = np.array([ROOM] * self.limits + [TOUCH] * len(self.contacts))
        self._index = np.array([i for _, i, _, _ in limits], dtype=int)
        self._at, self._sign = (np.array([x[k] for x in limits]) for k in (2, 3))
        self._unit = reach[[v for v, *_ in limits]]
        self._limit_rows = np.zeros((len(limits), system.nv))
        self._limit_rows[range(len(limits)), [v for v, *_ in limits]] = self._sign
        if self.contacts:
            touching = Changeable.of(system).everything
            self._kernel = touching.kernel("constraints")
            self._gaps = [touching.rows.names.index(f"{c.name}.gap") for c in self.contacts]
            self._units = np.array([1.0 if c.angular else length for c in self.contacts])
            self._reach, self._nv = reach, system.nv

    def __len__(self) -> int:
        return len(self.names)

    def at(self, q: np.ndarray, p: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """(slacks, (n,), and their rows, (n, nv)) at a position."""
        slack, rows = self._sign * (q[self._index] - self._at) / self._unit, self._limit_rows
        if not self.contacts:
            return slack, rows
        given = {"q": q, "p": p, "t": t}
        phi, A, _ = self._kernel(*(given[name] for name in self._kernel.names_in))
        A = np.asarray(A).reshape(-1, self._nv)[self._gaps] * self._reach / self._units[:, None]
        return np.concatenate([slack, np.asarray(phi).ravel()[self._gaps] / self._units]), np.vstack([rows, A])
