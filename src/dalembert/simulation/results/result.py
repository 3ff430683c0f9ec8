"""From a segment that has ended to its `Run`, with the sentence about the end."""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.records import filled
from dalembert.simulation.results.failure_reasons import cause, jump, rounded, runs_away
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import Context
from dalembert.simulation.run.dense import DenseSource
from dalembert.simulation.setup import TOTAL_RATES
from dalembert.simulation.status import Status
from dalembert.sources import PACKAGE

#: statuses that a singular position, or a constraint that is not defined, may explain
EXPLAINED = (
    Status.STEP_TOO_SMALL, Status.NOT_FINITE, Status.DRIFTED, Status.STEP_UNSOLVED, Status.BLOCKED,
    Status.TOO_MANY_STEPS,
)  # fmt: skip
IMPLICIT = "; try method='sdirk4'"  # no advice for runs that use it


def result(ctx: Context, status: Status) -> Run:
    """Everything up to now."""
    setup, record, system = ctx.setup, ctx.record, ctx.system
    T, X = ctx.history.whole()
    nq, n, nu = system.nq, system.nq + system.nv, record.nu
    inputs = slice(n + record.works, n + record.works + nu)
    if setup.period > 0.0 and len(X) > 1:  # the first sample was taken after the first record
        X[0, inputs] = X[1, inputs]
    between: DenseSource | None = None
    error: BaseException | None = ctx.trouble
    if status not in (Status.DONE, Status.EVENT):  # beyond the end that was reached, a callback may have raised
        error = _error(ctx, status)
    if ctx.span.samples is None and len(T) > 1 and setup.formulation not in TOTAL_RATES:
        between = DenseSource(ctx.layout, ctx.rows, ctx.span.start)
    fields = {
        "system": system,
        "p": setup.p,
        "t": T,
        "q": X[:, :nq],
        "v": X[:, nq:n],
        "u": X[:, inputs],
        "work": {name: X[:, n + k] for k, name in enumerate(system.work_names)},
        "margin": X[:, -1],
        "status": status,
        "_message": _sentence(ctx, status, error),
        "error": error,
        "steps": record.counts.steps,
        "rejected": record.counts.rejected,
        "evaluations": record.counts.evaluations,
        "corrections": record.counts.corrections,
        "drift": record.evidence.drift,
        "speed_drift": record.evidence.speed_drift,
        "charts": tuple(ctx.charts),
        "rtol": None if setup.method.fixed else setup.rtol,
        "metric": setup.metric,
        "t_events": {name: np.array([when for when, _ in hits]) for name, hits in ctx.found.items()},
        "x_events": {name: np.array([x for _, x in hits]).reshape(-1, n) for name, hits in ctx.found.items()},
        "_met": tuple(ctx.met),
        "_between": between,
        "remarks": _remarks(ctx),
        "phases": (),
        "switches": (),
    }
    return filled(Run, fields)


def _remarks(ctx: Context) -> tuple[str, ...]:
    """Sentences of the controller, and on a time or a coordinate that limits the accuracy instead of the tolerances."""
    record, setup = ctx.record, ctx.setup
    own = () if ctx.layout.controller is None else ctx.layout.controller.remarks
    asked = max(setup.rtol, setup.atol)
    if setup.method.fixed or not record.scales.rounding > asked:
        return own
    rate = record.scales.rate if record.ode.time_index >= 0 or record.control.address else 0.0
    limit = rounded(ctx.system, ctx.state(), setup.p, rate, asked)
    return (*own, limit) if limit else own


def _error(ctx: Context, status: Status) -> BaseException | None:
    """The exception of a callback, or of the run itself."""
    for callback in ctx.layout.callbacks:
        if callback.error is not None:
            return callback.error
    return ctx.trouble or (_not_finite(ctx) if status == Status.CALLBACK else None)


def _not_finite(ctx: Context) -> ArgumentError | None:
    """The error of a controller or event whose last answer is not finite: which one, and when."""
    run = ctx.record
    for what, names, f in (
        ("controller", ctx.system.u_names, run.control),
        ("event", list(ctx.setup.events), run.watch),
    ):
        values = f.y[: len(names)] if f.address else np.zeros(0)
        bad = [f"{value:g} for '{name}'" for name, value in zip(names, values) if not np.isfinite(value)]
        if bad:
            asked = f" (asked at t = {f.x[f.time_index]:.6g} s)" if f.time_index >= 0 else ""
            return ArgumentError(f"the {what} returned {', '.join(bad)}, which is no finite number{asked}")
    return None


def _sentence(ctx: Context, status: Status, error: BaseException | None) -> str:
    t = ctx.record.clock.t
    if status == Status.DONE:
        return status.sentence
    if status == Status.EVENT:
        return f"at t = {t:.6g} s event '{list(ctx.setup.events)[ctx.ended_by]}' ended the run"
    if status == Status.CALLBACK:
        for what, callback in (("controller", ctx.layout.controller), ("event", ctx.layout.watcher)):
            if callback is not None and callback.error is not None:
                return f"at t = {t:.6g} s the {what} raised {_described(callback.error)}"
        if error is not None:
            return f"at t = {t:.6g} s {error}"
    why = ctx.why if error is None else str(error)
    if status in EXPLAINED and (not why or status == Status.TOO_MANY_STEPS):
        why = "; ".join(filter(None, (why, _cause(ctx))))
    verdict = _verdict(ctx) if status in EXPLAINED or status == Status.STEPS else ""
    sentence = status.sentence.replace(IMPLICIT, "") if ctx.setup.method.implicit else status.sentence
    return f"at t = {t:.6g} s {sentence}{f': {why}' if why else ''}{verdict}"


def _cause(ctx: Context) -> str:
    """What explains the end of a run: a singular position, an undefined constraint, or a motion that runs away."""
    system, p, usual = ctx.system, ctx.setup.p, ctx.layout.equations.usual_rank(ctx.rows)
    found = cause(system, ctx.state(), p, usual, ctx.inputs)
    T, X = ctx.history.whole()
    V = X[:, system.nq : system.nq + system.nv]
    if not found and ctx.setup.method.fixed and len(T) > 1:  # steps of a given length may have passed what explains it
        k = jump(system, V, p)
        found = cause(system, system.state(X[k, : system.nq], V[k], T[k]), p, usual, ctx.inputs)
        found = f"at t = {T[k]:.6g} s {found}" if found else ""
    found = found or runs_away(system, T, V, p)
    return found or rounded(system, ctx.state(), p, ctx.record.scales.rate, ctx.setup.atol)


def _verdict(ctx: Context) -> str:
    """What the controller of a run that ended early reports of its task there, where it does not reach it."""
    explain = getattr(ctx.setup.controller, "explain", None)
    if explain is None or not np.isfinite(ctx.state().q).all():
        return ""
    try:
        found = explain(ctx.record.clock.t, ctx.state())
        return "" if found.success else f"; of its controller: {found.message}"
    except Exception:  # a verdict that cannot be given is no reason to lose the run
        return ""


def _described(error: BaseException) -> str:
    """Kind, text and place, in the user's code, of an exception."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if PACKAGE not in Path(f.filename).parents]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
