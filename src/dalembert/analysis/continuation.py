"""Continuation: the positions of a mechanism along a course, on the branch of a first one.

From a position with the slope q′ (see `course`) a step of length d predicts q ⊕ (q′ d + ½ q″ d²), q″ from the last two
slopes, and Newton's method closes the loops there. Steps are as long as what Newton's method has to correct stays
small, so no step can change its branch. Shortest steps are measured in radians and lengths of the mechanism: freedoms
that are not led stay where the constraints let them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

import numpy as np
from scipy.linalg.lapack import dgesv

from dalembert.analysis.course import Course
from dalembert.lazy import cached_property
from dalembert.protocols import StateLike
from dalembert.rank import Revealed, rank_policy

CLOSED, NEARLY = 1e-12, 1e-10  # rad, or lengths of the mechanism: residuals that are done, or done if they fall no more
ITERATIONS = 12
FAR = 0.1  # rad, or lengths of the mechanism: what a step may have to correct
LONGEST = 0.6  # rad, or lengths of the mechanism: the longest step
SINGULAR = 1e-5  # the smallest singular value at which nodes are put
SMALLEST = 2.0**-30  # of the leg: a branch that goes no farther is lost
NUDGE = 0.07  # of a step: how far nodes are put beside a singular position


@dataclass(frozen=True, eq=False)
class Node:
    """A position on a branch: q at the place x of the course, its slope, and what J is there."""

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
    """The branch of a position q at the beginning of a course; `nodes` are the positions found so far."""

    def __init__(self, course: Course, state: StateLike):
        self.course, system = course, course.system
        self.flat = system.nq == system.nv and list(system.q_names) == list(system.v_names)
        self.policy = rank_policy(system, course.parameters_at(float(course.wanted[0])))
        self.R, self.Rinv = np.diag(1 / course.reach), np.diag(course.reach)
        self.scale = course.units
        self.weights = course.reach / course.units[:, None]
        self.rank, self.step = 0, np.inf
        self.nodes: list[Node] = []
        self.first_nodes: list[Node] = []
        self.first_slope: np.ndarray | None = None  # where the first position is singular: of the branch taken

    # --- one position -------------------------------------------------------------------------------------------

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ δ, (nq,)."""
        return q + delta if self.flat else self.course.system.plus(q, delta)

    def minus(self, q1: np.ndarray, q0: np.ndarray) -> np.ndarray:
        """δ with q0 ⊕ δ = q1, (nv,)."""
        return q1 - q0 if self.flat else self.course.system.minus(q1, q0)

    def size(self, delta: np.ndarray) -> float:
        """The largest part of a motion, rad or lengths of the mechanism."""
        return _largest(delta / self.course.reach)

    def solve(self, f: Revealed, right: np.ndarray) -> np.ndarray:
        """The shortest δ that brings J δ nearest to `right`."""
        return self.course.reach * f.solve(right / self.scale)

    def _step(self, white: np.ndarray, away: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The shortest δ that J takes nearest to `away`, scaled, and its largest part; None where J is not finite."""
        if white.shape[0] == white.shape[1]:
            _, _, delta, failed = dgesv(white, away)
            size = _largest(delta)
            if not failed and size < FAR:  # far from singular, or nearly there
                return delta, size
        if not np.isfinite(white).all():
            return None
        delta = self.policy.reveal(white, 1.0).solve(away)
        return delta, _largest(delta)

    def closed(self, x: float, q: np.ndarray, far: float = 2 * FAR) -> Node | None:
        """The position at a place near a guess q, by Newton's method; None where none is within `far`."""
        last = np.inf
        for _ in range(ITERATIONS):
            away, J, g = self.course.equations(q, x)
            away, white = away / self.scale, J * self.weights
            gap = _largest(away)
            if gap <= CLOSED or (gap <= NEARLY and gap >= 0.5 * last):
                if not np.isfinite(white).all():
                    return None
                f = self.policy.reveal(white, 1.0)
                return Node(x, q, self.solve(f, g), white, f)
            if not gap <= 10 * last or not isfinite(gap):
                return None
            step = self._step(white, away)
            if step is None or not step[1] <= far:
                return None
            q, last = self.plus(q, -self.course.reach * step[0]), gap
        return None

    # --- along the course ---------------------------------------------------------------------------------------

    def begin(self, x: float, q: np.ndarray) -> Node | None:
        """The first node."""
        node = self.closed(x, q)
        if node is not None:
            self.nodes.append(node)
            self.rank = max(self.rank, node.revealed.rank)
        return node

    def advance(self, end: float) -> Node | None:
        """The next node on the way to a place, or a little beyond it where it is singular; None if there is none."""
        node, way = self.nodes[-1], end - self.nodes[-1].x
        size = max(self.size(node.slope), 1e-300)
        d = np.sign(way) * min(abs(way), self.step, LONGEST / size)
        while abs(d) > SMALLEST * max(abs(way), self.course.span()):
            x = end if abs(way - d) <= 0.01 * abs(d) else node.x + d
            new, missed = self._tried(x)
            if new is not None and new.least(self.rank) < SINGULAR:
                new, missed = self._beside(x, d)
            if new is not None:
                self.step = abs(d) * (2.0 if missed < 0.2 * FAR else 1.0 if missed < 0.5 * FAR else 0.7)
                self.rank = max(self.rank, new.revealed.rank)
                self.nodes.append(new)
                return new
            d *= 0.5
            if abs(d) < 1e-3 * abs(self.step) and np.isfinite(self.step):
                break
        self.step = abs(d)
        return None

    def _tried(self, x: float) -> tuple[Node | None, float]:
        """The node at a place if one step leads there, and what had to be corrected."""
        node, d = self.nodes[-1], x - self.nodes[-1].x
        ahead = node.slope * d
        if len(self.nodes) > 1 and self.nodes[-2].x != node.x:
            before = self.nodes[-2]
            bend = (node.slope - before.slope) / (node.x - before.x)
            if self.size(bend * d * d) < LONGEST:
                ahead = ahead + 0.5 * d * d * bend
        guess = self.plus(node.q, ahead)
        new = self.closed(x, guess)
        if new is None:
            return None, np.inf
        missed = self.size(self.minus(new.q, guess))
        turned = 0.25 * self.size((new.slope - node.slope) * d) if new.revealed.rank >= self.rank else 0.0
        return (new, max(missed, turned)) if max(missed, turned) <= FAR else (None, np.inf)

    def _beside(self, x: float, d: float) -> tuple[Node | None, float]:
        """A node a little farther than a singular place."""
        for k in range(1, 4):
            new, missed = self._tried(x + k * NUDGE * d)
            if new is not None and new.least(self.rank) >= SINGULAR:
                return new, missed
        return None, np.inf

    # --- between nodes ------------------------------------------------------------------------------------------

    def between(self, a: Node, b: Node, x: np.ndarray) -> np.ndarray:
        """(N, nq) positions at places between two nodes by Hermite's cubic: guesses."""
        return self.guesses([a, b], np.zeros(len(x), dtype=int), np.asarray(x))

    def guesses(self, nodes: list[Node], which: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(N, nq) the same for many places, x[i] between the nodes which[i] and which[i] + 1 (or at the only one)."""
        after = np.minimum(which + 1, len(nodes) - 1)
        at, q, slope = (
            np.array([n.x for n in nodes]),
            np.array([n.q for n in nodes]),
            np.array([n.slope for n in nodes]),
        )
        rise = np.array([self.minus(b.q, a.q) for a, b in pairwise(nodes)] or [np.zeros(slope.shape[1])])
        d = at[after] - at[which]
        s = ((x - at[which]) / np.where(d, d, 1.0))[:, None]
        ends = d[:, None] * ((1 - s) * slope[which] - s * slope[after])
        rest = s * s * (3 - 2 * s) * rise[which] + s * (1 - s) * ends
        if self.flat:
            return q[which] + rest
        return np.array([self.plus(q[k], r) for k, r in zip(which, rest)]).reshape(len(x), q.shape[1])


def _largest(x: np.ndarray) -> float:
    """max |x|, 0 of nothing; NaN if one is."""
    values = x.tolist()  # for a few numbers quicker than NumPy
    if not values:
        return 0.0
    size = max(map(abs, values))
    return size if size == size and isfinite(sum(values)) else float(np.abs(x).max())


def far_from_singular(X: np.ndarray, least: float) -> np.ndarray | None:
    """The inverses of square matrices X, (K, n, n), if their singular values are all above `least`; else None."""
    if X.shape[-1] != X.shape[-2] or not len(X):
        return None
    try:
        inverse = np.linalg.inv(X)
    except np.linalg.LinAlgError:
        return None
    # σ_min = 1 / ‖X⁻¹‖₂ ≥ 1 / ‖X⁻¹‖_F; a NaN fails the comparison
    return inverse if bool((np.einsum("kij,kij->k", inverse, inverse) < least**-2).all()) else None
