"""Rolling without slip, skates and wheels: Pfaffian rows, with the contact itself as a holonomic row.

The velocity of the material point at the contact is v_c + ω × r e, with c the centre and e the unit vector from it to
the contact. It vanishes relative to the other body along two tangents; the holonomic row takes care of the normal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from dalembert.mechanism.body import Frame
from dalembert.mechanism.constraints.expression import Expressions, by_recipe
from dalembert.mechanism.traced import UserState


def _spin(s: UserState, frame: Frame) -> ca.SX:
    """Angular velocity in the ground's axes."""
    return s.rotation(frame) @ s.twist(frame)[:3]


def material_velocity(s: UserState, frame: Frame, at: ca.SX) -> ca.SX:
    """Velocity of the point of the frame's body that is at `at`, in the ground's axes."""
    return s.velocity(frame) + ca.cross(_spin(s, frame), at - s.position(frame))


@by_recipe
def rolling_on_plane(name: str, wheel: Frame, radius: Any, plane: Frame, axis: int | None) -> Expressions:
    """A sphere (axis None) or thin disc (about an axis of its frame) on the x-y plane of a frame, on the side of +z.

    Sphere: e = −n. Disc with axle d: e = −(n − (n·d) d)/‖n − (n·d) d‖, the lowest point at any lean but lying flat.
    """

    def reach(s: UserState) -> ca.SX:
        """From the centre to the contact."""
        n = s.rotation(plane)[:, 2]
        if axis is None:
            return -radius * n
        d = s.rotation(wheel)[:, axis]
        across = n - ca.dot(n, d) * d
        return -radius * across / ca.norm_2(across)

    def contact(s: UserState) -> ca.SX:
        return ca.dot(s.rotation(plane)[:, 2], s.position(wheel) + reach(s) - s.position(plane))

    def slip(k: int) -> Callable[[UserState], ca.SX]:
        def speed(s: UserState) -> ca.SX:
            at = s.position(wheel) + reach(s)
            return ca.dot(s.rotation(plane)[:, k], material_velocity(s, wheel, at) - material_velocity(s, plane, at))

        return speed

    def forces(s: UserState, lam: Mapping[str, ca.SX]) -> list[tuple[Frame, ca.SX, ca.SX]]:
        at = s.position(wheel) + reach(s)
        f = s.rotation(plane) @ ca.vertcat(lam["slip x"], lam["slip y"], lam["contact"])
        return [(wheel, f, at), (plane, -f, at)]

    def above(s: UserState) -> ca.SX:
        return ca.dot(s.rotation(plane)[:, 2], s.position(wheel) - s.position(plane))

    shape = "sphere" if axis is None else "disc"
    return Expressions(
        name,
        "rolling",
        holonomic=[("contact", contact)],
        pfaffian=[("slip x", slip(0)), ("slip y", slip(1))],
        positive=above,
        forces=forces,
        text=f"{shape} {wheel.body.name} rolling on {plane.body.name}",
        wheels=[(wheel, radius, axis)],
    )


@by_recipe
def rolling_disc_on_disc(name: str, a: Frame, ra: Any, b: Frame, rb: Any, axis: int, inside: bool) -> Expressions:
    """Two discs in the plane normal to `axis` of frame a, touching at their rims; b rolls on the rim or inside."""

    def direction(s: UserState) -> tuple[ca.SX, ca.SX]:
        """Unit vector from a's centre towards b's, and its length, both in the plane."""
        n = s.rotation(a)[:, axis]
        d = s.position(b) - s.position(a)
        d = d - ca.dot(n, d) * n
        length = ca.norm_2(d)
        return d / length, length

    def contact(s: UserState) -> ca.SX:
        return direction(s)[1] - (ra - rb if inside else ra + rb)

    def touch(s: UserState) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The point where the rims touch, the normal there (from a's centre to b's) and the tangent."""
        e, _ = direction(s)
        return s.position(a) + ra * e, e, ca.cross(s.rotation(a)[:, axis], e)

    def slip(s: UserState) -> ca.SX:
        at, _, tangent = touch(s)
        return ca.dot(tangent, material_velocity(s, b, at) - material_velocity(s, a, at))

    def forces(s: UserState, lam: Mapping[str, ca.SX]) -> list[tuple[Frame, ca.SX, ca.SX]]:
        at, e, tangent = touch(s)
        f = lam["contact"] * e + lam["slip"] * tangent
        return [(b, f, at), (a, -f, at)]

    return Expressions(
        name,
        "rolling",
        holonomic=[("contact", contact)],
        pfaffian=[("slip", slip)],
        forces=forces,
        text=f"disc {b.body.name} rolling {'inside' if inside else 'on'} disc {a.body.name}",
        wheels=[(a, ra, axis), (b, rb, axis)],
    )


@by_recipe
def skate(name: str, frame: Frame, sideways: int) -> Expressions:
    """A blade or wheel: the velocity of the frame's origin has no component along one of its axes."""
    return Expressions(
        name,
        "skate",
        pfaffian=[("sideways", lambda s: s.twist(frame)[3 + sideways])],
        forces=lambda s, lam: [(frame, s.rotation(frame)[:, sideways] * lam["sideways"], s.position(frame))],
        text=f"skate on {frame.body.name}",
        wheels=[(frame, 0.0, sideways)],
    )
