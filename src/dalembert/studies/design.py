"""The result of `optimize`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import animated, state_rows
from dalembert.analysis.motion_columns import position_units
from dalembert.studies.estimated import Estimated, aligned
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns


@dataclass(frozen=True, eq=False, repr=False)
class Design(Estimated):
    """Parameters that serve a purpose best: `design["l1"]`, `design.system`, `design.states`; printed as a table.

    The table of `to_pandas` has, in each position of the path, what was wanted and what was reached.
    """

    system: System  # with the parameters found
    names: tuple[str, ...]  # (m,) of the parameters
    estimate: np.ndarray  # (m,)
    first: np.ndarray  # (m,) parameters that the search began with
    path: Mapping[str, np.ndarray]  # (K,) of each coordinate that is led
    of: tuple[str, ...]  # (k,) quantities
    target: np.ndarray  # (K, k)
    reached: np.ndarray  # (K, k)
    before: np.ndarray | None  # (K, k) with the parameters it began with; None if these cannot be led all the way
    limited: Mapping[str, np.ndarray]  # (K,) of each limit
    at_bound: tuple[str, ...]  # parameters at a bound
    states: tuple[State, ...]  # (K,) the positions
    success: bool
    kept: bool  # whether all limits hold

    @property
    def error(self) -> float:
        """Root mean square of what is missed, in the unit of the quantities."""
        return float(np.sqrt(np.mean((self.reached - self.target) ** 2)))

    @property
    def message(self) -> str:
        """How the search ended, and what it leaves open."""
        said = "converged" if self.success else "not converged"
        if not self.kept:
            said += "; the limits cannot be kept"
        if self.at_bound:
            said += f"; at a bound: {', '.join(self.at_bound)}"
        return said

    def state(self, k: int) -> State:
        """The k-th position, k from 0; negative k count from the end."""
        return self.states[checks.whole(k, "k", least=-len(self.states), most=len(self.states) - 1)]

    def animate(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """The positions one after another as one HTML file at path; options of `dalembert.view.animate`."""
        one = state_rows(self.system, np.array([x.q for x in self.states]))
        return animated(self.system, one, repr(self)[1:-1], path, options)

    def _columns(self) -> Columns:
        values = {name: np.asarray(x) for name, x in self.path.items()}
        for k, name in enumerate(self.of):
            values |= {f"{name}.target": self.target[:, k], f"{name}.reached": self.reached[:, k]}
        values |= {f"limit.{name}": x for name, x in self.limited.items()}
        of = dict(zip(self.system.q_names, position_units(self.system)))
        units = {name: of.get(name.removesuffix(".target").removesuffix(".reached"), "") for name in values}
        along = next(iter(self.path)) if len(self.path) == 1 else ""
        return Columns(repr(self)[1:-1], "position", np.arange(len(self.target)), values, units, along=along)

    def __str__(self) -> str:
        cells = [["", "before", "after"]]
        cells += [[n, f"{a:.6g}", f"{b:.6g}"] for n, a, b in zip(self.names, self.first, self.estimate)]
        missed = None if self.before is None else float(np.sqrt(np.mean((self.before - self.target) ** 2)))
        cells.append(["missed by (rms)", "–" if missed is None else f"{missed:.3g}", f"{self.error:.3g}"])
        return "\n".join([repr(self)[1:-1], *aligned(cells)])

    def __repr__(self) -> str:
        return f"<design of '{self.system.name}' in {len(self.target)} positions: {self.message}>"
