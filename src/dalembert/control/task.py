"""Tasks θ(q): the quantities a controller moves, as rows of names and expressions.

A task is written like a holonomic constraint and differentiated like one (`mechanism.constraints.Expressions`), so that

    θ̇ = J v + θ_t,   θ̈ = J v̇ + J̇ v + …

come from one place. On k independent coordinates J K is square and regular, K being a basis of the admissible motions:
then θ determines the motion (Aghili 38). With fewer rows the rest of the motion is left to itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import checks
from dalembert.errors import ArgumentError, unknown
from dalembert.hints import explained
from dalembert.mechanism.body import Body, Frame
from dalembert.mechanism.constraints.expression import Expression, Expressions
from dalembert.mechanism.layout import TreeLayout
from dalembert.mechanism.traced import UserState
from dalembert.spatial import quaternion_log, rotation_quaternion
from dalembert.symbols import array, element_sx

#: a frame as users give it: a frame, a body, or the name of either
FrameGiven = Frame | Body | str


@dataclass(frozen=True)
class Task:
    """Named functions of the state as CasADi expressions (see `UserState`); tasks add up with +.

    rows: {name: function of the state}. Controllers of tasks with equal rows share machine code; functions are equal
    where they are the same object.

    >>> from dalembert import control
    >>> reach = control.Task({"reach": lambda s: s["A"] + s["B"]})
    >>> (reach + control.coordinates("C")).names
    ('reach', 'C')
    """

    rows: Mapping[str, Expression]

    def __post_init__(self) -> None:
        for name, row in checks.mapping(self.rows, "the rows of a task").items():
            checks.function(row, f"row '{checks.name(name, 'the name of a row')}' of the task")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(self.rows)

    def __add__(self, other: Task) -> Task:
        both = set(self.rows) & set(as_task(other).rows)
        if both:
            raise ArgumentError(f"both tasks have a row '{min(both)}'; give them different names.")
        return Task({**self.rows, **other.rows})

    def traced(self, layout: TreeLayout) -> Expressions:
        """The rows as constraints that know their derivatives; layout: of the system they are of."""
        for row in self.rows.values():
            if not isinstance(row, _Coordinate) or row.name in layout.scalar_rates:
                continue
            if row.name in layout.q_names:
                raise ArgumentError(f"coordinate '{row.name}' is part of a quaternion; use control.orientation(frame).")
            raise unknown("coordinate", row.name, layout.scalar_rates, "the task")
        return Expressions("task", "task", holonomic=tuple(self.rows.items()))


def as_task(task: Task) -> Task:
    """The task, or an error where it is none."""
    if not isinstance(task, Task):
        raise ArgumentError(
            f"task is {checks.shown(task)}; needed: a Task, such as control.coordinates('A') or control.pose(frame)."
        )
    return task


def coordinates(*names: str) -> Task:
    """The task of moving coordinates: angles and slides, not quaternions.

    names: of coordinates, as in `system.q_names`.
    """
    return Task({checks.name(name, "the name of a coordinate"): _Coordinate(name) for name in names})


@explained
def position(frame: FrameGiven, components: str = "xyz", *, name: str = "") -> Task:
    """The task of moving a frame's origin along some of the ground's axes, m. Rows are `name.x` and so on.

    frame: a Frame, a Body or the name of one. components: some of "x", "y", "z". name: of the rows; default:
    the frame's.
    """
    label = _label(frame, name)
    return Task({f"{label}.{axis}": _TaskPlace(frame, "xyz".index(axis)) for axis in _axes(components)})


@explained
def orientation(frame: FrameGiven, components: str = "xyz", *, about: ArrayLike | None = None, name: str = "") -> Task:
    """The task of turning a frame: rows `name.rx`, `ry`, `rz`, the rotation vector from `about` to the frame, rad.

    frame: a Frame, a Body or the name of one. components: some of "x", "y", "z"; a planar mechanism turns about one,
    "z" for instance, and that row is its angle, whose errors go the shorter way round: references may make any number
    of turns. about: (3, 3) rotation that counts as zero (default: the ground's axes), in whose axes the vector is
    written. name: of the rows; default: the frame's. With several components turns are less than π from there.

    >>> from dalembert import control
    >>> (control.position("platform", "xy") + control.orientation("platform", "z")).names
    ('platform.x', 'platform.y', 'platform.rz')
    """
    R0 = np.eye(3) if about is None else checks.array(about, None, "about")
    if R0.shape != (3, 3) or not np.allclose(R0 @ R0.T, np.eye(3), atol=1e-8) or np.linalg.det(R0) < 0:
        raise ArgumentError(f"about has shape {R0.shape}; needed: a (3, 3) rotation matrix.")
    label = _label(frame, name)
    turn, alone = tuple(R0.ravel()), len(_axes(components)) == 1
    return Task({f"{label}.r{axis}": _Turn(frame, turn, "xyz".index(axis), alone) for axis in components})


def _axes(given: str) -> str:
    """Some of the three axes, or an error."""
    if not isinstance(given, str) or not given or set(given) - set("xyz") or len(set(given)) < len(given):
        raise ArgumentError(f"components are {given!r}; needed: some of 'x', 'y', 'z'.")
    return given


def pose(frame: FrameGiven, *, about: ArrayLike | None = None, name: str = "") -> Task:
    """The task of moving and turning a frame: the six rows of `position` and `orientation`.

    frame: a Frame, a Body or the name of one. about, name: as in `orientation`.
    """
    return position(frame, name=name) + orientation(frame, about=about, name=name)


@dataclass(frozen=True)
class _Coordinate:
    name: str

    def __call__(self, s: UserState) -> Any:
        return s[self.name]


@dataclass(frozen=True)
class _TaskPlace:
    frame: FrameGiven
    k: int

    def __call__(self, s: UserState) -> Any:
        return s.position(self.frame)[self.k]


@dataclass(frozen=True)
class _Turn:
    frame: FrameGiven
    about: tuple[float, ...]  # (9,)
    k: int
    alone: bool  # whether the task turns the frame about this axis only

    def __call__(self, s: UserState) -> Any:
        turned = np.reshape(self.about, (3, 3)).T @ array(s.rotation(self.frame))
        return element_sx(quaternion_log(rotation_quaternion(turned))[self.k])


def _label(frame: FrameGiven, name: str) -> str:
    """The name of a task's rows."""
    if not isinstance(frame, (str, Frame, Body)):
        raise ArgumentError(f"frame is {checks.shown(frame)}; needed: a body, a frame (body.at(...)) or a name.")
    if not isinstance(name, str):
        raise ArgumentError(f"name is {checks.shown(name)}; needed: a string.")
    if name or isinstance(frame, str):
        return name or checks.name(frame, "frame")
    return frame.body.name if isinstance(frame, Frame) else frame.name


def row_periods(task: Task) -> np.ndarray:
    """(rows,) 2π for a turn about one axis, after which the row has its value again; 0 for the others."""
    return np.array([2.0 * np.pi if isinstance(row, _Turn) and row.alone else 0.0 for row in task.rows.values()])


def row_units(task: Task, layout: TreeLayout, length: float) -> np.ndarray:
    """(rows,) a length for positions and slides, 1 rad for angles, NaN for expressions of the user."""
    turning = {v for a in layout.joints.values() for v, turns in zip(a.velocities, a.joint.angular) if turns}

    def unit(row: Expression) -> float:
        if isinstance(row, _Coordinate):
            return 1.0 if layout.scalar_rates[row.name] in turning else length
        return length if isinstance(row, _TaskPlace) else 1.0 if isinstance(row, _Turn) else np.nan

    return np.array([unit(row) for row in task.rows.values()])
