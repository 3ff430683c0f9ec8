"""Workspace and singularity maps: what a mechanism reaches over a grid, and how well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.branch.map_rows import MapRows
from dalembert.errors import ArgumentError
from dalembert.kinematics.flood import Grid
from dalembert.kinematics.mapping import MapInTheMaking
from dalembert.kinematics.measures import Measuring
from dalembert.kinematics.result import Workspace
from dalembert.protocols import Parameters, StateGiven, check_system
from dalembert.system.system import System

LARGEST = 2_000_000  # points


def workspace(
    system: System,
    grid: Mapping[str, Any],
    state: StateGiven | None = None,
    *,
    held: Mapping[str, float] | None = None,
    frames: Mapping[Any, Any] | None = None,
    of: Any = None,
    actuated: Sequence[str] | None = None,
    metric: str = "actuated",
    limits: bool = True,
    branches: int = 1,
    seed: int = 0,
    p: Parameters = None,
    progress: Callable[[float], Any] | None = None,
) -> Workspace:
    """Map the workspace over a grid of coordinates or frame positions, with the distance to singularity.

    system: a compiled `System`. grid: {name: values} along each axis, rising or falling; a name is a coordinate of the
    tree, or "frame.x", "frame.y", "frame.z" of a frame or body in the ground (m). state: where to begin, on the branch
    that is meant; default searched from random positions (seed). held: names like those of the grid, each with one
    value. frames: {frame: goal} as in `assemble`, for orientations that stay.

    of: the frame whose manipulability is wanted, default that of the grid. metric: what a unit motion is, "actuated"
    (the squares of the actuated velocities add up to 1), "mass" (v · M v = 1) or "coordinates" (those of all do, in
    rad/s and lengths of the mechanism). actuated: joints, velocities, motors or actuators (cylinders count by their
    lengths); default all that have a drive, else all joints of an open chain, else the coordinates of a map over
    coordinates alone. A coordinate that is held does not move, whether it is actuated or not. limits: take only what is
    within the limits of the joints, and do not pass through the rest. branches: how many to look for, first where the
    map begins, then at points that none reaches. p: parameters. progress: called with the part that is done.

    Neighbours start from each other's positions and do not pass singular ones, so a branch is a region without
    singularities of the inverse kinematics. `reachable` tells what the branches reach that were looked for.

    >>> import dalembert as da
    >>> import numpy as np
    >>> arm = da.zoo.chain(2).compile()
    >>> map = da.workspace(arm, {"J1": np.linspace(-1, 1, 5), "J2": np.linspace(-2, 2, 9)}, of="link 2")
    >>> map.shape, map.share
    ((5, 9), 1.0)
    """
    check_system(system)
    values = checks.mapping(grid, "grid")
    if not values:
        raise ArgumentError(
            "the grid has no axes; give coordinates or frames with values, {'tool.x': xs, 'tool.y': ys}."
        )
    start, _, p = system.arguments.resolve({} if state is None else state, None, p)
    rows = MapRows(system, values, held, frames, p, start.t)
    points = Grid(list(rows.values.values()))
    if points.size > LARGEST:
        raise ArgumentError(f"the grid has {points.size} points; needed: at most {LARGEST}.")
    measuring = Measuring(rows, of, actuated, metric)
    branches = checks.whole(branches, "branches", least=1, most=1000)
    rng = np.random.default_rng(checks.whole(seed, "seed", least=0))
    if progress is not None:
        checks.function(progress, "progress")
    mapping = MapInTheMaking(rows, points, measuring, checks.flag(limits, "limits"), rng, progress)
    try:
        mapping.run(state, branches)
    except KeyboardInterrupt:
        mapping.interrupted = True
    return mapping.result()
