"""What tracing gave, kept on disk by description: a mechanism that was compiled before is not traced again.

A kernel is found by the digest of its mechanism's description (`mechanism.digest`), the names of the constraints that
hold, its own key, the sources of this package and the processor; what is kept of it is the name of its machine code
and its interface. `System` keeps the names of its rows likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import casadi as ca

from dalembert.compiler import Kernel, cache
from dalembert.compiler.build import loaded
from dalembert.compiler.kernel import Interface, restored
from dalembert.sources import package_stamp
from dalembert.system.rows import RowNames

Traced = tuple[ca.Function, tuple[tuple[int, ...], ...]]
Facts = tuple[RowNames, tuple[str, ...]]


def kernel(digest: str | None, key: tuple[Any, ...], lanes: int, backend: str, trace: Callable[[], Traced]) -> Kernel:
    """A kernel from the disk, or traced, compiled and kept there.

    digest: of the description, None where it has none; key: equal for equal functions of one description.
    """
    name = _name(digest, key, lanes) if backend == "native" else None
    entry = None if name is None else cache.read(name)
    if entry is not None:
        code = loaded(entry.facts["code"])
        if code is not None:
            return restored(Interface(**entry.facts["interface"]), code, lanes, lambda: trace()[0])
    f, shapes = trace()
    made = Kernel(f, lanes=lanes, backend=backend, shapes=shapes)
    if name is not None:
        cache.write(name, {"code": made.code_name, "interface": asdict(made.interface)}, [])
    return made


def known(digest: str | None) -> bool:
    """Whether the facts of a description are on the disk: it was checked and traced before."""
    name = _name(digest, ("facts",), 1)
    return name is not None and cache.read(name) is not None


def facts(digest: str | None, trace: Callable[[], Facts]) -> Facts:
    """The names of the rows of a system and of the works it does, from the disk or traced and kept."""
    name = _name(digest, ("facts",), 1)
    entry = None if name is None else cache.read(name)
    if entry is not None:
        return RowNames.restored(entry.facts["rows"]), tuple(entry.facts["works"])
    rows, works = trace()
    if name is not None:
        cache.write(name, {"rows": asdict(rows), "works": works}, [])
    return rows, works


def _name(digest: str | None, key: tuple[Any, ...], lanes: int) -> str | None:
    """The name of a cache entry; None where a part of the key is an object whose meaning is not in its text."""
    if digest is None or not _plain(key):
        return None
    from dalembert.compiler.target import host

    machine = host()
    return cache.key("description", digest, repr(key), str(lanes), package_stamp(), machine.cpu, machine.features)


def _plain(x: Any) -> bool:
    return all(map(_plain, x)) if x.__class__ is tuple else x is None or x.__class__ in (str, int, float, bool)
