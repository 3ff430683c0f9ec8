"""Checks of runs, names and paths where users give them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from dalembert import checks
from dalembert.analysis.sweep import Sweep
from dalembert.errors import ArgumentError, DalembertError, FileError
from dalembert.protocols import RunLike
from dalembert.system.system import System


def system_of(run: RunLike | Sweep, *, sweeps: bool = False) -> System:
    """The system of a run, or of a sweep where sweeps are taken; refuses an argument `run` that is neither."""
    system = getattr(run, "system", None)
    if sweeps and isinstance(run, Sweep):
        if not len(run):
            raise ArgumentError(f"the sweep has no positions to show: {run.message}")
    elif not isinstance(system, System) or not hasattr(run, "passages"):
        raise ArgumentError(f"run is {checks.shown(run)}; needed: what da.simulate or da.read_run returns.")
    return cast(System, system)


def names(given: Any, what: str) -> list[Any]:
    """A list of names from what a user gives; a single name is a list of one."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, (list, tuple, set, dict)):
        raise ArgumentError(f"{what} is {checks.shown(given)}; needed: a list of names.")
    return list(given)


def ink() -> str:
    """The colour of text in Matplotlib's style: what stands out from the background of a figure, light or dark."""
    from matplotlib import rcParams

    return str(rcParams["text.color"])


def dark() -> bool:
    """Whether Matplotlib's style has a dark background."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    return sum(to_rgb(rcParams["axes.facecolor"])) < 1.5


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of writing a file into `FileError`."""
    try:
        yield
    except DalembertError:
        raise
    except (OSError, ValueError) as error:  # ValueError: Matplotlib's, for an ending it does not know
        raise FileError(f"'{os.fspath(path)}' cannot be written: {error}") from error
