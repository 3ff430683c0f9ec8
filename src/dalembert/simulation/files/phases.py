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

from dalembert.disk.atomic import replacing
from dalembert.disk.lock import nobody_writes
from dalembert.errors import DalembertError, FileError
from dalembert.mechanism.contacts.stop import Stops
from dalembert.simulation.files import Recorder, Recording, check_system, header_of_run
from dalembert.simulation.files.arguments import arguments_of_run, check_arguments, of
from dalembert.simulation.files.format import senseless
from dalembert.simulation.files.log import FACTS
from dalembert.simulation.files.resuming import check_end
from dalembert.simulation.hybrid.hybrid_run import HybridRun, PhaseEnergy, go
from dalembert.simulation.hybrid.mode import Changeable, HybridMode
from dalembert.simulation.hybrid.phase_system import PhaseSystem
from dalembert.simulation.hybrid.state import HybridState, directions
from dalembert.simulation.hybrid.switch import Switched
from dalembert.simulation.results.phased_run import PhasedRun, joined, joined_phases
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.segment import Cause
from dalembert.simulation.singular.passages import Met
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
            notes = {"phase": _phase_notes(phase, run._energies[k]), "stops": _stops(run)}
            recorder.append(phase.t, phase.q, phase.v, _extra(run.system, phase), notes=notes)
        events = {n: [[float(t), x.tolist()] for t, x in zip(run.t_events[n], run.x_events[n])] for n in run.t_events}
        nothing = np.zeros(0), np.zeros((0, run.system.nq)), np.zeros((0, run.system.nv))
        last = {"status": run.status.name, "message": run._message, "switches": _listed(run.switches), "events": events}
        recorder.append(*nothing, {n: np.zeros(0) for n in header.extra}, notes=last)


def _extra(system: System, phase: Run) -> dict[str, np.ndarray]:
    zero = np.zeros(len(phase.t))
    works = {f"work.{n}": phase.work.get(n, zero) for n in (*WORKS, "impacts")}
    return {**works, **{f"u.{n}": phase.u[:, k] for k, n in enumerate(system.u_names)}, "margin": phase.margin}


def _phase_notes(phase: Run, energy: PhaseEnergy) -> dict[str, Any]:
    return {
        "mode": asdict(energy.mode),
        "p": phase.p.tolist(),
        "works": list(phase.work),
        "added": [energy.gained, dict(energy.works)],
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


def _listed(switches: Any) -> list[dict[str, Any]]:
    return [
        {**{n: getattr(s, n) for n in ("t", "what", "kind", "of", "lost", "note")}, "impulse": dict(s.impulse),
         "v_before": s.v_before.tolist(), "v_after": s.v_after.tolist()}
        for s in switches
    ]  # fmt: skip


# --- reading --------------------------------------------------------------------------------------------------------


class Pieces:
    """The phases of a file, and what it says of the run."""

    def __init__(self, file: Recording, system: System, path: Any):
        self.phases: list[Run] = []
        self.energies: list[PhaseEnergy] = []
        self.switches: list[Switched] = []
        self.last: dict[str, Any] = {}
        self.notes: list[dict[str, Any]] = []  # of each phase
        try:
            self._read(file, system)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, DalembertError) as error:
            raise senseless(path, "note", f"{type(error).__name__}: {error}") from None

    def _read(self, file: Recording, system: System) -> None:
        start = 0
        made: dict[HybridMode, PhaseSystem] = {}
        for notes, rows in zip(file.all_notes, file.sizes):
            self.last = dict(notes)
            if "switches" in notes:
                self.switches += [_switched(x, system.nv) for x in notes["switches"]]
            if "phase" not in notes:
                continue
            part, known = slice(start, start + rows), notes["phase"]
            start += rows
            mode = HybridMode(
                tuple(known["mode"]["held"]),
                tuple((str(a), str(b)) for a, b in known["mode"]["touching"]),
                *(tuple(known["mode"].get(name, ())) for name in ("sticking", "shared", "waiting", "given")),
            )
            if not made:
                stops = notes.get("stops")
                changeable = Changeable.of(system, None if stops is None else Stops(*stops))
            if mode not in made:
                made[mode] = PhaseSystem.of(changeable, mode)
            self.notes.append(notes)
            self.energies.append(PhaseEnergy(float(known["added"][0]), dict(known["added"][1]), mode))
            self.phases.append(_phase(file, made[mode], part, known))

    def drop(self) -> None:
        """Forget the last phase, and what happened after it."""
        self.phases.pop()
        self.energies.pop()
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
    return joined_phases(
        system, p, pieces.phases, pieces.energies, pieces.switches, list(events), Status[status], message
    )


# --- recordings -----------------------------------------------------------------------------------------------------


def recorded(run: HybridRun, path: Any, resume: bool) -> PhasedRun:
    """Run into a file; `resume` takes up an older one."""
    problem, system = run.problem, run.problem.whole
    options = arguments_of_run(problem.setup, run.span)
    options |= {"switches": of(system, dict(problem.switches)), "stops": repr(problem.changeable.stops)}
    if resume and Path(path).exists():
        recorder, file = Recorder.resumed(path)
        try:
            done, whole = _take_up(run, file, system, path, options)
            recorder.cut(file, whole)
        except BaseException:
            recorder.leave()
            raise
        if done is not None:
            recorder.leave()
            return done
    else:
        recorder = Recorder(path, header_of_run(system, options, _columns(system), problem.setup.p))
    written = [len(run.phases), len(run.changes)]

    def keep(run: HybridRun) -> None:
        if len(run.phases) > written[0]:
            phase, stops = run.phases[-1], problem.changeable.stops
            notes = {
                "phase": _phase_notes(phase, run.energies[-1]), "switches": _listed(run.changes[written[1] :]),
                "state": _position(run), "asked": list(problem.setup.events),
                "stops": None if stops is None else list(asdict(stops).values()),
            }  # fmt: skip
            written[:] = len(run.phases), len(run.changes)
            recorder.append(phase.t, phase.q, phase.v, _extra(system, phase), notes=notes)

    try:
        status, message = go(run, keep)
        nothing = np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nv))
        last = {
            "status": status.name, "message": message, "switches": _listed(run.changes[written[1] :]),
            "events": {n: [] for n in problem.setup.events},
        }  # fmt: skip
        recorder.append(*nothing, {n: np.zeros(0) for n in _columns(system)}, notes=last)
        recorder.close()
    finally:
        with suppress(OSError):
            recorder.leave()
    return joined(run, status, message)


NUMBERS = ("held_until", "crowd", "crowded_from", "usual_step", "step", "locked", "stiff")


def _position(run: HybridRun) -> dict[str, Any]:
    """Where a run is after a segment."""
    s = run.state
    return {
        "t": float(s.x.t), "q": s.x.q.tolist(), "v": s.x.v.tolist(), "u": s.u.tolist(), "done": sorted(s.done),
        "cause": None if run.cause is None else list(run.cause), "status": run.status.name,
        "was_singular": s.was_singular, "steps": run.steps,
        "branch": None if s.branch is None else [x.tolist() for x in s.branch],
        "numbers": [[*key, np.atleast_1d(x).tolist()] for key, x in s.numbers.items()],
        **{name: float(getattr(s, name)) for name in NUMBERS},
    }  # fmt: skip


def _take_up(
    run: HybridRun, file: Recording, system: System, path: Any, options: dict[str, str]
) -> tuple[PhasedRun | None, int]:
    """Put a run where its recording has its last whole phase; the run itself where nothing is left to do.

    Also returns how many batches of the file stay.
    """
    _checked(file, system, path)
    if not np.array_equal(list(file.header.parameters.values()), run.problem.setup.p):
        raise FileError(f"'{path}' was recorded with other parameters: {dict(file.header.parameters)}.")
    check_arguments(file.header.options, options, path)
    pieces = Pieces(file, system, path)
    if pieces.phases and not _goes_on(run, pieces, path):
        return load_phases(file, system, path), file.batches
    while pieces.phases and not _is_whole(run, pieces.notes[-1], path):
        pieces.drop()
    if not pieces.phases:
        return None, 0
    try:
        at = pieces.notes[-1]["state"]
        run.phases, run.energies, run.changes = list(pieces.phases), list(pieces.energies), list(pieces.switches)
        run.cause, run.steps = None if at["cause"] is None else Cause(*at["cause"]), int(at["steps"])
        x = system.state(np.array(at["q"]), np.array(at["v"]), float(at["t"])).replace(v=np.array(at["v"]))
        mode, numbers = run.energies[-1].mode, {(a, b): np.array(x) for a, b, x in at["numbers"]}
        run.state = HybridState(
            x, np.array(at["u"], dtype=float), mode, numbers, frozenset(at["done"]), mode, directions(numbers),
            None if at["branch"] is None else (np.array(at["branch"][0]), np.array(at["branch"][1])),
            bool(at["was_singular"]),
            **{name: type(getattr(run.state, name))(at[name]) for name in NUMBERS},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, DalembertError) as error:
        raise senseless(path, "note", str(error)) from None
    return None, len(pieces.phases)


def _goes_on(run: HybridRun, pieces: Pieces, path: Any) -> bool:
    """Whether there is anything left to do: the run was cut off or interrupted, or its end or most steps are later."""
    try:
        t, end = float(pieces.notes[-1]["state"]["t"]), run.span.end
    except (KeyError, TypeError, ValueError) as error:
        raise senseless(path, "note", str(error)) from None
    check_end(t, end)
    status = pieces.last.get("status")
    if status == Status.STEPS.name:
        return sum(x.steps for x in pieces.phases) < run.problem.choices.max_steps
    return status in (None, Status.INTERRUPTED.name) or (status == Status.DONE.name and t < end)


def _is_whole(run: HybridRun, notes: dict[str, Any], path: Any) -> bool:
    """Whether a phase was ended by a change of the structure."""
    try:
        at, cause = notes["state"], notes["state"]["cause"]
        ended = cause is not None and Cause(*cause).kind == "event" and not run.problem.is_switch(str(cause[1]))
        return at["status"] == Status.EVENT.name and not ended
    except (KeyError, TypeError, IndexError) as error:
        raise senseless(path, "note", str(error)) from None
