"""What a study does, as text that is equal in every process: functions by what they compute, or by their code.

Functions written in CasADi are traced, and known by their formulas. Functions in Python are known by their code, the
values they enclose, and the numbers, arrays and functions of their module that they name; other objects by their class,
its `__call__`, and the attributes that are numbers, texts and arrays, or the fields of a dataclass.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from hashlib import sha256
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from dalembert.simulation.callbacks import ARGUMENTS, expression, is_numba, scalar_of, traced_inputs
from dalembert.simulation.events import Event
from dalembert.system.functions import trace
from dalembert.system.system import System

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def of_output(system: System, f: Any) -> str:
    """Fingerprint of an expression f(t, state) of one number."""
    return _formula(system, lambda s: np.array([scalar_of(s, f, "an output")]))


def of_controller(system: System, u: Any) -> str:
    """Fingerprint of a controller of any kind."""
    if isinstance(u, expression):
        return _formula(system, lambda s: traced_inputs(system, s, u.f))
    return of(u)


def of_event(system: System, event: Event) -> str:
    """Fingerprint of an event."""
    g = event.g
    return f"{of_output(system, g.f) if isinstance(g, expression) else of(g)} {event.direction} {event.terminal}"


def _formula(system: System, value: Any) -> str:
    return sha256(trace(system.description, "f", ARGUMENTS, value)[0].serialize().encode()).hexdigest()


def of(x: Any) -> str:
    """Fingerprint of a function, or of a value that one uses."""
    return sha256(_text(x, {}).encode()).hexdigest()


def _text(x: Any, seen: dict[int, tuple[int, Any]]) -> str:
    """The value in words; one that has been seen, as a function that names itself has, is referred to."""
    kind = type(x).__qualname__
    if isinstance(x, PLAIN):
        return f"{kind} {x!r}"
    if id(x) in seen:
        return f"#{seen[id(x)][0]}"
    seen[id(x)] = len(seen), x  # kept, so that its id stays its own
    if isinstance(x, (np.ndarray, np.generic)):
        return f"{kind} {x.dtype} {x.shape} {x.tobytes().hex()}"
    return f"{kind} ({', '.join(_text(part, seen) for part in _parts(x))})"


def _parts(x: Any) -> list[Any]:
    """What a value consists of."""
    if isinstance(x, (list, tuple)):
        return list(x)
    if isinstance(x, dict):
        return [part for item in x.items() for part in item]
    if isinstance(x, (set, frozenset)):
        return sorted(x, key=repr)
    if isinstance(x, CodeType):
        return [x.co_code, x.co_names, x.co_consts]
    if isinstance(x, FunctionType):
        cells = [cell.cell_contents for cell in x.__closure__ or () if cell != CellType()]
        return [x.__code__, x.__defaults__, x.__kwdefaults__, cells, _named(x)]
    if isinstance(x, MethodType):
        return [x.__func__, x.__self__]
    if isinstance(x, partial):
        return [x.func, x.args, x.keywords]
    if is_numba(x):
        return [x.py_func]
    if is_dataclass(x) and not isinstance(x, (type, System)):
        return [getattr(x, field.name) for field in fields(x)]
    kept = {
        name: value for name, value in getattr(x, "__dict__", {}).items() if isinstance(value, (*PLAIN, np.ndarray))
    }
    computed = {name for kind in type(x).__mro__ for name, of in vars(kind).items() if isinstance(of, cached_property)}
    return [vars(type(x)).get("__call__"), *((name, kept[name]) for name in sorted(set(kept) - computed))]


def _named(f: FunctionType) -> list[Any]:
    """Numbers, arrays and functions of its module that a function names."""
    known = {name: f.__globals__[name] for name in f.__code__.co_names if name in f.__globals__}
    return [(name, x) for name, x in known.items() if isinstance(x, (*PLAIN, np.ndarray, FunctionType))]
