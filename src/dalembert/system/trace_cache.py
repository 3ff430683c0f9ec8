"""What tracing gave, kept on disk by description: a mechanism that was compiled before is not traced again.

A kernel is found by the digest of its mechanism's description (`mechanism.digest`), the names of the constraints that
hold, its own key, the sources of this package and the processor; what is kept of it is the name of its machine code
and its interface. `System` keeps the names of its rows likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from dalembert.compiler import Kernel, cache
from dalembert.compiler.build import compile_parts, loaded
from dalembert.compiler.kernel import Interface, restored
from dalembert.forks import undisturbed
from dalembert.sources import package_stamp
from dalembert.system.functions import TracedFunction
from dalembert.system.rows import RowNames

Shaped = tuple[ca.Function, tuple[tuple[int, ...], ...]]
Facts = tuple[RowNames, tuple[str, ...]]


@undisturbed()
def kernel(digest: str | None, key: tuple[Any, ...], lanes: int, backend: str, trace: Callable[[], Shaped]) -> Kernel:
    """A kernel from the disk, or traced, compiled and kept there.

    digest: of the description, None where it has none; key: equal for equal functions of one description.
    """
    name = _name(digest, key, lanes) if backend == "native" else None
    entry = None if name is None else cache.read(name)
    if entry is not None:
        code = loaded(entry.facts["code"], entry.facts.get("part"))
        if code is not None:
            return restored(Interface(**entry.facts["interface"]), code, lanes, lambda: trace()[0])
    f, shapes = trace()
    made = Kernel(f, lanes=lanes, backend=backend, shapes=shapes)
    if name is not None:
        cache.write(name, {"code": made.code_name, "interface": asdict(made.interface)}, [])
    return made


def has(digest: str | None, key: tuple[Any, ...], lanes: int = 1) -> bool:
    """Whether a kernel is on the disk."""
    name = _name(digest, key, lanes)
    return name is not None and cache.read(name) is not None


@undisturbed()
def kernels(
    digest: str | None,
    keys: Mapping[str, tuple[Any, ...]],
    trace: Callable[[], tuple[ca.Function, Sequence[TracedFunction]]],
    alone: Callable[[str], ca.Function],
) -> dict[str, Kernel]:
    """Kernels of several functions that share most of what they compute, traced and compiled as one; see `kernel`.

    keys: of each, by name; trace: all of them, as `functions.trace_together` gives them; alone: one of them.
    """
    from dalembert.compiler.parts import ProgramPart  # which loads all that compiles

    whole = _name(digest, ("together", *keys.items()), 1)
    f, traced = trace()
    parts, place = [], 0
    for part in traced:
        inputs = tuple(f.name_in().index(n) for n in part.arguments)
        parts.append(ProgramPart(part.name, inputs, place, place + len(part.outputs)))
        place += len(part.outputs)
    out = {}
    for part, code in zip(traced, compile_parts(f, parts, whole).values()):
        n_in, n_out = (tuple(x.numel() for x in some) for some in (part.arguments.values(), part.outputs))
        interface = Interface(part.name, tuple(part.arguments), n_in, part.shapes, n_out)
        out[part.name] = restored(interface, code, 1, partial(alone, part.name))
        name = _name(digest, keys[part.name], 1)
        if name is not None:
            cache.write(name, {"code": code.name, "part": part.name, "interface": asdict(interface)}, [])
    return out


@undisturbed()
def checked(digest: str | None, check: Callable[[], None]) -> None:
    """Check a description, unless the disk has it that one with the same digest was found right."""
    name = _name(digest, ("checked",), 1)
    if name is not None and cache.read(name) is not None:
        return
    check()
    if name is not None:
        cache.write(name, {}, [])


@undisturbed()
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


@undisturbed()
def arrays(digest: str | None, key: tuple[Any, ...], make: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
    """Arrays of doubles that are a function of the description, from the disk or made and kept, to the last bit."""
    name = _name(digest, key, 1)
    entry = None if name is None else cache.read(name)
    if entry is not None:
        return [np.frombuffer(x).reshape(shape) for x, shape in zip(entry.objects, entry.facts["shapes"])]
    made = make()
    if name is not None:
        cache.write(name, {"shapes": [x.shape for x in made]}, [np.asarray(x, dtype=float).tobytes() for x in made])
    return made


def _name(digest: str | None, key: tuple[Any, ...], lanes: int) -> str | None:
    """The name of a cache entry; None where a part of the key is an object whose meaning is not in its text."""
    if digest is None or not _plain(key):
        return None
    from dalembert.compiler.target import host

    machine = host()
    return cache.key("description", digest, repr(key), str(lanes), package_stamp(), machine.cpu, machine.features)


def _plain(x: Any) -> bool:
    return all(map(_plain, x)) if x.__class__ is tuple else x is None or x.__class__ in (str, int, float, bool)
