"""The record of the native loop: what stays as it is for all runs of a layout, and what differs from run to run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from dalembert.integrators.run_record import (
    EASY,
    Attempt,
    Clock,
    Discontinuities,
    Events,
    Evidence,
    Manifold,
    Marks,
    Regime,
    RunRecord,
    Scales,
    StepControl,
)
from dalembert.native.bound import NOTHING, Bound
from dalembert.simulation.setup import CLOSED, TOTAL_RATES, Setup
from dalembert.simulation.state_units import gap_unit, plain_rates
from dalembert.simulation.total_rates import of_joint_rates
from dalembert.symbols import array
from dalembert.system.acceleration import free_fall
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.simulation.layout import RunLayout

PASSAGES = 16  # noted by native code until it comes back with them
CHUNK = 2000  # records, and at first attempts, between two looks at the clock, the keyboard and the sample times


def make_record(layout: RunLayout) -> RunRecord:
    """A record with everything that stays as it is for runs of this layout."""
    watcher = layout.watcher
    watch = NOTHING if watcher is None else of_joint_rates(layout.setup, watcher.bound).copy()  # others may run
    return make_record_of(layout, watch)


def make_record_of(layout: RunLayout, watch: Bound) -> RunRecord:
    """A record of this layout whose events are these."""
    s, system = layout.setup, layout.system
    run = RunRecord(
        control=NOTHING if layout.controller is None else of_joint_rates(s, layout.controller.bound),
        watch=watch,
        gauge=NOTHING,
        indicators=_indicators(s),
        ode=Bound.around(0, np.zeros(s.nu), np.zeros(1), np.zeros(1)),  # until `place`: holds the inputs
    )
    run.renew(layout.numbers)
    run.plain = plain_rates(system)
    run.allocate(
        "event_values", "event_looks", "directions", "indicator_values", "passages", "margins", "squares", "low",
        "low_before",
    )  # fmt: skip
    run.directions[: len(layout.directions)] = layout.directions
    return run


def make_numbers(layout: RunLayout) -> RunRecord:
    """The numbers of a record that stay as they are for runs of this layout."""
    s, system, project, indicators = layout.setup, layout.system, layout.setup.projection, _indicators(layout.setup)
    blind = bool(system.rows.of) and (s.named or layout.equations.unequal)
    return RunRecord(
        nq=system.nq,
        nv=system.nv,
        works=layout.works,
        nu=s.nu,
        clock=Clock(hold=s.period),
        step=StepControl(
            h=s.step, max_h=s.max_step, pace=layout.pace, budget=CHUNK, rtol=s.rtol, atol=s.atol, last_error=EASY
        ),
        attempt=Attempt(margin=1.0),
        manifold=Manifold(
            tolerance=layout.ruler.projected * gap_unit(system, s.p),
            closed_to=CLOSED * gap_unit(system, s.p),
            projected=1,
            max_corrections=0 if project is None else project.corrections,
            frozen=int(project is not None and project.directions == "frozen"),
            filter_velocities=int(project is not None and project.velocities),
            restore_energy=int(project is not None and project.energy),
        ),
        regime=Regime(
            stop=int(s.on_singularity == "stop"),
            beyond=int(s.on_singularity != "stop"),
            blind=int(blind),
            most=1 if s.on_singularity == "warn" else PASSAGES,
        ),
        events=Events(
            count=max(1, len(s.events)),
            own=len(layout.guards),
            u_index=layout.inputs_of_events,
        ),
        discontinuities=Discontinuities(
            count=indicators.ny if indicators.address else 0,
            u_index=indicators.slices["u"].start if indicators.address and "u" in indicators.slices else 0,
        ),
        evidence=Evidence(worst_margin=1.0),
        scales=Scales(
            length=layout.policy.length,
            widest=float(layout.policy.units.max(initial=0.0)) or 1.0,
            weight=free_fall(system, system.layout.length),
        ),
        ruler=Marks(**asdict(layout.ruler)),
    )


def _indicators(s: Setup) -> Bound:
    """What changes sign where forces begin and cease to act: adaptive steps end there."""
    system = s.system
    bent = [f for f in system.description.forces if f.bends]
    if not bent or s.method.fixed or s.formulation in TOTAL_RATES:
        return NOTHING
    kernel = system.kernels.custom(
        ("kinks",), ("q", "v", "u", "p", "t"), lambda t: array([x for f in bent for x in f.kinks(t.state)])
    )
    return Bound.of(kernel, {"p": s.p})


def begin_record(layout: RunLayout, run: RunRecord, start: State, end: float, u: np.ndarray) -> None:
    """Put into a record what differs from run to run, besides its state."""
    clock, restores = run.clock, run.manifold.restore_energy
    clock.t = clock.hold_start = clock.sampled_until = run.step.begun = start.t
    clock.end, run.scales.inertia = end, _inertia(layout, start) if layout.works or restores else 1.0
    if run.nu:
        run.ode.x[run.u_index : run.u_index + run.nu] = u
    if restores:
        run.manifold.energy = layout.system.energy(start, p=layout.setup.p)


def _inertia(layout: RunLayout, start: State) -> float:
    """The largest inertia against a velocity of unit size, kg m²."""
    mass, units = layout.mass_diagonal
    known = {"q": start.q, "p": layout.setup.p}
    diagonal = mass(*[known[name] for name in mass.names_in])
    return max((diagonal * units).tolist(), default=0.0) or 1.0
