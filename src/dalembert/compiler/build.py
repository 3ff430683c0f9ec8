"""From a `casadi.Function` to a native function in memory: from this process, from the disk, or compiled."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from . import cache

if TYPE_CHECKING:
    import casadi as ca

    from .parts import ProgramPart
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
_libraries: WeakValueDictionary[str, Library] = WeakValueDictionary()  # of several functions


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


def compile_parts(
    function: ca.Function, parts: Sequence[ProgramPart], name: str | None = None
) -> dict[str, MachineCode]:
    """Machine code of the parts of an SX function, by name: what they share is compiled once.

    name: of the code in the cache, equal for equal functions; found from the function itself where it is not given.
    """
    from .target import host

    machine = host()
    if name is None:
        facts = (repr(parts), machine.triple, machine.cpu, machine.features, machine.llvm)
        name = cache.key(function.serialize(), *facts)
    entry = cache.read(name)
    if entry is None:
        entry = _compile(function, 1, CHUNK, parts)
        cache.write(name, entry.facts, entry.objects)
    found = {part.name: _load(name, entry, part.name) for part in parts}
    _loaded.update((f"{name} {part}", code) for part, code in found.items())
    return found


def loaded(name: str, part: str | None = None) -> MachineCode | None:
    """Machine code by its name in the cache: from this process or from the disk; None where it is in neither."""
    place = name if part is None else f"{name} {part}"
    known = _loaded.get(place)
    if known is None:
        entry = cache.read(name)
        if entry is not None:
            known = _loaded[place] = _load(name, entry, part)
    return known


def _load(name: str, entry: cache.CacheEntry, part: str | None = None) -> MachineCode:
    from .target import Library

    if part is None:
        library, facts, symbol = Library(entry.objects, _SYMBOL), entry.facts, _SYMBOL
    else:
        facts, symbol = entry.facts["parts"][part], f"{_SYMBOL}_{part}"
        symbols = (f"{_SYMBOL}_{k}" for k in entry.facts["parts"])
        library = _libraries[name] = _libraries.get(name) or Library(entry.objects, *symbols)
    return MachineCode(name, library, library.addresses[symbol], facts["work_size"], facts["instructions"])


def _compile(function: ca.Function, lanes: int, chunk: int, parts: Sequence[ProgramPart] = ()) -> cache.CacheEntry:
    from .ir import LaneLayout
    from .llvm import modules
    from .parts import add_parts, outputs_of
    from .program import program_from_casadi
    from .schedule import schedule
    from .target import compile_modules, host

    program = program_from_casadi(function)
    width = min(lanes, host().width)
    layout = LaneLayout(lanes, width)
    plan = schedule(program, chunk, max(1, 8 // width), outputs_of(function, parts))
    made = modules(program, plan, layout, _SYMBOL, chunk, host().fused)
    facts: dict[str, Any] = {"work_size": plan.size * width, "instructions": len(program)}
    if parts:
        facts["parts"] = add_parts(made, function, parts, program, plan.size, _SYMBOL)
    texts = [str(module) for module in made.modules]
    with CompileProgress(f"compiling '{function.name()}'", len(texts)) as progress:
        objects = compile_modules(texts, progress)
    return cache.CacheEntry(facts, objects)


class CompileProgress:
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
