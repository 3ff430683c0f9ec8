"""Runs saved, loaded, recorded as they go and taken up again: what of a run goes into a file, and back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from dalembert import charts, checks
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.files import Recorder, Recording, check_system, header_of_run, read, write
from dalembert.simulation.files.arguments import arguments_of_run, check_arguments
from dalembert.simulation.files.format import is_number, senseless
from dalembert.simulation.files.log import Grown, Log, grown, of_end, of_run
from dalembert.simulation.files.resuming import restored_charts, take_up, to_resume
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.results.result import result
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import Context, lay_out
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepping import begin, integrate
from dalembert.simulation.setup import Setup, Span
from dalembert.simulation.status import Status
from dalembert.system.system import System


def extra_names(system: System) -> tuple[str, ...]:
    """Columns besides t, q and v."""
    return (*(f"work.{n}" for n in system.work_names), *(f"u.{n}" for n in system.u_names), "margin")


def save(run: Run, path: Any) -> None:
    """Write a run into one file; an older file at the path stays whole until the new one is."""
    path = checks.path(path, "path")
    if run.phases:
        from dalembert.simulation.files.phases import save_phases

        with _writing(path):
            save_phases(cast("Any", run), path)
        return
    columns = [*run.work.values(), *run.u.T, run.margin]
    extra = dict(zip(extra_names(run.system), columns))
    header = header_of_run(run.system, None, tuple(extra), run.p)
    with _writing(path):
        write(path, header, run.t, run.q, run.v, extra, notes=of_run(run))


@contextmanager
def _writing(path: Any) -> Iterator[None]:
    """A sentence for an error of the disk."""
    try:
        yield
    except OSError as error:
        raise FileError(f"'{path}' cannot be written: {error.strerror}.") from error


def read_run(path: Any, system: System) -> Run:
    """A run from a file written by `run.save(path)` or `simulate(record=path)`, with the system it was made with.

    A recording that was cut off is read up to its last whole batch. States between the recorded ones cannot be asked
    for.

    >>> import dalembert as da, tempfile, pathlib
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> system, path = m.compile(), pathlib.Path(tempfile.mkdtemp()) / "run.arrow"
    >>> run = da.simulate(system, {"A": 0.1}, 2.0)
    >>> run.save(path)
    >>> again = da.read_run(path, system)
    >>> bool((again.q == run.q).all()), again.message
    (True, 'the end was reached')
    """
    if not isinstance(system, System):
        raise ArgumentError(f"system is {checks.shown(system)}; needed: the System that the run was made with.")
    file = read(path)
    if "work.impacts" in file.header.extra:
        from dalembert.simulation.files.phases import load_phases

        return load_phases(file, system, path)
    _check(file, system, path)
    if not file.batches:
        raise FileError(
            f"'{path}' holds no states: its run ended before the first batch was written. "
            "simulate(record=path, resume=True) begins it anew."
        )
    log = Log(file.all_notes, system.nq + system.nv, path)
    status, n = log.status, len(file.t)
    p = np.array(list(file.header.parameters.values()), dtype=float)
    message = log.message
    if status is None:
        status = Status.INTERRUPTED
        message = f"the recording ends at t = {file.t[-1] if n else 0:.6g} s: it was cut off there"
    return Run(
        t=file.t,
        q=file.q,
        v=file.v,
        u=np.array([file.extra[f"u.{name}"] for name in system.u_names]).reshape(len(system.u_names), n).T,
        work={name: file.extra[f"work.{name}"] for name in system.work_names},
        margin=file.extra["margin"],
        status=status,
        _message=message,
        error=None,
        remarks=log.remarks,
        _met=tuple(log.met),
        metric=log.metric,
        rtol=log.rtol,
        charts=restored_charts(system, p, log),
        t_events={name: np.array([t for t, _ in hits]) for name, hits in log.events.items()},
        x_events={
            name: np.array([x for _, x in hits]).reshape(-1, system.nq + system.nv) for name, hits in log.events.items()
        },
        system=system,
        p=p,
        **log.facts,
    )


def _check(file: Recording, system: System, path: Any) -> None:
    """The file is of this system, and its times and states are such."""
    header = file.header
    check_system(header, system, path)
    if tuple(header.extra) != extra_names(system):
        raise senseless(path, "head", "its columns are not those of a run of this system")
    values = header.parameters
    if list(values) != list(system.p_names) or not all(is_number(x) and np.isfinite(x) for x in values.values()):
        raise senseless(path, "head", "its parameters are not those of this system")
    if not np.isfinite(file.t).all() or (np.diff(file.t) < 0.0).any():
        raise senseless(path, "column 't'", "times are not finite, or go back")
    x = np.hstack([file.q, file.v])
    if not (np.isfinite(x).all(axis=1) | np.isnan(x).all(axis=1)).all():  # samples that could not be had are NaN
        raise senseless(path, "state", "it is not finite")


def recorded(layout: RunLayout, span: Span, path: Any, resume: bool) -> Run:
    """Simulate into a file; `resume` takes up an older one."""
    record = Record(checks.path(path, "record"), layout.setup, span, resume)
    try:
        ctx = lay_out(Segment(layout, span), record)
        if not record.take_up(ctx):
            begin(ctx)
        return record.end(ctx, result(ctx, integrate(ctx)))
    finally:
        with suppress(OSError):
            record.recorder.leave()


class Record:
    """The file of a run that is recorded as it goes; `found` is the older one that it takes up.

    Where the disk takes no more, a warning says so and the run goes on without its file.
    """

    def __init__(self, path: Any, setup: Setup, span: Span, resume: bool):
        self.system, self.path = setup.system, path
        self.found: tuple[Recording, Log] | None = None
        self.written = Grown()
        self.trouble = ""  # why nothing is written any more
        options = arguments_of_run(setup, span)
        if resume and Path(path).exists():
            self.recorder, file = Recorder.resumed(path)
            try:
                self.found = file, self._checked(file, setup, options)
            except BaseException:
                self.recorder.leave()
                raise
            self.written = Grown(self.found[1])
        else:
            header = header_of_run(setup.system, options, extra_names(setup.system), setup.p)
            with _writing(path):
                self.recorder = Recorder(path, header)

    def _checked(self, file: Recording, setup: Setup, options: dict[str, str]) -> Log:
        """The run must be the same one: system, parameters and options."""
        header, path = file.header, self.path
        _check(file, self.system, path)
        if not np.array_equal(list(header.parameters.values()), setup.p):
            raise FileError(f"'{path}' was recorded with other parameters: {dict(header.parameters)}.")
        check_arguments(header.options, options, path)
        return Log(file.all_notes, self.system.nq + self.system.nv, path)

    def take_up(self, ctx: Context) -> bool:
        """Put a segment where the older recording ends, if there is one to go on from."""
        if self.found is None:
            return False
        file, log = self.found
        columns = np.column_stack([file.q, file.v, *(file.extra[name] for name in extra_names(self.system))])
        found = take_up(ctx, file, log, columns)
        self.written.known["charts"] = list(ctx.charts)
        return found

    def append(self, ctx: Context, times: np.ndarray, columns: np.ndarray) -> None:
        """One batch, with all that is needed to go on after it."""
        self._write(ctx, times, columns, grown(self.written, ctx.met, ctx.charts, ctx.found))

    def end(self, ctx: Context, run: Run) -> Run:
        """The last batch, and the mark of the end. Returns the run, which tells if its file is not whole."""
        ctx.history.flush(ctx)
        nothing = np.zeros(0), np.zeros((0, self.system.nq + self.system.nv + len(extra_names(self.system))))
        notes = {**of_end(run), **grown(self.written, ctx.met, ctx.charts, ctx.found)}
        self._write(ctx, *nothing, notes, last=True)
        return replace(run, _message=f"{run._message}; {self.trouble}") if self.trouble else run

    def _write(self, ctx: Context, times: np.ndarray, X: np.ndarray, notes: Any, last: bool = False) -> None:
        if self.trouble:
            return
        nq, n = self.system.nq, self.system.nq + self.system.nv
        extra = dict(zip(extra_names(self.system), X[:, n:].T))
        notes = {"chart": charts.recorded(ctx.chart), **notes}
        try:
            self.recorder.append(times, X[:, :nq], X[:, nq:n], extra, resume=to_resume(ctx), notes=notes)
            if last:
                self.recorder.close()
        except OSError as error:
            self.trouble = f"the recording '{self.path}' could not be written further ({error.strerror})"
            warnings.warn(
                f"{self.trouble}. The run goes on without it: keep it with run.save(path) when it is done.",
                RuntimeWarning,
                stacklevel=2,
            )
