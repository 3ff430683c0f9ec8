"""A study as one HTML page, without network or library, in light and dark: numbers first, then pictures as SVG."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.disk.atomic import replacing
from dalembert.errors import FileError
from dalembert.view.studies import shares_of

WIDE, HIGH, EDGE = 300, 190, 34  # px of a picture and of the room for its numbers
MOST = 2000  # points of a cloud
STYLE = """
:root { color-scheme: light dark; --ink: #1d2530; --dim: #667080; --line: #d6dbe2; --page: #fff; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --dim: #98a2b0; --line: #39424e; --page: #14181d; --mark: #56b4e9; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0 auto;
       max-width: 1060px; padding: 1.5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } p { color: var(--dim); }
.table { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.pictures { display: flex; flex-wrap: wrap; gap: .8rem; } svg { max-width: 100%; height: auto; }
svg text { fill: var(--dim); font: 11px system-ui, sans-serif; } svg .mark { fill: var(--mark); }
svg .axis { stroke: var(--line); } svg circle.mark { opacity: .45; }
"""


def write_page(study: Any, path: str | os.PathLike[str]) -> Path:
    """Write the page of a `Study`; see `Study.report`."""
    place = checks.path(path, "path")
    try:
        with replacing(place) as temporary:
            temporary.write_text(page(study), encoding="utf-8")
    except OSError as error:
        raise FileError(f"'{place}' cannot be written: {error.strerror}.") from error
    return place


def page(study: Any) -> str:
    """The whole page as text."""
    title = escape(f"{study.system.name}: study of {', '.join(study.results)}")
    good = int(np.isfinite(study.values).all(axis=1).sum())
    parts = [
        f"<h1>{title}</h1>",
        f"<p>{len(study)} variants, method “{escape(study.method)}”, over {escape(', '.join(study.names))}; "
        f"{good} have all results.</p>",
        _table(study.statistics()),
    ]
    for name in study.results:
        parts.append(f"<h2>{escape(name)}</h2>")
        shares = shares_of(study, name)
        if study.method == "tolerance":
            parts.append(_table(_effects(study, name, shares)))
        elif study.method == "sensitivity":
            total = study.total_indices(name)
            rows = [[k, f"{x:.4f}", f"{total[k]:.4f}"] for k, x in shares.items()]
            parts.append(_table([["", "alone (S)", "with interactions (T)"], *rows]))
        pictures = [] if study.method == "tolerance" else [_histogram(study[name], name)]
        pictures += [_bars(shares, f"share of the variance of {name}")] if shares else []
        if study.method != "tolerance":
            pictures += [_cloud(study[k], study[name], k, name) for k in study.names]
        parts.append(f'<div class="pictures">{"".join(pictures)}</div>')
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(parts)
    top = f'<!doctype html>\n<html lang="en"><head>{head}<title>{title}</title><style>{STYLE}</style></head>'
    return f"{top}\n<body>\n{body}\n</body></html>\n"


def _effects(study: Any, name: str, shares: Mapping[str, float]) -> list[list[str]]:
    """What each tolerance does to a result."""
    rows = [["", "nominal", "tolerance ±", "effect", "share"]]
    for k, (parameter, effect) in enumerate(study.effects(name).items()):
        numbers = f"{study.nominal[k]:.6g}", f"{study.tolerances[k]:.4g}", f"{effect:+.4g}"
        rows.append([parameter, *numbers, f"{100 * shares[parameter]:.1f} %"])
    return rows


def _table(rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(x)}</th>" for x in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows[1:])
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _picture(inside: str, label: str, below: tuple[str, str], beside: tuple[str, str] = ("", "")) -> str:
    """Axes with the numbers at their ends around what is drawn."""
    x, y = WIDE - 8, HIGH - EDGE
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" role="img" '
        f'aria-label="{escape(label, True)}">'
        f'<path class="axis" d="M{EDGE} 8V{y}H{x}" fill="none"/>{inside}'
        f'<text x="{EDGE}" y="{y + 14}">{below[0]}</text><text x="{x}" y="{y + 14}" text-anchor="end">{below[1]}</text>'
        f'<text x="{(EDGE + x) / 2:.0f}" y="{HIGH - 5}" text-anchor="middle">{escape(label)}</text>'
        f'<text x="2" y="{y}">{beside[0]}</text><text x="2" y="15">{beside[1]}</text></svg>'
    )


def _histogram(x: np.ndarray, name: str) -> str:
    known = x[np.isfinite(x)]
    if not len(known):
        return ""
    counts, edges = np.histogram(known, bins="auto" if len(known) > 1 and np.ptp(known) > 0 else 1)
    left = _along(edges, edges[0], edges[-1])
    high = (HIGH - EDGE - 10) * counts / counts.max()
    bars = "".join(
        f'<rect class="mark" x="{a:.1f}" y="{HIGH - EDGE - h:.1f}" width="{max(b - a - 1, 0.5):.1f}" height="{h:.1f}"/>'
        for a, b, h in zip(left, left[1:], high)
    )
    return _picture(bars, name, (f"{edges[0]:.4g}", f"{edges[-1]:.4g}"), ("0", str(counts.max())))


def _bars(shares: Mapping[str, float], label: str) -> str:
    top = max([*shares.values(), 1e-300])
    step = (HIGH - EDGE - 10) / len(shares)
    rows = []
    for k, (name, share) in enumerate(shares.items()):
        width, y = (WIDE - 8 - EDGE) * max(share, 0.0) / top, 8 + k * step
        thick = min(max(step - 17, 2.0), 14.0)
        text = f"{escape(name)} {100 * share:.1f} %"
        rows.append(f'<text x="{EDGE + 4}" y="{y + min(step - thick, 12):.1f}">{text}</text>')
        place = f'x="{EDGE}" y="{y + min(step - thick, 16):.1f}" width="{width:.1f}" height="{thick:.1f}"'
        rows.append(f'<rect class="mark" {place}/>')
    return _picture("".join(rows), label, ("0", f"{100 * top:.3g} %"))


def _cloud(x: np.ndarray, y: np.ndarray, across: str, up: str) -> str:
    known = np.flatnonzero(np.isfinite(y))[:MOST]
    if not len(known):
        return ""
    x, y = x[known], y[known]
    X = _along(x, x.min(), x.max())
    span = float(np.ptp(y)) or 1.0
    Y = HIGH - EDGE - 4 - (HIGH - EDGE - 18) * (y - y.min()) / span
    dots = "".join(f'<circle class="mark" cx="{a:.1f}" cy="{b:.1f}" r="1.8"/>' for a, b in zip(X, Y))
    ends = (f"{y.min():.3g}", f"{y.max():.3g}")
    return _picture(dots, f"{up} over {across}", (f"{x.min():.4g}", f"{x.max():.4g}"), ends)


def _along(x: np.ndarray, low: float, high: float) -> np.ndarray:
    return EDGE + 2 + (WIDE - 12 - EDGE) * (x - low) / ((high - low) or 1.0)
