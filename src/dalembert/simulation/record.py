"""The record of the native loop: what stays as it is for all runs of a layout, and what differs from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.integrators.run_record import PASSAGE, RunRecord
from dalembert.native.bound import NOTHING, Bound
from dalembert.simulation.setup import CLOSED, TOTAL_RATES, Setup
from dalembert.simulation.state_units import gap_unit, plain_rates
from dalembert.simulation.total_rates import of_joint_rates
from dalembert.symbols import array
from dalembert.system.acceleration import free_fall
from dalembert.system.state import State

if TYPE_CHECKING:
    from dalembert.simulation.layout import Layout

PASSAGES = 16  # noted by native code until it comes back with them
CHUNK = 2000  # records, and at first attempts, between two looks at the clock, the keyboard and the sample times


def make_record(layout: Layout) -> RunRecord:
    """A record with everything that stays as it is for runs of this layout."""
    s, system, project = layout.setup, layout.system, layout.setup.projection
    most = 1 if s.on_singularity == "warn" else PASSAGES
    run = RunRecord(
        nq=system.nq,
        nv=system.nv,
        works=layout.works,
        nu=s.nu,
        events=max(1, len(s.events)),
        h=s.step,
        max_h=s.max_step,
        budget=CHUNK,
        rtol=s.rtol,
        atol=s.atol,
        last_error=1e-4,
        hold=s.hold,
        length=layout.policy.length,
        widest=float(layout.policy.units.max(initial=0.0)) or 1.0,
        weight=free_fall(system, system.layout.length),
        tolerance=1e-9 * gap_unit(system),
        closed_to=CLOSED * gap_unit(system),
        margin=1.0,
        worst_margin=1.0,
        landed=1,
        event_values=np.zeros((2, max(1, len(s.events)))),
        event_looks=np.zeros((18, max(1, len(s.events)))),
        directions=np.array([*layout.directions, 0][: max(1, len(s.events))], dtype=np.int64),
        control=NOTHING if layout.controller is None else of_joint_rates(s, layout.controller.bound),
        watch=NOTHING if layout.watcher is None else of_joint_rates(s, layout.watcher.bound),
        gauge=NOTHING,
        **_kinks(s),
        near=layout.policy.near,
        hit=layout.hit,
        stop=int(s.on_singularity == "stop"),
        beyond=int(s.on_singularity != "stop"),
        blind=int(bool(system.rows.of) and (s.named or layout.equations.unequal)),
        most=most,
        passages=np.zeros((most, system.nq + system.nv + PASSAGE)),
        margins=np.zeros(5),
        squares=np.zeros(5),
        plain=plain_rates(system),
        low=np.zeros(system.nq),
        low_before=np.zeros(system.nq),
        ode=Bound.around(0, np.zeros(s.nu), np.zeros(1), np.zeros(1)),  # until `place`: holds the inputs
    )
    if project is not None:
        run.max_corrections, run.frozen = project.corrections, int(project.directions == "frozen")
        run.filter_velocities, run.restore_energy = int(project.velocities), int(project.energy)
    return run


def _kinks(s: Setup) -> dict[str, Any]:
    """The function of all forces that begin and cease to act, which adaptive steps end at."""
    system = s.system
    bent = [f for f in system.description.forces if f.bends]
    if not bent or s.method.fixed or s.formulation in TOTAL_RATES:
        return {"bends": NOTHING, "kink_values": np.zeros((3, 0))}
    kernel = system.custom_kernel(
        ("kinks",), ("q", "v", "u", "p", "t"), lambda t: array([x for f in bent for x in f.kinks(t.state)])
    )
    bends, count = Bound.of(kernel, {"p": s.p}), kernel.y_size
    place = bends.slices["u"].start if "u" in bends.slices else 0
    return {"bends": bends, "kinks": count, "kink_u": place, "kink_values": np.zeros((3, count))}


def begin_record(layout: Layout, run: RunRecord, start: State, end: float, u: np.ndarray) -> None:
    """Put into a record what differs from run to run, besides its state."""
    run.t = run.hold_start = run.sampled_until = start.t
    run.end, run.inertia = end, _inertia(layout, start) if layout.works or run.restore_energy else 1.0
    if run.nu:
        run.ode.x[run.u_index : run.u_index + run.nu] = u
    if run.restore_energy:
        run.energy = layout.system.energy(start, p=layout.setup.p)


def _inertia(layout: Layout, start: State) -> float:
    """The largest inertia against a velocity of unit size, kg m²."""
    mass, units = layout.mass_diagonal
    known = {"q": start.q, "p": layout.setup.p}
    diagonal = mass(*[known[name] for name in mass.names_in])
    return max((diagonal * units).tolist(), default=0.0) or 1.0
