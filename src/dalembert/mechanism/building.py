"""Bodies, frames, and the joints that hang them on each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError
from dalembert.mechanism.body import IDENTITY, Body, Frame, turned_inertia
from dalembert.mechanism.checks import check_armature
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.inertia import inertia_matrix
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.solids import Solid
from dalembert.mechanism.touching import friction_of, stops_of
from dalembert.mechanism.values import per_dof
from dalembert.spatial import Transform


class Buildable(Elements):
    """The part of `Mechanism` that adds bodies, frames and joints."""

    def add_body(
        self,
        name: str,
        mass: Any = 0.0,
        com: Sequence[Any] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        *,
        inertia_axes: Any = None,
        physical: bool = True,
        solid: Solid | None = None,
        at: Any = None,
        rotation: Any = None,
    ) -> Body:
        """A rigid body: mass (kg), centre of mass `com` (m, body frame), inertia about the centre of mass (kg m²).

        inertia is a 3×3 matrix or three principal moments, in body axes or in `inertia_axes` (a rotation whose columns
        are those axes). da.rod_inertia, box_inertia and the like compute it. A body may be massless where
        others give its joints inertia. physical=False accepts principal moments that break the triangle inequality.
        solid: a `da.solid`, or a sum of them, that gives mass, com, inertia and the picture in place of the others.
        at (a point, or its name) and rotation place the body's frame in the drawing, in which `at=` of joints and
        `body.at("name")` are meant; by default it is at the ground's, so that `com` is a point of the drawing too.
        """
        self._new(name, self.bodies, "body")
        self._new(name, self.frames, "frame")
        what = f"body '{name}'"
        checks.flag(physical, f"physical of {what}", error=DescriptionError)
        if solid is not None:
            if not isinstance(solid, Solid):
                raise DescriptionError(
                    f"the solid of {what} is {checks.shown(solid)}; needed: da.solid(...), or a sum."
                )
            if mass.__class__ is not float or mass != 0.0 or inertia_axes is not None:
                raise DescriptionError(f"{what} has a solid and a mass or inertia axes besides; needed: one of them.")
            mass, com, inertia = solid.mass, solid.com, solid.inertia  # type: ignore[assignment]
        m = self.parameters.scalar(mass, f"the mass of {what}", least=0.0)
        c = self.parameters.checked(com, (3,), f"the centre of mass of {what}")
        J = inertia_matrix(inertia, f"the inertia of {what}", self.parameters, physical)
        if inertia_axes is not None:
            J = turned_inertia(J, self.parameters.rotation(inertia_axes, f"the inertia axes of {what}"))
        body = self.bodies[name] = Body(name, m, c, J, self.parameters, drawn=self._place(at, rotation, what))
        for shape in () if solid is None else solid.shapes:
            shape.evaluated(self.parameters.number)
            body.shapes.append(shape)
        return body

    def _place(self, at: Any, rotation: Any, what: str) -> Transform:
        """A place in the drawing."""
        p = IDENTITY.p if at is None else self._point(at, f"at of {what}")
        R = IDENTITY.R if rotation is None else self.parameters.rotation(rotation, f"the rotation of {what}")
        return IDENTITY if at is None and rotation is None else Transform(R, p)

    def add_frame(self, name: str, frame: Any, *, at: Any = None) -> Frame:
        """Give a frame (`body.at(...)`) a name by which poses and Jacobians can be asked for.

        at: with a body in place of the frame, a point of the drawing or its name.
        """
        self._new(name, self.frames, "frame")
        self._new(name, self.bodies, "body")
        self.frames[name] = self._drawn(frame, at, f"frame '{name}'")
        return self.frames[name]

    def add_joint(
        self,
        name: str,
        joint: Joint | str,
        a: Any,
        b: Any,
        *,
        at: Any = None,
        axis: Any = None,
        stiffness: Any = 0.0,
        rest: Any = None,
        damping: Any = 0.0,
        friction: Any = 0.0,
        armature: Any = 0.0,
        limits: Any = None,
        stops: Any = None,
        tree: bool | None = None,
    ) -> Attachment:
        """Join two bodies a and b, each a body, a frame (`body.at(...)`) or a name, by a `joint` (da.Revolute("z")).

        Its coordinates place b in a. Joints may be added in any order and may close loops: `compile` chooses the ones
        that carry the bodies, and the others become constraints. tree=True keeps this one among the first (its motion
        is then a coordinate), tree=False makes it close a loop; by default what needs its coordinate decides.

        at: where it is in the drawing, (x, y, z) in the ground's axes or the name of a point; a and b are then bodies.
        The joint may be a word, "revolute", with its axis: a letter, three numbers, or two points ("A", "B"), on which
        it is then, where `at` does not say otherwise.

        Per joint, one number or one for each degree of freedom: a spring (stiffness, N m/rad or N/m) with rest position
        `rest` (default: the neutral one), damping (viscous, N m s/rad or N s/m), dry friction (N m or N: a number, or a
        `da.Friction`), armature (rotor inertia, kg m² or kg), limits (lower, upper). stops: what happens at the limits,
        "rigid" or a `da.Stops`; without it they are data. Dry friction and rigid stops act in `da.simulate`.

        Returns the joint, which motors, joint forces, drivers and couplings take in place of its name.
        """
        what = f"joint '{name}'"
        self._new(name, self.joints, "joint")
        self._new(name, self.constraints, "constraint")
        self._new(name, self.contacts, "contact")
        if "." in name:
            raise DescriptionError(f"{what} has a dot in its name, which sets off its coordinates; use '_'.")
        joint, at = self._joint_at(joint, axis, at, what)
        one, other = self._drawn(a, at, what), self._drawn(b, at, what)
        if one.body is other.body:
            raise DescriptionError(f"{what} connects body '{one.body.name}' with itself; its two bodies must differ.")
        if tree is not None:
            checks.flag(tree, f"tree of {what}", error=DescriptionError)
        nv, given = joint.nv, self.parameters
        J = per_dof(armature, nv, given, f"the armature of {what}", least=0.0)
        check_armature(joint, J, f"the armature of {what}")
        added = self.joints[name] = Attachment(
            name,
            joint,
            one,
            other,
            tree=tree,
            stiffness=per_dof(stiffness, nv, given, f"the stiffness of {what}"),
            damping=per_dof(damping, nv, given, f"the damping of {what}"),
            rest=self._rest(joint, rest, what),
            armature=J,
            limits=(bounds := _limits(joint, limits, what)),
            friction=friction_of(friction, joint, f"the friction of {what}"),
            stops=stops_of(stops, joint, bounds, f"the stops of {what}"),
        )
        return added

    def _rest(self, joint: Joint, rest: Any, what: str) -> np.ndarray:
        if rest is None:
            return joint.neutral().astype(object)
        what = f"the rest position of {what}"
        if joint.nq == joint.nv:
            return self.parameters.checked(rest, (joint.nq,), what)
        try:
            return joint.normalized(checks.vector(joint.position_from(rest), joint.nq, what)).astype(object)
        except ArgumentError as error:
            raise DescriptionError(f"{what}: {error}") from error


def _limits(joint: Joint, limits: Any, what: str) -> np.ndarray:
    """(nv, 2), infinite where none are given."""
    if limits is None:
        return np.array([(-np.inf, np.inf)] * joint.nv).reshape(-1, 2)
    x = checks.array(limits, None, f"the limits of {what}", finite=False, error=DescriptionError)
    x = np.array([x.tolist()] * joint.nv).reshape(-1, 2) if x.shape == (2,) else x
    if x.shape != (joint.nv, 2):
        raise DescriptionError(
            f"the limits of {what} have shape {x.shape}; needed: (lower, upper), or {joint.nv} such pairs."
        )
    if any(low > high for low, high in x.tolist()):
        raise DescriptionError(f"the limits of {what} are {x.tolist()}; each lower one must not exceed its upper one.")
    return x
