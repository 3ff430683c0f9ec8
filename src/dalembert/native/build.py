"""Bitcode of all native functions, for the package: python -m dalembert.native.build

`setup.py` runs this when a wheel or an editable install is made. What is there already for the present sources stays.
Functions of one folder share what they call, so one process translates them all; the folders go side by side.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from queue import SimpleQueue

from dalembert.compiler.build import CompileProgress
from dalembert.errors import CompileError
from dalembert.native.library import ENTRIES, SHIPPED, shipped, source
from dalembert.sources import PACKAGE


def translate(groups: Iterable[Sequence[str]], folder: str) -> Iterator[str]:
    """Write NAME.bc into a folder for the names of each group, one process a group; yields names as they are ready."""
    if find_spec("numba") is None:
        names = ", ".join(f"'{name}'" for group in groups for name in group)
        raise CompileError(
            f"no machine code of {names} came with this installation, or its sources have changed, and Numba, which "
            "makes it, is not installed. Install dalembert anew, or Numba: pip install numba."
        )
    ready: SimpleQueue[str | None] = SimpleQueue()
    groups = sorted(groups, key=len, reverse=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [pool.submit(_translate, group, folder, ready) for group in groups]
        for _ in done:
            yield from iter(ready.get, None)
    for each in done:
        each.result()


def _translate(names: Sequence[str], folder: str, ready: SimpleQueue[str | None]) -> None:
    """One process: it prints a name when its file is written."""
    command = [sys.executable, "-m", "dalembert.native.numba_bitcode", folder, *names]
    usual = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}  # which change what Numba makes
    usual["PYTHONPATH"] = os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])
    process = subprocess.Popen(command, env=usual, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        with process:
            for line in process.stdout or ():
                ready.put(line.strip())
            trouble = process.stderr.read() if process.stderr else ""
    finally:
        process.kill()
        ready.put(None)
    if process.returncode:
        last = "\n".join(trouble.splitlines()[-12:])
        raise CompileError(
            f"Numba does not translate one of {', '.join(names)}, which is a fault of dalembert:\n{last}"
        )


def main() -> None:
    """Bring the package's bitcode up to date."""
    stale = [name for name in ENTRIES if shipped(name) is None]
    if not stale:
        return
    groups: dict[str, list[str]] = {}
    for name in stale:
        groups.setdefault(ENTRIES[name][0].split(".")[1], []).append(name)
    SHIPPED.mkdir(exist_ok=True)
    manifest = SHIPPED / "manifest.json"
    manifest.unlink(missing_ok=True)
    with CompileProgress("native functions", len(stale), at_once=True) as progress:
        for count, _ in enumerate(translate(groups.values(), str(SHIPPED)), 1):
            progress(count)
    for path in SHIPPED.glob("*.bc"):
        if path.stem not in ENTRIES:
            path.unlink()
    manifest.write_text(json.dumps({name: source(name) for name in ENTRIES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
