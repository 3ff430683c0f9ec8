"""A formulation as a right-hand side for integrators: state in, q̇ and v̇ out, called by its address like a kernel.

    field(x, y, w)     x  the arguments of the traced function "equations"
                       y  q̇, v̇, powers, health (2), then rank, largest and smallest singular value, outcome
                       w  head (below), what "equations" returns, its work, and the workspace of the formulation

Health is the squared ratio of the smallest to the largest singular value and 1. Both are 0 where the rank is below the
usual one in the head, and −1 where the equations were not solved.
With Baumgarte's constants α and β the constraints are asked for as A v̇ + γ + 2α(A v + b) + β²Φ = 0 (Spencer 3.8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, cfunc, types

from dalembert.compiler.call import call_kernel
from dalembert.formulations.contract import LARGEST, OK, RANK, SMALLEST, Options, carve, views, work_size
from dalembert.linalg import inner

#: places in the head of w; addresses and sizes are whole numbers that doubles hold exactly
ADDRESS, NX, NY, NW, NQ, NV, ROWS, POWERS, DRIVEN = 0, 1, 2, 3, 4, 5, 6, 7, 8
METRIC, TOLERANCE, SAFETY, THRESHOLD, DAMP, VARIANT, FLOOR, ALPHA, BETA, USUAL = 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
HEAD = 19
EVIDENCE = 4  # numbers after the health

_pointer = types.CPointer(types.float64)
_compiled: dict[str, Any] = {}


def field_address(name: str, field: Any) -> int:
    """The address of a formulation's `field`, compiled when first asked for."""
    if name not in _compiled:
        _compiled[name] = cfunc(types.void(_pointer, _pointer, _pointer), cache=True)(field)
    return _compiled[name].address


def field_work(equations: Any, system: Any, rows: int, powers: int, driven: bool, options: Options) -> np.ndarray:
    """The array w for a field over the kernel "equations", with neither metric weights nor Baumgarte's constants."""
    w = np.zeros(HEAD + equations.y_size + equations.work_size + work_size.py_func(system.nv, rows))
    w[ADDRESS] = equations.address
    w[NX], w[NY], w[NW] = max(1, equations.x_size), equations.y_size, equations.work_size
    w[NQ], w[NV], w[ROWS], w[POWERS], w[DRIVEN] = system.nq, system.nv, rows, powers, driven
    w[METRIC : FLOOR + 1] = options
    return w


def parts_of(w: np.ndarray) -> Any:
    """The workspace inside w, for filling in a metric or a choice of coordinates."""
    block = w[HEAD + int(w[NY]) + int(w[NW]) :]
    return carve.py_func(block, int(w[NV]), int(w[ROWS]), None, None, None, None)


@views
def _work(w):
    """The workspace of the formulation inside w; M, f, A and γ stand where "equations" puts them."""
    nq, n, m, powers = int(w[NQ]), int(w[NV]), int(w[ROWS]), int(w[POWERS])
    a = HEAD + nq + powers
    M, a = w[a : a + n * n].reshape((n, n)), a + n * n
    f, a = w[a : a + n], a + n
    A, a = w[a : a + m * n].reshape((m, n)), a + m * n
    gamma = w[a : a + m]
    return carve(w[HEAD + int(w[NY]) + int(w[NW]) :], n, m, M, f, A, gamma)


@views
def equations(x, w):
    """Evaluate the equations of motion at x; returns the workspace and the options of the formulation."""
    ny = int(w[NY])
    out = w[HEAD : HEAD + ny]
    call_kernel(int(w[ADDRESS]), x, out, w[HEAD + ny : HEAD + ny + int(w[NW])])  # type: ignore[call-arg]
    work = _work(w)
    m = int(w[ROWS])
    at = ny - 3 * m  # Φ, A v + b, b
    if w[ALPHA] != 0.0 or w[BETA] != 0.0:
        for i in range(m):
            work.gamma[i] += 2.0 * w[ALPHA] * out[at + m + i] + w[BETA] ** 2 * out[at + i]
    options = Options(int(w[METRIC]), w[TOLERANCE], w[SAFETY], w[THRESHOLD], w[DAMP], int(w[VARIANT]), w[FLOOR])
    return work, options


@inner
def answer(work, outcome, y, w):
    """Lay out q̇, v̇, the powers and the evidence in y."""
    nq, n, m, powers = int(w[NQ]), int(w[NV]), int(w[ROWS]), int(w[POWERS])
    for i in range(nq):
        y[i] = w[HEAD + i]
    for i in range(n):
        y[nq + i] = work.vdot[i]
    at = nq + n
    for i in range(powers):
        y[at + i] = w[HEAD + nq + i]
    at += powers
    if w[DRIVEN] != 0.0:  # λ · A v = −λ · b
        y[at] = 0.0
        for i in range(m):
            y[at] -= work.multipliers[i] * w[HEAD + int(w[NY]) - m + i]
        at += 1
    y[at] = y[at + 1] = 1.0
    if work.gauge[LARGEST] > 0.0:
        y[at] = (work.gauge[SMALLEST] / work.gauge[LARGEST]) ** 2
    if outcome != OK:
        y[at] = y[at + 1] = -1.0
    elif work.info[RANK] < w[USUAL]:
        y[at] = y[at + 1] = 0.0
    y[at + 2], y[at + 5] = work.info[RANK], outcome
    y[at + 3], y[at + 4] = work.gauge[LARGEST], work.gauge[SMALLEST]


@views
def arrays(x, y, w):
    """The three pointers of a field as arrays."""
    head = carray(w, HEAD)
    nq, n, m = int(head[NQ]), int(head[NV]), int(head[ROWS])
    room = HEAD + int(head[NY]) + int(head[NW]) + work_size(n, m)
    size = nq + n + int(head[POWERS]) + int(head[DRIVEN]) + 2 + EVIDENCE
    return carray(x, int(head[NX])), carray(y, size), carray(w, room)
