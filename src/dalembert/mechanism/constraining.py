"""Constraining a mechanism: loops, rods, couplings, drivers, rolling, and what the user writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints import (
    Constraint,
    Expressions,
    LoopJoint,
    PointOn,
    Rod,
    coordinate_driver,
    coupling,
    point_driver,
    rolling_disc_on_disc,
    rolling_on_plane,
    skate,
)
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.joints import Joint, Screw
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.motions import motion_of
from dalembert.mechanism.values import is_exact_zero
from dalembert.spatial import axis_vector
from dalembert.symbols import all_numbers


class Constrainable(Elements):
    """The part of `Mechanism` that adds constraints."""

    def close_loop(self, name: str, joint: Joint | str, a: Any, b: Any, *, at: Any = None, axis: Any = None) -> None:
        """Close a kinematic loop by a joint of any type between a and b: bodies, frames or names.

        The joint is cut out of the tree and kept as constraints, one row for each motion it forbids. Rows that say
        nothing about this mechanism (a planar loop closed by a spatial joint) are left out by themselves; redundant
        ones are fine. `add_joint` leaves the choice of the joints that close loops to `compile`. at, axis: as there.

        >>> import dalembert as da
        >>> m = da.Mechanism("triangle", gravity=(0, -9.81, 0))
        >>> a, b = (m.add_body(n, mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0)) for n in "ab")
        >>> m.add_joint("A", da.Revolute("z"), m.ground, a)
        >>> m.add_joint("B", da.Revolute("z"), m.ground.at(1, 0, 0), b)
        >>> m.close_loop("C", da.Revolute("z"), a.at(1, 0, 0), b.at(1, 0, 0))
        """
        what = f"loop '{name}'"
        joint, at = self._joint_at(joint, axis, at, what)
        if not joint.closure:
            raise DescriptionError(
                f"{what} is closed by a {joint.kind} joint, which forbids no motion; leave it out, "
                "or use add_bushing if it has stiffness or damping."
            )
        if isinstance(joint, Screw) and is_exact_zero(joint.pitch):
            raise DescriptionError(
                f"{what} is closed by a screw of pitch 0, which has no thread; use da.Revolute({joint.axis!r})."
            )
        one, other = self._two(self._drawn(a, at, what), self._drawn(b, at, what), what)
        self._constrain(LoopJoint(name, joint, one, other))

    def add_rod(self, name: str, a: Any, b: Any, *, length: Any = None, at: Any = None) -> None:
        """Keep a and b (origins of frames) at the distance `length` (m) by a massless rod with ball ends.

        at: with bodies a and b, two points of the drawing (coordinates or names). length: by default the distance of
        the two in the drawing, where bodies are placed by `add_body(at=)`, else at the ground's frame.
        """
        what = f"rod '{name}'"
        a, b = self._places((a, b), at, what)
        if length is None:
            length = self._drawn_length((a, b))
        number = self.parameters.scalar(length, f"the length of rod '{name}'", least=0.0)
        if is_exact_zero(number):
            raise DescriptionError(
                f"the length of rod '{name}' is 0; to join two points, close_loop with da.Spherical()."
            )
        self._constrain(Rod(name, *self._two(a, b, f"rod '{name}'"), number))

    def add_point_on_line(self, name: str, point: Any, line: Any, axis: Any = "x", *, at: Any = None) -> None:
        """Keep a point on the line through the origin of frame `line` along `axis` of that frame.

        at: with two bodies, where the point is in the drawing; axis, in the ground's axes, may then be two points.
        """
        what = f"constraint '{name}'"
        b, a = (self._drawn(x, at, what) for x in (point, line))
        self._two(b, a, what)
        n = self._axis(self.axis_between(axis, what)[0], f"the axis of {what}")
        self._constrain(PointOn(name, "point on line", a, b, n, {"across 1": "x", "across 2": "y"}))

    def add_point_in_plane(self, name: str, point: Any, plane: Any, normal: Any = "z", *, at: Any = None) -> None:
        """Keep a point in the plane through the origin of frame `plane` with that normal.

        at: with two bodies, where the point is in the drawing; normal, in the ground's axes, may then be two points.
        """
        what = f"constraint '{name}'"
        b, a = (self._drawn(x, at, what) for x in (point, plane))
        self._two(b, a, what)
        n = self._axis(self.axis_between(normal, what)[0], f"the normal of {what}")
        self._constrain(PointOn(name, "point in plane", a, b, n, {"normal": "z"}))

    def add_coupling(self, name: str, coefficients: Mapping[Any, Any], offset: Any = 0.0) -> None:
        """Tie coordinates by Σ cᵢ qᵢ = offset, coefficients naming each qᵢ with its cᵢ.

        A gear is {"out": 1, "in": -3}, a rack {"rack": 1, "pinion": -radius}.
        """
        if not checks.mapping(coefficients, f"the coefficients of coupling '{name}'", error=DescriptionError):
            raise DescriptionError(
                f"coupling '{name}' names no coordinate; give at least one, such as {{'A': 1, 'B': -2}}."
            )
        coefficients = {q.name if isinstance(q, Attachment) else q: c for q, c in coefficients.items()}
        angular = all(self._coordinate(q, f"coupling '{name}'") for q in coefficients)
        number = self.parameters.scalar
        values = {q: number(c, f"the coefficient of {q} in coupling '{name}'") for q, c in coefficients.items()}
        plain = {q: getattr(c, "sx", c) for q, c in values.items()}
        rest = number(offset, f"the offset of coupling '{name}'")
        self._constrain(coupling(name, plain, getattr(rest, "sx", rest), angular))

    def add_driver(self, name: str, coordinate: Any, motion: Any) -> None:
        """Make a coordinate follow a motion.

        coordinate: its name, or a joint that has one. motion (rad or m): a function of time written with CasADi, such
        as `lambda t: 0.3 * casadi.sin(2 * t)`, which may use parameters; a table, `(times, values)` or `da.Table`; a
        trajectory of `da.control`; or a number, at which the coordinate is held.

        >>> import dalembert as da
        >>> m = da.Mechanism("cam")
        >>> m.add_joint("lift", da.Prismatic("z"), m.ground, m.add_body("valve", mass=0.1))
        >>> m.add_driver("cam", "lift", da.Table([0, 0.01, 0.02, 0.03], [0, 0.008, 0, 0], ends="cyclic"))
        >>> round(m.compile().assemble(t=0.04)["lift"], 9)
        0.008
        """
        what = f"driver '{name}'"
        q = coordinate.name if isinstance(coordinate, Attachment) else coordinate
        angular = self._coordinate(q, what)
        self._constrain(coordinate_driver(name, q, self._motion(motion, 1, what), angular))

    def add_point_driver(self, name: str, frame: Any, motion: Any, *, at: Any = None) -> None:
        """Make the origin of a frame follow a motion: x, y, z in the ground's axes, m.

        motion: as in `add_driver`, with three values: a function of time that returns three, a table whose values are
        of shape (N, 3), a trajectory of three values, or a point. at: with a body, the point of it, as drawn.
        """
        what = f"driver '{name}'"
        self._constrain(point_driver(name, self._drawn(frame, at, what), self._motion(motion, 3, what)))

    def _motion(self, given: Any, n: int, what: str) -> Any:
        return motion_of(given, n, what, self.parameters.checked)

    def add_rolling(
        self, name: str, wheel: Any, *, radius: Any, on: Any = None, axis: str | None = None, at: Any = None
    ) -> None:
        """Let a sphere (axis None) or a thin disc about `axis` of its frame roll, without slip, on a plane.

        The wheel's frame is at its centre, radius in m; the plane is x-y of frame `on` (default: the ground), the wheel
        on the side of +z. at: with a body, the wheel's centre as drawn.
        """
        wheel = self._drawn(wheel, at, f"rolling '{name}'")
        w, p = self._two(wheel, self.ground if on is None else on, f"rolling '{name}'")
        r = self._length(radius, f"the radius of rolling '{name}'")
        self._constrain(rolling_on_plane(name, w, r, p, None if axis is None else _letter(axis, f"rolling '{name}'")))

    def add_rolling_discs(
        self, name: str, a: Any, radius_a: Any, b: Any, radius_b: Any, *, axis: str = "z", inside: bool = False,
        at: Any = None,
    ) -> None:  # fmt: skip
        """Let disc b roll on the rim of disc a (or inside it), in the plane normal to `axis` of a's frame.

        radius_a and radius_b in m. at: with two bodies, the centres of the discs as drawn.
        """
        checks.flag(inside, f"inside of rolling '{name}'", error=DescriptionError)
        discs = self._places((a, b), at, f"rolling '{name}'")
        one, other = self._two(discs[0], discs[1], f"rolling '{name}'")
        ra, rb = (self._length(r, f"a radius of rolling '{name}'") for r in (radius_a, radius_b))
        self._constrain(rolling_disc_on_disc(name, one, ra, other, rb, _letter(axis, f"rolling '{name}'"), inside))

    def add_skate(self, name: str, frame: Any, *, sideways: str = "y", at: Any = None) -> None:
        """Forbid a frame's origin any velocity along its own axis `sideways`: a blade, a wheel that cannot slip.

        at: with a body, where the blade touches, as drawn; sideways is then an axis of the ground.
        """
        blade = self._drawn(frame, at, f"skate '{name}'")
        self._constrain(skate(name, blade, _letter(sideways, f"skate '{name}'")))

    def add_constraint(self, name: str, *, holonomic: Any = None, pfaffian: Any = None) -> None:
        """Constrain by your own expressions: holonomic Φ(q, t) = 0, or pfaffian A(q, t) v + b(q, t) = 0.

        Each is a function of the state (see `add_joint_force`) that returns one CasADi expression, or a mapping of row
        names to such functions. Rows may be in any unit: each is measured by how much it changes over 1 rad or a length
        of the mechanism. Changes below 1e-13 of the mechanism's length, in m, count as rounding.

        >>> import dalembert as da
        >>> m = da.Mechanism("bead")
        >>> bead = m.add_body("bead", mass=1.0)
        >>> m.add_joint("xy", da.Planar("z"), m.ground, m.add_body("plate", mass=1.0, inertia=(1, 1, 1)))
        >>> m.add_constraint("parabola", holonomic=lambda s: s["xy.y"] - s["xy.x"] ** 2)
        """
        given = {"holonomic": holonomic, "pfaffian": pfaffian}
        rows = {kind: _rows(value, f"{kind} of constraint '{name}'") for kind, value in given.items()}
        if not any(rows.values()):
            raise DescriptionError(
                f"constraint '{name}' has no rows; give holonomic= or pfaffian= a function of the state."
            )
        self._constrain(Expressions(name, "constraint", own=True, **rows))  # type: ignore[arg-type]

    def _constrain(self, constraint: Constraint) -> None:
        self._new(constraint.name, self.constraints, "constraint")
        if "." in constraint.name:
            raise DescriptionError(f"constraint '{constraint.name}' has a dot in its name; use '_'.")
        self._new(constraint.name, self.joints, "joint")
        self._new(constraint.name, self.contacts, "contact")
        self.constraints[constraint.name] = constraint

    def _two(self, a: Any, b: Any, what: str) -> tuple[Frame, Frame]:
        one, other = self._frame(a, what), self._frame(b, what)
        if one.body is other.body:
            raise DescriptionError(f"{what} connects body '{one.body.name}' with itself; its two sides must differ.")
        return one, other

    def _axis(self, axis: Any, what: str) -> np.ndarray:
        """A unit vector of numbers; where parameters are in it, the vector as it was given."""
        n = axis_vector(axis, what)
        if all_numbers(n):
            return n
        given = self.parameters.checked(axis, (3,), what)
        if not np.any(self.parameters.number(given, what)):
            raise DescriptionError(f"{what} is (0, 0, 0) at the default parameters, which has no direction.")
        return given

    def _length(self, value: Any, what: str) -> Any:
        x = self.parameters.scalar(value, what, least=0.0)
        if is_exact_zero(x):
            raise DescriptionError(f"{what} is 0; needed: a number above 0.")
        return getattr(x, "sx", x)


def _letter(axis: str, what: str) -> int:
    return "xyz".index(checks.choice(axis, "xyz", f"the axis of {what}", error=DescriptionError))


def _rows(given: Any, what: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    rows = list(given.items()) if isinstance(given, Mapping) else [("row", given)]
    for name, f in rows:
        checks.name(name, f"the name of a row in {what}", error=DescriptionError)
        checks.function(f, f"row '{name}' in {what}", error=DescriptionError)
    return rows
