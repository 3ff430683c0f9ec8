"""`simulate`: what a user asks for, checked, and handed to a `Run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.analysis.mobility import independent_rows
from dalembert.charts import choose
from dalembert.errors import ArgumentError, unknown
from dalembert.integrators import numbers as N
from dalembert.integrators.methods import METHODS
from dalembert.simulation.callbacks import controller, expression, is_numba
from dalembert.simulation.engine import TOTAL_RATES, Engine
from dalembert.simulation.events import named_events, watcher
from dalembert.simulation.run import Run
from dalembert.simulation.solution import Solution
from dalembert.simulation.stabilization import Baumgarte, Projection, as_stabilization

SINGULARITY = ("continue", "warn", "stop")


def simulate(
    system: Any,
    state: Any,
    t: Any,
    *,
    u: Any = None,
    p: Any = None,
    hold: float | None = None,
    events: Any = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-10,
    step: float | None = None,
    max_step: float = np.inf,
    stabilization: Any = "projection",
    coordinates: Any = None,
    formulation: str = "auto",
    options: Mapping[str, Any] | None = None,
    on_singularity: str = "continue",
    max_steps: int = 10_000_000,
    record: Any = None,
    resume: bool = False,
) -> Solution:
    """Integrate the motion from a state, on the constraint manifold, and return it with its evidence.

    t: a duration (s), a span (start, end), or an increasing array of times at which states are wanted.
    u: constant inputs (array or by name) or a controller u(t, state): a `da.expression` in CasADi, a Numba function, or
    a Python function. With `hold` (s) it is sampled at that period and its answer held.
    events: functions g(t, state) whose zeros are located, `da.Event`s, or a mapping of names to them.
    method: "dop853" or "dopri5" (adaptive, rtol and atol), "rk4" (fixed `step`, s), "sdirk4" (adaptive, for stiff
    motion), "variational" (fixed `step`, for long conservative runs).
    stabilization: "projection" after every step, "energy" (projection that also restores the energy balance),
    "baumgarte", "none", or a `da.Projection` or `da.Baumgarte` with its options.
    coordinates: None integrates all coordinates. Names, "partition" or "tangent" or a `da.Chart` integrate independent
    ones only; the others follow from them, and another set is taken when they stop being independent.
    formulation: "auto", or one of System.acceleration with its `options` (metric, tolerance, damping, variant, …). Of
    "auto" they are tolerance, floor and damping of the careful steps through singular positions. For trees
    "total_rates" or "total_rates_xi" integrates the diagonal equations of motion.
    on_singularity: "continue", "warn" or "stop" where the constraints become dependent.
    record: a file to which the run is written as it goes, readable by `da.load` after a crash too. With resume=True a
    recording that was cut off is taken up where it ends, bit for bit as if it had not been.

    Trouble returns what was computed, with `status` and `message`; Ctrl-C too.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> down = da.Event(lambda t, s: s["A"], direction=-1)
    >>> run = da.simulate(m.compile(), {"A": 0.1}, 2.0, events={"down": down})
    >>> run.success, bool(abs(run.energy_error).max() < 1e-8), run.t_events["down"].round(4).tolist()
    (True, True, [0.5018])
    """
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    kind = METHODS[method]
    if kind.fixed and not (step and step > 0):
        raise ArgumentError(f"method '{method}' has a fixed step; give it as step=0.001 (s).")
    if on_singularity not in SINGULARITY:
        raise ArgumentError(f"on_singularity is {on_singularity!r}; needed: 'continue', 'warn' or 'stop'.")
    given = system._as_state(state)
    times = _times(t, given.t)
    start = _on_manifold(system, given if given.t == times[0] else given.replace(t=float(times[0])), p)
    sampled = isinstance(t, (list, tuple, np.ndarray)) and len(np.shape(t)) == 1 and len(t) > 2
    steers = callable(u) or isinstance(u, expression) or is_numba(u)
    if hold is not None and not (steers and hold > 0):
        raise ArgumentError(f"hold is {hold!r}; it is the sampling period (s) of a controller u(t, state).")
    kept = as_stabilization(stabilization)
    kind.check(system, coordinates, kept, formulation)
    if formulation in TOTAL_RATES and (steers or events is not None or record is not None):
        raise ArgumentError(
            f"formulation '{formulation}' integrates total rates; controllers, events and recordings see velocities. "
            "Give constant inputs, or take formulation='auto'."
        )
    if coordinates is not None and (kept != Projection() or formulation != "auto"):
        raise ArgumentError(
            "coordinates= keeps to the manifold by itself and eliminates natively: leave stabilization and formulation "
            "as they are."
        )
    if isinstance(kept, Baumgarte) and not system.rows.of:
        kept = None
    rows = independent_rows(system, start, p) if system.rows.of else None
    usual = len(system.rows.of if rows is None else rows)  # the rank of the constraints away from singular positions
    watched = formulation in ("nullspace", "admissible", "projection", "partition") and not kind.fixed
    engine = Engine(
        system,
        p,
        system._u(None if steers else u),
        kept,
        formulation,
        options or {},
        kind.kernel,
        kind.implicit,
        usual,
        watched,
    )
    engine.numbers[[N.RTOL, N.ATOL, N.LEAST, N.LARGEST]] = rtol, atol, 1e-14, max_step
    engine.numbers[N.H], engine.numbers[N.HOLD] = step or 0.0, hold or 0.0
    engine.numbers[N.ENERGY] = system.kinetic_energy(start, p=p) + system.potential_energy(start, p=p)
    named = named_events(events)
    steering = controller(system, u, p) if steers else None
    watching = watcher(system, named, p) if named else None
    engine.control = steering.called() if steering else engine.control
    engine.events = watching.called() if watching else engine.events
    chart = choose(system, start, p, coordinates) if coordinates is not None else None
    if resume and record is None:
        raise ArgumentError("resume=True takes up a recording; say which, as record='run.arrow'.")
    recorder = None
    if record is not None:
        from dalembert.simulation.saving import Record

        same = {
            "state": (start.q.tolist(), start.v.tolist()),
            "t": times.tolist() if sampled else float(times[0]),
            "u": "controller" if steers else engine.u.tolist(),
            "hold": hold,
            "method": method,
            "rtol": rtol,
            "atol": atol,
            "step": step,
            "max_step": max_step,
            "stabilization": kept,
            "coordinates": "chart" if chart is not None and chart.kind == "custom" else coordinates,
            "formulation": formulation,
            "options": options,
            "events": list(named),
        }
        recorder = Record(record, system, p, same, resume)
    return Run(
        engine, kind.make, start, times, sampled, rows, chart, named, (steering, watching), on_singularity,
        max_steps, recorder,
    ).go()  # fmt: skip


def _on_manifold(system: Any, x: Any, p: Any) -> Any:
    """The start, brought onto the manifold where it misses it by rounding only."""
    if not system.rows.of:
        return x
    gaps = np.abs(system.residuals(x, p=p)), np.abs(system.speed_residuals(x, p=p))
    small = min(1.0, system.layout.length)
    limits = small, min(1.0, small * (1.0 + np.abs(x.v).max(initial=0.0)))
    for gap, limit, what in zip(gaps, limits, ("position", "velocity")):
        if gap.max() > 1e-5 * limit:
            worst = int(np.argmax(gap))
            raise ArgumentError(
                f"the start does not satisfy the constraints: the {what} misses row '{system.row_names[worst]}' by "
                f"{gap[worst]:.3g}. Find one that does with system.assemble(...), or system.project(state)."
            )
    return system.project(x, p=p) if max(gap.max() for gap in gaps) > 1e-12 * small else x


def _times(t: Any, start: float) -> np.ndarray:
    x = np.asarray(t, dtype=float)
    if x.shape == ():
        x = np.array([start, start + float(x)])
    if x.ndim != 1 or len(x) < 2 or not np.all(np.isfinite(x)) or np.any(np.diff(x) < 0):
        raise ArgumentError(f"t is {t!r}; needed: a duration (s), a span (start, end), or increasing times.")
    return x
