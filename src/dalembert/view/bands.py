"""Ensembles, by Matplotlib: bands of quantiles over time, histograms at the end."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra
from dalembert.view.door import names as listed
from dalembert.view.door import writing

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
COLOUR = "#0072b2"


def plot_ensemble(runs: Any, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Matplotlib's figure of an ensemble; see `Ensemble.plot`."""
    wanted = [*runs.outputs, *runs.system.q_names] if names is None else listed(names, "names")
    if path is not None:
        checks.path(path, "path")
    values = {name: np.asarray(runs.values(name), dtype=float) for name in wanted}  # before anything is drawn
    values = {name: x for name, x in values.items() if x.ndim == (2 if len(runs.t) else 1)}
    if not values:
        raise ArgumentError("the ensemble has nothing to draw under these names; needed: coordinates or outputs.")
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure, grid = plt.subplots(
        len(values), 1, sharex=bool(len(runs.t)), squeeze=False, figsize=(8, 0.9 + 2.0 * len(values)),
        layout="constrained",
    )  # fmt: skip
    for (name, x), axes in zip(values.items(), grid[:, 0]):
        if len(runs.t):
            _bands(axes, runs.t, x)
        else:
            known = x[np.isfinite(x)]
            axes.hist(known, bins="auto" if len(known) > 1 else 1, color=COLOUR, alpha=0.8)
            axes.set_xlabel(name)
        axes.set_ylabel(name if len(runs.t) else "runs")
        axes.grid(alpha=0.3)
    if len(runs.t):
        grid[0, 0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
        grid[-1, 0].set_xlabel("t (s)")
    grid[0, 0].set_title(f"{runs.system.name}, {len(runs)} runs")
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _bands(axes: Any, t: np.ndarray, x: np.ndarray) -> None:
    """The median, the middle half and nine tenths of the runs; runs without a value do not count."""
    known = np.isfinite(x).any(axis=0)
    low, quarter, middle, three, high = np.nanquantile(x[:, known], LEVELS, axis=0)
    axes.fill_between(t[known], low, high, color=COLOUR, alpha=0.15, lw=0, label="5 … 95 %")
    axes.fill_between(t[known], quarter, three, color=COLOUR, alpha=0.3, lw=0, label="25 … 75 %")
    axes.plot(t[known], middle, color=COLOUR, lw=1.5, label="median")
    axes.plot(t[known], np.nanmean(x[:, known], axis=0), color="#d55e00", lw=1.0, ls="--", label="mean")
