"""Workspace maps, by Matplotlib."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.view.door import dark, writing

#: array of a map: its title, and what it is measured in
TITLES = {
    "margin": "distance to the nearest singularity",
    "loops": "smallest singular value of the loops",
    "serial": "smallest singular value, axes held",
    "parallel": "smallest singular value, actuators held",
    "manipulability": "manipulability",
    "dexterity": "dexterity (smallest over largest)",
    "room": "room to joint limits (rad, lengths)",
    "branch": "branch",
    "count": "branches that reach it",
    "cost": "evaluations",
}
SLICES = 9  # panels of a map with three axes


def plot_map(map: Any, what: str = "margin", path: str | os.PathLike[str] | None = None) -> Any:
    """Draw one of the arrays of a `Workspace`, or a coordinate; returns Matplotlib's figure. See `Workspace.plot`."""
    if not (isinstance(what, str) and what in (*TITLES, *map.system.q_names)):
        raise unknown("array or coordinate of the map", what, [*TITLES, *map.system.q_names])
    if path is not None:
        checks.path(path, "path")
    values = getattr(map, what) if what in TITLES else map[what]
    if values is None:
        raise ArgumentError(
            f"the map has no {what}: it names no frame, or nothing is actuated. Give of= and actuated=."
        )
    values = np.where(map.reachable, values, np.nan)
    if len(map.shape) > 3:
        raise ArgumentError(f"the map has {len(map.shape)} axes; needed: at most 3 for a picture.")
    plt = extra("matplotlib.pyplot", "view", "plotting")
    title = TITLES.get(what, what)
    if len(map.shape) == 1:
        figure = _line(plt, map, values, title)
    else:
        figure = _areas(plt, map, values, title)
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _line(plt: Any, map: Any, values: np.ndarray, title: str) -> Any:
    figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    (name, x), *_ = map.axes.items()
    axes.plot(x, values, lw=1.4)
    axes.set(xlabel=name, ylabel=title, title=map.system.name)
    axes.grid(alpha=0.3)
    return figure


def _areas(plt: Any, map: Any, values: np.ndarray, title: str) -> Any:
    names, along = list(map.axes), list(map.axes.values())
    third = (
        np.array([0]) if len(along) == 2 else np.unique(np.linspace(0, len(along[2]) - 1, SLICES).round().astype(int))
    )
    columns = min(len(third), 3)
    lines = -(-len(third) // columns)
    size = (7, 5.6) if len(third) == 1 else (4 * columns + 1, 3.6 * lines)
    figure, grid = plt.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    whole = title in ("branch", TITLES["count"], TITLES["cost"])
    drawn = None
    for axes in grid.flat[len(third) :]:
        axes.set_visible(False)
    for k, axes in zip(third, grid.flat):
        part, reached = (values, map.reachable) if len(along) == 2 else (values[:, :, k], map.reachable[:, :, k])
        axes.set_facecolor("0.5" if dark() else "0.88")
        drawn = axes.pcolormesh(
            along[0], along[1], part.T, vmin=low, vmax=high if high > low else low + 1, shading="nearest",
            cmap="tab10" if title == "branch" else "viridis", rasterized=True,
        )  # fmt: skip
        if reached.any() and not reached.all() and min(reached.shape) > 1:
            axes.contour(along[0], along[1], reached.T.astype(float), levels=[0.5], colors="0.2", linewidths=0.8)
        axes.set(xlabel=_unit(names[0]), ylabel=_unit(names[1]))
        if all(n.rpartition(".")[2] in ("x", "y", "z") for n in names[:2]):
            axes.set_aspect("equal")
        if len(along) == 3:
            axes.set_title(f"{names[2]} = {along[2][k]:.4g}", fontsize="small")
    bar = figure.colorbar(drawn, ax=grid.ravel().tolist(), label=title, shrink=0.9)
    if whole and high - low < 10:
        bar.set_ticks(range(int(low), int(high) + 1))
    figure.suptitle(f"{map.system.name} (grey: not reachable)", fontsize="medium")
    return figure


def _unit(name: str) -> str:
    return f"{name} (m)" if name.rpartition(".")[2] in ("x", "y", "z") else name
