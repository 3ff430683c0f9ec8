"""Layouts of plain runs, kept with their system, and their records: making them costs more than a short run.

A run takes a record out, so no two runs share one, and puts it back if it is laid out as at its start.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.integrators.run_record import RunRecord
from dalembert.native.bound import Bound
from dalembert.protocols import Parameters
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.setup import Choices, Span, make_setup
from dalembert.system.system import System

RECORDS = 4  # kept of a layout


@dataclass(eq=False)
class Spare:
    """A record as it was first laid out, for some constraint rows and no chart, and what tells whether it still is."""

    record: RunRecord
    rows: tuple[int, ...] | None  # None: all
    fresh: bytes  # of the record
    x: np.ndarray
    ode: Bound
    dense: Any = None  # for states between its records, once they were asked for

    @property
    def is_as_laid_out(self) -> bool:
        """Whether neither other rows nor a chart came into the record."""
        return self.record.x is self.x and self.record.ode is self.ode


def plain_layout(system: System, choices: Choices, span: Span, p: Parameters) -> RunLayout:
    """The layout of runs without functions of their own."""
    key: Any = choices, None if p is None else system.arguments.parameter_vector(p).tobytes()
    return system.memo(key, lambda: RunLayout(make_setup(system, choices, span, p)))


def lease(layout: RunLayout) -> Spare | None:
    """A record of an earlier run, as it was at first; None where there is none."""
    try:
        spare = layout.spare.pop()
    except IndexError:
        return None
    ctypes.memmove(spare.record.pointer, spare.fresh, len(spare.fresh))
    return spare


def give_back(layout: RunLayout, spare: Spare) -> None:
    """Keep the record of a run for the next one."""
    setup = layout.setup
    stateless = not (setup.named or setup.method.implicit or setup.method.kernel)
    if stateless and spare.is_as_laid_out and len(layout.spare) < RECORDS:
        layout.spare.append(spare)
