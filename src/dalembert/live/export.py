"""`export_html`: a mechanism as one page that closes its loops, simulates and swings by itself."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.live import contents
from dalembert.live.program import Parts
from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import Inputs, Parameters, StateGiven, check_system
from dalembert.system.system import System
from dalembert.view.door import writing
from dalembert.view.scene import checked_traces, scene
from dalembert.view.web import filled, packed

MODULES = ("memory.js", "machine.js", "crossing.js", "shapes.js", "controls.js", "page.js")
THEMES = ("auto", "light", "dark")


def export_html(
    system: System,
    path: str | os.PathLike[str],
    state: StateGiven | None = None,
    *,
    u: Inputs = None,
    p: Parameters = None,
    traces: Iterable[str | Body | Frame] = (),
    title: str | None = None,
    theme: str = "auto",
    modes: bool = True,
    source: str = "system = ...  # the mechanism of this page",
) -> Path:
    """Write a mechanism as one HTML file that is alive, and return its path; any browser opens it, from disk, offline.

    The page holds the mechanism's own kernels and the library's integration loop as WebAssembly. Sliders and the
    pointer move the mechanism with its loops closed, "drop" simulates it as `simulate` does, modes swing, and the
    distance to singular positions is shown all the time. docs/live.md says what agrees with the library, and how far.

    Parameters
    ----------
    system : System
        The compiled mechanism.
    path : str or path-like
        The file to write; it is replaced.
    state : State, mapping or array, optional
        Where the page starts, on the constraints: positions in m and rad, velocities per second. By default the
        mechanism assembled from its neutral position, at rest.
    u : mapping or array, optional
        Inputs that act at first, N or N m; the page has a slider for each.
    p : mapping or array, optional
        Parameters, where they differ from the declared ones; the page has a slider for each.
    traces : names, bodies or frames
        Points whose paths are drawn.
    title : str, optional
        The page's title; by default the mechanism's name.
    theme : {"auto", "light", "dark"}
        Colours; "auto" follows the reader's system.
    modes : bool
        Whether to find modes: of the linear model at the equilibrium next to the state, or at the state where there is
        none with the same mobility.
    source : str
        The Python that makes `system`, for "Go on in Python": the page adds the parameters and the position it shows.

    Examples
    --------
    >>> import tempfile, dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.cart_pole().compile()
    >>> page = export_html(system, tempfile.mkdtemp() + "/cart.html", zoo.cart_pole_start()[0])
    >>> page.stat().st_size < 1_000_000
    True
    """
    check_system(system)
    theme, place, modes = checks.choice(theme, THEMES, "theme"), checks.path(path, "path"), checks.flag(modes, "modes")
    title = system.name if title is None else checks.name(title, "title")
    if not place.parent.is_dir():
        raise ArgumentError(f"there is no folder {place.parent} to write {place.name} into. Make it first.")
    if system.layout.is_hybrid:
        raise ArgumentError(
            f"'{system.name}' has contacts, ropes, rigid stops or dry friction, which a live page does not follow. "
            "Simulate it and write the run, da.simulate(...).animate(path), or show it in the studio."
        )
    start, u, p = system.arguments.resolve(system.assemble(p=p) if state is None else state, u, p)
    data = {"python": checks.name(source, "source")} | page_data(
        system, start, u=u, p=p, traces=checked_traces(traces), modes=modes
    )
    own = files("dalembert.live")
    modules = {f"dalembert/live/{name}": own.joinpath(name).read_text(encoding="utf-8") for name in MODULES}
    page = own.joinpath("page.html").read_text(encoding="utf-8")
    parts = {"TITLE": escape(title), "THEME": theme, "PACKED": packed(data, "dalembert/live/page.js", modules)}
    with writing(place):
        place.write_text(filled(page, parts), encoding="utf-8")
    return place


def page_data(system: System, start: Any, *, u: Inputs, p: Parameters, traces: Any, modes: bool) -> dict[str, Any]:
    """Everything a page is made of, as plain data."""
    given, inputs = system.arguments.parameter_vector(p), system.arguments.input_vector(u)
    parts = Parts(system, start, given, inputs)
    start = parts.state
    found: dict[str, Any] = {"where": "", "list": []}
    if modes:
        found = contents.modes(system, parts.layout, start, given, inputs, parts.rank)
    program, looks = parts.program(), scene(system, contents.reach(system, start, given, inputs), traces, p=given)
    return {
        "name": system.name,
        "code": base64.b64encode(program.code).decode(),
        "map": {**program.map, "p": given.tolist(), "u": inputs.tolist(), "length": system.layout.length},
        "scene": looks.to_dict(),
        "anchors": parts.anchors if looks.planar else [],
        "coordinates": contents.coordinates(system, parts.layout, start, given),
        "parameters": contents.parameters(system, given),
        "inputs": contents.inputs(system, inputs, contents.weight(system, start, given)),
        "modes": found,
    }
