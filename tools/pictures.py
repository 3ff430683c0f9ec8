"""The pictures kept in docs/pictures: five-bar.gif, jansen.gif, press.png and zoo.png (`make pictures`)."""

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


def press() -> None:
    """The toggle press of the tutorial, with the names of its pins."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    m = da.Mechanism("toggle press", gravity=(0, -9.81, 0))
    lengths = {"crank": 0.06, "rod": 0.25, "link 1": 0.20, "link 2": 0.20}
    made = {n: m.add_body(n, mass=1.0, com=(x / 2, 0, 0), inertia=da.rod(1.0, x)) for n, x in lengths.items()}
    ram = m.add_body("ram", mass=8.0)
    m.add_joint("O", da.Revolute("z"), m.ground.at(0.32, 0.22), made["crank"])
    m.add_joint("A", da.Revolute("z"), made["crank"].at(0.06), made["rod"])
    m.add_joint("P", da.Revolute("z"), m.ground.at(0, 0.40), made["link 1"])
    m.add_joint("K", da.Revolute("z"), made["link 1"].at(0.20), made["link 2"])
    m.add_joint("slide", da.Prismatic("y"), m.ground, ram)
    m.close_loop("rod end", da.Revolute("z"), made["rod"].at(0.25), made["link 1"].at(0.20))
    m.close_loop("ram pin", da.Revolute("z"), made["link 2"].at(0.20), ram)
    system = m.compile()
    x = system.assemble({"O": 0.8}, guess={"A": 2.4, "P": -1.1, "K": -0.9})
    figure, axes = pyplot.subplots(figsize=(5.2, 4.6), layout="constrained")
    snapshot(system, x, axes=axes)
    pins = {"O": "crank", "A": "rod", "P": "link 1", "K": "link 2"}
    for name, body in pins.items():
        axes.annotate(name, x.position(body)[:2], xytext=(9, 7), textcoords="offset points", weight="bold")
    axes.set_title("")
    figure.savefig(OUT / "press.png", dpi=80)
    pyplot.close(figure)


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
    press()
    all_of_the_zoo()
