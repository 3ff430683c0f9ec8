"""Frozen records made in one go: `__init__` of a frozen dataclass takes a call for every field."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def filled(kind: type[T], fields: dict[str, Any]) -> T:
    """A frozen dataclass without slots from all of its fields, unchecked; the dict becomes its own.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> filled(Point, {"x": 1.0, "y": 0.0})
    Point(x=1.0, y=0.0)
    """
    new = object.__new__(kind)
    object.__setattr__(new, "__dict__", fields)
    return new
