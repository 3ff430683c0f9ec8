"""The registry of methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A method as `simulate` knows it."""

    make: Callable[[Any, Any], Any]  # of the system and the chart (None: all coordinates)
    fixed: bool  # whether the user gives the step
    kernel: str | None = None  # traced function of its own
    check: Callable[[Any, Any, Any, str], None] = lambda system, coordinates, stabilization, formulation: None


def _tableau(name: str) -> Callable[[Any, Any], Any]:
    def make(system: Any, chart: Any) -> Any:
        from dalembert.integrators import explicit  # noqa: F401  (registers its step)
        from dalembert.integrators.tableaus import tableau

        return tableau(name)

    return make


METHODS: dict[str, Kind] = {
    "dop853": Kind(_tableau("dop853"), fixed=False),
    "dopri5": Kind(_tableau("dopri5"), fixed=False),
    "rk4": Kind(_tableau("rk4"), fixed=True),
}
