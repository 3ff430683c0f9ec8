"""Digests of source files, for code that is kept until they change."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
_FROM = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^\s*import\s+([^\n]*)", re.MULTILINE)
_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+[^\n]*\n|\n)+", re.MULTILINE)  # imports that are never made


def digest(folders: Iterable[Path]) -> bytes:
    """Digest of every Python file in these folders."""
    found = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.glob("*.py")):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.digest()


@cache
def package_stamp() -> str:
    """The version of this package as its source files tell it: where they are, their sizes and times of change.

    As Python decides whether a compiled file is stale; reading them all would take longer than what it saves.
    """
    files = []
    waiting = [str(PACKAGE)]
    while waiting:
        with os.scandir(waiting.pop()) as inside:
            for item in inside:
                if item.name.endswith(".py"):
                    about = item.stat()
                    files.append(f"{item.path}\0{about.st_size}\0{about.st_mtime_ns}\0")
                elif item.is_dir() and item.name != "__pycache__":
                    waiting.append(item.path)
    return hashlib.sha256("".join(sorted(files)).encode()).hexdigest()


@cache
def digest_of(*modules: str) -> str:
    """Digest of modules of this package and of all modules of the package they import, directly or not."""
    found = hashlib.sha256()
    for name in sorted(set().union(*map(closure, modules))):
        found.update(name.encode() + b"\0" + _read(name)[0])
    return found.hexdigest()


def closure(module: str) -> set[str]:
    """Names of a module and of the modules of this package it imports, directly or not.

    Packages around the module itself are no part of it: `native.numba_bitcode` does not run their __init__.
    """
    seen, around = set[str](), set(packages(module))
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in around:
            text, imported = _read(name)
            if text:
                seen.add(name)
                waiting += imported
    return seen


def packages(module: str) -> list[str]:
    """The packages that a module is in, below this one."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(2, len(parts))]


@cache
def _read(name: str) -> tuple[bytes, list[str]]:
    """Text of a module of this package, empty if there is none, and the modules and packages that it may import."""
    path = _path(name)
    if path is None:
        return b"", []
    text = path.read_bytes()
    found = _imported(name, path.name == "__init__.py", text.decode())
    return text, [*found, *(package for each in found for package in packages(each))]


def _imported(name: str, is_package: bool, text: str) -> list[str]:
    """Modules that a source text may import; names that are no modules are harmless."""
    text = _TYPES.sub("", text)
    out = [n for line in _IMPORT.findall(text) for n in re.findall(rf"\b{PACKAGE.name}(?:\.\w+)+", line)]
    for dots, base, names in _FROM.findall(text):
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
