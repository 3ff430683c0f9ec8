"""Dragging: a position follows a goal on its own branch, loops closed at every step.

    min ½ ‖e(q)‖² + ½ μ² ‖W δ‖²   over   Φ(q) = 0,   slack(q) ≥ 0                                              (1)

e is how far a point of a body is from where it is drawn to, or a coordinate from its slider. A step of (1) is taken in
the null space of the rows, δ = N y, and closed again by Newton's method with the factors it began with. It counts only
where what had to be closed is short beside δ and the null space turned by less than an angle: so no step changes its
branch, and the position stops, or slides along, where the branch does not lead on. Slacks are those of joint limits,
contacts and ropes; one that is used up is a row like those of the loops until the drag ends. Lengths are radians and
lengths of the mechanism throughout.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, unknown
from dalembert.protocols import Parameters
from dalembert.rank import angular_velocities, rank_policy
from dalembert.studio.bounds import ROOM, PositionBounds
from dalembert.system.system import System

CLOSED = 1e-11  # of a residual: loops are closed
ITERATIONS = 12  # of Newton's method with old factors
LONGEST = 0.2  # of one step
SHORTEST = 1e-5  # a step that fails though it is as short as this: the branch does not lead on
CORRECTED = 0.35  # of a step: what closing may add to it
TURNED = 0.8  # cosine: how far the null space may turn in one step
MET, MET_PULL = 1e-8, 2e-5  # of a slider, of a point that is pulled: it is where it should be
FLAT = 1e-3  # of a slope along the null space: the goal comes no nearer
GAIN = 1e-5  # of what a step promises: not worth making
STEPS = 24  # in one call
SECONDS = 0.008  # in one call: a frame has 16 ms
HOLD = 1e-2  # weight of coordinates that should stay where they are
NEAR, NEARER = 0.2, 1e-4  # of the usual smallest singular value, and of any: a singular position is near


@dataclass(frozen=True)
class Pull:
    """A point of a body, (3,) in its axes, drawn to a place in the ground, (3,), m."""

    body: str
    point: tuple[float, float, float]
    to: tuple[float, float, float]


@dataclass(frozen=True)
class Slide:
    """A coordinate led to a value, rad or m."""

    name: str
    to: float


@dataclass(frozen=True, eq=False)
class Moved:
    """Where a drag came to, and what is to be said about it."""

    q: np.ndarray  # (nq,)
    residual: float  # ‖Φ‖∞, rad or lengths of the mechanism
    gap: float  # to the goal, rad or lengths of the mechanism
    met: bool  # whether the goal is reached
    more: bool  # whether time ran out on the way: call again
    sigma: np.ndarray  # singular values of the rows, falling
    limits: tuple[str, ...] = ()  # coordinates that are stopped by their limits
    touching: tuple[str, ...] = ()  # contacts and ropes that stop it
    note: str = ""  # what stopped it, or what was passed
    steps: int = 0


@dataclass(eq=False)
class _DragPlace:
    """A position with its rows factored: the null space N, (nv, d), and what closes the rows."""

    q: np.ndarray
    gap: np.ndarray  # (rows,) of the positions, scaled
    white: np.ndarray  # (all rows, nv) scaled
    U: np.ndarray
    sigma: np.ndarray
    V: np.ndarray
    rank: int
    fixed: dict[int, float] = field(default_factory=dict)  # bounds that hold, and the slack they keep

    @property
    def N(self) -> np.ndarray:
        return self.V[:, self.rank :]


class Dragging:
    """The positions of a system that are reached by drawing at it; parameters p, time t (s)."""

    def __init__(self, system: System, p: Parameters = None, t: float = 0.0):
        self.system, self.t = system, t
        self.p = np.array(system.arguments.parameter_vector(p), dtype=float)
        self.policy = rank_policy(system, self.p if len(self.p) else None)
        self.length = self.policy.length
        self.reach = np.where(angular_velocities(system), 1.0, self.length)
        self.units = self.policy.units
        self.holonomic = np.asarray(system.rows.holonomic, dtype=bool)
        self.kernel, self.plus_kernel = system.kernel("constraints"), system.kernel("plus")
        self.flat = system.nq == system.nv and list(system.q_names) == list(system.v_names)
        self.branch = system.kernel("branch") if len(system.rows.branch_of) else None
        self.places = {name: (k, system.q_names.index(name)) for k, name in enumerate(system.v_names)
                       if name in system.q_names}  # fmt: skip
        self.bounds = PositionBounds(system, self.reach, self.length)
        self.low, self.high = self.bounds.low, self.bounds.high
        self.rank, self.usual = 0, 0.0  # the largest rank met, and the largest of the smallest singular values

    # --- kernels ------------------------------------------------------------------------------------------------

    def _call(self, kernel: Any, **given: Any) -> Any:
        known = {"p": self.p, "t": self.t, **given}
        return kernel(*(known[name] for name in kernel.names_in))

    def plus(self, q: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """q ⊕ δ, (nq,)."""
        return q + delta if self.flat else np.asarray(self._call(self.plus_kernel, q=q, dq=delta))

    def warm(self, body: str) -> None:
        """Compile what a pull at a body needs."""
        self.system.kernel("pose", frame=body)
        self.system.kernel("jacobian", frame=body, axes="world")

    def _rows(self, q: np.ndarray, fixed: dict[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Residuals, scaled and zero for rows of velocities only, and rows; limits that hold come last."""
        phi, A, _ = self._call(self.kernel, q=q)
        away = np.zeros(len(self.units) + len(fixed))
        phi = np.asarray(phi).ravel()
        away[: len(phi)] = phi / self.units[: len(phi)]
        away[: len(self.units)][~self.holonomic] = 0.0
        white = np.zeros((len(away), self.system.nv))
        white[: len(self.units)] = np.asarray(A).reshape(-1, self.system.nv) * self.reach / self.units[:, None]
        if fixed:
            slack, rows = self.slack(q)
            away[len(self.units) :] = slack[list(fixed)] - list(fixed.values())
            white[len(self.units) :] = rows[list(fixed)]
        return away, white

    def slack(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(slacks of the bounds, (n,), and their rows, (n, nv)) at a position."""
        return self.bounds.at(q, self.p, self.t)

    def place(self, q: np.ndarray, fixed: dict[int, float] | None = None) -> _DragPlace:
        """A position factored."""
        fixed = {} if fixed is None else fixed
        away, white = self._rows(q, fixed)
        f = self.policy.reveal(white, 1.0)
        self.rank = f.rank if not fixed and self.rank == 0 else max(self.rank, f.rank if not fixed else 0)
        if self.rank and not fixed:
            self.usual = max(self.usual, float(f.sigma[self.rank - 1]))
        return _DragPlace(q, away, white, f.U, f.sigma, f.V, f.rank if fixed else self.rank, fixed)

    def near(self, sigma: np.ndarray) -> bool:
        """Whether singular values of the rows tell of a singular position nearby."""
        return bool(self.rank) and float(sigma[self.rank - 1]) < max(NEAR * self.usual, NEARER)

    def _closed(self, here: _DragPlace, q: np.ndarray) -> tuple[np.ndarray, float] | None:
        """A position near q with closed rows, by the factors of `here`, and how far it is from q; None if it fails."""
        r, total, last = here.rank, 0.0, np.inf
        solve = here.V[:, :r] / here.sigma[:r]
        for _ in range(ITERATIONS):
            away, _white = self._rows(q, here.fixed)
            gap = float(np.abs(away).max(initial=0.0))
            if gap <= CLOSED:
                return q, total
            if not gap < 0.7 * last:
                return (q, total) if gap < 10 * CLOSED else None
            delta = solve @ (here.U[:, :r].T @ away)
            total, last = total + float(np.abs(delta).max(initial=0.0)), gap
            if not total < LONGEST:
                return None
            q = self.plus(q, -self.reach * delta)
        return (q, total) if last < 100 * CLOSED else None

    def begin(self, q: np.ndarray) -> np.ndarray:
        """The position nearest q with closed loops, (nq,)."""
        for _ in range(8):
            here = self.place(np.asarray(q, dtype=float))
            closed = self._closed(here, here.q)
            if closed is not None:
                return closed[0]
            r = here.rank
            q = self.plus(here.q, -self.reach * (here.V[:, :r] @ ((here.U[:, :r].T @ here.gap) / here.sigma[:r])))
        raise ArgumentError("the loops are open at this position; assemble first.")

    # --- goals --------------------------------------------------------------------------------------------------

    def _goal(self, q: np.ndarray, goals: Sequence[Pull | Slide]) -> tuple[np.ndarray, np.ndarray]:
        """How far goals are, and their rows, scaled."""
        away, rows = [], []
        for goal in goals:
            if isinstance(goal, Slide):
                v, i = self.places[goal.name]
                away.append([(q[i] - goal.to) / self.reach[v]])
                rows.append(np.eye(self.system.nv)[[v]])
                continue
            T = self._call(self.system.kernel("pose", frame=goal.body), q=q)
            J = np.asarray(self._call(self.system.kernel("jacobian", frame=goal.body, axes="world"), q=q))
            J = J.reshape(6, -1)
            arm = T[:3, :3] @ np.asarray(goal.point)
            away.append((T[:3, 3] + arm - np.asarray(goal.to)) / self.length)
            rows.append((J[3:] + np.cross(J[:3], arm, axisa=0, axisb=0, axisc=0)) * self.reach / self.length)
        return np.concatenate(away), np.concatenate(rows)

    def drag(
        self, q: np.ndarray, goals: Sequence[Pull | Slide], hold: Sequence[str] = (), limits: bool = True,
        seconds: float = SECONDS,
    ) -> Moved:  # fmt: skip
        """From a position towards goals; `hold` names coordinates that stay if they can."""
        for goal in goals:
            if isinstance(goal, Slide) and goal.name not in self.places:
                raise unknown("coordinate with a slider", goal.name, self.places)
        started, here = time.perf_counter(), self.place(np.asarray(q, dtype=float))
        stays = [(v, i, q[i]) for v, i in (self.places[n] for n in hold if n in self.places)]
        led = {g.name for g in goals if isinstance(g, Slide)}
        stays = [s for s in stays if self.system.v_names[s[0]] not in led]
        least = np.minimum(0.0, self.slack(here.q)[0]) if limits and len(self.bounds) else None
        mu, note, steps, more, stuck = 1e-4, "", 0, False, 0
        near = np.concatenate([np.full(*((1, MET) if isinstance(g, Slide) else (3, MET_PULL))) for g in goals])
        away, G = self._goal(here.q, goals)
        while True:
            if (np.abs(away) < near).all() or np.linalg.norm(away @ G @ here.N) < FLAT * np.linalg.norm(away):
                break
            if steps >= STEPS or (steps and time.perf_counter() - started > seconds):
                more = True
                break
            delta = self._step(here, away, G, stays, mu)
            size = float(np.abs(delta).max(initial=0.0))
            promised = 1 - np.linalg.norm(away + G @ delta) / np.linalg.norm(away)
            if (promised < GAIN and size < 0.1) or stuck > 3:
                break
            delta = delta * min(1.0, LONGEST / max(size, 1e-300))
            beyond, share = ({}, 1.0) if least is None else self._outward(here, delta, least)
            if beyond:
                here = self.place(here.q, {**here.fixed, **beyond})
                if here.sigma[min(here.white.shape) - 1] < self.policy.tolerance and here.N.shape[1] == 0:
                    break
                continue
            delta = delta * share
            steps += 1
            new, reason = self._advance(here, delta, least)
            if new is None:
                note = reason
                break
            passed = self._passed(here, new)
            after, G_new = self._goal(new.q, goals)
            better = np.linalg.norm(after) < np.linalg.norm(away) * (1 - 1e-9)
            if not better:
                mu, stuck = 30 * mu, stuck + 1
                continue
            stuck, mu = 0, max(mu / 10, 1e-6)
            note = passed or note
            here, away, G = new, after, G_new
        if here.fixed and (landed := self._closed(here, here.q)) is not None:  # bounds that were found last
            here = self.place(landed[0], here.fixed)
            away, _ = self._goal(here.q, goals)
        return self._told(here, away, near, goals, note, more, steps)

    def _step(self, here: _DragPlace, away: np.ndarray, G: np.ndarray, stays: list[Any], mu: float) -> np.ndarray:
        """The step of (1), scaled; small weights keep what should stay."""
        N = here.N
        rows, right = [G @ N], [-away]
        if stays:
            rows.append(HOLD * N[[v for v, _, _ in stays]])
            right.append(HOLD * np.array([(at - here.q[i]) / self.reach[v] for v, i, at in stays]))
        rows.append(mu * np.eye(N.shape[1]))
        right.append(np.zeros(N.shape[1]))
        return np.asarray(N @ np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0])

    def _outward(self, here: _DragPlace, delta: np.ndarray, least: np.ndarray) -> tuple[dict[int, float], float]:
        """Bounds that a step passes from where it begins, and the part of the step up to the first of the others."""
        slack, rows = self.slack(here.q)
        way, left = -rows @ delta, slack - least
        other = np.array([k not in here.fixed for k in range(len(slack))]) & (way > ROOM)
        used = other & (left <= self.bounds.room)
        ahead = other & ~used & (way > left)
        return {int(k): float(least[k]) for k in np.flatnonzero(used)}, float((left[ahead] / way[ahead]).min(initial=1))

    def _advance(self, here: _DragPlace, delta: np.ndarray, least: np.ndarray | None) -> tuple[_DragPlace | None, str]:
        """The position after a step on the same branch, made shorter until it is sure; else why there is none."""
        size = float(np.abs(delta).max(initial=0.0))
        part = 1.0
        while part * size > SHORTEST or part == 1.0:
            step = part * delta
            closed = self._closed(here, self.plus(here.q, self.reach * step))
            if closed is not None and closed[1] <= CORRECTED * part * size + 1e-9 and self._meant(closed[0]):
                new = self.place(closed[0], here.fixed)
                if new.rank == here.rank and self._aligned(here, new):
                    share = 1.0 if least is None else self._inside(here, new, least)
                    if share == 1.0:
                        return new, ""
                    part *= share
                    continue
            part *= 0.5
        return None, "a singular position is here: this branch does not lead on that way"

    def _inside(self, here: _DragPlace, new: _DragPlace, least: np.ndarray) -> float:
        """1, or the part of a step that stays inside the bounds where the whole of it does not, by the secant."""
        before, after = self.slack(here.q)[0] - least, self.slack(new.q)[0] - least
        out = after < -self.bounds.room
        out[list(here.fixed)] = False
        return float((before[out] / (before[out] - after[out])).min(initial=1.0))

    def _meant(self, q: np.ndarray) -> bool:
        """Whether no constraint holds with an axis reversed."""
        return self.branch is None or bool((np.asarray(self._call(self.branch, q=q)) >= 0).all())

    def _aligned(self, one: _DragPlace, other: _DragPlace) -> bool:
        if not one.N.shape[1] or one.N.shape != other.N.shape:
            return one.N.shape == other.N.shape
        return float(np.linalg.svd(one.N.T @ other.N, compute_uv=False)[-1]) > TURNED

    def _passed(self, one: _DragPlace, other: _DragPlace) -> str:
        """A sentence where the rows became dependent between two positions."""
        r = one.rank
        if not r or one.sigma[r - 1] > 0.3 or one.fixed or other.fixed:
            return ""
        square = one.U[:, :r].T @ other.white @ one.V[:, :r]
        if np.linalg.slogdet(square)[0] > 0:
            return ""
        return "passed a singular position, on the same branch: others cross it there"

    def _told(
        self, here: _DragPlace, away: np.ndarray, near: np.ndarray, goals: Sequence[Pull | Slide], note: str,
        more: bool,
        steps: int,
    ) -> Moved:  # fmt: skip
        met = bool((np.abs(away) < near).all())
        bounds = self.bounds
        names = tuple(bounds.names[k] for k in here.fixed if k < bounds.limits)
        touching = tuple(bounds.names[k] for k in here.fixed if k >= bounds.limits)
        sigma = here.sigma if not here.fixed else self.place(here.q).sigma
        if not note and not more and not met:
            if here.N.shape[1] == 0 and not here.fixed:
                note = "nothing can move: the mobility is 0"
            elif here.fixed:
                note = f"stopped by {' and '.join(bounds.told[k] for k in here.fixed)}"
            elif len(goals) == 1 and isinstance(goals[0], Slide):
                at = here.q[self.places[goals[0].name][1]]
                note = f"dead point: {goals[0].name} turns back at {at:.5g}"
        if not note and self.near(sigma):
            note = "near a singular position"
        gap = float(np.abs(here.gap[: len(self.units)]).max(initial=0.0))
        return Moved(here.q, gap, float(np.abs(away).max(initial=0.0)), met, more, sigma, names, touching, note, steps)
