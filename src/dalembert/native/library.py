"""Native functions by name: from the package, from the cache on disk, or compiled by Numba, in this order of effort.

`ENTRIES` lists every native function that Python, or another native function, calls by address. Each is compiled from
Numba once, when the package is built, to LLVM bitcode that is shipped with it (`native/build.py`). Here that bitcode
becomes machine code for the processor at hand, which the cache keeps. Without bitcode for the present sources, as in a
checkout that was edited, Numba makes it anew.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dalembert.compiler import cache as disk
from dalembert.compiler.build import SIGNATURE, Progress
from dalembert.errors import CompileError
from dalembert.native.struct import Struct
from dalembert.sources import digest_of

#: name: module and function; the function takes (x, y, struct) or (struct)
ENTRIES = {
    "advance": ("dalembert.integrators.loop", "advance"),
    "fill": ("dalembert.integrators.loop", "fill"),
    "runge_kutta": ("dalembert.integrators.explicit", "runge_kutta"),
    "implicit_step": ("dalembert.integrators.implicit", "implicit_step"),
    "variational_step": ("dalembert.integrators.variational", "variational_step"),
    "field": ("dalembert.formulations.field", "field"),
    "nullspace": ("dalembert.formulations.nullspace", "solve"),
    "admissible": ("dalembert.formulations.admissible", "solve"),
    "projection": ("dalembert.formulations.projection", "solve"),
    "partition": ("dalembert.formulations.partition", "solve"),
    "lagrange": ("dalembert.formulations.lagrange", "solve"),
    "augmented": ("dalembert.formulations.augmented", "solve"),
    "allocate": ("dalembert.control.native.allocation", "allocate"),
    "follow": ("dalembert.control.native.controller", "follow"),
}
SHIPPED = Path(__file__).parent / "shipped"
_SYMBOL = "entry"
_loaded: dict[str, Any] = {}  # libraries, for the life of the process
_functions: dict[str, Any] = {}  # as Python calls them
_lock = threading.Lock()  # threads wait for the one that compiles


def address(name: str) -> int:
    """Address of a native function f(x, y, w)."""
    known = _loaded.get(name)
    if known is None:
        with _lock:
            known = _loaded.get(name) or _loaded.setdefault(name, _load(name))
    return known.addresses[_SYMBOL]


def call(name: str, struct: Struct) -> None:
    """Call a native function that reads and writes its struct only."""
    function = _functions.get(name)
    if function is None:
        function = _functions[name] = SIGNATURE(address(name))
    function(None, None, struct.pointer)


def _load(name: str) -> Any:
    from dalembert.compiler.target import Library, compile_modules, host

    machine = host()
    source = digest_of(ENTRIES[name][0])
    key = disk.key(name, source, machine.triple, machine.cpu, machine.features, machine.llvm)
    entry = disk.read(key)
    if entry is None:
        code = shipped(name, source)
        what = f"machine code of '{name}'" if code else f"compiling '{name}', once on this machine"
        with Progress(what, 1, at_once=code is None):
            entry = disk.Entry({}, compile_modules([code or bitcode(name)]))
        disk.write(key, entry.facts, entry.objects)
    return Library(entry.objects, _SYMBOL)


def shipped(name: str, source: str) -> bytes | None:
    """Bitcode that came with the package, if it was made from the present sources."""
    if _manifest().get(name) != source:
        return None
    return (SHIPPED / f"{name}.bc").read_bytes()


@cache
def _manifest() -> dict[str, str]:
    try:
        return json.loads((SHIPPED / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}


def bitcode(name: str) -> bytes:
    """LLVM bitcode of a native function, made by Numba."""
    if find_spec("numba") is None:
        raise CompileError(
            f"the machine code of '{name}' did not come with this installation, and Numba, which makes it, is not "
            "installed. Install dalembert from a wheel, or Numba: pip install numba."
        )
    from dalembert.native.numba_bitcode import make

    module, function = ENTRIES[name]
    return make(getattr(import_module(module), function), _SYMBOL)
