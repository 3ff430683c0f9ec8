"""Where a frame is wanted: its position, its orientation, one of its axes, or several of these.

Each wish is a few rows beside the constraints: how far the frame is from it, and the twists (ω; v) in the ground's axes
that change this,

    position    p − p*,                          rows of v; only the wanted ones of x, y and z
    rotation    −log(R* Rᵀ),                     rows of ω
    axis        −e_i · (turn from a to d),       e_i · ω for two e_i across the direction d.

The rows are exact where the wish holds, and first-order correct around it, so Newton's method converges quadratically.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError
from dalembert.mechanism.values import as_matrix, check_rotation
from dalembert.protocols import SystemLike
from dalembert.spatial import quaternion_exp, quaternion_log, quaternion_matrix, rotation_quaternion

PARTS = ("position", "rotation", "x", "y", "z")
NEEDED = (
    "a point (3 numbers, None for one that is free), a rotation (3, 3), a pose (4, 4), or a mapping with some of "
    "'position', 'rotation' and one of the axes 'x', 'y', 'z' with its direction in the ground"
)


class FrameGoal:
    """One frame and what is wanted of it; see `NEEDED` for the forms that `given` has."""

    def __init__(self, system: SystemLike, name: Any, given: Any):
        self.frame = system.layout.frame(name)
        self.name = name if isinstance(name, str) else str(self.frame)
        self.position, self.rotation, self.axis, self.direction = _parts(given, f"frame '{self.name}'")
        self.pose = system.kernel("pose", frame=self.frame)
        self.jacobian = system.kernel("jacobian", frame=self.frame, axes="world")
        self.kept = np.isfinite(np.full(3, np.nan) if self.position is None else self.position)  # of x, y, z
        self.angular = np.array([False] * int(self.kept.sum()) + [True] * self.turns)  # per row

    @property
    def turns(self) -> int:
        """Number of rows of orientation."""
        return 3 if self.rotation is not None else 2 if self.direction is not None else 0

    @property
    def wish(self) -> tuple[tuple[bool, ...], bool, int]:
        """Which parts are wanted: equal for goals that can follow each other on a way."""
        return tuple(self.kept.tolist()), self.rotation is not None, -1 if self.direction is None else self.axis

    def rows(self, q: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far the frame is from the goal, (k,), m or rad, and the rows of its motion, (k, nv)."""
        given = {"q": q, "p": p}
        T = self.pose(*(given[n] for n in self.pose.names_in))
        J = np.asarray(self.jacobian(*(given[n] for n in self.jacobian.names_in))).reshape(6, -1)
        away, rows = [np.zeros(0)], [np.zeros((0, J.shape[1]))]
        if self.position is not None:
            away.append((T[:3, 3] - self.position)[self.kept])
            rows.append(J[3:][self.kept])
        if self.rotation is not None:
            away.append(-_turn(self.rotation @ T[:3, :3].T))
            rows.append(J[:3])
        elif self.direction is not None:
            across = across_of(self.direction)
            away.append(-across @ _turn_between(T[:3, self.axis], self.direction))
            rows.append(across @ J[:3])
        return np.concatenate(away), np.vstack(rows)

    def rate_rows(self, V: np.ndarray) -> np.ndarray:
        """(k,) what the rows say of a twist (or its rate) V = (ω; v) in the ground's axes, (6,)."""
        parts = [V[3:][self.kept]]
        if self.rotation is not None:
            parts.append(V[:3])
        elif self.direction is not None:
            parts.append(across_of(self.direction) @ V[:3])
        return np.concatenate(parts)

    def toward(self, other: FrameGoal, s: float) -> tuple[FrameGoal, np.ndarray]:
        """The goal at the part s of the way to another of the same kind, and its twist there, (6,) per unit of s."""
        goal, V = object.__new__(FrameGoal), np.zeros(6)
        vars(goal).update(vars(self))
        if self.position is not None and other.position is not None:
            V[3:] = np.where(self.kept, other.position - self.position, 0.0)
            goal.position = self.position + s * V[3:]
        if self.rotation is not None and other.rotation is not None:
            V[:3] = _turn(other.rotation @ self.rotation.T)
            goal.rotation = quaternion_matrix(quaternion_exp(s * V[:3])).astype(float) @ self.rotation
        elif self.direction is not None and other.direction is not None:
            V[:3] = _turn_between(self.direction, other.direction)
            goal.direction = quaternion_matrix(quaternion_exp(s * V[:3])).astype(float) @ self.direction
        return goal, V

    def where_it_is(self, q: np.ndarray, p: np.ndarray) -> FrameGoal:
        """The goal of the same kind that the frame has reached in a position q with parameters p."""
        given = {"q": q, "p": p}
        T = self.pose(*(given[n] for n in self.pose.names_in))
        goal = object.__new__(FrameGoal)
        vars(goal).update(vars(self))
        goal.position = None if self.position is None else np.where(self.kept, T[:3, 3], np.nan)
        goal.rotation = None if self.rotation is None else T[:3, :3].copy()
        goal.direction = None if self.direction is None else T[:3, self.axis].copy()
        return goal


def frame_goals(system: SystemLike, frames: Mapping[Any, Any] | None) -> list[FrameGoal]:
    """The goals of `frames=` of a call."""
    return [FrameGoal(system, name, given) for name, given in ({} if frames is None else _named(frames)).items()]


def _named(frames: Any) -> Mapping[Any, Any]:
    return checks.mapping(frames, "frames")


def _point(given: Any, what: str) -> np.ndarray:
    """(3,) a position, NaN where it is None."""
    kept = [x is not None for x in given] if isinstance(given, (list, tuple)) and len(given) == 3 else [True] * 3
    if not any(kept):
        raise ArgumentError(f"the position of {what} is None in x, y and z; give one of them, or leave it out.")
    if not all(kept):
        given = [0.0 if x is None else x for x in given]
    return np.where(kept, checks.vector(given, 3, f"the position of {what}"), np.nan)


def _parts(given: Any, what: str) -> tuple[np.ndarray | None, np.ndarray | None, int, np.ndarray | None]:
    """Position, rotation, and which axis has which direction."""
    if not isinstance(given, Mapping):
        if isinstance(given, (list, tuple)) and None in [x if x is None else 0 for x in given]:
            return _point(given, what), None, 0, None
        if not hasattr(given, "as_matrix"):
            given = checks.reals(given, what, NEEDED)
            if given.shape == (3,):
                return _point(given, what), None, 0, None
            if given.shape == (4, 4):
                given = {"position": given[:3, 3], "rotation": given[:3, :3]}
        if not isinstance(given, Mapping):
            given = {"rotation": given}
    checks.keywords(given, PARTS, f"the wishes of {what}")
    position = rotation = direction = None
    axes = [n for n in given if n in "xyz"]
    if len(axes) + ("rotation" in given) > 1 or not given:
        raise ArgumentError(f"{what} is given {', '.join(given) or 'nothing'}; needed: {NEEDED}.")
    if "position" in given:
        position = _point(given["position"], what)
    if "rotation" in given:
        rotation = as_matrix(given["rotation"])
        if np.shape(rotation) != (3, 3):
            raise ArgumentError(f"{what} has shape {np.shape(rotation)}; needed: {NEEDED}.")
        rotation = checks.array(rotation, (3, 3), f"the rotation of {what}").copy()
        check_rotation(rotation, f"the rotation of {what}", ArgumentError)
    if axes:
        direction = checks.vector(given[axes[0]], 3, f"the direction of axis '{axes[0]}' of {what}")
        length = float(np.linalg.norm(direction))
        if not 1e-100 < length < 1e100:
            raise ArgumentError(f"the direction of axis '{axes[0]}' of {what} has no direction; needed: a vector.")
        direction = direction / length
    return position, rotation, "xyz".index(axes[0]) if axes else 0, direction


def _turn(R: np.ndarray) -> np.ndarray:
    """log R, (3,)."""
    return quaternion_log(rotation_quaternion(R)).astype(float)


def _turn_between(a: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The shortest turn, (3,) rad, that brings direction a to d; across both where they are opposite."""
    axis = np.cross(a, d)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ d)
    if sine < 1e-9 and cosine < 0:
        return np.pi * across_of(d)[0]
    return axis * (np.arctan2(sine, cosine) / sine if sine > 1e-12 else 1.0)


def across_of(d: np.ndarray) -> np.ndarray:
    """(2, 3) two unit vectors across d, right-handed with it."""
    first = np.cross(d, np.eye(3)[int(np.argmin(np.abs(d)))])
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(d, first)])
