"""The native part of `gauge`."""

from __future__ import annotations

from dalembert.formulations.gauge import Gauge
from dalembert.integrators.run_record import SKIPPED
from dalembert.linalg.envelope import envelope_qr, least_singular_value
from dalembert.linalg.simd import dot, fill
from dalembert.native.calls import data, jump
from dalembert.native.jit import entry
from dalembert.native.memory import doubles

STEPS, EXACT = 100, 1e-12  # inverse iterations; what σ may still change by


@entry(Gauge)
def gauge(x, y, gauge):
    """y ← the least squared sine or length, and σ²; see `gauge`. Both are 0 where rows depend on each other.

    Where y[1] is negative, what was found the last time is forgotten; where it is SKIPPED, σ² is not found at all.
    """
    f, e = gauge.whitened, gauge.envelope
    jump(f.address, x, data(f.y), f.w)
    out, rows, answer, m, n = f.y, e.rows, doubles(y, 2), e.m, e.n
    count = f.ny // 2
    for i in range(m):
        fill(0.0, rows, i, 0, n)
        e.begin[i], e.end[i] = n, 0
    for k in range(count):
        place = int(out[count + k])
        i = place // n
        j = place - i * n
        rows[i, j] = out[k]
        e.begin[i], e.end[i] = min(e.begin[i], j), max(e.end[i], j + 1)
    asked = answer[1] != SKIPPED
    if answer[1] < 0.0:
        for i in range(m):
            e.weak[i] = 0.0
    least = 1.0
    for i in range(m):
        e.right[i] = dot(rows, i, rows, i, 0, n)
        least = min(least, e.right[i])
    answer[0] = answer[1] = 0.0
    if envelope_qr(e) == m:
        for k in range(m):
            least = min(least, e.diagonal[k] ** 2 / e.right[e.order[k]])
        answer[0] = least
        if asked:
            answer[1] = least_singular_value(e, STEPS, EXACT) ** 2
