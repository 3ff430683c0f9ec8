"""The result of a workspace map."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.analysis.at_states import AtStates, StateRows, animated, state_rows
from dalembert.analysis.motion_columns import columns, position_units
from dalembert.errors import ArgumentError, extra
from dalembert.system.state import State
from dalembert.system.system import System
from dalembert.tables import Columns

MAPS = ("reachable", "branch", "count", "room", "loops", "serial", "parallel", "manipulability", "dexterity")


@dataclass(frozen=True, eq=False)
class Workspace(AtStates):
    """The reachable part of a grid; all arrays have the grid's shape, with NaN where a point is out of reach.

    `map["B"]` are the values of a coordinate over the grid, `map.state(i, j)` is the state at a point, `map.on(k)` the
    map of one branch alone, `map.plot()` a picture. Where several branches reach a point, its values are those of the
    first of them, in the order they were found: that of the given state first.

    Singular values are those of rows in radians and lengths of the mechanism: 0 in a singular position, about 1 far
    from it.
    """

    system: System
    axes: dict[str, np.ndarray]  # values along each axis of the grid, by name
    reachable: np.ndarray  # bool
    branch: np.ndarray  # int: which branch the values here are of; −1 where nothing is reached
    count: np.ndarray  # int: how many of the branches reach it
    q: np.ndarray  # (*shape, nq) positions
    room: np.ndarray  # rad or lengths of the mechanism to the nearest joint limit; negative outside, ∞ without limits
    loops: np.ndarray  # smallest singular value of the constraints
    serial: np.ndarray  # of the constraints and what the map leads and holds: 0 where it can stand against motion
    parallel: (
        np.ndarray | None
    )  # of the constraints, what is actuated and joints held: 0 where actuators lose hold; None unknown
    manipulability: np.ndarray | None  # product of the frame's velocities for unit motions in the metric
    dexterity: np.ndarray | None  # smallest over largest of these: 1 where all directions are alike
    cost: np.ndarray  # int: evaluations of the constraints that each point took
    branches: int  # how many were found
    t: float  # s: the time of drivers, that of the given state
    p: np.ndarray  # (np,) parameters
    interrupted: bool  # whether it was ended from outside (Ctrl-C)
    _parts: tuple[Workspace, ...] = field(repr=False, default=())

    def __repr__(self) -> str:
        along = " × ".join(f"{n} ({len(x)})" for n, x in self.axes.items())
        part = f"{100 * self.share:.4g} % reachable"
        return f"<workspace of '{self.system.name}' over {along}: {part}, {self.branches} branch(es)>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the grid."""
        return self.reachable.shape

    @property
    def share(self) -> float:
        """The part of the points that is reachable, 0 … 1."""
        return float(self.reachable.mean())

    @property
    def margin(self) -> np.ndarray:
        """The smallest of `loops`, `serial` and, where it is known, `parallel`."""
        least = np.minimum(self.loops, self.serial)
        return least if self.parallel is None else np.minimum(least, self.parallel)

    def _records(self) -> StateRows:
        """At rest, without inputs."""
        return state_rows(self.system, self.q, p=self.p, t=self.t)

    def animate(self, path: Any, **options: Any) -> Any:
        """The reachable points in their order, row by row to and fro, as one HTML file at path.

        options: of `dalembert.view.animate`.
        """
        rows = self.q.reshape(-1, self.shape[-1], self.system.nq).copy()
        rows[1::2] = rows[1::2, ::-1]
        one = state_rows(self.system, rows.reshape(-1, self.system.nq), p=self.p)
        return animated(self.system, one, repr(self)[1:-1], path, options)

    def _accelerations(self) -> np.ndarray:
        raise ArgumentError(
            "a map has positions, and no motion or forces; for forces at rest call da.static_forces(system, state, "
            "loads) with map.state(...), for a motion system.sweep."
        )

    _row_forces = _accelerations

    def state(self, *index: int) -> State:
        """The state at a point; index: its place along each axis, from 0."""
        if len(index) != len(self.shape):
            raise ArgumentError(f"index has {len(index)} numbers; needed: {len(self.shape)}, one for each axis.")
        place = tuple(checks.whole(k, "index", least=-n, most=n - 1) for k, n in zip(index, self.shape))
        if not self.reachable[place]:
            at = ", ".join(f"{n} = {x[k]:.6g}" for (n, x), k in zip(self.axes.items(), place))
            raise ArgumentError(f"'{self.system.name}' does not reach {at}; see `reachable` for points that it does.")
        return self.system.arguments.belonging(self.system.state(self.q[place], t=self.t), self.p)

    def on(self, k: int) -> Workspace:
        """The map of the k-th branch alone, k from 0."""
        parts = self._parts or (self,)
        return parts[checks.whole(k, "k", least=0, most=len(parts) - 1)]

    def plot(self, name: str = "margin", path: str | os.PathLike[str] | None = None) -> Any:
        """A picture of a map with one or two axes: `name` is that of one of its arrays, or of a coordinate.

        Returns Matplotlib's figure (extra `view`) and writes it to `path` if there is one.
        """
        from dalembert.view.maps import plot_map

        return plot_map(self, name, path)

    def _columns(self) -> Columns:
        """One row for each point of the grid."""
        n = self.reachable.size
        grid = np.meshgrid(*self.axes.values(), indexing="ij")
        values = {name: x.ravel() for name, x in zip(self.axes, grid)}
        values |= {name: x.ravel() for name, x in self._maps().items()}
        q, units = columns("q", self.q.reshape(n, -1), self.system.q_names, position_units(self.system))
        return Columns(self.system.name, "point", np.arange(n), values | q, units)

    def _maps(self) -> dict[str, np.ndarray]:
        values = {name: getattr(self, name) for name in MAPS}
        return {name: x for name, x in values.items() if x is not None}

    def to_xarray(self) -> Any:
        """The map as an `xarray.Dataset` (extra `xarray`), the axes as its coordinates."""
        xarray = extra("xarray", "xarray", "a labelled array of a map")
        dims = tuple(self.axes)
        data = {n: (dims, x) for n, x in self._maps().items()}
        data["q"] = ((*dims, "coordinate"), self.q)
        coordinates = {**self.axes, "coordinate": np.array(self.system.q_names, dtype=str)}
        return xarray.Dataset(data, coordinates, {"system": self.system.name})
