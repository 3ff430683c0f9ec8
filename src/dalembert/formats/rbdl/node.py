"""A table of the file with its place, for numbers, texts and errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ModelFileError
from dalembert.formats.rbdl.lua import LuaTable
from dalembert.formats.xml import MAX_NUMBER, shown
from dalembert.spatial import Transform


class LuaNode:
    """A table, and what it is called in errors and notes."""

    def __init__(self, table: Any, file: str, name: str):
        if not isinstance(table, LuaTable):
            raise ModelFileError(f"{name} is no table.", file)
        self.table, self.file, self.line, self.words = table, file, table.line, name

    def __str__(self) -> str:
        return self.words

    def error(self, text: str) -> ModelFileError:
        """The error that this `text` (a sentence that goes on after its name), to be raised."""
        return ModelFileError(f"{self.words} {text}", self.file, self.line)

    def children(self, key: str) -> list[LuaNode]:
        """The tables in the list `key`, which may be absent."""
        if key not in self.table:
            return []
        whole = LuaNode(self.table[key], self.file, f"'{key}' of {self.words}")
        out = []
        for k, x in enumerate(whole.table.items_in_order(), 1):
            name = x.get("name") if isinstance(x, LuaTable) else None
            label = shown(name) if isinstance(name, str) else str(k)
            out.append(LuaNode(x, self.file, f"{label} of {key}"))
        return out

    def child(self, key: str) -> LuaNode | None:
        """The table `key`, or None."""
        return LuaNode(self.table[key], self.file, f"'{key}' of {self.words}") if key in self.table else None

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.table.get(key, default)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"has {'no' if value is None else 'a wrong'} '{key}'; needed: a text.")
        return value

    def number(self, key: str, default: float) -> float:
        """One number."""
        return float(self.numbers(key, None, default))

    def numbers(self, key: Any, shape: Any, default: Any) -> np.ndarray:
        """Numbers: one (shape None), a list of n, or a matrix (n, m)."""
        value = self.table.get(key)
        if value is None:
            return np.array(default, dtype=float)
        return self.array(value, shape, f"'{key}'")

    def array(self, value: Any, shape: Any, what: str) -> np.ndarray:
        """The numbers of a table of this node."""
        plain = _plain(value, 0)
        try:
            x = np.array(plain, dtype=float) if plain is not None else None
        except (TypeError, ValueError, OverflowError):
            x = None
        wanted = () if shape is None else shape if isinstance(shape, tuple) else (shape,)
        if x is None or x.shape != wanted or not (np.abs(x) < MAX_NUMBER).all():
            needed = "a number" if not wanted else f"{' × '.join(map(str, wanted))} numbers"
            raise self.error(f"has a wrong {what}; needed: {needed}.")
        return x

    def rotation(self, key: str) -> np.ndarray:
        """A (3, 3) rotation, by default none."""
        return self.numbers(key, (3, 3), np.eye(3))

    def place(self, key: str) -> Transform:
        """r and E of the table `key`: E carries vectors from that frame to the body."""
        node = self.child(key)
        if node is None:
            return Transform(np.eye(3), np.zeros(3))
        return Transform(node.rotation("E"), node.numbers("r", 3, (0.0, 0.0, 0.0)))


def _plain(value: Any, depth: int) -> Any:
    """Lists of floats; None where it is something else."""
    if isinstance(value, LuaTable) and depth < 3:
        items = value.items_in_order()
        return [_plain(x, depth + 1) for x in items] if len(items) == len(value) and len(items) <= 6 else None
    return value if isinstance(value, float) else None
