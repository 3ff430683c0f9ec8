"""From the arguments of `simulate` to a hybrid run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.contacts.stop import Stops, as_stops
from dalembert.mechanism.forces import KinematicInput
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.callbacks import controller as bound_controller
from dalembert.simulation.hybrid.hybrid_run import HybridRun, go
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.hybrid.problem import HybridProblem
from dalembert.simulation.hybrid.switch import named_switches
from dalembert.simulation.results.phased_run import PhasedRun, joined
from dalembert.simulation.setup import TOTAL_RATES, Choices, Span, check_steps, make_setup, make_span
from dalembert.system.system import System

WHY = "a run with switches, contacts, stops or dry friction"


def simulate_hybrid(
    system: System, state: StateGiven, t: Any, t_eval: Any, u: Any, p: Parameters, controller: Any, period: Any,
    events: Any, switches: Any, stops: Any, choices: Choices, coordinates: Any, options: Any, record: Any = None,
    resume: bool = False, begun: Callable[[HybridRun], None] | None = None, shared: bool = False,
) -> PhasedRun:  # fmt: skip
    """Check everything, then run; the arguments are those of `simulate`.

    begun: gets the run before it goes. shared: whether other runs have these very choices.
    """
    if coordinates is not None:
        raise ArgumentError(f"{WHY} integrates all coordinates: its constraints change. Leave coordinates= out.")
    span = make_span(system, state, t, t_eval, u)
    own = controller, period, events, switches, options
    if shared and all(x is None for x in own):
        check_steps(choices, span)
        held = as_stops(stops, "stops")
        key: Any = "hybrid", choices, held, None if p is None else system.arguments.parameter_vector(p).tobytes()
        problem = system.memo(key, lambda: _problem(system, span, p, *own, held, choices))
    else:
        problem = _problem(system, span, p, *own, as_stops(stops, "stops"), choices)
    run = HybridRun.of(problem, span)
    if begun is not None:
        begun(run)
    if record is not None:
        from dalembert.simulation.files.phases import recorded

        return recorded(run, checks.path(record, "record"), resume)
    return joined(run, *go(run))


def _problem(
    system: System, span: Span, p: Parameters, controller: Any, period: Any, events: Any, switches: Any, options: Any,
    stops: Stops | None, choices: Choices,
) -> HybridProblem:  # fmt: skip
    if choices.formulation in TOTAL_RATES or choices.method_name == "variational":
        raise ArgumentError(
            f"{WHY} cannot use formulation '{choices.formulation}' with method '{choices.method_name}', which are for "
            "one structure. Take method='dop853' and formulation='auto'."
        )
    led = [f.name for f in system.description.forces if isinstance(f, KinematicInput)]
    if led:
        raise ArgumentError(
            f"{WHY} cannot have kinematic inputs, whose accelerations are given whatever is hit; '{led[0]}' is one. "
            "Take a motor, or a driver."
        )
    named = named_switches(switches, system)
    if named and hasattr(controller, "in_phases"):
        controller = controller.in_phases()
    setup = make_setup(system, choices, span, p, controller, period, events, None, options, phases=True)
    control = None if controller is None else bound_controller(system, controller, setup.p)
    return HybridProblem(Changeable.of(system, stops), choices, setup, named, control)
