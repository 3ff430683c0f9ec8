"""Questions by name about many positions of a mechanism: what runs, sweeps, plans, maps and ensembles answer alike.

Records lie along one axis or along several: a run has (N,), sweeps of variants (n, K), a map the shape of its grid.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.errors import unknown
from dalembert.lazy import cached_property
from dalembert.mechanism.traced import line_points
from dalembert.tables import Tabular


class ByName(Tabular):
    """Motion of frames and joints, and forces in joints, at each of N records; N stands for all axes of the records.

    frame: a frame (`body.at(...)`), a body, or the name of either. Lengths are in m, angles in rad, times in s, forces
    in N, moments in N m. A `State` answers the same questions about frames.
    """

    system: Any
    q: np.ndarray  # (N, nq)
    v: np.ndarray  # (N, nv)
    p: Any  # parameters
    _batch: Callable[..., Any]  # (name, frame=, axes=, **more): a function of the system at every record

    if TYPE_CHECKING:

        @property
        def vdot(self) -> np.ndarray:
            """(N, nv) accelerations of the velocities."""

        @property
        def multipliers(self) -> np.ndarray:
            """(N, m) of the constraint rows `system.row_names`."""

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
        return self.pose(frame)[..., :3, 3]

    def rotation(self, frame: Any) -> np.ndarray:
        """(N, 3, 3) rotation from the axes of a frame to the ground's."""
        return self.pose(frame)[..., :3, :3]

    def pose(self, frame: Any) -> np.ndarray:
        """(N, 4, 4) pose of a frame in the ground: rotation and position (m)."""
        return self._batch("pose", frame=frame, axes="world")

    def velocity(self, frame: Any) -> np.ndarray:
        """(N, 3) velocity of a frame's origin in the ground's axes, m/s."""
        return self.twist(frame, axes="world")[..., 3:]

    def twist(self, frame: Any, axes: str = "body") -> np.ndarray:
        """(N, 6) (ω; v) of a frame's origin, rad/s and m/s, in the axes of the frame ("body") or ground ("world")."""
        return self._batch("twist", frame=frame, axes=axes)

    def acceleration(self, frame: Any) -> np.ndarray:
        """(N, 3) acceleration of a frame's origin in the ground's axes, m/s²."""
        return self._batch("frame_acceleration", frame=frame, axes="world", a=self._accelerations())[..., 3:]

    def length(self, name: str) -> np.ndarray:
        """(N,) length of the spring, cable or actuator of this name, m."""
        points = [self.position(f) for f in line_points(self.system.layout.mechanism.forces, name)]
        return sum((np.linalg.norm(b - a, axis=-1) for a, b in pairwise(points)), np.zeros(points[0].shape[:-1]))

    def length_rate(self, name: str) -> np.ndarray:
        """(N,) rate of the length of the spring, cable or actuator of this name, m/s; NaN where two points coincide."""
        frames = line_points(self.system.layout.mechanism.forces, name)
        rate = 0.0
        for (a, v), (b, w) in pairwise((self.position(f), self.velocity(f)) for f in frames):
            with np.errstate(invalid="ignore"):
                rate = rate + ((w - v) * (b - a)).sum(axis=-1) / np.linalg.norm(b - a, axis=-1)
        return np.asarray(rate)

    # --- energy -------------------------------------------------------------------------------------------------

    @cached_property
    def kinetic_energy(self) -> np.ndarray:
        """(N,), J."""
        return self._batch("kinetic_energy")

    @cached_property
    def potential_energy(self) -> np.ndarray:
        """(N,), J: of weight and springs."""
        return self._batch("potential_energy")

    @property
    def energy(self) -> np.ndarray:
        """(N,) kinetic and potential energy, J."""
        return self.kinetic_energy + self.potential_energy

    # --- joints -------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> np.ndarray:
        """(N,) values of a coordinate, or (N, k) of a joint with several, by its name.

        Joints that close loops have values too; their angles begin in (−π, π] and go on from there.
        """
        layout = self.system.layout
        if (cut := layout.cut_coordinate(name, "q")) is not None:
            return self._cut_joint(cut[0], cut[1], "position")
        return self._coordinates()[0][..., columns(name, layout.q_names, layout.q_slice, layout.joints, "coordinate")]

    def rate(self, name: str) -> np.ndarray:
        """(N,) values of a velocity, or (N, k) of a joint with several, by its name, rad/s or m/s."""
        layout = self.system.layout
        if (cut := layout.cut_coordinate(name, "v")) is not None:
            return self._cut_joint(cut[0], cut[1], "velocity")
        return self._coordinates()[1][..., columns(name, layout.v_names, layout.v_slice, layout.joints, "velocity")]

    def _cut_joint(self, loop: str, part: slice, what: str) -> np.ndarray:
        """(N,) or (N, k): position or velocity of a joint that closes a loop; angles go on from the first one."""
        position, velocity = self._batch("cut_joint", frame=loop, axes="body")
        joint = self.system.layout.loop(loop).joint
        x = velocity if what == "velocity" else position
        if what == "position" and joint.nq == joint.nv and x.ndim > 1 and np.isfinite(x).all():
            turns = np.array(joint.angular)
            x[..., turns] = np.unwrap(x[..., turns], axis=-2)
        x = x[..., part]
        return x[..., 0] if x.shape[-1] == 1 else x

    def joint_acceleration(self, name: str) -> np.ndarray:
        """(N,) derivative of a velocity, or (N, k) of a joint with several, by its name, rad/s² or m/s²."""
        layout = self.system.layout
        place = columns(name, layout.v_names, layout.v_slice, layout.joints, "velocity")  # before anything is computed
        return self._accelerations()[..., place]

    def multiplier(self, name: str) -> np.ndarray:
        """(N,) multiplier of a row ("C.x"), or (N, k) of the k rows of a constraint ("C"), N or N m.

        A constraint with one row, as a driver, gives (N,). name: as in `system.row_names`, or the constraint's.

        >>> import dalembert as da
        >>> system = da.zoo.four_bar().compile()
        >>> run = da.simulate(system, system.assemble({"A": 0.6}), 0.1)
        >>> run.multiplier("C").shape == (len(run.t), 2), run.multiplier("C.x").shape == run.t.shape
        (True, True)
        """
        place = row_columns(self.system.rows, name)  # before anything is computed
        return self._row_forces()[..., place]

    def reactions(self, joint: str) -> np.ndarray:
        """(N, 6) moment (N m) and force (N) in a joint, tree or cut, by its name; see `System.constraint_forces`."""
        system = self.system
        tree, _cut = joints_and_loops(system, joint)
        if joint in tree:
            return self._in_joints()[..., tree.index(joint), :]
        lam = self._all_multipliers()
        return self._batch("loop_wrench", frame=joint, lam=lam).reshape(*lam.shape[:-1], 6)

    # --- pictures -----------------------------------------------------------------------------------------------

    def animate(self, path: Any, **options: Any) -> Any:
        """The motion as one HTML file at path, which works offline; options of `dalembert.view.animate`."""
        from dalembert.view import animate

        return animate(cast(Any, self), path, **options)

    def _repr_html_(self) -> str:
        """A picture of some positions, the last in full colour, above a summary, for notebooks."""
        from dalembert.view.notebook import html_of

        some = np.linspace(0, len(self.q) - 1, min(4, len(self.q))).astype(int)
        return html_of(self.system, self.q[some], repr(self), self.p)

    # --- inside -------------------------------------------------------------------------------------------------

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """(N, nq) positions and (N, nv) velocities."""
        return self.q, self.v

    def _accelerations(self) -> np.ndarray:
        """(N, nv) v̇."""
        return self.vdot

    def _row_forces(self) -> np.ndarray:
        """(N, m) λ of the rows `system.row_names`."""
        return self.multipliers

    def _in_joints(self) -> np.ndarray:
        """(N, joints, 6) wrenches in the joints of the tree."""
        return self._batch("reactions", a=self._accelerations(), lam=self._all_multipliers())

    def _all_multipliers(self) -> np.ndarray:
        """(N, rows) of all rows, those left out last."""
        lam = self._row_forces()
        return np.concatenate([lam, np.zeros((*lam.shape[:-1], len(self.system.rows.left_out)))], axis=-1)


def columns(name: Any, names: Any, where: Any, joints: Any, kind: str) -> Any:
    """Column of a coordinate, or slice of a joint's."""
    if isinstance(name, str) and name in names:
        return names.index(name)
    if not isinstance(name, str) or name not in joints:
        raise unknown(f"joint or {kind}", name, dict.fromkeys([*joints, *names]))
    return where(name)


def row_columns(rows: Any, name: Any) -> Any:
    """Column of a row, or of the only row of a constraint; list of columns of a constraint with several."""
    if isinstance(name, str) and name in rows.names:
        return rows.names.index(name)
    if not isinstance(name, str) or name not in rows.of:
        raise unknown("row or constraint", name, dict.fromkeys([*rows.names, *rows.of]))
    found = [k for k, of in enumerate(rows.of) if of == name]
    return found[0] if len(found) == 1 else found


def joints_and_loops(system: Any, joint: Any) -> tuple[list[str], list[str]]:
    """Names of the joints of the tree and of those that close loops; refuses a joint that is neither."""
    tree = list(system.description.whole.joints)
    cut = [c.name for c in system.description.constraints if c.kind == "loop"]
    if not isinstance(joint, str) or joint not in (*tree, *cut):
        raise unknown("joint", joint, [*tree, *cut])
    return tree, cut
