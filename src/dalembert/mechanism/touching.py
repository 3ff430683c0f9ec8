"""One-sided constraints of a mechanism: contacts and ropes; and the stops and dry friction of its joints."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import checks
from dalembert.errors import ArgumentError, DescriptionError
from dalembert.mechanism.body import Frame
from dalembert.mechanism.contacts import (
    CompliantStop,
    Contact,
    DryFriction,
    Friction,
    JointStop,
    OneSided,
    Rope,
    Strut,
    Unilateral,
)
from dalembert.mechanism.contacts.nearest import Core
from dalembert.mechanism.contacts.stop import Stops, as_stops
from dalembert.mechanism.elements import Elements
from dalembert.mechanism.forces import StickingCoupling
from dalembert.mechanism.joints import Joint
from dalembert.mechanism.joints.attachment import Attachment
from dalembert.mechanism.notes import Note
from dalembert.mechanism.outlines import Outline, check_pair, outline
from dalembert.mechanism.values import is_exact_zero

if TYPE_CHECKING:
    from dalembert.mechanism.mechanism import Mechanism


class Touchable(Elements):
    """The part of `Mechanism` that adds one-sided constraints."""

    def add_contact(
        self,
        name: str,
        frame: Any,
        *,
        on: Any = None,
        radius: Any = 0.0,
        on_radius: Any = None,
        shape: Any = None,
        on_shape: Any = None,
        restitution: float = 0.0,
        friction: float = 0.0,
        static_friction: float | None = None,
        at: Any = None,
    ) -> None:
        """Keep a sphere or another shape on `frame` off a plane or shape: it can rest, roll, slide, bounce and leave.

        frame, on: bodies, frames or names. The plane is x-y of frame `on` (default: the ground), the sphere around the
        origin of `frame`, on the side of +z; radius (m): 0 for a point. With on_radius (m) `on` is a sphere around its
        origin instead, which is touched from outside on any side but that of its −z. shape, on_shape: other shapes, as
        (kind, size) or a `da.Shape`, z of the frame their axis: ("disc", radius) and ("ellipsoid", three half axes)
        touch planes, ("capsule", (radius, length)) spheres and capsules, ("box", three edges) and
        ("cylinder", (radius, length)) spheres. What touches at several points is for `add_contacts`. restitution
        (0 to 1): the part of the speed with which it bounces. friction: the coefficient μ of Coulomb's law,
        static_friction that of a contact that sticks (default: the same). at: with a body, the place of `frame` as
        drawn. It acts in `da.simulate`; elsewhere the two do not touch.

        >>> import dalembert as da
        >>> m = da.Mechanism("ball", gravity=(0, 0, -10.0))
        >>> m.add_joint("z", da.Prismatic("z"), m.ground, m.add_body("ball", mass=1.0))
        >>> m.add_contact("floor", "ball", radius=0.1, restitution=0.5)
        >>> run = da.simulate(m.compile(), {"z": 5.1}, 3.0)
        >>> run.switches[0].what, round(run.switches[0].t, 9), round(run.switches[0].lost, 9)
        ('floor hit', 1.0, 37.5)
        """
        what = f"contact '{name}'"
        one, other = self._drawn(frame, at, what), self._frame(self.ground if on is None else on, what)
        if one.body is other.body:
            raise DescriptionError(f"{what} connects body '{one.body.name}' with itself; its two sides must differ.")
        a = outline(self.parameters, one, shape, radius, what, "shape")
        b = None
        if on_radius is not None or on_shape is not None:
            b = outline(self.parameters, other, on_shape, on_radius, what, "on_shape")
        check_pair(a, b, what)
        self._touch(self._contact(name, a, other if b is None else b, restitution, friction, static_friction))

    def _contact(
        self, name: str, a: Outline, b: Outline | Frame, restitution: Any, friction: Any, static_friction: Any
    ) -> Contact:
        """A contact between two shapes, or of one on the plane of a frame."""
        what = f"contact '{name}'"
        e = _part(restitution, f"the restitution of {what}")
        mu = checks.number(friction, f"the friction of {what}", least=0.0, error=DescriptionError)
        stick = mu
        if static_friction is not None:
            stick = checks.number(static_friction, f"the static friction of {what}", least=mu, error=DescriptionError)
        on = Outline(b, Core.PLANE, (), 0.0) if isinstance(b, Frame) else b
        return Contact(name, a.frame, a.core, a.size, a.radius, on.frame, on.core, on.size, on.radius, e, mu, stick)

    def add_contacts(
        self,
        *,
        floor: Any = None,
        bodies: Iterable[Any] | None = None,
        between: Any = (),
        exclude: Any = (),
        friction: float | None = None,
        restitution: float | None = None,
        shapes: str | None = None,
        meshes: str | os.PathLike[str] | None = None,
    ) -> list[Note]:
        """Make contacts of the shapes that bodies have, with a floor and with each other; gives what can have none.

        floor: the frame whose x-y plane it is; default: planes of the ground among the shapes, else x-y of the ground;
        False: none. bodies: those whose shapes count, default all. between: pairs of bodies that touch each other too,
        or "all", but for those that a loop or a joint (no free or planar one) joins. exclude: pairs that do not touch,
        also with the ground. friction, restitution: of all contacts, default as the shapes say. shapes: "collision",
        those a model file gives for contacts (`Body.add_collider`), or "drawn", those of pictures; default: the former
        where there are any. meshes: the folder of mesh files (extra `meshes`); one found there touches planes with at
        most 24 corners of its hull.

        Boxes touch planes with their corners, capsules with their ends, cylinders with the lowest points of both rims
        and four more that they stand on; spheres and ellipsoids at one point. Spheres touch spheres, capsules, boxes
        and cylinders, capsules touch capsules, also with their ends. Other pairs, and other meshes, are left out; the
        notes that are returned, and kept in `notes`, tell which. Contacts are called after their bodies: "foot corner
        3", "arm on table". See `add_contact` for one alone.

        >>> import dalembert as da
        >>> m = da.Mechanism("crate")
        >>> crate = m.add_body("crate", solid=da.solid("box", (0.4, 0.3, 0.2), density=500.0))
        >>> m.add_joint("free", da.Free(), m.ground, crate)
        >>> m.add_contacts(friction=0.5)
        []
        >>> len(m.contacts), list(m.contacts)[0]
        (8, 'crate corner 1')
        """
        from dalembert.mechanism.colliders import meetings

        law = {"friction": friction, "restitution": restitution}
        for key, x in law.items():
            if x is not None:
                most = 1.0 if key == "restitution" else None
                checks.number(x, f"the {key} of add_contacts", least=0.0, most=most, error=DescriptionError)
        found = meetings(self, floor, bodies, between, exclude, law, shapes, meshes)
        for contact in found.found:
            self._touch(contact)
        self.notes.extend(found.notes)  # type: ignore[attr-defined]
        return found.notes

    def add_rope(
        self, name: str, points: Sequence[Any], *, length: Any = None, restitution: float = 0.0, at: Any = None
    ) -> None:
        """Keep the line through some points no longer than `length` (m): a rope, which pulls when taut and goes slack.

        points: two or more bodies, frames or names; it runs through those in the middle without friction. at: with
        bodies, as many points of the drawing. length: by default as drawn.
        restitution (0 to 1): the part of the speed with which it slackens when it becomes taut with a jerk. It acts in
        `da.simulate`.

        >>> import dalembert as da
        >>> m = da.Mechanism("leash", gravity=(0, 0, 0))
        >>> m.add_joint("x", da.Prismatic("x"), m.ground, m.add_body("dog", mass=1.0))
        >>> m.add_rope("leash", ["ground", "dog"], length=2.0)
        >>> system = m.compile()
        >>> run = da.simulate(system, system.state({"x": 0.5}, v={"x": 1.0}), 3.0)
        >>> run.switches[0].what, round(float(run["x"][-1]), 9)
        ('leash taut', 2.0)
        """
        what = f"rope '{name}'"
        if not isinstance(points, (list, tuple)) or len(points) < 2:
            raise DescriptionError(f"{what} has the points {checks.shown(points)}; needed: at least two, in a list.")
        frames = self._places(points, at, what)
        length = self._drawn_length(frames) if length is None else length
        L = self.parameters.scalar(length, f"the length of {what}", least=0.0)
        if is_exact_zero(L):
            raise DescriptionError(f"the length of {what} is 0; needed: a number above 0.")
        self._touch(Rope(name, frames, getattr(L, "sx", L), _part(restitution, f"the restitution of {what}")))

    def add_strut(
        self, name: str, a: Any, b: Any, *, length: Any = None, restitution: float = 0.0, at: Any = None
    ) -> None:
        """Keep two points at least `length` (m) apart, as a cylinder at the end of its stroke does; see `add_rope`.

        a, b: bodies, frames or names; at: with bodies, two points of the drawing. length: by default as drawn.
        restitution (0 to 1): the part of the speed with which they part again.
        """
        what = f"strut '{name}'"
        frames = self._places((a, b), at, what)
        length = self._drawn_length(frames) if length is None else length
        L = self.parameters.scalar(length, f"the length of {what}", least=0.0)
        if is_exact_zero(L):
            raise DescriptionError(f"the length of {what} is 0; needed: a number above 0.")
        self._touch(Strut(name, frames, getattr(L, "sx", L), _part(restitution, f"the restitution of {what}")))

    def add_unilateral(self, name: str, gap: Any, *, restitution: float = 0.0, angular: bool = False) -> None:
        """Keep an expression of the position from becoming negative: a cam, a slot, the teeth of a ratchet, play.

        gap: a function of the state (see `add_joint_force`) that returns one CasADi expression of coordinates, frames,
        time and parameters, in m; in rad with angular=True. Its multiplier is the force (N) or torque (N m) that opens
        it; what it does to the coordinates is this times the derivatives of the gap, so there is no friction.
        restitution (0 to 1): the part of the speed with which a gap that closes opens again. It acts in `da.simulate`.

        >>> import casadi as ca, dalembert as da
        >>> m = da.Mechanism("cam", gravity=(0, 0, -10.0))
        >>> m.add_joint("cam", da.Revolute("y"), m.ground, m.add_body("shaft", mass=1.0, inertia=(1, 1, 1)))
        >>> m.add_joint("lift", da.Prismatic("z"), m.ground, m.add_body("follower", mass=0.5))
        >>> m.add_driver("motor", "cam", lambda t: 10.0 * t)
        >>> m.add_unilateral("contact", lambda s: s["lift"] - 0.2 * (1 - ca.cos(s["cam"])))
        >>> system = m.compile()
        >>> run = da.simulate(system, system.assemble({"cam": 0.0}), 1.0)  # 0.2 ω² cos ωt < −g: off where cos is −1/2
        >>> run.switches[0].what, round(run.switches[0].t * 10, 9) == round(2 / 3 * ca.pi, 9)
        ('contact left', True)
        """
        what = f"unilateral constraint '{name}'"
        checks.function(gap, f"the gap of {what}", error=DescriptionError)
        turns = checks.flag(angular, f"angular of {what}", error=DescriptionError)
        self._touch(Unilateral(name, gap, _part(restitution, f"the restitution of {what}"), turns))

    def _touch(self, contact: OneSided) -> None:
        self._new(contact.name, self.contacts, "contact")
        self._new(contact.name, self.constraints, "constraint")
        self._new(contact.name, self.joints, "joint")
        if "." in contact.name:
            raise DescriptionError(f"{contact.kind} '{contact.name}' has a dot in its name; use '_'.")
        self.contacts[contact.name] = contact


def friction_of(given: Any, joint: Joint, what: str) -> tuple[Friction | None, ...]:
    """The dry friction of each velocity of a joint: a number, a `Friction`, or one for each."""
    if isinstance(given, (int, float, np.floating, np.integer)) and not isinstance(given, bool) and given == 0:
        return (None,) * joint.nv
    many = list(given) if isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given) != 0 else [given] * joint.nv
    if len(many) != joint.nv:
        raise DescriptionError(f"{what} has {len(many)} values; needed: one, or one for each of {joint.nv} velocities.")
    laws = [f if isinstance(f, Friction) else _coulomb(f, what) for f in many]
    return tuple(None if f.breakaway == f.load == 0.0 else f for f in laws)


def stops_of(given: Any, joint: Joint, limits: np.ndarray, what: str) -> Stops | None:
    """The stops of a joint, which needs limits to stop at."""
    try:
        stops = as_stops(given, what)
    except ArgumentError as error:
        raise DescriptionError(str(error)) from error
    if stops is None:
        return None
    if joint.nq != joint.nv:
        raise DescriptionError(f"{what} are those of a {joint.kind} joint, a quaternion; it has no limits to stop at.")
    if not np.isfinite(limits).any():
        raise DescriptionError(f"{what} have nothing to stop at; give the joint limits=(lower, upper).")
    return stops


def compliant_stops(joints: Iterable[Attachment], others: Stops | None = None) -> tuple[CompliantStop, ...]:
    """The forces of compliant stops; `others`: of joints with limits that have no stops of their own."""
    return tuple(
        CompliantStop(a, k, limit, upper, stops)
        for a, stops, k, limit, upper in _limits(joints, others)
        if stops.stiffness > 0.0
    )


def one_sided(m: Mechanism, joints: Iterable[Attachment], others: Stops | None = None) -> tuple[OneSided, ...]:
    """All one-sided constraints of a mechanism: contacts, ropes, rigid stops."""
    stops = (
        JointStop(a.coordinates[k], limit, upper, a.joint.angular[k], stops.restitution)
        for a, stops, k, limit, upper in _limits(joints, others)
        if stops.stiffness == 0.0
    )
    return (*m.contacts.values(), *stops)


def dry_frictions(m: Mechanism, joints: Iterable[Attachment]) -> tuple[DryFriction, ...]:
    """The dry friction of all joints, clutches, brakes and belts."""
    out = [
        DryFriction(a.velocities[k], [(a, k, 1.0)], law)
        for a in joints for k, law in enumerate(a.friction) if law is not None
    ]  # fmt: skip
    taken = {*(f.velocity for f in out), *m.contacts}
    for force in m.forces.values():
        if isinstance(force, StickingCoupling):
            if force.name in taken:
                raise DescriptionError(
                    f"{force.kind} '{force.name}' has the name of a contact, or of a joint with friction, beside which "
                    "the run could not tell it; rename one of them."
                )
            out.append(DryFriction(force.name, force.terms, force.law, force.capacity, force.name))
    return tuple(out)


def _limits(joints: Iterable[Attachment], others: Stops | None) -> Any:
    for a in joints:
        stops = others if a.stops is None else a.stops
        if stops is not None and a.joint.nq == a.joint.nv:
            for k, pair in enumerate(a.limits.tolist()):
                for upper, limit in enumerate(pair):
                    if np.isfinite(limit):
                        yield a, stops, k, limit, bool(upper)


def _coulomb(given: Any, what: str) -> Friction:
    return Friction(checks.number(given, what, least=0.0, error=DescriptionError))


def _part(x: Any, what: str) -> float:
    return checks.number(x, what, least=0.0, most=1.0, error=DescriptionError)
