"""Named tuples as records for native code: numbers as they are, arrays as the addresses of their first numbers.

A record is one pointer to Numba, where a tuple would be an argument for each of its numbers, of every function that
passes it on.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_type_hints

import numpy as np


@cache
def layout(kind: type) -> np.dtype:
    """The record of a class of named tuples, from its annotations: int, float, arrays, and such tuples again."""
    fields = []
    for name, hint in get_type_hints(kind).items():
        fields.append((name, layout(hint) if hasattr(hint, "_fields") else np.float64 if hint is float else np.int64))
    return np.dtype(fields)


def values(x: Any) -> tuple[Any, ...]:
    """What the record of a named tuple holds, as long as the tuple lives; `x.values()` where it has its own, faster."""
    if hasattr(x, "values"):
        return x.values()
    return tuple(address(v) if isinstance(v, np.ndarray) else values(v) if isinstance(v, tuple) else v for v in x)


def address(x: np.ndarray) -> int:
    """Of its first number; native code goes on from there, so the numbers must be doubles or integers side by side."""
    found = x.__array_interface__
    assert found["strides"] is None
    assert found["typestr"][1:] in ("f8", "i8"), found["typestr"]
    return found["data"][0]
