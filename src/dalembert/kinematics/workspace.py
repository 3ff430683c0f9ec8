"""Workspace and singularity maps: what a mechanism reaches over a grid, and how well."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, AssemblyError, extra, unknown
from dalembert.kinematics.closing import close, follow, same_side, search
from dalembert.kinematics.flood import Branch, Grid, flood
from dalembert.kinematics.held_rows import HeldRows
from dalembert.kinematics.measures import Measuring, usual_rank
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.system.state import State
from dalembert.system.system import System

STARTS = 64  # random positions from which a first one is searched
PLACES = 9  # points of the grid at which it is searched
NEIGHBOURS = 0.6  # rad, or lengths of the mechanism: how far apart positions of neighbours may be
TRIES = 2  # searches at a point that no branch reaches
LARGEST = 2_000_000  # points
APART = 1e-4  # rad, or lengths of the mechanism: positions nearer to each other are the same
SINGULAR = 1e-5  # singular values below are those of a singular position
ROOM = 1e-9  # rad, or lengths of the mechanism: by how much limits may be missed


@dataclass(frozen=True, eq=False)
class Workspace:
    """What a mechanism reaches over a grid; all arrays have the grid's shape, with NaN where nothing is reached.

    `map["B"]` are the values of a coordinate over the grid, `map.state(i, j)` is the state at a point, `map.on(k)` the
    map of one branch alone, `map.plot()` a picture. Where several branches reach a point, its values are those of the
    first of them, in the order they were found: that of the given state first.

    Singular values are those of rows in radians and lengths of the mechanism: 0 in a singular position, about 1 far
    from it.
    """

    system: System
    axes: dict[str, np.ndarray]  # values along each axis of the grid, by name
    reachable: np.ndarray  # bool
    branch: np.ndarray  # int: which branch the values here are of; −1 where nothing is reached
    count: np.ndarray  # int: how many of the branches reach it
    q: np.ndarray  # (*shape, nq) positions
    room: np.ndarray  # rad or lengths of the mechanism to the nearest joint limit; negative outside, ∞ without limits
    loops: np.ndarray  # smallest singular value of the constraints
    serial: np.ndarray  # of the constraints and what the map leads and holds: 0 where it can stand against motion
    parallel: np.ndarray | None  # of the constraints and what is actuated: 0 where actuators lose hold; None unknown
    manipulability: np.ndarray | None  # product of the frame's velocities for unit motions in the metric
    dexterity: np.ndarray | None  # smallest over largest of these: 1 where all directions are alike
    cost: np.ndarray  # int: evaluations of the constraints that each point took
    branches: int  # how many were found
    t: float  # s: the time of drivers, that of the given state
    interrupted: bool  # whether it was ended from outside (Ctrl-C)
    _parts: tuple[Workspace, ...] = field(repr=False, default=())

    def __repr__(self) -> str:
        along = " × ".join(f"{n} ({len(x)})" for n, x in self.axes.items())
        part = f"{100 * self.share:.4g} % reachable"
        return f"<workspace of '{self.system.name}' over {along}: {part}, {self.branches} branch(es)>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the grid."""
        return self.reachable.shape

    @property
    def share(self) -> float:
        """The part of the points that is reachable, 0 … 1."""
        return float(self.reachable.mean())

    @property
    def margin(self) -> np.ndarray:
        """The smallest of `loops`, `serial` and, where it is known, `parallel`."""
        least = np.minimum(self.loops, self.serial)
        return least if self.parallel is None else np.minimum(least, self.parallel)

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of a coordinate over the grid, by its name."""
        names = self.system.q_names
        if not isinstance(name, str) or name not in names:
            raise unknown("coordinate", name, names)
        return self.q[..., names.index(name)]

    def state(self, *index: int) -> State:
        """The state at a point; index: its place along each axis, from 0."""
        if len(index) != len(self.shape):
            raise ArgumentError(f"index has {len(index)} numbers; needed: {len(self.shape)}, one for each axis.")
        place = tuple(checks.whole(k, "index", least=-n, most=n - 1) for k, n in zip(index, self.shape))
        if not self.reachable[place]:
            at = ", ".join(f"{n} = {x[k]:.6g}" for (n, x), k in zip(self.axes.items(), place))
            raise ArgumentError(f"'{self.system.name}' does not reach {at}; see `reachable` for points that it does.")
        return self.system.state(self.q[place], t=self.t)

    def on(self, k: int) -> Workspace:
        """The map of the k-th branch alone, k from 0."""
        parts = self._parts or (self,)
        return parts[checks.whole(k, "k", least=0, most=len(parts) - 1)]

    def plot(self, what: str = "margin", path: str | os.PathLike[str] | None = None) -> Any:
        """A picture of a map with one or two axes: `what` is the name of one of its arrays, or of a coordinate.

        Returns Matplotlib's figure (extra `view`) and writes it to `path` if there is one.
        """
        from dalembert.view.maps import plot_map

        return plot_map(self, what, path)

    def to_xarray(self) -> Any:
        """The map as an `xarray.Dataset` (extra `xarray`), the axes as its coordinates."""
        xarray = extra("xarray", "xarray", "a labelled array of a map")
        names = ["reachable", "branch", "count", "room", "loops", "serial", "parallel", "manipulability", "dexterity"]
        values = {n: getattr(self, n) for n in names}
        dims = tuple(self.axes)
        data = {n: (dims, x) for n, x in values.items() if x is not None}
        data["q"] = ((*dims, "coordinate"), self.q)
        coordinates = {**self.axes, "coordinate": np.array(self.system.q_names, dtype=str)}
        return xarray.Dataset(data, coordinates, {"system": self.system.name})


def workspace(
    system: System,
    grid: Mapping[str, Any],
    state: StateGiven | None = None,
    *,
    held: Mapping[str, float] | None = None,
    frames: Mapping[Any, Any] | None = None,
    of: Any = None,
    actuated: Sequence[str] | None = None,
    metric: str = "actuated",
    limits: bool = True,
    branches: int = 1,
    seed: int = 0,
    p: Parameters = None,
    progress: Callable[[float], Any] | None = None,
) -> Workspace:
    """What a mechanism reaches over a grid of coordinates or of places of a frame, and how far it is from singular.

    system: a compiled `System`. grid: {name: values} along each axis, rising or falling; a name is a coordinate of the
    tree, or "frame.x", "frame.y", "frame.z" of a frame or body in the ground (m). state: where to begin, on the branch
    that is meant; default searched from random positions (seed). held: names like those of the grid, each with one
    value. frames: {frame: goal} as in `assemble`, for orientations that stay.

    of: the frame whose manipulability is wanted, default that of the grid. metric: what a unit motion is, "actuated"
    (the squares of the actuated velocities add up to 1), "mass" (v · M v = 1) or "coordinates" (those of all do, in
    rad/s and lengths of the mechanism). actuated: joints or velocities, default those with motors, else coordinates of
    the grid, else all of an open chain. limits: take only what is within the limits of the joints, and do not pass
    through the rest. branches: how many to look for, first where the map begins, then at points that none reaches. p:
    parameters. progress: called with the part that is done.

    Neighbours start from each other's positions and do not pass singular ones, so a branch is a region without
    singularities of the inverse kinematics. `reachable` tells what the branches reach that were looked for.

    >>> import dalembert as da
    >>> import numpy as np
    >>> arm = da.zoo.chain(2).compile()
    >>> map = da.workspace(arm, {"J1": np.linspace(-1, 1, 5), "J2": np.linspace(-2, 2, 9)}, of="link 2")
    >>> map.shape, map.share
    ((5, 9), 1.0)
    """
    check_system(system)
    values = checks.mapping(grid, "grid")
    if not values:
        raise ArgumentError(
            "the grid has no axes; give coordinates or frames with values, {'tool.x': xs, 'tool.y': ys}."
        )
    start = system.as_state({} if state is None else state)
    rows = HeldRows(system, values, held, frames, p, start.t)
    points = Grid(list(rows.values.values()))
    if points.size > LARGEST:
        raise ArgumentError(f"the grid has {points.size} points; needed: at most {LARGEST}.")
    measuring = Measuring(rows, of, actuated, metric)
    branches = checks.whole(branches, "branches", least=1, most=1000)
    rng = np.random.default_rng(checks.whole(seed, "seed", least=0))
    if progress is not None:
        checks.function(progress, "progress")
    mapping = _Mapping(rows, points, measuring, checks.flag(limits, "limits"), rng, progress)
    try:
        mapping.run(state, branches)
    except KeyboardInterrupt:
        mapping.interrupted = True
    return mapping.result()


class _Mapping:
    """One map in the making."""

    def __init__(
        self,
        rows: HeldRows,
        grid: Grid,
        measuring: Measuring,
        limits: bool,
        rng: np.random.Generator,
        progress: Callable[[float], Any] | None,
    ):
        self.rows, self.grid, self.measuring, self.limits, self.rng = rows, grid, measuring, limits, rng
        self.progress = progress
        self.cost, self.found = np.zeros(grid.size, dtype=int), list[Branch]()
        self.tried = np.zeros(grid.size, dtype=int)
        self.rank, self.reached, self.interrupted = 0, 0, False

    def run(self, state: Any, branches: int) -> None:
        """Find the branches at the beginning, follow each over the grid, and look for what is left."""
        place, q, white = self._begin(state)
        self.rank = usual_rank(self.rows, white)
        for k in range(min(branches, len(q))):
            self._spread(place, q[k], white[k])
        if branches > len(q):
            more, J = self._others(place, q, branches)
            for k in range(len(more)):
                self._spread(place, more[k], J[k])
        self._edges()
        self._islands(branches)

    def allowed(self, q: np.ndarray) -> np.ndarray:
        """(K,) bool: within the limits, if they count."""
        return self.measuring.room(q) >= -ROOM if self.limits else np.ones(len(q), dtype=bool)

    def _done(self, more: int) -> None:
        self.reached += more
        if self.progress is not None:
            self.progress(min(self.reached / self.grid.size, 1.0))

    def _spread(self, place: int, q: np.ndarray, white: np.ndarray) -> None:
        self.found.append(flood(self.rows, self.grid, place, q, white, self.rank, self.cost, self.allowed, self._done))

    def _begin(self, state: Any) -> tuple[int, np.ndarray, np.ndarray]:
        """A point of the grid and a position there: near the given state, else wherever one is found."""
        system, rows, grid = self.rows.system, self.rows, self.grid
        guess = system.as_state({} if state is None else state).q
        here = rows.here(guess[None])
        places = self._places(here[0, : grid.x.shape[1]] if state is not None else grid.x.mean(axis=0))
        if state is not None:
            led = self._walked(guess[None], here, places[0])
            if led is not None:
                return places[0], *led
        for round_, place in enumerate(places):
            x = np.broadcast_to(grid.x[place], (1, grid.x.shape[1]))
            starts = guess[None] if round_ == 0 and state is not None else self._scattered(guess, STARTS)
            found = search(rows, starts, np.broadcast_to(x, (len(starts), x.shape[1])))
            good = found.ok.copy()
            good[good] = self.allowed(found.q[good])
            if good.any():
                near = np.abs(rows.minus(found.q[good], np.broadcast_to(guess, found.q[good].shape)) / rows.reach)
                first = np.flatnonzero(good)[np.argmin(near.max(axis=1, initial=0.0))]
                return place, found.q[[first]], found.white[[first]]
        raise AssemblyError(
            f"'{system.name}' was not brought to any of {len(set(places))} points of the map that were tried. Give a "
            "state on the branch you mean, or a grid nearer to it."
        )

    def _walked(self, q: np.ndarray, here: np.ndarray, place: int) -> tuple[np.ndarray, np.ndarray] | None:
        """From a position that closes along its branch to a point of the grid."""
        rows = self.rows
        at = close(rows, q, here)
        if not at.ok[0]:
            return None
        there = np.concatenate([self.grid.x[place], rows.fixed])[None]
        found = follow(rows, at.q, at.white, here, there, usual_rank(rows, at.white), np.ones(1, dtype=bool))
        return (found.q, found.white) if found.ok[0] and self.allowed(found.q)[0] else None

    def _places(self, near: np.ndarray) -> list[int]:
        """Points to begin at: the nearest one, twice, and then some that are spread over the grid."""
        first = self.grid.nearest(near)
        return [first, first, *self.rng.integers(0, self.grid.size, PLACES).tolist()]

    def _scattered(self, guess: np.ndarray, count: int) -> np.ndarray:
        delta = self.rng.uniform(-1, 1, (count, self.rows.system.nv)) * self.rows.reach
        delta[0] = 0.0
        delta *= np.linspace(0.3, 3.0, count)[:, None]
        return self.rows.plus(np.broadcast_to(guess, (count, len(guess))).copy(), delta)

    def _others(self, place: int, q: np.ndarray, branches: int) -> tuple[np.ndarray, np.ndarray]:
        """Other positions at the same point, from random starts."""
        rows, x = self.rows, self.grid.x[place]
        starts = self._scattered(q[0], max(STARTS, 16 * branches))
        found = search(rows, starts, np.broadcast_to(x, (len(starts), len(x))))
        kept, J = list(q), list[np.ndarray]()
        for k in np.flatnonzero(found.ok):
            if len(kept) == branches:
                break
            if self.allowed(found.q[[k]])[0] and all(self._apart(found.q[k], other) for other in kept):
                kept.append(found.q[k])
                J.append(found.white[k])
        return np.array(kept[len(q) :]).reshape(-1, q.shape[1]), np.array(J)

    def _apart(self, one: np.ndarray, other: np.ndarray) -> bool:
        delta = self.rows.minus(one[None], other[None])[0]
        turned = np.where(self.rows.angular, (delta + np.pi) % (2 * np.pi) - np.pi, delta)
        return bool(np.abs(turned / self.rows.reach).max(initial=0.0) > APART)

    def _edges(self) -> None:
        """Points beside a branch that its neighbours did not lead to, such as those on its very edge."""
        for b in self.found:
            beside = self.grid.beside(b.reached)
            if not len(beside):
                continue
            near = self._nearest_known(b.reached, beside)
            found = search(self.rows, b.q[near], self.grid.x[beside])
            np.add.at(self.cost, beside, found.cost)
            moved = np.abs(self.rows.minus(found.q, b.q[near]) / self.rows.reach).max(axis=1, initial=0.0)
            good = found.ok & (moved < NEIGHBOURS)
            good[good] = self.allowed(found.q[good])
            least = np.linalg.svd(found.white[good], compute_uv=False)[:, self.rank - 1] if self.rank else np.ones(1)
            good[good] = (least < SINGULAR) | same_side(b.white[near][good], found.white[good], self.rank)
            at = beside[good]
            b.reached[at], b.q[at], b.white[at] = True, found.q[good], found.white[good]

    def _islands(self, branches: int) -> None:
        """More branches at points that none reaches yet: from the nearest known position, and from a random one."""
        while len(self.found) < branches:
            known = np.any([b.reached for b in self.found], axis=0)
            left = np.flatnonzero(~known & (self.tried < TRIES))
            if not len(left):
                return
            near = self._nearest_known(known, left)
            owner = np.argmax([b.reached[near] for b in self.found], axis=0)
            q = np.array([self.found[k].q[place] for k, place in zip(owner, near)])
            again = self.tried[left] > 0
            q[again] = self._anywhere(q[again])
            self.tried[left] += 1
            found = search(self.rows, q, self.grid.x[left])
            np.add.at(self.cost, left, found.cost)
            good = found.ok.copy()
            good[good] = self.allowed(found.q[good])
            for k in np.flatnonzero(good):
                if len(self.found) == branches or any(b.reached[left[k]] for b in self.found):
                    continue
                place, more = int(left[k]), branches - len(self.found)
                self._spread(place, found.q[k], found.white[k])
                for q_other, J_other in zip(*self._others(place, found.q[[k]], more)):
                    self._spread(place, q_other, J_other)

    def _anywhere(self, q: np.ndarray) -> np.ndarray:
        """Random positions."""
        return self.rows.plus(q, self.rng.uniform(-3, 3, (len(q), self.rows.system.nv)) * self.rows.reach)

    def _nearest_known(self, known: np.ndarray, left: np.ndarray) -> np.ndarray:
        from scipy.spatial import cKDTree

        places = np.flatnonzero(known)
        _, found = cKDTree(self.grid.x[places] / self.grid.scale).query(self.grid.x[left] / self.grid.scale)
        return places[found]

    # --- the result ---------------------------------------------------------------------------------------------

    def result(self) -> Workspace:
        """The map of all branches, with those of each."""
        if not self.found:
            raise AssemblyError(f"the map of '{self.rows.system.name}' was interrupted before its first point.")
        parts = tuple(self._part(b, k) for k, b in enumerate(self.found))
        if len(parts) == 1:
            return parts[0]
        branch = np.full(parts[0].shape, -1)
        for k in reversed(range(len(parts))):
            branch[parts[k].reachable] = k
        chosen = np.maximum(branch, 0)
        names = ("room", "loops", "serial", "parallel", "manipulability", "dexterity", "q")

        def picked(name: str) -> Any:
            every = [getattr(part, name) for part in parts]
            if every[0] is None:
                return None
            place = chosen[None] if name != "q" else chosen[None, ..., None]
            return np.take_along_axis(np.stack(every), place, axis=0)[0]

        total = np.sum([part.reachable for part in parts], axis=0)
        merged = {name: picked(name) for name in names}
        return replace(
            parts[0], reachable=branch >= 0, branch=branch, count=total, branches=len(parts), _parts=parts, **merged
        )

    def _part(self, b: Branch, number: int) -> Workspace:
        shape, on = self.grid.shape, b.reached
        measured = self.measuring.at(b.q[on], b.white[on], self.rank)

        def spread(x: np.ndarray | None) -> Any:
            if x is None:
                return None
            out = np.full(self.grid.size, np.nan)
            out[on] = x
            return out.reshape(shape)

        return Workspace(
            self.rows.system,
            self.rows.values,
            on.reshape(shape),
            np.where(on, number, -1).reshape(shape),
            on.astype(int).reshape(shape),
            b.q.reshape(*shape, -1),
            spread(self.measuring.room(b.q[on])),
            spread(measured.loops),
            spread(measured.serial),
            spread(measured.parallel),
            spread(measured.manipulability),
            spread(measured.dexterity),
            self.cost.reshape(shape),
            1,
            self.rows.t,
            self.interrupted,
        )
