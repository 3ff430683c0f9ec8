"""Runs saved, loaded, recorded as they go and taken up again: what of a run goes into a file, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import charts, checks
from dalembert.charts import LocalChart
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.driver import Driver
from dalembert.simulation.files import Recorder, Recording, check_system, header_of_run, read, write
from dalembert.simulation.passages import Met
from dalembert.simulation.result import result
from dalembert.simulation.run import Run
from dalembert.simulation.setup import Setup
from dalembert.simulation.status import Status
from dalembert.system.system import System


def extra_names(system: System) -> tuple[str, ...]:
    """Columns besides t, q and v."""
    return (*(f"work.{n}" for n in system.work_names), *(f"u.{n}" for n in system.u_names), "margin")


def save(run: Run, path: Any) -> None:
    """Write a run into one file; an older file at the path stays whole until the new one is."""
    path = checks.path(path, "path")
    columns = [*run.work.values(), *run.u.T, run.margin]
    extra = dict(zip(extra_names(run.system), columns))
    header = header_of_run(run.system, None, tuple(extra), run.p)
    write(path, header, run.t, run.q, run.v, extra, notes=_of_run(run))


def load(path: Any, system: System) -> Run:
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
    if not isinstance(system, System):
        raise ArgumentError(f"system is {checks.shown(system)}; needed: the System that the run was made with.")
    file = read(path)
    check_system(file.header, system, path)
    notes, nq, nv = file.notes or {}, system.nq, system.nv
    n, facts = len(file.t), notes.get("facts", {})
    status = Status[notes["status"]] if "status" in notes else Status.INTERRUPTED
    message = notes.get("message", f"the recording ends at t = {file.t[-1] if n else 0:.6g} s: it was cut off there")
    return Run(
        t=file.t,
        q=file.q,
        v=file.v,
        u=np.array([file.extra[f"u.{name}"] for name in system.u_names]).reshape(-1, n).T,
        work={name: file.extra[f"work.{name}"] for name in system.work_names},
        margin=file.extra["margin"],
        status=status,
        message=message,
        error=None,
        _met=_met(notes),
        metric=notes.get("metric", "mass"),
        charts=_charts(notes, system, np.array(list(file.header.parameters.values()))),
        t_events={name: np.array([t for t, _ in hits]) for name, hits in notes.get("events", {}).items()},
        x_events={
            name: np.array([x for _, x in hits]).reshape(-1, nq + nv) for name, hits in notes.get("events", {}).items()
        },
        system=system,
        p=np.array(list(file.header.parameters.values())),
        **{name: facts.get(name, 0) for name in _FACTS},
    )


_FACTS = ("steps", "rejected", "evaluations", "corrections", "drift", "speed_drift")


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "status": run.status.name,
        "message": run.message,
        "facts": {name: getattr(run, name) for name in _FACTS},
        "met": [asdict(m) for m in run._met],
        "charts": [(t, charts.recorded(chart)) for t, chart in run.charts],
        "metric": run.metric,
        "events": {name: list(zip(run.t_events[name], run.x_events[name])) for name in run.t_events},
    }


def _charts(notes: Any, system: System, p: np.ndarray, original: LocalChart | None = None) -> Any:
    """(t, chart) of a file."""
    kept = [(t, data) for t, data in notes.get("charts", ()) if data is None or isinstance(data, dict)]
    return tuple((t, charts.restored(system, p, data, original)) for t, data in kept)


def _met(notes: Any) -> tuple[Met, ...]:
    return tuple(Met(**{**m, "q": tuple(m["q"]), "v": tuple(m["v"])}) for m in notes.get("met", ()))


#: numbers of the native record by which a run goes on bit for bit; sizes are never read from a file
NUMBERS = (
    "carry", "h", "usual_h", "last_error", "sampled_until", "energy", "chart_margin", "worst_margin", "drift",
    "speed_drift",
)  # fmt: skip
COUNTS = (
    "steps",
    "rejected",
    "evaluations",
    "corrections",
    "samples",
    "singular_steps",
    "jacobians",
    "fresh",
    "landed",
)


def recorded(setup: Setup, path: Any, resume: bool) -> Run:
    """Simulate into a file; `resume` takes up an older one."""
    record = Record(checks.path(path, "record"), setup, resume)
    try:
        driver = Driver(setup, record)
        if record.found is None or not take_up(driver, record.found):
            driver.begin()
        whole = result(driver, driver.go())
        record.end(driver, whole)
    finally:
        record.recorder.leave()
    return whole


class Record:
    """The file of a run that is recorded as it goes; `found` is the older one that it takes up."""

    def __init__(self, path: Any, setup: Setup, resume: bool):
        self.system, self.found = setup.system, None
        options = {name: repr(value) for name, value in setup.described().items()}
        if resume and Path(path).exists():
            self.recorder, self.found = Recorder.resumed(path)
            try:
                self._check(path, setup, options)
            except BaseException:
                self.recorder.leave()
                raise
        else:
            self.recorder = Recorder(path, header_of_run(setup.system, options, extra_names(setup.system), setup.p))

    def _check(self, path: Any, setup: Setup, options: dict[str, str]) -> None:
        """The run must be the same one: system, parameters and options."""
        assert self.found is not None
        header = self.found.header
        check_system(header, self.system, path)
        if not np.array_equal(list(header.parameters.values()), setup.p):
            raise FileError(f"'{path}' was recorded with other parameters: {dict(header.parameters)}.")
        for name, value in options.items():
            if header.options.get(name) != value:
                raise ArgumentError(
                    f"'{path}' was recorded with {name}={header.options.get(name)}; found {value}. A run goes on with "
                    "the options it began with."
                )

    def append(self, driver: Driver, times: np.ndarray, columns: np.ndarray) -> None:
        """One batch, with all that is needed to go on after it."""
        self._write(times, columns, _to_resume(driver), driver.notes())

    def end(self, driver: Driver, run: Run) -> None:
        """The last batch, and the mark of the end."""
        driver.history.flush(driver)
        nothing = np.zeros(0), np.zeros((0, self.system.nq + self.system.nv + len(extra_names(self.system))))
        self._write(*nothing, _to_resume(driver), {**driver.notes(), **_of_run(run)})
        self.recorder.close()

    def _write(self, times: np.ndarray, X: np.ndarray, resume: dict[str, np.ndarray], notes: Any) -> None:
        nq, n = self.system.nq, self.system.nq + self.system.nv
        extra = dict(zip(extra_names(self.system), X[:, n:].T))
        self.recorder.append(times, X[:, :nq], X[:, nq:n], extra, resume=resume, notes=notes)


def _to_resume(driver: Driver) -> dict[str, np.ndarray]:
    """The numbers by which a run goes on bit for bit."""
    run = driver.record
    return {
        "t": np.array([driver.history.last[0]]),
        "x": run.x,
        "slope": run.stages[0],
        "last": driver.history.last[1],
        "inputs": driver.inputs.astype(float),
        "numbers": np.array([getattr(run, name) for name in NUMBERS]),
        "counts": np.array([getattr(run, name) for name in COUNTS], dtype=np.int64),
        "event_values": run.event_values.ravel(),
        "rows": np.array([-1] if driver.rows is None else driver.rows, dtype=np.int64),
    }


def take_up(driver: Driver, file: Recording) -> bool:
    """Put a driver where its recording ends; False where the recording holds nothing to go on from."""
    if not file.resume:
        return False
    system, notes, kept, run = driver.system, file.notes, file.resume, driver.record
    _check_resumed(driver, kept, notes)
    nq, n, last, t = system.nq, system.nq + system.nv, kept["last"], float(kept["t"][0])
    state = system.state(last[:nq], last[nq:n], t)
    rows = None if kept["rows"][0] == -1 else tuple(int(k) for k in kept["rows"])
    original, recorded = driver.chart, notes["chart"]
    chart = charts.restored(system, driver.setup.p, recorded, original)
    driver.place(state, rows, chart, np.zeros(driver.layout.works))
    driver.charts = list(_charts(notes, system, driver.setup.p, original))
    run.x[:], run.stages[0], run.t = kept["x"], kept["slope"], t
    for names, values in ((NUMBERS, kept["numbers"]), (COUNTS, kept["counts"])):
        for name, value in zip(names, values.tolist()):
            setattr(run, name, value)
    driver.inputs[:] = kept["inputs"]
    run.event_values[:] = kept["event_values"].reshape(run.event_values.shape)
    driver.met = list(_met(notes))
    for name, hits in notes["events"].items():
        driver.found[name] = [(when, np.array(x)) for when, x in hits]
    history, extra = driver.history, [file.extra[name] for name in extra_names(system)]
    history.last = history.previous = t, last
    history.taken, history.flushed = t, 1
    history.times, history.columns = [file.t.copy()], [np.column_stack([file.q, file.v, *extra])]
    return True


def _check_resumed(driver: Driver, kept: dict[str, np.ndarray], notes: Any) -> None:
    """Refuse numbers that do not fit this run: they would be sizes and indices in native code."""
    run, rows, m = driver.record, kept.get("rows"), len(driver.system.rows.of)
    dof = 0 if notes["chart"] is None else len(notes["chart"]["names"])
    n = run.nq + run.nv + 2 * dof + run.works
    sizes = {
        "t": 1, "x": n, "slope": n, "last": n + run.nu + 1, "inputs": run.nu, "numbers": len(NUMBERS),
        "counts": len(COUNTS), "event_values": 2 * run.events,
    }  # fmt: skip
    wrong = [name for name, size in sizes.items() if name not in kept or len(kept[name]) != size]
    listed = () if rows is None else rows.tolist()
    if wrong or not listed or (listed != [-1] and not all(0 <= k < m for k in listed)) or min(kept["counts"]) < 0:
        raise FileError(
            f"the recording does not fit this run ({', '.join(wrong) or 'rows'}); it was damaged, or made by another "
            "version. Record the run anew."
        )
