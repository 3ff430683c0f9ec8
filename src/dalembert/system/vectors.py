"""Vectors of named values, parameters and inputs, from what users give: by name or in order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, unknown


def filled(
    given: Mapping[Any, Any], start: Mapping[str, np.ndarray], kind: str, finite: bool = True
) -> dict[str, np.ndarray]:
    """The values of `start` with some replaced, whole ("g") or one of several ("g[1]")."""
    values = dict(start)
    for name, value in given.items():
        whole, part = place(name, {n: len(x) for n, x in start.items()}, kind)
        x = np.array(values[whole])
        what = f"{kind} '{name}'"
        numbers = np.atleast_1d(checks.array(value, None, what) if finite else checks.reals(value, what))
        if numbers.shape != x[part].shape:
            raise ArgumentError(f"{what} is given {numbers.size} number(s); needed: {x[part].size}.")
        x[part] = numbers
        values[whole] = x
    return values


def place(name: Any, sizes: Mapping[str, int], kind: str, where: str = "") -> tuple[str, slice]:
    """What a name means: the whole "g", or one of its values by "g[1]"; sizes: how many values each name has.

    >>> place("g[1]", {"g": 3}, "parameter")
    ('g', slice(1, 2, None))
    """
    if isinstance(name, str):
        if name in sizes:
            return name, slice(0, sizes[name])
        part = re.fullmatch(r"(.+)\[(\d{1,9})\]", name)
        if part and part[1] in sizes and int(part[2]) < sizes[part[1]]:
            return part[1], slice(int(part[2]), int(part[2]) + 1)
    raise unknown(kind, name, sizes, where)


def listed(x: Any, names: Sequence[str], what: str, finite: bool = True) -> np.ndarray:
    """(len(names),) numbers."""
    values = checks.array(x, None, what) if finite else checks.reals(x, what)
    if values.shape != (len(names),):
        shown = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise ArgumentError(f"{what} has shape {values.shape}; needed: ({len(names)},), that is {shown or 'none'}.")
    return values
