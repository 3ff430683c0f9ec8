"""Singular passages of a run: where the constraints became dependent, which ones, and whether the way was unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis.manifold import tangent


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the run on which the constraints were dependent, or nearly so, and the rank had to be revealed."""

    start: float  # s
    end: float
    rank: int  # the smallest used
    steps: int
    nearest: float  # s: when the smallest singular value was least
    distance: float  # that value over the largest, in the mass metric
    rows: tuple[str, ...]  # constraint rows that depend on each other there
    branches: bool  # whether the motion may go on in more than one way

    def __str__(self) -> str:
        way = "; the motion may go on in more than one way" if self.branches else ""
        return (
            f"from t = {self.start:.6g} to {self.end:.6g} s the constraints {', '.join(self.rows)} were nearly "
            f"dependent (rank {self.rank}, smallest singular value {self.distance:.1e} of the largest){way}"
        )


def describe(
    system: Any,
    state: Any,
    p: Any,
    span: tuple[float, float],
    rank: int,
    usual: int,
    steps: int,
    least: tuple[float, float],
) -> Passage:
    """A passage, with what a state in it tells of the constraints; `usual` is their rank elsewhere.

    With wᵀA ≈ 0 and K the motions allowed once that dependency is admitted, the motion may go on along K y with
    wᵀ γ(q, K y) = 0 (the second-order condition of the constraints). More than one line of y where this form is
    indefinite: branches cross.
    """
    t = tangent(system, state, p, np.ones(len(system.rows.of), dtype=bool))
    r = min(rank, usual - 1)
    weak = t.U[:, r]
    rows = tuple(n for n, w in zip(system.row_names, weak) if abs(w) > 0.1)
    K = np.linalg.solve(t.R, t.V[:, r:])
    return Passage(*span, rank, steps, least[1], least[0], rows, _indefinite(system, state, p, weak, K))


def _indefinite(system: Any, state: Any, p: Any, w: np.ndarray, K: np.ndarray) -> bool:
    """Whether y ↦ wᵀ γ(q, K y) takes both signs."""
    if not system.rows.holonomic.all():
        return False

    def form(y: np.ndarray) -> float:
        return float(w @ system.constraint_gamma(state.replace(v=K @ y), p=p))

    n = K.shape[1]
    rest = form(np.zeros(n))  # of driven constraints
    one = np.eye(n)
    Q = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            Q[i, j] = Q[j, i] = (form(one[i] + one[j]) - form(one[i] - one[j])) / 4
    values = np.linalg.eigvalsh(Q) if n else np.zeros(0)
    size = np.abs(values).max(initial=0.0)
    return bool(n and rest == 0.0 and size > 0 and values[0] < -1e-3 * size and values[-1] > 1e-3 * size)
