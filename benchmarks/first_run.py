"""How long the first simulation takes: on a machine that has nothing compiled, and in the next process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from time import perf_counter

from benchmarks.timing import Table, versus

PROGRAM = """
from time import process_time as now
start = now()
import dalembert as da
from dalembert import zoo
imported = now()
system = zoo.{name}({size}).compile()
state = system.project(system.state(*zoo.{name}_start({size})))
ready = now()
da.simulate(system, state, 1.0)
first = now()
da.simulate(system, state, 1.0)
print(imported - start, ready - imported, first - ready, now() - first)
"""
CASES = {"five-bar": ("five_bar", ""), "Stewart platform": ("stewart", ""), "ladder of 10 loops": ("ladder", "10")}


def table() -> Table:
    """Of each part, with an empty cache and then with a full one. Wall time also counts what else the machine does."""
    out = Table(
        "The first simulation in a new process: CPU seconds, and wall seconds of the whole process",
        ["mechanism", "import", "describe and project", "first simulate", "second simulate", "wall"],
    )
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for name, (mechanism, size) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            caches = {"DALEMBERT_CACHE": folder}
            for when, most in (("empty cache", 2.5), ("next process", 1.0)):
                start = perf_counter()
                program = PROGRAM.format(name=mechanism, size=size)
                done = subprocess.run(
                    [sys.executable, "-c", program], env={**usual, **caches}, check=True, capture_output=True, text=True
                )
                whole = perf_counter() - start
                parts = [float(x) for x in done.stdout.split()]
                out.add(f"{name}, {when}", *parts, whole)
                out.notes.append(
                    f"- {name}, {when}, until the first has run: {versus(sum(parts[:3]), most, at_most=True)}"
                )
    return out
