"""Ladders and chains of up to a thousand parts: what compiling and evaluating them costs."""

from __future__ import annotations

import os
import tempfile
from time import perf_counter, process_time

import numpy as np

from benchmarks.timing import Table
from dalembert import zoo


def table(sizes: tuple[int, ...]) -> Table:
    """Ladders and chains: from the description to the first derivative of the state, and each after it."""
    out = Table(
        "Size: seconds of CPU from the description to the first right-hand side, µs for each one more",
        ["machine", "velocities", "operations", "empty cache, s", "from the cache, s", "µs", "µs a velocity"],
    )
    for kind in ("ladder", "chain"):
        for n in sizes:
            m = zoo.ladder(n) if kind == "ladder" else zoo.chain(n, axes=("y", "x"), bobs=False)
            with tempfile.TemporaryDirectory() as folder:
                before, os.environ["DALEMBERT_CACHE"] = os.environ.get("DALEMBERT_CACHE"), folder
                try:
                    start = process_time()
                    m.compile().kernel("ode")
                    first = process_time() - start
                    start = process_time()
                    again = m.compile()
                    kernel = again.kernel("ode")
                    kept = process_time() - start
                finally:
                    if before is None:
                        del os.environ["DALEMBERT_CACHE"]
                    else:
                        os.environ["DALEMBERT_CACHE"] = before
            x = [np.full(k, 0.1) for k in kernel.n_in]
            best = float("inf")
            for _ in range(200):
                start = perf_counter()
                kernel(*x)
                best = min(best, perf_counter() - start)
            out.add(f"{kind} of {n}", again.nv, kernel.instructions, first, kept, 1e6 * best, 1e6 * best / again.nv)
    return out
