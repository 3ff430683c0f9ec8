"""Machine code of functions that Numba compiles, kept on disk like that of kernels and loaded without Numba.

Numba's own cache needs Numba to be read, half a second in every process. Such a function must not need Numba's runtime:
it takes and returns nothing but numbers and addresses, allocates nothing and raises nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from . import cache
from .build import Progress

_SYMBOL = "loop"
_loaded: dict[str, object] = {}  # for the life of the process


def machine_code(name: str, sources: Iterable[Path], make: Callable[[], tuple[str, str]]) -> int:
    """The address of a function: from the disk, or from its LLVM text and symbol, which `make` gives.

    `sources` are the folders of modules that the function is made from.
    """
    from .target import Library, compile_modules, host

    machine, digest = host(), hashlib.sha256()
    for folder in sources:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    key = cache.key(name, digest.digest(), machine.triple, machine.cpu, machine.features, machine.llvm)
    entry = cache.read(key)
    if entry is None:
        with Progress(f"compiling '{name}', once on this machine", 1, at_once=True):
            text, symbol = make()
            text = text.replace(symbol, _SYMBOL)
            text = re.sub(r"= common ", "= internal ", text)  # Numba's environments, which nothing here reads
            entry = cache.Entry({}, compile_modules([text]))
        cache.write(key, entry.facts, entry.objects)
    library = Library(entry.objects, _SYMBOL)
    _loaded[key] = library
    return library.addresses[_SYMBOL]
