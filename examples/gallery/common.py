"""Shared by the gallery's scripts: figures of pictures and panels, tables, animations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from dalembert.view import animate, export_html
from dalembert.view.plots import positive, shade
from dalembert.view.snapshots import draw_states

matplotlib.use("Agg")


@dataclass
class Panel:
    """Curves {label: (x, y)} or {label: y over the run's times}; bands {label: (x, low, high)}.

    A label that begins with "." is drawn as dots, with "|" as bars side by side, over names x.
    """

    title: str
    curves: Mapping[str, Any]
    log: bool = False
    xlabel: str = "t (s)"


@dataclass
class Map:
    """Values (len(y), len(x)) as colours over two axes, each with its label."""

    title: str
    values: np.ndarray
    x: tuple[str, np.ndarray]
    y: tuple[str, np.ndarray]


@dataclass
class Picture:
    """A mechanism in some states, the last in full colour, with the paths (N, 3) of points."""

    system: Any
    states: Sequence[Any]
    paths: Sequence[np.ndarray] = ()
    title: str = ""


def publish(
    out: Path | None, name: str, rows: dict[str, Any], pictures: Sequence[Picture] = (),
    panels: Sequence[Panel | Map] = (), *, run: Any = None, animated: Any = None, columns: int = 1,
    width: float = 6.0, cover: Picture | None = None, **how: Any,
) -> dict[str, Any]:  # fmt: skip
    """Print the rows; with a folder write name.json, name.png and, if a run is `animated`, name.html.

    name_card.png is the first picture alone, for the overview of the site; name_live.html is the mechanism of the
    animated run as a page that simulates it (docs/live.md), where its structure does not change.

    run: whose times the panels have and whose singular passages are shaded. columns: of panels. cover: the picture of
    name_card.png, where the figure has none. how: for `animate`.
    """
    print(f"\n{name}\n{'─' * len(name)}")
    for key, value in rows.items():
        print(f"  {key:58s} {shown(value)}")
    if out is not None:
        (out / f"{name}.json").write_text(json.dumps({k: shown(v) for k, v in rows.items()}, ensure_ascii=False))
        sheet(pictures, panels, run, columns, width).savefig(out / f"{name}.png", dpi=110)
        card([cover] if cover else pictures, panels, run).savefig(out / f"{name}_card.png", dpi=100)
        matplotlib.pyplot.close("all")
        if animated is not None:
            animate(animated, out / f"{name}.html", **how)
            start = animated.state(0)
            closed = np.abs(animated.system.residuals(start)).max(initial=0.0) < 1e-6
            if closed and not animated.system.layout.is_hybrid:  # pages compute one structure
                export_html(animated.system, out / f"{name}_live.html", start, p=start.p, traces=how.get("traces", ()))
        written = sorted([*out.glob(f"{name}.*"), *out.glob(f"{name}_live.html")])
        print(f"  written: {', '.join(p.name for p in written)}")
    return rows


def card(pictures: Sequence[Picture], panels: Sequence[Panel | Map], run: Any) -> Any:
    """The first picture without its axes, or the first panel where there is none, 420 × 280 points."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(4.2, 2.8), layout="constrained")
    if pictures:
        _draw_picture(axes, pictures[0])
        axes.set_title("")
        axes.set_axis_off()
    else:
        _draw_panel(axes, panels[0], run)
    if axes.get_legend() is not None:
        axes.get_legend().remove()
    return figure


def shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def sheet(pictures: Sequence[Picture], panels: Sequence[Panel | Map], run: Any, columns: int, width: float) -> Any:
    """The figure: pictures in a column on the left, panels in columns on the right."""
    from matplotlib import pyplot

    lines = -(-len(panels) // columns)
    height = max(2.3 * lines, 2.6 * len(pictures), 4.0)
    figure = pyplot.figure(figsize=((5.2 if pictures else 0) + (width if panels else 0), height), layout="constrained")
    parts = figure.subfigures(1, 2, width_ratios=[5.2, width]) if pictures and panels else [figure, figure]
    if pictures:
        for picture, axes in zip(pictures, np.atleast_1d(parts[0].subplots(len(pictures), 1))):
            _draw_picture(axes, picture)
    if panels:
        for panel, axes in zip(panels, parts[1].subplots(lines, columns, squeeze=False).T.ravel()):
            _draw_panel(axes, panel, run)
    return figure


def _draw_picture(axes: Any, picture: Picture) -> None:
    draw_states(axes, picture.system, np.array([x.q for x in picture.states]), paths=picture.paths)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    short = max(0.0, 0.25 * (right - left) - (high - low)) / 2  # a flat mechanism has room above and below
    axes.set_ylim(low - short, high + short)
    axes.set_aspect("equal", adjustable="box")
    axes.set_title(picture.title or picture.system.name)


def _draw_panel(axes: Any, panel: Panel | Map, run: Any) -> None:
    if isinstance(panel, Map):
        image = axes.pcolormesh(panel.x[1], panel.y[1], panel.values, cmap="viridis", shading="nearest")
        axes.set(title=panel.title, xlabel=panel.x[0], ylabel=panel.y[0])
        axes.figure.colorbar(image, ax=axes)
        return
    for k, (label, curve) in enumerate(panel.curves.items()):
        x, y, *high = curve if isinstance(curve, tuple) else (run.t, curve)
        if high:
            axes.fill_between(x, y, *high, label=label, alpha=0.35, lw=0)
            continue
        if label.startswith("|"):
            width = 0.8 / len(panel.curves)
            axes.bar(np.arange(len(x)) + (k + 0.5) * width - 0.4, y, width, label=label.lstrip("|"))
            axes.set_xticks(range(len(x)), x)
            continue
        style = {"ls": "none", "marker": "o", "ms": 4} if label.startswith(".") else {"lw": 1.3}
        axes.plot(x, positive(np.asarray(y)) if panel.log else y, label=label.lstrip("."), **style)
    axes.set(title=panel.title, xlabel=panel.xlabel, yscale="log" if panel.log else "linear")
    axes.grid(alpha=0.3)
    if run is not None and panel.xlabel == "t (s)":
        shade(axes, run)
    if panel.xlabel == "x (m)":
        axes.set_aspect("equal", adjustable="datalim")
    named = sum(label.strip(".| ") != "" for label in panel.curves)
    if 1 < named <= 8:
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))  # beside the curves
