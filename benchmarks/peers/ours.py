"""dalembert: `da.simulate` as a user calls it, everything it does per call included."""

from __future__ import annotations

from functools import partial

import dalembert as da
from benchmarks.motions import NOWHERE, Motion, Outcome
from benchmarks.peers import Families, Setting

METHODS = ("dop853", "dopri5")
TOLERANCES = [10 ** (-k / 2) for k in range(4, 25)]


def families(motion: Motion) -> Families:
    """Both explicit pairs over their tolerances, projected after every step, which is the default."""

    def solve(method: str, tolerance: float, duration: float) -> da.Run:
        return da.simulate(motion.system, motion.start, duration, method=method, rtol=tolerance, atol=tolerance)

    def judge(run: da.Run) -> Outcome:
        return motion.judge(run.q, run.v) if run.success else NOWHERE

    return [[Setting(f"{m} {tol:.0e}", partial(solve, m, tol), judge) for tol in TOLERANCES] for m in METHODS]
