"""Histories of a run, by Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra, unknown
from dalembert.protocols import RunLike
from dalembert.system.system import System
from dalembert.view.door import ink, system_of, writing
from dalembert.view.door import names as listed

MANY = 10  # lines beyond which a legend is of no use
POINTS = 400  # times that a curve needs to look smooth


def plot(
    run: RunLike,
    names: str | Sequence[str] | None = None,
    panels: Sequence[str] = ("positions", "velocities", "energy", "evidence"),
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Plot a run against time; returns Matplotlib's figure and writes it to `path` if there is one.

    names: joints or coordinates, all of them by default. panels, from top to bottom: "positions", "velocities",
    "energy" (kinetic, potential, sum, J), "evidence" (constraint residuals and energy error, logarithmic).
    Singular passages are shaded. Between its records a run is drawn as it is (`Run.resampled`), unless that would take
    calls of a Python controller.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> run = da.simulate(system, system.assemble({"A": 0.6}, v={"A": 2.0}), 2.0)
    >>> figure = plot(run, ["A", "D"], panels=["positions", "energy"])
    >>> len(figure.axes), len(figure.axes[0].lines)
    (2, 2)
    """
    system = system_of(run)
    names, panels = None if names is None else listed(names, "names"), listed(panels, "panels")
    if path is not None:
        checks.path(path, "path")
    if not panels:
        raise ArgumentError(f"no panel is asked for; known: {', '.join(PANELS)}.")
    for panel in panels:
        if not isinstance(panel, str) or panel not in PANELS:
            raise unknown("panel", panel, PANELS)
    plt = extra("matplotlib.pyplot", "view", "plotting")
    figure, grid = plt.subplots(
        len(panels), 1, sharex=True, squeeze=False, figsize=(8, 0.8 + 2.0 * len(panels)), layout="constrained"
    )
    curves = smooth(run)
    for panel, axes in zip(panels, grid[:, 0]):
        PANELS[panel](axes, system, run if panel == "evidence" else curves, names)
        shade(axes, run)
        axes.grid(alpha=0.3)
        handles, _ = axes.get_legend_handles_labels()
        if 0 < len(handles) <= MANY:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    grid[0, 0].set_title(system.name)
    grid[-1, 0].set_xlabel("t (s)")
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def smooth(run: Any) -> Any:
    """The run with so many records that curves through them look smooth, where it knows its motion between them."""
    if len(run.t) < 2 or len(run.t) >= POINTS or not getattr(run, "is_known_between", False):
        return run
    return run.resampled(np.union1d(run.t, np.linspace(run.t[0], run.t[-1], POINTS)), changes=True)


def shade(axes: Any, run: RunLike) -> None:
    """Mark the singular passages of a run."""
    least = 2e-3 * (run.t[-1] - run.t[0])  # so that a short one is seen
    for p in run.passages:
        more = max(0.0, least - (p.end - p.start)) / 2
        axes.axvspan(p.start - more, p.end + more, color="#d55e00", alpha=0.25, lw=0, zorder=0)


def positive(x: np.ndarray) -> np.ndarray:
    """|x| for a logarithmic axis: zeros become gaps."""
    x = np.abs(x)
    return np.where(x > 0, x, np.nan)


def _curves(
    axes: Any,
    system: System,
    run: RunLike,
    names: Sequence[str] | None,
    all_names: Sequence[str],
    of: Callable[[str], np.ndarray],
    what: str,
) -> None:
    """Histories by name; a joint of several coordinates gives one line for each."""
    joints, layout = system.layout.joints, system.layout
    for name in all_names if names is None else names:
        if not isinstance(name, str) or (name not in all_names and name not in joints):
            if isinstance(name, str) and name in {
                *layout.q_names,
                *layout.v_names,
            }:  # of the other kind, as ball.qw has no rate of this name
                continue
            raise unknown("joint or coordinate", name, dict.fromkeys([*joints, *layout.q_names, *layout.v_names]))
        x = np.asarray(of(name)).reshape(len(run.t), -1)
        labels = [name] if name in all_names else [n for n in all_names if n.startswith(f"{name}.")]
        for label, column in zip(labels, x.T):
            axes.plot(run.t, column, label=label, lw=1.3)
    axes.set_ylabel(what)


def _positions(axes: Any, system: System, run: RunLike, names: Sequence[str] | None) -> None:
    _curves(axes, system, run, names, system.q_names, run.__getitem__, "q (rad, m)")


def _velocities(axes: Any, system: System, run: RunLike, names: Sequence[str] | None) -> None:
    _curves(axes, system, run, names, system.v_names, run.rate, "v (rad/s, m/s)")


def _energy(axes: Any, system: System, run: RunLike, names: Sequence[str] | None) -> None:
    axes.plot(run.t, run.kinetic_energy, label="kinetic", lw=1.0)
    axes.plot(run.t, run.potential_energy, label="potential", lw=1.0)
    axes.plot(run.t, run.energy, label="sum", lw=1.6, color=ink())
    axes.set_ylabel("energy (J)")


def _evidence(axes: Any, system: System, run: RunLike, names: Sequence[str] | None) -> None:
    axes.semilogy(run.t, positive(run.energy_error), label="energy error (J)", lw=1.0)
    if system.rows.of:
        axes.semilogy(run.t, positive(run.residuals), label="|Φ| (m, rad)", lw=1.0)
    axes.set_ylabel("evidence")


#: name of a panel: the function that draws it
PANELS = {"positions": _positions, "velocities": _velocities, "energy": _energy, "evidence": _evidence}
