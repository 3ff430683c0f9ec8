"""Runs of phases on disk: one batch a phase, with the mode it has and all that is needed to go on after it.

The columns are those of other runs, and "work.impacts"; works count from the start of their phase. A recording goes on
from the last phase that is whole, bit for bit, as every phase begins afresh from its state. Whole is one that a change
of the structure has ended: what the end of the run or an interrupt has cut is made again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, FileError
from dalembert.mechanism.contacts.stop import Stops
from dalembert.simulation.files import Recorder, Recording, check_system, header_of_run
from dalembert.simulation.files.atomic import replacing
from dalembert.simulation.files.format import senseless
from dalembert.simulation.files.lock import nobody_writes
from dalembert.simulation.fingerprint import arguments_of_run, check_arguments, of
from dalembert.simulation.notes import FACTS
from dalembert.simulation.passages import Met
from dalembert.simulation.phases.asked import Added, Cause
from dalembert.simulation.phases.course import Course
from dalembert.simulation.phases.mode import Changeable, Mode, PhaseSystem
from dalembert.simulation.phases.phased import PhasedRun, joined_phases, whole_system
from dalembert.simulation.phases.switch import Switched
from dalembert.simulation.resuming import check_end
from dalembert.simulation.run import Run
from dalembert.simulation.setup import Setup
from dalembert.simulation.status import Status
from dalembert.system.system import System

WORKS = ("inputs", "forces", "drivers")


def _columns(system: System) -> tuple[str, ...]:
    return (*(f"work.{n}" for n in (*WORKS, "impacts")), *(f"u.{n}" for n in system.u_names), "margin")


# --- writing --------------------------------------------------------------------------------------------------------


def save_phases(run: PhasedRun, path: Any) -> None:
    """Write a run into one file."""
    header = header_of_run(run.system, None, _columns(run.system), run.p)
    with nobody_writes(Path(path)), replacing(path) as new, Recorder(new, header, replace=True) as recorder:
        for k, phase in enumerate(run.phases):
            notes = {"phase": _phase_notes(phase, run._added[k]), "stops": _stops(run)}
            recorder.append(phase.t, phase.q, phase.v, _extra(run.system, phase), notes=notes)
        events = {n: [[float(t), x.tolist()] for t, x in zip(run.t_events[n], run.x_events[n])] for n in run.t_events}
        nothing = np.zeros(0), np.zeros((0, run.system.nq)), np.zeros((0, run.system.nv))
        last = {"status": run.status.name, "message": run._message, "switches": _told(run.switches), "events": events}
        recorder.append(*nothing, {n: np.zeros(0) for n in header.extra}, notes=last)


def _extra(system: System, phase: Run) -> dict[str, np.ndarray]:
    zero = np.zeros(len(phase.t))
    works = {f"work.{n}": phase.work.get(n, zero) for n in (*WORKS, "impacts")}
    return {**works, **{f"u.{n}": phase.u[:, k] for k, n in enumerate(system.u_names)}, "margin": phase.margin}


def _phase_notes(phase: Run, added: Added) -> dict[str, Any]:
    return {
        "mode": asdict(added.mode),
        "p": phase.p.tolist(),
        "works": list(phase.work),
        "added": [added.gained, dict(added.works)],
        "status": phase.status.name,
        "message": phase._message,
        "remarks": list(phase.remarks),
        "facts": {name: getattr(phase, name) for name in FACTS},
        "rtol": phase.rtol,
        "metric": phase.metric if isinstance(phase.metric, str) else np.asarray(phase.metric).tolist(),
        "met": [asdict(m) for m in phase._met],
        "events": {
            n: [[float(t), x.tolist()] for t, x in zip(phase.t_events[n], phase.x_events[n])] for n in phase.t_events
        },
    }


def _stops(run: PhasedRun) -> list[float] | None:
    stops = run.phases[0].system.changeable.stops if run.phases else None  # type: ignore[attr-defined]
    return None if stops is None else list(asdict(stops).values())


def _told(switches: Any) -> list[dict[str, Any]]:
    return [
        {**{n: getattr(s, n) for n in ("t", "what", "kind", "of", "lost", "note")}, "impulse": dict(s.impulse),
         "v_before": s.v_before.tolist(), "v_after": s.v_after.tolist()}
        for s in switches
    ]  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


class Pieces:
    """The phases of a file, and what it says of the course."""

    def __init__(self, file: Recording, system: System, path: Any):
        self.phases: list[Run] = []
        self.added: list[Added] = []
        self.switches: list[Switched] = []
        self.last: dict[str, Any] = {}
        self.notes: list[dict[str, Any]] = []  # of each phase
        try:
            self._read(file, system)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, DalembertError) as error:
            raise senseless(path, "note", f"{type(error).__name__}: {error}") from None

    def _read(self, file: Recording, system: System) -> None:
        start = 0
        made: dict[Mode, PhaseSystem] = {}
        for notes, rows in zip(file.all_notes, file.sizes):
            self.last = dict(notes)
            if "switches" in notes:
                self.switches += [_switched(x, system.nv) for x in notes["switches"]]
            if "phase" not in notes:
                continue
            part, known = slice(start, start + rows), notes["phase"]
            start += rows
            mode = Mode(
                tuple(known["mode"]["held"]),
                tuple((str(a), str(b)) for a, b in known["mode"]["touching"]),
                *(tuple(known["mode"].get(name, ())) for name in ("sticking", "shared", "waiting")),
            )
            if not made:
                stops = notes.get("stops")
                changeable = Changeable.of(system, None if stops is None else Stops(*stops))
            if mode not in made:
                made[mode] = PhaseSystem.of(changeable, mode)
            self.notes.append(notes)
            self.added.append(Added(float(known["added"][0]), dict(known["added"][1]), mode))
            self.phases.append(_phase(file, made[mode], part, known))

    def drop(self) -> None:
        """Forget the last phase, and what happened after it."""
        self.phases.pop()
        self.added.pop()
        told = sum(len(notes.get("switches", ())) for notes in self.notes[:-1])
        self.notes.pop()
        del self.switches[told:]


def _switched(x: dict[str, Any], nv: int) -> Switched:
    before, after = np.array(x["v_before"], dtype=float), np.array(x["v_after"], dtype=float)
    if before.shape != (nv,) or after.shape != (nv,):
        raise ValueError("a switch without its velocities")
    what, kind, of, note = (str(x[n]) for n in ("what", "kind", "of", "note"))
    return Switched(float(x["t"]), what, kind, of, before, after, dict(x["impulse"]), float(x["lost"]), note)


def _phase(file: Recording, system: PhaseSystem, part: slice, known: dict[str, Any]) -> Run:
    n = system.nq + system.nv
    events = {name: [(float(t), np.array(x, dtype=float)) for t, x in hits] for name, hits in known["events"].items()}
    p = np.array(known["p"], dtype=float)
    if len(p) != len(system.p_names):
        raise ValueError("parameters of another system")
    return Run(
        system=system,
        p=p,
        t=file.t[part],
        q=file.q[part],
        v=file.v[part],
        u=np.array([file.extra[f"u.{u}"][part] for u in system.u_names])
        .reshape(len(system.u_names), part.stop - part.start)
        .T,
        work={name: file.extra[f"work.{name}"][part] for name in known["works"]},
        margin=file.extra["margin"][part],
        status=Status[known["status"]],
        _message=str(known["message"]),
        remarks=tuple(map(str, known.get("remarks", ()))),
        error=None,
        charts=(),
        t_events={name: np.array([t for t, _ in hits]) for name, hits in events.items()},
        x_events={name: np.array([x for _, x in hits]).reshape(-1, n) for name, hits in events.items()},
        rtol=known["rtol"],
        metric=known["metric"] if isinstance(known["metric"], str) else np.array(known["metric"], dtype=float),
        _met=tuple(_met(m) for m in known["met"]),
        **{name: known["facts"][name] for name in FACTS},
    )


def _met(known: dict[str, Any]) -> Met:
    values: dict[str, Any] = {k: tuple(x) if isinstance(x, list) else x for k, x in known.items()}
    return Met(**values)


def _checked(file: Recording, system: System, path: Any) -> None:
    check_system(file.header, system, path)
    if tuple(file.header.extra) != _columns(system) or list(file.header.parameters) != list(system.p_names):
        raise senseless(path, "head", "its columns or parameters are not those of a run of this system")
    if not np.isfinite(file.t).all() or (np.diff(file.t) < 0.0).any():
        raise senseless(path, "column 't'", "times are not finite, or go back")


def load_phases(file: Recording, system: System, path: Any) -> PhasedRun:
    """The run of a file; one that was cut off is read up to its last whole phase."""
    _checked(file, system, path)
    pieces = Pieces(file, system, path)
    if not pieces.phases:
        raise senseless(path, "note", "it holds no phase")
    p = np.array(list(file.header.parameters.values()), dtype=float)
    status = pieces.last.get("status")
    events = pieces.last.get("events") or {n: [] for n in pieces.last.get("asked", [])}
    if status is None:
        status, message = "INTERRUPTED", f"the recording ends at t = {file.t[-1]:.6g} s: it was cut off there"
    else:
        message = str(pieces.last["message"])
    if status not in Status.__members__:
        raise senseless(path, "note", f"there is no status {status!r}")
    return joined_phases(system, p, pieces.phases, pieces.added, pieces.switches, list(events), Status[status], message)


# --- recordings -----------------------------------------------------------------------------------------------------


def recorded(course: Course, setup: Setup, path: Any, resume: bool) -> PhasedRun:
    """Run a course into a file; `resume` takes up an older one."""
    asked = course.asked
    system = whole_system(asked)
    options = arguments_of_run(setup, asked.span)
    options |= {"switches": of(system, dict(asked.switches)), "stops": repr(asked.changeable.stops)}
    cause = None
    if resume and Path(path).exists():
        recorder, file = Recorder.resumed(path)
        try:
            done, whole = _take_up(course, file, system, path, options)
            recorder.cut(file, whole)
        except BaseException:
            recorder.leave()
            raise
        if done is not None:
            recorder.leave()
            return done
        cause = course.cause
    else:
        recorder = Recorder(path, header_of_run(system, options, _columns(system), asked.p))
    told = len(course.story.switches)

    def keep(here: Course) -> None:
        nonlocal told
        phase = here.phases[-1] if here.phases else None
        if phase is None or len(here.added) <= kept[0]:
            return
        kept[0] = len(here.added)
        new, told = here.story.switches[told:], len(here.story.switches)
        notes = {
            "phase": _phase_notes(phase, here.added[-1]), "switches": _told(new), "course": _position(here),
            "stops": None if asked.changeable.stops is None else list(asdict(asked.changeable.stops).values()),
            "asked": list(asked.events),
        }  # fmt: skip
        recorder.append(phase.t, phase.q, phase.v, _extra(system, phase), notes=notes)

    kept = [len(course.added)]
    try:
        status, message = course.go(keep, cause)
        nothing = np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv))
        last = {
            "status": status.name, "message": message, "switches": _told(course.story.switches[told:]),
            "events": {n: [] for n in asked.events},
        }  # fmt: skip
        recorder.append(*nothing, {n: np.zeros(0) for n in _columns(system)}, notes=last)
        recorder.close()
    finally:
        with suppress(OSError):
            recorder.leave()
    return joined_phases(
        system, asked.p, course.phases, course.added, course.story.switches, list(asked.events), status, message
    )


NUMBERS = ("held_until", "crowd", "crowded_at", "last_step", "steps", "step")


def _position(course: Course) -> dict[str, Any]:
    """Where a course stands after a phase."""
    state = course.state
    return {
        "t": float(state.t), "q": state.q.tolist(), "v": state.v.tolist(), "u": course.u.tolist(),
        "done": sorted(course.done), "cause": None if course.cause is None else list(course.cause),
        "status": course.status.name, "told": asdict(course.story.mode), "turned": course.turned,
        "came": None if course.came is None else [x.tolist() for x in course.came],
        "values": [[*key, np.atleast_1d(x).tolist()] for key, x in course.values.items()],
        **{name: float(getattr(course, name)) for name in NUMBERS},
    }  # fmt: skip


def _take_up(
    course: Course, file: Recording, system: System, path: Any, options: dict[str, str]
) -> tuple[PhasedRun | None, int]:
    """Put a course where its recording has its last whole phase; the run itself where nothing is left to do.

    Also returns how many batches of the file stay.
    """
    _checked(file, system, path)
    if not np.array_equal(list(file.header.parameters.values()), course.asked.p):
        raise FileError(f"'{path}' was recorded with other parameters: {dict(file.header.parameters)}.")
    check_arguments(file.header.options, options, path)
    pieces = Pieces(file, system, path)
    if pieces.phases and not _goes_on(course, pieces, path):
        return load_phases(file, system, path), file.batches
    while pieces.phases and not _is_whole(course, pieces.notes[-1], path):
        pieces.drop()
    if not pieces.phases:
        return None, 0
    try:
        at = pieces.notes[-1]["course"]
        course.phases, course.added = list(pieces.phases), list(pieces.added)
        course.story.switches = list(pieces.switches)
        course.state = system.state(np.array(at["q"]), np.array(at["v"]), float(at["t"]))
        course.state = course.state.replace(v=np.array(at["v"]))
        course.u, course.done = np.array(at["u"], dtype=float), set(at["done"])
        course.cause = None if at["cause"] is None else Cause(*at["cause"])
        course.mode, course.turned = course.added[-1].mode, bool(at["turned"])
        course.came = None if at["came"] is None else (np.array(at["came"][0]), np.array(at["came"][1]))
        course.values = {(a, b): np.array(x) for a, b, x in at["values"]}
        course.story.go_on(course.mode, course.values)
        for name in NUMBERS:
            setattr(course, name, type(getattr(course, name))(at[name]))
    except (KeyError, TypeError, ValueError, DalembertError) as error:
        raise senseless(path, "note", str(error)) from None
    return None, len(pieces.phases)


def _goes_on(course: Course, pieces: Pieces, path: Any) -> bool:
    """Whether there is anything left to do: the run was cut off or interrupted, or its end or most steps are later."""
    try:
        t, end = float(pieces.notes[-1]["course"]["t"]), course.asked.span.end
    except (KeyError, TypeError, ValueError) as error:
        raise senseless(path, "note", str(error)) from None
    check_end(t, end)
    status = pieces.last.get("status")
    if status == Status.STEPS.name:
        return sum(x.steps for x in pieces.phases) < course.asked.choices.max_steps
    return status in (None, Status.INTERRUPTED.name) or (status == Status.DONE.name and t < end)


def _is_whole(course: Course, notes: dict[str, Any], path: Any) -> bool:
    """Whether a phase was ended by a change of the structure."""
    try:
        at, cause = notes["course"], notes["course"]["cause"]
        ended = cause is not None and Cause(*cause).kind == "event" and not course._is_switch(str(cause[1]))
        return at["status"] == Status.EVENT.name and not ended
    except (KeyError, TypeError, IndexError) as error:
        raise senseless(path, "note", str(error)) from None
