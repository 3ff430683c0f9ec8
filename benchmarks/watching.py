"""The price of watching for singular positions where there is none: P1 … P5, watched and not watched.

    python -m benchmarks watching
    DALEMBERT_BEFORE=PATH python -m benchmarks watching    beside another version, whose sources are in PATH

Watched and not watched take turns in one process; the other version has a process of its own, which takes turns with
this one round by round. Times are of the processor: on a shared machine these are disturbed least.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from time import process_time

import dalembert as da
from benchmarks.motions import Motion, five_bar, four_bar, ladder, two_arms
from benchmarks.timing import Table

TOLERANCES = (1e-6, 1e-9)
SECONDS, OF_ARMS = 10.0, 2.0  # of motion, and of P3, which takes longest


def motions() -> list[tuple[Motion, float]]:
    """What is never singular, and for how long."""
    ladders = [(ladder(n, "osc"), SECONDS) for n in (1, 10, 40)]
    return [(five_bar(), SECONDS), (four_bar(), SECONDS), (two_arms(), OF_ARMS), *ladders]


def once(motion: Motion, until: float, rtol: float) -> float:
    """Seconds of one run."""
    start = process_time()
    run = da.simulate(motion.system, motion.start, until, rtol=rtol, atol=0.1 * rtol)
    spent = process_time() - start
    assert run.t[-1] == until
    return spent


@contextmanager
def unwatched():
    """Records laid out inside have no gauge, so no step is looked at; they are kept for the next runs of a system."""
    from dalembert.native.bound import NOTHING
    from dalembert.simulation import equations

    make, equations.make_gauge = equations.make_gauge, lambda *given, **named: NOTHING
    try:
        yield
    finally:
        equations.make_gauge = make


def serve() -> None:
    """Answer lines "problem rounds" with the least time, as the other version's process."""
    known = {f"{k} {rtol:g}": (*each, rtol) for k, each in enumerate(motions()) for rtol in TOLERANCES}
    for line in sys.stdin:
        key, rounds = line.rsplit(maxsplit=1)
        print(min(once(*known[key]) for _ in range(int(rounds))), flush=True)


def run(quick: bool = False) -> list[Table]:
    """The table."""
    before = os.environ.get("DALEMBERT_BEFORE")
    columns = ["", "rtol", "watched, ms", "not watched", "ratio"] + (["before", "ratio"] if before else [])
    table = Table("The price of watching where nothing is singular", columns)
    other = None
    if before:
        other = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.watching"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": before},
        )  # fmt: skip
    for k, (motion, until) in enumerate(motions()):
        twin = motions()[k][0]
        for rtol in TOLERANCES:
            assert not da.simulate(motion.system, motion.start, until, rtol=rtol, atol=0.1 * rtol).passages
            with unwatched():
                once(twin, until, rtol)
            best = {"watched": 1e9, "not": 1e9, "before": 1e9}
            for _ in range(5 if quick else 25):
                best["watched"] = min(best["watched"], *(once(motion, until, rtol) for _ in range(4)))
                best["not"] = min(best["not"], *(once(twin, until, rtol) for _ in range(4)))
                if other and other.stdin and other.stdout:
                    other.stdin.write(f"{k} {rtol:g} 4\n")
                    other.stdin.flush()
                    best["before"] = min(best["before"], float(other.stdout.readline()))
            row = [motion.name, f"{rtol:.0e}", 1e3 * best["watched"], 1e3 * best["not"], best["watched"] / best["not"]]
            table.add(*row, *([1e3 * best["before"], best["watched"] / best["before"]] if other else []))
    if other:
        other.terminate()
    return [table]


if __name__ == "__main__":
    serve()
