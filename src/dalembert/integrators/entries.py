"""The native loop as Python calls it: each function takes one record, and leaves its outcome in it.

Numba makes their machine code once on a machine (`loop`, `careful`); it is kept with that of the kernels, so that later
processes start without Numba.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.compiler.loops import machine_code
from dalembert.integrators.called import Called, Parts
from dalembert.integrators.records import layout, values

DONE, SINGULAR, TOO_SMALL, NOT_FINITE, FULL, DRIFTED, FAILED, EVENT, CHART_ENDS, NO_STEP = range(10)


class History(NamedTuple):
    """What a run remembers, and room to step in."""

    n: int
    rows: int
    stages: np.ndarray  # (rows, n)
    numbers: np.ndarray
    counts: np.ndarray
    room: int
    width: int
    times: np.ndarray  # (room,)
    states: np.ndarray  # (room, width)

    @staticmethod
    def of(stages: Any, numbers: Any, counts: Any, times: Any, states: Any) -> History:
        """With the sizes of its arrays."""
        (rows, n), (room, width) = stages.shape, states.shape
        return History(n, rows, stages, numbers, counts, room, width, times, states)


class Advance(NamedTuple):
    """Arguments of `loop.advance`, and of `careful.pass_singularity`."""

    parts: Parts
    ordinary: Called  # `careful` asks it whether it is sound again
    t: float
    end: float
    outcome: int
    history: History
    x: np.ndarray  # (n,)
    events: int
    marks: np.ndarray  # (2, events)
    passage: np.ndarray


class Fill(NamedTuple):
    """Arguments of `loop.fill`."""

    parts: Parts
    history: History
    asked: int
    wanted: np.ndarray  # (asked,)
    out: np.ndarray  # (asked, width)


def advance(
    method: Any, parts: Parts, t: float, end: float, x: np.ndarray, stages: np.ndarray, numbers: np.ndarray,
    counts: np.ndarray, times: np.ndarray, states: np.ndarray, marks: np.ndarray,
    ordinary: Called | None = None, passage: np.ndarray | None = None,
) -> tuple[int, float]:  # fmt: skip
    """From t to the end, a record a step; with `passage`, carefully until `ordinary` is sound. Gives (outcome, t)."""
    name = "advance" if passage is None else "pass_singularity"
    history = History.of(stages, numbers, counts, times, states)
    passed = numbers if passage is None else passage
    run = Advance(parts, ordinary or parts.ode, t, end, 0, history, x, marks.shape[1], marks, passed)
    done = _do(name, method, run)
    return int(done["outcome"]), float(done["t"])


def fill(
    method: Any, parts: Parts, times: np.ndarray, states: np.ndarray, wanted: np.ndarray, out: np.ndarray,
    stages: np.ndarray, numbers: np.ndarray, counts: np.ndarray,
) -> None:  # fmt: skip
    """out[i] ← the record at the time wanted[i]; see `loop.fill`."""
    history = History.of(stages, numbers, counts, times, states)
    _do("fill", method, Fill(parts, history, len(wanted), wanted, out))


def _do(name: str, method: Any, arguments: Any) -> Any:
    kinds: Any = type(method), type(arguments)
    record = np.array((values(method), values(arguments)), record_of(*kinds))
    _entry(name, *kinds)(record.ctypes.data)
    return record["run"]


@cache
def record_of(method: Any, arguments: Any) -> np.dtype:
    """A method and the arguments of a native function, as the function is given them."""
    return np.dtype([("method", layout(method)), ("run", layout(arguments))])


_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@cache
def _entry(name: str, method: Any, arguments: Any) -> Any:
    def make() -> tuple[Any, tuple[Any, ...]]:
        from numba import from_dtype

        from dalembert.integrators import careful, explicit, implicit, loop, variational  # noqa: F401  (all methods)

        function = {"advance": loop.advance, "fill": loop.fill, "pass_singularity": careful.pass_singularity}[name]
        return function, (from_dtype(record_of(method, arguments)),)

    package = Path(__file__).parent.parent
    what = f"simulation ({name}, {method.__name__})"
    return _SIGNATURE(machine_code(what, (package / "integrators", package / "linalg"), make))
