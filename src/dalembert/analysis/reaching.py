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
from dalembert.protocols import Parameters, StateLike, SystemLike
from dalembert.rank import angular_velocities

MISSED = 1e-6  # rad, or lengths of the mechanism: a frame farther from its goal has not reached it
FIRM = 1e3  # times as much as frames count loops where not all can be had
ROOM = 1e-9  # rad or m: by how much limits may be missed


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
        self.goals, self.names = frame_goals(system, frames), list(q)
        self.p = np.asarray(system.parameter_vector(p))

    def rows(self, state: StateLike) -> tuple[np.ndarray, np.ndarray]:
        """Rows of held coordinates and frames, (held, nv), and how far each is from its value, (held,)."""
        N, missing = super().rows(state)
        parts = [goal.rows(state.q, self.p) for goal in self.goals]
        return np.vstack([N, *(rows for _, rows in parts)]), np.concatenate([missing, *(away for away, _ in parts)])

    def unreached(self, state: StateLike, on: np.ndarray) -> str:
        """The sentence for the frame that stays away from its goal where all comes nearest; "" where none does."""
        state = self._nearest(state, on) if self.goals else state
        for goal in self.goals:
            away = goal.rows(state.q, self.p)[0]
            far, turn = (float(np.linalg.norm(away[which])) for which in (~goal.angular, goal.angular))
            if max(far / self.system.layout.length, turn) > MISSED:
                gaps = [f"{x:.4g} {unit}" for x, unit in ((far, "m"), (turn, "rad")) if x > 1e-9]
                held = f" with {', '.join(map(str, self.names))} held" if self.names else ""
                return (
                    f"'{self.system.name}' does not bring frame '{goal.name}' to its goal{held}: where it came nearest "
                    f"it misses by {' and '.join(gaps)}. Take a goal within reach, hold fewer, or give a nearer guess."
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
    again, one more joint each time.
    """
    low, high = joint_limits(system)
    plain = [system.q_names.index(n) if n in system.q_names else -1 for n in system.v_names]
    turning, fixed = angular_velocities(system), dict[int, float]()
    for _ in range(system.nv + 1):
        state = closing.state
        q = state.q.copy()
        for k, i in enumerate(plain):
            if i >= 0 and turning[k] and i not in held.q_index and not low[k] <= q[i] <= high[k]:
                turned = q[i] - 2 * np.pi * np.ceil((q[i] - high[k]) / (2 * np.pi)) if np.isfinite(high[k]) else q[i]
                turned = turned if turned >= low[k] else q[i] + 2 * np.pi * np.ceil((low[k] - q[i]) / (2 * np.pi))
                q[i] = turned if low[k] - ROOM <= turned <= high[k] + ROOM else q[i]
        closing.state = state.replace(q=q)
        far = {i: max(low[k] - q[i], q[i] - high[k]) for k, i in enumerate(plain) if i >= 0}
        worst = max(far, key=lambda i: far[i], default=-1)
        if worst < 0 or far[worst] <= ROOM:
            return closing, ""
        k = plain.index(worst)
        name = system.q_names[worst]
        told = f"{name} = {q[worst]:.6g} is outside its limits {low[k]:.6g} … {high[k]:.6g}"
        if worst in fixed or worst in held.q_index:
            return closing, told
        fixed[worst] = float(np.clip(q[worst], low[k], high[k]))
        more = _with_fixed(system, held, fixed)
        again = close(system, more.set_in(closing.state), more, p, on, tolerance)
        if not again.closed:
            return closing, told
        closing = again
    return closing, told


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
