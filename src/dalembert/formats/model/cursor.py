"""A place in the data of a model file: its value, and the file, line and path of keys that errors name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import isfinite, isinf
from typing import Any

from dalembert.errors import DalembertError, ModelFileError, repair
from dalembert.formats.data import FileTable, Items, kind, shown
from dalembert.formats.model.grammar import GrammarError, corrected, hint, nearest
from dalembert.formats.model.vocabulary import Keys, names, required

MAX_NAME = 1000


class FileNode:
    """A value of the file; `at` is its path of keys."""

    __slots__ = ("at", "file", "line", "value")

    def __init__(self, value: Any, file: str, line: int = 0, at: str = ""):
        self.value, self.file, self.line, self.at = value, file, line, at

    def error(self, text: str, repair: tuple[str, str] | None = None) -> ModelFileError:
        """The error, to be raised; repair: a word of the line, and what is surely meant."""
        error = ModelFileError(f"{self.at}: {text}" if self.at else text, self.file, self.line, repair)
        error.at = self.at
        return error

    def wrong(self, needed: str) -> ModelFileError:
        """The error that something else stands here than is needed."""
        return self.error(f"is {kind(self.value)}; needed: {needed}.")

    @contextmanager
    def here(self) -> Iterator[None]:
        """Errors of expressions and of the description are told with this place."""
        try:
            yield
        except ModelFileError:
            raise
        except GrammarError as error:
            text = str(error)
            fixed = corrected(self.value) if isinstance(self.value, str) else None
            known = (str(self.value), fixed) if fixed else error.repair
            raise self.error(text if text.endswith((".", "?")) else f"{text}.", known) from None
        except DalembertError as error:
            raise self.error(str(error), getattr(error, "repair", None)) from error

    # --- mappings -----------------------------------------------------------------------------------------------

    def table(self) -> FileTable:
        """The mapping that must stand here."""
        if not isinstance(self.value, FileTable):
            raise self.wrong("a mapping of keys to values")
        return self.value

    def keys(self, keys: Keys, of: str) -> None:
        """Refuse keys that are not known, and miss those that must be there."""
        table, known = self.table(), names(keys)
        for key in table:
            if key not in known:
                raise self.child(key).error(
                    f"is no key of {of}; known: {', '.join(known) or 'none'}.{nearest(key, known)}",
                    repair(key, [k for k in known if k not in table]),
                )
        for key in required(keys):
            if key not in table:
                raise self.error(f"has no '{key}', which {of} needs. Add it.")

    def child(self, key: str) -> FileNode:
        """Value of a key that must be present."""
        table = self.table()
        return FileNode(table[key], self.file, table.lines[key], f"{self.at}.{_key(key)}" if self.at else _key(key))

    def get(self, key: str) -> FileNode | None:
        """Value of a key, or None if the key is absent; one that is there must not be empty."""
        if key not in self.table():
            return None
        found = self.child(key)
        if found.value is None:
            raise found.error("is empty; needed: a value. Give it one, or leave the key out.")
        return found

    def drop(self, at: str) -> bool:
        """Take out the innermost key below this place on the way to a path; whether there is one."""
        node, last = self, None
        while found := next((x for x in node._inside() if f"{at}.".startswith((f"{x[1].at}.", f"{x[1].at}["))), None):
            if isinstance(node.value, FileTable):
                last = node.value, found[0]
            node = found[1]
        if last is None:
            return False
        del last[0][last[1]]
        return True

    def _inside(self) -> Iterable[tuple[str, FileNode]]:
        if isinstance(self.value, FileTable):
            return [(key, self.child(key)) for key in self.value]
        return [("", item) for item in self.items()] if isinstance(self.value, Items) else []

    def named(self) -> Iterator[tuple[str, FileNode]]:
        """(name, element) of a mapping by name; its names are checked."""
        for name in self.table():
            node = self.child(name)
            if not name or len(name) > MAX_NAME or not name.isprintable():
                raise node.error(f"is no name: needed: 1 to {MAX_NAME} characters, none of them a control character.")
            yield name, node

    # --- single values ------------------------------------------------------------------------------------------

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value or not self.value.isprintable():
            raise self.wrong("a text of one line")
        return self.value

    def choice(self, options: Iterable[str]) -> str:
        """One of some texts."""
        known = list(options)
        if not isinstance(self.value, str) or self.value not in known:
            raise self.error(
                f"is {kind(self.value)}; needed: one of {', '.join(known)}.{nearest(str(self.value)[:60], known)}",
                repair(self.value, known) if isinstance(self.value, str) else None,
            )
        return self.value

    def flag(self) -> bool:
        """true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def number(self) -> float:
        """A finite number."""
        x = self.value
        if isinstance(x, bool) or not isinstance(x, (int, float)):
            fixed = corrected(x) if isinstance(x, str) else None
            text = f"is {kind(x)}; needed: a number.{hint(x) if isinstance(x, str) else ''}"
            raise self.error(text, (str(x), fixed) if fixed else None)
        if not isfinite(x):
            raise self.error(f"is {'infinite' if isinf(x) else 'not a number (NaN)'}; needed: a finite number.")
        return float(x)

    def whole(self) -> int:
        """A whole number above 0."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 1:
            raise self.wrong("a whole number of at least 1")
        return self.value

    def items(self, count: int | None = None) -> list[FileNode]:
        """The elements of a list, of `count` where given."""
        if not isinstance(self.value, Items):
            raise self.wrong("a list" if count is None else f"a list of {count}")
        if count is not None and len(self.value) != count:
            raise self.wrong(f"a list of {count}")
        return [
            FileNode(x, self.file, line, f"{self.at}[{k}]")
            for k, (x, line) in enumerate(zip(self.value, self.value.lines))
        ]

    def numbers(self, count: int | None = None) -> list[float]:
        """A list of finite numbers."""
        return [node.number() for node in self.items(count)]


def _key(key: str) -> str:
    """A key in a path: as it is where it is a word."""
    return key if key.replace("_", "").replace("$", "").isalnum() and len(key) <= 60 else shown(key)
