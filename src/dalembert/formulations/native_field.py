"""What a formulation's `field` does natively; see `field`."""

from __future__ import annotations

from typing import Any

from numba import njit, types

from dalembert.compiler.call import call_kernel
from dalembert.compiler.memory import array_at, matrix, vector
from dalembert.formulations.contract import LARGEST, OK, RANK, SMALLEST, Options
from dalembert.formulations.field import (
    ADDRESS,
    ALPHA,
    BETA,
    DAMP,
    DRIVEN,
    EVIDENCE,
    FLOOR,
    HEAD,
    METRIC,
    NQ,
    NV,
    NW,
    NX,
    NY,
    POWERS,
    ROOM,
    ROWS,
    SAFETY,
    THRESHOLD,
    TOLERANCE,
    USUAL,
    VARIANT,
)  # fmt: skip
from dalembert.formulations.work import carve, views
from dalembert.linalg import inner


def as_entry(field: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function to compile for `compiler.loops.machine_code`."""
    options: Any = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(error_model="numpy", **options)(field), (types.int64,) * 3


@views
def _work(w):
    """The workspace of the formulation inside w; M, f, A and γ stand where "equations" puts them."""
    nq, n, m, powers = int(w[NQ]), int(w[NV]), int(w[ROWS]), int(w[POWERS])
    a = HEAD + nq + powers
    M, a = matrix(w, a, n, n)
    f, a = vector(w, a, n)
    A, a = matrix(w, a, m, n)
    gamma, _ = vector(w, a, m)
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
    """The three addresses of a field as arrays."""
    head = array_at(w, (HEAD,))
    size = int(head[NQ] + head[NV]) + int(head[POWERS]) + int(head[DRIVEN]) + 2 + EVIDENCE
    return array_at(x, (int(head[NX]),)), array_at(y, (size,)), array_at(w, (int(head[ROOM]),))
