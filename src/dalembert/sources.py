"""Digests of source files, for code that is kept until they change."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
_IMPORT = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def digest(folders: Iterable[Path]) -> bytes:
    """Digest of every Python file in these folders."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.digest()


@cache
def digest_of(*modules: str) -> str:
    """Digest of modules of this package and of all modules of the package they import, directly or not."""
    found = hashlib.sha256()
    for name in sorted(set().union(*map(closure, modules))):
        found.update(name.encode() + b"\0" + _path(name).read_bytes())  # type: ignore[union-attr]
    return found.hexdigest()


def closure(module: str) -> set[str]:
    """Names of a module and of the modules of this package it imports, directly or not."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = None if name in seen else _path(name)
        if path is not None:
            seen.add(name)
            waiting += _imported(name, path.name == "__init__.py", path.read_text())
    return seen


def _imported(name: str, is_package: bool, text: str) -> list[str]:
    """Modules that a source text may import; names that are no modules are harmless."""
    out = []
    for dots, base, names in _IMPORT.findall(text):
        if dots:
            above = name.split(".")
            above = above[: len(above) - len(dots) + is_package]
            base = ".".join([*above, *([base] if base else [])])
        if base.split(".")[0] == PACKAGE.name:
            words = re.sub(r"#[^\n]*", "", names).strip("()").split(",")
            out += [base, *(f"{base}.{word.split()[0]}" for word in words if word.strip())]
    return out


def _path(module: str) -> Path | None:
    """The file of a module of this package, or None."""
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    for path in (stem.with_suffix(".py"), stem / "__init__.py"):
        if path.is_file() and stem != PACKAGE:
            return path
    return None
