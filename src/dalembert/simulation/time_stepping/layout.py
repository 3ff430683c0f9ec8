"""The layout of a run by time stepping: the record of the native loop, and the struct of its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.charts import LocalChart
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.integrators.cone_problem import ConeProblem
from dalembert.integrators.moreau_record import TimeStepping
from dalembert.integrators.run_record import RunRecord
from dalembert.native.bound import NOTHING, Bound
from dalembert.rank import row_units
from dalembert.simulation.hybrid.mode import Changeable
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.setup import Setup
from dalembert.simulation.state_units import state_units
from dalembert.simulation.time_stepping.equations import (
    idle,
    moved,
    row_residuals,
    step_equations,
    step_forces,
    step_powers,
)

TOLERANCE, ENOUGH = 1e-11, 1e-9  # of speeds: residual of a contact problem, and of one that rounding makes hard
SWEEPS, ROUNDS = 2, 10  # of Gauss and Seidel before Newton's method, and of that
OWN = 2  # columns of a record before forces: the work of contacts, the residual of the step's contact problem


class SteppingLayout(RunLayout):
    """The functions of runs by time stepping. x = (q, v, works, work of contacts, residual, forces of rows)."""

    def __init__(self, setup: Setup, changeable: Changeable) -> None:
        self.changeable = changeable
        super().__init__(setup)
        self.works += OWN + len(self.force_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        setup = replace(self.setup, controller=None, events={}, coordinates=None)
        return _again, (setup, self.changeable.stops)

    @property
    def force_rows(self) -> tuple[str, ...]:
        """Rows of contacts, stops, ropes and joint friction, in the order of their forces in x."""
        known = set(self.system.rows.names)
        of = {*self.changeable.contacts, *(f.name for f in self.changeable.frictions.values())}
        rows = self.changeable.everything.rows
        return tuple(name for name, element in zip(rows.names, rows.of) if element in of and name not in known)

    def place(
        self, run: RunRecord, rows: tuple[int, ...] | None, chart: LocalChart | None, x: np.ndarray, room: int
    ) -> None:
        s, system = self.setup, self.system
        run.n, run.dof, run.width = len(x), 0, len(x) + s.nu + 1
        run.rows, run.room, run.counts.records = s.method.stages, room, 0
        run.x, run.unit = x, state_units(system, len(x), self.policy.length)
        run.pitch = 4 * -(-(len(x) + 2 + EVIDENCE) // 4)
        run.stages = np.zeros((run.rows, run.pitch))
        run.times, run.states = np.empty(room), np.empty((room, run.width))
        for name, function in self.equations.manifold(None, None).items():
            setattr(run, name, function)
        run.step_kernel = run.slope = NOTHING
        run.manifold.project_every = 0
        ode = Bound.of(idle(system, self.works), {"p": s.p})
        Stepper(ode, s.method, self.stepping(), {}).enter(run)

    def stepping(self) -> TimeStepping:
        """The struct of the steps."""
        system, changeable, p = self.system, self.changeable, self.setup.p
        contacts, frictions = list(changeable.contacts.values()), list(changeable.frictions.values())
        row, length = changeable.row_index, max(changeable.lengths, default=0.0) or system.layout.length
        slips = [changeable.slip_rows[c.name] if c.friction > 0.0 else [] for c in contacts]
        count = sum(1 + len(x) for x in slips) + len(frictions)
        equations, power = Bound.of(step_equations(changeable), {"p": p}), Bound.of(step_powers(system), {"p": p})
        forces = Bound.of(step_forces(changeable), {"p": p})
        place = np.full(len(changeable.row_names), -1)
        place[[row[name] for name in self.force_rows]] = np.arange(len(self.force_rows))
        s = TimeStepping.sized(
            nq=system.nq, nv=system.nv, m=len(place), held=len(system.rows.of), contacts=len(contacts),
            frictions=len(frictions), room=max(count, 1), places=max(len(contacts) + len(frictions), 1),
            work_at=system.nq + system.nv, works=len(system.work_names), powers=self.equations.plain_powers,
            equations=equations, residuals=Bound.of(row_residuals(changeable), {"p": p}),
            plus=Bound.of(moved(system), {}), power=power, u_index=_inputs(equations), u_power=_inputs(power),
            forces=forces, u_forces=_inputs(forces),
            cone=_cone(count, len(contacts) + len(frictions), TOLERANCE),
            push=_cone(len(contacts), len(contacts), ENOUGH),
        )  # fmt: skip
        s.held_rows[:] = [row[name] for name in system.rows.names]
        s.held_unit[:] = row_units(system, p)
        s.place[:] = place
        for k, (contact, rows) in enumerate(zip(contacts, slips)):
            s.gap_row[k], s.gap_unit[k] = changeable.gap_row[contact.name], 1.0 if contact.angular else length
            s.slip_row[k], s.slips[k] = rows[0] if rows else 0, len(rows)
            s.mu[k], s.static[k], s.restitution[k] = contact.friction, contact.static, contact.restitution
        for k, friction in enumerate(frictions):
            law = friction.law
            s.stick_row[k], s.coulomb[k], s.more[k] = (
                row[f"{friction.name}.stick"],
                law.coulomb,
                law.breakaway - law.coulomb,
            )
            s.stribeck[k], s.exponent[k] = law.stribeck, law.exponent
        return s


def _again(setup: Setup, stops: Any) -> SteppingLayout:
    return SteppingLayout(setup, Changeable.of(setup.system, stops))


def _inputs(f: Bound) -> int:
    return f.slices["u"].start if "u" in f.slices else 0


def _cone(rows: int, elements: int, tolerance: float) -> ConeProblem:
    sizes = {"room": max(rows, 1), "places": max(elements, 1)}
    return ConeProblem.sized(**sizes, tolerance=tolerance, enough=max(ENOUGH, tolerance), sweeps=SWEEPS, rounds=ROUNDS)
