"""What compilation costs: cold, and from the object code kept on disk.

Each figure comes from new processes, so that nothing is left in memory: first with an empty cache folder, then with
the folder the first one filled. Inside such a process the same mechanism is then described and compiled once more,
which shows the cost without first use (importing llvmlite, starting LLVM).

    python -m benchmarks.compiling arm      one such process: prints its figures as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

from benchmarks.timing import Table, versus

FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
CASES = {"arm": "7 joints", "humanoid": "humanoid, 36 DoF", "chain": "100 joints"}


def once(model: Any) -> dict[str, float]:
    """Seconds to describe a mechanism, trace its three functions, and turn them into callable kernels."""
    start = perf_counter()
    system = model.mechanism().compile()
    described = perf_counter()
    for name in FUNCTIONS:
        system.function(name)
    traced = perf_counter()
    kernels = [system.kernel(name) for name in FUNCTIONS]
    return {
        "describe": described - start,
        "trace": traced - described,
        "compile": perf_counter() - traced,
        "operations": sum(k.instructions for k in kernels),
    }


def worker(case: str) -> None:
    """The body of a process: import, first compilation, and a second of an equal mechanism."""
    start = perf_counter()
    import dalembert  # noqa: F401

    imported = perf_counter() - start
    from benchmarks import models

    model = {"arm": models.arm, "humanoid": models.humanoid, "chain": lambda: models.chain(100)}[case]()
    print(json.dumps({"import": imported, "first": once(model), "second": once(model)}))


def process(case: str, cache: str) -> dict[str, Any]:
    """Figures of a new process."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache}
    command = [sys.executable, "-m", "benchmarks.compiling", case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(case: str, repeats: int) -> dict[str, dict[str, float]]:
    """The quickest of `repeats` pairs of processes, by stage."""
    cold, warm, again, imports = [], [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(process(case, cache))
            for _ in range(3):
                found = process(case, cache)
                warm.append(found["first"])
                again.append(found["second"])
                imports.append(found["import"])
    return {
        "import": {"seconds": min(imports)},
        "cold": _least([x["first"] for x in cold]),
        "from disk": _least(warm),
        "from disk, not the first in its process": _least(again),
    }


def _least(found: list[dict[str, float]]) -> dict[str, float]:
    return min(found, key=lambda x: x["describe"] + x["trace"] + x["compile"])


def run(quick: bool = False) -> list[Table]:
    """The tables of this part."""
    table = Table(
        "Compiling RNEA, CRBA and ABA: ms",
        ["mechanism", "describe", "trace", "compile or load", "together", "operations"],
    )
    for case, title in CASES.items():
        found = measure(case, 1 if quick or case == "chain" else 3)
        for way in ("cold", "from disk", "from disk, not the first in its process"):
            t = found[way]
            stages = [1e3 * t[name] for name in ("describe", "trace", "compile")]
            table.add(f"{title}, {way}", *stages, sum(stages), t["operations"])
        total = {way: sum(t.get(k, 0.0) for k in ("describe", "trace", "compile")) for way, t in found.items()}
        if case == "arm":
            table.notes.append(f"- import dalembert: {1e3 * found['import']['seconds']:.0f} ms")
            table.notes.append(f"- 7 joints, cold, s: {versus(total['cold'], 1.0, at_most=True)}")
            load = found["from disk"]["compile"]
            table.notes.append(f"- 7 joints, loading from disk, ms: {versus(1e3 * load, 30.0, at_most=True)}")
            for way in ("from disk", "from disk, not the first in its process"):
                figure = versus(1e3 * total[way], 30.0, at_most=True)
                table.notes.append(f"- 7 joints, described, traced and loaded {way}, ms: {figure}")
        if case == "chain":
            table.notes.append(f"- 100 joints, cold, s: {versus(total['cold'], 20.0, at_most=True)}")
    return [table]


if __name__ == "__main__":
    worker(sys.argv[1])
