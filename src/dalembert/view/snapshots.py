"""A picture of a mechanism in one state, by Matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, extra
from dalembert.hints import explained
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.system.system import System
from dalembert.view.door import writing
from dalembert.view.painting import Painting
from dalembert.view.scene import motion, scene

MOST_NAMES = 12  # bodies in a legend


@explained
def snapshot(
    system: System,
    state: StateGiven,
    path: str | os.PathLike[str] | None = None,
    *,
    p: Parameters = None,
    ax: Any = None,
    names: bool = True,
    meshes: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw a mechanism as it is in a state; returns Matplotlib's figure and writes it to `path` if there is one.

    state: a `State`, positions by name, or an array q. p: parameters, where they differ from the declared ones. Planar
    mechanisms are shown in their plane, with gravity downwards, others from a corner, on a floor with their shadow.
    Bodies have colours, pins are grey, those that close loops red. names=False leaves out the legend. ax:
    Matplotlib's axes to draw into. meshes: the folder of the model's mesh files, as in `scene`.

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
    x, _, p = system.arguments.resolve(state, None, p)
    figure, axes = _canvas(ax)
    draw_states(axes, system, [x.q], p=p, names=names, meshes=meshes)
    axes.set_title(system.name)
    if path is not None:
        with writing(path):
            figure.savefig(path, dpi=150)
    return figure


def _canvas(axes: Any) -> tuple[Any, Any]:
    if axes is not None:
        if not hasattr(axes, "figure") or not hasattr(axes, "plot"):
            raise ArgumentError(f"ax is {checks.shown(axes)}; needed: axes of Matplotlib.")
        return axes.figure, axes
    return extra("matplotlib.pyplot", "view", "drawing").subplots(figsize=(6, 5), layout="constrained")


def draw_states(
    axes: Any,
    system: System,
    q: Any,
    *,
    p: Parameters = None,
    names: bool = False,
    alphas: Sequence[float] | None = None,
    paths: Sequence[np.ndarray] = (),
    meshes: str | os.PathLike[str] | None = None,
) -> Painting:
    """Draw positions q (N, nq) into Matplotlib's axes, the last in full colour; returns the painting.

    p: parameters. names: with a legend. alphas: opacity of each position. paths: lines (n, 3) of points in the ground.
    meshes: the folder of mesh files.
    """
    q = np.atleast_2d(np.asarray(q, dtype=float))
    s = scene(system, q, p=p, meshes=meshes)
    poses = motion(system, q, p)
    painting = Painting(s)
    low, high = painting.extent(poses)
    if not s.planar:
        painting.floor(axes, low[1], low, high)
    strengths = list(alphas) if alphas is not None else [0.25] * (len(q) - 1) + [1.0]
    boxes = [painting.paint(axes, one, a, None if s.planar else low[1]) for one, a in zip(poses, strengths)]
    for line in paths:
        axes.plot(*painting.seen(np.asarray(line))[:, :2].T, color="#7a3e9d", lw=1.4, zorder=4)
    frames = [f for f in s.frames if f.body]
    for f in frames:
        at = painting.seen(np.asarray(_where(poses[-1], f)))
        axes.plot(*at[:2], "+", ms=7, mec="0.25", zorder=5)
    frame_picture(axes, np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0), paths, painting)
    if s.planar:
        axes.set_xlabel(_axis(s.axes[:, 0]))
        axes.set_ylabel(_axis(s.axes[:, 1]))
    else:
        axes.set_axis_off()
    if names and 2 < len(s.bodies) <= MOST_NAMES + 1:
        from matplotlib.patches import Patch

        axes.legend(
            handles=[Patch(color=b.color, label=b.name) for b in s.bodies[1:]], fontsize="small", loc="upper right"
        )
    return painting


def frame_picture(
    axes: Any, low: np.ndarray, high: np.ndarray, paths: Sequence[np.ndarray] = (), painting: Painting | None = None
) -> None:
    """Limits of the axes around a box, (2,) each, and paths."""
    for line in paths if painting is not None else ():
        seen = painting.seen(np.asarray(line))[:, :2]  # type: ignore[union-attr]
        low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
    middle, half = (low + high) / 2, (high - low) / 2 * 1.08
    half = np.maximum(half, 0.25 * half.max()) + 1e-300
    axes.update_datalim([middle - half, middle + half])
    axes.margins(0.0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()


def _where(poses: np.ndarray, place: Any) -> np.ndarray:
    from dalembert.view.painting import path_of

    return path_of(poses[None], place)[0]


def _axis(n: np.ndarray) -> str:
    k = int(np.argmax(np.abs(n)))
    return f"{'xyz'[k]} (m)" if abs(n[k] - 1) < 1e-9 else "m"
