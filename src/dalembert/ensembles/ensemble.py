"""`ensemble`: many runs of one system, with states, parameters and inputs that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.ensembles.lanes import Batch
from dalembert.ensembles.plan import EnsemblePlan, controller_of, usual_lanes
from dalembert.ensembles.result import Ensemble, collect
from dalembert.ensembles.sensitivities import blank_slopes, check_derivatives, wanted_derivatives
from dalembert.ensembles.starts import Starts, belonging_to, is_sequence
from dalembert.ensembles.store import Store
from dalembert.ensembles.variation import SAMPLINGS, Variation
from dalembert.ensembles.work import Queue, by_executor, in_threads, shown, usual_workers
from dalembert.errors import ArgumentError
from dalembert.mechanism.contacts.stop import as_stops
from dalembert.simulation.callbacks import expression, steering, traceable
from dalembert.simulation.hybrid.switch import named_switches
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.setup import make_choices, make_setup, make_span
from dalembert.system.system import System

LANES = (1, 8, 16)
#: arguments of `simulate` that all runs share, and what they are by default
OPTIONS: dict[str, Any] = {
    "method": "dop853", "rtol": 1e-9, "atol": 1e-10, "step": None, "max_step": np.inf, "stabilization": "projection",
    "formulation": "auto", "on_singularity": "continue", "max_steps": 10_000_000, "period": None, "events": None,
    "coordinates": None, "options": None, "switches": None, "stops": None,
}  # fmt: skip
#: those that do not depend on the system
CHOICES = ("method", "rtol", "atol", "step", "max_step", "stabilization", "formulation", "on_singularity", "max_steps")


def ensemble(
    system: System,
    states: Any,
    t: Any,
    *,
    n: int | None = None,
    p: Any = None,
    u: Any = None,
    v: Mapping[str, Any] | None = None,
    vary: Any = None,
    controllers: Callable[[int, Mapping[str, Any]], Any] | None = None,
    guess: Any = None,
    t_eval: Any = None,
    outputs: Mapping[str, Callable[[Any, Any], Any]] | None = None,
    keep: str = "states",
    sampling: str = "random",
    seed: int = 0,
    workers: int | None = None,
    lanes: int | None = None,
    executor: Any = None,
    store: Any = None,
    paths: str = "arrow",
    wrt: Any = None,
    of: Any = None,
    held: Any = None,
    **options: Any,
) -> Ensemble:
    """Simulate many runs of one system and return what became of them, one row a run.

    system: a compiled `System`. t: a duration (s) from each state's time, or a span (start, end).
    states: where the runs start. One state for all; a sequence with one for each run, `States` of `assemble_many`, or
    positions (n, nq) at rest; a mapping of coordinate names to values, from which each run is assembled with its own
    parameters (with velocities v by name, from the guess, as `System.assemble` does it for this run alone); or a
    function f(k, values) that makes the state of run k from the values drawn for it, by name as in `varied`.
    p, u: parameters and constant inputs that differ, by name (a mapping or a pandas table); the others are those of the
    states (or of the guess), else the system's. A value is a number, an array with one entry for each run, or a
    distribution of `scipy.stats`. p may be a function f(k, rng) that returns the values of run k by name. u may also be
    a controller, as in `simulate` (also functions by input), that all runs share; its gains differ where they are
    parameters of the mechanism. vary: other values that differ, for the functions `states` and `controllers`.
    controllers: a function f(k, values) that makes the controller of run k, in place of u: gains, noise with the
    seed k. Such runs are made alone.
    n: how many runs, where no array tells it. sampling: how distributions are drawn, "random", "latin" (hypercube) or
    "sobol"; seed: of the drawing.
    t_eval: increasing times (s) at which states are kept; without it only the last state of each run.
    outputs: {name: f(t, state)}, functions as in `da.expression`, evaluated at the times of t_eval. keep: "states" at
    these times; "outputs" alone; or a "summary" of outputs, where their paths would not fit into memory: extremes of
    each run, and quantiles at each time to 1/2048 of the range of the values.
    workers: threads, by default one a processor. lanes: runs that a thread makes side by side, by default two vectors
    of the processor; 1 makes each alone. executor: any `concurrent.futures` executor, or that of a Dask client, which
    makes the parts in place of threads.
    store: a folder to which results are written as they come (extra `files`). The same call with the same folder makes
    the runs that are missing there and returns all of them. paths: what holds the paths at t_eval there, "arrow", the
    files of the runs, or "zarr", arrays that xarray opens (extra `zarr`).
    wrt: with respect to what each run is differentiated, by name as in `sensitivities`: parameters, "input:push",
    "held:A", "held:rate:A". of: quantities as there, also outputs by their names; default: all coordinates, rates and
    outputs. held: coordinates that keep value and rate at the start; default: those in the mapping `states`. The
    derivatives are `runs.sensitivities`, at the end of each run and at the times of t_eval. They cost about ten times
    a run made alone.
    options: of `simulate`, the same for all runs: rtol, atol, method, events, stabilization, …

    Runs go side by side where they are plain: an explicit method, and a controller, if any, that is a `da.expression`
    or a regulator of `da.lqr`, within limits or not (`control.Saturated`). One that comes to a singular position leaves
    for careful steps, if these are needed, and comes back. All others (with switches, contacts, stops or friction,
    controllers in Python, …) are made alone, as `simulate` makes them. A run does not depend on its company: the same
    numbers come out for any number of runs and workers. A run that fails has a status and a message; it never ends the
    others. Ctrl-C returns what there is.

    >>> import dalembert as da
    >>> from scipy.stats import norm
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> length = m.add_parameter("length", 1.0)
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -length, 0)))
    >>> runs = da.ensemble(m.compile(), {"A": 0.1}, 2.0, p={"length": norm(1.0, 0.01)}, n=100, sampling="latin")
    >>> runs
    <ensemble of 100 runs of 'pendulum': 100 DONE; 100 succeeded, 0 passed singular positions, 0 made alone>
    >>> runs.quantiles("A", [0.05, 0.95]).round(3).tolist()             # 0.1 cos(t √(g/length)) at 2 s
    [0.1, 0.1]
    """
    checks.keywords(options, OPTIONS, "options of ensemble", of="simulate")
    checks.choice(sampling, SAMPLINGS, "sampling")
    checks.choice(keep, ("states", "outputs", "summary"), "keep")
    checks.choice(paths, ("arrow", "zarr"), "paths")
    seed = checks.whole(seed, "seed", least=0)
    if executor is not None:
        checks.function(getattr(executor, "submit", None), "executor.submit")
    if not hasattr(system, "constraint_matrix"):
        raise ArgumentError(
            f"system is a {type(system).__name__}; needed: a compiled System, from mechanism.compile()."
        )
    steer = steering(system, u)
    steered = steer is not None
    groups = {
        "p": _by_name(p, system.p_names, "p"),
        "u": {} if steered else _by_name(u, system.u_names, "u"),
        "vary": _by_name({} if vary is None else vary, (), "vary"),
        "states": dict(states) if isinstance(states, Mapping) else {},
        "v": {} if v is None else dict(checks.mapping(v, "v")),
    }
    if v is not None and not isinstance(states, Mapping):
        raise ArgumentError("v is given beside states that have velocities; needed: states as a mapping of names.")
    variation = Variation(groups, n, len(states) if is_sequence(states) else None, sampling, seed)
    own_u, own_p = belonging_to(system, states, guess)
    P = variation.matrix("p", system.p_names, own_p)
    U = variation.matrix("u", system.u_names, own_u)
    starts = Starts(system, states, guess, variation, P, U).need_one()
    first = next(k for k in range(variation.n) if k not in starts.refused)
    given = {**OPTIONS, **options}
    choices = make_choices.__wrapped__(*(given.pop(name) for name in CHOICES))
    state = system.state(starts.q[first], starts.v[first], float(starts.t[first]))
    span = make_span(system, state, t, t_eval, None if steered else U[first])
    law = traceable(steer) if steered else None
    if controllers is not None:
        checks.function(controllers, "controllers")
        if u is not None:
            raise ArgumentError("u and controllers are both given; needed: one of the two.")
        law = controller_of(system, controllers, first, variation.varied, first)
    changes = {name: asked for name in ("switches", "stops") if (asked := given.pop(name)) is not None}
    setup = make_setup(system, choices, span, P[first], law, **given, phases=True)
    if changes:
        named_switches(changes.get("switches"), system)
        as_stops(changes.get("stops"), "stops")
    named = {} if outputs is None else dict(checks.mapping(outputs, "outputs"))
    for name, f in named.items():
        named[name] = f.f if isinstance(f, expression) else checks.function(f, f"output '{name}'")
    if named and t_eval is None:
        raise ArgumentError("outputs are evaluated at the times of t_eval; give these too.")
    spans = np.tile([span.start.t, span.end], (variation.n, 1))
    if np.ndim(t) == 0:
        spans = starts.t[:, None] + (span.end - span.start.t) * np.array([0.0, 1.0])
        if t_eval is not None and np.ptp(starts.t) > 0.0:
            raise ArgumentError("the runs start at different times; t_eval needs one span (start, end) for all.")
    everything = variation.varied if controllers is not None else {}
    batch = Batch(starts.q, starts.v, spans, P, U, np.arange(variation.n), everything)
    usual = 1 if changes or controllers is not None else usual_lanes(setup)
    if lanes is not None and checks.whole(lanes, "lanes") not in LANES:
        raise ArgumentError(f"lanes is {lanes}; needed: one of {', '.join(map(str, LANES))}.")
    wide = usual if lanes is None or usual == 1 else lanes
    slopes = None
    if wrt is not None:
        given_by = tuple(states) if isinstance(states, Mapping) and set(groups["v"]) <= set(states) else None
        slopes = wanted_derivatives(system, of, wrt, held, named, given_by)
    elif of is not None or held is not None:
        raise ArgumentError("of and held say which derivatives are wanted; give wrt too.")
    plan = EnsemblePlan(setup, span.samples, named, keep, wide, controllers, changes, slopes)
    check_derivatives(plan, state, U[first])
    if not plan.hybrid:
        lay_out(Segment(RunLayout(setup), span))  # what is wrong with all runs is told at once
    threads = usual_workers() if workers is None else checks.whole(workers, "workers", least=1, most=1024)
    kept = None if store is None else Store(store, plan, batch, paths)
    known = [] if kept is None else list(kept.done())
    missing = np.ones(variation.n, dtype=bool)
    missing[list(starts.refused)] = False
    for there, _ in known:
        missing[there] = False
    numbers = len(plan.wanted) * (system.nq + system.nv) + sum(x[0].size for x in blank_slopes(plan, 1).values())
    queue = Queue(np.flatnonzero(missing), threads, plan.lanes, numbers)
    with closing(
        in_threads(plan, batch, queue) if executor is None else by_executor(plan, batch, queue, executor)
    ) as made:  # at once, also where the store cannot be written: threads end, Ctrl-C is as it was
        ready = shown(made if kept is None else kept.kept(made), len(queue.rows))
        return collect(plan, batch, variation, starts.refused, chain(known, ready))


def _by_name(given: Any, names: Sequence[str], what: str) -> Any:
    """Values by name, from a mapping, a table, or an array in the order of the names; a function as it is."""
    if given is None:
        return {}
    if callable(given):
        return given
    if isinstance(given, Mapping) or (hasattr(given, "to_numpy") and hasattr(given, "keys")):
        return {str(name): given[name] for name in given}
    x = checks.array(given, None, what)
    if x.ndim not in (1, 2) or x.shape[-1] != len(names):
        raise ArgumentError(f"{what} has shape {x.shape}; needed: ({len(names)},), or (n, {len(names)}) for n runs.")
    return {name: x[..., k] for k, name in enumerate(names)}
