"""The door of this package: runs, systems and paths as a user gives them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError, FileError
from dalembert.system.system import System


def check_run(run: Any) -> None:
    """Refuse what is no run."""
    if not isinstance(getattr(run, "system", None), System) or not hasattr(run, "passages"):
        raise ArgumentError(f"run is {checks.shown(run)}; needed: what da.simulate or da.load returns.")


def check_system(system: Any) -> None:
    """Refuse what is no system."""
    if not isinstance(system, System):
        raise ArgumentError(f"system is {checks.shown(system)}; needed: a System, as mechanism.compile() returns.")


def check_path(path: Any) -> None:
    """Refuse what is no path."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise ArgumentError(f"path is {checks.shown(path)}; needed: the name of a file.")


def names(given: Any, what: str) -> list[Any]:
    """A list of names; a single one may stand for itself."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, (list, tuple, set, dict)):
        raise ArgumentError(f"{what} is {checks.shown(given)}; needed: a list of names.")
    return list(given)


@contextmanager
def writing(path: Any) -> Iterator[None]:
    """Errors of writing a file as ours."""
    try:
        yield
    except DalembertError:
        raise
    except (OSError, ValueError) as error:  # ValueError: Matplotlib's, for an ending it does not know
        raise FileError(f"'{os.fspath(path)}' cannot be written: {error}") from error
