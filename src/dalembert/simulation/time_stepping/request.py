"""From the arguments of `simulate` to a run by time stepping."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.mechanism.contacts.stop import Stops, as_stops
from dalembert.mechanism.forces import KinematicInput
from dalembert.protocols import Parameters, StateGiven
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.record_pool import give_back
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepping import begin, integrate
from dalembert.simulation.setup import Choices, Setup, Span, check_steps, make_setup, make_span
from dalembert.simulation.stabilization import Projection
from dalembert.simulation.status import Status
from dalembert.simulation.time_stepping.layout import SteppingLayout
from dalembert.simulation.time_stepping.result import SteppedRun, stepped_result
from dalembert.system.state import State
from dalembert.system.system import System

BEYOND = 1e-5  # of the lengths of a mechanism: how far a start may be beyond a contact


def simulate_stepped(
    system: System, state: StateGiven, t: Any, t_eval: Any, u: Any, p: Parameters, controller: Any, period: Any,
    events: Any, switches: Any, stops: Any, choices: Choices, coordinates: Any, options: Any, record: Any = None,
    shared: bool = False,
) -> SteppedRun:  # fmt: skip
    """Check everything, then run; the arguments are those of `simulate`."""
    check(system, choices, switches, coordinates, options, record)
    span, held = make_span(system, state, t, t_eval, u), as_stops(stops, "stops")
    own = controller, period, events
    if shared and all(x is None for x in own):
        check_steps(choices, span)
        key: Any = "stepped", choices, held, None if p is None else system.arguments.parameter_vector(p).tobytes()
        layout = system.memo(key, lambda: _layout(system, choices, span, p, *own, held))
    else:
        layout = _layout(system, choices, span, p, *own, held)
    check_start(layout, span.start)
    return carried_out(layout, span)


def carried_out(layout: SteppingLayout, span: Span) -> SteppedRun:
    """The run of a layout from a state."""
    ctx = lay_out(Segment(layout, span))
    ctx.record.method.set(lowered=0, residual=0.0, newton_steps=0)
    begin(ctx)
    run = stepped_result(ctx, integrate(ctx))
    give_back(layout, ctx.spare)
    return run


class Advanced(NamedTuple):
    """Where a run by time stepping ended, without its history."""

    success: bool
    message: str  # of what ended it before its time
    t: float
    x: np.ndarray  # q, v, works, the work of contacts, the residual of the last step, mean forces of rows in it


def laid_out(setup: Setup) -> SteppingLayout:
    """The layout of runs of a setup that was made with `phases`."""
    return SteppingLayout(setup, Changeable.of(setup.system, None))


def advanced(layout: SteppingLayout, span: Span, forces: np.ndarray | None = None) -> Advanced:
    """The end of a run that goes on with the forces (what x has behind q and v) of the one before, as one run would."""
    ctx = lay_out(Segment(layout, span))
    ctx.record.method.set(lowered=0, residual=0.0, newton_steps=0)
    if forces is not None:
        ctx.record.x[-len(forces) :] = forces
    begin(ctx)
    status = integrate(ctx)
    message = "" if status == Status.DONE else stepped_result(ctx, status).message
    out = Advanced(status == Status.DONE, message, ctx.record.clock.t, ctx.record.x.copy())
    give_back(layout, ctx.spare)
    return out


def _layout(
    system: System, choices: Choices, span: Span, p: Parameters, controller: Any, period: Any, events: Any,
    stops: Stops | None,
) -> SteppingLayout:  # fmt: skip
    setup = make_setup(system, choices, span, p, controller, period, events, phases=True)
    return SteppingLayout(setup, Changeable.of(system, stops))


def check(
    system: System, choices: Choices, switches: Any = None, coordinates: Any = None, options: Any = None,
    record: Any = None,
) -> None:  # fmt: skip
    """Refuse what steps of this kind do not have."""
    why = "method 'moreau' has fixed steps in all coordinates"
    if switches is not None:
        raise ArgumentError(f"{why} and follows no switches; needed: method='dop853' for switches=.")
    if coordinates is not None or options is not None or choices.formulation != "auto":
        raise ArgumentError(f"{why} and its own equations: leave coordinates, formulation and options as they are.")
    if choices.stabilization != Projection():
        raise ArgumentError(f"{why} and projects every step: leave stabilization as it is.")
    if record is not None:
        raise ArgumentError(f"{why} and is not recorded; leave record= out.")
    led = [f.name for f in system.description.forces if isinstance(f, KinematicInput)]
    if led:
        raise ArgumentError(f"{why} and no kinematic inputs; '{led[0]}' is one. Take a motor, or a driver.")
    loaded = [a.name for a in system.layout.joints.values() for law in a.friction if law is not None and law.load > 0.0]
    if loaded:
        raise ArgumentError(f"{why} and no friction in proportion to load, which joint '{loaded[0]}' has.")


def check_start(layout: SteppingLayout, start: State) -> None:
    """Refuse a start beyond a contact."""
    changeable = layout.changeable
    if not changeable.contacts:
        return
    kernel = changeable.everything.kernel("residuals")
    given = {"q": start.q, "v": start.v, "p": layout.setup.p, "t": [start.t]}
    phi = kernel(*[given[name] for name in kernel.names_in])[0]
    length = max(changeable.lengths, default=0.0) or layout.system.layout.length
    for name, contact in changeable.contacts.items():
        gap = float(phi[changeable.gap_row[name]])
        if gap < -BEYOND * (1.0 if contact.angular else length):
            unit = "rad" if contact.angular else "m"
            raise ArgumentError(
                f"the start is beyond '{name}' by {-gap:.4g} {unit}; needed: a start on its other side."
            )
