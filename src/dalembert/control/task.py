"""Tasks θ(q): what a controller is to move, as rows of names and expressions.

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

from dalembert.errors import ArgumentError, unknown
from dalembert.mechanism.constraints.expression import Expression, Expressions
from dalembert.spatial import quaternion_log, rotation_quaternion
from dalembert.symbols import array, element_sx


@dataclass(frozen=True)
class Task:
    """Named functions of the state as CasADi expressions (see `UserState`); tasks add up with +.

    Controllers of tasks with equal rows share machine code; functions are equal where they are the same object.

    >>> from dalembert import control
    >>> reach = control.Task({"reach": lambda s: s["A"] + s["B"]})
    >>> (reach + control.coordinates("C")).names
    ('reach', 'C')
    """

    rows: Mapping[str, Expression]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the rows."""
        return tuple(self.rows)

    def __add__(self, other: Task) -> Task:
        both = set(self.rows) & set(other.rows)
        if both:
            raise ArgumentError(f"both tasks have a row '{min(both)}'; give them different names.")
        return Task({**self.rows, **other.rows})

    def traced(self) -> Expressions:
        """The same as rows that know their derivatives."""
        return Expressions("task", "task", holonomic=tuple(self.rows.items()))


def coordinates(*names: str) -> Task:
    """The task of moving coordinates, by name (`system.q_names`): angles and slides, not quaternions."""
    return Task({name: _Coordinate(name) for name in names})


def position(frame: Any, axes: str = "xyz", *, name: str = "") -> Task:
    """The task of moving a frame's origin along some of the ground's axes, m. Rows: `name.x`, …

    The frame is a Frame, a Body or the name of one; the rows' name is by default the frame's.
    """
    if not axes or set(axes) - set("xyz"):
        raise ArgumentError(f"axes are {axes!r}; needed: some of 'x', 'y', 'z'.")
    label = name or _label(frame)
    return Task({f"{label}.{axis}": _Place(frame, "xyz".index(axis)) for axis in axes})


def orientation(frame: Any, *, about: Any = None, name: str = "") -> Task:
    """The task of turning a frame: rows `name.rx`, `ry`, `rz`, the rotation vector from `about` to the frame, rad.

    about: (3, 3) rotation that counts as zero (default: the ground's axes), in whose axes the vector is written.
    Turns of less than π from there.
    """
    R0 = np.eye(3) if about is None else np.asarray(about, dtype=float)
    if R0.shape != (3, 3) or not np.allclose(R0 @ R0.T, np.eye(3), atol=1e-8):
        raise ArgumentError(f"about has shape {R0.shape}; needed: a (3, 3) rotation matrix.")
    label = name or _label(frame)
    return Task({f"{label}.r{axis}": _Turn(frame, tuple(R0.ravel()), k) for k, axis in enumerate("xyz")})


def pose(frame: Any, *, about: Any = None, name: str = "") -> Task:
    """`position` and `orientation` of a frame, six rows."""
    return position(frame, name=name) + orientation(frame, about=about, name=name)


@dataclass(frozen=True)
class _Coordinate:
    name: str

    def __call__(self, s: Any) -> Any:
        layout, name = s._s.layout, self.name
        scalar = [
            n for j, a in layout.joints.items() if a.joint.nq == a.joint.nv for n in layout.q_names[layout.q_slice(j)]
        ]
        if name in layout.q_names and name not in scalar:
            raise ArgumentError(f"coordinate '{name}' is part of a quaternion; use control.orientation(frame).")
        if name not in scalar:
            raise unknown("coordinate", name, scalar, "the task")
        return s[name]


@dataclass(frozen=True)
class _Place:
    frame: Any
    k: int

    def __call__(self, s: Any) -> Any:
        return s.position(self.frame)[self.k]


@dataclass(frozen=True)
class _Turn:
    frame: Any
    about: tuple[float, ...]  # (9,)
    k: int

    def __call__(self, s: Any) -> Any:
        turned = np.reshape(self.about, (3, 3)).T @ array(s.rotation(self.frame))
        return element_sx(quaternion_log(rotation_quaternion(turned))[self.k])


def _label(frame: Any) -> str:
    return frame if isinstance(frame, str) else getattr(frame, "name", "") or frame.body.name
