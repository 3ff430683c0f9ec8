"""The registry of methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.errors import ArgumentError
from dalembert.integrators.tableaus import TABLEAUS, sdirk4


@dataclass(frozen=True)
class Kind:
    """A method as `simulate` knows it."""

    make: Callable[[Any, Any], Any]  # of the system and the chart (None: all coordinates)
    fixed: bool  # whether the user gives the step
    kernel: str | None = None  # traced function of its own
    implicit: bool = False  # whether it can use the Jacobian of what is integrated
    check: Callable[[Any, Any, Any, str], None] = lambda system, coordinates, stabilization, formulation: None


def _tableau(name: str) -> Callable[[Any, Any], Any]:
    return lambda system, chart: TABLEAUS[name]


class Variational(NamedTuple):
    """The variational midpoint rule; it has no numbers of its own."""

    order: int = 2
    exponent: float = 0.0
    stages: int = 5


def _sdirk(system: Any, chart: Any) -> Any:
    return sdirk4(system.nq + system.nv if chart is None else 2 * chart.dof)


def _check_variational(system: Any, coordinates: Any, stabilization: Any, formulation: str) -> None:
    if not system.rows.holonomic.all():
        names = dict.fromkeys(c for c, h in zip(system.rows.of, system.rows.holonomic) if not h)
        raise ArgumentError(
            f"method 'variational' needs holonomic constraints; {', '.join(names)} are not. Use 'dop853' or 'rk4'."
        )
    if coordinates is not None or formulation != "auto":
        raise ArgumentError(
            "method 'variational' has its own equations for positions and multipliers: leave coordinates and "
            "formulation as they are."
        )


METHODS: dict[str, Kind] = {
    "dop853": Kind(_tableau("dop853"), fixed=False),
    "dopri5": Kind(_tableau("dopri5"), fixed=False),
    "rk4": Kind(_tableau("rk4"), fixed=True),
    "sdirk4": Kind(_sdirk, fixed=False, implicit=True),
    "variational": Kind(
        lambda system, chart: Variational(), fixed=True, kernel="variational", check=_check_variational
    ),
}
