"""Structs as they lie in the memory of another machine: a copy of their bytes with addresses of that machine.

A struct is the same 64-bit words everywhere, so a copy needs other addresses only: of arrays, of other structs, and of
functions, which are places in a table there. Views of one array remain views of one array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.native.bound import Bound
from dalembert.native.struct import Float, Held, Struct, address

_ALIGNED = 16  # bytes


class Image:
    """Memory that begins at an address and grows with what is placed in it.

    place: (a function's address here, the `Bound` that names it or None) → its address there.
    """

    def __init__(self, start: int, place: Callable[[int, Bound | None], int | None]) -> None:
        self.start = self.end = start
        self.function = place
        self.blocks: list[tuple[int, bytearray]] = []
        self.bounds: list[tuple[Bound, int]] = []  # that were placed, and where
        self._placed: dict[int, tuple[int, Any]] = {}  # by id: address there, and the object, which is kept alive

    def room(self, size: int) -> tuple[int, bytearray]:
        """A block of zero bytes: its address there, and its contents."""
        at = self.end
        block = bytearray(size)
        self.blocks.append((at, block))
        self.end = (at + size + _ALIGNED - 1) & -_ALIGNED
        return at, block

    def array(self, x: np.ndarray) -> int:
        """The address of an array there."""
        root: Any = x
        while isinstance(root.base, np.ndarray):
            root = root.base
        if id(root) not in self._placed:
            at, block = self.room(max(root.nbytes, 8))
            block[: root.nbytes] = ctypes.string_at(address(root), root.nbytes)
            self._placed[id(root)] = at, root
        return self._placed[id(root)][0] + address(x) - address(root)

    def struct(self, s: Struct) -> int:
        """The address of a struct there, with all it holds."""
        if id(s) in self._placed:
            return self._placed[id(s)][0]
        at, block = self.room(max(ctypes.sizeof(s), 8))
        self._placed[id(s)] = at, s
        if isinstance(s, Bound):
            self.bounds.append((s, at))
        block[: ctypes.sizeof(s)] = bytes(s)
        for path, (place, field) in s.members().items():
            if isinstance(field, Float):
                continue
            word = self._word(s, path, field)
            block[place : place + 8] = word.to_bytes(8, "little", signed=True)
        return at

    def _word(self, s: Struct, path: str, field: Any) -> int:
        if not isinstance(field, Held):
            value = s.fetch(path)
            there = self.function(value, s if isinstance(s, Bound) and path == "address" else None)
            return value if there is None else there
        held = getattr(s, field.own, None)
        if held is None:
            return 0
        return self.array(held) if isinstance(held, np.ndarray) else self.struct(held)
