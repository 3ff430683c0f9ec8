"""Elements of a mechanism by name: tables of elements, parameters and inputs, and lookup."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from dalembert import checks
from dalembert.errors import DescriptionError, unknown
from dalembert.mechanism.body import Body, Frame, ground_body
from dalembert.mechanism.checks import no_joint
from dalembert.mechanism.constraints import Constraint
from dalembert.mechanism.contacts import OneSided
from dalembert.mechanism.forces import Force
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.values import Defaults


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
        >>> rod = m.add_body("rod", mass=2.0, com=(L / 2, 0, 0), inertia=da.rod(2.0, L))
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
        self._new(name, self.inputs, "input")
        self._new(name, self.parameters.symbols, "parameter")
        size = checks.whole(size, f"the size of input '{name}'", least=1, most=10**6, error=DescriptionError)
        self.inputs[name] = symbol = ca.SX.sym(name, size)
        return symbol

    def _new(self, name: str, taken: dict[str, Any], kind: str) -> None:
        if name.__class__ is str and name and name not in taken:
            return
        article = "an" if kind[0] in "aeiou" else "a"
        checks.name(name, f"the name of {article} {kind}", error=DescriptionError)
        if name in taken:
            raise DescriptionError(
                f"there is {article} {kind} '{name}' already; names must differ. Known: {', '.join(taken)}."
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
