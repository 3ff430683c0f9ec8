"""Many runs at once: CPU time of one run out of many, alone and side by side, beside tools that make them one by one.

The motions are those of `simulation`, from starts that differ by a thousandth of a radian, with the fastest setting
that reaches L2. Times are of one core; the last table has threads.
"""

from __future__ import annotations

import math
import os
from time import perf_counter, process_time

import numpy as np

import dalembert as da
from benchmarks.motions import DURATION, Motion, five_bar, four_bar, ladder, two_arms
from benchmarks.peers import ours, with_mujoco, with_pinocchio
from benchmarks.timing import Table, versus
from benchmarks.work_precision import fastest, search

LEVEL = "L2"
LANES = (4, 8, 16)


def starts(motion: Motion, n: int) -> list[da.State]:
    """n states next to the start, on the manifold."""
    rng = np.random.default_rng(0)
    system, x = motion.system, motion.start
    moved = [system.plus(x, 1e-3 * rng.standard_normal(system.nv)) for _ in range(n)]
    return [system.project(system.state(q, x.v)) for q in moved]


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    table = Table(
        f"One of many runs of {DURATION:g} s at {LEVEL}: CPU µs on one core",
        ["problem", "alone", *(f"{w} lanes" for w in LANES), "alone / lanes ≥ 3", "MuJoCo", "Pinocchio + SciPy",
         "MuJoCo / lanes ≥ 30", "Pinocchio / lanes ≥ 100"],
    )  # fmt: skip
    for motion in (five_bar(), four_bar(), two_arms(), ladder(10, "osc")):
        mine, mujoco, pinocchio = (
            fastest(search(tool.families(motion), 1.0 if quick else 3.0, LEVEL), LEVEL)
            for tool in (ours, with_mujoco, with_pinocchio)
        )
        assert mine is not None
        method, tolerance = mine.setting.label.split()
        options = {"method": method, "rtol": float(tolerance), "atol": float(tolerance)}
        many = starts(motion, 64 if quick else 256)
        best = dict.fromkeys((1, *LANES), math.inf)
        for _ in range(2 if quick else 6):
            for w in best:
                began = process_time()
                if w == 1:
                    for x in many:
                        da.simulate(motion.system, x, DURATION, **options)
                else:
                    runs = da.ensemble(motion.system, many, DURATION, lanes=w, workers=1, **options)
                    assert runs.success.all(), runs
                best[w] = min(best[w], 1e6 * (process_time() - began) / len(many))
        wide = min(best[w] for w in LANES)
        peers = [None if peer is None else 1e6 * peer.seconds for peer in (mujoco, pinocchio)]
        table.add(motion.name, *best.values(), best[1] / wide, *peers, *(p and p / wide for p in peers))
    table.notes.append(f"- {versus(min(row[5] for row in table.rows), 3.0)}, alone over lanes")
    return [table, threads(quick)]


def threads(quick: bool) -> Table:
    """Wall time over workers."""
    table = Table("Five-bar, runs of 10 s: wall time", ["workers", "runs", "s", "runs/s"])
    motion = five_bar()
    many = starts(motion, 512 if quick else 4096)
    for workers in range(1, (os.cpu_count() or 1) + 1):
        best = math.inf
        for _ in range(3):
            began = perf_counter()
            da.ensemble(motion.system, many, DURATION, rtol=1e-6, atol=1e-6, workers=workers)
            best = min(best, perf_counter() - began)
        table.add(workers, len(many), best, round(len(many) / best))
    return table
