"""From a `casadi.Function` to a native function in memory: from this process, from the disk, or compiled."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from . import cache

if TYPE_CHECKING:
    import casadi as ca

    from .target import Library

#: the one signature of native functions f(x, y, w): arrays of doubles, or in place of w one struct
SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
CHUNK = 1000
"""Operations in one LLVM function; `target` has the measurement."""
_SYMBOL = "kernel"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class MachineCode:
    """Machine code of a function; valid while this object lives."""

    name: str  # in the cache
    library: Library
    address: int
    work_size: int  # doubles
    instructions: int  # operations of the program after simplification


_loaded: WeakValueDictionary[str, MachineCode] = WeakValueDictionary()


def compile_sx(function: ca.Function, lanes: int = 1, chunk: int = CHUNK) -> MachineCode:
    """Machine code of an SX function for `lanes` states at once."""
    from .target import host

    machine = host()
    serialized = function.serialize()  # the same text for the same trace, in any process
    name = cache.key(serialized, str(lanes), str(chunk), machine.triple, machine.cpu, machine.features, machine.llvm)
    known = loaded(name)
    if known is None:
        entry = _compile(function, lanes, chunk)
        cache.write(name, entry.facts, entry.objects)
        known = _loaded[name] = _load(name, entry)
    return known


def loaded(name: str) -> MachineCode | None:
    """Machine code by its name in the cache: from this process or from the disk; None where it is in neither."""
    known = _loaded.get(name)
    if known is None:
        entry = cache.read(name)
        if entry is not None:
            known = _loaded[name] = _load(name, entry)
    return known


def _load(name: str, entry: cache.Entry) -> MachineCode:
    from .target import Library

    library, facts = Library(entry.objects, _SYMBOL), entry.facts
    return MachineCode(name, library, library.addresses[_SYMBOL], facts["work_size"], facts["instructions"])


def _compile(function: ca.Function, lanes: int, chunk: int) -> cache.Entry:
    from .ir import Layout
    from .llvm import modules
    from .program import program_from_casadi
    from .schedule import schedule
    from .target import compile_modules, host

    program = program_from_casadi(function)
    width = min(lanes, host().width)
    layout = Layout(lanes, width)
    plan = schedule(program, chunk, group=max(1, 8 // width))
    texts = [str(module) for module in modules(program, plan, layout, _SYMBOL, chunk, host().fused)]
    with Progress(f"compiling '{function.name()}'", len(texts)) as progress:
        objects = compile_modules(texts, progress)
    return cache.Entry({"work_size": plan.size * width, "instructions": len(program)}, objects)


class Progress:
    """A line on the terminal while something takes longer than a second, gone at the end."""

    def __init__(self, what: str, total: int, at_once: bool = False) -> None:
        self.what, self.total, self.at_once = what, total, at_once
        self.start = time.monotonic()
        self.shown = 0
        self.visible = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Callable[[int], None]:
        if self.at_once and self.visible:
            self._show(f"{self.what} …")
        return self.step

    def step(self, done: int) -> None:
        """Report that `done` parts of the total are ready."""
        if self.visible and time.monotonic() - self.start > 1.0:
            self._show(f"{self.what}: {done} of {self.total} parts")

    def _show(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(text)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()
