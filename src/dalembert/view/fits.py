"""Fits as pictures: measurements over the simulated motion, and their differences below."""

from __future__ import annotations

import os
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.view.door import names as listed
from dalembert.view.door import writing


def plot_fit(fit: Any, names: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Matplotlib's figure of a `Fit`; see `Fit.plot`."""
    known = fit.measured.of
    chosen = list(known) if names is None else listed(names, "names")
    if not chosen:
        raise ArgumentError(f"names is empty; needed: quantities that were measured, of {', '.join(known)}.")
    for name in chosen:
        if name not in known:
            raise unknown("quantity", name, known)
    if path is not None:
        checks.path(path, "path")
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure, grid = plt.subplots(
        2, len(chosen), sharex=True, squeeze=False, figsize=(1.0 + 4.5 * len(chosen), 4.2), layout="constrained",
        height_ratios=(2, 1),
    )  # fmt: skip
    t = fit.measured.t
    for name, (above, below) in zip(chosen, grid.T):
        k = known.index(name)
        above.plot(t, fit.simulated[:, k], lw=1.3, label="simulated")
        above.plot(t, fit.measured.values[:, k], "o", ms=3, mfc="none", label="measured")
        above.set_title(name)
        below.axhspan(-2.0 * fit.sigma[k], 2.0 * fit.sigma[k], alpha=0.15, lw=0)
        below.plot(t, fit.residuals[:, k], "o", ms=3, mfc="none", color="C1")
        below.set_xlabel("t (s)")
        for axes in (above, below):
            axes.grid(alpha=0.3)
    grid[0, 0].legend(fontsize="small")
    grid[1, 0].set_ylabel("difference, ±2σ")
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure
