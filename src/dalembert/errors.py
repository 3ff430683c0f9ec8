"""Exceptions of dalembert. Every message says what is wrong, found, needed, where, and how to repair it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


class DalembertError(Exception):
    """Base of every error this library raises on purpose."""


class DescriptionError(DalembertError, ValueError):
    """The description of a mechanism is wrong or incomplete."""


class UnknownName(DescriptionError, KeyError):
    """A name was asked for that the mechanism does not have."""

    __str__ = Exception.__str__  # KeyError would print the message's repr
    repair: tuple[str, str] | None = None  # the name, and the one that is surely meant


class ArgumentError(DalembertError, ValueError):
    """An argument of a call has the wrong shape, type or value."""


class AssemblyError(DalembertError, RuntimeError):
    """No configuration or velocity satisfies the constraints from where the search started."""


class CompileError(DalembertError, RuntimeError):
    """A program could not be turned into machine code."""


class FileError(DalembertError, ValueError):
    """A file is not what it was taken for, or belongs to something else."""


class ModelFileError(FileError):
    """A model file is wrong, or asks for something that is not read; `file` and `line` say where.

    >>> print(ModelFileError("<mass>: value is 'heavy'; needed: one number.", "arm.urdf", 12))
    arm.urdf:12: <mass>: value is 'heavy'; needed: one number.
    """

    def __init__(self, text: str, file: str = "", line: int = 0, repair: tuple[str, str] | None = None):
        """repair: a word of that line, and the one that is surely meant."""
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(where + text)
        self.text, self.file, self.line, self.repair = text, file, line, repair
        self.at = ""  # the path of keys there, in the format of this library
        self.faults: tuple[ModelFileError, ...] = (self,)  # all of the file that it tells


class MissingExtra(DalembertError, ImportError):
    """A library is needed that comes with an extra of this one."""


def article(noun: str) -> str:
    """The article before a noun.

    >>> article("actuator")
    'an'
    """
    return "an" if noun[0] in "aeiou" else "a"


def unknown(kind: str, name: object, known: Iterable[str], where: str = "") -> UnknownName:
    """The error for a name that does not exist, with the nearest ones that do.

    >>> print(unknown("body", "forarm", ["base", "forearm"], "joint 'elbow'"))
    joint 'elbow' asks for body 'forarm'; known: base, forearm. Did you mean 'forearm'?
    """
    names = list(known)
    if not isinstance(name, str):
        try:
            name = repr(name)[:60]
        except Exception:  # an object whose repr fails is still named
            name = f"<{type(name).__name__}>"
    shown = ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
    near = get_close_matches(str(name), names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    subject = f"{where} asks for {kind} '{name}'" if where else f"there is no {kind} '{name}'"
    error = UnknownName(f"{subject}; known: {shown or 'none'}.{hint}")
    error.repair = repair(str(name), names)
    return error


def repair(name: str, known: Iterable[str]) -> tuple[str, str] | None:
    """A name, and the only known one that it surely means: but for case, spaces and dashes, or for one letter in four.

    >>> repair("Revolute", ["revolute", "prismatic"]), repair("stifness", ["stiffness"]), repair("a", ["b"])
    (('Revolute', 'revolute'), ('stifness', 'stiffness'), None)
    """

    def plain(text: str) -> str:
        return "".join(c for c in text.casefold() if c not in " _-")

    names = list(known)
    for alike in (lambda n: plain(n) == plain(name), lambda n: len(name) >= 4 and _one_letter(plain(name), plain(n))):
        near = [n for n in names if alike(n)]
        if near:
            return (name, near[0]) if len(near) == 1 and near[0] != name else None
    return None


def _one_letter(a: str, b: str) -> bool:
    """Whether a letter that is missing, too much or another one, or two that changed places, make b of a."""
    k = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    rest, other = a[k:], b[k:]
    swapped = rest[:2] == other[1::-1] if len(rest) > 1 and len(other) > 1 else False
    return rest[1:] == other or rest == other[1:] or rest[1:] == other[1:] or (swapped and rest[2:] == other[2:])


def extra(module: str, name: str, purpose: str) -> Any:
    """A module that belongs to the extra `name`, imported when it is first needed.

    >>> extra("no_such_module", "files", "saving runs")
    Traceback (most recent call last):
    dalembert.errors.MissingExtra: saving runs needs 'no_such_module', ... pip install "dalembert[files]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs '{module.split('.')[0]}', which could not be imported ({error}). It comes with: "
            f'pip install "dalembert[{name}]"'
        ) from error
