"""What a native loop calls: kernels, formulations and callbacks, all by address with (x, y, w).

Python holds `Parts`; native code is given `packed(parts)`, one record with the addresses of its arrays. A record is one
pointer to Numba, where the tuple would be two hundred arguments of every function that passes it on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

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


CALLED = np.dtype([(name, float if name in ("healthy", "shortest", "size") else int) for name in Called._fields])
PARTS = np.dtype([(name, CALLED) for name in Parts._fields])


def packed(parts: Parts) -> Any:
    """For native code, as long as `parts` lives."""
    return np.array(tuple(_row(f) for f in parts), PARTS)[()]


def packed_call(f: Called) -> Any:
    """One of them alone."""
    return np.array(_row(f), CALLED)[()]


def _row(f: Called) -> tuple[Any, ...]:
    given, out, work = (a.__array_interface__["data"][0] for a in (f.given, f.out, f.work))
    return f.address, given, f.place, out, work, *f[5:]
