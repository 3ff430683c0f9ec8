"""Independent coordinates as a user describes them, before there is a system or a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.charts.leaders import Given
from dalembert.errors import ArgumentError


@dataclass(frozen=True)
class Chart:
    """Independent coordinates y for `simulate(coordinates=...)` and `system.chart(...)`.

    coordinates: a list of names of joint coordinates, of the tree or cut, and of pairs (name, function of the state);
    "partition", the best of the tree's; "tangent", the admissible directions at the state; or a function R(q, y) of the
    coordinate vector q and of y, written in CasADi, with as many rows as y, that is zero where q has the coordinates y.
    start: for a function, y at the state, or a guess of it. velocities: independent velocities w that are not the rates
    of y: a list of names of velocities, or a function of q that gives a matrix C, (len(w), nv), with w = C(q) v.

    >>> import dalembert as da, casadi as ca
    >>> m = da.Mechanism("bead", gravity=(0, -9.81, 0))
    >>> slide = m.add_body("slide", mass=0.0)
    >>> bead = m.add_body("bead", mass=1.0)
    >>> m.add_joint("x", da.Prismatic("x"), m.ground, slide)
    >>> m.add_joint("y", da.Prismatic("y"), slide, bead)
    >>> m.add_rod("wire", m.ground, bead, length=1.0)
    >>> system = m.compile()
    >>> polar = da.Chart(lambda q, y: ca.sin(y) * q[0] - ca.cos(y) * q[1], [0.1])
    >>> run = da.simulate(system, system.assemble(guess={"x": 1.0, "y": 0.1}), 0.5, coordinates=polar)
    >>> run.success, run.y.shape == (len(run.t), 1)
    (True, True)
    """

    coordinates: str | Sequence[Given] | Callable[[ca.SX, ca.SX], Any]
    start: ArrayLike | None = None
    velocities: Sequence[str] | Callable[[ca.SX], Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.coordinates, (str, list, tuple)):
            if not callable(self.coordinates):
                raise ArgumentError(
                    f"coordinates is {checks.shown(self.coordinates)}; needed: names, 'partition', 'tangent', or a "
                    "function R(q, y)."
                )
            if self.start is None:
                raise ArgumentError("start is missing; needed: y of the state, or a guess of it, for your R(q, y).")
        elif self.start is not None:
            raise ArgumentError("start is y for a function R(q, y); names and directions find theirs: leave it out.")
        if self.start is not None:
            checks.vector(np.atleast_1d(checks.array(self.start, None, "start")), None, "start")
        if self.velocities is not None and not isinstance(self.velocities, (list, tuple)):
            checks.function(self.velocities, "velocities")
