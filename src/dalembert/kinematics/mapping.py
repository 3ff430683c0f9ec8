"""One map in the making: where to begin, its branches one by one, and what they leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.branch.following import close, follow, same_side, search
from dalembert.branch.map_rows import MapRows
from dalembert.branch.policy import POLICY
from dalembert.errors import AssemblyError
from dalembert.kinematics.flood import Grid, MapBranch, flood
from dalembert.kinematics.measures import Measuring, usual_rank
from dalembert.kinematics.result import Workspace
from dalembert.protocols import StateGiven

STARTS = 64  # random positions from which a first one is searched
PLACES = 9  # points of the grid at which it is searched
TRIES = 2  # searches at a point that no branch reaches


class MapInTheMaking:
    """One map in the making."""

    def __init__(
        self,
        rows: MapRows,
        grid: Grid,
        measuring: Measuring,
        limits: bool,
        rng: np.random.Generator,
        progress: Callable[[float], Any] | None,
    ):
        self.rows, self.grid, self.measuring, self.limits, self.rng = rows, grid, measuring, limits, rng
        self.progress = progress
        self.cost, self.found = np.zeros(grid.size, dtype=int), list[MapBranch]()
        self.tried = np.zeros(grid.size, dtype=int)
        self.rank, self.reached, self.interrupted = 0, 0, False

    def run(self, state: StateGiven | None, branches: int) -> None:
        """Find the branches at the beginning, follow each over the grid, and look for what is left."""
        place, q, white = self._begin(state)
        self.rank = usual_rank(self.rows, white)
        self.measuring.drop_assumed(self.rank)
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
        return self.measuring.room(q) >= -POLICY.had if self.limits else np.ones(len(q), dtype=bool)

    def _done(self, more: int) -> None:
        self.reached += more
        if self.progress is not None:
            self.progress(min(self.reached / self.grid.size, 1.0))

    def _spread(self, place: int, q: np.ndarray, white: np.ndarray) -> None:
        self.found.append(flood(self.rows, self.grid, place, q, white, self.rank, self.cost, self.allowed, self._done))

    def _begin(self, state: StateGiven | None) -> tuple[int, np.ndarray, np.ndarray]:
        """A point of the grid and a position there: near the given state, else wherever one is found."""
        system, rows, grid = self.rows.system, self.rows, self.grid
        guess = system.arguments.as_state({} if state is None else state).q
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
        return bool(np.abs(turned / self.rows.reach).max(initial=0.0) > POLICY.same)

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
            good = found.ok & (moved < POLICY.longest)
            good[good] = self.allowed(found.q[good])
            least = np.linalg.svd(found.white[good], compute_uv=False)[:, self.rank - 1] if self.rank else np.ones(1)
            good[good] = (least < POLICY.singular) | same_side(b.white[near][good], found.white[good], self.rank)
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

    def _part(self, b: MapBranch, number: int) -> Workspace:
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
            self.rows.p,
            self.interrupted,
        )
