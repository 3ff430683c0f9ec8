"""The numbers by which a recorded run goes on bit for bit: out of its driver, and back.

They come from a file and go into native code: shapes, ranges and signs are checked, sizes are never read from a file.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.charts import LocalChart, restored
from dalembert.errors import ArgumentError, FileError
from dalembert.simulation.driver import Driver
from dalembert.simulation.files import Recording
from dalembert.simulation.notes import Story
from dalembert.simulation.stabilization import Baumgarte, Projection
from dalembert.system.system import System

NUMBERS = (
    "carry", "h", "usual_h", "last_error", "sampled_until", "energy", "chart_margin", "worst_margin", "drift",
    "speed_drift", "rate", "sigma", "root", "root_rate", "fall", "fall_t", "risen",
)  # fmt: skip
NOT_NEGATIVE = ("h", "usual_h", "last_error", "drift", "speed_drift", "rate", "sigma", "root", "risen")
COUNTS = (
    "steps", "rejected", "evaluations", "corrections", "samples", "singular_steps", "jacobians", "fresh", "landed",
)  # fmt: skip
MOST = 2**53  # of a count
ROUNDING = 1e-12  # of the time: more than rounding ever takes from it


def to_resume(driver: Driver) -> dict[str, np.ndarray]:
    """The numbers by which a run goes on."""
    run = driver.record
    return {
        "t": np.array([driver.history.last[0]]),
        "x": run.x,
        "slope": run.stages[0, : run.n],
        "last": driver.history.last[1],
        "inputs": driver.inputs.astype(float),
        "numbers": np.array([getattr(run, name) for name in NUMBERS]),
        "counts": np.array([getattr(run, name) for name in COUNTS], dtype=np.int64),
        "event_values": run.event_values.ravel(),
        "rows": np.array([-1] if driver.rows is None else driver.rows, dtype=np.int64),
        "careful": np.array([run.singular, int(run.until > 0.0)], dtype=np.int64),
        "low": run.low_before,
    }


def take_up(driver: Driver, file: Recording, story: Story, columns: np.ndarray) -> bool:
    """Put a driver where its recording ends; False where the recording holds nothing to go on from.

    columns: (N, width) states of the recording, with all that stands beside them.
    """
    if not file.resume:
        return False
    system, kept, run = driver.system, file.resume, driver.record
    _check(driver, kept, story, file.t)
    nq, n, last, t = system.nq, system.nq + system.nv, kept["last"], float(kept["t"][0])
    state = system.state(last[:nq], last[nq:n], t)
    rows = None if kept["rows"][0] == -1 else tuple(int(k) for k in kept["rows"])
    taken = restored_charts(system, driver.setup.p, story, driver.chart)
    driver.place(
        state, rows, restored(system, driver.setup.p, story.chart, driver.chart), np.zeros(driver.layout.works)
    )
    driver.charts = list(taken)
    if kept["careful"][1]:
        driver.go_on_carefully(bool(kept["careful"][0]), kept["low"])
    run.x[:], run.stages[0, : run.n], run.t = kept["x"], kept["slope"], t
    for names, values in ((NUMBERS, kept["numbers"]), (COUNTS, kept["counts"])):
        for name, value in zip(names, values.tolist()):
            setattr(run, name, value)
    driver.inputs[:] = kept["inputs"]
    run.event_values[:] = kept["event_values"].reshape(run.event_values.shape)
    driver.met = list(story.met)
    for name, hits in story.events.items():
        driver.found[name] = list(hits)
    history = driver.history
    history.last = history.previous = t, last
    history.taken, history.flushed = t, 1
    history.times, history.columns = [file.t.copy()], [columns]
    return True


def _check(driver: Driver, kept: dict[str, np.ndarray], story: Story, times: np.ndarray) -> None:
    """Refuse what does not fit this run."""
    run, setup, m = driver.record, driver.setup, len(driver.system.rows.of)
    dof = 0 if story.chart is None else len(story.chart["names"])
    n = run.nq + run.nv + 2 * dof + run.works
    sizes = {
        "t": 1, "x": n, "slope": n, "last": n + run.nu + 1, "inputs": run.nu, "numbers": len(NUMBERS),
        "counts": len(COUNTS), "event_values": 2 * run.events, "careful": 2, "low": run.nq,
    }  # fmt: skip
    kinds = {name: np.int64 if name in ("counts", "careful") else np.float64 for name in sizes}
    wrong = [k for k, size in sizes.items() if k not in kept or kept[k].shape != (size,) or kept[k].dtype != kinds[k]]
    _demand(not wrong, ", ".join(wrong))
    rows = kept.get("rows", np.zeros(0)).tolist()
    _demand(rows == [-1] or (rows == sorted(set(rows)) and len(rows) > 0 and rows[0] >= 0 and rows[-1] < m), "rows")
    known = driver.chart is None or (story.chart or {}).get("kind") in (driver.chart.kind, "tangent")
    _demand(story.chart is None or (setup.coordinates is not None and known and 0 < dof <= run.nv), "chart")
    _demand(story.chart is None or not kept["careful"][1], "careful")  # such steps are in all coordinates
    _demand(set(story.events) <= set(setup.events), "events")
    for name in ("t", "x", "numbers", "low"):
        _demand(bool(np.isfinite(kept[name]).all()), name)
    _demand(bool(np.isfinite(kept["last"][: run.nq + run.nv]).all()), "last")
    t, number = float(kept["t"][0]), dict(zip(NUMBERS, kept["numbers"].tolist()))
    count = dict(zip(COUNTS, kept["counts"].tolist()))
    _demand(t >= driver.span.start.t and (not len(times) or t >= times[-1]), "t")
    _demand(all(number[name] >= 0.0 for name in NOT_NEGATIVE), "numbers")
    _demand(abs(number["carry"]) <= ROUNDING * (abs(t) + number["h"]), "carry")
    _demand(all(0 <= k <= MOST for k in count.values()) and max(count["fresh"], count["landed"]) <= 1, "counts")
    if setup.hold > 0.0:
        due = driver.span.start.t + count["samples"] * setup.hold
        near = 1e-6 * setup.hold
        _demand(abs(number["sampled_until"] - due) <= near and due >= t - near, "sampled_until")
    check_end(t, driver.span.end)
    if count["steps"] > setup.max_steps:
        raise ArgumentError(
            f"the recording has {count['steps']} steps already and max_steps is {setup.max_steps}; needed: more than "
            "it has, to go on."
        )


def check_end(t: float, end: float) -> None:
    """Refuse to resume a recording that has come to the time t, beyond the end that is asked for (s)."""
    if t > end:
        raise ArgumentError(
            f"the recording goes to t = {t:.9g} s already, and the end that is asked for is {end:.9g} s; needed: a "
            "later one. Read it with da.load."
        )


def _demand(fits: bool, what: str) -> None:
    if not fits:
        raise FileError(
            f"the recording does not fit this run ({what}); it was damaged, or made by another version. Record the run "
            "anew."
        )


def restored_charts(
    system: System, p: np.ndarray, story: Story, original: LocalChart | None = None
) -> tuple[tuple[float, LocalChart | None], ...]:
    """The charts of a run, with the times they were taken at."""
    return tuple((t, restored(system, p, data, original)) for t, data in story.charts)


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
