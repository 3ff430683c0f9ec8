"""`simulate`: the motion of a mechanism from a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.hints import explained
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.callbacks import steering
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.results.result import result
from dalembert.simulation.results.run import Run
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.record_pool import give_back, plain_layout
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepping import begin, integrate
from dalembert.simulation.setup import Span, check_steps, make_choices, make_setup, make_span
from dalembert.system.inertia import check_mass, varies_inertia
from dalembert.system.system import System


@explained
def simulate(
    system: System,
    state: StateGiven,
    t: Any,
    *,
    u: Any = None,
    p: Parameters = None,
    period: float | None = None,
    events: Any = None,
    switches: Any = None,
    stops: Any = None,
    method: str = "dop853",
    rtol: float = 1e-9,
    atol: float = 1e-10,
    step: float | None = None,
    max_step: float = np.inf,
    t_eval: Any = None,
    stabilization: Any = "projection",
    coordinates: Any = None,
    formulation: str = "auto",
    options: Mapping[str, Any] | None = None,
    on_singularity: str = "continue",
    max_steps: int = 10_000_000,
    record: Any = None,
    resume: bool = False,
) -> Run:
    """Integrate the motion from a state, on the constraint manifold, and return it with its evidence.

    system: a compiled `System`. state: where the motion starts, a `State`, a mapping of names to positions, or q (nq,).
    t: a duration (s) from the state's time, or a span (start, end).
    t_eval: increasing times (s) in the span at which states are wanted; default: every step.
    u: constant inputs (array or by name) or a controller u(t, state): a `da.expression` in CasADi, a Numba function, or
    a Python function; or {input: expression, function or number}. With `period` (s) it is sampled at that period and
    its answer held. Default: the state's inputs.
    p: parameters by name, where they differ from the state's, or from the system's where it has none.
    events: functions g(t, state) whose zeros are located, `da.Event`s, or a mapping of names to them.
    switches: constraints that open or close on the way: a `da.Switch`, a list of them or a mapping of names to them.
    stops: what stops joints at their limits, "rigid" or a `da.Stops`; joints that have stops of their own keep them.
    Contacts, ropes, stops and dry friction of the mechanism act by themselves; see docs/contacts.md.
    method: "dop853" or "dopri5" (adaptive, tolerances rtol and atol), "rk4" (fixed `step`, s), "sdirk4" (adaptive, for
    stiff motion), "variational" (fixed `step`, for long conservative runs), "moreau" (fixed `step`, for many contacts:
    time stepping at velocity level in place of event by event). step is the first step of adaptive methods;
    max_step (s) bounds all. The run ends after max_steps, or as soon as it is clear that they will not do.
    stabilization: "projection" of every step, "energy" (projection that also restores the energy balance),
    "baumgarte", "none", or a `da.Projection` or `da.Baumgarte` with its options.
    coordinates: None integrates all coordinates. Names, "partition" or "tangent" or a `da.Chart` integrate independent
    ones only; the others follow from them, and another set is taken when they stop being independent.
    formulation: "auto", or one of System.acceleration with its `options` (metric, tolerance, damping, variant, …). Of
    "auto" they are tolerance, floor and damping of the steps through singular positions. For trees
    "total_rates" or "total_rates_xi" integrates the diagonal equations of motion.
    on_singularity: "continue", "warn" or "stop" where the constraints become dependent.
    record: a file to which the run is written as it goes, which `da.read_run` reads after a crash too. With resume=True
    a recording that was cut off is taken up where it ends, bit for bit as if it had not been.

    Trouble returns what was computed, with `status`, `message` and `error`; Ctrl-C too.

    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, m.add_body("bob", mass=1.0, com=(0, -1.0, 0)))
    >>> down = da.Event(lambda t, s: s["A"], direction=-1)
    >>> run = da.simulate(m.compile(), {"A": 0.1}, 2.0, events={"down": down})
    >>> run.success, bool(abs(run.energy_error).max() < 1e-8), run.t_events["down"].round(4).tolist()
    (True, True, [0.5018])
    """
    if checks.flag(resume, "resume") and record is None:
        raise ArgumentError("resume=True takes up a recording; say which, as record='run.arrow'.")
    if not hasattr(system, "constraint_matrix"):
        kind = type(system).__name__
        hint = " Compile it first: system = mechanism.compile()." if hasattr(system, "compile") else ""
        raise ArgumentError(f"system is a {kind}; needed: a compiled System.{hint}")
    chosen = method, rtol, atol, step, max_step, stabilization, formulation, on_singularity, max_steps
    try:
        choices, hashable = make_choices(*chosen), True
    except (TypeError, NotImplementedError):  # arrays, CasADi's matrices
        choices, hashable = make_choices.__wrapped__(*chosen), False
    controller = steering(system, u)
    state, u, p = system.arguments.resolve(state, u if controller is None else None, p)
    if controller is not None:
        u = None
    if varies_inertia(system, p):
        check_mass(system, state, p)
    if choices.method_name == "moreau":
        from dalembert.simulation.time_stepping.request import simulate_stepped

        return simulate_stepped(
            system, system.arguments.bare(state), t, t_eval, u, p, controller, period, events, switches, stops, choices,
            coordinates, options, record, shared=hashable,
        )  # fmt: skip
    if switches is not None or stops is not None or system.layout.is_hybrid:
        from dalembert.simulation.hybrid.request import simulate_hybrid

        return simulate_hybrid(
            system, system.arguments.bare(state), t, t_eval, u, p, controller, period, events, switches, stops, choices,
            coordinates, options, record, resume, shared=hashable,
        )  # fmt: skip
    span, plain = make_span(system, state, t, t_eval, u), controller is None and period is None and events is None
    check_steps(choices, span)
    if hashable and plain and coordinates is None and options is None:
        layout = plain_layout(system, choices, span, p)
    else:
        layout = RunLayout(make_setup(system, choices, span, p, controller, period, events, coordinates, options))
    if record is not None:
        from dalembert.simulation.files.saving import recorded

        return recorded(layout, span, record, resume)
    return carried_out(layout, span)


def carried_out(layout: RunLayout, span: Span) -> Run:
    """The run of a layout from a state: one segment."""
    ctx = lay_out(Segment(layout, span))
    begin(ctx)
    run = result(ctx, integrate(ctx))
    give_back(layout, ctx.spare)
    return run
