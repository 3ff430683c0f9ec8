"""Mechanisms and motions alive in a cell of a notebook: a page in a frame, and sliders that call back into Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.view import web

LEAST, MOST = 120, 4000  # px of a cell


class Still:
    """The picture of something, for notebooks without the extra."""

    def __init__(self, picture: str):
        self.picture = picture

    def _repr_html_(self) -> str:
        return f'{self.picture}<p>For a view that moves: pip install "dalembert[notebook]"</p>'


def show(shown: Any, *, sliders: Mapping[str, Any] | None = None, height: int = 460) -> Any:
    """A mechanism, a state or a result in a cell of a notebook, alive: drag, turn, play (extra `notebook`).

    shown: a `Mechanism`, a `System` or a `State`, whose page closes loops, is dragged and simulates in the browser; a
    run, a sweep or another result with `animate`, which is played; or a function of the sliders that makes one of
    these. sliders: {name: (least, greatest) or (least, greatest, value)}; moving one calls the function again, f(name=
    value, …). What it raises is shown below the sliders, and the last view stays. height: of the view, px.

    Works in Jupyter, VS Code and Colab. Without the extra it is the still picture.

    >>> import dalembert as da
    >>> from dalembert import zoo
    >>> system = zoo.four_bar().compile()
    >>> def turn(A, speed):
    ...     return da.simulate(system, system.assemble({"A": A}, v={"A": speed}), 0.5)
    >>> cell = show(turn, sliders={"A": (0.4, 1.0), "speed": (0.0, 4.0, 2.0)})
    """
    height = checks.whole(height, "height", least=LEAST, most=MOST)
    ranges = {
        name: _range(name, x) for name, x in checks.mapping({} if sliders is None else sliders, "sliders").items()
    }
    if ranges and not callable(shown):
        raise ArgumentError(f"sliders need a function of them; shown is {checks.shown(shown)}.")
    make = shown if ranges else (lambda: shown)
    first = make(**{name: value for name, (_, _, value) in ranges.items()})
    try:
        kind = _widget()
    except ImportError:
        return Still(_picture(first))
    listed = [dict(zip(("name", "least", "greatest", "value"), (name, *x))) for name, x in ranges.items()]
    values = {name: value for name, (_, _, value) in ranges.items()}
    cell = kind(page=page_of(first), sliders=listed, values=values, height=height)
    cell.observe(_Again(make), names="values")
    return cell


class _Again:
    """Makes the page anew when a slider has moved."""

    def __init__(self, make: Callable[..., Any]):
        self.make = make

    def __call__(self, change: Any) -> None:
        cell = change["owner"]
        try:
            page = page_of(self.make(**change["new"]))
        except Exception as error:  # of the user's function: the view before it stays
            cell.trouble = f"{type(error).__name__}: {error}"
            return
        cell.trouble, cell.page = "", page


def page_of(shown: Any) -> str:
    """The page, as text, of a mechanism, a system, a state, or a result with a motion."""
    system, state = _machine(shown)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        if system is None:
            if not callable(getattr(shown, "animate", None)):
                raise ArgumentError(
                    f"shown is {checks.shown(shown)}; needed: a mechanism, a system, a state, a run, a sweep or "
                    "another result with a motion."
                )
            shown.animate(path)
        else:
            _written(system, state, path)
        return path.read_text(encoding="utf-8")


def _written(system: System, state: State | None, path: Path) -> None:
    """The page that simulates; of a mechanism that it cannot hold, one position in the player."""
    from dalembert.view.animation import animate
    from dalembert.view.swings import Swing

    export = import_module("dalembert.live.export")  # which stands above the pictures
    try:
        export.export_html(system, path, state, modes=False)
    except DalembertError:
        x = system.assemble() if state is None else state
        still = Swing(system, system.arguments.parameter_vector(x.p), np.zeros(1), x.q[None], "")
        animate(cast(Any, still), path)


def _machine(shown: Any) -> tuple[System | None, State | None]:
    """The system and the state of what is a mechanism, or in a state; None of results."""
    if isinstance(shown, System):
        return shown, None
    if isinstance(shown, State):
        return shown.layout.mechanism.compile(), shown
    if callable(getattr(shown, "compile", None)):
        return shown.compile(), None
    return None, None


def _picture(shown: Any) -> str:
    drawn = getattr(shown, "_repr_html_", None)
    return str(drawn()) if callable(drawn) else ""


def _range(name: Any, given: Any) -> tuple[float, float, float]:
    """(least, greatest, value) of a slider."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"a slider is named {checks.shown(name)}; needed: the name of an argument.")
    numbers = checks.vector(given, None, f"sliders['{name}']").tolist()
    if len(numbers) not in (2, 3):
        raise ArgumentError(f"sliders['{name}'] has {len(numbers)} numbers; needed: (least, greatest) or with a value.")
    low, high, value = numbers if len(numbers) == 3 else [*numbers, 0.5 * sum(numbers)]
    if not low < high or not low <= value <= high:
        raise ArgumentError(f"sliders['{name}'] is {checks.shown(given)}; needed: least <= value <= greatest, apart.")
    return low, high, value


@cache
def _widget() -> Any:
    """The class of the cell, which anywidget carries to the browser."""
    anywidget, traits = import_module("anywidget"), import_module("traitlets")

    class View(anywidget.AnyWidget):  # type: ignore[name-defined]
        _esm = web.source("widget.js")
        page = traits.Unicode("").tag(sync=True)
        sliders = traits.List([]).tag(sync=True)
        values = traits.Dict({}).tag(sync=True)
        trouble = traits.Unicode("").tag(sync=True)
        height = traits.Int(460).tag(sync=True)

    return View
