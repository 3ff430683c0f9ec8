"""Belts and ropes around pulleys, and roads, as lines on the bodies that carry them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.pulleys import piece
from dalembert.mechanism.forces import Tyre
from dalembert.protocols import Parameters
from dalembert.spatial import Transform
from dalembert.system.system import System
from dalembert.view.poses import place_on_body
from dalembert.view.scene import DrawnLink, Place

SMOOTH = 60  # points of a smooth road


class _Drawn:
    """The mechanism in one position, as `piece` asks it."""

    def __init__(self, system: System, poses: Mapping[str, np.ndarray], p: Parameters):
        self.system, self.poses, self.p = system, poses, p

    def pose(self, frame: Frame) -> np.ndarray:
        R, x = place_on_body(self.system, frame, self.p)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R, x
        return np.asarray(self.poses[frame.body.name] @ T)

    def position(self, frame: Frame) -> ca.DM:
        return ca.DM(self.pose(frame)[:3, 3])

    def rotation(self, frame: Frame) -> ca.DM:
        return ca.DM(self.pose(frame)[:3, :3])


def ropes(
    system: System, index: Mapping[str, int], poses: Mapping[str, np.ndarray], p: Parameters
) -> Iterator[DrawnLink]:
    """The straight pieces of what runs around pulleys, from where they touch them: points of what carries the pulleys.

    poses: (4, 4) of each body in the position in which the touching points are found.
    """
    s: Any = _Drawn(system, poses, p)
    carriers = {a.child.body.name: a.parent.body.name for a in system.layout.joints.values()}
    elements: list[Any] = [*system.description.constraints, *system.description.forces]
    for element in elements:
        path = getattr(element, "path", ())
        if any(isinstance(r, ca.SX) and not r.is_constant() for _, r, _, _ in path):
            continue
        for a, b in pairwise((f, float(r), axis, turn) for f, r, axis, turn in path):
            touching = [np.array(x).ravel() for x in piece(s, a, b)[:2]]
            on = [carriers.get(f.body.name, f.body.name) if turn else f.body.name for f, _, _, turn in (a, b)]
            if np.isfinite(touching).all():
                ends = (_place(index, poses, name, x) for name, x in zip(on, touching))
                yield DrawnLink("cable", element.name, tuple(ends))


def roads(
    system: System, index: Mapping[str, int], poses: Mapping[str, np.ndarray], p: Parameters
) -> Iterator[DrawnLink]:
    """The profiles of roads, below their wheels."""
    s = _Drawn(system, poses, p)
    for force in system.description.forces:
        if isinstance(force, Tyre) and force.road is not None:
            on, x = s.pose(force.on), force.road.x
            x = np.linspace(x[0], x[-1], SMOOTH) if force.road.smooth else x
            y = (np.linalg.inv(on) @ s.pose(force.wheel))[1, 3]
            points: Sequence[np.ndarray] = [on[:3, :3] @ (a, y, h) + on[:3, 3] for a, h in zip(x, force.road.at(x))]
            yield DrawnLink("cable", force.name, tuple(_place(index, poses, force.on.body.name, q) for q in points))


def _place(index: Mapping[str, int], poses: Mapping[str, np.ndarray], body: str, x: np.ndarray) -> Place:
    """A point of the ground as a point of a body."""
    T = poses[body]
    return Place("", index[body], Transform(np.eye(3), T[:3, :3].T @ (x - T[:3, 3])))
