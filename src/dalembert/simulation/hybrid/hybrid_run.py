"""A hybrid run: segments with transitions between them.

x, m ← the mode at the start
repeat
    x⁻, cause ← a segment from x in mode m, to the end or to its first guard or event
    if the run ends there: return
    x, m ← transition(x⁻, m, cause)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, CompileError, DalembertError
from dalembert.rank import massless
from dalembert.simulation.hybrid.guards import overdue
from dalembert.simulation.hybrid.instantaneous import NO_MASS, Instant
from dalembert.simulation.hybrid.mode import HybridMode
from dalembert.simulation.hybrid.mode_layout import ModeLayout
from dalembert.simulation.hybrid.mode_record import ModeRecord
from dalembert.simulation.hybrid.problem import RECORDS, HybridProblem
from dalembert.simulation.hybrid.rest import stay
from dalembert.simulation.hybrid.scales import CLOSED, HybridScales
from dalembert.simulation.hybrid.state import HybridState, directions
from dalembert.simulation.hybrid.stiffness import is_stiff
from dalembert.simulation.hybrid.switch import Switch, Switched
from dalembert.simulation.hybrid.switching import Switching, due_now, switching
from dalembert.simulation.hybrid.transition import transition
from dalembert.simulation.results.result import result
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import Context, lay_out, take_records
from dalembert.simulation.run.interrupt import Interrupt
from dalembert.simulation.run.record_pool import give_back
from dalembert.simulation.run.segment import Cause, Segment, SegmentEnd
from dalembert.simulation.run.singularities import branch
from dalembert.simulation.run.stepping import begin, integrate
from dalembert.simulation.setup import Span
from dalembert.simulation.status import Ended, Status
from dalembert.system.state import State

CROWD = 60  # changes at one time, or in one singular position: more lead nowhere
LOST = (Status.BLOCKED, Status.NOT_FINITE, Status.STEP_TOO_SMALL)  # where accelerations may have no bounds
GAIN = 10.0  # times explicit steps: shorter implicit ones, which cost more, are not worth it
IMPLICIT_FAILS = (Status.STEP_TOO_SMALL, Status.STEP_UNSOLVED)  # of steps of a stiff segment, whose equations bend
CREEP = 1e-6  # over the rate of the motion: changes within this time are at one time; the shortest bounces are longer


@dataclass(frozen=True, eq=False)
class PhaseEnergy:
    """Energy besides a segment's records, J: what the change before it added, and what was done in all of it."""

    gained: float
    works: Mapping[str, float]
    mode: HybridMode


@dataclass(eq=False)
class HybridRun:
    """A run under way: where it is, and what is known of it so far."""

    problem: HybridProblem
    span: Span
    state: HybridState
    phases: list[Run] = field(default_factory=list)
    energies: list[PhaseEnergy] = field(default_factory=list)  # of each phase
    changes: list[Switched] = field(default_factory=list)
    expected: tuple[Switched, ...] = ()  # changes that count if a segment follows
    gained: float = 0.0  # J, by changes since the last segment
    remarks: tuple[str, ...] = ()  # on the segment that begins
    steps: int = 0
    status: Status = Status.DONE  # of the last segment
    cause: Cause | None = None  # of its end
    left: State | None = None  # x⁻, from which the last transition led
    layouts: dict[Any, ModeLayout] = field(default_factory=dict)  # of its modes
    context: Context | None = None  # of the segment under way
    record: ModeRecord | None = None  # of native code, for all segments
    interrupt: Interrupt = field(default_factory=Interrupt)

    @staticmethod
    def of(problem: HybridProblem, span: Span) -> HybridRun:
        """A run before its start."""
        mode = HybridMode(tuple(c.name for c in problem.changeable.base.description.constraints))
        return HybridRun(problem, span, HybridState(span.start, span.u.copy(), mode, held_until=span.start.t))

    def stop(self) -> None:
        """Ask the run to end where it is, from another thread."""
        self.interrupt.stop()

    @property
    def t(self) -> float:
        """How far it has come, s."""
        return float(self.state.x.t if self.context is None else self.context.record.clock.t)

    @property
    def zero(self) -> list[str]:
        """Events of the user and of switches that are zero where the last segment ended."""
        last = self.phases[-1].t_events if self.phases else {}
        return [n for n in self.problem.events(self.state) if len(last.get(n, ())) and last[n][-1] == self.state.x.t]


def go(run: HybridRun, keep: Callable[[HybridRun], None] | None = None) -> tuple[Status, str]:
    """To the end, or as far as it goes; the status and the sentence about it. keep: called after every segment."""
    with run.interrupt:
        return _go(run, keep)


def _go(run: HybridRun, keep: Callable[[HybridRun], None] | None) -> tuple[Status, str]:
    problem = run.problem
    try:
        at = Instant(problem.changeable, run.span.start, run.span.u, problem.setup.p)
        scales = HybridScales.of(at, problem.choices)
        if run.phases:
            _transit(run, scales)
        else:
            _start(run, scales, at)
        while True:
            run.status, run.cause = _segment(run)
            if keep is not None:
                keep(run)
            if run.status in LOST and (name := massless(problem.changeable.base, run.state.x, problem.setup.p)):
                raise Ended(Status.NOT_FINITE, NO_MASS.format(f"velocity '{name}' moves no mass here"))
            if is_over(run):
                return run.status, run.phases[-1]._message if run.phases else ""
            _transit(run, scales)
    except Ended as ended:
        run.changes += ended.changes
        if not run.phases:
            _start_only(run, ended.status)
        return ended.status, f"at t = {run.state.x.t:.6g} s {ended.status.sentence}: {ended.why}"
    except DalembertError as error:  # a later segment that cannot begin: what was computed is kept
        if not run.phases:
            raise
        status = Status.NOT_COMPILED if isinstance(error, CompileError) else Status.DRIFTED
        run.phases[-1] = replace(run.phases[-1], error=error)
        run.changes += run.expected
        return status, f"at t = {run.state.x.t:.6g} s {status.sentence}: {error}"
    finally:
        if run.record is not None and len(problem.records) < RECORDS:
            problem.records.append(run.record)
        run.record = None


def is_over(run: HybridRun) -> bool:
    """Whether the run ends where its last segment did: at its end, by an event of the user, or in trouble."""
    if run.status == Status.DONE:
        return run.state.x.t >= run.span.end
    by_user = run.cause is not None and run.cause.kind == "event" and not run.problem.is_switch(run.cause.of)
    return run.status != Status.EVENT or by_user


# --- segments -------------------------------------------------------------------------------------------------------


def _segment(run: HybridRun) -> tuple[Status, Cause | None]:
    """A segment from where the run is: its status, and the cause of its end."""
    segment = _next(run)
    ctx = run.context = lay_out(segment)
    begin(ctx)
    if run.cause is not None and (run.problem.switches or run.problem.setup.events):
        _pass_over(ctx, run)
    at_once = overdue(ctx.layout.guards, ctx.record.event_values[0], run.cause)
    if at_once is not None and run.state.crowd < CROWD - 2:  # not a segment at all
        run.expected = ()
        _give_back(ctx)
        return Status.EVENT, at_once
    was_stiff, t = run.state.stiff > 0.0, run.t
    end = _ended(ctx, integrate(ctx) if segment.rest is None else stay(ctx))
    _give_back(ctx)
    _add(run, end)
    if was_stiff and end.status in IMPLICIT_FAILS and end.state.t > t:
        run.state = replace(run.state, stiff=-1.0)
        return Status.EVENT, None  # explicit steps again
    most = run.problem.choices.max_steps
    if run.steps >= most and end.status in (Status.EVENT, Status.DONE) and end.state.t < run.span.end:
        return Status.STEPS, end.cause
    return end.status, end.cause


def _give_back(ctx: Context) -> None:
    """Keep the record of a segment that has one of its own."""
    if ctx.modes is None:
        give_back(ctx.layout, ctx.spare)


def _next(run: HybridRun) -> Segment:
    """The segment that begins where the run is; a mechanism that rests has no velocity."""
    problem, span, s = run.problem, run.span, run.state
    arrival = None if s.branch is None else problem.arrival(s)
    rest = None if arrival is None else problem.rest(s, arrival)
    if s.locked:
        rest = problem.locked(s)
    elif rest is not None:
        s = run.state = replace(s, x=rest.instant.state)
    times = [t for switch in problem.switches.values() if switch.at is not None for t in switch.at]
    end = min((t for t in times if s.x.t < t <= span.end), default=span.end)
    samples = span.samples
    if samples is not None:
        samples = samples[(samples >= s.x.t) & (samples <= end)]
    sampling = (span.start.t, s.held_until) if problem.setup.period > 0.0 else None
    layout = problem.layout(s, run.layouts)
    if run.record is None and s.stiff <= 0.0:
        run.record = problem.record(layout)
    record, stiff = run.record, None
    if s.stiff > 0.0:  # the method is left again where it gains nothing
        record, stiff = None, lambda ctx, h: h < GAIN * s.stiff
    elif record is not None and not problem.choices.method.fixed and s.stiff == 0.0:
        stiff = is_stiff if any(how == "slides" for _, how in s.mode.touching) else None
    kept = Span(s.x, end, samples, s.u)
    return Segment(layout, kept, not run.phases, arrival, s.step, sampling, rest, record, stiff, run.interrupt)


def _pass_over(ctx: Context, run: HybridRun) -> None:
    """Events that ended the last segment, in x⁻, are not met again at once.

    Their roots are known to rounding, so that they may seem to lie ahead. An event that the change moved counts anew.
    """
    record, names = ctx.record, list(ctx.setup.events)
    assert run.left is not None
    for event in run.zero:
        k = names.index(event)
        here = record.event_values[0, k]
        there = record.watch.at(record.clock.t, np.concatenate([run.left.q, run.left.v]))[k]
        if abs(here - there) <= 1e-6 * abs(there):
            record.event_values[:, k] = 0.0


def _ended(ctx: Context, status: Status) -> SegmentEnd:
    """How a segment ended."""
    k, guards, names, record = ctx.ended_by, ctx.layout.guards, list(ctx.setup.events), ctx.record
    cause = None if k < 0 else guards[k] if k < len(guards) else Cause("event", names[k])
    return SegmentEnd(
        state=ctx.state(),
        u=ctx.inputs.astype(float),
        status=status,
        cause=cause,
        branch=None if cause is None or ctx.arrival is None else branch(ctx),
        works=dict(zip(ctx.system.work_names, ctx.work.tolist())),
        held_until=record.clock.sampled_until,
        step=record.step.usual_h,
        was_singular=ctx.was_singular,
        stiff=ctx.stiff,
        records=result(ctx, status),
    )


def _add(run: HybridRun, end: SegmentEnd) -> None:
    """Add a segment that has ended to the run, which is at x⁻ now."""
    s, phase = run.state, end.records
    if run.remarks:
        phase = replace(phase, remarks=(*run.remarks, *phase.remarks))
    if run.span.samples is not None and end.state.t < run.span.end:
        phase = some_records(phase, phase.t < end.state.t)  # that at its end is the first of the next one
    run.phases.append(phase)
    run.energies.append(PhaseEnergy(run.gained, end.works, s.mode))
    run.changes += run.expected
    run.remarks, run.expected, run.gained, run.steps = (), (), 0.0, run.steps + phase.steps
    run.state = replace(
        s, x=end.state, u=end.u, followed=s.mode, directions=directions(s.numbers), held_until=end.held_until,
        usual_step=end.step, was_singular=end.was_singular,
        stiff=-1.0 if s.stiff > 0.0 and end.stiff > 0.0 else end.stiff,
        branch=s.branch if end.branch is None else (end.state.q, end.branch),
    )  # fmt: skip


def _start_only(run: HybridRun, status: Status) -> None:
    """A phase of one state, the start, of a run that cannot begin."""
    run.state = replace(run.state, numbers={})
    layout = run.problem.layout(run.state, run.layouts)
    ctx = lay_out(Segment(layout, Span(run.state.x, run.span.end, None, run.state.u)))
    begin(ctx)
    take_records(ctx)
    run.phases.append(result(ctx, status))
    run.energies.append(PhaseEnergy(run.gained, {}, run.state.mode))


def some_records(phase: Run, kept: np.ndarray) -> Run:
    """A phase with some of its records; kept: (N,) bool."""
    work = {name: w[kept] for name, w in phase.work.items()}
    rows = {name: getattr(phase, name)[kept] for name in ("t", "q", "v", "u", "margin")}
    return replace(phase, work=work, **rows)


# --- transitions ----------------------------------------------------------------------------------------------------


def _start(run: HybridRun, scales: HybridScales, at: Instant) -> None:
    """The mode that the run starts in."""
    for name in at.changeable.contacts:
        gap = float(at.phi[at.gap_row[name]])
        if gap < -1e3 * CLOSED * scales.unit(name):
            away = f"{-gap:.4g} {scales.unit_name(name)}"
            raise ArgumentError(f"the start is beyond '{name}' by {away}; needed: a start on its other side.")
    due = due_now(run.problem, run.state, None, ()) if run.problem.switches else {}
    _change(run, scales, due, begins=True)
    s = run.state
    run.state = replace(s, followed=s.mode, directions=directions(s.numbers))


def _transit(run: HybridRun, scales: HybridScales) -> None:
    """From the end of a segment to the start of the next."""
    run.interrupt.watch()
    s, cause = run.state, run.cause
    t, run.left = s.x.t, s.x
    creeps = t - s.crowded_from <= CREEP / (scales.rate or 1.0) + 1e-13 * max(1.0, abs(t))
    if creeps or s.was_singular:
        s = run.state = replace(s, crowd=s.crowd + 1)
    else:
        s = run.state = replace(s, crowd=0, crowded_from=t)
    if s.crowd > CROWD:
        where = ", in a singular position" if s.was_singular else ""
        when = "at this time" if t == s.crowded_from or s.was_singular else f"within {t - s.crowded_from:.2g} s"
        raise Ended(Status.CHATTERING, f"{CROWD} changes {when}{where}, the last of '{cause.of if cause else ''}'")
    if cause is not None and cause.kind == "jams":
        sliding = ", ".join(n for n, how in s.mode.touching if how == "slides")
        raise Ended(
            Status.NO_FORCES,
            f"what slides ({sliding}) has come to where its friction leaves open how it presses (Painlevé's "
            "singular point): the motion after it is not determined",
        )
    due = due_now(run.problem, s, cause, run.zero) if run.problem.switches else {}
    if due:
        run.state = replace(s, done=s.done.union(due))
    _change(run, scales, due)


def _change(run: HybridRun, scales: HybridScales, due: Mapping[str, Switch], begins: bool = False) -> None:
    """Switches that are due, and the transition; a controller that wants to know is told which constraints hold."""
    problem, s, switched = run.problem, run.state, Switching(run.state.mode.held)
    if due:
        switched = switching(problem, s, due, run.changes, scales.length)
        s = replace(s, done=s.done.difference(switched.bounced))
    if problem.switches:
        problem.tell_controller(s.x.t, switched.held)
    found = transition(problem, scales, s, switched, run.cause, begins)
    run.state, run.expected = found.after, found.expected
    run.changes += found.changes
    run.remarks += found.remarks
    run.gained += found.gained
