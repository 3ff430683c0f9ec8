"""What a native loop calls: kernels, formulations and callbacks, all by address with (x, y, w)."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from dalembert.integrators.records import address

OK, UNHEALTHY, NOT_FINITE, CALLBACK, UNSOLVED = 0, 1, 2, 3, 4


class Called(NamedTuple):
    """A function by its address (0: there is none). Its inputs wait in `given`, filled but for state and time."""

    address: int
    given: np.ndarray
    place: int  # of t in given; −1 where it has none
    out: np.ndarray
    work: np.ndarray
    rows: int  # residuals it returns
    healthy: float  # squared sine between rows of constraints below which its elimination is not trusted
    shortest: float  # squared length of a row below which it is not
    size: float = 1.0  # squared length such a row usually has

    def at(self, t: float, x: np.ndarray) -> np.ndarray:
        """Its answer at time t and state x."""
        self.given[: len(x)] = x
        if self.place >= 0:
            self.given[self.place] = t
        _SIGNATURE(self.address)(address(self.given), address(self.out), address(self.work))
        return self.out

    def values(self) -> tuple[float, ...]:
        """For its record."""
        where, given, place, out, work, *rest = self
        if not where:  # nobody looks there
            return 0, 0, place, 0, 0, *rest
        return where, address(given), place, address(out), address(work), *rest


class Parts(NamedTuple):
    """All that a run calls."""

    ode: Called
    correct: Called
    filter: Called
    restore: Called
    recover: Called  # the state of a chart's coordinates
    control: Called
    events: Called
    step: Called  # of methods that have a kernel of their own
    slope: Called  # ∂ẋ/∂x of what is integrated; without it, differences


_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
