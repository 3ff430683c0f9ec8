"""The view of a mechanism: in its plane of motion if it has one, else from a corner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.mechanism.body import Frame
from dalembert.spatial import Transform
from dalembert.symbols import is_number
from dalembert.system.system import System

PARALLEL = 1e-9
YAW, PITCH = np.radians(-35.0), np.radians(20.0)  # of the eye, for spatial mechanisms


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Axes of the picture in the ground: right, up and towards the eye, the columns of R; planar if all moves so."""

    R: np.ndarray  # (3, 3)
    planar: bool


def sight(
    system: System, poses: dict[str, np.ndarray], placed: Callable[[Frame], tuple[np.ndarray, np.ndarray]]
) -> Sight:
    """The sight from the directions of the tree's joints in one position.

    poses: {body: (N, 4, 4)}. placed(frame): (R, x) of a frame on its body.
    """
    turning, sliding, places = [], [], []
    up = _up(system)
    for a in system.layout.joints.values():
        own = Frame(a.child.body, a.child.T @ Transform(a.joint.orientation, np.zeros(3)))
        R, x = placed(own)
        T = poses[a.child.body.name][0]
        axis = T[:3, :3] @ R[:, 2]
        places.append(T[:3, :3] @ x + T[:3, 3])
        if a.joint.kind in ("revolute", "planar"):
            turning.append(axis)
        elif a.joint.kind == "prismatic":
            sliding.append(axis)
        elif a.joint.kind != "fixed":
            return Sight(_aside(up), False)
    normal = _common_normal(turning, sliding, up)
    if normal is None or (len(turning) > 1 and not sliding and _in_one_line(places, normal)):
        return Sight(_aside(up), False)
    return Sight(_facing(normal, up), True)


def _common_normal(turning: list[np.ndarray], sliding: list[np.ndarray], up: np.ndarray) -> np.ndarray | None:
    """The direction all axes of turning have and all of sliding lack, if there is one."""
    if turning:
        n = turning[0]
    elif sliding:
        _, s, Vt = np.linalg.svd(np.array(sliding + [np.zeros(3)] * 2))
        n = Vt[2]
        if s[1] < PARALLEL:  # one line: show it with what is up, if it is not that itself
            n = np.cross(up, sliding[0])
            n = n / np.linalg.norm(n) if np.linalg.norm(n) > PARALLEL else Vt[2]
    else:
        return None
    along = all(np.linalg.norm(np.cross(a, n)) < PARALLEL for a in turning)
    return n if along and all(abs(s @ n) < PARALLEL for s in sliding) else None


def _in_one_line(places: list[np.ndarray], n: np.ndarray) -> bool:
    """Whether places are behind each other, seen along n: shafts, which are looked at from the side."""
    ways = np.array(places) - places[0]
    along = ways @ n
    size = float(np.abs(along).max())
    return size > 0.0 and float(np.abs(ways - along[:, None] * n).max()) < 1e-6 * size


def _up(system: System) -> np.ndarray:
    """Against gravity; z where there is none or parameters decide."""
    g = system.description.gravity
    numbers = np.array([float(x) if is_number(x) else 0.0 for x in g])
    size = np.linalg.norm(numbers)
    return -numbers / size if size > 0 and all(is_number(x) for x in g) else np.array([0.0, 0.0, 1.0])


def _facing(n: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Axes of the picture seen along n: up as far as it can be, else y, else x; right positive in the main."""
    for u in (up, np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])):
        u = u - (u @ n) * n
        if np.linalg.norm(u) > 1e-6:
            break
    u = u / np.linalg.norm(u)
    right = np.cross(u, n)
    if right[np.argmax(np.abs(right))] < 0:
        n, right = -n, -right
    return np.column_stack([right, u, n])


def _aside(up: np.ndarray) -> np.ndarray:
    """Axes of a picture of a spatial mechanism: up, and the next of the ground's axes to the right."""
    k = int(np.argmax(np.abs(up)))
    right = np.eye(3)[(k + 1) % 3]
    right = right - (right @ up) * up
    right = right / np.linalg.norm(right)
    return np.column_stack([right, up, np.cross(right, up)])


def turned(x: np.ndarray, yaw: float = YAW, pitch: float = PITCH) -> np.ndarray:
    """Points (…, 3) seen by an eye turned by yaw about "up" and raised by pitch, as the player does."""
    a, b = np.cos(yaw), np.sin(yaw)
    c, d = np.cos(pitch), np.sin(pitch)
    turn = np.array([[a, 0, b], [0, 1, 0], [-b, 0, a]])
    raised = np.array([[1, 0, 0], [0, c, -d], [0, d, c]])
    return x @ (raised @ turn).T
