"""Elements of a mechanism by name: tables of elements, parameters and inputs, and lookup."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, article, unknown
from dalembert.mechanism.body import Body, Frame, ground_body
from dalembert.mechanism.checks import check_joint, no_joint
from dalembert.mechanism.constraints import Constraint
from dalembert.mechanism.contacts import OneSided
from dalembert.mechanism.forces import Force
from dalembert.mechanism.joints import JOINT_TYPES, Joint
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.joints.joint import AxisJoint
from dalembert.mechanism.points import UNITS, table, three
from dalembert.mechanism.values import Defaults, plain
from dalembert.symbols import sqrt


class Elements:
    """The part of `Mechanism` that the others stand on: elements by name."""

    def __init__(self) -> None:
        self.parameters = Defaults()
        self.ground = ground_body(self.parameters)
        self.bodies: dict[str, Body] = {"ground": self.ground}
        self.joints: dict[str, Attachment] = {}
        self.frames: dict[str, Frame] = {}
        self.forces: dict[str, Force] = {}
        self.constraints: dict[str, Constraint] = {}
        self.contacts: dict[str, OneSided] = {}
        self.inputs: dict[str, ca.SX] = {}
        self.points = self.parameters.points

    @property
    def carriers(self) -> dict[str, Attachment]:
        """Of each body that is the second one of a joint, the last such joint."""
        return {a.child.body.name: a for a in self.joints.values()}

    def add_parameter(self, name: str, value: Any) -> ca.SX:
        """A number (or vector of numbers) that can be changed at run time without compiling again; value: its default.

        Returns a CasADi symbol to use in place of any number of the description, or inside expressions.

        >>> import dalembert as da
        >>> m = da.Mechanism()
        >>> L = m.add_parameter("L", 0.5)
        >>> rod = m.add_body("rod", mass=2.0, com=(L / 2, 0, 0), inertia=da.rod_inertia(2.0, L))
        """
        self._new(name, self.parameters.symbols, "parameter")
        self._new(name, self.inputs, "input")
        what = f"the value of parameter '{name}'"
        x = np.atleast_1d(checks.array(value, None, what, error=DescriptionError))
        if x.ndim != 1 or not x.size:
            raise DescriptionError(f"{what} has shape {x.shape}; needed: one number or a list of numbers.")
        self.parameters.values[name] = x.copy()
        self.parameters.symbols[name] = symbol = ca.SX.sym(name, len(x))
        return symbol

    def add_input(self, name: str, size: int = 1) -> ca.SX:
        """An input u of the mechanism, of `size` numbers; returns a CasADi symbol for use in forces."""
        if isinstance(size, str) or hasattr(size, "joint"):
            raise DescriptionError(
                f"input '{name}' has the size {checks.shown(size)}; needed: how many numbers. An input that drives "
                "a joint is m.add_motor(name, joint)."
            )
        self._new(name, self.inputs, "input")
        self._new(name, self.parameters.symbols, "parameter")
        size = checks.whole(size, f"the size of input '{name}'", least=1, most=10**6, error=DescriptionError)
        self.inputs[name] = symbol = ca.SX.sym(name, size)
        return symbol

    def add_points(self, points: Any, *, parameters: Any = False, unit: str = "m") -> dict[str, Any]:
        """Hard points of the drawing, by name; returns them, as numbers or symbols of parameters.

        points: {name: (x, y, z)} in the ground's axes, a CSV file with the columns name, x, y, z (a first line with
        these words, or none; lines that begin with # are left out), or a pandas DataFrame with x, y, z and the names in
        `name` or as its index. Two coordinates are (x, y, 0). parameters: True makes every point a parameter of its
        name, three numbers in m; or a list of the points that become one. unit: of the numbers, "m", "mm", "cm", "in",
        "ft". `at=`, `axis=` and `body.at` then take the names.

        >>> import dalembert as da
        >>> m = da.Mechanism("gate")
        >>> points = m.add_points({"lower": (0, 0, 200), "upper": (0, 30, 1800)}, unit="mm")
        >>> leaf = m.add_body("leaf", mass=20.0, com=(0.5, 0, 1.0), inertia=(5, 5, 2))
        >>> m.add_joint("hinge", "revolute", m.ground, leaf, axis=("lower", "upper"))
        """
        factor = UNITS[checks.choice(unit, list(UNITS), "the unit of points", error=DescriptionError)]
        given = table(points)
        vary = list(given) if parameters is True else []
        if not isinstance(parameters, bool):
            needed = "True, False or a list of points"
            vary = checks.items(parameters, "parameters of add_points", needed, error=DescriptionError)
        for name in vary:
            if not isinstance(name, str) or name not in given:
                raise unknown("point", name, given, "parameters of add_points")
        out: dict[str, Any] = {}
        for name, value in given.items():
            self._new(name, self.points, "point")
            what = f"point '{name}'"
            p = self.parameters.checked(three(value, what), (3,), what) * factor
            if name in vary:
                out[name] = self.add_parameter(name, self.parameters.number(p, what))
                p = self.parameters.checked(out[name], (3,), what)
            else:
                out[name] = tuple(p)
            self.points[name] = p
        return out

    def _point(self, point: Any, what: str) -> np.ndarray:
        """(3,) a point of the drawing: a name, or coordinates in the ground's axes."""
        if isinstance(point, str):
            if point not in self.points:
                raise unknown("point", point, self.points, what)
            return self.points[point]
        return self.parameters.checked(three(point, what), (3,), what)

    def _drawn(self, body: Any, point: Any, what: str) -> Frame:
        """The frame of a body at a point of the drawing, with the ground's axes; the body's own frame without one."""
        frame = self._frame(body, what)
        if point is None:
            return frame
        if not np.array_equal(frame.T.matrix(), np.eye(4)):
            raise DescriptionError(
                f"{what} has at= and, besides, a frame of body '{frame.body.name}'; needed: the body alone, or frames "
                "without at=."
            )
        return frame.body.drawn_at(self._point(point, f"at of {what}"))

    def _places(self, given: Sequence[Any], at: Any, what: str) -> list[Frame]:
        """The frames that are given; with `at`, those of the given bodies at as many points of the drawing."""
        if at is None:
            return [self._frame(x, what) for x in given]
        needed = f"{'two' if len(given) == 2 else len(given)} points, one for each body"
        points = checks.items(at, f"at of {what}", needed, error=DescriptionError)
        if len(points) != len(given):
            raise DescriptionError(f"at of {what} is {checks.shown(at)}; needed: {needed}.")
        return [self._drawn(x, p, what) for x, p in zip(given, points)]

    def _drawn_length(self, frames: Sequence[Frame]) -> Any:
        """The length of the line through some frames in the drawing, m."""
        ways = [b.drawn.p - a.drawn.p for a, b in pairwise(frames)]
        lengths = [sqrt(way @ way) for way in ways]
        return sum(lengths[1:], lengths[0])

    def _joint_at(self, joint: Any, axis: Any, at: Any, what: str) -> tuple[Joint, Any]:
        """A joint from a word and its axis, or as it is; and where it is in the drawing."""
        if axis is not None and not isinstance(joint, str):
            raise DescriptionError(f"{what} has axis= and the type {checks.shown(joint)}; needed: a word, 'revolute'.")
        if isinstance(joint, str):
            kinds = {k.kind: k for k in JOINT_TYPES if k.kind not in ("screw", "universal")}
            kind = kinds[checks.choice(joint, list(kinds), f"the type of {what}", error=DescriptionError)]
            if axis is None:
                joint = kind()
            elif not issubclass(kind, AxisJoint):
                raise DescriptionError(f"{what} has axis=, but a {joint} joint has none; leave it away.")
            else:
                axis, on = self.axis_between(axis, what)
                joint, at = kind(axis), on if at is None and on is not None else at
        check_joint(joint, what, self.parameters)
        return joint, at

    def axis_between(self, axis: Any, what: str) -> tuple[Any, Any]:
        """An axis and a point on it: of two points, from the first to the second; else the axis and None."""
        if not checks.has_items(axis) or len(axis) != 2:
            return axis, None
        a, b = (self._point(p, f"the axis of {what}") for p in axis)
        if not np.any(self.parameters.number(b - a, f"the axis of {what}")):
            raise DescriptionError(f"the axis of {what} is given by two points that coincide.")
        return plain(b - a), a

    def _new(self, name: str, taken: dict[str, Any], kind: str) -> None:
        if name.__class__ is str and name and name not in taken:
            return
        checks.name(name, f"the name of {article(kind)} {kind}", error=DescriptionError)
        if name in taken:
            raise DescriptionError(
                f"there is {article(kind)} {kind} '{name}' already; names must differ. Known: {', '.join(taken)}."
            )

    def _frame(self, frame: Any, where: str) -> Frame:
        if isinstance(frame, Body):
            frame = frame.frame
        if isinstance(frame, str):
            found = self.frames.get(frame) or (self.bodies[frame].frame if frame in self.bodies else None)
            if found is None:
                raise unknown("body", frame, [*self.bodies, *self.frames], where)
            return found
        if not isinstance(frame, Frame):
            raise DescriptionError(
                f"{where} asks for {checks.shown(frame)}; needed: a body, a frame (body.at(...)) or a name."
            )
        if self.bodies.get(frame.body.name) is not frame.body:
            raise DescriptionError(f"{where} asks for {frame}, which belongs to another mechanism.")
        return frame

    def _joint(self, name: Any, where: str) -> Attachment:
        if isinstance(name, Attachment):
            if self.joints.get(name.name) is not name:
                raise DescriptionError(f"{where} asks for {name}, which belongs to another mechanism.")
            return name
        checks.name(name, f"the joint of {where}", error=DescriptionError)
        if name not in self.joints:
            raise no_joint("joint", name, self.joints, self.constraints.values(), where)
        return self.joints[name]

    def _coordinate(self, name: str, where: str) -> bool:
        """Check the name of a coordinate that may be tied; whether it is an angle."""
        checks.name(name, f"the coordinate of {where}", error=DescriptionError)
        joint = self.joints.get(name) or self.joints.get(name.rpartition(".")[0])
        if joint is not None and joint.joint.nq != joint.joint.nv and name in (joint.name, *joint.coordinates):
            raise DescriptionError(
                f"{where} asks for coordinate '{name}' of a {joint.joint.kind} joint, a quaternion; "
                "constrain frames instead."
            )
        if joint is not None and name in joint.coordinates:
            return joint.joint.angular[joint.coordinates.index(name)]
        known = [q for a in self.joints.values() if a.joint.nq == a.joint.nv for q in a.coordinates]
        raise no_joint("coordinate", name, known, self.constraints.values(), where)
