"""A function y = f(x; c) with the four programs that its derivatives are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dalembert.export.differentiable.program import LaneProgram, lanes_for
from dalembert.forks import held_over_forks

#: parts (2 with tangents), whether it is the adjoint, lanes
Maker = Callable[[int, bool, int], LaneProgram]


class DifferentiableFunction:
    """y, (ny,), of x, (nx,), and of c, (nc,), which is not differentiated; made of machine code as it is needed.

    Inputs and outputs of its programs:

        forward     x, c → y                           x, δx, c → y, δy
        adjoint     x, c, [y,] w → x̄                   x, δx, c, [y, δy,] w, δw → x̄, δx̄

    with y only where `needs_output`.
    """

    def __init__(self, name: str, nx: int, nc: int, ny: int, needs_output: bool, make: Maker) -> None:
        self.name, self.nx, self.nc, self.ny, self.needs_output = name, nx, nc, ny, needs_output
        self._make, self._made = make, dict[tuple[int, bool, int], LaneProgram]()
        self._lock = held_over_forks(threading.Lock())

    def program(self, count: int, *, tangents: bool = False, adjoint: bool = False) -> LaneProgram:
        """The program for a number of states."""
        key = (2 if tangents else 1, adjoint, lanes_for(count))
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(*key)
            return self._made[key]

    def sizes(self, parts: int, adjoint: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes of the inputs and outputs of a program."""
        x, y = (self.nx,) * parts, (self.ny,) * parts
        if not adjoint:
            return (*x, self.nc), y
        return (*x, self.nc, *(y if self.needs_output else ()), *y), x
