"""A formulation as a right-hand side for integrators: state in, q̇ and v̇ out, called by its address like a kernel.

    field(x, y, w)     x  the arguments of the traced function "equations"
                       y  q̇, v̇, powers, health (2), then rank, largest and smallest singular value, outcome
                       w  head (below), what "equations" returns, its work, and the workspace of the formulation

Health is the squared ratio of the smallest to the largest singular value and 1. Both are 0 where the rank is below the
usual one in the head, and −1 where the equations were not solved.
With Baumgarte's constants α and β the constraints are asked for as A v̇ + γ + 2α(A v + b) + β²Φ = 0 (Spencer 3.8).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.compiler.loops import machine_code
from dalembert.formulations import load
from dalembert.formulations.contract import Options, work_size

#: places in the head of w; addresses and sizes are whole numbers that doubles hold exactly
ADDRESS, NX, NY, NW, NQ, NV, ROWS, POWERS, DRIVEN = 0, 1, 2, 3, 4, 5, 6, 7, 8
METRIC, TOLERANCE, SAFETY, THRESHOLD, DAMP, VARIANT, FLOOR, ALPHA, BETA, USUAL = 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
ROOM = 19  # of w in all
HEAD = 20
EVIDENCE = 4  # numbers after the health


@cache
def field_address(name: str) -> int:
    """The address of a formulation's `field`, compiled when first asked for."""

    def make() -> tuple[Any, tuple[Any, ...]]:
        from dalembert.formulations.native_field import as_entry

        return as_entry(load(name).field)

    package = Path(__file__).parent.parent
    return machine_code(f"formulation '{name}'", (package / "formulations", package / "linalg"), make)


def field_work(equations: Any, system: Any, rows: int, powers: int, driven: bool, options: Options) -> np.ndarray:
    """The array w for a field over the kernel "equations", with neither metric weights nor Baumgarte's constants."""
    w = np.zeros(HEAD + equations.y_size + equations.work_size + work_size(system.nv, rows))
    w[ROOM] = len(w)
    w[ADDRESS] = equations.address
    w[NX], w[NY], w[NW] = max(1, equations.x_size), equations.y_size, equations.work_size
    w[NQ], w[NV], w[ROWS], w[POWERS], w[DRIVEN] = system.nq, system.nv, rows, powers, driven
    w[METRIC : FLOOR + 1] = options
    return w


def parts_of(w: np.ndarray) -> Any:
    """The workspace inside w, for filling in a metric or a choice of coordinates."""
    from dalembert.formulations.work import carve

    block = w[HEAD + int(w[NY]) + int(w[NW]) :]
    return carve.py_func(block, int(w[NV]), int(w[ROWS]), None, None, None, None)
