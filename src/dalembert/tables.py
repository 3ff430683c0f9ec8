"""Results as tables: columns by name, each with its unit, for pandas, xarray, CSV files and pictures."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.disk.atomic import replacing
from dalembert.errors import FileError, extra

ENDS, WIDE = 5, 12  # rows at both ends, and columns, that a notebook shows


@dataclass(frozen=True, eq=False)
class Columns:
    """N rows of named columns, beside an index."""

    title: str  # what they are of
    index: str  # its name: "t", "run", …
    rows: np.ndarray  # (N,) its values
    values: Mapping[str, np.ndarray]  # (N,) of each column
    units: Mapping[str, str]  # of the columns and of the index; "" or missing where there is none
    along: str = ""  # the column that pictures are drawn over, in place of the index
    by: str = ""  # the column whose values tell curves apart: texts, or whole numbers


class Tabular:
    """A result that is a table: what every result answers in the same words. A class adds `_columns`."""

    def _columns(self) -> Columns:
        """The table."""
        raise NotImplementedError(type(self).__name__)

    def to_pandas(self) -> Any:
        """The result as a `pandas.DataFrame` (extra `pandas`), names as columns; `attrs["units"]` has their units."""
        pandas = extra("pandas", "pandas", "a table of a result")
        c = self._columns()
        table = pandas.DataFrame(dict(c.values), index=pandas.Index(c.rows, name=c.index))
        table.attrs |= {"units": dict(c.units), "system": c.title}
        return table

    def to_xarray(self) -> Any:
        """The result as an `xarray.Dataset` (extra `xarray`): its columns along one dimension, with their units."""
        xarray = extra("xarray", "xarray", "a labelled array of a result")
        c = self._columns()
        along = (c.index,)
        variables = {n: (along, x, {"units": c.units.get(n, "")}) for n, x in c.values.items()}
        rows = {c.index: (along, c.rows, {"units": c.units.get(c.index, "")})}
        return xarray.Dataset(variables, rows, {"system": c.title})

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of `to_pandas` into a file, comma separated, the index first, all digits of each number.

        path: of the file; one that is there is replaced when the new one is whole. The units are in `to_pandas`.
        """
        place, c = checks.path(path, "path"), self._columns()
        try:
            with replacing(place) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
                out = csv.writer(file, lineterminator="\n")
                out.writerow([c.index, *c.values])
                out.writerows(zip(_plain(c.rows), *(_plain(x) for x in c.values.values())))
        except OSError as error:
            raise FileError(f"'{place}' cannot be written: {error.strerror}.") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the columns of `to_pandas` into a NumPy archive (.npz), with its index, and their units as "units".

        path: of the file. `numpy.load(path)["q.A"]` is a column, `numpy.load(path)["units"]` rows of name and unit.
        """
        place, c = checks.path(path, "path"), self._columns()
        columns = {name: _storable(x) for name, x in {c.index: c.rows, **c.values}.items()}
        units = np.array([(name, unit) for name, unit in c.units.items() if name in columns] or [("", "")], dtype=str)
        try:
            with replacing(place) as temporary, temporary.open("wb") as file:
                np.savez_compressed(file, units=units, title=np.array(c.title), **columns)  # type: ignore[arg-type]
        except OSError as error:
            raise FileError(f"'{place}' cannot be written: {error.strerror}.") from error

    def plot(self, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
        """Curves over the index as a Matplotlib figure (extra `view`), one panel for each unit; bars for a single row.

        names: of columns, or the first parts of their names ("q", "q.A"); by default all. path: a file to write to.
        """
        from dalembert.view.curves import plot_columns

        return plot_columns(self._columns(), names, path)

    def summary(self) -> str:
        """What the result is, and the least, the greatest and the last number of each column, as text to print."""
        return "\n".join([_sentence(repr(self)), *summarized(self._columns())])

    def _repr_html_(self) -> str:
        """The picture of `plot`, where Matplotlib is there, above the first and last rows, for notebooks."""
        from dalembert.view.notebook import svg_of

        return svg_of(self) + html_table(self._columns(), _sentence(repr(self)))


def summarized(c: Columns) -> list[str]:
    """Lines with the least, the greatest and the last finite number of each column."""
    cells = [["", "least", "greatest", "last", "unit"]]
    for name, x in c.values.items():
        numbers = np.asarray(x)
        if numbers.dtype.kind not in "fiub":
            continue
        known = numbers[np.isfinite(numbers)].astype(float)
        shown = [f"{y:.6g}" for y in (known.min(), known.max(), known[-1])] if len(known) else ["–"] * 3
        cells.append([name, *shown, c.units.get(name, "")])
    widths = [max(len(row[k]) for row in cells) for k in range(5)]
    return [
        f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}".rstrip()
        for row in cells
    ]


def html_table(c: Columns, caption: str) -> str:
    """An HTML table of the first and the last rows."""
    n = len(c.rows)
    places: list[int | None] = [*range(n)] if n <= 2 * ENDS + 1 else [*range(ENDS), None, *range(n - ENDS, n)]
    names = list(c.values)[:WIDE]
    more = ["…"] if len(c.values) > WIDE else []
    head = "".join(f"<th>{escape(_with_unit(c, name))}</th>" for name in (c.index, *names, *more))
    lines = []
    for k in places:
        row = ["…"] * (1 + len(names)) if k is None else [_cell(x[k]) for x in (c.rows, *(c.values[m] for m in names))]
        lines.append("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in (*row, *more)) + "</tr>")
    return f"<p>{escape(caption)}</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _with_unit(c: Columns, name: str) -> str:
    unit = c.units.get(name, "")
    return f"{name} ({unit})" if unit not in ("", "1") else name


def _cell(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, (float, np.floating)) else str(x)


def _sentence(text: str) -> str:
    """What stands between the angle brackets of a repr."""
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text


def _storable(x: np.ndarray) -> np.ndarray:
    """A column without Python objects."""
    values = np.asarray(x)
    return values.astype(str) if values.dtype.kind == "O" else values


def _plain(x: np.ndarray) -> list[Any]:
    """Numbers of Python, which print with all their digits."""
    return np.asarray(x).tolist()
