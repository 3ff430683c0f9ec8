"""Inverse kinematics of closed chains: frames held beside coordinates, and joint limits.

A frame that is held adds rows to those of the loops, so Newton's method closes the loops and brings the frame to its
goal at once. Steps are shortened until the residual falls and leave out directions that a singular position does not
allow, which keeps them small near singularities and beyond the reach of the mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.analysis.closing import Closing, Held, close, residual
from dalembert.analysis.frame_goals import frame_goals
from dalembert.errors import AssemblyError
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import angular_velocities, rank_policy

MISSED = 1e-6  # rad, or lengths of the mechanism: a frame farther from its goal has not reached it
FIRM = 1e3  # times as much as frames count loops where not all can be had
FOLDS = 8  # searches for another side of a chain that closes outside its limits
ROOM = 1e-9  # rad or m: by how much limits may be missed


class OutsideLimits(AssemblyError):
    """What was asked for is only possible outside the limits of joints."""


class HeldFrames(Held):
    """Coordinates, velocities and frames that must be where they are wanted."""

    def __init__(
        self,
        system: SystemLike,
        q: Mapping[str, Any],
        v: Mapping[str, Any],
        frames: Mapping[Any, Any] | None,
        p: Parameters,
    ):
        super().__init__(system, q, v)
        self.goals, self.coordinates, self.frames = frame_goals(system, frames), q, frames
        self.p = np.asarray(system.parameter_vector(p))

    def rows(self, state: StateLike) -> tuple[np.ndarray, np.ndarray]:
        """Rows of held coordinates and frames, (held, nv), and how far each is from its value, (held,)."""
        N, missing = super().rows(state)
        parts = [goal.rows(state.q, self.p) for goal in self.goals]
        return np.vstack([N, *(rows for _, rows in parts)]), np.concatenate([missing, *(away for away, _ in parts)])

    def unreached(self, state: StateLike, on: np.ndarray, starts: int) -> str:
        """The sentence for the frame that stays away from its goal where all comes nearest; "" where none does."""
        state = self._nearest(state, on) if self.goals else state
        for goal in self.goals:
            away = goal.rows(state.q, self.p)[0]
            far, turn = (float(np.linalg.norm(away[which])) for which in (~goal.angular, goal.angular))
            if max(far / self.system.layout.length, turn) > MISSED:
                gaps = [f"{x:.4g} {unit}" for x, unit in ((far, "m"), (turn, "rad")) if x > 1e-9]
                held = f" with {', '.join(map(str, self.coordinates))} held" if self.coordinates else ""
                tried = "one start" if starts == 1 else f"{starts} starts"
                return (
                    f"'{self.system.name}' does not bring frame '{goal.name}' to its goal{held}: the nearest it came "
                    f"from {tried} misses by {' and '.join(gaps)}. If the goal is within reach, give a guess nearer to "
                    "it or more attempts=; else take another goal, or hold fewer."
                )
        return ""

    def _nearest(self, state: StateLike, on: np.ndarray) -> StateLike:
        """The position with closed loops where the frames come nearest to their goals, by least squares."""
        from scipy.optimize import least_squares

        system, rows = self.system, on & self.system.rows.holonomic
        p = self.p if len(self.p) else None
        fixed = len(self.q_index)

        def gaps(delta: np.ndarray) -> np.ndarray:
            moved = state.replace(q=system.plus(state, delta))
            phi, missing, _, _ = residual(system, moved, self, p, rows)
            return np.concatenate([FIRM * phi, FIRM * missing[:fixed], missing[fixed:]])

        best = least_squares(gaps, np.zeros(system.nv), max_nfev=60).x
        return state.replace(q=system.plus(state, best))


def inside_limits(
    system: SystemLike, closing: Closing, held: Held, p: Parameters, on: np.ndarray, tolerance: float
) -> tuple[Closing, str]:
    """A position within the limits of the joints, from a closed one; else what joint is outside.

    Angles are turned by whole turns. Then joints outside are held at the limits they pass while the rest is closed
    again, one more joint each time. Where that does not close, the search starts a few times more with the joint, and
    those that are in no other constraints, at random places within their limits: a leg often closes on another side.
    """
    rng = np.random.default_rng(0)
    low, high = joint_limits(system)
    plain = {system.q_names.index(n): k for k, n in enumerate(system.v_names) if n in system.q_names}
    turning, fixed, folded = angular_velocities(system), dict[int, float](), set[int]()
    while True:
        closing.state = state = _turned(system, closing.state, held, plain, (low, high), turning)
        far = {i: max(low[k] - state.q[i], state.q[i] - high[k]) for i, k in plain.items()}
        worst = max(far, key=lambda i: far[i], default=-1)
        if worst < 0 or far[worst] <= ROOM:
            return closing, ""
        k, x = plain[worst], float(state.q[worst])
        told = f"{system.q_names[worst]} = {x:.6g} is outside its limits {low[k]:.6g} … {high[k]:.6g}"
        if worst in held.q_index:
            return closing, told
        again = None
        if worst not in fixed:
            fixed[worst] = float(np.clip(x, low[k], high[k]))
            more = _with_fixed(system, held, fixed)
            again = close(system, more.set_in(state), more, p, on, tolerance)
        if (again is None or not again.closed) and worst not in folded:
            folded.add(worst)
            fixed.pop(worst)
            again = _folded(system, state, worst, held, p, on, tolerance, (plain, low, high), rng)
        if again is None or not again.closed:
            return closing, told
        closing = again


def _folded(
    system: SystemLike, state: StateLike, joint: int, held: Held, p: Parameters, on: np.ndarray, tolerance: float,
    limits: tuple[Mapping[int, int], np.ndarray, np.ndarray], rng: np.random.Generator,
) -> Closing | None:  # fmt: skip
    """A closed position like this one but with one coordinate, outside its limits here, within them."""
    plain, low, high = limits
    A = np.abs(system.constraint_matrix(state, p=p)) > 0.0
    of = np.array(system.rows.of)
    own = np.isin(of, of[A[:, plain[joint]]])
    alone = A[own].any(axis=0) & ~A[~own].any(axis=0)
    reach = np.where(angular_velocities(system), np.pi, rank_policy(system, p).length)
    for _ in range(FOLDS):
        q = state.q.copy()
        for i, k in plain.items():
            if i == joint or (alone[k] and i not in held.q_index):
                ends = (x if np.isfinite(x) else s * reach[k] for x, s in ((low[k], -1.0), (high[k], 1.0)))
                q[i] = rng.uniform(*sorted(ends))
        found = close(system, state.replace(q=q), held, p, on, tolerance)
        if found.closed:
            found.state = _turned(system, found.state, held, plain, (low, high), angular_velocities(system))
            if low[plain[joint]] - ROOM <= found.state.q[joint] <= high[plain[joint]] + ROOM:
                return found
    return None


def _turned(
    system: SystemLike, state: StateLike, held: Held, plain: Mapping[int, int], limits: Any, turning: np.ndarray
) -> StateLike:
    """The state with angles outside their limits turned by whole turns to within, where that is possible."""
    (low, high), q = limits, state.q.copy()
    for i, k in plain.items():
        if turning[k] and i not in held.q_index and not low[k] <= q[i] <= high[k]:
            turned = q[i] - 2 * np.pi * np.ceil((q[i] - high[k]) / (2 * np.pi)) if np.isfinite(high[k]) else q[i]
            turned = turned if turned >= low[k] else q[i] + 2 * np.pi * np.ceil((low[k] - q[i]) / (2 * np.pi))
            q[i] = turned if low[k] - ROOM <= turned <= high[k] + ROOM else q[i]
    return state.replace(q=q)


def joint_limits(system: SystemLike) -> tuple[np.ndarray, np.ndarray]:
    """(nv,) lower and upper limits of the joints of the tree."""
    pairs = np.vstack([np.zeros((0, 2)), *(a.limits.reshape(-1, 2) for a in system.layout.joints.values())])
    return pairs[:, 0], pairs[:, 1]


def _with_fixed(system: SystemLike, held: Held, fixed: Mapping[int, float]) -> Held:
    more = object.__new__(type(held))
    vars(more).update(vars(held))
    more.q = held.q.copy()
    for i, value in fixed.items():
        more.q[i] = value
    more.q_index = np.concatenate([held.q_index, np.array(list(fixed), dtype=int)])
    plain = [system.q_names[k] for k in more.q_index]
    if all(name in system.v_names for name in plain):
        more.N = np.eye(system.nv)[[system.v_names.index(name) for name in plain]]
    else:
        more.N = None
    return more
