"""One search for a closed position, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dalembert.branch.closing import close
from dalembert.branch.mirrors import reversed_axes
from dalembert.branch.policy import POLICY
from dalembert.branch.rows import BranchRows, undefined


@dataclass(slots=True, eq=False)
class Ending:
    """The end of one search."""

    rows: BranchRows
    q: np.ndarray  # (nq,)
    residuals: np.ndarray  # (rows,) e of `rows`
    small: bool  # every residual is below the tolerance
    iterations: int
    contraction: float
    mirrored: dict[str, str] = field(default_factory=dict)  # constraints on a mirror branch, and what is wrong there

    @property
    def closed(self) -> bool:
        """Whether every constraint holds, on the branch that is meant."""
        return self.small and not self.mirrored

    @property
    def gap(self) -> float:
        """The largest residual, rad or lengths of the mechanism."""
        return float(np.abs(self.residuals).max(initial=0.0))

    @property
    def phi(self) -> np.ndarray:
        """(active holonomic rows,) Φ, m or rad."""
        m = len(self.rows.positions)
        return self.residuals[:m] * self.rows.units[0, :m]

    def moved(self, q: np.ndarray) -> Ending:
        """The same search, with the position it is to be explained by."""
        return replace(self, q=q, residuals=self.rows.equations(q[None], np.zeros(1, dtype=int))[0][0])


def close_one(rows: BranchRows, q: np.ndarray, tolerance: float = POLICY.tolerance) -> Ending:
    """Search from q (nq,); raises UndefinedHere where the rows are not defined on the way."""
    found = close(rows, q[None], tolerance=tolerance)
    if not np.isfinite(found.residuals[0]).all() or not found.iterations[0]:
        at, k = found.q, np.zeros(1, dtype=int)
        _, A, _ = rows.constraints(at, k)
        raise undefined(A[0, rows.on], rows.values("mass_matrix", at, k).reshape(rows.system.nv, rows.system.nv))
    small = bool(found.small[0])
    wrong = {}
    if small and not found.meant[0]:
        wrong = reversed_axes(rows.system, rows.values("branch", found.q, np.zeros(1, dtype=int)).ravel(), rows.on)
    return Ending(
        rows, found.q[0], found.residuals[0], small, int(found.iterations[0]), float(found.contraction[0]), wrong
    )
