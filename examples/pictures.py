"""The demo's figure and animation: a five-bar through its singular position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from dalembert.view import animate
from dalembert.view.plots import positive, shade
from dalembert.view.poses import positions_at
from dalembert.view.snapshots import draw_states


def pictures(run: Any, folder: Path) -> tuple[Path, Path]:
    """Write figure and animation of a run into a folder; returns where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    middle = list(run.system.layout.bodies)[3]  # its frame is at the middle pin
    return figure(run, folder / "five-bar.png"), animate(run, folder / "five-bar.html", traces=[middle])


def figure(run: Any, path: Path) -> Path:
    """Positions before, at and after the first singular passage; angles, energy and constraints against time."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    sheet = pyplot.figure(figsize=(12, 7), layout="constrained")
    left, right = sheet.subfigures(1, 2, width_ratios=[1, 1.4])
    crossing = run.passages[0].start if run.passages else run.t[-1] / 2
    times = np.array([run.t[0], 0.6 * crossing, crossing, 1.4 * crossing, 1.8 * crossing])
    axes = left.subplots()
    alphas = [1.0 if t == crossing else 0.3 for t in times]
    draw_states(axes, run.system, positions_at(run, times), p=run.p, alphas=alphas)
    axes.set_title(f"at {', '.join(f'{t:.2f}' for t in times)} s; singular at {crossing:.3f} s")
    panels = right.subplots(3, 1, sharex=True)
    for name in run.system.q_names:
        panels[0].plot(run.t, run[name], label=name)
    panels[0].set(title="joint angles (rad); singular passages shaded")
    panels[0].legend(ncols=4, fontsize="small")
    panels[1].plot(run.t, run.kinetic_energy, label="kinetic")
    panels[1].plot(run.t, run.potential_energy, label="potential")
    panels[1].plot(run.t, run.energy, "k", label="sum")
    panels[1].set(title="energy (J)")
    panels[1].legend(ncols=3, fontsize="small")
    panels[2].semilogy(run.t, positive(run.energy - run.energy[0]), label="|E − E₀| (J)")
    panels[2].semilogy(run.t, positive(run.residuals), label="|Φ| (m)")
    panels[2].set(title="evidence", xlabel="t (s)")
    panels[2].legend(ncols=2, fontsize="small")
    for panel in panels:
        shade(panel, run)
        panel.grid(alpha=0.3)
    sheet.savefig(path, dpi=130)
    pyplot.close(sheet)
    return path
