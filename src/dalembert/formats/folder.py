"""The folder that a model file may read from: includes and the names of meshes stay inside it.

Paths of a file are relative, with forward slashes; those that lead out of the folder, by `..` or by symbolic links, are
refused, as are addresses (`http://…`). Cycles of includes are found, and their number and total size are bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError, ModelFileError
from dalembert.formats.xml import MAX_BYTES, Element, contents, parse, shown

MAX_FILES = 1000


class Folder:
    """The files that one model file may refer to: those below the folder `root`.

    near: the folder of the model file, from which its paths lead; the root by default.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     _ = pathlib.Path(root, "leg.xml").write_text("<leg/>")
    ...     Folder(root).read("leg.xml").tag
    'leg'
    """

    def __init__(self, root: Any, near: Any = None):
        self.root = Path(root).resolve()
        self.near = self.root if near is None else Path(near).resolve()
        self.files = self.bytes = 0
        self.stack: list[Path] = []

    @classmethod
    def of(cls, path: Path, wider: Any) -> Folder:
        """The folder of a model file, or a wider one around it that the user names; None for its own."""
        own = path.parent.resolve()
        if wider is None:
            return cls(own)
        root = checks.path(wider, "folder", error=ModelFileError).resolve()
        if not own.is_relative_to(root):
            raise ArgumentError(
                f"folder is {shown(str(root))}, and {shown(path.name)} is not inside it; needed: the folder of the "
                "file, or one that contains it."
            )
        return cls(root, own)

    def resolve(self, name: str, element: Element | None = None, near: Path | None = None) -> Path:
        """The file that `name` means, inside the root; relative to the folder `near` (by default that of the model).

        element: where the name stands, for errors.
        """
        path = self.find(name, element, near)
        if path is None:
            raise _error(element, f"asks for {shown(name)}, and there is no such file in the folder.")
        return path

    def find(self, name: str, element: Element | None = None, near: Path | None = None) -> Path | None:
        """The file that `name` means, as `resolve` gives it; None where there is none inside the root."""
        if "://" in name or name.startswith(("file:", "data:")):
            raise _error(element, f"asks for {shown(name)}, an address; needed: a relative path inside the folder.")
        parts = PurePosixPath(name).parts
        if not name.strip() or "\0" in name or "\\" in name or ":" in name or not parts or name.startswith(("/", "~")):
            raise _error(element, f"asks for {shown(name)}; needed: a relative path with forward slashes.")
        asked = (self.near if near is None else near.resolve()).joinpath(*parts)
        if not Path(os.path.normpath(asked)).is_relative_to(self.root):
            raise _error(
                element,
                f"asks for {shown(name)}, which leaves the folder by '..'; needed: a path that stays inside, or a "
                "folder further up that you trust it with: read(path, folder=…).",
            )
        try:
            path = asked.resolve()
            known = path.is_relative_to(self.root) and path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # links in circles, names too long
            raise _error(element, f"asks for {shown(name)}, which cannot be found ({type(error).__name__}).") from None
        if not path.is_relative_to(self.root):
            raise _error(
                element, f"asks for {shown(name)}, a symbolic link out of the folder; needed: a file inside it."
            )
        return path if known else None

    def read(self, name: str, element: Element | None = None, near: Path | None = None) -> Element:
        """The root element of an XML file inside the folder."""
        path = self.resolve(name, element, near)
        return parse(self.contents(path, element), file=self.shown(path))

    def contents(self, path: Path, element: Element | None = None) -> bytes:
        """The bytes of a file that `resolve` gave, counted."""
        self.files += 1
        if self.files > MAX_FILES:
            raise _error(element, f"includes more than {MAX_FILES} files, the most that is read.")
        data = contents(path, self.shown(path), MAX_BYTES - self.bytes)
        self.bytes += len(data)
        return data

    @contextmanager
    def inside(self, path: Path, element: Element | None = None) -> Iterator[None]:
        """Remember that `path` is being read, so that its includes cannot lead back to it."""
        path = path.resolve()
        if path in self.stack:
            circle = " → ".join(p.name for p in [*self.stack[self.stack.index(path) :], path])
            raise _error(element, f"includes itself: {circle}. Remove one of these includes.")
        self.stack.append(path)
        try:
            yield
        finally:
            self.stack.pop()

    def shown(self, path: Path) -> str:
        """The name of a file for errors and notes: relative to the root."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name


def _error(element: Element | None, text: str) -> ModelFileError:
    return element.error(text) if element is not None else ModelFileError(f"the model file {text}")
