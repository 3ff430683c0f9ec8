"""Histories by name: motion of frames, multipliers, reactions and powers at every record of a run.

All are computed by the compiled functions of the system, eight records at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.errors import unknown
from dalembert.mechanism.constraints import Loop
from dalembert.mechanism.traced import line_points
from dalembert.simulation.powers import constraint_power, force_power, kind_of, of_force
from dalembert.system.acceleration import limits

if TYPE_CHECKING:
    from dalembert.simulation.run import Run
    from dalembert.system.system import System


class Histories:
    """The part of `Run` that answers by name; arrays have one row for each of its N times.

    frame: a frame (`body.at(...)`), a body, or the name of either. Lengths are in m, angles in rad, times in s, forces
    in N, moments in N m, powers in W. A `State` answers the same questions about frames.
    """

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

    # --- frames -------------------------------------------------------------------------------------------------

    def position(self, frame: Any) -> np.ndarray:
        """(N, 3) origin of a frame in the ground, m.

        >>> import dalembert as da
        >>> m = da.Mechanism("pendulum", gravity=(0, -9.81, 0))
        >>> bob = m.add_body("bob", mass=1.0)
        >>> m.add_joint("A", da.Revolute("z"), m.ground, bob.at(0, 2, 0))
        >>> run = da.simulate(m.compile(), {"A": 1.0}, 1.0)
        >>> bool(abs((run.position("bob") ** 2).sum(axis=1) - 4.0).max() < 1e-12)
        True
        """
        return self.pose(frame)[:, :3, 3]

    def rotation(self, frame: Any) -> np.ndarray:
        """(N, 3, 3) rotation from the axes of a frame to the ground's."""
        return self.pose(frame)[:, :3, :3]

    def pose(self, frame: Any) -> np.ndarray:
        """(N, 4, 4) pose of a frame in the ground: rotation and position (m)."""
        return self._batch("pose", frame=frame, axes="world")

    def velocity(self, frame: Any) -> np.ndarray:
        """(N, 3) velocity of a frame's origin in the ground's axes, m/s."""
        return self.twist(frame, axes="world")[:, 3:]

    def length(self, name: str) -> np.ndarray:
        """(N,) length of the spring, cable or actuator of this name, m."""
        points = [self.position(f) for f in line_points(self.system.layout.mechanism.forces, name)]
        return sum((np.linalg.norm(b - a, axis=1) for a, b in pairwise(points)), np.zeros(len(self.t)))

    def length_rate(self, name: str) -> np.ndarray:
        """(N,) rate of the length of the spring, cable or actuator of this name, m/s; NaN where two points coincide."""
        frames = line_points(self.system.layout.mechanism.forces, name)
        rate = np.zeros(len(self.t))
        for (a, v), (b, w) in pairwise((self.position(f), self.velocity(f)) for f in frames):
            with np.errstate(invalid="ignore"):
                rate += ((w - v) * (b - a)).sum(axis=1) / np.linalg.norm(b - a, axis=1)
        return rate

    def twist(self, frame: Any, axes: str = "body") -> np.ndarray:
        """(N, 6) (ω; v) of a frame's origin, rad/s and m/s, in the axes of the frame ("body") or ground ("world")."""
        return self._batch("twist", frame=frame, axes=axes)

    def acceleration(self, frame: Any) -> np.ndarray:
        """(N, 3) acceleration of a frame's origin in the ground's axes, m/s²: with the inputs of the record."""
        return self._batch("frame_acceleration", frame=frame, axes="world", a=self._dynamics[0])[:, 3:]

    # --- forces -------------------------------------------------------------------------------------------------

    @property
    def multipliers(self) -> np.ndarray:
        """(N, m) of the constraint rows `system.row_names`, N or N m; the shortest where rows depend on each other."""
        return self._dynamics[1]

    def multiplier(self, name: str) -> np.ndarray:
        """History of the multiplier of a row ("C.x"), (N,), or of the k rows of a constraint ("C"), (N, k); N or N m.

        A constraint with one row, as a driver, gives (N,). name: as in `system.row_names`, or the constraint's.

        >>> import dalembert as da
        >>> system = da.zoo.four_bar().compile()
        >>> run = da.simulate(system, system.assemble({"A": 0.6}), 0.1)
        >>> run.multiplier("C").shape == (len(run.t), 2), run.multiplier("C.x").shape == run.t.shape
        (True, True)
        """
        rows = self.system.rows
        if isinstance(name, str) and name in rows.names:
            return self.multipliers[:, rows.names.index(name)]
        if not isinstance(name, str) or name not in rows.of:
            raise unknown("row or constraint", name, dict.fromkeys([*rows.names, *rows.of]))
        found = self.multipliers[:, [of == name for of in rows.of]]
        return found[:, 0] if found.shape[1] == 1 else found

    def reactions(self, joint: str) -> np.ndarray:
        """(N, 6) moment (N m) and force (N) in a joint, tree or cut, by its name; see `System.constraint_forces`."""
        system = self.system
        tree = list(system.description.whole.joints)
        cut = [c.name for c in system.description.constraints if isinstance(c, Loop)]
        if not isinstance(joint, str) or joint not in (*tree, *cut):
            raise unknown("joint", joint, [*tree, *cut])
        vdot, multipliers = self._dynamics
        lam = np.pad(multipliers, ((0, 0), (0, len(system.rows.left_out))))
        if joint in tree:
            return self._batch("reactions", a=vdot, lam=lam)[:, tree.index(joint)]
        return self._batch("loop_wrench", frame=joint, lam=lam)

    def driving_force(self, name: str) -> np.ndarray:
        """(N,) force (N) or moment (N m) that the drive of a kinematic input exerts, by the input's name."""
        system = self.system
        if not isinstance(name, str) or name not in system.led:
            raise unknown("kinematic input", name, system.led)
        vdot, multipliers = self._dynamics
        lam = np.pad(multipliers, ((0, 0), (0, len(system.rows.left_out))))
        forces = self._batch("driving_forces", a=vdot, lam=lam).reshape(len(self.t), -1)
        return forces[:, list(system.led).index(name)]

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
        if name in self.system.led and kind in ("input", "force"):
            return self.driving_force(name) * self.v[:, self.system.led[name]]
        acting = of_force(self.system, name, kind)
        if not acting and kind == "joint":
            return np.zeros(len(self.t))
        key, arguments = ("power", kind, name), ("q", "v", "u", "p", "t")
        return self._through(lambda lanes: self.system.custom_kernel(
            key, arguments, force_power(self.system, name, kind), lanes=lanes
        ))  # fmt: skip

    # --- tables -------------------------------------------------------------------------------------------------

    def to_pandas(self) -> Any:
        """The run as a `pandas.DataFrame` (extra `pandas`): one row for each time, index t in s.

        Columns have the names they have in files: "q.A", "v.A", "work.inputs", "u.push", "margin"; then
        "kinetic_energy", "potential_energy", "lambda.C.x". `table.attrs["units"]` has the unit of each.
        """
        from dalembert.simulation.tables import to_pandas

        return to_pandas(cast("Run", self))

    def to_xarray(self) -> Any:
        """The run as an `xarray.Dataset` (extra `xarray`), with names along its dimensions and units in attributes.

        Its variables are q (t, coordinate), v (t, speed), u (t, input), work (t, source), multipliers (t, row), and
        margin, kinetic_energy and potential_energy (t). Where units differ along a dimension they are a coordinate:
        `data.coordinate_units`.
        """
        from dalembert.simulation.tables import to_xarray

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
