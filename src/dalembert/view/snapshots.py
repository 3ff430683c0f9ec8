"""A picture of a mechanism in one state, by Matplotlib."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.system.system import System
from dalembert.view.door import writing
from dalembert.view.drawn import Scene, scene
from dalembert.view.plane import turned

STYLE: dict[str, dict[str, Any]] = {
    "guide": {"color": "0.75", "lw": 1.2, "ls": (0, (5, 3)), "zorder": 1},
    "blade": {"color": "0.15", "lw": 5.0, "solid_capstyle": "butt", "zorder": 4},
    "gap": {"color": "#c00000", "lw": 1.0, "zorder": 6},
    "rod": {"color": "0.25", "lw": 2.0, "zorder": 2},
    "spring": {"color": "0.4", "lw": 1.2, "ls": (0, (2, 1)), "zorder": 2},
    "cable": {"color": "0.4", "lw": 1.0, "zorder": 2},
    "actuator": {"color": "#b06000", "lw": 3.0, "zorder": 2},
}
TRACES = ("#7a3e9d", "#1b7837", "#b2182b", "#2166ac")  # colours of paths
MARKS: dict[str, dict[str, Any]] = {
    "pin": {"marker": "o", "ms": 6, "mfc": "white", "mec": "0.15", "zorder": 5},
    "cut": {"marker": "o", "ms": 8, "mfc": "white", "mec": "#c00000", "mew": 1.6, "zorder": 5},
    "support": {"marker": "^", "ms": 13, "mfc": "0.85", "mec": "0.35", "zorder": 0.5},
    "mass": {"marker": "o", "ms": 9, "zorder": 4},
    "frame": {"marker": "+", "ms": 8, "mec": "0.3", "zorder": 5},
}


def snapshot(
    system: System,
    state: StateGiven,
    path: str | os.PathLike[str] | None = None,
    *,
    p: Parameters = None,
    axes: Any = None,
    names: bool = True,
) -> Any:
    """Draw a mechanism as it is in a state; returns Matplotlib's figure and writes it to `path` if there is one.

    state: a `State`, positions by name, or an array q. p: parameters, where they differ from the declared ones. Planar
    mechanisms are shown in their plane, with gravity downwards, others from a corner. Bodies are coloured lines, pins
    white circles, joints that close loops red ones. names=False leaves out the legend. axes: Matplotlib's axes to draw
    into.

    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> figure = snapshot(system, system.assemble({"A": 0.6}))
    >>> figure.axes[0].get_title()
    'four-bar'
    """
    check_system(system)
    checks.flag(names, "names")
    if path is not None:
        checks.path(path, "path")
    x = system.as_state(state)
    s = scene(system, x.q[None], p=p)
    figure, axes = _canvas(axes)
    draw(axes, s, 0, names=names)
    axes.set_title(system.name)
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _canvas(axes: Any) -> tuple[Any, Any]:
    if axes is not None:
        if not hasattr(axes, "figure") or not hasattr(axes, "plot"):
            raise ArgumentError(f"axes is {checks.shown(axes)}; needed: axes of Matplotlib.")
        return axes.figure, axes
    return extra("matplotlib.pyplot", "view", "drawing").subplots(figsize=(6, 5), layout="constrained")


def draw(axes: Any, s: Scene, k: int = 0, *, names: bool = False, alpha: float = 1.0) -> None:
    """Draw the k-th position of a scene into Matplotlib's axes."""
    seen = s.points[k] if s.sight.planar else turned(s.points[k])
    x, depth = seen[:, :2], seen[:, 2]
    labelled: set[str] = set()
    for a, b in s.floor:
        axes.plot(*turned(np.array([a, b]))[:, :2].T, color="0.88", lw=0.8, zorder=0)
    for line in sorted(s.skeleton.lines, key=lambda line: float(np.mean(depth[list(line.points)]))):
        at = x[[*line.points, line.points[0]] if line.closed else list(line.points)]
        if line.kind in STYLE:
            axes.plot(*at.T, alpha=alpha, **STYLE[line.kind])
            continue
        color = s.colors[line.body]
        label = line.body if names and line.body not in labelled else None
        labelled.add(line.body)
        width = 1.5 if line.kind == "solid" else 4.0
        axes.plot(*at.T, color=color, lw=width, solid_capstyle="round", label=label, zorder=3, alpha=alpha)
        if line.closed and line.kind == "body":
            axes.fill(*at.T, color=color, alpha=0.15 * alpha, zorder=2.5, lw=0)
    for mark in s.skeleton.marks:
        style = dict(MARKS[mark.kind])
        if mark.kind == "mass":
            style["color"] = s.colors[s.skeleton.bodies[mark.point]]
        axes.plot(*x[mark.point], ls="none", alpha=alpha, **style)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.1)
    if s.sight.planar:
        axes.set_xlabel(_axis(s.sight.R[:, 0]))
        axes.set_ylabel(_axis(s.sight.R[:, 1]))
    else:
        axes.set_axis_off()
    if names and 1 < len(labelled) <= 12:
        axes.legend(fontsize="small", framealpha=0.8)


def _axis(n: np.ndarray) -> str:
    k = int(np.argmax(np.abs(n)))
    return f"{'xyz'[k]} (m)" if abs(n[k] - 1) < 1e-9 else "m"
