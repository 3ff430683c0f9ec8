"""Measurements: columns over time, from a mapping, a pandas table or a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, FileError


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of some quantities at some times."""

    t: np.ndarray  # (N,) s, rising
    of: tuple[str, ...]  # (k,) quantities, as `da.sensitivities` names them
    values: np.ndarray  # (N, k); NaN where there is none

    @staticmethod
    def read(data: Any) -> Measured:
        """From {"t": times, quantity: values}, a DataFrame with a column or index "t", or the name of a CSV file.

        The columns of a run's table are known too: "q.A" is "A", "v.A" is "rate:A".
        """
        if isinstance(data, (str, os.PathLike)):
            columns = _csv(checks.path(data, "data"))
        elif isinstance(data, Mapping):
            columns = dict(data)
        elif hasattr(data, "columns") and hasattr(data, "index"):
            columns = {str(name): np.asarray(data[name]) for name in data.columns}
            if "t" not in columns and data.index.name == "t":
                columns["t"] = np.asarray(data.index)
        else:
            raise ArgumentError(
                f"data is {checks.shown(data)}; needed: {{'t': times, quantity: values}}, a pandas DataFrame or the "
                "name of a CSV file."
            )
        if "t" not in columns:
            raise ArgumentError(f"data has no column 't' of times (s); it has: {', '.join(map(str, columns))}.")
        t = checks.vector(columns.pop("t"), None, "data['t']")
        if len(t) < 2 or not (np.diff(t) > 0.0).all():
            raise ArgumentError("data['t'] does not rise; needed: two times or more, each after the one before.")
        if not columns:
            raise ArgumentError("data has times and nothing else; needed: a column for each quantity, such as 'A'.")
        values = [_column(x, len(t), f"data[{name!r}]") for name, x in columns.items()]
        of = tuple(_quantity(name) for name in columns)
        return Measured(t, of, np.array(values).T)


def _column(x: Any, count: int, what: str) -> np.ndarray:
    """(count,) numbers, or NaN."""
    try:
        missing = np.isnan(np.asarray(x, dtype=float))
    except (TypeError, ValueError, OverflowError):
        missing = np.zeros(0, dtype=bool)
    if missing.shape != (count,):
        return checks.vector(x, count, what)  # says what is wrong with it
    return np.where(missing, np.nan, checks.vector(np.where(missing, 0.0, np.asarray(x, dtype=float)), count, what))


def _quantity(column: str) -> str:
    """The quantity of a column of a run's table."""
    kind, _, name = column.partition(".")
    return {"q": name, "v": f"rate:{name}"}.get(kind, column) if name else column


def _csv(path: Path) -> dict[str, np.ndarray]:
    """Columns of numbers by the names in the first line; an empty cell is NaN."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"'{path}' cannot be read: {error}.") from error
    if not lines:
        raise FileError(f"'{path}' is empty; needed: a line of names, then lines of numbers.")
    names, table = [name.strip() for name in lines[0]], []
    for number, row in enumerate(lines[1:], 2):
        if len(row) != len(names):
            raise FileError(f"'{path}', line {number}: {len(row)} values for {len(names)} names.")
        try:
            table.append([float(x) if x.strip() else np.nan for x in row])
        except ValueError:
            wrong = next(x for x in row if not _is_number(x))
            raise FileError(f"'{path}', line {number}: {wrong!r} is not a number (1.5, 2e-3).") from None
    return dict(zip(names, np.array(table).reshape(-1, len(names)).T))


def _is_number(x: str) -> bool:
    try:
        float(x or "0")
    except ValueError:
        return False
    return True
