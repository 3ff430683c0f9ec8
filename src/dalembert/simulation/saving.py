"""Runs saved, loaded, recorded as they go and taken up again: what of a run goes into a file, and back."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.charts import LocalChart, named
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.files import Recorder, Recording, check_system, header_of_run, read, write
from dalembert.simulation.passages import Passage
from dalembert.simulation.solution import Solution, Status


def extra_names(system: Any) -> tuple[str, ...]:
    """Columns besides t, q and v."""
    return (*(f"work.{n}" for n in system.work_names), *(f"u.{n}" for n in system.u_names), "health")


def save(run: Solution, path: Any) -> None:
    """Write a run into one file; an older file at the path stays whole until the new one is."""
    columns = [*run.work.values(), *run.u.T, run.health]
    extra = dict(zip(extra_names(run.system), columns))
    header = header_of_run(run.system, None, tuple(extra), run.p)
    write(path, header, run.t, run.q, run.v, extra, notes=_of_solution(run))


def load(path: Any, system: Any) -> Solution:
    """A run from a file written by `run.save(path)` or `simulate(record=path)`, with the system it was made with.

    A recording that was cut off is read up to its last whole batch. States between the recorded ones cannot be asked
    for.

    >>> import dalembert as da, tempfile, pathlib
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> system, path = m.compile(), pathlib.Path(tempfile.mkdtemp()) / "run.arrow"
    >>> run = da.simulate(system, {"A": 0.1}, 2.0)
    >>> run.save(path)
    >>> again = da.load(path, system)
    >>> bool((again.q == run.q).all()), again.message
    (True, 'the end was reached')
    """
    file = read(path)
    check_system(file.header, system, path)
    notes, nq, nv = file.notes or {}, system.nq, system.nv
    n, facts = len(file.t), notes.get("facts", {})
    status = Status[notes["status"]] if "status" in notes else Status.INTERRUPTED
    message = notes.get("message", f"the recording ends at t = {file.t[-1] if n else 0:.6g} s: it was cut off there")
    return Solution(
        t=file.t,
        q=file.q,
        v=file.v,
        u=np.array([file.extra[f"u.{name}"] for name in system.u_names]).reshape(-1, n).T,
        work={name: file.extra[f"work.{name}"] for name in system.work_names},
        health=file.extra["health"],
        status=status,
        message=message,
        careful=_passages(notes),
        charts=tuple((t, tuple(names)) for t, names in notes.get("charts", ())),
        t_events={name: np.array([t for t, _ in hits]) for name, hits in notes.get("events", {}).items()},
        x_events={
            name: np.array([x for _, x in hits]).reshape(-1, nq + nv) for name, hits in notes.get("events", {}).items()
        },
        system=system,
        p=np.array(list(file.header.parameters.values())),
        **{name: facts.get(name, 0) for name in _FACTS},
    )


_FACTS = ("steps", "rejected", "evaluations", "corrections", "drift", "speed_drift")


def _of_solution(run: Solution) -> dict[str, Any]:
    return {
        "status": run.status.name,
        "message": run.message,
        "facts": {name: getattr(run, name) for name in _FACTS},
        "passages": [asdict(p) for p in run.passages],
        "charts": run.charts,
        "events": {name: list(zip(run.t_events[name], run.x_events[name])) for name in run.t_events},
    }


def _passages(notes: Any) -> tuple[Passage, ...]:
    return tuple(Passage(**{**p, "rows": tuple(p["rows"])}) for p in notes.get("passages", ()))


class Record:
    """The file of a run that is recorded as it goes; `resume` takes up an older one."""

    def __init__(self, path: Any, system: Any, p: Any, options: dict[str, Any], resume: bool):
        self.system, self.found = system, None
        options = {name: repr(value) for name, value in options.items()}
        if resume and Path(path).exists():
            self.recorder, self.found = Recorder.resumed(path)
            try:
                self._check(path, p, options)
            except BaseException:
                self.recorder._leave()
                raise
        else:
            self.recorder = Recorder(path, header_of_run(system, options, extra_names(system), p))

    def _check(self, path: Any, p: Any, options: dict[str, str]) -> None:
        """The run must be the same one: system, parameters and options."""
        assert self.found is not None
        header = self.found.header
        check_system(header, self.system, path)
        if not np.array_equal(list(header.parameters.values()), self.system._p(p)):
            raise FileError(f"'{path}' was recorded with other parameters: {dict(header.parameters)}.")
        for name, value in options.items():
            if header.options.get(name) != value:
                raise ArgumentError(
                    f"'{path}' was recorded with {name}={header.options.get(name)}; found {value}. A run goes on with "
                    "the options it began with."
                )

    def append(self, run: Any, times: np.ndarray, columns: np.ndarray) -> None:
        """One batch, with all that is needed to go on after it."""
        self._write(times, columns, _to_resume(run), run.notes())

    def end(self, run: Any, solution: Solution) -> None:
        """The last batch, and the mark of the end."""
        nothing = np.zeros(0), np.zeros((0, self.system.nq + self.system.nv + len(extra_names(self.system))))
        self._write(*nothing, _to_resume(run), {**run.notes(), **_of_solution(solution)})
        self.recorder.close()

    def _write(self, times: np.ndarray, X: np.ndarray, resume: dict[str, np.ndarray], notes: Any) -> None:
        nq, n = self.system.nq, self.system.nq + self.system.nv
        extra = dict(zip(extra_names(self.system), X[:, n:].T))
        self.recorder.append(times, X[:, :nq], X[:, nq:n], extra, resume=resume, notes=notes)


def _to_resume(run: Any) -> dict[str, np.ndarray]:
    """The numbers by which a run goes on bit for bit."""
    chart = run.chart
    return {
        "t": np.array([run.last[0]]),
        "x": run.x,
        "last": run.last[1],
        "inputs": run.engine.inputs.astype(float),
        "numbers": run.numbers,
        "counts": run.counts,
        "marks": run.marks.ravel(),
        "keep": np.array([-1] if run.keep is None else run.keep, dtype=np.int64),
        "chart": np.zeros(0) if chart is None else np.concatenate([chart.start, chart.directions, chart.reference]),
    }


def take_up(run: Any, file: Recording) -> float | None:
    """Put a run where its recording ends; its time there, or None where the recording holds nothing to go on from."""
    if not file.resume:
        return None
    system, notes, kept = run.system, file.notes, file.resume
    state = system.state(kept["last"][: run.nq], kept["last"][run.nq : run.nq + run.nv], float(kept["t"][0]))
    keep = None if kept["keep"][0] == -1 else tuple(int(k) for k in kept["keep"])
    run.choose(state, keep, _chart(run, notes["chart"], kept["chart"]), np.zeros(run.engine.works))
    run.charts = [(t, tuple(names)) for t, names in notes["charts"]]
    run.x[:], run.numbers[:], run.counts[:] = kept["x"], kept["numbers"], kept["counts"]
    run.engine.inputs[:] = kept["inputs"]
    run.marks[:] = kept["marks"].reshape(run.marks.shape)
    run.last = run.previous = float(kept["t"][0]), kept["last"]
    run.passages = list(_passages(notes))
    for name, hits in notes["events"].items():
        run.found[name] = [(t, np.array(x)) for t, x in hits]
    extra = [file.extra[name] for name in extra_names(system)]
    run.flushed, run.T, run.X = 1, [file.t], [np.column_stack([file.q, file.v, *extra])]
    return float(kept["t"][0])


def _chart(run: Any, names: Any, numbers: np.ndarray) -> LocalChart | None:
    """The chart a recording was in."""
    if names is None:
        return None
    kind, coordinates = names
    dof, nv = len(coordinates), run.nv
    start, directions, reference = np.split(numbers, [dof, dof + dof * nv])
    made = named(run.system, run.start, coordinates, run.p, check=False) if kind == "named" else run.chart_kind
    return replace(made, names=tuple(coordinates), start=start, directions=directions, reference=reference)
