"""From the arguments of `simulate` to a run of phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.contacts.stop import as_stops
from dalembert.mechanism.forces import KinematicInput
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.phases.asked import Asked
from dalembert.simulation.phases.course import Course
from dalembert.simulation.phases.mode import Changeable
from dalembert.simulation.phases.phased import PhasedRun, joined
from dalembert.simulation.phases.switch import named_switches
from dalembert.simulation.setup import TOTAL_RATES, Choices, make_setup, make_span
from dalembert.system.system import System


def phased(
    system: System, state: StateGiven, t: Any, t_eval: Any, u: Any, p: Parameters, controller: Any, hold: Any,
    events: Any, switches: Any, stops: Any, choices: Choices, coordinates: Any, options: Any, record: Any = None,
    resume: bool = False, begun: Callable[[Course], None] | None = None,
) -> PhasedRun:  # fmt: skip
    """Check everything, then run; the arguments are those of `simulate`. begun: gets the course before it goes."""
    why = "a run with switches, contacts, stops or dry friction"
    if coordinates is not None:
        raise ArgumentError(f"{why} integrates all coordinates: its constraints change. Leave coordinates= out.")
    if choices.formulation in TOTAL_RATES or choices.method_name == "variational":
        raise ArgumentError(
            f"{why} cannot use formulation '{choices.formulation}' with method '{choices.method_name}', which are for "
            "one structure. Take method='dop853' and formulation='auto'."
        )
    led = [f.name for f in system.description.forces if isinstance(f, KinematicInput)]
    if led:
        raise ArgumentError(
            f"{why} cannot have kinematic inputs, whose accelerations are given whatever is hit; '{led[0]}' is one. "
            "Take a motor, or a driver."
        )
    named = named_switches(switches, system)
    if named and hasattr(controller, "in_phases"):
        controller = controller.in_phases()
    span = make_span(system, state, t, t_eval, u)
    changeable = Changeable.of(system, as_stops(stops, "stops"))
    plain = make_setup(system, choices, span, p, controller, hold, events, None, options, phases=True)
    asked = Asked(
        changeable, choices, span, plain.p, controller, plain.hold, plain.events, named, plain.options,
    )  # fmt: skip
    course = Course(asked)
    if begun is not None:
        begun(course)
    if record is not None:
        from dalembert.simulation.phases.files import recorded

        return recorded(course, plain, checks.path(record, "record"), resume)
    return joined(course, *course.go())
