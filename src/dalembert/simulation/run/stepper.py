"""A right-hand side with the method that steps it, as the native loop takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dalembert.integrators.methods import Method
from dalembert.integrators.run_record import RunRecord
from dalembert.native import library
from dalembert.native.bound import Bound


class Stepper(NamedTuple):
    """A right-hand side and the method that steps it."""

    ode: Bound
    method: Method
    table: Any  # the method's struct
    fields: Mapping[str, Any]  # others of the record, by path: how states are projected, and how exactly

    def enter(self, run: RunRecord) -> None:
        """Have the loop step with this."""
        for name, value in self.fields.items():
            run.store(name, value)
        held = run.ode.x[run.u_index : run.u_index + run.nu].copy() if run.counts.steps or run.nu else None
        assert len(self.ode.y) <= run.pitch, "a stage holds all that the right-hand side gives"
        run.ode, run.method, run.method_step = self.ode, self.table, library.address(self.method.entry)
        run.step.exponent, run.step.order = self.method.exponent, self.method.order
        run.u_index = self.ode.slices["u"].start if "u" in self.ode.slices else 0
        if held is not None:
            run.ode.x[run.u_index : run.u_index + run.nu] = held
        run.step.fresh = run.step.unsound = 0

    def now(self, run: RunRecord, method: Method) -> Stepper:
        """The stepper in use, by which this one can be replaced again."""
        return Stepper(run.ode, method, run.method, {name: run.fetch(name) for name in self.fields})
