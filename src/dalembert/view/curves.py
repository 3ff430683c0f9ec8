"""Tables as curves, by Matplotlib: a panel for each unit."""

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


def plot_columns(c: Columns, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Matplotlib's figure of the columns of a table over its index; see `Tabular.plot`."""
    chosen = _chosen(c, names)
    if path is not None:
        checks.path(path, "path")
    panels: dict[str, list[str]] = {}
    for name in chosen:
        panels.setdefault(c.units.get(name, ""), []).append(name)
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure, grid = plt.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(8, 0.9 + 2.0 * len(panels)), layout="constrained"
    )
    marker = "o" if len(c.rows) < 3 else None  # a line needs two points
    for (unit, members), axes in zip(panels.items(), grid[:, 0]):
        for name in members:
            axes.plot(c.rows, c.values[name], label=name, lw=1.3, marker=marker)
        axes.set_ylabel("" if unit in ("", "1") else unit)
        axes.grid(alpha=0.3)
        if len(members) <= MANY:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    unit = c.units.get(c.index, "")
    grid[0, 0].set_title(c.title)
    grid[-1, 0].set_xlabel(f"{c.index} ({unit})" if unit else c.index)
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _chosen(c: Columns, names: Any) -> list[str]:
    """Columns of numbers: those that are named, or whose names begin with a name and a dot."""
    numeric = [n for n, x in c.values.items() if np.asarray(x).dtype.kind in "fiub"]
    if names is None:
        chosen = numeric
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
