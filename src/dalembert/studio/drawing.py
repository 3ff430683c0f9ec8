"""Drawing: the sketch of a session, its operations, and the mechanism that it becomes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.errors import ArgumentError, DalembertError
from dalembert.studio import recent
from dalembert.studio.bench import Bench
from dalembert.studio.files import SKETCH, first_state
from dalembert.studio.jobs import Job
from dalembert.studio.path_synthesis import follow
from dalembert.studio.planar import CouplerCurve, SketchRows, with_length
from dalembert.studio.script import Script, state_line
from dalembert.studio.sketch import Sketch, SketchHistory, edges, point, snapped
from dalembert.studio.sketch_linkage import linkage, problem, python

if TYPE_CHECKING:
    from dalembert.studio.session import Session

CALM = 0.4  # s without a change before it is compiled
MOST_OF_A_PATH = 5000  # points
LIVELY = 0.08  # s that a curve may take to be followed again with every move of the hand


class SketchSession:
    """The sketch of a session, if it has one."""

    def __init__(self, session: Session):
        self.session = session
        self.history: SketchHistory | None = None
        self._held: Sketch | None = None  # before the drag that is under way
        self._took = 0.0  # s, the last curve
        self._wanted: Any = []  # the path that was drawn for a pin to follow

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {
            "sketch": ("hand", self.draw, ""),
            "follow": ("study", self.follow, "looking for lengths that follow the path"),
        }

    @property
    def sketch(self) -> Sketch:
        """The sketch as it is."""
        if self.history is None:
            raise ArgumentError("there is no sketch; begin one first.")
        return self.history.now

    def begin(self, sketch: Sketch | None = None) -> None:
        """Draw from here, on an empty stage unless a sketch is given."""
        self.history = SketchHistory(Sketch() if sketch is None else sketch)
        self._held, self._wanted = None, []
        self.session.clear()
        self.tell()

    def end(self) -> None:
        """Another mechanism is on the bench."""
        self.history, self._held, self._wanted = None, None, []
        self.session.lanes["study"].cancel("compile")

    # --- operations ---------------------------------------------------------------------------------------------

    def draw(self, job: Job, given: dict[str, Any]) -> None:
        """An operation of the page: `op` and what it needs."""
        op = given.get("op")
        if op == "begin":
            return self.begin(TEMPLATES[checks.choice(given["from"], TEMPLATES, "from")] if "from" in given else None)
        operations: dict[str, Callable[[Sketch, dict[str, Any]], Sketch]] = {
            "pin": self._pin,
            "member": self._member,
            "ground": lambda s, g: s.grounded(g.get("pin", ""), checks.flag(g.get("on"), "on")),
            "trace": lambda s, g: s.with_trace(g.get("pin", ""), checks.flag(g.get("on"), "on")),
            "length": lambda s, g: with_length(s, g.get("a", ""), g.get("b", ""), checks.number(g.get("to"), "to")),
            "values": lambda s, g: s.with_values(g.get("member", ""), g.get("values")),
            "place": lambda s, g: s.moved({s.known(g.get("pin")): g.get("at")}),
            "delete": lambda s, g: s.without(checks.items(g.get("names"), "names", "a list of names")),
            "copy": lambda s, g: s.copied(
                checks.items(g.get("names"), "names", "a list of names"), g.get("by", (0, 0))
            ),
        }
        history = SketchHistory(self.sketch) if self.history is None else self.history
        if op == "undo":
            self.history = history.undo()
        elif op == "redo":
            self.history = history.redo()
        elif op == "drag":
            return self._drag(given)
        else:
            work = operations[checks.choice(op, [*operations, "undo", "redo", "drag", "begin"], "op")]
            self.history = history.then(work(self.sketch, given))
        self._held = None
        self.tell()
        return None

    def _meant(self, sketch: Sketch, at: Any, given: dict[str, Any], without: Sequence[str] = ()) -> Any:
        """A press as the name of a pin or as a place; names are kept."""
        if isinstance(at, str):
            return at
        radius, grid = (checks.number(given.get(k, 0.0), k, least=0.0) for k in ("radius", "grid"))
        return snapped(sketch, at, radius, grid, without)

    def _pin(self, sketch: Sketch, given: dict[str, Any]) -> Sketch:
        meant = self._meant(sketch, given.get("at"), given)
        if not isinstance(meant, str):
            sketch, meant = sketch.with_pin(meant)
        return sketch.grounded(meant, True) if checks.flag(given.get("ground", False), "ground") else sketch

    def _member(self, sketch: Sketch, given: dict[str, Any]) -> Sketch:
        pins = checks.items(given.get("pins"), "pins", "names or places of pins")
        meant = [self._meant(sketch, pin, given) for pin in pins]
        return sketch.with_member(given.get("kind", ""), meant, given.get("values"))

    def _drag(self, given: dict[str, Any]) -> None:
        """A pin that follows the pointer; the whole drag is one step, done when `end` is true."""
        history = self.history or SketchHistory(self.sketch)
        self._held = self._held or history.now
        pin = self._held.known(given.get("pin"))
        to = self._meant(self._held, given.get("to"), given, [pin])
        to = self._held.pins[to] if isinstance(to, str) else to
        moved = self._held.moved({pin: to})
        over = checks.flag(given.get("end", False), "end")
        self.history = SketchHistory(self._held, history.before, history.after).then(moved) if over else history
        if over:
            self._held = None
            self.tell()
        else:
            self.tell(moved)

    def follow(self, job: Job, given: dict[str, Any]) -> None:
        """Lengths with which a pin follows a path that was drawn; an empty path forgets the last one."""
        path, sketch = checks.items(given.get("path"), "path", "points (x, y)"), self.sketch
        if len(path) > MOST_OF_A_PATH:
            raise ArgumentError(f"the path has {len(path)} points; needed: at most {MOST_OF_A_PATH}.")
        self._wanted = [list(point(at, "a point of the path")) for at in path]
        self.tell()
        if not path:
            return
        found = follow(sketch, given.get("pin", ""), self._wanted, lambda: job.cancelled)
        if not job.take() or self.history is None or self.history.now is not sketch:
            return
        self.history = self.history.then(found.sketch.with_trace(given["pin"], True))
        self.tell(fitted=True)
        text = f"pin {given['pin']} follows the path to {found.rms:.2g} m (rms), {found.most:.2g} m at most"
        self.session.tell({"event": "note", "text": text})

    # --- what is shown ------------------------------------------------------------------------------------------

    def tell(self, dragged: Sketch | None = None, fitted: bool = False) -> None:
        """Tell the sketch, how it moves, and compile it if it is a mechanism and nobody drags.

        fitted: other lengths were found for it, so that it is somewhere else.
        """
        sketch, history = dragged or self.sketch, self.history
        self.session.tell(
            {"event": "sketch", **described(sketch, dragged is None or self._took < LIVELY, self._clock),
             "can_undo": bool(history and history.before), "can_redo": bool(history and history.after),
             "dragged": dragged is not None, "wanted": self._wanted, "fitted": fitted},
            keep="sketch",
        )  # fmt: skip
        if dragged is not None:
            return
        study = self.session.lanes["study"]
        study.cancel("compile")
        if problem(sketch):
            self.session.clear()
        else:
            study.submit("compile", lambda job: self._compile(job, sketch), "compiling")

    def _clock(self, seconds: float) -> None:
        self._took = seconds

    def _compile(self, job: Job, sketch: Sketch) -> None:
        time.sleep(CALM)
        try:
            system = linkage(sketch).compile()
            state = first_state(system)
            bench = Bench(system, state)
        except DalembertError as error:
            self.session.tell({"event": "note", "text": str(error)})
            return
        script = Script(python(sketch))
        script.add("place", state_line(system, state))
        if job.take() and self.history is not None and self.history.now is sketch:
            self.session.open(bench, script, sketched=True)
            if self.history.before:
                recent.keep(recent.SKETCHED, self.text().encode())

    # --- files --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The sketch as a file that can be opened again."""
        return json.dumps({"kind": SKETCH, **self.sketch.to_dict()}, indent=1)

    def restore(self, data: bytes) -> None:
        """Go on with a sketch that was saved."""
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            raise ArgumentError("the file of a sketch is broken; needed: what 'Save sketch' wrote.") from None
        self.begin(Sketch.from_dict(found))


def described(sketch: Sketch, follow: bool, clock: Callable[[float], None]) -> dict[str, Any]:
    """A sketch as the page draws it: dimensions, mobility, curves of traced pins, dead points."""
    planar, why = SketchRows(sketch), problem(sketch)
    mobility, redundant = planar.mobility() if planar.pins else (0, 0)
    began = time.perf_counter()
    curve = planar.curve() if follow and not why else None
    if follow:
        clock(time.perf_counter() - began)
    lengths = {frozenset(e): e for m in sketch.members.values() for e in edges(m)}
    ground = [(sketch.ground[0], pin) for pin in sketch.ground[1:]]
    return {
        "sketch": sketch.to_dict(), "why": why, "mobility": mobility, "redundant": redundant,
        "edges": [*lengths.values(), *(e for e in ground if frozenset(e) not in lengths)],
        **_curves(sketch, curve),
    }  # fmt: skip


def _curves(sketch: Sketch, curve: CouplerCurve | None) -> dict[str, Any]:
    if curve is None:
        return {"curves": [], "dead": [], "driver": ""}
    at = {pin: k for k, pin in enumerate(curve.pins)}
    curves = [{"pin": n, "places": curve.places[:, at[n]].round(9)} for n in sketch.traced if n in at]
    dead = [dict(zip(curve.pins, places.round(9))) for places in curve.dead]
    return {"curves": curves, "dead": dead, "driver": curve.driver}


def _template(
    pins: Sequence[tuple[float, float]], ground: str, members: Sequence[tuple[str, str]], traced: str = ""
) -> Sketch:
    sketch = Sketch()
    for at in pins:
        sketch = sketch.with_pin(at)[0]
    for pin in ground.split():
        sketch = sketch.grounded(pin, True)
    for kind, names in members:
        sketch = sketch.with_member(kind, names.split())
    for pin in traced.split():
        sketch = sketch.with_trace(pin, True)
    return sketch


#: sketches to begin from, by what they are called
TEMPLATES = {
    "four-bar": _template(
        [(0, 0), (0.6, 0), (0.1, 0.2), (0.7, 0.4), (0.4, 0.6)], "A B",
        [("bar", "A C"), ("bar", "C D E"), ("bar", "D B"), ("motor", "A")], "E",
    ),
    "slider-crank": _template(
        [(0, 0), (0.1, 0.15), (0.6, 0)], "A", [("bar", "A B"), ("bar", "B C"), ("slider", "C"), ("motor", "A")], "B",
    ),
    "five-bar": _template(
        [(0, 0), (0.4, 0), (-0.1, 0.3), (0.5, 0.3), (0.2, 0.6)], "A B",
        [("bar", "A C"), ("bar", "C E"), ("bar", "E D"), ("bar", "D B"), ("motor", "A"), ("motor", "B")], "E",
    ),
    "pantograph": _template(
        [(0, 0), (0.2, 0.4), (0.4, 0), (0.3, 0.6), (0.6, 0), (0.5, 0.2)], "A",
        [("bar", "A B D"), ("bar", "B C"), ("bar", "C F"), ("bar", "D F E")], "C E",
    ),
}  # fmt: skip
