"""The pictures kept with the documentation: docs/pictures/five-bar.gif, jansen.gif and zoo.png (`make pictures`)."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

import dalembert as da
from dalembert import zoo
from dalembert.view import animate, snapshot

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "pictures"
COLUMNS = 5


def five_bar() -> None:
    """Two seconds of the five-bar, through its singular position at 0.65 s and 1.85 s."""
    system = zoo.five_bar().compile()
    run = da.simulate(system, system.state(*zoo.five_bar_start()), 3.2)
    animate(run, OUT / "five-bar.gif", traces=["link 3"])


def jansen() -> None:
    """A turn of Jansen's leg, in two seconds."""
    sys.path.insert(0, str(ROOT / "examples" / "gallery"))
    from drawing import Drawing
    from jansen import BODIES, pins

    d = Drawing("Jansen leg", pins(0.0), "O Z", BODIES, mass=0.5)
    d.m.add_frame("foot", d.on["foot"])
    system = d.m.compile()
    turn = system.sweep({"crank": np.linspace(0, 2 * np.pi, 91)}, system.state(), speed=np.pi)
    animate(turn, OUT / "jansen.gif", traces=["foot"])


def all_of_the_zoo() -> None:
    """Every mechanism of the zoo in its start."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = -(-len(zoo.CATALOG) // COLUMNS)
    figure, axes = pyplot.subplots(lines, COLUMNS, figsize=(3.2 * COLUMNS, 2.9 * lines), layout="constrained")
    for name, cell in zip(zoo.CATALOG, axes.ravel()):
        entry = zoo.CATALOG[name]
        system = entry.build().compile()
        snapshot(system, system.state(*entry.start()), axes=cell, names=False)
        cell.set_title(name, fontsize="medium")
        cell.set(xlabel="", ylabel="", xticks=[], yticks=[])
    for cell in axes.ravel()[len(zoo.CATALOG) :]:
        cell.set_axis_off()
    figure.savefig(OUT / "zoo.png", dpi=70)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    five_bar()
    jansen()
    all_of_the_zoo()
