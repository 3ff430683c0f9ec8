"""Interleaved minimum timing of several routes to one answer, and tables of what came out.

Every route is a function of a count that does its work that many times. Routes take turns for many short rounds and the
fastest round of each is kept: on a shared machine disturbances only ever add time, and taking turns they hit all alike.
The time is the processor's, so that waiting for one of the cores does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from timeit import Timer
from typing import Any

import numpy as np
from numba import njit

from dalembert.native.calls import jump
from dalembert.native.jit import OPTIONS

Loop = Callable[[int], Any]

# The options of kernels that Python calls.
native = njit(**{**OPTIONS, "no_cpython_wrapper": False})


@native
def _calls(count, function, x, y, w):
    for _ in range(count):
        jump(function, x, y, w)


def address_loop(function: int, x: int, y: int, w: int) -> Loop:
    """A compiled loop over a native function at an address."""
    return lambda count: _calls(count, function, x, y, w)


def python_loop(call: str, **names: Any) -> Loop:
    """A loop of Python over the expression `call`, without the cost of one more function call."""
    timer = Timer(call, globals=names)
    return timer.timeit


def room(size: int) -> np.ndarray:
    """At least one zero, from the beginning of a cache line: where NumPy puts an array is no part of a route."""
    block = np.zeros(max(1, size) + 7)
    start = -(block.ctypes.data // 8) % 8
    return block[start : start + max(1, size)]


def interleaved(routes: Mapping[str, Loop], rounds: int = 60, share: float = 2e-3) -> dict[str, float]:
    """Seconds of one evaluation for each route: minimum over `rounds` turns of about `share` seconds."""
    counts = {name: _count(loop, share) for name, loop in routes.items()}
    best = dict.fromkeys(routes, float("inf"))
    for _ in range(rounds):
        for name, loop in routes.items():
            start = process_time()
            loop(counts[name])
            best[name] = min(best[name], (process_time() - start) / counts[name])
    return best


def _count(loop: Loop, share: float) -> int:
    """How often in about `share` seconds; runs the loop first, which compiles and warms it."""
    loop(1)
    count = 1
    while True:
        start = process_time()
        loop(count)
        spent = process_time() - start
        if spent > 0.2 * share or count == 10_000_000:
            return max(1, round(count * share / spent))
        count = min(4 * count, 10_000_000)


@dataclass
class Table:
    """Rows of a report, printed aligned and kept as data."""

    title: str
    columns: Sequence[str]
    rows: list[list[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *row: Any) -> None:
        """One more row, as long as the columns."""
        assert len(row) == len(self.columns)
        self.rows.append(list(row))

    def text(self) -> str:
        """As Markdown, which is also readable."""
        cells = [list(self.columns), *([_cell(x) for x in row] for row in self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.columns))]

        def line(row: list[str]) -> str:
            first = row[0].ljust(widths[0])
            return "| " + " | ".join([first, *(x.rjust(w) for x, w in zip(row[1:], widths[1:]))]) + " |"

        rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])]) + "|"
        lines = [f"### {self.title}", "", line(cells[0]), rule, *map(line, cells[1:]), "", *self.notes]
        return "\n".join(lines).rstrip() + "\n"

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row)) for row in self.rows],
            "notes": self.notes,
        }


def _cell(x: Any) -> str:
    if x is None:
        return "–"
    if isinstance(x, float):
        if x == 0.0 or abs(x) < 1e-3:
            return f"{x:.0e}"
        return f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}"
    return str(x)


def versus(value: float, target: float, *, at_most: bool = False) -> str:
    """A figure against what is asked of it."""
    met = value <= target if at_most else value >= target
    return f"{value:.3g} ({'≤' if at_most else '≥'} {target:g}: {'met' if met else 'missed'})"
