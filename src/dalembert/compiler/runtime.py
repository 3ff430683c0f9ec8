"""Small compiled helpers of this package itself, made once and kept in the same cache as kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import cache

if TYPE_CHECKING:
    from .target import Library


def runtime(name: str, text: str, symbols: tuple[str, ...], imports: dict[str, int] | None = None) -> Library:
    """The library of IR module `text`, exporting `symbols`; `imports` gives addresses of external symbols."""
    from .target import Library, compile_modules, host

    machine = host()
    entry_name = cache.key(name, text, machine.triple, machine.cpu, machine.features, machine.llvm)
    entry = cache.read(entry_name)
    if entry is None:
        entry = cache.CacheEntry({}, compile_modules([text], passes=2))
        cache.write(entry_name, entry.facts, entry.objects)
    return Library(entry.objects, *symbols, imports=imports)
