"""Machine code of functions that Numba compiles, kept on disk like that of kernels and loaded without Numba.

Numba's own cache needs Numba to be read, half a second in every process. Such a function takes addresses only, records
or whole numbers, allocates nothing and raises nothing, so that it needs no part of Numba when it runs.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..sources import digest
from . import cache
from .build import Progress

_SYMBOL = "loop"
_loaded: dict[str, Any] = {}  # libraries, for the life of the process
_lock = threading.Lock()  # threads wait for the one that compiles


def machine_code(name: str, folders: Iterable[Path], make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> int:
    """The address of a C function, from the disk or compiled; it returns 0, an int.

    name : what it is, shown while it is compiled
    folders : of the modules that it is made from; when they change it is compiled anew
    make : gives the function as decorated with `numba.njit`, not compiled yet, and the types of its arguments
    """
    from .target import Library, compile_modules, host

    machine = host()
    key = cache.key(name, digest(folders), machine.triple, machine.cpu, machine.features, machine.llvm)
    with _lock:
        if key not in _loaded:
            entry = cache.read(key)
            if entry is None:
                with Progress(f"compiling {name}, once on this machine", 1, at_once=True):
                    entry = cache.Entry({}, compile_modules([_text(*make())]))
                cache.write(key, entry.facts, entry.objects)
            _loaded[key] = Library(entry.objects, _SYMBOL)
        return _loaded[key].addresses[_SYMBOL]


def _text(function: Any, signature: tuple[Any, ...]) -> str:
    """LLVM text that defines the C function.

    Numba's functions write a value and an exception through their first two arguments; neither is used here. Its
    environments belong to the interpreter, and nothing reads them. Two of its helpers are the C library's.
    """
    function.compile(signature)
    symbol = function.overloads[signature].fndesc.llvm_func_name
    text = function.inspect_llvm(signature)
    text = re.sub(r"= common ", "= internal ", text)
    text = text.replace("@numba_frexp", "@frexp").replace("@numba_ldexp", "@ldexp")
    arguments = [("ptr" if hasattr(kind, "fields") else "i64") + f" %a{i}" for i, kind in enumerate(signature)]
    return text + (
        f"\ndefine i32 @{_SYMBOL}({', '.join(arguments)}) {{\n"
        "  %value = alloca ptr\n  %exception = alloca ptr\n"
        f"  %status = call i32 @{symbol}(ptr %value, ptr %exception, {', '.join(arguments)})\n"
        "  ret i32 %status\n}\n"
    )
