"""Studies, by Matplotlib: histograms of results beside what each parameter contributes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.view.bands import COLOUR
from dalembert.view.door import names as listed
from dalembert.view.door import writing


def plot_study(study: Any, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Matplotlib's figure of a `Study`; see `Study.plot`."""
    chosen = list(study.results) if names is None else listed(names, "names")
    for name in chosen:
        if name not in study.results:
            raise unknown("result", name, study.results)
    if path is not None:
        checks.path(path, "path")
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure, grid = plt.subplots(
        len(chosen), 2, squeeze=False, figsize=(8.5, 0.6 + 2.4 * len(chosen)), layout="constrained"
    )
    for name, (left, right) in zip(chosen, grid):
        x = study[name]
        known = x[np.isfinite(x)]
        left.hist(known, bins="auto" if len(known) > 1 else 1, color=COLOUR, alpha=0.8)
        left.set(xlabel=name, ylabel="variants")
        left.grid(alpha=0.3)
        shares = shares_of(study, name)
        right.barh(list(shares), list(shares.values()), color=COLOUR, alpha=0.8)
        right.invert_yaxis()
        right.set_xlabel(f"share of the variance of {name}")
        right.grid(alpha=0.3, axis="x")
    figure.suptitle(f"{study.system.name}, {study.method}, {len(study)} variants", fontsize="medium")
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def shares_of(study: Any, name: str) -> dict[str, float]:
    """What each parameter contributes; empty where this is not known."""
    try:
        return dict(study.contributions(name))
    except ArgumentError:
        return {}
