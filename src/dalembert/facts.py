"""Everything that an object consists of, by where it is: numbers and texts that are equal in every process.

Objects are taken apart by the fields they have, so that a new field cannot be left out; what does not count is named,
class by class. Functions count by their code, the values they enclose, and the numbers, arrays and functions of
their module that they name; functions of installed packages by their names and what they enclose.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property as locked_property
from functools import partial
from hashlib import sha256
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import casadi as ca
import numpy as np

from dalembert.lazy import cached_property

Fact = str | np.ndarray | ca.SX
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
PYTHON = str(sys.implementation.cache_tag)  # code is comparable within one version of Python
INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
COMPUTED = cached_property, locked_property
OURS = __name__.partition(".")[0]


class Facts:
    """Facts of objects, gathered by `add` into `found`: {where: text, numbers (any shape) or an expression}."""

    def __init__(
        self,
        names: Mapping[int, str] | None = None,
        without: Mapping[type, tuple[str, ...]] | None = None,
        special: Callable[[Any], Any] = lambda x: x,
    ) -> None:
        """What decides how objects count.

        names: {id: name} of objects that count by their names. without: {class: fields that do not count}; objects
        of these classes are taken by their fields, others as pickling takes them where it asks their class.

        special: makes of an object what counts in its place.
        """
        self.names, self.without, self.special = dict(names or {}), dict(without or {}), special
        self.found: dict[str, Fact] = {}
        self._within: list[int] = []  # ids of the objects that are being taken apart
        self._functions: dict[int, tuple[str, Any]] = {}  # digest by id, and the function, so that its id stays its own

    def add(self, x: Any, where: str) -> None:
        """Gather the facts of an object."""
        x = self.special(x)
        if id(x) in self.names:
            self.found[where] = self.names[id(x)]
        elif x is None or isinstance(x, (str, bytes, complex)):
            self.found[where] = x if isinstance(x, str) else repr(x)
        elif isinstance(x, ca.SX):
            self.found[where] = x
        elif (numbers := _numbers(x)) is not None:
            self.found[where] = numbers
        elif id(x) in self._within:
            self.found[where] = f"{len(self._within) - self._within.index(id(x))} up"
        elif isinstance(x, (FunctionType, CodeType)):
            self.found[where] = self._code(x)
        else:
            self._within.append(id(x))
            self.found[where] = f"{len(x)} items" if isinstance(x, (list, tuple, Mapping)) else type(x).__qualname__
            for name, part in self._parts(x):
                self.add(part, f"{where}{name}")
            self._within.pop()

    def _code(self, x: FunctionType | CodeType) -> str:
        """A function or code in one text, whose first word is the Python that the rest belongs to."""
        if id(x) not in self._functions:
            inner = Facts(self.names, self.without, self.special)
            inner._within, inner._functions = [*self._within, id(x)], self._functions
            for name, part in _of_code(x):
                inner.add(part, name)
            self._functions[id(x)] = f"{PYTHON} {inner.digest()}", x
        return self._functions[id(x)][0]

    def _parts(self, x: Any) -> Iterator[tuple[str, Any]]:
        """What an object consists of, by name."""
        if isinstance(x, (list, tuple)):
            yield from ((f"[{k}]", part) for k, part in enumerate(x))
        elif isinstance(x, np.ndarray):
            yield ".shape", x.shape
            yield from ((f"[{k}]", part) for k, part in enumerate(x.ravel().tolist()))
        elif isinstance(x, Mapping):
            yield from ((f".{key}" if isinstance(key, str) else f"[{key!r}]", part) for key, part in x.items())
        elif isinstance(x, (set, frozenset)):
            yield from ((f"[{k}]", part) for k, part in enumerate(sorted(x, key=repr)))
        elif isinstance(x, MethodType):
            yield from ((".function", x.__func__), (".self", x.__self__))
        elif isinstance(x, partial):
            yield from ((".function", x.func), (".arguments", x.args), (".keywords", x.keywords))
        elif isinstance(x, (type, ModuleType, BuiltinFunctionType, np.ufunc)):
            yield ".name", f"{getattr(x, '__module__', '')}.{getattr(x, '__qualname__', x.__name__)}"
        elif isinstance(x, ca.Function):
            yield ".formula", x.serialize()
        elif isinstance(x, (ca.DM, ca.MX)):
            yield ".value", str(x)
        elif isinstance(getattr(x, "py_func", None), FunctionType):  # compiled by Numba
            yield ".function", x.py_func
        else:
            yield from self._fields(x)

    def _fields(self, x: Any) -> Iterator[tuple[str, Any]]:
        """The fields of an object and, where its class is the user's own, the functions of the class."""
        kind = type(x)
        left_out = {name for one in kind.__mro__ for name in self.without.get(one, ())}
        left_out |= {name for one in kind.__mro__ for name, f in vars(one).items() if isinstance(f, COMPUTED)}
        for one in kind.__mro__:
            if one.__module__.partition(".")[0] != OURS and not _is_installed(sys.modules.get(one.__module__)):
                for name, f in vars(one).items():
                    if isinstance(f, (FunctionType, property, staticmethod, classmethod)):
                        yield f".{one.__qualname__}.{name}", getattr(f, "fget", getattr(f, "__func__", f))
        for name, value in _state(x, any(one in self.without for one in kind.__mro__)):
            if name not in left_out:
                yield f".{name}", value

    @property
    def has_code(self) -> bool:
        """Whether functions were among it."""
        return bool(self._functions)

    def digest(self) -> str:
        """Hexadecimal digest of all that was found."""
        found = sha256()
        for where, x in sorted(self.found.items()):
            if isinstance(x, np.ndarray):
                found.update(f"{where}\0{x.shape}\0".encode() + x.tobytes())
            else:
                found.update(f"{where}\0{x}\0".encode())
        return found.hexdigest()


def digest(x: Any, special: Callable[[Any], Any] = lambda x: x) -> str:
    """Digest of everything that an object consists of; special as in `Facts`."""
    facts = Facts(special=special)
    facts.add(x, "")
    return facts.digest()


def is_code(text: str) -> bool:
    """Whether a text stands for a function: two of them are comparable where their first words are equal."""
    return bool(re.fullmatch(r"\S+-\d+ [0-9a-f]{64}", text))


def _numbers(x: Any) -> np.ndarray | None:
    """Numbers as float64 of the same shape; None for what else there is, and where float64 would lose digits."""
    if isinstance(x, (list, tuple)) and x and not all(isinstance(e, NUMBERS) for e in x):
        return None
    if isinstance(x, np.ndarray) and x.dtype == object:
        if not x.size or not all(isinstance(e, NUMBERS) for e in x.ravel().tolist()):
            return None
    elif not isinstance(x, (*NUMBERS, np.ndarray)) and not (isinstance(x, (list, tuple)) and x):
        return None
    try:
        out = np.array(x, dtype=np.float64, order="C")
        exact = np.asarray(x, dtype=object) == out
    except (TypeError, ValueError, OverflowError):  # texts, complex numbers, ragged lists
        return None
    return out if isinstance(x, float) or np.all(exact | np.isnan(out)) else None


def _of_code(x: FunctionType | CodeType) -> Iterator[tuple[str, Any]]:
    """What a function or its code consists of."""
    if isinstance(x, CodeType):
        yield from (("code", x.co_code), ("names", x.co_names), ("constants", x.co_consts))
        return
    if x.__module__.partition(".")[0] == OURS or x.__code__.co_filename.startswith(INSTALLED):
        yield "name", f"{x.__module__}.{x.__qualname__}"
    else:
        yield "code", x.__code__
        known = {name: x.__globals__[name] for name in x.__code__.co_names if name in x.__globals__}
        for name, value in known.items():
            if isinstance(value, (*NUMBERS, str, np.ndarray, FunctionType, list, tuple, dict)):
                yield f"global {name}", value
    yield from (("defaults", x.__defaults__), ("keywords", x.__kwdefaults__))
    for name, cell in zip(x.__code__.co_freevars, x.__closure__ or ()):
        if cell != CellType():
            yield f"enclosed {name}", cell.cell_contents


def _state(x: Any, by_fields: bool) -> Iterator[tuple[str, Any]]:
    """Fields and their values: what pickling keeps where a class says so, unless by_fields; else all of them."""
    kind = type(x)
    if by_fields:
        pass
    elif kind.__reduce__ is not object.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__:
        try:
            reduced = x.__reduce_ex__(4)
        except Exception:  # locks, files, memory of other libraries: no more than their class is known
            return
        parts = (reduced,) if isinstance(reduced, str) else reduced[1:3]
        yield from ((f"part {k}", part) for k, part in enumerate(parts))
        return
    if is_dataclass(x):
        yield from ((field.name, getattr(x, field.name)) for field in fields(x) if hasattr(x, field.name))
    elif not by_fields and "__getstate__" in {name for one in kind.__mro__[:-1] for name in vars(one)}:
        yield "state", x.__getstate__()
    else:
        slots = (name for one in kind.__mro__ for name in _as_names(vars(one).get("__slots__", ())))
        yield from ((name, getattr(x, name)) for name in slots if name[:2] != "__" and hasattr(x, name))
        yield from getattr(x, "__dict__", {}).items()


def _as_names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_installed(module: ModuleType | None) -> bool:
    """Whether a module came with Python or a package."""
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(INSTALLED)
