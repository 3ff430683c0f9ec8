"""Time of ten seconds of the ladder at L2 over its length, for every tool, as a table and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.motions import ladder
from benchmarks.peers.tools import GENERAL, OURS
from benchmarks.timing import Table
from benchmarks.work_precision import fastest, search, take_turns

SIZES = (1, 2, 5, 10, 20, 40)
PICTURE = Path(__file__).with_name("ladder.png")


def table(quick: bool) -> Table:
    """CPU ms by length; draws the picture too."""
    sizes = SIZES[::2] if quick else SIZES
    out = Table("Ladder of N loops, 10 s at L2: CPU ms over N", ["tool", *(f"N = {n}" for n in sizes), "exponent"])
    lines = {}
    for kind in ("osc", "A02"):
        for tool, families in GENERAL.items():
            if kind == "A02" and tool != OURS:
                continue
            best = []
            for n in sizes:
                tried = search(families(ladder(n, kind)), 1.0 if quick else 3.0, "L2")
                t = fastest(tried, "L2")
                if t is not None:
                    take_turns([t], 0.2)
                best.append(None if t is None else 1e3 * t.seconds)
            lines[f"{tool}, {kind}"] = best
    for name, best in lines.items():
        out.add(name, *best, slope(sizes, best))
    draw(sizes, lines)
    return out


def slope(sizes: tuple[int, ...], ms: list[float | None]) -> float | None:
    """Of log time over log N, between the two longest that were measured."""
    known = [(n, t) for n, t in zip(sizes, ms) if t is not None][-2:]
    if len(known) < 2:
        return None
    (n0, t0), (n1, t1) = known
    return float(np.log(t1 / t0) / np.log(n1 / n0))


def draw(sizes: tuple[int, ...], lines: Mapping[str, list[float | None]]) -> None:
    """The picture beside this file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    colours: dict[str, Any] = {}
    for name, ms in lines.items():
        tool, kind = name.rsplit(", ", 1)
        known = [(n, t) for n, t in zip(sizes, ms) if t is not None]
        if not known:
            continue
        style = "o-" if kind == "osc" else "s--"
        (line,) = axes.loglog(*zip(*known), style, label=name, color=colours.get(tool), markersize=4)
        colours.setdefault(tool, line.get_color())
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()
    axes.set_xlabel("loops N")
    axes.set_ylabel("CPU ms for 10 s at L2 (1e-3 J, 1e-6 m)")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(PICTURE, dpi=130)
    plt.close(figure)
