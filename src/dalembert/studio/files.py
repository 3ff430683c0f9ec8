"""Files: models that are dropped on the page, and what is saved from it."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks, formats
from dalembert.analysis.named_start import named_start
from dalembert.errors import ArgumentError, ModelFileError, extra
from dalembert.formats import format_of
from dalembert.live.export import export_html
from dalembert.simulation.results.run import Run
from dalembert.studio import recent
from dalembert.studio.bench import Bench
from dalembert.studio.jobs import Job
from dalembert.studio.messages import plain
from dalembert.studio.script import Script, inputs_of, quoted, state_line
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.view.gltf import export_gltf
from dalembert.view.snapshots import snapshot

if TYPE_CHECKING:
    from dalembert.studio.session import Session

LARGEST = 8 << 20  # bytes of a file
STATE, SKETCH = "dalembert state", "dalembert sketch"
SAVED = ("sketch", "state", "model", "yaml", "python", "svg", "html", "live", "gif", "glb")


class Files:
    """Files that a session reads and writes."""

    def __init__(self, session: Session):
        self.session = session

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {
            "load": ("study", self.load, "reading and compiling"),
            "recent": ("study", self.again, "reading and compiling"),
            "save": ("study", self.save, "writing"),
            "script": ("look", self.script, ""),
        }

    def load(self, job: Job, given: dict[str, Any]) -> None:
        """A model file, or a state that was saved; `data` are its bytes."""
        data = given.get("data")
        if not isinstance(data, bytes):
            raise ArgumentError("a file came without its bytes.")
        name = filename(given.get("name"))
        if len(data) > LARGEST:
            raise ArgumentError(f"'{name}' has {len(data)} bytes; the most that is read is {LARGEST}.")
        if name.lower().endswith(".json") and STATE.encode() in data[:400]:
            self._restore(data)
            return
        if name.lower().endswith(".json") and SKETCH.encode() in data[:400]:
            self.session.drawing.restore(data)
            recent.keep(name, data)
            return
        with tempfile.TemporaryDirectory(prefix="dalembert-") as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            try:
                options = {"isolated": True} if format_of(path, reading=True) == "mjcf" else {}
                mechanism = formats.read(path, **options)
            except ModelFileError as error:
                raise ModelFileError(str(error).replace(f"{folder}/", "")) from None
        system = mechanism.compile()
        state = first_state(system)
        script = Script(f"system = da.read({quoted(name)}).compile()")
        script.add("place", state_line(system, state))
        bench = Bench(system, state)
        if not job.take():
            return
        self.session.open(bench, script)
        recent.keep(name, data)
        if mechanism.notes:
            several = f"{len(mechanism.notes)} things of the file have no meaning here; see mechanism.notes"
            self.session.tell({"event": "note", "text": several})

    def again(self, job: Job, given: dict[str, Any]) -> None:
        """A file that was opened before; `name` is one that the start page offers."""
        name = checks.choice(given.get("name"), recent.names(), "name")
        self.load(job, {**given, "name": name, "data": recent.content(name)})

    def _restore(self, data: bytes) -> None:
        bench = self.session.bench
        try:
            found = json.loads(data)
            q, v = (np.array(found[key], dtype=float) for key in ("q", "v"))
            names, t, values = list(found["q_names"]), float(found["t"]), dict(found.get("parameters", {}))
        except (ValueError, KeyError, TypeError):
            raise ArgumentError("the file of a state is broken; needed: what 'Save state' wrote.") from None
        if names != list(bench.system.q_names) or len(v) != bench.system.nv or not np.isfinite([*q, *v, t]).all():
            raise ArgumentError(f"the state belongs to another mechanism than '{bench.system.name}'.")
        if values and not bench.set_parameters(values):
            raise ArgumentError("the loops do not close with the parameters of the state.")
        bench.put(bench.closed(q, t), v, t)
        self.session.script.add("place", state_line(bench.system, bench.x))
        self.session.show("load")

    def script(self, job: Job, given: dict[str, Any]) -> None:
        """The Python that does what was clicked."""
        self.session.tell({"event": "script", "text": self.session.script.text})

    def save(self, job: Job, given: dict[str, Any]) -> None:
        """A file for the page to save: the state, the model, its Python, a drawing, a live page, or the run."""
        session = self.session
        what = checks.choice(given.get("what"), SAVED, "what")
        if what == "sketch":
            session.give("sketch.json", session.drawing.text().encode(), given.get("client"))
            return
        if what == "python":
            session.give("model.py", session.script.text.encode(), given.get("client"))
            return
        bench = session.bench
        name = re.sub(r"[^\w-]+", "_", bench.system.name) or "model"
        if what == "state":
            values = dict(zip(bench.system.p_names, bench.p.tolist()))
            kept = {"kind": STATE, "model": bench.system.name, "q_names": list(bench.system.q_names), "q": bench.x.q,
                    "v": bench.x.v, "t": bench.x.t, "parameters": values}  # fmt: skip
            session.give(f"{name}.state.json", json.dumps(plain(kept), indent=1).encode(), given.get("client"))
            return
        with tempfile.TemporaryDirectory(prefix="dalembert-") as folder:
            if what in ("model", "yaml"):
                path = Path(folder) / f"{name}.{'json' if what == 'model' else 'yaml'}"
                bench.system.with_parameters(dict(zip(bench.system.p_names, bench.p))).mechanism.save(path)
            elif what == "live":
                path = Path(folder) / f"{name}.live.html"
                export_html(bench.system, path, bench.x, u=bench.inputs, p=bench.given_p, source=session.script.opening)
            elif what == "svg":
                path = drawn(bench, Path(folder) / f"{name}.svg")
            else:
                if "A" not in session.runs.kept:
                    raise ArgumentError("there is no run to write; simulate first.")
                run: Run = session.runs.kept["A"].run
                path = Path(folder) / f"{name}.{what}"
                path = export_gltf(run, path) if what == "glb" else run.animate(path)
            data = path.read_bytes()
        if not job.take():
            return
        if what == "live":
            session.script.add("save live", f"da.view.export_html(system, {quoted(path.name)}, x{inputs_of(bench.u)})")
        elif what == "svg":
            session.script.add("save svg", f"da.view.snapshot(system, x, {quoted(path.name)})")
        elif what == "glb":
            session.script.add("save glb", f"da.view.export_gltf(run, {quoted(path.name)})")
        elif what not in ("model", "yaml"):
            session.script.add(f"save {what}", f"run.animate({quoted(path.name)})")
        session.give(path.name, data, given.get("client"))


def drawn(bench: Bench, path: Path) -> Path:
    """The state that is shown as a drawing of lines."""
    extra("matplotlib", "view", "drawing")
    from matplotlib.figure import Figure  # pyplot would ask for a window, and this is no main thread

    axes = Figure(figsize=(6, 5), layout="constrained").subplots()
    snapshot(bench.system, bench.x, path, p=bench.given_p, ax=axes)
    return path


def filename(given: Any) -> str:
    """A plain name of a file, without folders.

    >>> filename("C:\\\\models\\\\four bar.yaml")
    'four_bar.yaml'
    """
    name = re.split(r"[/\\]", checks.name(given, "name of a file"))[-1]
    name = re.sub(r"[^\w.-]+", "_", name)[-100:].lstrip(".")
    return name or "model"


def first_state(system: System) -> State:
    """The state named "start", else the first that has a name, assembled; else whatever closes."""
    states = system.layout.mechanism.states
    name = "start" if "start" in states else next(iter(states), None)
    return named_start(system, name)[0]
