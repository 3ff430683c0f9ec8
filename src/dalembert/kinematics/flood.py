"""One branch over a grid: from a first point to its neighbours, from these to theirs, all of a front at once.

A point is reached from a neighbour by a step along the branch; the determinant of J must not change its sign on the
way, so a branch never passes a singular position of (1) of `branch.map_rows`. A point that is not reached from one
neighbour is tried from the others, as they are reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.branch.following import follow
from dalembert.branch.map_rows import MapRows

SLOW = 2  # times that a point is tried in short steps


@dataclass(eq=False)
class MapBranch:
    """The points of a grid, counted through, that a branch reaches."""

    reached: np.ndarray  # (points,) bool
    q: np.ndarray  # (points, nq), NaN where not reached
    white: np.ndarray  # (points, rows, nv)


class Grid:
    """The points of a map: their places, values and neighbours."""

    def __init__(self, values: list[np.ndarray]):
        self.shape = tuple(len(v) for v in values)
        self.x = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(values))
        self.size = len(self.x)
        self.scale = np.array([max(abs(v[-1] - v[0]), 1e-300) for v in values])
        number = np.arange(self.size).reshape(self.shape)
        pairs = []
        for axis in range(len(values)):
            low = np.take(number, range(self.shape[axis] - 1), axis=axis).ravel()
            high = np.take(number, range(1, self.shape[axis]), axis=axis).ravel()
            pairs += [np.column_stack([low, high]), np.column_stack([high, low])]
        #: (edges, 2) from a point to a neighbour
        self.edges = np.vstack([np.zeros((0, 2), dtype=int), *pairs])

    def nearest(self, x: np.ndarray, among: np.ndarray | None = None) -> int:
        """The point nearest to values, (axes,), of those in `among`."""
        far = np.square((self.x - x) / self.scale).sum(axis=1)
        return int(np.argmin(far if among is None else np.where(among, far, np.inf)))

    def beside(self, reached: np.ndarray) -> np.ndarray:
        """Points that are not reached and have a neighbour, also across a corner, that is."""
        grown = reached.reshape(self.shape)
        for axis in range(len(self.shape)):
            low, high = np.roll(grown, 1, axis), np.roll(grown, -1, axis)
            first, last = [slice(None)] * grown.ndim, [slice(None)] * grown.ndim
            first[axis], last[axis] = slice(0, 1), slice(-1, None)
            low[tuple(first)], high[tuple(last)] = False, False
            grown = grown | low | high
        return np.flatnonzero(grown.ravel() & ~reached)


def flood(
    rows: MapRows,
    grid: Grid,
    first: int,
    q: np.ndarray,
    white: np.ndarray,
    rank: int,
    cost: np.ndarray,
    allowed: Callable[[np.ndarray], np.ndarray],
    done: Callable[[int], None],
) -> MapBranch:
    """The branch of a position q at the point `first`; `allowed` says of positions, (K, nq), whether they count.

    cost, (points,), grows by the evaluations that each point took.
    """
    branch = MapBranch(
        np.zeros(grid.size, dtype=bool),
        np.full((grid.size, rows.system.nq), np.nan),
        np.zeros((grid.size, *white.shape)),
    )
    branch.reached[first], branch.q[first], branch.white[first] = True, q, white
    slow = np.zeros(grid.size, dtype=int)
    edges, untried = grid.edges, np.ones(len(grid.edges), dtype=bool)
    while True:
        ready = np.flatnonzero(untried & branch.reached[edges[:, 0]] & ~branch.reached[edges[:, 1]])
        if not len(ready):
            return branch
        ready = ready[np.unique(edges[ready, 1], return_index=True)[1]]  # one way to each point
        untried[ready] = False
        a, b = edges[ready].T
        found = follow(rows, branch.q[a], branch.white[a], grid.x[a], grid.x[b], rank, slow[b] < SLOW)
        slow[b[~found.ok]] += 1
        np.add.at(cost, b, found.cost)
        good = found.ok.copy()
        good[good] = allowed(found.q[good])
        branch.reached[b[good]] = True
        branch.q[b[good]], branch.white[b[good]] = found.q[good], found.white[good]
        done(int(good.sum()))
