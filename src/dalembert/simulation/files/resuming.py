"""The numbers by which a recorded run goes on bit for bit: out of its context, and back.

They come from a file and go into native code: shapes, ranges and signs are checked, sizes are never read from a file.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.charts import LocalChart, restored
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.files import Recording
from dalembert.simulation.files.log import Log
from dalembert.simulation.run.context import Context, place
from dalembert.simulation.run.singularities import follow, go_on_carefully
from dalembert.simulation.stabilization import Baumgarte, Projection
from dalembert.system.system import System

NUMBERS = (
    "clock.carry", "step.h", "step.usual_h", "step.last_error", "clock.sampled_until", "manifold.energy",
    "manifold.chart_margin", "evidence.worst_margin", "evidence.drift", "evidence.speed_drift", "scales.rate",
    "singularity.sigma", "singularity.root", "singularity.root_rate", "singularity.fall", "singularity.fall_t",
    "singularity.risen", "regime.across", "regime.followed",
)  # fmt: skip
NOT_NEGATIVE = (
    "step.h", "step.usual_h", "step.last_error", "evidence.drift", "evidence.speed_drift", "scales.rate",
    "singularity.sigma", "singularity.root", "singularity.risen", "regime.across", "regime.followed",
)  # fmt: skip
COUNTS = (
    "counts.steps", "counts.rejected", "counts.evaluations", "counts.corrections", "counts.samples",
    "counts.careful_steps", "counts.jacobians", "step.fresh", "manifold.projected",
)  # fmt: skip
MOST = 2**53  # of a count
ROUNDING = 1e-12  # of the time: more than rounding ever takes from it


def to_resume(ctx: Context) -> dict[str, np.ndarray]:
    """The numbers by which a run goes on."""
    run = ctx.record
    return {
        "t": np.array([ctx.history.last[0]]),
        "x": run.x,
        "slope": run.stages[0, : run.n],
        "last": ctx.history.last[1],
        "inputs": ctx.inputs.astype(float),
        "numbers": np.array([run.fetch(path) for path in NUMBERS]),
        "counts": np.array([run.fetch(path) for path in COUNTS], dtype=np.int64),
        "event_values": run.event_values.ravel(),
        "rows": np.array([-1] if ctx.rows is None else ctx.rows, dtype=np.int64),
        "careful": np.array([run.regime.careful, int(run.regime.until > 0.0)], dtype=np.int64),
        "low": run.low_before,
    }


def take_up(ctx: Context, file: Recording, log: Log, columns: np.ndarray) -> bool:
    """Put a segment where its recording ends; False where the recording holds nothing to go on from.

    columns: (N, width) states of the recording, with all that stands beside them.
    """
    if not file.resume:
        return False
    system, numbers, run = ctx.system, file.resume, ctx.record
    _check(ctx, numbers, log, file.t)
    nq, n, last, t = system.nq, system.nq + system.nv, numbers["last"], float(numbers["t"][0])
    state = system.state(last[:nq], last[nq:n], t)
    rows = None if numbers["rows"][0] == -1 else tuple(int(k) for k in numbers["rows"])
    taken = restored_charts(system, ctx.setup.p, log, ctx.chart)
    chart = restored(system, ctx.setup.p, log.chart, ctx.chart)
    place(ctx, state, rows, chart, np.zeros(ctx.layout.works))
    ctx.charts = list(taken)
    if numbers["careful"][1]:
        go_on_carefully(ctx, int(numbers["careful"][0]), numbers["low"])
    run.x[:], run.stages[0, : run.n], run.clock.t = numbers["x"], numbers["slope"], t
    for names, values in ((NUMBERS, numbers["numbers"]), (COUNTS, numbers["counts"])):
        for path, value in zip(names, values.tolist()):
            run.store(path, value)
    if ctx.careful is not None:
        follow(ctx, run.regime.followed)
    ctx.inputs[:] = numbers["inputs"]
    run.event_values[:] = numbers["event_values"].reshape(run.event_values.shape)
    ctx.met = list(log.met)
    for name, hits in log.events.items():
        ctx.found[name] = list(hits)
    history = ctx.history
    history.last = history.previous = t, last
    history.taken, history.flushed = t, 1
    history.times, history.columns = [file.t.copy()], [columns]
    return True


def _check(ctx: Context, numbers: dict[str, np.ndarray], log: Log, times: np.ndarray) -> None:
    """Refuse what does not fit this run."""
    run, setup, m = ctx.record, ctx.setup, len(ctx.system.rows.of)
    dof = 0 if log.chart is None else len(log.chart["names"])
    n = run.nq + run.nv + 2 * dof + run.works
    sizes = {
        "t": 1, "x": n, "slope": n, "last": n + run.nu + 1, "inputs": run.nu, "numbers": len(NUMBERS),
        "counts": len(COUNTS), "event_values": 2 * run.events.count, "careful": 2, "low": run.nq,
    }  # fmt: skip
    kinds = {name: np.int64 if name in ("counts", "careful") else np.float64 for name in sizes}
    wrong = [
        k
        for k, size in sizes.items()
        if k not in numbers or numbers[k].shape != (size,) or numbers[k].dtype != kinds[k]
    ]
    _demand(not wrong, ", ".join(wrong))
    rows = numbers.get("rows", np.zeros(0)).tolist()
    _demand(rows == [-1] or (rows == sorted(set(rows)) and len(rows) > 0 and rows[0] >= 0 and rows[-1] < m), "rows")
    known = ctx.chart is None or (log.chart or {}).get("kind") in (ctx.chart.kind, "tangent")
    _demand(log.chart is None or (setup.coordinates is not None and known and 0 < dof <= run.nv), "chart")
    _demand(log.chart is None or not numbers["careful"][1], "careful")  # such steps are in all coordinates
    _demand(set(log.events) <= set(setup.events), "events")
    for name in ("t", "x", "numbers", "low"):
        _demand(bool(np.isfinite(numbers[name]).all()), name)
    _demand(bool(np.isfinite(numbers["last"][: run.nq + run.nv]).all()), "last")
    t, number = float(numbers["t"][0]), dict(zip(NUMBERS, numbers["numbers"].tolist()))
    count = dict(zip(COUNTS, numbers["counts"].tolist()))
    _demand(t >= ctx.span.start.t and (not len(times) or t >= times[-1]), "t")
    _demand(all(number[name] >= 0.0 for name in NOT_NEGATIVE), "numbers")
    _demand(abs(number["clock.carry"]) <= ROUNDING * (abs(t) + number["step.h"]), "carry")
    _demand(
        all(0 <= k <= MOST for k in count.values()) and max(count["step.fresh"], count["manifold.projected"]) <= 1,
        "counts",
    )
    if setup.period > 0.0:
        due = ctx.span.start.t + count["counts.samples"] * setup.period
        near = 1e-6 * setup.period
        _demand(abs(number["clock.sampled_until"] - due) <= near and due >= t - near, "sampled_until")
    check_end(t, ctx.span.end)
    if count["counts.steps"] > setup.max_steps:
        raise ArgumentError(
            f"the recording has {count['counts.steps']} steps already and max_steps is {setup.max_steps}; needed: "
            "more than it has, to go on."
        )


def check_end(t: float, end: float) -> None:
    """Refuse to resume a recording that has come to the time t, beyond the end that is asked for (s)."""
    if t > end:
        raise ArgumentError(
            f"the recording goes to t = {t:.9g} s already, and the end that is asked for is {end:.9g} s; needed: a "
            "later one. Read it with da.read_run."
        )


def _demand(fits: bool, what: str) -> None:
    if not fits:
        raise FileError(
            f"the recording does not fit this run ({what}); it was damaged, or made by another version. Record the run "
            "anew."
        )


def restored_charts(
    system: System, p: np.ndarray, log: Log, original: LocalChart | None = None
) -> tuple[tuple[float, LocalChart | None], ...]:
    """The charts of a run, with the times they were taken at."""
    return tuple((t, restored(system, p, data, original)) for t, data in log.charts)


def resumable(value: Any) -> Any:
    """An option as plain Python numbers, lists and tables: 1e-8 is 1e-8 whichever type it was given in."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):
        return {name: resumable(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(resumable(x) for x in value)
    if isinstance(value, Projection | Baumgarte):
        return replace(value, **{f.name: resumable(getattr(value, f.name)) for f in fields(value)})
    return value
