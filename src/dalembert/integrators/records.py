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
        fields.append((name, layout(hint) if hasattr(hint, "_fields") else float if hint is float else int))
    return np.dtype(fields)


def values(x: Any) -> tuple[Any, ...]:
    """What the record of a named tuple holds, as long as the tuple lives; `x.values()` where it has its own, faster."""
    if hasattr(x, "values"):
        return x.values()
    return tuple(address(v) if isinstance(v, np.ndarray) else values(v) if isinstance(v, tuple) else v for v in x)


def address(x: np.ndarray) -> int:
    """Of its first number."""
    return x.__array_interface__["data"][0]
