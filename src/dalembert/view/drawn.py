"""A mechanism ready to be drawn: its skeleton, where its points are at some times, and how to look at it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.mechanism.body import Body, Frame
from dalembert.protocols import Parameters
from dalembert.system.system import System
from dalembert.view.plane import Sight, sight
from dalembert.view.poses import body_poses, place_on_body
from dalembert.view.skeleton import Skeleton, skeleton

#: colours of bodies, told apart by the colour-blind too
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#5e4fa2")


@dataclass(frozen=True, eq=False)
class Scene:
    """points (N, P, 3) in the axes of the picture: right, up, towards the eye."""

    skeleton: Skeleton
    sight: Sight
    points: np.ndarray

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and greatest coordinates of the points, (3,) each."""
        flat = self.points.reshape(-1, 3)
        return flat.min(axis=0), flat.max(axis=0)

    @cached_property
    def floor(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Lines of a square grid below a spatial mechanism, pairs of points; none for a planar one."""
        if self.sight.planar:
            return []
        low, high = self.box
        span = float((high - low).max())
        if span <= 0:
            return []
        low, high = np.minimum(low, (low + high - 0.6 * span) / 2), np.maximum(high, (low + high + 0.6 * span) / 2)
        step = next(s for s in np.outer(10.0 ** np.arange(-12, 13), (1, 2, 5)).ravel() if span / s <= 10)
        first, last = np.floor(low / step) * step, np.ceil(high / step) * step
        y, (x0, z0), (x1, z1) = self.box[0][1], first[[0, 2]], last[[0, 2]]
        along = [((x, y, z0), (x, y, z1)) for x in np.arange(x0, x1 + step / 2, step)]
        across = [((x0, y, z), (x1, y, z)) for z in np.arange(z0, z1 + step / 2, step)]
        return [(np.array(a), np.array(b)) for a, b in along + across]

    @cached_property
    def colors(self) -> dict[str, str]:
        """Colour of each body, {name: "#rrggbb"}."""
        bodies = [name for name in self.skeleton.system.layout.bodies if name != "ground"]
        return {name: COLORS[k % len(COLORS)] for k, name in enumerate(bodies)}


def scene(system: System, q: np.ndarray, traces: Iterable[str | Body | Frame] = (), p: Parameters = None) -> Scene:
    """The scene of positions q (N, nq), with the paths of the traced frames."""
    q = np.atleast_2d(np.asarray(q, dtype=float))
    poses = body_poses(system, list(system.layout.bodies.values()), q, p)
    s = skeleton(system, q, traces, p)
    look = sight(system, poses, lambda frame: place_on_body(system, frame, p))
    return Scene(s, look, s.positions(poses) @ look.R)
