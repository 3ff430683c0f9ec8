"""Native functions by name: from the cache on disk, from the package, or compiled by Numba, in this order of effort.

`ENTRIES` lists every native function that Python, or another native function, calls by address. Each is translated by
Numba once, when the package is built, to LLVM bitcode that is shipped with it (`native/build.py`). Here that bitcode
becomes machine code for the processor at hand, which the cache keeps. Without bitcode for the present sources, as in a
checkout that was edited, Numba makes it anew, in another process.
"""

from __future__ import annotations

import json
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dalembert.compiler import cache as disk
from dalembert.compiler.build import SIGNATURE, CompileProgress
from dalembert.forks import held_over_forks, undisturbed
from dalembert.native.struct import Struct
from dalembert.sources import digest_of, package_stamp

#: name: module and function; the function takes (x, y, struct) or (struct)
ENTRIES = {
    "begin": ("dalembert.integrators.begin", "begin"),
    "advance": ("dalembert.integrators.loop", "advance"),
    "fill": ("dalembert.integrators.dense_output", "fill"),
    "locate": ("dalembert.integrators.dense_output", "locate"),
    "run_lanes": ("dalembert.integrators.lanes", "run_lanes"),
    "in_joint_rates": ("dalembert.integrators.joint_rates", "in_joint_rates"),
    "runge_kutta": ("dalembert.integrators.explicit", "runge_kutta"),
    "implicit_step": ("dalembert.integrators.implicit", "implicit_step"),
    "moreau_step": ("dalembert.integrators.moreau", "moreau_step"),
    "solve_cone": ("dalembert.integrators.cone", "solve_cone"),
    "large_jacobian": ("dalembert.integrators.large_jacobian", "large_jacobian"),
    "tree_jacobian": ("dalembert.recursions.tree_jacobian", "tree_jacobian"),
    "variational_step": ("dalembert.integrators.variational", "variational_step"),
    "variational_motion": ("dalembert.integrators.variational", "variational_motion"),
    "rollout": ("dalembert.integrators.rollout", "rollout"),
    "rollout_adjoint": ("dalembert.integrators.rollout", "rollout_adjoint"),
    "tree_pairs": ("dalembert.recursions.tree_pairs", "tree_pairs"),
    "factorize": ("dalembert.formulations.common", "factorize"),
    "field": ("dalembert.formulations.field", "field"),
    "sparse_field": ("dalembert.formulations.field", "sparse_field"),
    "whitened": ("dalembert.formulations.whitened", "whitened"),
    "gauge": ("dalembert.formulations.nearness", "gauge"),
    "best_choice": ("dalembert.formulations.best_choice", "best"),
    "position": ("dalembert.formulations.nearest", "position"),
    "velocity": ("dalembert.formulations.nearest", "velocity"),
    "sparse_position": ("dalembert.formulations.nearest", "sparse_position"),
    "sparse_velocity": ("dalembert.formulations.nearest", "sparse_velocity"),
    "nullspace": ("dalembert.formulations.nullspace", "solve"),
    "admissible": ("dalembert.formulations.admissible", "solve"),
    "projection": ("dalembert.formulations.projection", "solve"),
    "partition": ("dalembert.formulations.partition", "solve"),
    "lagrange": ("dalembert.formulations.lagrange", "solve"),
    "augmented": ("dalembert.formulations.augmented", "solve"),
    "mode_equations": ("dalembert.formulations.mode_forces", "mode_equations"),
    "mode_field": ("dalembert.formulations.mode_forces", "mode_field"),
    "mode_whitened": ("dalembert.formulations.mode_forces", "mode_whitened"),
    "mode_guards": ("dalembert.formulations.mode_forces", "mode_guards"),
    "allocate": ("dalembert.control.native.allocation", "allocate"),
    "follow": ("dalembert.control.native.controller", "follow"),
}
SHIPPED = Path(__file__).parent / "shipped"
SYMBOL = "entry"
_loaded: dict[str, Any] = {}  # libraries, for the life of the process
_functions: dict[str, Any] = {}  # as Python calls them
_lock = held_over_forks(threading.Lock())  # threads wait for the one that compiles


def address(name: str) -> int:
    """Address of a native function f(x, y, w)."""
    known = _loaded.get(name)
    if known is None:
        with undisturbed(), _lock:
            known = _loaded.get(name) or _loaded.setdefault(name, _load(name))
    return known.addresses[SYMBOL]


def call(name: str, struct: Struct) -> None:
    """Call a native function that reads and writes its struct only."""
    function = _functions.get(name)
    if function is None:
        function = _functions[name] = SIGNATURE(address(name))
    function(0, 0, struct.pointer)


def _load(name: str) -> Any:
    from dalembert.compiler.target import Library, compile_modules, host

    machine = host()
    key = disk.key(name, source(name), machine.triple, machine.cpu, machine.features, machine.llvm)
    entry = disk.read(key)
    if entry is None:
        code = shipped(name)
        what = f"machine code of '{name}'" if code else f"compiling '{name}', once on this machine"
        with CompileProgress(what, 1, at_once=code is None):
            entry = disk.CacheEntry({}, compile_modules([code or bitcode(name)]))
        disk.write(key, entry.facts, entry.objects)
    return Library(entry.objects, SYMBOL)


def at_home(code: bytes) -> bytes:
    """Bitcode for the machine at hand, of that which came with the package and may have been made on another.

    It names no processor, calls libm and memory functions alone, and its structs are 64-bit words on all machines: its
    triple and data layout are all that ties it to one.
    """
    from llvmlite import binding as llvm

    from dalembert.compiler.target import host

    machine = host()
    module = llvm.parse_bitcode(code, llvm.create_context())
    if module.triple == machine.triple:
        return code
    module.triple, module.data_layout = machine.triple, str(machine.machine().target_data)
    return bytes(module.as_bitcode())


def source(name: str) -> str:
    """Digest of the sources that the bitcode of a native function is made from, and of those that make it.

    To read them takes longer than all else about a function that is kept, so it is kept until a file changes.
    """
    key = disk.key("sources", name, package_stamp())
    entry = disk.read(key)
    if entry is not None:
        return str(entry.facts["digest"])
    found = digest_of(ENTRIES[name][0], "dalembert.native.numba_bitcode")
    disk.write(key, {"digest": found}, [])
    return found


def shipped(name: str) -> bytes | None:
    """Bitcode that came with the package, if it was made from the present sources."""
    if _manifest().get(name) != source(name):
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
    from dalembert.native.build import translate

    with TemporaryDirectory() as folder:
        for _ in translate([[name]], folder):
            pass
        return Path(folder, f"{name}.bc").read_bytes()
