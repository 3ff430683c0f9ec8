"""Continuation: the positions of a mechanism along a path, on the branch of a first one.

From a position with the slope q′ (see `path`) a step of length d predicts q ⊕ (q′ d + ½ q″ d²), q″ from the last two
slopes, and Newton's method closes the loops there. Steps are as long as what Newton's method has to correct stays
small, so no step can change its branch. Shortest steps are measured in radians and lengths of the mechanism: freedoms
that are not led stay where the constraints let them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dalembert.branch.corrector import correct, largest
from dalembert.branch.path import PrescribedPath
from dalembert.branch.policy import POLICY
from dalembert.lazy import cached_property
from dalembert.protocols import StateLike
from dalembert.rank import Revealed, rank_policy


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A position on a branch: q at the place x of the path, its slope, and what J is there."""

    x: float
    q: np.ndarray  # (nq,)
    slope: np.ndarray  # (nv,) q′
    white: np.ndarray  # (rows, nv) J scaled, in the metric
    revealed: Revealed

    @cached_property
    def orientation(self) -> float:
        """The sign of the determinant of J, where it is square."""
        return float(np.linalg.slogdet(self.white)[0])

    def least(self, rank: int) -> float:
        """The smallest of `rank` singular values: 0 in a singular position, about 1 far from it."""
        return float(self.revealed.sigma[rank - 1]) if rank else 1.0


class Continuation:
    """The branch of a position q at the beginning of a path; `points` are the positions found so far."""

    def __init__(self, path: PrescribedPath, state: StateLike):
        self.path, system = path, path.system
        self.flat = system.nq == system.nv and list(system.q_names) == list(system.v_names)
        self.policy = rank_policy(system, path.parameters_at(float(path.wanted[0])))
        self.R, self.Rinv = np.diag(1 / path.reach), np.diag(path.reach)
        self.scale = path.units
        self.weights = path.reach / path.units[:, None]
        self.rank, self.step = 0, np.inf
        self.points: list[CurvePoint] = []
        self.first_points: list[CurvePoint] = []
        self.first_slope: np.ndarray | None = None  # where the first position is singular: of the branch taken

    # --- one position -------------------------------------------------------------------------------------------

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ δ, (nq,)."""
        return q + delta if self.flat else self.path.system.plus(q, delta)

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """δ with q0 ⊕ δ = q1, (nv,)."""
        return q1 - q0 if self.flat else self.path.system.minus(q1, q0)

    def size(self, delta: np.ndarray) -> float:
        """The largest part of a motion, rad or lengths of the mechanism."""
        return largest(delta / self.path.reach)

    def solve(self, f: Revealed, right: np.ndarray) -> np.ndarray:
        """The shortest δ that brings J δ nearest to `right`."""
        return self.path.reach * f.solve(right / self.scale)

    def at(self, q: np.ndarray, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals of (1) of `path` and J, scaled, and g."""
        away, J, g = self.path.equations(q, x)
        return away / self.scale, J * self.weights, g

    def newton(self, J: np.ndarray, e: np.ndarray, far: float) -> tuple[np.ndarray, float] | None:
        """The shortest δ that J takes nearest to e, scaled, and its largest part; None where J is not finite."""
        if J.shape[0] == J.shape[1]:
            with suppress(np.linalg.LinAlgError):
                delta = np.linalg.solve(J, e)
                size = largest(delta)
                if size < 0.5 * far:  # far from singular, or nearly there
                    return delta, size
        if not np.isfinite(J).all():
            return None
        delta = self.policy.reveal(J, 1.0).solve(e)
        return delta, largest(delta)

    def moved(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ reach · δ, (nq,)."""
        return self.plus(q, self.path.reach * delta)

    def closed(self, x: float, q: np.ndarray, far: float = 2 * POLICY.corrected) -> CurvePoint | None:
        """The point at a place near a guess q; None where none is within `far`."""
        found = correct(self, q, x, far)
        if found is None or not np.isfinite(found.J).all():
            return None
        f = self.policy.reveal(found.J, 1.0)
        return CurvePoint(x, found.q, self.solve(f, found.more), found.J, f)

    # --- along the path ---------------------------------------------------------------------------------------

    def begin(self, x: float, q: np.ndarray) -> CurvePoint | None:
        """The first point."""
        point = self.closed(x, q)
        if point is not None:
            self.points.append(point)
            self.rank = max(self.rank, point.revealed.rank)
        return point

    def advance(self, end: float) -> CurvePoint | None:
        """The next point on the way to a place, or a little beyond it where it is singular; None if there is none."""
        point, way = self.points[-1], end - self.points[-1].x
        size = max(self.size(point.slope), 1e-300)
        d = np.sign(way) * min(abs(way), self.step, POLICY.longest / size)
        while abs(d) > POLICY.smallest * max(abs(way), self.path.span):
            x = end if abs(way - d) <= 0.01 * abs(d) else point.x + d
            new, missed = self._tried(x)
            if new is not None and new.least(self.rank) < POLICY.singular:
                new, missed = self._beside(x, d)
            if new is not None:
                part = missed / POLICY.corrected
                self.step = abs(d) * (2.0 if part < 0.2 else 1.0 if part < 0.5 else 0.7)
                self.rank = max(self.rank, new.revealed.rank)
                self.points.append(new)
                return new
            d *= 0.5
            if abs(d) < 1e-3 * abs(self.step) and np.isfinite(self.step):
                break
        self.step = abs(d)
        return None

    def _tried(self, x: float) -> tuple[CurvePoint | None, float]:
        """The point at a place if one step leads there, and what had to be corrected."""
        point, d = self.points[-1], x - self.points[-1].x
        ahead = point.slope * d
        if len(self.points) > 1 and self.points[-2].x != point.x:
            before = self.points[-2]
            bend = (point.slope - before.slope) / (point.x - before.x)
            if self.size(bend * d * d) < POLICY.longest:
                ahead = ahead + 0.5 * d * d * bend
        guess = self.plus(point.q, ahead)
        new = self.closed(x, guess)
        if new is None:
            return None, np.inf
        missed = self.size(self.minus(new.q, guess))
        turned = 0.25 * self.size((new.slope - point.slope) * d) if new.revealed.rank >= self.rank else 0.0
        return (new, max(missed, turned)) if max(missed, turned) <= POLICY.corrected else (None, np.inf)

    def _beside(self, x: float, d: float) -> tuple[CurvePoint | None, float]:
        """A point a little farther than a singular place."""
        for k in range(1, 4):
            new, missed = self._tried(x + k * POLICY.aside * d)
            if new is not None and new.least(self.rank) >= POLICY.singular:
                return new, missed
        return None, np.inf

    # --- between points ------------------------------------------------------------------------------------------

    def between(self, a: CurvePoint, b: CurvePoint, x: np.ndarray) -> np.ndarray:
        """(N, nq) positions at places between two points by Hermite's cubic: guesses."""
        return self.guesses([a, b], np.zeros(len(x), dtype=int), np.asarray(x))

    def guesses(self, points: list[CurvePoint], which: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(N, nq) the same for many places, x[i] between the points which[i] and which[i] + 1 (or at the only one)."""
        after = np.minimum(which + 1, len(points) - 1)
        at, q, slope = (
            np.array([n.x for n in points]),
            np.array([n.q for n in points]),
            np.array([n.slope for n in points]),
        )
        rise = np.array([self.minus(b.q, a.q) for a, b in pairwise(points)] or [np.zeros(slope.shape[1])])
        d = at[after] - at[which]
        s = ((x - at[which]) / np.where(d, d, 1.0))[:, None]
        ends = d[:, None] * ((1 - s) * slope[which] - s * slope[after])
        rest = s * s * (3 - 2 * s) * rise[which] + s * (1 - s) * ends
        if self.flat:
            return q[which] + rest
        return np.array([self.plus(q[k], r) for k, r in zip(which, rest)]).reshape(len(x), q.shape[1])
