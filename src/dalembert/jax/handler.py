"""Programs as targets of XLA's foreign function interface: registered by a name that is the same in every process."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import jax

from dalembert.compiler.runtime import runtime
from dalembert.compiler.xla_ir import xla_handler_ir
from dalembert.errors import CompileError
from dalembert.export.differentiable.program import LaneProgram
from dalembert.forks import held_over_forks
from dalembert.native.struct import address

MAJOR = 0  # version of XLA's interface that the structs of `xla_ir` are of; minor ones add to their ends
_registered: dict[str, tuple[Any, ...]] = {}  # what each needs, for the life of the process: XLA keeps their addresses
_lock = held_over_forks(threading.Lock())


def target(program: LaneProgram) -> str:
    """The name of a program among XLA's targets, where it is registered at the first call."""
    name = f"dalembert_{program.name}"
    with _lock:
        if name not in _registered:
            plan = program.plan()
            symbols = {"plan": address(plan), **_imports()}
            library = runtime("xla", xla_handler_ir(*_version()), ("handler",), symbols)
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(_pointer(library.addresses["handler"])), platform="cpu")
            _registered[name] = (program, plan, library)
    return name


def _pointer(at: int) -> Any:
    """A function of C at an address."""
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(at)


@cache
def _version() -> tuple[int, int]:
    """Version of the interface, from the header that comes with jaxlib."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    found = re.search(r"XLA_FFI_API_MAJOR (\d+)", header), re.search(r"XLA_FFI_API_MINOR (\d+)", header)
    major, minor = (-1 if x is None else int(x[1]) for x in found)
    if major != MAJOR:
        raise CompileError(f"XLA's foreign functions are of version {major}.{minor}; dalembert knows {MAJOR}.x.")
    return major, minor


@cache
def _imports() -> dict[str, int]:
    """Functions of the C library and of the system, by address."""
    if sys.platform == "win32":
        memory, system, give_way = ctypes.CDLL("ucrtbase"), ctypes.WinDLL("kernel32"), "SwitchToThread"
    else:
        memory, give_way = ctypes.CDLL(None), "sched_yield"
        system = memory
    functions = {
        "dalembert_malloc": memory.malloc,
        "dalembert_free": memory.free,
        "dalembert_yield": getattr(system, give_way),
    }
    return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items()}
