"""Pictures for notebooks: SVG without Matplotlib, cheap, and never an error in place of an answer."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.mechanism.layout import TreeLayout
from dalembert.protocols import Parameters
from dalembert.system.system import System
from dalembert.view.painting import LINKS, Painting
from dalembert.view.scene import motion, scene

WIDTH = 360  # pixels of a picture
MOST = 40  # bodies of a mechanism that is drawn
ROUND = 10  # sides of circles

_SYSTEMS: WeakKeyDictionary[TreeLayout, System] = WeakKeyDictionary()


def html_of(system: System | TreeLayout, states: Any, text: str, p: Parameters = None) -> str:
    """A picture of positions, the last in full colour, above a text; the text alone where no picture can be made."""
    try:
        if isinstance(system, TreeLayout):
            if system not in _SYSTEMS:
                _SYSTEMS[system] = system.mechanism.compile(backend="casadi")
            system = _SYSTEMS[system]
        drawn = svg(system, np.atleast_2d(np.asarray(states, dtype=float)), p)
    except Exception:  # a picture is no reason for an answer to fail
        drawn = ""
    return f"{drawn}<pre>{escape(text)}</pre>"


def svg_of(result: Any) -> str:
    """The SVG of a result's own plot; "" where Matplotlib is missing or there is nothing to draw."""
    try:
        import matplotlib.pyplot as plt

        figure, file = result.plot(), StringIO()
        figure.savefig(file, format="svg")
        plt.close(figure)  # notebooks show what is open once more
        text = file.getvalue()
        return text[text.index("<svg") :]
    except Exception:  # as above
        return ""


def picture_of_neutral(system: System) -> str:
    """The SVG of a system's neutral position, if its constraints hold there; else ""."""
    try:
        x = system.state()
        size = max(system.layout.length, 1e-300)
        if np.abs(system.residuals(x)).max(initial=0.0) > 1e-6 * max(size, 1.0):
            return ""
        return svg(system, x.q[None])
    except Exception:  # as above
        return ""


def svg(system: System, q: np.ndarray, p: Parameters = None) -> str:
    """Positions q (N, nq) as one SVG picture; "" for mechanisms with many bodies."""
    if len(system.layout.bodies) > MOST + 1 or not np.isfinite(q).all():
        return ""
    s = scene(system, q, p=p)
    poses = motion(system, q, p)
    painting = Painting(s, ROUND)
    shapes: list[str] = []
    pieces = [painting.shaded(one, 0.25 if k < len(q) - 1 else 1.0) for k, one in enumerate(poses)]
    corners = np.concatenate([x for piece in pieces for x in piece.polygons] or [np.zeros((1, 2))])
    low, high = corners.min(axis=0), corners.max(axis=0)
    size = np.maximum(high - low, 0.2 * (high - low).max()) * 1.08 + 1e-300
    scale, corner = WIDTH / size.max(), (low + high - size) / 2

    def points(x: np.ndarray) -> str:
        at = (x - corner) * scale
        return " ".join(f"{a:.1f},{size[1] * scale - b:.1f}" for a, b in at)

    for one, piece in zip(poses, pieces):
        for x, color, edge in zip(piece.polygons, piece.colors, piece.edges):
            shapes.append(f'<polygon points="{points(x)}" fill="{_css(color)}" stroke="{_css(edge)}"{_faint(color)}/>')
        for link in s.links:
            line = painting.seen(painting.line(link, one))[:, :2]
            if len(line):
                shapes.append(f'<polyline points="{points(line)}" fill="none" stroke="{LINKS[link.kind]}"/>')
    w, h = size * scale
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.1f} {h:.1f}"'
    return (
        f'{head} role="img" aria-label="{escape(system.name, quote=True)}" stroke-width="0.6">{"".join(shapes)}</svg>'
    )


def _css(color: Any) -> str:
    return "#" + "".join(f"{round(255 * c):02x}" for c in color[:3])


def _faint(color: Any) -> str:
    return f' opacity="{color[3]:.2g}"' if color[3] < 1 else ""
