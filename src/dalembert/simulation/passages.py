"""Singular passages of a run: where the constraints became dependent, which ones, and whether the way was unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis.manifold import tangent
from dalembert.system.state import State
from dalembert.system.system import System

LOW = 1e-2  # margin of a step (squared sine) below which it is looked at more closely
CLOSE = 1e-2  # sine between rows, or length of a row over its usual one, that is reported


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of the run on which the constraints were dependent, or nearly so.

    Within about 1e-4 of the singular position the rank had to be revealed, by so many careful `steps`. An ordinary step
    that led over it, or passed it at a distance, has none.
    """

    start: float  # s
    end: float
    rank: int  # the smallest used
    steps: int  # careful ones
    nearest: float  # s: when the smallest singular value was least
    distance: float  # that value over the largest; without careful steps, the sine between rows or their length
    rows: tuple[str, ...]  # constraint rows that depend on each other there
    branches: bool  # whether the motion may go on in more than one way

    def __str__(self) -> str:
        way = "; the motion may go on in more than one way" if self.branches else ""
        return (
            f"from t = {self.start:.6g} to {self.end:.6g} s the constraints {', '.join(self.rows)} were nearly "
            f"dependent (rank {self.rank}, smallest singular value {self.distance:.1e} of the largest){way}"
        )


def describe(
    system: System,
    state: State,
    p: np.ndarray,
    span: tuple[float, float],
    rank: int,
    usual: int,
    steps: int,
    least: tuple[float, float],
) -> Passage:
    """A passage, with what a state in it tells of the constraints; `usual` is their rank elsewhere.

    With wᵀA ≈ 0 and K the motions allowed once that dependency is admitted, the motion may go on along K y with
    wᵀ γ(q, K y) = 0 (the second-order condition of the constraints). Where this form is indefinite branches cross;
    where it is only semidefinite they may touch; where it is definite no motion leads through.
    """
    t = tangent(system, state, p, np.ones(len(system.rows.of), dtype=bool))
    r = min(rank, usual - 1)
    weak = t.U[:, r]
    rows = tuple(n for n, w in zip(system.row_names, weak) if abs(w) > 0.1)
    K = np.linalg.solve(t.R, t.V[:, r:])
    distance = min(least[0], float(t.sigma[r] / t.sigma[0]))  # careful steps at lower rank saw the others only
    return Passage(*span, rank, steps, least[1], distance, rows, _may_branch(system, state, p, weak / t.scale, K))


def approaches(system: System, p: np.ndarray, usual: int, dense: Any, skip: Any) -> list[Passage]:
    """Singular positions that ordinary steps led past or over: minima of the margin, looked at between the records."""
    margin, times, nq, n = dense.states[:, -1], dense.times, system.nq, system.nq + system.nv
    if not usual or len(margin) < 3 or margin.min() > LOW:
        return []
    from scipy.optimize import minimize_scalar

    found: list[Passage] = []
    low = (margin[1:-1] < LOW) & (margin[1:-1] <= margin[:-2]) & (margin[1:-1] < margin[2:])
    for k in np.flatnonzero(low) + 1:
        a, b = float(times[k - 1]), float(times[k + 1])

        def at(s: float, a: float = a, b: float = b) -> float:
            return dense.margin(a + s * (b - a))

        t = a + (b - a) * float(minimize_scalar(at, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-7}).x)
        least = dense.margin(t)
        if any(o.start - (b - a) <= t <= o.end + (b - a) for o in (*skip, *found)) or least > CLOSE**2:
            continue
        if least >= min(dense.margin(a), dense.margin(b)):  # no minimum between them
            continue
        row = dense.rows(np.array([t]))[0]
        state = system.state(row[:nq], row[nq:n], t)
        found.append(describe(system, state, p, (a, b), usual, usual, 0, (max(least, 0.0) ** 0.5, t)))
    return found


def _may_branch(system: System, state: State, p: np.ndarray, w: np.ndarray, K: np.ndarray) -> bool:
    """Whether y ↦ wᵀ γ(q, K y) vanishes for more y than 0; not said of nonholonomic and accelerated rows."""
    if not system.rows.holonomic.all():
        return False

    kernel, n = system.kernel("gamma"), K.shape[1]
    if "v" not in kernel.names_in or not n:
        return False
    i, j = np.triu_indices(n)
    y = np.vstack([np.zeros(n), np.eye(n)[i] + np.eye(n)[j]])
    given = {"q": state.q, "v": y @ K.T, "p": system.parameter_vector(p), "t": state.t}
    rest, *form = kernel.batch(*(given[name] for name in kernel.names_in)).reshape(len(y), -1) @ w
    S = np.zeros((n, n))
    S[i, j] = S[j, i] = form  # Q_ii + Q_jj + 2 Q_ij
    Q = (S - np.diag(S) / 4 - np.diag(S)[:, None] / 4) / 2
    values = np.linalg.eigvalsh(Q)
    size = np.abs(values).max()
    return bool(rest == 0.0 and values[0] <= 1e-3 * size and values[-1] >= -1e-3 * size)
