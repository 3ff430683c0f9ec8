"""Elements of XML as indented text, with numbers to the last digit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.errors import ModelFileError
from dalembert.spatial import Transform


class Text:
    """Lines of XML; elements are written one after another, `open` ones hold what follows until `close`."""

    def __init__(self) -> None:
        self.lines = ['<?xml version="1.0"?>']
        self.stack: list[str] = []

    def open(self, tag: str, **attributes: Any) -> None:
        """Begin an element."""
        self.lines.append("  " * len(self.stack) + f"<{tag}{_attributes(attributes)}>")
        self.stack.append(tag)

    def close(self) -> None:
        """End the innermost element; one that holds nothing is written short."""
        tag, last = self.stack.pop(), self.lines[-1]
        if last.startswith("  " * len(self.stack) + f"<{tag}") and not last.endswith("/>"):
            self.lines[-1] = last[:-1] + "/>"
        else:
            self.lines.append("  " * len(self.stack) + f"</{tag}>")

    def one(self, tag: str, **attributes: Any) -> None:
        """An element that holds nothing."""
        self.lines.append("  " * len(self.stack) + f"<{tag}{_attributes(attributes)}/>")

    def origin(self, T: Transform, tag: str = "origin") -> None:
        """An element with the place T, unless it is none."""
        R, p = T.R.astype(float), T.p.astype(float)
        if p.any() or not np.array_equal(R, np.eye(3)):
            self.one(tag, xyz=p, rpy=rpy(R))

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def rpy(R: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw (rad) with R = Rz(yaw) Ry(pitch) Rx(roll).

    >>> rpy(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).tolist() == [0, 0, np.pi / 2]
    True
    """
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    # what is left is a turn about x, also where the pitch is π/2 and the yaw is any
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw]) + 0.0


def number(x: float) -> str:
    """A number to its last digit, whole ones without a point."""
    x = float(x) + 0.0
    return str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)


def _attributes(attributes: Mapping[str, Any]) -> str:
    return "".join(
        f" {name.replace('__', ':')}={_value(value)}" for name, value in attributes.items() if value is not None
    )


def _value(value: Any) -> str:
    if isinstance(value, str):
        if any(ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 or ord(c) in (0xFFFE, 0xFFFF) for c in value):
            raise ModelFileError(f"the name {value!r} has a character that XML cannot hold; rename it.")
        return quoteattr(value)
    numbers: Iterable[float] = value if isinstance(value, (list, tuple, np.ndarray)) else [value]
    return f'"{" ".join(number(x) for x in numbers)}"'
