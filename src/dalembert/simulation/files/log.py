"""What a run has to say besides numbers at times: how it ended, counts, passages, charts, events. To JSON and back.

Lists that grow in the course of a recording are written in parts: {"from": k, "items": […]} are the items from number k
on, and take the place of any that were there before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_args, get_type_hints

import numpy as np

from dalembert import checks
from dalembert.charts import recorded
from dalembert.errors import FileError
from dalembert.simulation.files.format import is_number, senseless
from dalembert.simulation.results.run import Run
from dalembert.simulation.singular.passages import Met
from dalembert.simulation.status import Status

COUNTS = ("steps", "rejected", "evaluations", "corrections")
FACTS = (*COUNTS, "drift", "speed_drift")


def of_run(run: Run) -> dict[str, Any]:
    """Notes on a whole run."""
    hits = {name: list(zip(run.t_events[name], run.x_events[name])) for name in run.t_events}
    return {**of_end(run), **grown(Grown(), run._met, run.charts, hits)}


def of_end(run: Run) -> dict[str, Any]:
    """Notes on how a run ended."""
    return {
        "status": run.status.name,
        "message": run._message,
        "remarks": list(run.remarks),
        "facts": {name: getattr(run, name) for name in FACTS},
        "rtol": run.rtol,
        "metric": run.metric if isinstance(run.metric, str) else np.asarray(run.metric).tolist(),
    }


class Grown:
    """The items of lists that a recording has already."""

    def __init__(self, log: Log | None = None) -> None:
        self.known: dict[str, list[Any]] = {}
        if log is not None:
            events = {f"event {name}": list(hits) for name, hits in log.events.items()}
            self.known = {"met": list(log.met), "charts": list(log.charts), **events}

    def part(self, name: str, items: Sequence[Any]) -> dict[str, Any]:
        """The part of a list that the recording lacks: items are added at its end, or the last ones changed."""
        known = self.known.setdefault(name, [])
        k = min(len(known), len(items))
        while k and known[k - 1] is not items[k - 1]:
            k -= 1
        known[k:] = items[k:]
        return {"from": k, "items": list(items[k:])}


def grown(so_far: Grown, met: Sequence[Met], charts: Sequence[Any], hits: Mapping[str, Any]) -> dict[str, Any]:
    """The notes on lists that grow, from what the recording has so far."""
    found, taken = so_far.part("met", met), so_far.part("charts", charts)
    return {
        "met": {**found, "items": [asdict(m) for m in found["items"]]},
        "charts": {**taken, "items": [(t, recorded(chart)) for t, chart in taken["items"]]},
        "events": {name: so_far.part(f"event {name}", items) for name, items in hits.items()},
    }


class Log:
    """The notes of a file put together and checked: texts, times, and numbers of the right shape."""

    def __init__(self, all_notes: Sequence[Any], width: int, path: Any):
        self.path, self.width = path, width
        self.met: list[Met] = []
        self.charts: list[tuple[float, Any]] = []
        self.events: dict[str, list[tuple[float, np.ndarray]]] = {}
        self.last: dict[str, Any] = {}
        for notes in all_notes:
            self.last = self._table({} if notes is None else notes, "notes")
            self._add(self.met, self.last.get("met", ()), self._passage)
            self._add(self.charts, self.last.get("charts", ()), self._taken)
            for name, hits in self._table(self.last.get("events", {}), "events").items():
                self._add(self.events.setdefault(name, []), hits, self._hit)

    @property
    def status(self) -> Status | None:
        """How the run ended; None where the file does not tell."""
        name = self.last.get("status")
        if name is not None and (not isinstance(name, str) or name not in Status.__members__):
            raise self._wrong(f"there is no status {name!r}")
        return None if name is None else Status[name]

    @property
    def message(self) -> str:
        """The sentence about the end."""
        found = self.last.get("message", "")
        if not isinstance(found, str):
            raise self._wrong("the message is no text")
        return found

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences of the controller."""
        return self._names(self.last.get("remarks", []))

    @property
    def facts(self) -> dict[str, Any]:
        """Counts and drifts."""
        found = self._table(self.last.get("facts", {}), "facts")
        for name in FACTS:
            x = found.get(name, 0)
            if not is_number(x) or x < 0 or (name in COUNTS and not isinstance(x, int)):
                raise self._wrong(f"{name} is {x!r}")
        return {name: found.get(name, 0) for name in FACTS}

    @property
    def chart(self) -> dict[str, Any] | None:
        """The chart the run is in, if any, as `charts.recorded` describes it."""
        return self._chart(self.last.get("chart"))

    @property
    def rtol(self) -> float | None:
        """The tolerance of the run, if it had one."""
        found = self.last.get("rtol")
        if found is not None and not (is_number(found) and 0.0 <= found < np.inf):
            raise self._wrong(f"rtol is {found!r}")
        return found

    @property
    def metric(self) -> Any:
        """The metric of the run: a name, or weights."""
        found = self.last.get("metric", "mass")
        if isinstance(found, str):
            return found
        rows: list[Any] = found if isinstance(found, list) else [None]
        rows = rows if all(isinstance(row, list) for row in rows) else [rows]
        if len({len(row) for row in rows}) != 1 or not all(is_number(x) for row in rows for x in row):
            raise self._wrong("the metric is neither a name nor numbers")
        return np.array(found, dtype=float)

    # --- parts --------------------------------------------------------------------------------------------------

    def _add(self, known: list[Any], part: Any, made: Any) -> None:
        if isinstance(part, (list, tuple)):  # format 1 had them all in every batch
            part = {"from": 0, "items": part}
        start, items = (self._table(part, "list").get(key) for key in ("from", "items"))
        if not isinstance(items, (list, tuple)) or type(start) is not int or not 0 <= start <= len(known):
            raise self._wrong("a list does not go on where it ended")
        known[start:] = [made(x) for x in items]

    def _passage(self, x: Any) -> Met:
        kinds = get_type_hints(Met)
        found = self._table(x, "passage")
        if set(found) != {f.name for f in fields(Met)}:
            raise self._wrong("a passage lacks a part, or has one too many")
        met = Met(**{name: self._of_kind(name, value, kinds[name]) for name, value in found.items()})
        if len(met.q) + len(met.v) != self.width or met.usual < 1:
            raise self._wrong("the state of a passage has not the numbers it should have")
        return met

    def _of_kind(self, name: str, x: Any, kind: Any) -> Any:
        if get_args(kind)[:1] == (float,):  # tuple[float, ...]
            if not isinstance(x, list) or not all(is_number(e) and np.isfinite(e) for e in x):
                raise self._wrong(f"'{name}' of a passage is {checks.shown(x)}")
            return tuple(float(e) for e in x)
        if name == "determined" and x is None:
            return None
        kind = bool if name == "determined" else kind
        fits = (
            is_number(x) and np.isfinite(x)
            if kind is float
            else isinstance(x, kind) and isinstance(x, bool) == (kind is bool)
        )
        if not fits:
            raise self._wrong(f"'{name}' of a passage is {checks.shown(x)}")
        return x

    def _taken(self, x: Any) -> tuple[float, Any]:
        if not isinstance(x, list) or len(x) != 2 or not is_number(x[0]):
            raise self._wrong("a chart is not described by its time and its numbers")
        return float(x[0]), self._chart(x[1])

    def _chart(self, x: Any) -> dict[str, Any] | None:
        if x is None:
            return None
        found = self._table(x, "charts")
        numbers = [found.get(name) for name in ("start", "directions", "reference")]
        selected = found.get("selected")
        good = (
            found.get("kind") in ("named", "tangent", "custom")
            and isinstance(found.get("own"), bool)
            and is_number(found.get("time"))
            and all(isinstance(e, list) and all(is_number(n) and np.isfinite(n) for n in e) for e in numbers)
            and isinstance(selected, list)
            and all(type(k) is int for k in selected)
        )
        if not good:
            raise self._wrong("a chart is not described by its kind, names and numbers")
        self._names(found.get("names"))
        self._names(found.get("speed_names"))
        return found

    def _hit(self, x: Any) -> tuple[float, np.ndarray]:
        if not isinstance(x, list) or len(x) != 2 or not is_number(x[0]) or not isinstance(x[1], list):
            raise self._wrong("an event is not described by its time and state")
        if len(x[1]) != self.width or not all(map(is_number, x[1])):
            raise self._wrong(f"the state at an event is not {self.width} numbers")
        return float(x[0]), np.array(x[1], dtype=float)

    def _names(self, x: Any) -> tuple[str, ...]:
        if not isinstance(x, list) or not all(isinstance(name, str) for name in x):
            raise self._wrong("names are not a list of texts")
        return tuple(x)

    def _table(self, x: Any, what: str) -> dict[str, Any]:
        if not isinstance(x, dict):
            raise self._wrong(f"{what} are {checks.shown(x)}")
        return x

    def _wrong(self, why: str) -> FileError:
        return senseless(self.path, "note", why)
