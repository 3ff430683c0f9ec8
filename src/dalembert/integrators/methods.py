"""The registry of methods by name, and the contract of a step.

A method is a struct with its coefficients and its room (`RunRecord.method`) and an entry of `native.library` that makes
one attempt. It reads t, attempt_h, x and ẋ (stages[0]) from the record, writes the state after the step into
stages[−2], and leaves outcome and error, over the tolerances, in the record; stages[−1] is the loop's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.integrators.tableaus import TABLEAUS, sdirk4
from dalembert.integrators.variational_record import Learned
from dalembert.native.struct import Struct


@dataclass(frozen=True)
class Method:
    """A method as `simulate` knows it."""

    entry: str  # name of its step in `native.library`
    order: int
    stages: int  # rows needed in the array of stages
    make: Callable[[int], Struct]  # its struct, for so many numbers that are integrated
    exponent: float = 0.0  # 1 / (order of the error estimate + 1); 0: the user gives the step
    kernel: str | None = None  # name of the traced function that it needs
    implicit: bool = False  # whether it can use the Jacobian of what is integrated

    @property
    def fixed(self) -> bool:
        """Whether the user gives the step."""
        return self.exponent == 0.0

    @property
    def explicit(self) -> bool:
        """Whether it is a table of `tableaus` that `explicit` steps through."""
        return self.entry == "runge_kutta"


def _explicit(name: str, order: int, exponent: float = 0.0) -> Method:
    table = TABLEAUS[name]
    return Method("runge_kutta", order, table.size + 3, lambda n: table, exponent)


METHODS: dict[str, Method] = {
    "dop853": _explicit("dop853", 8, 1 / 8),
    "dopri5": _explicit("dopri5", 5, 1 / 5),
    "rk4": _explicit("rk4", 4),
    "sdirk4": Method("implicit_step", 4, 9, sdirk4, 1 / 4, implicit=True),
    "moreau": Method("moreau_step", 1, 4, Learned.of),
    "variational": Method("variational_step", 2, 5, Learned.of, kernel="variational"),
}
