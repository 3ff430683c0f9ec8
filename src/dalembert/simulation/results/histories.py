"""Histories by name: motion of frames, multipliers, reactions and powers at every record of a run.

All are computed by the compiled functions of the system, eight records at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.analysis.by_name import ByName
from dalembert.errors import unknown
from dalembert.lazy import cached_property
from dalembert.simulation.results.powers import constraint_power, force_power, kind_of, of_force
from dalembert.system.acceleration import limits
from dalembert.tables import Columns

if TYPE_CHECKING:
    from dalembert.simulation.results.run import Run
    from dalembert.system.system import System


class Histories(ByName):
    """The part of `Run` that answers by name; arrays have one row for each of its N times."""

    system: System
    p: np.ndarray
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    if TYPE_CHECKING:

        def state(self, k: int = -1) -> Any: ...

        @cached_property
        def _constraints(self) -> Any: ...

    # --- forces -------------------------------------------------------------------------------------------------

    @property
    def vdot(self) -> np.ndarray:
        """(N, nv) accelerations v̇, with the inputs of the record, rad/s² or m/s²."""
        return self._dynamics[0]

    @property
    def multipliers(self) -> np.ndarray:
        """(N, m) of the constraint rows `system.row_names`, N or N m; the shortest where rows depend on each other."""
        return self._dynamics[1]

    def driving_force(self, name: str) -> np.ndarray:
        """(N,) force (N) or moment (N m) that the drive of a kinematic input exerts, by the input's name."""
        system = self.system
        if not isinstance(name, str) or name not in system.description.prescribed:
            raise unknown("kinematic input", name, system.description.prescribed)
        vdot, multipliers = self._dynamics
        lam = np.pad(multipliers, ((0, 0), (0, len(system.rows.left_out))))
        forces = self._batch("driving_forces", a=vdot, lam=lam).reshape(len(self.t), -1)
        return forces[:, list(system.description.prescribed).index(name)]

    def power(self, name: str, kind: str | None = None) -> np.ndarray:
        """(N,) W that an input, a force, a constraint (driver) or a joint's spring and damper brings into the motion.

        name: of an input ("push", or "push[1]" of several), of a motor, spring, cable or other force, of a constraint,
        or of a joint of the tree. kind: "input", "force", "constraint" or "joint", where things of different kinds have
        the name. What an input brings is the difference that setting it to zero makes to the power of all forces. The
        power of a spring counts both ways: what it stores is negative. Ideal joints and resting constraints have none.

        >>> import dalembert as da
        >>> m = da.Mechanism("cart")
        >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("cart", mass=2.0), damping=0.5)
        >>> push = m.add_motor("push", "x")
        >>> run = da.simulate(m.compile(), m.compile().state(v={"x": 3.0}), 1.0, u={"push": 2.0})
        >>> float(run.power("push")[0]), float(run.power("x")[0])
        (6.0, -4.5)
        """
        kind = kind_of(self.system, name, kind)
        if kind == "constraint":
            return constraint_power(self.system.rows.of, name, self._dynamics[1], self._constraints[1], self.v)
        if name in self.system.description.prescribed and kind in ("input", "force"):
            return self.driving_force(name) * self.v[:, self.system.description.prescribed[name]]
        acting = of_force(self.system, name, kind)
        if not acting and kind == "joint":
            return np.zeros(len(self.t))
        key, arguments = ("power", kind, name), ("q", "v", "u", "p", "t")
        return self._through(lambda lanes: self.system.kernels.custom(
            key, arguments, force_power(self.system, name, kind), lanes=lanes
        ))  # fmt: skip

    # --- tables -------------------------------------------------------------------------------------------------

    def _columns(self) -> Columns:
        """Names as in files: "q.A", "v.A", "work.inputs", "u.push", "margin", then energies and "lambda.C.x"."""
        from dalembert.simulation.results.tables import run_columns

        return run_columns(cast("Run", self))

    def to_xarray(self) -> Any:
        """The run as an `xarray.Dataset` (extra `xarray`), with names along its dimensions and units in attributes.

        Its variables are q (t, coordinate), v (t, speed), u (t, input), work (t, source), multipliers (t, row), and
        margin, kinetic_energy and potential_energy (t). Where units differ along a dimension they are a coordinate:
        `data.coordinate_units`.
        """
        from dalembert.simulation.results.tables import to_xarray

        return to_xarray(cast("Run", self))

    # --- helpers ------------------------------------------------------------------------------------------------

    @cached_property
    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """v̇ (N, nv) and λ (N, m): by elimination, and where rows may depend on each other as `System.acceleration`."""
        vdot, multipliers, _, evidence, _ = self._batch("answer", tau=np.zeros((len(self.t), self.system.nv)))
        least = limits(self.system, self.p)
        sure = (evidence[:, 0] > least.angle) & (evidence[:, 1] > least.length) & np.isfinite(evidence[:, 3])
        numbers = np.isfinite(self.q).all(axis=1) & np.isfinite(self.v).all(axis=1)
        for k in np.flatnonzero(~sure & numbers).tolist():
            u = self.u[k] if self.u.shape[1] else None
            a = self.system.acceleration(self.state(k), u=u, p=self.p)
            vdot[k], multipliers[k] = a.vdot, a.multipliers
        return vdot, multipliers

    def _batch(self, name: str, *, frame: Any = None, axes: str = "body", **more: np.ndarray) -> Any:
        """Values of a function of the system at every record; more: its further arguments."""
        return self._through(lambda lanes: self.system.kernel(name, frame=frame, axes=axes, lanes=lanes), **more)

    def _through(self, make: Any, **more: np.ndarray) -> Any:
        """Values of a kernel, made for a number of lanes, at every record."""
        known = {"q": self.q, "v": self.v, "u": self.u, "p": self.p, "t": self.t[:, None], **more}
        if not self.system.nq:  # nothing moves, so there may be no column to go through
            kernel = make(1)
            rows = [kernel(*(_row(known[n], k) for n in kernel.names_in)) for k in range(len(self.t))]
            return _stacked(rows, kernel.shapes_out)
        kernel = make(8 if self.system.backend == "native" else 1)
        return kernel.batch(*(known[n] for n in kernel.names_in))


def _row(x: np.ndarray, k: int) -> np.ndarray:
    return x[k] if x.ndim == 2 else x


def _stacked(rows: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> Any:
    """Outputs of single calls one under another, as a batch returns them."""
    if len(shapes) == 1:
        return np.array(rows).reshape(len(rows), *shapes[0])
    return tuple(np.array([row[i] for row in rows]).reshape(len(rows), *shape) for i, shape in enumerate(shapes))
