"""Live pages of the site: `python tools/live_pages.py FOLDER` writes those of the zoo, and the playground.

A page holds its mechanism as WebAssembly and asks for nothing else; the folder is copied into the site by `site.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dalembert as da
from dalembert import view
from dalembert.linearization.equilibrium import equilibrium
from dalembert.zoo import CATALOG

PLAYGROUND = """
m = da.Linkage("playground", {
    "A": (0, 0), "B": lambda p: (p["ground"], 0), "C": lambda p: ("A", p["crank"], 1.1),
    "D": lambda p: ("C", p["coupler"], "B", p["rocker"], 1), "E": lambda p: ("C", "D", p["along"], p["across"]),
}, ground="A B", bodies={"crank": "A C", "coupler": "C D E", "rocker": "D B"},
    parameters={"ground": 0.6, "crank": 0.22, "coupler": 0.63, "rocker": 0.42, "along": 0.4, "across": 0.28})
m.add_frame("point", m.pin("E"))
system = m.compile()
""".strip()


def write(folder: Path) -> None:
    """All pages that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, entry in CATALOG.items():
        path = folder / f"{name}.html"
        if path.exists():
            continue
        system = entry.build().compile()
        x = system.project(system.state(*entry.start()))
        found = equilibrium(system, x, solve_for="u") if entry.held else None
        x, u = (x, None) if found is None else (found.state, found.u)
        view.export_html(system, path, x, u=u, source=f"system = da.zoo.{name}().compile()")
    space = {"da": da}
    exec(PLAYGROUND, space)
    view.export_html(space["system"], folder / "playground.html", traces=["point"], modes=False, source=PLAYGROUND)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
