"""The native part of `gauge`."""

from __future__ import annotations

from dalembert.formulations.gauge import Gauge
from dalembert.integrators.run_record import SKIPPED
from dalembert.linalg.envelope import envelope_qr, least_singular_value
from dalembert.native.calls import data, jump
from dalembert.native.jit import entry
from dalembert.native.memory import doubles
from dalembert.native.simd import dot, fill

STEPS = 100  # inverse iterations


@entry(Gauge)
def gauge(x, y, gauge):
    """y ← the least squared sine or length, and σ²; see `gauge`. Both are 0 where rows depend on each other.

    Before, y[0] says by how much of itself σ may still change. Where y[1] is negative, what was found the last time is
    forgotten; where it is SKIPPED, σ² is not found at all, and nothing is forgotten.
    """
    f, e = gauge.whitened, gauge.envelope
    jump(f.address, x, data(f.y), f.w)
    out, rows, answer, m = f.y, e.rows, doubles(y, 2), e.m
    fill(0.0, rows, 0, 0, e.room)
    for k in range(gauge.count):
        rows[gauge.place[k], 0] = out[k]
    accuracy, asked = answer[0], answer[1] != SKIPPED
    if asked and answer[1] < 0.0:
        for i in range(m):
            e.weak[i] = 0.0
    least = 1.0
    for i in range(m):
        e.right[i] = dot(rows, e.base[i], rows, e.base[i], e.start[i], e.stop[i])
        least = min(least, e.right[i])
    answer[0] = answer[1] = 0.0
    if envelope_qr(e) == m:
        for k in range(m):
            least = min(least, e.diagonal[k] ** 2 / e.right[e.order[k]])
        answer[0] = least
        if asked:
            answer[1] = least_singular_value(e, STEPS, accuracy) ** 2
