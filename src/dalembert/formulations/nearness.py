"""The native part of `gauge`."""

from __future__ import annotations

from dalembert.formulations.gauge import Gauge
from dalembert.integrators.run_record import SKIPPED
from dalembert.linalg.envelope import envelope_qr, least_singular_value
from dalembert.native.calls import data, jump
from dalembert.native.jit import entry, native
from dalembert.native.memory import doubles
from dalembert.native.simd import axpy, dot, fill

STEPS = 100  # inverse iterations


@entry(Gauge)
def gauge(x, y, gauge):
    """y ← the least squared sine or length, and σ²; see `gauge`. Both are 0 where rows depend on each other.

    Before, y[0] says by how much of itself σ may still change. Where y[1] is negative, what was found the last time is
    forgotten; where it is SKIPPED, σ² is not found at all, and nothing is forgotten.
    """
    f, e = gauge.whitened, gauge.envelope
    jump(f.address, x, data(f.y), f.w)
    answer, m = doubles(y, 2), e.m
    accuracy, asked = answer[0], answer[1] != SKIPPED
    if asked and answer[1] < 0.0:
        for i in range(m):
            e.weak[i] = 0.0
    least = _all(gauge) if gauge.spare == 0 else _chosen(gauge)
    answer[0] = answer[1] = 0.0
    if envelope_qr(e) == m:
        if gauge.spare == 0:
            for k in range(m):
                least = min(least, e.diagonal[k] ** 2 / e.right[e.order[k]])
        answer[0] = least
        if asked:
            answer[1] = least_singular_value(e, STEPS, accuracy) ** 2


@native
def _all(gauge):
    """Rows of the envelope ← the rows, e.right ← their squared lengths. Returns the least of these."""
    e, out, least = gauge.envelope, gauge.whitened.y, 1.0
    rows = e.rows
    fill(0.0, rows, 0, 0, e.room)
    for k in range(gauge.count):
        rows[gauge.place[k], 0] = out[k]
    for i in range(e.m):
        e.right[i] = dot(rows, e.base[i], rows, e.base[i], e.start[i], e.stop[i])
        least = min(least, e.right[i])
    return least


@native
def _chosen(gauge):
    """Rows of the envelope ← Lᵀ of (1). Returns the least squared sine or length of the rows that are chosen for it."""
    e, out, rest, m, nv, least = gauge.envelope, gauge.whitened.y, gauge.all, gauge.m, gauge.nv, 1.0
    rows, lengths = e.rows, gauge.lengths
    for i in range(m):
        fill(0.0, rest, i, 0, nv)
    for k in range(gauge.count):
        rest[gauge.place[k] // nv, gauge.place[k] % nv] = out[k]
    for i in range(m):
        lengths[i] = dot(rest, i, rest, i, 0, nv)
    for k in range(e.m):
        best, left = 0, -1.0
        for i in range(m):
            square = dot(rest, i, rest, i, 0, nv)
            if square > left:
                best, left = i, square
        if not left > 0.0:
            fill(0.0, rows, e.base[k], 0, m)
            least = 0.0
            continue
        least = min(least, lengths[best], left / lengths[best])
        size = left**0.5
        for i in range(m):
            share = dot(rest, best, rest, i, 0, nv) / size if i != best else size
            rows[e.base[k] + i, 0] = share
            if i != best:
                axpy(-share / size, rest, best, rest, i, 0, nv)
        fill(0.0, rest, best, 0, nv)
    return least
