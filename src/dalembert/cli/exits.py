"""Exit codes of the command line, and which error gives which."""

from __future__ import annotations

from enum import IntEnum

from dalembert.errors import (
    ArgumentError,
    AssemblyError,
    CompileError,
    DalembertError,
    DescriptionError,
    FileError,
    MissingExtra,
    UnknownName,
)


class Exit(IntEnum):
    """How a command ended."""

    DONE = 0
    NO = 1  # the answer is no: nothing closes, no equilibrium, a run that failed
    USAGE = 2  # an option, a name or a value is wrong
    FILE = 3  # a file is wrong, missing, or cannot be written
    INTERRUPTED = 4  # by Ctrl-C; what was computed is there
    MISSING = 5  # a library is not installed
    FAULT = 6  # a fault of dalembert itself


class Refused(DalembertError):
    """A question whose answer is no."""


#: the first kind that an error is of
CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (MissingExtra, Exit.MISSING),
    (Refused, Exit.NO),
    (AssemblyError, Exit.NO),
    (CompileError, Exit.NO),
    (FileError, Exit.FILE),
    (UnknownName, Exit.USAGE),
    (DescriptionError, Exit.FILE),
    (ArgumentError, Exit.USAGE),
    (DalembertError, Exit.NO),
)


def code_of(error: DalembertError) -> Exit:
    """The exit code of an error."""
    return next(code for kind, code in CODES if isinstance(error, kind))
