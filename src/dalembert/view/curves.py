"""Tables as curves, by Matplotlib: a panel for each unit. A table of one row, or of named rows, is drawn as bars."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.tables import Columns
from dalembert.view.door import names as listed
from dalembert.view.door import writing

MANY = 10  # lines beyond which a legend is of no use
FEW = 12  # whole numbers along an axis that have a mark each
NUMBERS = "fiu"  # kinds of columns that are drawn unless they are named


def plot_columns(c: Columns, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Matplotlib's figure of the columns of a table over its index; see `Tabular.plot`."""
    chosen = _chosen(c, names)
    if path is not None:
        checks.path(path, "path")
    named = bool(c.by) and c.values[c.by].dtype.kind not in NUMBERS  # rows of different things: a panel for each column
    panels: dict[str, list[str]] = {}
    for name in chosen:
        panels.setdefault(name if named else c.units.get(name, ""), []).append(name)
    plt = extra("matplotlib.pyplot", "view", "plotting")
    if named and not c.along:
        figure = _bars(plt, c, {name: (list(c.values[c.by]), c.values[name]) for name in chosen})
    elif len(c.rows) == 1 and not c.along:
        rows = {unit: (members, np.array([c.values[n][0] for n in members])) for unit, members in panels.items()}
        figure = _bars(plt, c, rows)
    else:
        figure = _curves(plt, c, panels, named)
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _curves(plt: Any, c: Columns, panels: dict[str, list[str]], named: bool) -> Any:
    """Panels above each other, with lines over the index, or over the column that the table names."""
    figure, grid = plt.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(8, 0.9 + 2.0 * len(panels)), layout="constrained"
    )
    index = c.along or c.index
    x = np.asarray(c.values[c.along] if c.along else c.rows)
    groups = _groups(c)
    counted = x.dtype.kind in "iu"
    marker = "o" if len(x) < 3 or (counted and len(np.unique(x)) <= FEW) else None  # a line needs two points
    for (title, members), axes in zip(panels.items(), grid[:, 0]):
        apart = named or (len(groups) > 1 and len(groups) * len(members) <= MANY)
        for k, name in enumerate(members):
            for n, (which, rows) in enumerate(groups.items()):
                label = (which if named else f"{name}, {c.by} {which}") if apart and which else name
                style = {} if apart or len(groups) == 1 else {"color": f"C{k}", "alpha": max(0.15, len(groups) ** -0.5)}
                shown = label if apart or n == 0 else None
                axes.plot(x[rows], c.values[name][rows], label=shown, lw=1.3, marker=marker, ms=4, **style)
        axes.set_ylabel("" if title == "1" else title)
        axes.grid(alpha=0.3)
        if len(axes.get_legend_handles_labels()[0]) <= MANY:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
        if counted:
            axes.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
    unit = c.units.get(index, "")
    grid[0, 0].set_title(c.title)
    grid[-1, 0].set_xlabel(f"{index} ({unit})" if unit else index)
    return figure


def _groups(c: Columns) -> dict[str, Any]:
    """{value of the column that tells curves apart: its rows}."""
    if not c.by:
        return {"": slice(None)}
    of = np.asarray(c.values[c.by])
    return {str(value): np.flatnonzero(of == value) for value in dict.fromkeys(of.tolist())}


def _bars(plt: Any, c: Columns, panels: dict[str, tuple[list[str], np.ndarray]]) -> Any:
    """Panels with a bar, and its number, for each name."""
    sizes = [1.0 + len(labels) for labels, _ in panels.values()]
    figure, grid = plt.subplots(
        len(panels), 1, squeeze=False, figsize=(8, 0.6 + 0.32 * sum(sizes)), height_ratios=sizes, layout="constrained"
    )
    for (title, (labels, numbers)), axes in zip(panels.items(), grid[:, 0]):
        drawn = axes.barh(range(len(labels)), numbers, color="C0", height=0.6)
        axes.bar_label(drawn, [f"{x:.4g}" for x in numbers], padding=3, fontsize="small")
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_xlabel("" if title == "1" else title)
        axes.grid(alpha=0.3, axis="x")
    grid[0, 0].set_title(c.title)
    return figure


def _chosen(c: Columns, names: Any) -> list[str]:
    """Columns of numbers: those named, or whose names begin with a name and a dot; by default all that is not led."""
    kinds = {n: np.asarray(x).dtype.kind for n, x in c.values.items()}
    numeric = [n for n, kind in kinds.items() if kind in "fiub"]
    if names is None:
        apart = (c.along, f"q.{c.along}", c.by, *(n for n, kind in kinds.items() if kind == "b"))
        chosen = [n for n in numeric if n not in apart]
    else:
        chosen = []
        for name in listed(names, "names"):
            found = [n for n in numeric if n == name or (isinstance(name, str) and n.startswith(f"{name}."))]
            if not found:
                raise unknown("column", name, dict.fromkeys([*(n.partition(".")[0] for n in numeric), *numeric]))
            chosen += [n for n in found if n not in chosen]
    if not chosen:
        raise ArgumentError(f"the table of {c.title} has no columns to draw.")
    return chosen
