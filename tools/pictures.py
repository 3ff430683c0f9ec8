"""The pictures kept in docs/pictures (`make pictures`): five-bar.gif, jansen.gif, press.png, elements.png, zoo.png and
zoo-3d.png.

Animations of the whole zoo are left in build/zoo; zoo-3d.png shows them as a browser does, if there is a Chromium.
"""

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
    from jansen import BODIES, pins

    system = da.Linkage("Jansen leg", pins(0.0), "O Z", BODIES, mass=0.5).compile()
    turn = system.sweep({"O": np.linspace(0, 2 * np.pi, 91)}, system.state(), speed=np.pi)
    animate(turn, OUT / "jansen.gif", traces=["foot"])


def press() -> None:
    """The toggle press of the tutorial, with the names of its pins."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    m = da.Mechanism("toggle press", gravity=(0, -9.81, 0))
    lengths = {"crank": 0.06, "rod": 0.25, "link 1": 0.20, "link 2": 0.20}
    made = {n: m.add_body(n, mass=1.0, com=(x / 2, 0, 0), inertia=da.rod_inertia(1.0, x)) for n, x in lengths.items()}
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
    snapshot(system, x, ax=axes)
    pins = {"O": "crank", "A": "rod", "P": "link 1", "K": "link 2"}
    for name, body in pins.items():
        axes.annotate(name, x.position(body)[:2], xytext=(9, 7), textcoords="offset points", weight="bold")
    axes.set_title("")
    figure.savefig(OUT / "press.png", dpi=80)
    pyplot.close(figure)


def elements() -> None:
    """Every machine element of the page on them."""
    sys.path.insert(0, str(ROOT / "examples"))
    from elements import picture

    picture(OUT / "elements.png")


def all_of_the_zoo() -> None:
    """Every mechanism of the zoo in its start."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = -(-len(zoo.CATALOG) // COLUMNS)
    figure, axes = pyplot.subplots(lines, COLUMNS, figsize=(3.2 * COLUMNS, 2.9 * lines), layout="constrained")
    for name, cell in zip(zoo.CATALOG, axes.ravel()):
        entry = zoo.CATALOG[name]
        system = entry.build().compile()
        snapshot(system, system.state(*entry.start()), ax=cell, names=False)
        cell.set_title(name, fontsize="medium")
        cell.set(xlabel="", ylabel="", xticks=[], yticks=[])
    for cell in axes.ravel()[len(zoo.CATALOG) :]:
        cell.set_axis_off()
    figure.savefig(OUT / "zoo.png", dpi=70)


def zoo_in_a_browser(seconds: float = 1.5, tile: tuple[int, int] = (360, 300)) -> None:
    """An animation of every mechanism of the zoo, and a picture of each as the browser shows it."""
    sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests")]
    from PIL import Image, ImageDraw
    from playwright.sync_api import sync_playwright

    from browser_waiting import until
    from conftest import ARGUMENTS, chromium

    folder = ROOT / "build" / "zoo"
    folder.mkdir(parents=True, exist_ok=True)
    tiles = []
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": tile[0], "height": tile[1] + 160})
        for name, entry in zoo.CATALOG.items():
            system = entry.build().compile()
            run = da.simulate(system, system.state(*entry.start()), seconds)
            tab.goto(animate(run, folder / f"{name}.html").as_uri() + "#t=0.2&light")
            until(tab, "!!(window.player && player.stage)")
            tab.evaluate("document.querySelectorAll('header, footer').forEach(x => { x.style.display = 'none'; })")
            tab.wait_for_timeout(300)
            tab.set_viewport_size({"width": tile[0], "height": tile[1]})
            tab.wait_for_timeout(300)
            tab.evaluate("player.stage.camera.fit()")
            tab.screenshot(path=folder / f"{name}.png")
            picture = Image.open(folder / f"{name}.png").convert("RGB")
            ImageDraw.Draw(picture).text((8, 6), name, fill=(60, 70, 80), font_size=15)
            tiles.append(picture)
        browser.close()
    lines = -(-len(tiles) // COLUMNS)
    sheet = Image.new("RGB", (tile[0] * COLUMNS, tile[1] * lines), "#f6f8fa")
    for k, picture in enumerate(tiles):
        sheet.paste(picture, (tile[0] * (k % COLUMNS), tile[1] * (k // COLUMNS)))
    small = sheet.resize((sheet.width * 2 // 3, sheet.height * 2 // 3), Image.LANCZOS)
    small.quantize(128, method=2).save(OUT / "zoo-3d.png", optimize=True)


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    five_bar()
    jansen()
    press()
    elements()
    all_of_the_zoo()
    zoo_in_a_browser()
