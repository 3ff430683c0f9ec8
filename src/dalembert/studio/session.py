"""The session: one mechanism, its runs and studies, and everyone who looks at it.

Pages come and go; the session stays. What a page asks for is a command, worked off in a lane; what it is told is an
event, and the last one of each kind is told again to a page that comes later.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, DalembertError
from dalembert.studio.bench import Bench
from dalembert.studio.dragging import Moved
from dalembert.studio.drawing import SketchSession
from dalembert.studio.files import Files
from dalembert.studio.hand import Hand
from dalembert.studio.jobs import Job, Lane
from dalembert.studio.messages import Message, packed, text
from dalembert.studio.running import Live, Runs
from dalembert.studio.script import Script
from dalembert.studio.start import StartPage, start_page
from dalembert.studio.studies import Studies
from dalembert.studio.watching import Watching

LANES = ("hand", "look", "run", "study", "live")
Listener = Callable[[Message], None]


class Session:
    """A bench with everything that can be done at it; `listen` to its events, `do` its commands."""

    def __init__(self, bench: Bench | None, script: Script, time: float = 5.0):
        """bench: None begins with an empty stage. time: s that are simulated."""
        self._bench, self.script = bench, script
        self.memory: dict[str, Message] = {}  # by kind: for pages that come later
        self.listeners: dict[int, Listener] = {}
        self._lock = threading.RLock()
        self._busy: dict[str, str] = {}
        self._drawn: dict[str, Any] = {}  # the scene that pages have
        self.hand, self.watching, self.runs, self.live = Hand(self), Watching(self), Runs(self), Live(self)
        self.studies, self.files, self.drawing = Studies(self), Files(self), SketchSession(self)
        self.start = StartPage(self)
        self.runs.time = time
        parts = (self.hand, self.watching, self.runs, self.live, self.studies, self.files, self.drawing, self.start)
        self.commands: dict[str, tuple[str, Any, str]] = {}
        for part in parts:
            self.commands |= part.commands()
        self.lanes = {name: Lane(name, self._status, self._failed) for name in LANES}
        if bench is not None:
            self.open(bench, script)
        else:
            self.tell(start_page(), keep="start")

    @property
    def bench(self) -> Bench:
        """The mechanism on the bench."""
        if self._bench is None:
            raise ArgumentError("there is no mechanism yet; sketch one that can move, or open a file.")
        return self._bench

    @property
    def is_empty(self) -> bool:
        """Whether no mechanism is on the bench."""
        return self._bench is None

    # --- pages --------------------------------------------------------------------------------------------------

    def listen(self, number: int, listener: Listener) -> None:
        """Tell a page what there is, and everything from now on."""
        with self._lock:
            for message in self.memory.values():
                listener(message)
            self.listeners[number] = listener

    def leave(self, number: int) -> None:
        """A page went away."""
        with self._lock:
            self.listeners.pop(number, None)

    def tell(
        self, message: Mapping[str, Any], arrays: Mapping[str, Any] | None = None, keep: str = "", to: int | None = None
    ) -> None:
        """Tell all pages, or one; keep: under which name the message is told again to pages that come later."""
        out: Message = text(message) if arrays is None else packed(message, arrays)
        with self._lock:
            if keep:
                self.memory[keep] = out
            for number, listener in self.listeners.items():
                if to is None or number == to:
                    listener(out)

    def give(self, name: str, data: bytes, to: int | None) -> None:
        """Give a file to a page."""
        header = text({"event": "file", "name": name}).encode()
        with self._lock:
            for number, listener in self.listeners.items():
                if to is None or number == to:
                    listener(len(header).to_bytes(4, "little") + header + data)

    # --- commands -----------------------------------------------------------------------------------------------

    def do(self, given: dict[str, Any], client: int | None = None) -> Job:
        """Begin what a page asks for."""
        name = given.get("do")
        if not isinstance(name, str) or name not in self.commands:
            raise ArgumentError(f"there is no command {name!r}.")
        lane, work, label = self.commands[name]
        if not lane:  # at once
            job = Job(name, lambda job: work(job, given))
            job.work(job)
            return job
        if lane in ("hand", "study") and name in ("drag", "slide", "seek", "reset", "load", "go", "branch"):
            self.lanes["live"].cancel()
        key = f"{name} {given.get('name', '')}" if name == "slide" else name
        return self.lanes[lane].submit(key, lambda job: work(job, {**given, "client": client}), label)

    @property
    def progress(self) -> float | None:
        """The part of what is simulated or mapped that is done; None where nothing is."""
        jobs = [lane.running for lane in self.lanes.values()]
        return next((job.progress() for job in jobs if job is not None and job.progress is not None), None)

    def idle(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is under way, but what is live."""
        names = ("hand", "run", "study", "look")
        return all(self.lanes[name].idle(seconds) for name in (*names, *names))  # what one lane asks of another

    def close(self) -> None:
        """Stop all lanes."""
        for lane in self.lanes.values():
            lane.close()

    def _status(self, lane: str, label: str) -> None:
        self._busy[lane] = label
        self.tell({"event": "status", "lane": lane, "text": label})

    def _failed(self, key: str, error: BaseException) -> None:
        if isinstance(error, DalembertError):
            told = str(error)
        else:
            told = f"'{key}' failed unexpectedly ({type(error).__name__}: {error}); the terminal has the details"
            traceback.print_exception(error, file=sys.stderr)
        self.tell({"event": "error", "of": key, "text": told})

    # --- what is shown ------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Take the mechanism from the bench."""
        for name in ("run", "live", "look"):
            self.lanes[name].cancel()
        with self._lock:
            self._bench = None
            self._forget()
            self.tell({"event": "empty"})

    def _forget(self) -> None:
        """Forget what belongs to the mechanism on the bench; a sketch stays."""
        self.memory = {k: m for k, m in self.memory.items() if k == "sketch"}
        self.runs.kept.clear()
        self.studies.model = self.studies.map = None
        self.hand.branches = []

    def open(self, bench: Bench, script: Script, sketched: bool = False) -> None:
        """Put another mechanism on the bench; sketched: that of the sketch, which stays."""
        for name in ("run", "live"):
            self.lanes[name].cancel()
        if not sketched:
            self.drawing.end()
        with self._lock:
            self._bench, self.script = bench, script
            self._forget()
            if not sketched:
                self.memory.pop("sketch", None)
            model = bench.describe()
            self._drawn = model["scene"]
            self.tell({"event": "model", "time": self.runs.time, "sketched": sketched, **model}, keep="model")
        self.show("open")

    def redraw(self, always: bool = False) -> None:
        """Tell the scene again where it changed: rails that became longer, other parameters."""
        if not always and not self.bench.slides:
            return
        drawn = self.bench.scene().to_dict()
        if always or drawn != self._drawn:
            self._drawn = drawn
            self.tell({"event": "shapes", "scene": drawn}, keep="shapes")

    def values(self) -> dict[str, Any]:
        """Parameters and inputs as they are."""
        bench = self.bench
        return {"event": "values", "parameters": dict(zip(bench.system.p_names, bench.p)), "inputs": bench.u}

    def show(
        self, source: str, moved: Moved | None = None, note: str = "", look: bool = True, speed: float = 0.0
    ) -> None:
        """Show where the mechanism is; the report follows."""
        bench = self.bench
        d = bench.dragging
        if moved is None:
            here = d.place(bench.x.q)
            residual, sigma = float(np.abs(here.gap).max(initial=0.0)), here.sigma
            limits, touching, gap, met = [], [], 0.0, True
        else:
            residual, sigma, gap, met, note = moved.residual, moved.sigma, moved.gap, moved.met, moved.note
            limits, touching = list(moved.limits), list(moved.touching)
        beyond = np.flatnonzero(d.slack(bench.x.q)[0] < -d.bounds.room)
        limits += [d.bounds.names[k] for k in beyond if k < d.bounds.limits]
        through = [d.bounds.names[k] for k in beyond if k >= d.bounds.limits]
        header = {
            "event": "pose", "source": source, "q": bench.x.q, "t": bench.x.t, "residual": residual, "gap": gap,
            "met": met, "note": note, "limits": limits, "sigma": sigma[: d.rank] if d.rank else [], "rank": d.rank,
            "more": bool(moved and moved.more), "touching": touching, "through": through,
            "speed": speed, "near": d.near(sigma),
        }  # fmt: skip
        self.tell(header, {"poses": bench.pose()}, keep="pose")
        if source in ("open", "parameters", "load"):
            self.tell(self.values(), keep="values")
        if look:
            self.watching.again()
