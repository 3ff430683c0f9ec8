"""The drawings of docs/architecture.md, as SVG in docs/pictures: `python tools/drawings.py`.

A drawing is boxes on a grid and arrows between them, with colours for light and for dark pages and a ground of its own.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

OUT = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, HEIGHT, GAP_X, GAP_Y, EDGE = 176, 62, 44, 40, 20  # px

STYLE = """
  .ground {fill: #ffffff; stroke: #d0d7de}
  .box {stroke: #57606a; stroke-width: 1.2}
  .python {fill: #eef4fb} .native {fill: #fdf1e3} .disk {fill: #eaf5ea} .yours {fill: #f6eefb}
  text {font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle}
  .small {font-size: 11px; fill: #57606a}
  path {fill: none; stroke: #57606a; stroke-width: 1.4} marker path {fill: #57606a; stroke: none}
  @media (prefers-color-scheme: dark) {
    .ground {fill: #161b22; stroke: #3d444d} .box {stroke: #9198a1}
    .python {fill: #1b2a3d} .native {fill: #3a2a17} .disk {fill: #1c3320} .yours {fill: #31213f}
    text {fill: #f0f6fc} .small {fill: #b0b8c1} path {stroke: #9198a1} marker path {fill: #9198a1}
  }
"""


class Box(NamedTuple):
    """A box in a column and a row of the grid."""

    column: float
    row: float
    kind: str  # python, native, disk, yours
    title: str
    below: str  # one line, smaller


class Arrow(NamedTuple):
    """From one box to another, both by name, straight; with words beside it."""

    start: str
    end: str
    words: str = ""


DRAWINGS: dict[str, tuple[str, dict[str, Box], list[Arrow]]] = {
    "from-description": (
        "from a description to machine code",
        {
            "mechanism": Box(0, 0, "yours", "Mechanism", "names, numbers, parameters"),
            "tree": Box(1, 0, "python", "Tree and rows", "joints chosen, loops cut"),
            "sx": Box(2, 0, "python", "recursions", "traced over CasADi's SX"),
            "program": Box(3, 0, "python", "program", "each value once, fused"),
            "kept": Box(1, 1, "disk", "trace cache", "by digest of description"),
            "object": Box(3, 1, "disk", "object cache", "by program and processor"),
            "kernel": Box(2, 2, "native", "kernels", "f(x, y, w), 1, 4 or 8 lanes"),
            "entries": Box(3, 2, "native", "loops", "shipped as LLVM bitcode"),
            "system": Box(1, 2, "yours", "System", "answers by name"),
        },
        [
            Arrow("mechanism", "tree"),
            Arrow("tree", "sx"),
            Arrow("sx", "program"),
            Arrow("program", "object", "LLVM"),
            Arrow("object", "kernel"),
            Arrow("tree", "kept"),
            Arrow("kept", "kernel", "known: no tracing"),
            Arrow("kernel", "system"),
            Arrow("entries", "kernel", "call"),
        ],
    ),
    "a-run": (
        "a run, from the call to the result",
        {
            "call": Box(0, 0, "yours", "da.simulate", "state, end, options"),
            "setup": Box(1, 0, "python", "setup", "all arguments checked"),
            "layout": Box(2, 0, "python", "layout", "functions of one structure"),
            "record": Box(3, 0, "native", "run record", "one struct, in parts"),
            "loop": Box(3, 1, "native", "loop", "propose, attempt, guards"),
            "outcomes": Box(2, 1, "python", "outcomes", "singular, chart, event"),
            "transition": Box(1, 1, "python", "transition", "impact, stick, switch"),
            "run": Box(0, 1, "yours", "Run", "states, evidence, message"),
        },
        [
            Arrow("call", "setup"),
            Arrow("setup", "layout"),
            Arrow("layout", "record"),
            Arrow("record", "loop"),
            Arrow("loop", "outcomes", "ends"),
            Arrow("outcomes", "transition"),
            Arrow("transition", "run"),
            Arrow("transition", "layout", "next segment"),
            Arrow("outcomes", "record", "goes on"),
        ],
    ),
    "memory": (
        "what lives where",
        {
            "system": Box(0, 0, "python", "System, State, Run", "immutable, shared by threads"),
            "layouts": Box(1, 0, "python", "layouts", "kept with their system"),
            "disk": Box(2, 0, "disk", "cache folder", "code, traces; 256 MB"),
            "code": Box(2, 1, "native", "machine code", "once per process"),
            "record": Box(1, 1, "native", "run records", "lent to one run at a time"),
            "bound": Box(0, 1, "native", "Bound: x, y, w", "workspace of its maker"),
        },
        [
            Arrow("system", "layouts"),
            Arrow("layouts", "record", "lends"),
            Arrow("disk", "code", "loads"),
            Arrow("system", "bound", "makes"),
            Arrow("record", "bound"),
            Arrow("record", "code"),
        ],
    ),
}


def drawn(title: str, boxes: dict[str, Box], arrows: list[Arrow]) -> str:
    """The text of an SVG file."""
    columns, rows = 1 + max(b.column for b in boxes.values()), 1 + max(b.row for b in boxes.values())
    width = int(2 * EDGE + columns * WIDTH + (columns - 1) * GAP_X)
    height = int(2 * EDGE + rows * HEIGHT + (rows - 1) * GAP_Y)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        f'<rect class="ground" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    lines += [_arrow(boxes[a.start], boxes[a.end], a.words) for a in arrows]
    for b in boxes.values():
        x, y = _corner(b)
        lines += [
            f'<rect class="box {b.kind}" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
            f'<text x="{x + WIDTH / 2:g}" y="{y + 27:g}">{escape(b.title)}</text>',
            f'<text class="small" x="{x + WIDTH / 2:g}" y="{y + 45:g}">{escape(b.below)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def _corner(b: Box) -> tuple[float, float]:
    return EDGE + b.column * (WIDTH + GAP_X), EDGE + b.row * (HEIGHT + GAP_Y)


def _arrow(a: Box, b: Box, words: str) -> str:
    """From the edge of one box to the edge of the other: across, down, or from corner to corner."""
    (xa, ya), (xb, yb) = _corner(a), _corner(b)
    right, down = (b.column > a.column) - (b.column < a.column), (b.row > a.row) - (b.row < a.row)
    corner = WIDTH / 2 - 24 if right and down else 0.0 if down else WIDTH / 2
    x1, y1 = xa + WIDTH / 2 + right * corner, ya + HEIGHT / 2 + down * HEIGHT / 2
    x2, y2 = xb + WIDTH / 2 - right * corner, yb + HEIGHT / 2 - down * HEIGHT / 2
    path = f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" marker-end="url(#tip)"/>'
    if not words:
        return path
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    beside = 'style="text-anchor: start"' if down else ""
    x, y = (x + (16 if right else 9), y + (4 + 6 * right * -down)) if down else (x, y - 6)
    return path + f'<text class="small" x="{x:g}" y="{y:g}" {beside}>{escape(words)}</text>'


if __name__ == "__main__":
    for name, (title, boxes, arrows) in DRAWINGS.items():
        (OUT / f"{name}.svg").write_text(drawn(title, boxes, arrows), encoding="utf-8")
