"""Hard points: named points of the drawing, from a mapping, a table or a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca

from dalembert import checks
from dalembert.errors import DescriptionError

UNITS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "in": 0.0254, "ft": 0.3048}
NEEDED = "needed: {name: (x, y, z)}, a CSV file with the columns name, x, y, z, or a DataFrame with x, y, z"


def table(points: Any) -> dict[str, Any]:
    """{name: coordinates as given} from a mapping, a CSV file or a pandas DataFrame."""
    if isinstance(points, (str, os.PathLike)):
        return _from_csv(Path(points))
    if isinstance(points, Mapping):
        return {checks.name(name, "the name of a point", error=DescriptionError): at for name, at in points.items()}
    if hasattr(points, "columns") and hasattr(points, "index"):
        return _from_frame(points)
    raise DescriptionError(f"points is {checks.shown(points)}; {NEEDED}.")


def _from_csv(path: Path) -> dict[str, Any]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [row for row in csv.reader(file) if row and any(cell.strip() for cell in row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"the points in '{path}' could not be read: {error}.") from None
    rows = [[cell.strip() for cell in row] for row in lines if not row[0].lstrip().startswith("#")]
    if rows and not _numeric(rows[0][1:4]):
        header = [cell.lower() for cell in rows.pop(0)]
        if len(header) < 3 or header[1:3] != ["x", "y"] or header[3:4] not in ([], ["z"]):
            raise DescriptionError(f"'{path}' begins with {header}; needed: a first line name, x, y, z, or none.")
    out: dict[str, Any] = {}
    for k, row in enumerate(rows, start=1):
        numbers = [cell for cell in row[1:4] if cell]
        if not _numeric(numbers) or len(numbers) not in (2, 3):
            raise DescriptionError(f"point {k} of '{path}' is {row}; needed: a name and two or three numbers.")
        _add(out, row[0], [float(cell) for cell in numbers])
    return out


def _from_frame(frame: Any) -> dict[str, Any]:
    columns = {str(c).strip().lower(): c for c in frame.columns}
    axes = [columns[c] for c in "xyz" if c in columns]
    if len(axes) < 2:
        raise DescriptionError(f"the points have the columns {list(frame.columns)}; {NEEDED}.")
    names = frame[columns["name"]] if "name" in columns else frame.index
    out: dict[str, Any] = {}
    for name, row in zip(names, frame[axes].to_numpy().tolist()):
        _add(out, str(name), row)
    return out


def _add(out: dict[str, Any], name: str, point: Sequence[float]) -> None:
    if name in out:
        raise DescriptionError(f"there are two points '{name}'; names must differ.")
    out[name] = point


def _numeric(cells: Iterable[str]) -> bool:
    try:
        return len([float(cell) for cell in cells]) > 0
    except ValueError:
        return False


def three(point: Any, what: str) -> Any:
    """A point of three from one of three or two (z = 0)."""
    if isinstance(point, ca.SX):
        return ca.vertcat(ca.vec(point), 0.0) if point.numel() == 2 else point
    row = point.to_numpy() if hasattr(point, "to_numpy") else point  # of a table
    found = checks.items(row, what, "(x, y, z), or (x, y) in the plane z = 0", error=DescriptionError)
    return [*found, 0.0] if len(found) == 2 else found
