"""How a run ends: its `Solution`, and the sentence about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.integrators import numbers as N
from dalembert.simulation.engine import TOTAL_RATES, UNDEFINED
from dalembert.simulation.solution import Solution, Status


def _at_once(run: Any) -> bool:
    """Whether singular positions that were stepped over are looked for at the end, and not when asked for."""
    return run.on_singularity == "warn" or run.engine.formulation in UNDEFINED


def solution(run: Any, t: float, status: Status) -> Solution:
    """Everything so far, at time t."""
    T, X = np.concatenate(run.T), np.concatenate(run.X)
    n, works, nu = run.nq + run.nv, run.engine.works, len(run.engine.u)
    counts, numbers = run.counts, run.numbers
    if numbers[N.HOLD] > 0.0 and len(X) > 1:  # the first sample was taken after the first record
        X[0, n + works : n + works + nu] = X[1, n + works : n + works + nu]
    dense = None
    if not run.sampled and len(T) > 1 and run.engine.formulation not in TOTAL_RATES:
        if run.chart is not None:  # between records the ordinary way: project after the step
            run.parts, run.method = run.engine.choose(run.keep, None), run.make(run.system, None)
        dense = run.dense(T, X)
        for passage in run.approaches(dense) if _at_once(run) else []:
            run.add(passage)
    return Solution(
        t=T,
        q=X[:, : run.nq],
        v=X[:, run.nq : n],
        u=X[:, n + works : n + works + nu],
        work={name: X[:, n + k] for k, name in enumerate(run.system.work_names)},
        health=X[:, -1],
        status=status,
        message=_sentence(run, status, t),
        steps=int(counts[N.STEPS]),
        rejected=int(counts[N.REJECTED]),
        evaluations=int(counts[N.EVALUATIONS]),
        corrections=int(counts[N.CORRECTIONS]),
        drift=float(numbers[N.POSITION]),
        speed_drift=float(numbers[N.SPEED]),
        careful=tuple(run.passages),
        more_passages=run.approaches if dense is not None and not _at_once(run) else None,
        charts=tuple(run.charts),
        t_events={name: np.array([when for when, _ in hits]) for name, hits in run.found.items()},
        x_events={name: np.array([x for _, x in hits]).reshape(-1, n) for name, hits in run.found.items()},
        system=run.system,
        p=run.p,
        dense=dense,
    )


def _sentence(run: Any, status: Status, t: float) -> str:
    if status == Status.DONE and run.passages and run.engine.formulation in UNDEFINED:
        return (
            f"{status.sentence}, past a singular position at t = {run.passages[0].nearest:.6g} s, where "
            f"formulation '{run.engine.formulation}' is not defined: what follows may be another motion; 'auto' "
            "and 'nullspace' lead through"
        )
    if status == Status.DONE:
        return status.sentence
    if status == Status.EVENT:
        name = next(n for n, hits in run.found.items() if run.events[n].terminal and hits and hits[-1][0] == t)
        return f"at t = {t:.6g} s event '{name}' ended the run"
    if status == Status.CALLBACK:
        for what, c in (("controller", run.controller), ("event", run.watcher)):
            if c is not None and c.error:
                return f"at t = {t:.6g} s the {what} raised {c.error}"
    return f"at t = {t:.6g} s {status.sentence}{run.trouble and ': '}{run.trouble}"
