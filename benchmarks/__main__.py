"""Benchmarks beside peers: all parts but 'peer', or those named.

python -m benchmarks [part ...] [--json PATH] [--quick]
python -m benchmarks compare BEFORE AFTER    # two files that --json wrote

Parts: calls, tree, constrained, robots, linearization, derivatives, sensitivities, diagonal, simulation, watching,
impacts, stepping, control, compile, linalg, ensembles, reading, peer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from time import perf_counter
from typing import Any

PARTS = {
    "calls": "benchmarks.calls",
    "tree": "benchmarks.tree",
    "constrained": "benchmarks.constrained",
    "robots": "benchmarks.robots",
    "linearization": "benchmarks.linearization",
    "derivatives": "benchmarks.derivatives",
    "sensitivities": "benchmarks.sensitivities",
    "diagonal": "benchmarks.diagonal",
    "simulation": "benchmarks.simulation",
    "watching": "benchmarks.watching",
    "impacts": "benchmarks.impacts",
    "stepping": "benchmarks.stepping",
    "control": "benchmarks.control",
    "compile": "benchmarks.compiling",
    "linalg": "benchmarks.linalg",
    "ensembles": "benchmarks.ensembles",
    "reading": "benchmarks.reading",
    "peer": "benchmarks.peer",
}
USUAL = tuple(part for part in PARTS if part != "peer")
PACKAGES = (
    "dalembert",
    "pin",
    "crocoddyl",
    "mujoco",
    "exudyn",
    "numba",
    "llvmlite",
    "casadi",
    "numpy",
    "scipy",
    "sympy",
)


def main() -> None:
    """Run the parts, print their tables, write them as JSON if asked; or compare two such files."""
    if sys.argv[1:2] == ["compare"]:
        return compare(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Benchmarks beside peers.")
    parser.add_argument(
        "parts", nargs="*", metavar="part", help=f"any of {', '.join(PARTS)}; all but 'peer' if none is named"
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the tables there too")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rougher figures in a third of the time")
    given = parser.parse_args()
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'; parts are: {', '.join(PARTS)}")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core for everyone; NumPy is not imported yet
    results: dict[str, Any] = {"date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", "machine": machine()}
    results |= {"versions": versions(), "parts": {}}
    print("  ".join(f"{name} {number}" for name, number in results["versions"].items()), "\n", flush=True)
    for part in given.parts or USUAL:
        start = perf_counter()
        try:
            tables = import_module(PARTS[part]).run(quick=given.quick)
        except ModuleNotFoundError as missing:
            parser.exit(1, f"{part}: {missing}. The peers come with: pip install 'dalembert[bench]'\n")
        for table in tables:
            print(table.text(), flush=True)
        print(f"({part}: {perf_counter() - start:.0f} s)\n", flush=True)
        results["parts"][part] = [table.data() for table in tables]
    if given.json:
        given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def compare(given: list[str]) -> None:
    """Print what changed between two files of results."""
    from benchmarks.compare import BEYOND, compared

    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description="Two files of results.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--beyond", type=float, default=BEYOND, help="smallest change shown, as a part of a number")
    files = parser.parse_args(given)
    for table in compared(files.before, files.after, files.beyond):
        print(table.text())


def machine() -> str:
    """The processor, its cores and the system."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def versions() -> dict[str, str]:
    """Of Python and of everything that is compared; a package may come from a distribution of another name."""
    made_by = packages_distributions()
    found = {name: next(filter(None, map(_version, [name, *made_by.get(name, [])])), "absent") for name in PACKAGES}
    return {"Python": platform.python_version(), **found}


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
